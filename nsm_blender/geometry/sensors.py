# SPDX-License-Identifier: GPL-3.0-or-later
"""The two volumetric sensors of NSM 4.3: the environment's and the interaction's.

Both are columns of cells that share their heights. Most colliders stand upright, and then the squared distance of a
cell's middle is a horizontal part, one for a column, plus a vertical part, one for a height: little is computed before
the two are added, and the sum only where the horizontal part alone is within reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..motion.rotations import Array
from .colliders import AROUND, EDGE, MIDDLE, UP, Placed

ENVIRONMENT = (4, 22, 16)
"""Numbers of spheres of the environment sensor along the radius, around, and up."""
INTERACTION = (8, 8, 8)
"""Numbers of cells of the interaction sensor along X, Y and Z of its frame."""

_ALONG, _ACROSS, _HEIGHTS = (np.arange(n) + 0.5 - n / 2 for n in INTERACTION)
"""Coordinates (8,) of the interaction sensor's cells along X, Y and Z, in edges of a cell."""
_COLUMNS = np.stack(np.meshgrid(_ALONG, _ACROSS, indexing="ij"), axis=-1).reshape(-1, 2)
"""Middles (64, 2) of the interaction sensor's columns, in edges of a cell."""
PLACE, FACING = slice(0, 3), 3
"""Slices of a root frame (4,): place x, y, z and facing angle."""
_SMALLEST = 0.01
"""Edge in meters of the smallest interaction sensor."""


@dataclass(frozen=True)
class Environment:
    """Spheres in a cylinder that stands on the root, the first ones in the facing direction, then counter-clockwise.

    radius, height: meters. With R/r = 7 and H/r = 16 the paper's formula gives its 4 x 22 x 16 spheres; the usual
    cylinder reaches a head's height above the character, and as far as it walks in three quarters of a second.
    """

    radius: float = 1.05
    height: float = 2.4

    @property
    def sphere(self) -> float:
        """Radius r of a sphere in meters."""
        return self.radius / 7

    def places(self, root: Array) -> Array:
        """Middles (1408, 3) of the spheres in the world; root: (4,) x, y, z and facing angle."""
        return self._cells.places(np.asarray(root, dtype=float))

    def values(self, placed: Placed, root: Array) -> Array:
        """Occupancies (1408,) float32, in the order of ENVIRONMENT: 1 inside, 1 - d/r within r, 0 farther away."""
        out, _ = self._cells.sense(placed, np.asarray(root, dtype=float))
        np.sqrt(out, out=out)
        out *= np.float32(-1 / self.sphere)
        out += 1
        np.maximum(out, 0, out=out)
        return out.reshape(-1)

    @cached_property
    def _cells(self) -> _Cells:
        rings, around, up = ENVIRONMENT
        ring = (np.arange(rings) + 0.5) * (self.radius / rings)
        angle = np.arange(around) * (2 * math.pi / around)
        columns = ring[:, None, None] * np.stack((np.sin(angle), -np.cos(angle)), axis=-1)
        return _Cells(columns.reshape(-1, 2), (np.arange(up) + 0.5) * (self.height / up), self.sphere)


