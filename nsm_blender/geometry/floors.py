# SPDX-License-Identifier: GPL-3.0-or-later
"""Floors and landscapes told from furniture, by their extent and by how much of them is level enough to stand on."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array, to_matrix
from .colliders import STILL
from .mesh import TriangleMesh

SMALLEST = 3.0
"""Meters of a floor's shorter side at least, seen from above: no furniture is so broad, and no rug so large."""
_LEVEL = 0.77
"""Least upright part of the normal of a face that is stood on or hangs level, at 40 degrees."""
_SHARE = 0.85
"""Least share of the surface that is level, or the underside of it: the rest of a room with walls is more."""


def is_floor(mesh: TriangleMesh, pose: Array = STILL[0]) -> bool:
    """Whether a mesh that stands in the world as `pose` (7,) says is a floor, a platform or a landscape."""
    corners = (mesh.vertices @ to_matrix(np.asarray(pose[3:], dtype=float)).T)[mesh.triangles]
    if not len(corners) or not np.isfinite(corners).all():
        return False
    if np.ptp(corners[..., :2].reshape(-1, 2), axis=0).min() < SMALLEST:
        return False
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normal, axis=1)
    return bool(area[np.abs(normal[:, 2]) >= _LEVEL * area].sum() >= _SHARE * area.sum())
