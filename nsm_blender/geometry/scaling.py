# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders at another size: the networks know one body, so a small character gets an enlarged world."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from .colliders import Collider, Cuboids
from .roles import Handles

POSE_PLACE = slice(0, 3)
"""Slice of a collider's pose (7,) that is its place; the rest is its rotation."""
_SIZELESS = ("facing", "axis", "angle", "weight", "approaches")
"""Fields of handles that are directions, angles or words, and so have no size."""


def scaled(collider: Collider, factor: float) -> Collider:
    """The collider with its poses and its handles enlarged by `factor` about the world's origin."""
    if factor == 1.0:
        return collider
    poses = np.array(collider.poses, dtype=np.float64)
    poses[:, POSE_PLACE] *= factor
    cuboids = Cuboids(np.asarray(collider.cuboids.center) * factor, np.asarray(collider.cuboids.half) * factor)
    handles = None if collider.handles is None else scaled_handles(collider.handles, factor)
    also = [scaled_handles(part, factor) for part in collider.also]
    return replace(collider, cuboids=cuboids, poses=poses, handles=handles, also=also)


def scaled_handles(handles: Handles, factor: float) -> Handles:
    """Handles with all lengths multiplied by `factor`."""
    lengths: dict[str, Any] = {
        field.name: (np.asarray(getattr(handles, field.name), dtype=np.float64) * factor).tolist()
        for field in fields(handles)
        if field.name not in _SIZELESS
    }
    return replace(handles, **lengths)
