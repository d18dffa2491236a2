# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether there is room to use a thing from a side: for a body that bends over it, for hands beside it, for knees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..geometry.colliders import Collider, Placed
from ..geometry.scene_state import corners
from ..motion.rotations import Array

HEIGHTS = (0.15, 0.45, 0.8, 1.1, 1.4)
"""Meters over the ground at which the middle of a body that bends is tested for room."""
BENEATH = 0.05
"""Meters under a thing within which lies what it stands on."""
_REACH = 2.0
"""Meters around a thing in which others matter."""

BodyPart = tuple[Array, float]
"""Points (P, 3) of the body in the world, and the meters that must be free about them."""


@dataclass(frozen=True)
class Hindrance:
    """What leaves too little room. name: of the collider. meters: that it lies from where a part of the body would be.
    needed: that this part needs."""

    name: str
    meters: float
    needed: float

    @property
    def lacking(self) -> float:
        """Meters."""
        return self.needed - self.meters


def hindrance(parts: Sequence[BodyPart], around: Placed) -> Hindrance | None:
    """What hinders most a body with these parts; None when there is room. around: see `others_around`."""
    found = [
        Hindrance(around.names[owner], float(around.of([int(owner)]).distance(points).min()), needed)
        for points, needed in parts
        for owner in np.unique(around.owner)
    ]
    worst = max(found, key=lambda one: one.lacking, default=None)
    return worst if worst is not None and worst.lacking > 0 else None


def columns(places: Array, ground: float) -> Array:
    """Points (P, 3) over places (2,) or (N, 2) of the ground at the heights of a body."""
    return np.array([[*place, ground + height] for place in np.atleast_2d(places) for height in HEIGHTS])


def others_around(thing: Collider, pose: Array, things: Placed) -> Placed:
    """Those of `things` that stand around a thing at a pose (7,): without itself and what it stands on."""
    outline = corners(thing, pose)
    foot = np.array([*outline[:, :2].mean(axis=0), outline[:, 2].min()])
    beneath = foot - np.multiply.outer(np.linspace(0.0, BENEATH, 4), [0.0, 0.0, 1.0])
    owners = np.unique(things.owner).tolist()
    under = {things.names[owner] for owner in owners if things.of([owner]).distance(beneath).min() == 0}
    return things.near(pose[:3], _REACH).without({thing.name, *under} & set(things.names))
