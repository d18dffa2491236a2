# SPDX-License-Identifier: GPL-3.0-or-later
"""Height of the ground under a body: the floor's, or that of a collider that carries the body."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from .colliders import Placed

CLIMBABLE = ("climbable", "ground")
"""Roles of colliders that carry a body; all others are obstacles and leave the ground where it is."""
RADIUS = 0.24
"""Radius in meters over which the height is averaged, so that it rises evenly on the way over an edge."""
_POINTS = 48
"""Points at which the height is sampled within RADIUS."""
_GOLDEN = np.pi * (3 - np.sqrt(5))
"""Angle in radians from one point to the next, the golden angle: no two points so spread pass an edge together."""
_BLUR = 0.12
"""Meters over which a point passes an edge, farther than from one to the next: else the height rises by a 48th of a
step whenever one does, and the hips of a body that climbs jerk with each."""
_NUMBER = np.arange(_POINTS)
_AROUND = (
    RADIUS
    * np.sqrt((_NUMBER + 0.5) / _POINTS)[:, None]
    * np.stack((np.cos(_GOLDEN * _NUMBER), np.sin(_GOLDEN * _NUMBER)), axis=1)
)
"""Offsets (48, 2) in meters of the sampled points."""


def ground_under(climbable: Placed, places: Array, floor: float = 0.0) -> Array:
    """Height (N,) in meters of the ground under places (N, 2): the tops of upright cuboids, and beside them the floor.

    It depends on the place alone, so that training and rollout see the same ground.
    """
    places = np.asarray(places)
    low, high = places.min(0, initial=np.inf) - RADIUS, places.max(0, initial=-np.inf) + RADIUS
    bound, middle = climbable.bound[:, None], climbable.center[:, :2]
    near = ((middle + bound >= low) & (middle - bound <= high)).all(1).nonzero()[0]
    if not len(near):
        return np.full(len(places), floor)
    points = (places[:, None] + _AROUND).reshape(-1, 2)
    tops = climbable.center[:, 2] + climbable.half[:, 2]
    height, left = np.zeros(len(points)), np.ones(len(points))
    for number in near[np.argsort(-tops[near], kind="stable")].tolist():
        local = (points - middle[number]) @ climbable.rotation[number, :2, :2]
        on = np.clip((climbable.half[number, :2] - np.abs(local)) / _BLUR + 0.5, 0, 1).prod(1)
        on = np.minimum(on, left)
        height += on * max(tops[number], floor)
        left -= on
    out: Array = (height + left * floor).reshape(-1, _POINTS).mean(1)
    return out
