# SPDX-License-Identifier: GPL-3.0-or-later
"""A shot of the naturalness table and the truth about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..geometry.mesh import TriangleMesh
from ..shot.shot import Shot

DEVELOPMENT_SEEDS = tuple(range(100_000, 100_200))
"""Seeds of the 200 cases of each kind on which settings may be chosen."""

UNSEEN_SEEDS = tuple(range(900_000, 900_200))
"""Seeds of the 200 cases of each kind that are reported; nothing is tuned on them."""


@dataclass(frozen=True, eq=False)
class Case:
    """A shot to be baked and measured.

    kind: of the table's cases, such as "sofa behind a coffee table". seed: of the case. shot: to be baked. meshes: the
    true meshes of the shot's colliders by name, in the collider's frame, each as its loose parts; without them the
    cuboids count. turning: radians of turning that the path itself requires; None to measure it on the path. refusal:
    words that the refusal must contain, "" where the shot must bake. network: of the bake, as for `scene_bake.bake_of`.
    """

    kind: str
    seed: int
    shot: Shot
    meshes: Mapping[str, list[TriangleMesh]] = field(default_factory=dict)
    turning: float | None = None
    refusal: str = ""
    network: Literal["auto", "pfnn", "nsm"] = "auto"
