# SPDX-License-Identifier: GPL-3.0-or-later
"""Boxes and walls for tests of ways and errands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.motion.rotations import Array


def box(
    name: str, center: tuple[float, float, float], size: tuple[float, float, float], angle: float = 0.0, **more: Any
) -> Collider:
    """An upright box of edge lengths `size`, its middle at `center`, turned about +Z."""
    pose = [*center, math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)]
    return Collider(name, Cuboids(np.zeros((1, 3)), 0.5 * np.array([size])), np.array([pose]), **more)


def wall(name: str, a: tuple[float, float], b: tuple[float, float], low: float = 0.0, high: float = 2.4) -> Collider:
    """A wall 10 cm thick between two places, from `low` to `high`."""
    length, angle = math.dist(a, b), math.atan2(b[1] - a[1], b[0] - a[0])
    middle = (0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (low + high))
    return box(name, middle, (length, 0.1, high - low), angle)


def pen() -> list[Collider]:
    """Four walls around 6 x 4 m about the origin."""
    corners = [(-3.0, -2.0), (3.0, -2.0), (3.0, 2.0), (-3.0, 2.0)]
    return [wall(f"Side {i}", corners[i], corners[(i + 1) % 4]) for i in range(4)]


def sliding(collider: Collider, places: Array) -> Collider:
    """The collider at one of places (F, 3) in each frame."""
    turn = np.broadcast_to(collider.poses[0, 3:], (len(places), 4))
    return Collider(collider.name, collider.cuboids, np.hstack((places, turn)), collider.role, collider.handles)
