# SPDX-License-Identifier: GPL-3.0-or-later
"""Solid voxels of any mesh: every cell that the surface touches, and what lies inside (NSM 4.3).

The surface is exact: a cell is filled when a triangle and the cell have a point in common. The inside is decided by
rays through the cells' middles along the three axes, each of which has a vote. A ray counts when the surface is closed
along it, so that a hole costs some rays their votes and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import ColliderError
from ..motion.rotations import Array
from ..stepwise import TRIANGLES, Stepwise, by_frames, finished
from .mesh import TriangleMesh

SIZE = 0.04
"""Usual edge in meters of a voxel."""
MAX_CELLS = 48_000_000
"""Largest number of cells of a grid; the votes on them then take some 300 MB."""
ROOM = 1.0
"""Edge in meters of a cube: a space that it fits in, and that is open to some side or that the surface shows its front
to, is not inside but a place to walk in."""

_CELLS = 1 << 18
"""Cells of triangles that are processed together, which bounds the memory."""
_NUDGE = 1e-4
"""Distance in cells by which surfaces are moved inwards, so that a surface on the border of two cells belongs to the
inner one."""
_ASIDE = (0.5 + 1.7e-4, 0.5 + 2.9e-4)
"""Coordinates at which rays go through a cell: beside its middle, where no edges of tidy meshes lie."""
_SURE = 2
"""Votes of a ray that enters as often as it leaves; a ray with surfaces that only come in pairs has one vote."""
_SAME = 1e-3
"""Distance in cells within which two surfaces on a ray count as one that was made twice."""


@dataclass(frozen=True, eq=False)
class Voxels:
    """Cells of a regular grid. origin: (3,) meters, the grid's lowest corner. size: meters. filled: (X, Y, Z) bool."""

    origin: Array
    size: float
    filled: Array

    def volume(self) -> float:
        """Filled volume in cubic meters."""
        return float(np.count_nonzero(self.filled)) * self.size**3


def voxelize(mesh: TriangleMesh, size: float = SIZE) -> Voxels:
    """Make solid voxels of a mesh with edges of `size` meters; the grid's middle is that of the mesh's bounding box.

    Triangles without an area count as the lines and points that they are; vertices without a triangle do not count.
    Raises ColliderError when there are no triangles, when their places are not finite numbers, when they name vertices
    that do not exist, or when the grid would be too large.
    """
    return finished(voxelizing(mesh, size))


def voxelizing(mesh: TriangleMesh, size: float = SIZE) -> Stepwise[Voxels]:
    """`voxelize` in pieces."""
    corners = yield from _corners(mesh, size)
    flat = corners.reshape(-1, 3)
    yield
    low, high = (np.array([extreme(flat[:, axis]) for axis in range(3)]) for extreme in (np.min, np.max))
    shape = _shape(low, high, size)
    origin = (low + high) / 2 - size * np.array(shape) / 2
    cells = yield from by_frames(lambda corners: (corners - origin) / size, corners, size=TRIANGLES)
    filled = np.zeros(shape, dtype=bool)
    for block in range(0, len(cells), TRIANGLES):
        yield
        _mark_surface(filled, cells[block : block + TRIANGLES])
    yield from _fill_inside(filled, cells, ROOM / size)
    return Voxels(origin, size, filled)


def _corners(mesh: TriangleMesh, size: float) -> Stepwise[Array]:
    """Corners (N, 3, 3) of the triangles, checked."""
    if not (np.isfinite(size) and size > 0):
        raise ColliderError(f"The voxel size is {size} m: it must be more than zero.")
    vertices, triangles = np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.triangles)
    if triangles.size == 0 or vertices.size == 0:
        raise ColliderError("The mesh has no faces: there is nothing to make a collider of.")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise ColliderError("The mesh's faces name vertices that do not exist: the mesh is damaged.")
    yield
    corners = yield from by_frames(lambda triangles: vertices[triangles], triangles, size=TRIANGLES)
    yield
    if not np.isfinite(corners).all():
        raise ColliderError("Some of the mesh's vertices have no finite place (NaN): delete them or clean the mesh up.")
    return corners


