# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground that a character walks on: height and headroom of meshes from above, on several levels.

Meshes are rasterized once into stacks of heights on a grid; after that a frame's samples cost some microseconds,
however many triangles there are. A stack holds every surface that a person can stand on below the next one, so that a
bridge, a gallery or the underside of stairs keep what lies below them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np

from ..errors import ShotError
from ..files import Count, Sizes, Within
from ..motion.rotations import Array
from .mesh import TriangleMesh

CELL = 0.025
"""Edge in meters of a grid cell, the inch of the paper's height maps (PFNN 4.2): a riser is a ramp of this width."""
MOST_CELLS = 4_000_000
"""Cells of a grid at most; larger ground gets larger cells, so that a level takes 32 MB."""
MOST_TRIANGLES = 1_000_000
"""Triangles of all ground meshes of a shot at most: they take seconds to rasterize."""
STEP = 0.5
"""Meters by which a surface may lie above a place for a foot there to come onto it: higher than stairs and boxes that
legs step onto, lower than the next storey."""
HEADROOM = 0.6
"""Meters of free height from which a surface counts as one to stand on; a person on hands and knees needs as much."""
LOW = 1.8
"""Meters of free height in which the model skeleton, 1.75 m tall, walks upright; below, it crouches (PFNN 6)."""
_TOGETHER = 0.01
"""Meters within which surfaces in one cell are the same one, such as those of two triangles with a common edge."""
_EDGE = 1e-4
"""Meters within which two triangles of a mesh are a single surface at a node on their common edge."""
_CHUNK = 2_000_000
"""Pairs of a triangle and a cell that are rasterized at once, which bounds memory to some 200 MB."""
_HIGHEST = 1e9
"""Meters above any surface, below the infinity that stands for none."""
_FARTHEST = 10_000.0
"""Meters from the world's origin to the farthest vertex along an axis, as for every place of a shot."""

Vertex = Annotated[list[float], Sizes(3), Within(-_FARTHEST, _FARTHEST, "m")]
"""World x, y, z in meters."""
Corner = Annotated[int, Within(0, 3 * MOST_TRIANGLES)]
"""Number of a vertex."""


