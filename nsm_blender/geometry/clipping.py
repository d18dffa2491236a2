# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a mesh over a rectangle of the floor: a landscape of a kilometer becomes the strip that is walked."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from .mesh import TriangleMesh


def clipped(mesh: TriangleMesh, low: Array, high: Array) -> TriangleMesh:
    """What of a mesh lies over the rectangle from `low` to `high` (2,), x and y in meters; triangles are cut at its
    border."""
    flat = mesh.vertices[mesh.triangles][..., :2]
    near = ((flat.max(axis=1) >= low) & (flat.min(axis=1) <= high)).all(axis=1)
    inside = ((flat >= low) & (flat <= high)).all(axis=(1, 2))
    whole, crossing = mesh.triangles[near & inside], mesh.vertices[mesh.triangles[near & ~inside]]
    for axis in range(2):
        crossing = _below(crossing, axis, float(high[axis]))
        crossing = _below(crossing * _FLIPPED[axis], axis, -float(low[axis])) * _FLIPPED[axis]
    used, corners = np.unique(whole, return_inverse=True)
    parts = [
        TriangleMesh(mesh.vertices[used], corners.reshape(-1, 3)),
        TriangleMesh(crossing.reshape(-1, 3), np.arange(3 * len(crossing)).reshape(-1, 3)),
    ]
    return TriangleMesh.joined(parts)


_FLIPPED = np.array([[-1.0, 1.0, 1.0], [1.0, -1.0, 1.0]])
"""Factors that turn the other way along x and along y."""


def _below(triangles: Array, axis: int, limit: float) -> Array:
    """What of triangles (N, 3, 3) lies below a limit along an axis, as triangles (M, 3, 3)."""
    inside = triangles[..., axis] <= limit
    count = inside.sum(axis=1)
    # A corner that lies on its own side of the limit comes first, the others in their order.
    alone = np.where(count == 1, inside.argmax(axis=1), (~inside).argmax(axis=1))
    turned = np.take_along_axis(triangles, ((alone[:, None] + np.arange(3)) % 3)[..., None], axis=1)
    one, two = turned[count == 1], turned[count == 2]
    tips = np.stack((one[:, 0], _cut(one, 1, axis, limit), _cut(one, 2, axis, limit)), axis=1)
    first, last = _cut(two, 1, axis, limit), _cut(two, 2, axis, limit)
    halves = [np.stack((first, two[:, 1], two[:, 2]), axis=1), np.stack((first, two[:, 2], last), axis=1)]
    return np.concatenate((triangles[count == 3], tips, *halves))


def _cut(triangles: Array, corner: int, axis: int, limit: float) -> Array:
    """Where the edge from the first to another corner of triangles (N, 3, 3) meets a limit, (N, 3)."""
    a, b = triangles[:, 0], triangles[:, corner]
    share = (limit - a[:, axis]) / (b[:, axis] - a[:, axis])
    return np.asarray(a + share[:, None] * (b - a))