@dataclass(frozen=True)
class Interaction:
    """8 x 8 x 8 cells that cover the collider in use, in the frame of the goal.

    extent: meters along X, Y and Z of the frame, with the frame's place in the middle of the volume.
    """

    extent: tuple[float, float, float] = (1.6, 1.6, 1.6)

    @staticmethod
    def covering(placed: Placed, facing: float = 0.0) -> tuple[Interaction, Array]:
        """The smallest cubic sensor facing `facing` that covers all cuboids, and its frame (4,).

        Without any cuboids the sensor has the usual size and stands at the world's origin.
        """
        if not len(placed):
            return Interaction(), np.array([0.0, 0.0, 0.0, facing])
        turn = _turn(facing)
        center = placed.center @ turn
        half = np.einsum("nij,nj->ni", np.abs(turn.T @ placed.rotation), placed.half)
        low, high = (center - half).min(0), (center + half).max(0)
        edge = max(float((high - low).max()), _SMALLEST)
        return Interaction((edge, edge, edge)), np.append(turn @ ((low + high) / 2), facing)

    @property
    def cell(self) -> Array:
        """Edges (3,) of a cell in meters."""
        return np.array(self.extent) / INTERACTION

    @cached_property
    def _diagonal(self) -> float:
        return float(np.linalg.norm(self.cell))

    def places(self, frame: Array) -> Array:
        """Middles (512, 3) of the cells in the world; frame: (4,) x, y, z of the volume's middle and facing angle."""
        return self._cells.places(np.asarray(frame, dtype=float))

    def values(self, placed: Placed, frame: Array, root: Array) -> Array:
        """Values (2048,) float32: for each cell, in the order of INTERACTION, the vector to the root and the occupancy.

        frame: (4,) of the volume. root: (4,) of the character; the vectors, from the cell's middle to the root's place,
        are in meters and in the root's frame. Occupancy: 1 when the middle is inside, 0 when the cell touches nothing,
        otherwise 1 - d/r with r the diagonal of a cell.
        """
        frame, root = np.asarray(frame, dtype=float), np.asarray(root, dtype=float)
        cells = self._cells
        out = np.empty((len(cells.columns), len(cells.heights), 4), dtype=np.float32)
        seen = (frame[PLACE] - root[PLACE]) @ _turn(root[FACING])
        columns = cells.columns @ _turn(frame[FACING] - root[FACING])[:2, :2].T
        out[:, :, :2] = -(seen[:2] + columns)[:, None]
        out[:, :, 2] = -(seen[2] + cells.heights)
        out[:, :, 3] = self._occupancy(placed, frame)
        return out.reshape(-1)

    def occupancy(self, placed: Placed, frame: Array) -> Array:
        """Occupancies (512,) float32 of `values`."""
        return self._occupancy(placed, np.asarray(frame, dtype=float)).reshape(-1)

    def _occupancy(self, placed: Placed, frame: Array) -> Array:
        squared, touched = self._cells.sense(placed, frame)
        out = 1 - np.sqrt(squared) * np.float32(1 / self._diagonal)
        out[~touched] = 0
        return out

    @cached_property
    def _cells(self) -> _Cells:
        cell = self.cell
        # What touches a cell is no farther from its middle than half its diagonal; more, for what just touches.
        return _Cells(_COLUMNS * cell[:2], _HEIGHTS * cell[2], 0.51 * self._diagonal, cell / 2)


