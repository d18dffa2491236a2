# SPDX-License-Identifier: GPL-3.0-or-later
"""From loose parts to a model as files have it: any front, origin and order of vertices, wrapped as cuboids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...geometry.cuboids import cuboids_of
from ...geometry.furniture import Piece
from ...geometry.mesh import TriangleMesh
from ...geometry.roles import Handles, moved
from ...motion.rotations import Array

RIGHT_ANGLED = 0.75
"""Share of models with a front along an axis; the others are turned by any angle."""


@dataclass
class Model:
    """A model that stands on z = 0 with its front to -Y, before its frame is chosen, in meters.

    parts: loose parts, which may overlap. role: of the model. truths: right handles of the role, the best first.
    fixture: parts of a second model, such as a door's frame, in the same frame.
    """

    parts: list[TriangleMesh] = field(default_factory=list)
    role: str = "obstacle"
    truths: Sequence[Handles] = ()
    fixture: list[TriangleMesh] = field(default_factory=list)

    def add(self, *parts: TriangleMesh) -> None:
        """Add loose parts."""
        self.parts += parts


def in_own_frame(model: Model, rng: np.random.Generator, kind: str) -> Piece:
    """The model in a frame such as a file has it, wrapped as the extension wraps it.

    The front faces along an axis or anywhere; the origin is at a corner, at the middle of the base or of the volume, or
    meters away as if the model had stood in a scene; vertices and triangles are in any order.
    """
    turn = rng.integers(0, 4) * np.pi / 2 if rng.random() < RIGHT_ANGLED else rng.uniform(-np.pi, np.pi)
    rotation = _about_z(float(turn))
    everything = TriangleMesh.joined([*model.parts, *model.fixture]).vertices @ rotation.T
    shift = -_origin(rng, everything)
    parts = [_shuffled(_placed(part, rotation, shift), rng) for part in model.parts]
    parts = [parts[i] for i in rng.permutation(len(parts))]
    truths = [moved(truth, rotation, shift) for truth in model.truths]
    fixture = None
    if model.fixture:
        frame = [_placed(part, rotation, shift) for part in model.fixture]
        fixture = _piece(f"{kind}_frame", frame, "obstacle", [])
    return _piece(kind, parts, model.role, truths, fixture)


def _piece(
    kind: str, parts: list[TriangleMesh], role: str, truths: list[Handles], fixture: Piece | None = None
) -> Piece:
    mesh = TriangleMesh.joined(parts)
    return Piece(kind, mesh, parts, cuboids_of(mesh), role, truths[0] if truths else None, truths[1:], fixture=fixture)


def _origin(rng: np.random.Generator, vertices: Array) -> Array:
    """An origin as modelers leave it."""
    low, high = vertices.min(0), vertices.max(0)
    middle = (low + high) / 2
    choices = (
        np.array([middle[0], middle[1], low[2]]),
        low,
        np.array([high[0], low[1], low[2]]),
        middle,
        vertices.mean(0),
        np.array([*rng.uniform(-6, 6, 2), rng.choice([0.0, 0.0, rng.uniform(-1.5, 1.5)])]),
    )
    return choices[int(rng.integers(len(choices)))]


def _shuffled(part: TriangleMesh, rng: np.random.Generator) -> TriangleMesh:
    """The part with its vertices and triangles in any order; in a quarter of the parts no two triangles share a
    vertex."""
    triangles = part.triangles[rng.permutation(len(part.triangles))]
    if rng.random() < 0.25:
        return TriangleMesh(part.vertices[triangles].reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3))
    order = rng.permutation(len(part.vertices))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return TriangleMesh(part.vertices[order], place[triangles])


def _placed(part: TriangleMesh, rotation: Array, shift: Array) -> TriangleMesh:
    return TriangleMesh(part.vertices @ rotation.T + shift, part.triangles)


def _about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
