# SPDX-License-Identifier: GPL-3.0-or-later
"""Voxels merged into few cuboids that fill exactly the same space (NSM 4.3)."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ..motion.rotations import Array
from ..stepwise import Stepwise, finished
from .colliders import Cuboids
from .mesh import TriangleMesh
from .voxels import SIZE, Voxels, voxelizing


def cuboids_of(mesh: TriangleMesh, size: float = SIZE) -> Cuboids:
    """The mesh as cuboids: voxels with edges of `size` meters, merged. Raises ColliderError; see `voxelize`.

    The cuboids end where the mesh ends on all six sides, so that a thing stands and lies on its own lowest points, not
    on the corners of voxels.
    """
    return finished(finding_cuboids(mesh, size))


def finding_cuboids(mesh: TriangleMesh, size: float = SIZE) -> Stepwise[Cuboids]:
    """`cuboids_of` in pieces."""
    voxels = yield from voxelizing(mesh, size)
    cuboids = yield from _merging(voxels)
    yield
    used = np.asarray(mesh.vertices, dtype=float)[np.asarray(mesh.triangles).reshape(-1)]
    yield
    least, most = (np.array([extreme(used[:, axis]) for axis in range(3)]) for extreme in (np.min, np.max))
    low = np.clip(cuboids.center - cuboids.half, least, most)
    high = np.clip(cuboids.center + cuboids.half, least, most)
    return Cuboids((low + high) / 2, (high - low) / 2)


def merge(voxels: Voxels) -> Cuboids:
    """Merge neighbors as long as two together are a cuboid; the cuboids do not overlap, and their union is the voxels.

    The order of merging decides how many remain: all six orders of the axes are tried, and the fewest are kept.
    """
    return finished(_merging(voxels))


def _merging(voxels: Voxels) -> Stepwise[Cuboids]:
    """`merge` in pieces."""
    best: tuple[Array, Array] | None = None
    for axis in range(3):
        yield
        rods = _rods(voxels.filled, axis)
        for order in permutations(a for a in range(3) if a != axis):
            yield
            merged = _merged(*rods, order)
            if best is None or len(merged[0]) < len(best[0]):
                best = merged
    assert best is not None
    start, end = best
    return Cuboids(voxels.origin + (start + end) * (voxels.size / 2), (end - start) * (voxels.size / 2))


def _rods(filled: Array, axis: int) -> tuple[Array, Array]:
    """Runs of filled cells along one axis: first cells and cells behind the last (N, 3)."""
    along = np.moveaxis(filled, axis, 2)
    rows = along.reshape(-1, along.shape[2])
    edge = np.zeros((len(rows), rows.shape[1] + 1), dtype=bool)
    edge[:, 0] = rows[:, 0]
    edge[:, -1] = rows[:, -1]
    np.not_equal(rows[:, 1:], rows[:, :-1], out=edge[:, 1:-1])
    row, place = np.divmod(np.flatnonzero(edge), edge.shape[1])
    a, b = np.divmod(row[::2], along.shape[1])
    start = np.stack((a, b, place[::2]), axis=1)
    end = np.stack((a + 1, b + 1, place[1::2]), axis=1)
    back = np.insert([0, 1], axis, 2)
    return start[:, back], end[:, back]


def _merged(start: Array, end: Array, order: tuple[int, ...]) -> tuple[Array, Array]:
    """Boxes of cells (N, 3) merged along the axes of `order`, then along all, until nothing merges any more."""
    for axis in order:
        start, end = _merged_along(start, end, axis)
    count = len(start) + 1
    while len(start) < count:
        count = len(start)
        for axis in range(3):
            start, end = _merged_along(start, end, axis)
    return start, end


def _merged_along(start: Array, end: Array, axis: int) -> tuple[Array, Array]:
    """Merge boxes that follow each other along `axis` with the same cross-section."""
    if len(start) < 2:
        return start, end
    b, c = (a for a in range(3) if a != axis)
    wide, high = int(end[:, b].max()) + 1, int(end[:, c].max()) + 1
    section = ((start[:, b] * wide + end[:, b]) * high + start[:, c]) * high + end[:, c]
    order = np.lexsort((start[:, axis], section))
    section, start, end = section[order], start[order], end[order]
    first = np.ones(len(start), dtype=bool)
    first[1:] = (section[1:] != section[:-1]) | (start[1:, axis] != end[:-1, axis])
    last = np.append(first[1:], True)
    return start[first], end[last]