def _turn(angle: float) -> Array:
    """The rotation (3, 3) of a frame with a facing angle; its columns are the frame's axes in the world."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of a sensor. columns: (C, 2), heights: (L,), middles in its frame. reach: meters around them that matter.

    half: (3,) half edges of a cell, for a sensor that needs to know which cells touch a cuboid.
    """

    columns: Array
    heights: Array
    reach: float
    half: Array | None = None

    def places(self, frame: Array) -> Array:
        """Middles (C * L, 3) in the world."""
        out = np.empty((len(self.columns), len(self.heights), 3))
        out[:, :, :2] = (self.columns @ _turn(frame[FACING])[:2, :2].T + frame[:2])[:, None]
        out[:, :, 2] = self.heights + frame[2]
        return out.reshape(-1, 3)

    def sense(self, placed: Placed, frame: Array) -> tuple[Array, Array]:
        """Squared distances (C, L) float32 to the nearest cuboid, infinity if out of reach; which cells touch any."""
        squared = np.full((len(self.columns), len(self.heights)), np.inf, dtype=np.float32)
        touched = np.zeros(squared.shape, dtype=bool)
        turn, near = _turn(frame[FACING]), self._near(placed, frame)
        rows, stands = placed.upright
        kept, leaning = (near, near[:0]) if stands is None else (near[stands[near]], near[~stands[near]])
        if len(kept):
            self._stand(squared, touched, rows.take(kept, 1), frame, turn)
        if len(leaning):
            self._lean(squared, touched, placed, leaning, frame, turn)
        return squared, touched

    @cached_property
    def _bounds(self) -> tuple[float, float, float]:
        """Radius, middle height and half height of a cylinder around all cells and their reach."""
        radius = math.sqrt(float((self.columns**2).sum(1).max()))
        low, high = float(self.heights[0]), float(self.heights[-1])
        return radius + self.reach, (low + high) / 2, (high - low) / 2 + self.reach

    @cached_property
    def _across(self) -> Array:
        """The columns as (2, C)."""
        return np.ascontiguousarray(self.columns.T)

    @cached_property
    def _places(self) -> Array:
        """The columns as (C, 3): x, y, 1."""
        return np.append(self.columns, np.ones((len(self.columns), 1)), axis=1)

    def _near(self, placed: Placed, frame: Array) -> Array:
        """Numbers (K,) of the cuboids near the cells."""
        radius, middle, high = self._bounds
        x, y, z = placed.upright[0][MIDDLE]
        x, y, bound = x - frame[0], y - frame[1], placed.bound
        near = x * x + y * y < (bound + radius) ** 2
        near &= np.abs(z - (frame[2] + middle)) < bound + high
        return np.flatnonzero(near)

    def _stand(self, squared: Array, touched: Array, rows: Array, frame: Array, turn: Array) -> None:
        """Set `squared`, infinite so far, and `touched` by cuboids that stand upright, (8, K) of `Placed.upright`."""
        count, edges = len(rows[0]), rows[AROUND].ravel()
        away = rows[MIDDLE] - frame[PLACE, None]
        middle = turn[:2, :2].T @ away[:2]
        x, y = turn[:2, :2].T @ rows[EDGE]
        # How far the columns' middles are beyond the rectangles' edges, along the two sides of these: (C, 2 K)
        sides = np.empty((3, 2 * count))
        sides[0, :count], sides[0, count:], sides[1, :count], sides[1, count:] = x, -y, y, x
        sides[2, :count], sides[2, count:] = -x * middle[0] - y * middle[1], y * middle[0] - x * middle[1]
        along = self._places @ sides
        np.abs(along, out=along)
        along -= edges
        gap = np.maximum(along, 0)
        gap *= gap
        flat = (gap[:, :count] + gap[:, count:]).ravel()
        # Few pairs of a column and a cuboid are within reach. Those of a column follow each other.
        pairs = np.flatnonzero(flat < self.reach**2)
        if not len(pairs):
            return
        column, box = np.divmod(pairs, count)
        new = np.ones(len(pairs), dtype=bool)
        np.not_equal(column[1:], column[:-1], out=new[1:])
        starts = np.flatnonzero(new)
        level = np.abs(self.heights - away[2][:, None])
        level -= rows[UP][:, None]
        rise = np.maximum(level, 0)
        rise *= rise
        total = rise.astype(np.float32)[box]
        total += flat[pairs].astype(np.float32)[:, None]
        squared[column[starts]] = np.minimum.reduceat(total, starts, axis=0)
        if self.half is None:
            return
        # Two rectangles are apart when a side of one of them separates them.
        cell, across = self.half[:2], np.abs(sides[:2])
        theirs = cell @ across
        along, first = along.ravel(), pairs + column * count
        met = along[first] <= theirs[box]
        met &= along[first + count] <= theirs[box + count]
        own = cell[:, None] + across[:, :count] * edges[:count] + across[:, count:] * edges[count:]
        met &= np.abs(self._across[0][column] - middle[0][box]) <= own[0][box]
        met &= np.abs(self._across[1][column] - middle[1][box]) <= own[1][box]
        over = (level <= self.half[2])[box]
        over &= met[:, None]
        touched[column[starts]] = np.logical_or.reduceat(over, starts, axis=0)

    def _lean(self, squared: Array, touched: Array, placed: Placed, chosen: Array, frame: Array, turn: Array) -> None:
        """Lower `squared` and set `touched` by the chosen cuboids, which stand at any angle."""
        center, half = placed.center[chosen] - frame[PLACE], placed.half[chosen]
        axes = placed.rotation[chosen].transpose(0, 2, 1)
        columns = self.columns @ turn[:2, :2].T
        away = columns[:, None] - center[:, :2]
        bound = np.sqrt((half**2).sum(1)) + self.reach
        column, box = np.nonzero((away**2).sum(2) < bound**2)
        start = np.concatenate((away[column, box], -center[box, 2:]), axis=1)
        local = (axes[box] @ start[:, :, None]) + axes[box, :, 2:] * self.heights
        gap = np.maximum(np.abs(local) - half[box, :, None], 0)
        np.minimum.at(squared, column, np.einsum("pal,pal->pl", gap, gap).astype(np.float32))
        if self.half is None:
            return
        # Two boxes are apart when a side of one of them, or an axis square to an edge of each, separates them.
        seen = axes @ turn
        crossed = np.einsum("icd,kjd->kijc", _CROSS, seen).reshape(-1, 9, 3)
        apart = np.concatenate((np.broadcast_to(np.eye(3), seen.shape), seen, crossed), axis=1)
        width = np.abs(apart) @ self.half + np.einsum("kia,ka->ki", np.abs(apart @ seen.transpose(0, 2, 1)), half)
        apart = apart[box]
        distance = apart @ (start @ turn)[:, :, None] + apart[:, :, 2:] * self.heights
        met = (np.abs(distance) <= width[box, :, None] + _PARALLEL).all(1)
        np.logical_or.at(touched, column, met)


_CROSS = np.array(
    [[[0, 0, 0], [0, 0, -1], [0, 1, 0]], [[0, 0, 1], [0, 0, 0], [-1, 0, 0]], [[0, -1, 0], [1, 0, 0], [0, 0, 0]]]
)
"""Matrices (3, 3, 3) of the cross products with X, Y and Z from the left."""
_PARALLEL = 1e-9
"""Margin in meters of the separation test: the product of two parallel edges is rounding error and must separate
nothing."""
