# SPDX-License-Identifier: GPL-3.0-or-later
"""How high the ground is under a body: the floor, or what one climbs on."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from .colliders import Placed

CLIMBABLE = ("climbable", "ground")
"""Roles of colliders that carry a body; all others are in its way and leave the ground where it is."""
RADIUS = 0.24
"""Metres around a place over which the height is averaged, so that it rises evenly on the way over an edge."""
_POINTS = 48
_GOLDEN = np.pi * (3 - np.sqrt(5))
"""Radians from one point to the next: so spread, no two points pass an edge together."""


def ground_under(climbable: Placed, places: Array) -> Array:
    """Height (N,) in metres of the ground under places (N, 2): the tops of upright cuboids, 0 beside them.

    It depends on nothing but the place, so that training and a running character see the same.
    """
    number = np.arange(_POINTS)
    radius, angle = RADIUS * np.sqrt((number + 0.5) / _POINTS), _GOLDEN * number
    around = np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)
    points = (np.asarray(places)[:, None] + around).reshape(-1, 2)
    height = np.zeros(len(points))
    for rotation, centre, half in zip(climbable.rotation, climbable.centre, climbable.half, strict=True):
        local = (points - centre[:2]) @ rotation[:2, :2]
        on = (np.abs(local) <= half[:2]).all(1)
        height[on] = np.maximum(height[on], centre[2] + half[2])
    out: Array = height.reshape(-1, len(around)).mean(1)
    return out