def _shape(low: Array, high: Array, size: float) -> tuple[int, int, int]:
    """Numbers of cells along each axis. A mesh that fits a whole number of cells gets exactly these, whatever the
    rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        edges = high - low
        counts = np.maximum(np.ceil(edges / size - 1e-6), 1.0)
        fits = counts.prod() <= MAX_CELLS
    if not fits:
        meters = " x ".join(f"{edge:.4g}" for edge in edges)
        raise ColliderError(
            f"The mesh is {meters} m large: too large for voxels of {size:.4g} m. "
            "Check its scale, split it, or take larger voxels."
        )
    x, y, z = (int(count) for count in counts)
    return x, y, z


# The surface


def _mark_surface(filled: Array, cells: Array) -> None:
    """Fill the cells that have a point in common with triangles (N, 3, 3), in units of cells."""
    normal = _cross(cells[:, 1] - cells[:, 0], cells[:, 2] - cells[:, 0])
    length = np.sqrt(np.einsum("ij,ij->i", normal, normal))
    cells = cells - (normal * (_NUDGE / np.maximum(length, 1e-30))[:, None])[:, None]
    top = np.array(filled.shape) - 1
    low = np.clip(np.floor(_lowest(cells)).astype(np.int64), 0, top)
    high = np.clip(np.floor(_highest(cells)).astype(np.int64), 0, top)
    span = high - low
    axes = np.count_nonzero(span, axis=1)
    _fill(filled, low[axes == 0])
    # A surface in one row of cells goes through all of them, from its first to its last.
    row = axes == 1
    which, step = _ranges(span[row].sum(1) + 1)
    _fill(filled, low[row][which] + step[:, None] * (span[row] > 0)[which])
    more = np.flatnonzero(axes > 1)
    main = np.abs(normal[more]).argmax(1)
    for axis in range(3):
        chosen = more[main == axis]
        # Cyclic order, the axis that the triangles face most comes last.
        turn = [(axis + 1) % 3, (axis + 2) % 3, axis]
        turned = np.transpose(filled, turn)
        wide = span[chosen][:, turn[0]] + 1, span[chosen][:, turn[1]] + 1
        for part in _blocks(wide[0] * wide[1]):
            picked = chosen[part]
            _mark_by_columns(
                turned, cells[picked][:, :, turn], normal[picked][:, turn], low[picked][:, turn], high[picked][:, turn]
            )


def _mark_by_columns(filled: Array, cells: Array, normal: Array, low: Array, high: Array) -> None:
    """Fill the cells of triangles over several cells: columns along the last axis that they cross, then the cells of
    these.

    A triangle and a cell have no point in common when an axis separates them: one of the grid's, for which `low` and
    `high` stand, the triangle's normal, or one of the nine that are perpendicular to an edge of both.
    """
    wide, deep = high[:, 0] - low[:, 0] + 1, high[:, 1] - low[:, 1] + 1
    which, step = _ranges(wide * deep)
    column = np.stack((low[which, 0] + step // deep[which], low[which, 1] + step % deep[which]), axis=1)
    crossed = _crossed(cells, which, column, 0, 1)
    which, column = which[crossed], column[crossed]

    # Where the plane enters and leaves the column
    steep = np.abs(normal[:, 2]) > 1e-12 * np.abs(normal).sum(1)
    slope = -normal[:, :2] / np.where(steep, normal[:, 2], 1.0)[:, None]
    middle = cells[which, 0, 2] + ((column + 0.5 - cells[which, 0, :2]) * slope[which]).sum(1)
    half = 0.5 * np.abs(slope).sum(1)[which]
    inner = steep[which]
    first = np.where(inner, np.floor(np.clip(middle - half, -1, filled.shape[2])), -1).astype(np.int64)
    last = np.where(inner, np.floor(np.clip(middle + half, -1, filled.shape[2])), filled.shape[2]).astype(np.int64)
    first, last = np.maximum(first, low[which, 2]), np.minimum(last, high[which, 2])
    for part in _blocks(np.maximum(last - first + 1, 0)):
        up, step = _ranges(np.maximum(last[part] - first[part] + 1, 0))
        owner, cell = which[part][up], np.column_stack((column[part][up], first[part][up] + step))
        for a, b in ((1, 2), (2, 0)):
            touched = _crossed(cells, owner, cell, a, b)
            owner, cell = owner[touched], cell[touched]
        _fill(filled, cell)


def _crossed(cells: Array, which: Array, cell: Array, a: int, b: int) -> Array:
    """Whether each square `cell` touches its triangle `which`, seen along the third axis: a test by the edges'
    normals."""
    flat = cells[:, :, [a, b]]
    edge = flat[:, [1, 2, 0]] - flat
    across = np.stack((-edge[:, :, 1], edge[:, :, 0]), axis=-1)
    reached = np.einsum("tej,tvj->tev", across, flat)
    least = reached.min(2) - np.maximum(across, 0).sum(2) - 1e-9
    most = reached.max(2) - np.minimum(across, 0).sum(2) + 1e-9
    touched = np.ones(len(which), dtype=bool)
    place = cell[:, [a, b]].astype(float)
    for e in range(3):
        at = across[which, e, 0] * place[:, 0] + across[which, e, 1] * place[:, 1]
        touched &= (at >= least[which, e]) & (at <= most[which, e])
    return touched


def _lowest(corners: Array) -> Array:
    """Least coordinates (N, d) of the corners (N, 3, d) of triangles; `min` along so short an axis is much slower."""
    out: Array = np.minimum(np.minimum(corners[:, 0], corners[:, 1]), corners[:, 2])
    return out


def _highest(corners: Array) -> Array:
    """Greatest coordinates (N, d) of the corners (N, 3, d) of triangles."""
    out: Array = np.maximum(np.maximum(corners[:, 0], corners[:, 1]), corners[:, 2])
    return out


def _fill(filled: Array, cell: Array) -> None:
    filled[cell[:, 0], cell[:, 1], cell[:, 2]] = True


# What lies inside


def _fill_inside(filled: Array, cells: Array, room: float) -> Iterator[None]:
    """Fill the cells inside the surface by the votes of the three axes; spaces `room` cells wide stay open."""
    votes = np.zeros(filled.shape, dtype=np.int8)
    shut = ~filled
    flat = 0
    for axis in range(3):
        turn = [(axis + 1) % 3, (axis + 2) % 3, axis]
        shape = tuple(filled.shape[a] for a in turn)
        hits = yield from _hits(shape, cells, turn)
        yield
        says, solid, unsigned = _votes(shape, *hits)
        yield
        votes_of_axis = np.transpose(votes, turn)
        votes_of_axis += says
        shut_of_axis = np.transpose(shut, turn)
        shut_of_axis &= solid
        flat += unsigned
    votes[filled] = 0
    inside = _agreed(votes) > 0
    yield
    if flat > 0:
        outside = yield from _connected(_border(filled), ~filled)
        inside |= ~outside
    inside &= ~filled
    open_ = inside & ~shut
    if np.count_nonzero(open_) >= room**3:
        rooms = yield from _rooms(open_, max(round(room), 1))
        inside &= ~rooms
    filled |= inside


def _agreed(votes: Array) -> Array:
    """Votes where all axes are sure; elsewhere with those of the six neighbors added."""
    doubtful = np.abs(votes) < 3 * _SURE
    if not doubtful.any():
        return votes
    total = votes.copy()
    for axis in range(3):
        out, own = np.moveaxis(total, axis, 0), np.moveaxis(votes, axis, 0)
        out[1:] += own[:-1]
        out[:-1] += own[1:]
    return np.where(doubtful, total, votes)


def _votes(shape: tuple[int, ...], column: Array, depth: Array, sign: Array) -> tuple[Array, Array, int]:
    """Votes, int8 `shape`, of the ray along the last axis through each cell; above zero is inside.

    A cell is inside where the surfaces before it, entered and left, do not cancel out (intersecting solids, or solids
    inside out), or, where they are not oriented, have an odd number. Both need a surface that is closed along the ray;
    where it is not, the ray has no vote. Also returns which cells the surface closes in without showing its front to
    them, as a room's walls do; and the number of surfaces that look both ways less that of those that do not.
    """
    columns = shape[0] * shape[1]
    order = np.lexsort((depth, column))
    column, depth, sign = column[order], depth[order], sign[order]
    fresh = np.ones(len(column), dtype=bool)
    fresh[1:] = (column[1:] != column[:-1]) | (depth[1:] - depth[:-1] > _SAME)
    oriented = np.bincount(column, sign, columns) == 0
    number = np.bincount(column[fresh], minlength=columns)
    paired = number % 2 == 0
    both_ways = np.bincount(np.cumsum(fresh) - 1, sign) == 0

    # The first cell whose middle lies behind the surface
    behind = np.clip(np.ceil(depth - 0.5), 0, shape[2]).astype(np.int64)
    wound = _behind(columns, shape[2], column, behind, np.where(oriented[column], sign, 0))
    column, behind = column[fresh], behind[fresh]
    rank = np.arange(len(column)) - (np.cumsum(number) - number)[column]
    odd = _behind(columns, shape[2], column, behind, np.where(paired[column], 1 - 2 * (rank % 2), 0)) > 0
    inside = (wound != 0) | odd
    says = np.where(inside, 1, -1).astype(np.int8)
    says *= np.where(oriented, _SURE, np.where(paired, 1, 0)).astype(np.int8)[:, None]
    return (
        says.reshape(shape),
        (inside & (wound >= 0)).reshape(shape),
        2 * int(np.count_nonzero(both_ways)) - len(both_ways),
    )


def _behind(columns: int, length: int, column: Array, first: Array, change: Array) -> Array:
    """Sum (columns, length) int8 of the changes that apply from the cell `first` of a column on."""
    out = np.zeros((columns, length + 1), dtype=np.int8)
    np.add.at(out.reshape(-1), column * (length + 1) + first, change.astype(np.int8))
    return np.cumsum(out, axis=1, dtype=np.int8, out=out)[:, :-1]


def _hits(shape: tuple[int, ...], cells: Array, turn: list[int]) -> Stepwise[tuple[Array, Array, Array]]:
    """Where rays through the columns meet triangles: column (H,), depth (H,) in cells, 1 entering or -1 leaving."""
    u, v, w = turn
    found: list[tuple[Array, Array, Array]] = []
    for start in range(0, len(cells), TRIANGLES):
        yield
        block = cells[start : start + TRIANGLES]
        flat = block[:, :, [u, v]] - _ASIDE
        low = np.maximum(np.ceil(_lowest(flat)), 0).astype(np.int64)
        high = np.minimum(np.floor(_highest(flat)), np.array(shape[:2]) - 1).astype(np.int64)
        wide = np.maximum(high - low + 1, 0)
        met = np.flatnonzero(wide.all(1))
        for part in _blocks(wide[met].prod(1)):
            chosen = met[part]
            found.append(_met(flat[chosen], block[chosen][:, :, w], low[chosen], wide[chosen], shape[1]))
    column, depth, sign = (np.concatenate(parts) for parts in zip(_NO_HITS, *found, strict=True))
    return column, depth, sign


_NO_HITS = (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64))
"""Column, depth and sign of no ray hits."""


def _met(flat: Array, height: Array, low: Array, wide: Array, row: int) -> tuple[Array, Array, Array]:
    """Hits of triangles `flat` (N, 3, 2), `height` (N, 3) with the rays of `wide` (N, 2) columns from `low` on."""
    which, step = _ranges(wide.prod(1))
    place = low[which] + np.column_stack((step // wide[which, 1], step % wide[which, 1]))
    area = np.stack([_area(flat[which, e], flat[which, (e + 1) % 3], place) for e in range(3)], axis=1)
    total = area.sum(1)
    hit = ((area > 0).all(1) | (area < 0).all(1)) & (total != 0)
    which, place, area, total = which[hit], place[hit], area[hit], total[hit]
    # The weight of a corner is the area on the other side of it.
    depth = (area[:, [1, 2, 0]] * height[which]).sum(1) / total
    return place[:, 0] * row + place[:, 1], depth, np.where(total < 0, 1, -1)


def _area(a: Array, b: Array, c: Array) -> Array:
    """Twice the areas of triangles in the plane, positive when counter-clockwise."""
    return (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])


def _rooms(open_: Array, width: int) -> Stepwise[Array]:
    """The parts of `open_` that a cube of `width` cells fits into, with all that is connected to it."""
    fits = open_
    for axis in range(3):
        yield
        fits = _runs_of(fits, axis, width)
    return (yield from _connected(fits, open_))


def _border(filled: Array) -> Array:
    """The empty cells at the grid's border."""
    out = ~filled
    out[1:-1, 1:-1, 1:-1] = False
    return out