@dataclass
class GroundMesh:
    """A mesh to walk on, as a shot holds it: world vertices (V, 3) in meters, triangles (N, 3) of vertex numbers."""

    name: str
    vertices: Annotated[list[Vertex], Count(3, 3 * MOST_TRIANGLES)]
    triangles: Annotated[list[Annotated[list[Corner], Sizes(3)]], Count(1, MOST_TRIANGLES)]

    def validate(self) -> None:
        """Raise ShotError when a triangle names a vertex that does not exist."""
        if max(max(triangle) for triangle in self.triangles) >= len(self.vertices):
            raise ShotError(
                f"The ground '{self.name}' has {len(self.vertices)} vertices, and a triangle with another one; "
                "wrap the mesh again."
            )

    def mesh(self) -> TriangleMesh:
        """The mesh as arrays."""
        return TriangleMesh(np.asarray(self.vertices, dtype=np.float64), np.asarray(self.triangles, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Ground:
    """Surfaces over a grid, and a level floor that stretches on for ever around and below them, but for pits.

    corner: x, y in meters of the grid's first node. cell: meters between nodes. levels: (K, ny, nx) heights of the
    surfaces in meters, lowest first, infinite where a stack is shorter; no stack is empty, ny and nx are 2 or more.
    headroom: (K, ny, nx) meters up to the next surface. floor: height in meters beyond the grid.
    """

    corner: tuple[float, float] = (0.0, 0.0)
    cell: float = CELL
    levels: Array = field(default_factory=lambda: np.zeros((1, 2, 2), dtype=np.float32))
    headroom: Array = field(default_factory=lambda: np.full((1, 2, 2), np.inf, dtype=np.float32))
    floor: float = 0.0

    @staticmethod
    def of(meshes: Sequence[TriangleMesh], floor: float = 0.0) -> Ground:
        """The ground that meshes make, with a floor around; raises ShotError when they are too many triangles."""
        mesh = TriangleMesh.joined(list(meshes))
        owner = np.repeat(np.arange(len(meshes)), [len(one.triangles) for one in meshes])
        if len(mesh.triangles) > MOST_TRIANGLES:
            raise ShotError(
                f"The ground has {len(mesh.triangles):,} triangles; {MOST_TRIANGLES:,} are the most. Simplify it."
            )
        if not len(mesh.triangles):
            return Ground(floor=floor, levels=np.full((1, 2, 2), floor, dtype=np.float32))
        low, high = mesh.vertices[:, :2].min(0), mesh.vertices[:, :2].max(0)
        cell = max(CELL, math.sqrt(float(np.prod(high - low + 2 * CELL)) / MOST_CELLS))
        # A node beyond each border is floor, so that nothing beyond the grid needs a case of its own.
        corner = low - cell
        shape = tuple(np.ceil((high - low) / cell).astype(int)[::-1] + 3)
        node, height, triangle = _rasterized(mesh, corner, cell, shape)
        levels, headroom = _stacked(node, height, _solid_above(node, height, owner[triangle]), shape, floor)
        return Ground((float(corner[0]), float(corner[1])), cell, levels, headroom, floor)

    @staticmethod
    def from_heights(heights: Array, corner: tuple[float, float], cell: float, floor: float = 0.0) -> Ground:
        """A single surface of heights (ny, nx) at the nodes of a grid; beyond, the floor begins a cell away."""
        padded = np.pad(np.asarray(heights, dtype=np.float32), 1, constant_values=floor)[None]
        return Ground(
            (corner[0] - cell, corner[1] - cell), cell, padded, np.full_like(padded, np.inf, dtype=np.float32), floor
        )

    @cached_property
    def is_flat(self) -> bool:
        """Whether there is nothing but the floor, with nothing above it."""
        return bool((self.levels == self.floor).all() and np.isinf(self.headroom).all())

    @cached_property
    def has_ceilings(self) -> bool:
        """Whether anything hangs over anything."""
        return bool((self.headroom[np.isfinite(self.levels)] < np.inf).any())

    def height(self, places: Array, near: Array | float = np.inf) -> Array:
        """Height (...) in meters of the ground under places (..., 2), linear between the nodes.

        near: (...) heights of the feet there. Of several levels the highest counts that a foot from there comes onto,
        not more than STEP above; the topmost one without.
        """
        return self.sampled(places).heights(near)

    def sampled(self, places: Array) -> Sampled:
        """All surfaces around places (..., 2), to ask for heights near several others without reading them anew."""
        count = len(self.levels)
        corner, last, most, nodes = self._grid
        at = np.maximum((places - corner) * (1 / self.cell), 0.0)
        np.minimum(at, last, out=at)
        first = np.minimum(at.astype(np.int64), most)
        at -= first
        node = first[..., 1] * self.levels.shape[2] + first[..., 0]
        found = self.levels.reshape(count, -1).take(node[..., None] + nodes, axis=1)
        return Sampled(found, at[..., 0], at[..., 1], node)

    def may_be_low(self, sampled: Sampled, which: slice) -> bool:
        """Whether anything hangs lower than LOW over any surface around some of the places (N, P) of `sampled`, those
        of the middle column: told at once, and rarely so."""
        return bool(self._low.take(sampled.node[which, 1]).any())

    def clearance(self, places: Array, near: Array | float = np.inf) -> Array:
        """Free height (...) in meters above the ground at places (..., 2), of the nearest node; see `height`."""
        if not self.has_ceilings:
            return np.full(np.shape(places)[:-1], np.inf)
        row, column, inside = self._nodes(places)
        level = self._level(row, column, near)
        found = self.headroom[level, row, column]
        return np.where(inside, found, np.inf)

    def slope(self, places: Array, near: Array | float = np.inf, span: float = 0.3) -> Array:
        """Steepness (...) as rise over run between points `span` meters apart around places (..., 2)."""
        places = np.asarray(places, dtype=np.float64)
        x, y = np.array([0.5 * span, 0.0]), np.array([0.0, 0.5 * span])
        along = self.height(places + x, near) - self.height(places - x, near)
        across = self.height(places + y, near) - self.height(places - y, near)
        out: Array = np.hypot(along, across) / span
        return out

    def nearest(self, places: Array, heights: Array | float) -> Array:
        """Height (...) in meters of the surface under or over places (..., 2) that is nearest to heights (...)."""
        stacks = self.stacks(places)[0]
        away = np.abs(stacks - np.asarray(heights))
        out: Array = np.take_along_axis(stacks, away.argmin(axis=0)[None], axis=0)[0]
        return out

    def stacks(self, places: Array) -> tuple[Array, Array]:
        """Heights and headroom (K, ...) in meters of all surfaces at places (..., 2), of the nearest node, lowest
        first; heights are infinite where there are fewer."""
        row, column, inside = self._nodes(places)
        levels, headroom = self.levels[:, row, column], self.headroom[:, row, column]
        beyond = np.where(np.arange(len(levels)) == 0, self.floor, np.inf).reshape(-1, *[1] * inside.ndim)
        return np.where(inside, levels, beyond), np.where(inside, headroom, np.inf)

    @cached_property
    def extent(self) -> tuple[Array, Array]:
        """Lowest and highest x, y (2,) of the grid in meters."""
        low = np.array(self.corner)
        return low, low + self.cell * (np.array(self.levels.shape[:0:-1]) - 1)

    def _nodes(self, places: Array) -> tuple[Array, Array, Array]:
        """Row and column of the nearest nodes, and which places lie on the grid."""
        at = np.rint((np.asarray(places, dtype=np.float64) - self.corner) / self.cell).astype(np.int64)
        _, rows, columns = self.levels.shape
        inside = (at >= 0).all(-1) & (at[..., 0] < columns) & (at[..., 1] < rows)
        return np.clip(at[..., 1], 0, rows - 1), np.clip(at[..., 0], 0, columns - 1), inside

    def _level(self, row: Array, column: Array, near: Array | float) -> Array:
        """Number (...) of the level in each stack that belongs to feet at heights `near`."""
        if len(self.levels) == 1:
            return np.zeros(np.shape(row), dtype=np.int64)
        stacks = self.levels[:, row, column]
        return np.maximum((np.isfinite(stacks) & (stacks <= np.asarray(near) + STEP)).sum(0) - 1, 0)

    @cached_property
    def _grid(self) -> tuple[Array, Array, Array, Array]:
        """The first node (2,) in meters, the last one (2,) and the last one with neighbors (2,) as numbers, and what is
        to be added to a node's flat number for those of the four about a place."""
        _, rows, columns = self.levels.shape
        last = np.array([columns - 1, rows - 1])
        return np.array(self.corner), last.astype(np.float64), last - 1, np.array([0, 1, columns, columns + 1])

    @cached_property
    def _low(self) -> Array:
        """Whether (ny * nx,) anything hangs lower than LOW over any surface of a node or of its neighbors with larger
        numbers."""
        low = (np.isfinite(self.levels) & (self.headroom < LOW)).any(axis=0)
        out = low.copy()
        out[:-1] |= low[1:]
        out[:, :-1] |= out[:, 1:].copy()
        return out.ravel()


@dataclass(frozen=True, eq=False)
class Sampled:
    """The surfaces around places (...): heights (K, ..., 4) of the four nodes about each, where it lies between them
    (...), and the flat number (...) of the first of the four."""

    nodes: Array
    u: Array
    v: Array
    node: Array

    def heights(self, near: Array | float) -> Array:
        """Heights (...) as `Ground.height` gives them, bilinear, each of the four nodes on its own level."""
        heights: Array = self.nodes[0]
        if len(self.nodes) > 1:
            # The lowest counts where all lie too high. A stack's missing levels are infinite, and so above any reach.
            reach = np.minimum(np.asarray(near)[..., None] + STEP, _HIGHEST)
            for higher in self.nodes[1:]:
                heights = np.where(higher <= reach, higher, heights)
        along = heights[..., ::2] + self.u[..., None] * (heights[..., 1::2] - heights[..., ::2])
        low = along[..., 0]
        out: Array = low + self.v * (along[..., 1] - low)
        return out


def mesh_at(meshes: Sequence[GroundMesh], place: Array, within: float) -> str:
    """Name of the mesh with a surface at a place (3,), not farther above or below than so many meters; "" for none."""
    found, least = "", within
    for one in meshes:
        a, b, c = np.moveaxis(one.mesh().vertices[np.asarray(one.triangles)], 1, 0)
        to_b, to_c, to = b - a, c - a, place - a
        area = to_b[:, 0] * to_c[:, 1] - to_b[:, 1] * to_c[:, 0]
        area = np.where(np.abs(area) > 1e-12, area, np.inf)
        s = (to[:, 0] * to_c[:, 1] - to[:, 1] * to_c[:, 0]) / area
        t = (to[:, 1] * to_b[:, 0] - to[:, 0] * to_b[:, 1]) / area
        on = (s >= 0) & (t >= 0) & (s + t <= 1) & np.isfinite(area)
        away = np.abs(a[on, 2] + s[on] * to_b[on, 2] + t[on] * to_c[on, 2] - place[2]).min(initial=np.inf)
        if away <= least:
            found, least = one.name, float(away)
    return found


def _rasterized(mesh: TriangleMesh, corner: Array, cell: float, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Flat numbers (P,) of the nodes under the triangles, the heights (P,) of the triangles there, and their numbers
    (P,)."""
    corners = mesh.vertices[mesh.triangles]
    flat = (corners[..., :2] - corner) / cell
    first = np.ceil(flat.min(1) - 1e-6).astype(np.int64)
    size = np.maximum(np.floor(flat.max(1) + 1e-6).astype(np.int64) - first + 1, 0)
    a, b, c = flat[:, 0], flat[:, 1], flat[:, 2]
    area: Array = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    # Upright triangles have no area from above.
    count = np.where(np.abs(area) > 1e-9, size.prod(1), 0)
    nodes, heights, triangles = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], [np.zeros(0, dtype=np.int64)]
    start = 0
    ends = np.cumsum(count)
    while start < len(count):
        stop = max(int(np.searchsorted(ends, (ends[start - 1] if start else 0) + _CHUNK, side="right")), start + 1)
        which = np.repeat(np.arange(start, stop), count[start:stop])
        number = np.arange(len(which)) - np.repeat(np.cumsum(count[start:stop]) - count[start:stop], count[start:stop])
        x = first[which, 0] + number % np.maximum(size[which, 0], 1)
        y = first[which, 1] + number // np.maximum(size[which, 0], 1)
        to_b, to_c = b[which] - a[which], c[which] - a[which]
        px, py = x - a[which, 0], y - a[which, 1]
        s = (px * to_c[:, 1] - py * to_c[:, 0]) / area[which]
        t = (py * to_b[:, 0] - px * to_b[:, 1]) / area[which]
        on = (s >= -1e-6) & (t >= -1e-6) & (s + t <= 1 + 1e-6)
        z = corners[which, :, 2]
        nodes.append((y * shape[1] + x)[on])
        triangles.append(which[on])
        heights.append((z[:, 0] + s * (z[:, 1] - z[:, 0]) + t * (z[:, 2] - z[:, 0]))[on])
        start = stop
    return np.concatenate(nodes), np.concatenate(heights), np.concatenate(triangles)


def _solid_above(node: Array, height: Array, owner: Array) -> Array:
    """What each surface (P,) begins: 1 the inside of its mesh above it, -1 the outside, 0 neither.

    A mesh with an even number of surfaces at a node is taken for closed there, whichever way its triangles are turned:
    the second of each pair is the top of what the first is the bottom of.
    """
    order = np.lexsort((height, owner, node))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(node[order]) != 0) | (np.diff(owner[order]) != 0)
    # Two triangles meet along an edge: there they are a single surface.
    new = first | np.append(True, np.diff(height[order]) > _EDGE)[: len(order)]
    surface = np.cumsum(new)
    start = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    count = np.append(surface[np.flatnonzero(first)[1:] - 1], surface[-1:])
    count = np.diff(count, prepend=0)[np.cumsum(first) - 1]
    number = surface - surface[start]
    out = np.zeros(len(order), dtype=np.int64)
    out[order] = np.where(new & (count % 2 == 0), 1 - 2 * (number % 2), 0)
    return out


def _stacked(node: Array, height: Array, begins: Array, shape: tuple[int, ...], floor: float) -> tuple[Array, Array]:
    """Levels and headroom (K, ny, nx) of surfaces at nodes, over the floor; a surface below it is a pit.

    begins: (P,) as by `_solid_above`; inside of meshes is no place to stand.
    """
    cells = shape[0] * shape[1]
    lowest = np.full(cells, np.inf)
    np.minimum.at(lowest, node, height)
    level_floor = np.flatnonzero(lowest >= floor)
    node = np.concatenate((level_floor, node))
    height = np.concatenate((np.full(len(level_floor), floor), height))
    begins = np.concatenate((np.zeros(len(level_floor), dtype=np.int64), begins))
    order = np.lexsort((height, node))
    node, height = node[order], height[order]
    is_open = np.cumsum(begins[order]) == 0
    # The topmost of surfaces that lie together stands for them.
    keep = np.append((np.diff(node) > 0) | (np.diff(height) > _TOGETHER), True)
    node, height, is_open = node[keep], height[keep], is_open[keep]
    free = np.append(np.where(np.diff(node) == 0, np.diff(height), np.inf), np.inf)
    keep = (free >= HEADROOM) & is_open
    node, height, free = node[keep], height[keep], free[keep]
    first = np.searchsorted(node, np.arange(cells))
    level = np.arange(len(node)) - first[node]
    levels = np.full((int(level.max()) + 1, cells), np.inf, dtype=np.float32)
    headroom = np.zeros_like(levels)
    levels[level, node], headroom[level, node] = height, free
    return levels.reshape(-1, *shape), headroom.reshape(-1, *shape)
