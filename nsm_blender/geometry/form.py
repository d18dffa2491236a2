# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a mesh as it stands: its sides, its level tops, and what rises beside them.

Everything is measured on voxels and on points of the surface, never on the mesh's topology, so that holes, flipped
faces, loose parts and noise matter little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..motion.rotations import Array, to_matrix
from ..stepwise import TRIANGLES, Stepwise, by_frames, finished
from .colliders import STILL
from .mesh import TriangleMesh
from .voxels import Voxels, voxelize, voxelizing

SIZE = 0.02
"""Edge in meters of the voxels of things of natural size; larger things have larger voxels, see `_CELLS`."""

SIDES = np.array([[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
"""The four sides (4, 2) of an aligned thing, counter-clockwise from above: side i + 1 is on the left of a viewer that
looks toward side i."""

_CELLS = 160
"""Largest number of voxels along an edge of a thing."""
_ROUND = 0.15
"""Clearness of the sides, 0 to 1, below which a thing counts as round."""
_POINTS = 20_000
"""Points that are spread over the surface."""
_SMALLEST = 0.03
"""Area in square meters of the smallest level top that is looked for."""
_WINDOW = 0.04
"""Height in meters above and below a level that still belongs to it, for surfaces that are not quite even."""


@dataclass(frozen=True, eq=False)
class Level:
    """A level top of a thing.

    height: meters. mask: (X, Y) the columns that it covers. low, high: (2,) meters, the rectangle around it without
    what sticks out. area: square meters.
    """

    height: float
    mask: Array
    low: Array
    high: Array
    area: float

    @property
    def middle(self) -> Array:
        """Middle (3,) in meters."""
        return np.array([*(self.low + self.high) / 2, self.height])

    @property
    def extent(self) -> Array:
        """Extent (2,) in meters along X and Y."""
        return self.high - self.low


STEP_ROOM, SEAT_ROOM, TOP_ROOM = 0.6, 0.5, 0.2
"""Free space in meters above the tops that are trodden on, sat on, and put things on."""


class Form:
    """A thing as it stands in the world, turned about +Z so that its sides face the four SIDES.

    Raises ColliderError on a mesh without faces or with places that are not finite.

    turn: the rotation (3, 3) and shift: (3,) from this aligned frame to the collider's. world: the rotation from the
    aligned frame to the world, about +Z. voxels: solid. points: (P, 3) on the surface, evenly. aligned: how clearly
    its sides show, 0 (round) to 1. front: the side that is nearest to the collider's -Y.
    """

    def __init__(self, mesh: TriangleMesh, pose: Array = STILL[0], yaw: float | None = None) -> None:
        finished(self._formed(mesh, pose, yaw))

    @classmethod
    def forming(cls, mesh: TriangleMesh, pose: Array = STILL[0], yaw: float | None = None) -> Stepwise[Form]:
        """A form, in pieces of work."""
        out = cls.__new__(cls)
        yield from out._formed(mesh, pose, yaw)
        return out

    def _formed(self, mesh: TriangleMesh, pose: Array, yaw: float | None) -> Stepwise[None]:
        self._mesh, self._pose = mesh, pose
        self._levels: dict[float, list[Level]] = {}
        stand = to_matrix(np.asarray(pose[3:], dtype=float))
        place = np.asarray(pose[:3], dtype=float)
        standing = TriangleMesh(mesh.vertices @ stand.T + place, mesh.triangles)
        yield
        yield from _refuse_unusable(standing)
        points = yield from _on_surface(standing)
        yield
        angle, self.aligned = alignment(points) if yaw is None else (yaw, 1.0)
        c, s = np.cos(angle), np.sin(angle)
        self.world = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        self.yaw = angle
        self.turn = stand.T @ self.world
        self.shift = -stand.T @ place
        self.points: Array = points @ self.world
        upright = TriangleMesh(standing.vertices @ self.world, mesh.triangles)
        size = max(SIZE, float(np.ptp(self.points, axis=0).max()) / _CELLS)
        self.voxels: Voxels = yield from voxelizing(upright, size)
        self.front = int(np.argmax(SIDES @ (self.turn.T @ np.array([0.0, -1.0, 0.0]))[:2]))

    def aligned_to(self, direction: Array) -> Form:
        """The same thing, turned so that `direction` (2,) of this aligned frame becomes its first side, -Y."""
        return Form(self._mesh, self._pose, self.yaw + float(np.arctan2(direction[0], -direction[1])))

    def to_world(self, places: Array) -> Array:
        """Places (..., 3) of the aligned frame in the world."""
        return places @ self.world.T

    @property
    def floor(self) -> float:
        """Height of the lowest point, where the thing stands."""
        return float(self.voxels.origin[2])

    def index(self, places: Array) -> Array:
        """Cells (N, 3) of places (N, 3), clipped to the grid."""
        at = np.floor((places - self.voxels.origin) / self.voxels.size).astype(int)
        return np.clip(at, 0, np.array(self.voxels.filled.shape) - 1)

    @cached_property
    def cells(self) -> Array:
        """The cells (P, 3) of the points."""
        return self.index(self.points)

    @cached_property
    def highest(self) -> Array:
        """Index (X, Y) of the highest filled cell of each column; that of the topmost where none is."""
        filled = self.voxels.filled
        return np.asarray(filled.shape[2] - 1 - np.argmax(filled[:, :, ::-1], axis=2))

    def levels(self, clearance: float, area: float) -> list[Level]:
        """Level tops of at least `area` m2, and of _SMALLEST, with `clearance` meters of the thing's own free space
        above them.

        A top is a connected set of columns whose heights differ by little.
        """
        finished(self.finding_levels(clearance))
        return [level for level in self._levels[clearance] if level.area >= area]

    def finding_levels(self, clearance: float) -> Stepwise[None]:
        """Find the tops that `levels` tells, in pieces of work."""
        if clearance not in self._levels:
            self._levels[clearance] = yield from self._found_levels(clearance)

    def _found_levels(self, clearance: float) -> Stepwise[list[Level]]:
        filled, size = self.voxels.filled, self.voxels.size
        tops = filled & (_free_above(filled) >= clearance / size)
        left = np.concatenate([tops, np.zeros((*tops.shape[:2], 1), dtype=bool)], axis=2)
        out: list[Level] = []
        window = max(round(_WINDOW / size), 1)
        while True:
            yield
            count = np.convolve(left.sum(axis=(0, 1)), np.ones(2 * window + 1), mode="same")
            k = int(np.argmax(count))
            if count[k] * size**2 < _SMALLEST:
                return out
            near = slice(max(k - window, 0), k + window + 1)
            columns = closed(left[:, :, near].any(axis=2))
            labels = components(columns)
            for label in np.unique(labels[labels >= 0]):
                mask = labels == label
                if mask.sum() * size**2 >= _SMALLEST:
                    out.append(self._level(mask, tops, near))
            left[:, :, near] = False

    def _level(self, mask: Array, tops: Array, near: slice) -> Level:
        size, origin = self.voxels.size, self.voxels.origin
        cell = self.cells
        inside = mask[cell[:, 0], cell[:, 1]] & (cell[:, 2] >= near.start) & (cell[:, 2] < near.stop)
        inside &= tops[cell[:, 0], cell[:, 1], cell[:, 2]]
        columns = tops[:, :, near] & mask[:, :, None]
        rough = origin[2] + size * (near.start + 0.5 + np.nonzero(columns)[2].mean())
        height = float(np.median(self.points[inside, 2])) if inside.any() else float(rough)
        return self.part(Level(height, mask, origin[:2], origin[:2], 0.0), mask)

    def part(self, level: Level, mask: Array) -> Level:
        """The part of a level that `mask` (X, Y) covers."""
        low, high = extent_of(mask)
        size, origin = self.voxels.size, self.voxels.origin[:2]
        return Level(level.height, mask, origin + low * size, origin + high * size, float(mask.sum()) * size**2)

    def walls(self, level: Level, above: float = 0.06, reach: float = 0.9) -> Array:
        """Mean height (4,) in meters by which the thing rises over a level along the middle of each of its sides.

        above, reach: lowest and highest height in meters over the level that is looked at.
        """
        size, filled = self.voxels.size, self.voxels.filled
        first = round((level.height + above - self.voxels.origin[2]) / size)
        band = filled[:, :, max(first, 0) : max(first, 0) + int(reach / size)]
        out = np.zeros(4)
        if band.shape[2] == 0:
            return out
        rise = np.where(band.any(axis=2), band.shape[2] - np.argmax(band[:, :, ::-1], axis=2), 0) * size
        rise = np.where(rise > 0, rise + above, 0.0)
        inner, outer = round(0.06 / size), round(0.22 / size)
        for side in range(4):
            # Turned so that the side in question is the one with the lowest second index.
            mask, heights = np.rot90(level.mask, -side), np.rot90(rise, -side)
            low, high = extent_of(mask)
            edge = int(low[1])
            spare = int(0.2 * (high[0] - low[0]))
            strip = heights[int(low[0]) + spare : int(high[0]) - spare, max(edge - outer, 0) : edge + inner]
            if strip.size:
                out[side] = strip.max(axis=1).mean()
        return out

    def slope(self, level: Level) -> float:
        """Angle in radians by which a level leans."""
        size, filled = self.voxels.size, self.voxels.filled
        cells = np.argwhere(filled & (_free_above(filled) >= 4))
        places = self.voxels.origin + (cells + 0.5) * size
        ground = np.column_stack([places[:, :2], np.ones(len(places))])
        on = level.mask[cells[:, 0], cells[:, 1]] & (np.abs(places[:, 2] - level.height) < _WINDOW + size)
        near = (np.abs(places[:, :2] - level.middle[:2]) < level.extent.max()).all(axis=1)
        plane = np.zeros(3)
        # A leaning surface leaves the level's window: its plane grows from the part that lies inside.
        for _ in range(6):
            if np.count_nonzero(on) < 10:
                return 0.0
            plane = np.linalg.lstsq(ground[on], places[on, 2], rcond=None)[0]
            on = near & (np.abs(places[:, 2] - ground @ plane) < 1.5 * size)
        return float(np.arctan(np.hypot(plane[0], plane[1])))


def alignment(points: Array) -> tuple[float, float]:
    """Angle in radians, within 45 degrees of 0, by which a thing is turned about +Z, and how clearly that shows (0 to
    1).

    points: (P, 3). A thing's outline is sharpest along its own sides: many points share a coordinate.
    """
    flat = points[:: max(1, len(points) // 4000), :2]
    flat = flat - flat.mean(axis=0)
    coarse = np.deg2rad(np.arange(-45.0, 45.0, 1.5))
    sharp = _sharpness(flat, coarse)
    best = coarse[int(np.argmax(sharp))]
    clear = float(np.clip(sharp.max() / np.median(sharp) - 1, 0.0, 1.0))
    fine = best + np.deg2rad(np.arange(-1.5, 1.51, 0.25))
    sharp = _sharpness(flat, fine)
    # The middle of the fine angles that are about as good, so that bins' borders do not decide.
    angle = float(fine[sharp >= sharp.max() - 0.1 * np.ptp(sharp)].mean())
    return (angle if clear > _ROUND else _longest(points[:, :2])), clear


def _longest(flat: Array) -> float:
    """Angle in radians, within 45 degrees of 0, of the main axes of points (P, 2)."""
    spread = np.cov(flat.T)
    angle = 0.5 * np.arctan2(2 * spread[0, 1], spread[0, 0] - spread[1, 1])
    return float((angle + np.pi / 4) % (np.pi / 2) - np.pi / 4)


def _sharpness(flat: Array, angles: Array) -> Array:
    """Sums of squares (A,) of the histograms of points (P, 2) along the axes of frames turned by angles (A,)."""
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    reach = float(np.abs(flat).max()) * 1.5 + 1e-9
    bins = int(np.clip(2 * reach / 0.01, 20, 400))
    out = np.zeros(len(angles))
    for along in (c * flat[:, 0] + s * flat[:, 1], -s * flat[:, 0] + c * flat[:, 1]):
        at = ((along + reach) * (bins / (2 * reach))).astype(int) + bins * np.arange(len(angles))[:, None]
        count = np.bincount(at.ravel(), minlength=bins * len(angles)).reshape(len(angles), bins)
        out += (count.astype(float) ** 2).sum(axis=1)
    return out


def components(mask: Array) -> Array:
    """Labels (X, Y) of the parts of `mask` that are connected over edges; -1 outside."""
    labels = np.where(mask, np.arange(mask.size).reshape(mask.shape), -1)
    while True:
        before = labels.copy()
        # Forth and back along both axes, each part takes its largest label within a few rounds.
        for axis in (0, 1):
            for step in (1, -1):
                labels = _swept(labels, axis, step)
        if np.array_equal(labels, before):
            return labels


def largest_rectangle(mask: Array) -> tuple[int, int, int, int]:
    """The largest rectangle of cells in `mask` (X, Y): low x, low y, high x, high y (exclusive); zeros if empty."""
    best, found = 0, (0, 0, 0, 0)
    run = np.zeros(mask.shape[1], dtype=int)
    for x, row in enumerate(mask):
        run = np.where(row, run + 1, 0)
        for length in np.unique(run[run > 0]):
            # The longest run of columns that are at least `length` deep
            edge = np.flatnonzero(np.diff(np.concatenate([[0], (run >= length).astype(int), [0]])))
            starts, ends = edge[::2], edge[1::2]
            widest = int(np.argmax(ends - starts))
            size = int(length * (ends - starts)[widest])
            if size > best:
                best, found = size, (x + 1 - int(length), int(starts[widest]), x + 1, int(ends[widest]))
    return found


def _swept(labels: Array, axis: int, step: int) -> Array:
    """Spread the largest label before each cell along the axis, within each run."""
    rows = np.moveaxis(labels, axis, 1)[:, ::step]
    # Runs are kept apart by a rising offset, which a running maximum cannot carry over the gaps.
    gap = np.cumsum(rows < 0, axis=1) * (labels.size + 1)
    swept = np.where(rows < 0, -1, np.maximum.accumulate(np.where(rows < 0, 0, rows) + gap, axis=1) - gap)
    return np.moveaxis(swept[:, ::step], 1, axis)


def closed(mask: Array) -> Array:
    """The mask with gaps up to four cells wide filled (morphological closing), such as those between slats."""
    wide = np.pad(mask, 2)
    for _ in range(2):
        wide = grown(wide)
    for _ in range(2):
        wide = ~grown(~wide)
    return wide[2:-2, 2:-2] | mask


def grown(mask: Array) -> Array:
    """The mask (X, Y) dilated by one cell."""
    out = mask.copy()
    out[1:] |= mask[:-1]
    out[:-1] |= mask[1:]
    across = out.copy()
    across[:, 1:] |= out[:, :-1]
    across[:, :-1] |= out[:, 1:]
    return across


def _free_above(filled: Array) -> Array:
    """Numbers (X, Y, Z) of empty cells above each cell up to the next filled one, very large without any."""
    far = 10 * filled.shape[2] + 10_000
    height = np.where(filled, np.arange(filled.shape[2]), far)
    following = np.minimum.accumulate(height[:, :, ::-1], axis=2)[:, :, ::-1]
    above = np.concatenate([following[:, :, 1:], np.full((*filled.shape[:2], 1), far)], axis=2)
    return above - np.arange(filled.shape[2]) - 1


def extent_of(mask: Array) -> tuple[Array, Array]:
    """Lowest and highest (exclusive) cells (2,), without rows that hold less than a third of the fullest row."""
    low, high = np.zeros(2), np.zeros(2)
    for axis in (0, 1):
        count = mask.sum(axis=1 - axis)
        full = np.flatnonzero(3 * count >= count.max())
        low[axis], high[axis] = full[0], full[-1] + 1
    return low, high


def _refuse_unusable(mesh: TriangleMesh) -> Iterator[None]:
    """Raise ColliderError for a mesh that cannot become voxels."""
    triangles, count = np.asarray(mesh.triangles), len(mesh.vertices)
    named = triangles.size > 0 and triangles.min() >= 0 and triangles.max() < count
    yield
    if not named:
        voxelize(mesh)  # raises the error with its sentence
    finite = np.isfinite(mesh.vertices).all(axis=1)
    yield
    if not finite.all() and not finite[triangles].all():
        voxelize(mesh)


def _on_surface(mesh: TriangleMesh) -> Stepwise[Array]:
    """Points (P, 3) spread over the surface by area, the same at every call."""
    vertices = np.asarray(mesh.vertices, dtype=float)

    def area_of(triangles: Array) -> Array:
        corners = vertices[triangles]
        edge = corners[:, 1:] - corners[:, :1]
        return np.asarray(np.linalg.norm(np.cross(edge[:, 0], edge[:, 1]), axis=1))

    area = yield from by_frames(area_of, np.asarray(mesh.triangles), size=TRIANGLES)
    rng = np.random.default_rng(0)
    total = np.cumsum(area)
    if len(total) == 0 or not np.isfinite(total[-1]) or total[-1] <= 0:
        return vertices[mesh.triangles].reshape(-1, 3)
    which = np.searchsorted(total, (np.arange(_POINTS) + rng.random(_POINTS)) / _POINTS * total[-1])
    which = np.minimum(which, len(area) - 1)
    corners = vertices[mesh.triangles[which]]
    edge = corners[:, 1:] - corners[:, :1]
    a, b = rng.random((2, _POINTS, 1))
    flip = a + b > 1
    a, b = np.where(flip, 1 - a, a), np.where(flip, 1 - b, b)
    return corners[:, 0] + a * edge[:, 0] + b * edge[:, 1]