def _connected(seeds: Array, passable: Array) -> Stepwise[Array]:
    """The passable cells that are connected to a seed through their faces."""
    out = seeds & passable
    count = -1
    while np.count_nonzero(out) != count:
        count = np.count_nonzero(out)
        for axis in range(3):
            out = yield from _along_runs(out, passable, axis)
    return out


def _runs_of(cells: Array, axis: int, width: int) -> Array:
    """Cells that begin a run of `width` along the axis."""
    count = np.cumsum(cells, axis=axis, dtype=np.int32)
    count = np.concatenate((np.zeros_like(count.take([0], axis)), count), axis)
    out = np.zeros_like(cells)
    length = cells.shape[axis] - width + 1
    if length > 0:
        low, high = np.arange(length), np.arange(width, width + length)
        np.moveaxis(out, axis, 0)[:length] = np.moveaxis(
            count.take(high, axis) - count.take(low, axis) == width, axis, 0
        )
    return out


def _along_runs(seeds: Array, open_: Array, axis: int) -> Stepwise[Array]:
    """All runs of `open_` along the axis that contain a seed."""
    rows, own = np.moveaxis(open_, axis, 2), np.moveaxis(seeds, axis, 2)
    slab = max(_CELLS // (rows.shape[1] * rows.shape[2]), 1)
    out = yield from by_frames(_along_rows, own, rows, size=slab)
    return np.moveaxis(out, 2, axis)


def _along_rows(seeds: Array, rows: Array) -> Array:
    """All runs along the last axis that contain a seed."""
    edge = np.zeros((*rows.shape[:2], rows.shape[2] + 1), dtype=bool)
    edge[:, :, 1:-1] = rows[:, :, 1:] & ~rows[:, :, :-1]
    edge[:, :, 0] = rows[:, :, 0]
    run = np.cumsum(edge.reshape(-1), dtype=np.int32).reshape(edge.shape)[:, :, :-1]
    seeded = np.zeros(int(run[-1, -1, -1]) + 1, dtype=bool)
    seeded[run[seeds]] = True
    out: Array = seeded[run] & rows
    return out


# Lists of cells


def _ranges(counts: Array) -> tuple[Array, Array]:
    """The numbers 0 .. n - 1 for each n of `counts`: the index of the count that each belongs to, and the number."""
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) - (np.cumsum(counts) - counts)[which]


def _blocks(counts: Array) -> Iterator[slice]:
    """Slices with a total of about _CELLS each, of at least one entry."""
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = int(ends[start - 1]) if start else 0
        end = max(int(np.searchsorted(ends, before + _CELLS, side="right")), start + 1)
        yield slice(start, end)
        start = end


def _cross(a: Array, b: Array) -> Array:
    """Cross products (N, 3); np.cross is several times slower."""
    return np.stack(
        (
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ),
        axis=1,
    )
