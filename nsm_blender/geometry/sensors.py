# SPDX-License-Identifier: GPL-3.0-or-later
"""What a character senses of the things around it: the two volumetric sensors of NSM 4.3.

Both are columns of cells that share their heights. Most things stand upright, and then the squared distance of a
cell's middle is a horizontal part, one for a column, plus a vertical part, one for a height: few numbers are worked
on until the two are added, and these only where the horizontal part alone is within reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..motion.rotations import Array
from .colliders import Placed

ENVIRONMENT = (4, 22, 16)
"""Spheres of the environment sensor along the radius, around, and up."""
INTERACTION = (8, 8, 8)
"""Cells of the interaction sensor along X, Y and Z of its frame."""

PLACE, FACING = slice(0, 3), 3
"""Parts of a root frame (4,)."""
_SMALLEST = 0.01
"""Metres: edge of the smallest interaction sensor."""
_UPRIGHT = 3e-7
"""Radians: what leans less is upright. Blender's rotations are float32, a quarter turn is off by half of this."""


@dataclass(frozen=True)
class Environment:
    """Spheres in a cylinder that stands on the root, the first ones where the character faces, then counter-clockwise.

    radius, height: metres. With R/r = 7 and H/r = 16 the paper's formula gives its 4 x 22 x 16 spheres; the usual
    ones reach a head's height above the character, and as far as it walks in three quarters of a second.
    """

    radius: float = 1.05
    height: float = 2.4

    @property
    def sphere(self) -> float:
        """Radius r of a sphere in metres."""
        return self.radius / 7

    def places(self, root: Array) -> Array:
        """Middles (1408, 3) of the spheres in the world; root: (4,) x, y, z and facing angle."""
        return self._cells.places(np.asarray(root, dtype=float))

    def values(self, placed: Placed, root: Array) -> Array:
        """Occupancies (1408,) float32, in the order of ENVIRONMENT: 1 inside, 1 - d/r within r, 0 farther away."""
        squared, _ = self._cells.sense(placed, np.asarray(root, dtype=float))
        out: Array = np.maximum(1 - np.sqrt(squared) * np.float32(1 / self.sphere), 0)
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
    """8 x 8 x 8 cells that cover the thing that is used, in the frame of its goal.

    extent: metres along X, Y and Z of the frame, whose place is the middle of the volume.
    """

    extent: tuple[float, float, float] = (1.6, 1.6, 1.6)

    @staticmethod
    def covering(placed: Placed, facing: float = 0.0) -> tuple[Interaction, Array]:
        """The smallest cubic sensor facing `facing` that covers all cuboids, and its frame (4,).

        Without any cuboids it is one of the usual size at the world's origin.
        """
        if not len(placed):
            return Interaction(), np.array([0.0, 0.0, 0.0, facing])
        turn = _turn(facing)
        centre = placed.centre @ turn
        half = np.einsum("nij,nj->ni", np.abs(turn.T @ placed.rotation), placed.half)
        low, high = (centre - half).min(0), (centre + half).max(0)
        edge = max(float((high - low).max()), _SMALLEST)
        return Interaction((edge, edge, edge)), np.append(turn @ ((low + high) / 2), facing)

    @property
    def cell(self) -> Array:
        """Edges (3,) of a cell in metres."""
        return np.array(self.extent) / INTERACTION

    @cached_property
    def _diagonal(self) -> float:
        return float(np.linalg.norm(self.cell))

    def places(self, frame: Array) -> Array:
        """Middles (512, 3) of the cells in the world; frame: (4,) x, y, z of the volume's middle and facing angle."""
        return self._cells.places(np.asarray(frame, dtype=float))

    def values(self, placed: Placed, frame: Array, root: Array) -> Array:
        """Values (2048,) float32: for each cell, in the order of INTERACTION, the vector to the body, the occupancy.

        frame: (4,) of the volume. root: (4,) of the body; the vectors, from the cell's middle to the root's place,
        are in metres and in the root's frame. Occupancy: 1 when the middle is inside, 0 when the cell touches
        nothing, otherwise 1 - d/r with r the diagonal of a cell.
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
        """Only the occupancies (512,) float32 of `values`."""
        return self._occupancy(placed, np.asarray(frame, dtype=float)).reshape(-1)

    def _occupancy(self, placed: Placed, frame: Array) -> Array:
        squared, touched = self._cells.sense(placed, frame)
        out = 1 - np.sqrt(squared) * np.float32(1 / self._diagonal)
        out[~touched] = 0
        return out

    @cached_property
    def _cells(self) -> _Cells:
        x, y, z = ((np.arange(n) + 0.5 - n / 2) * edge for n, edge in zip(INTERACTION, self.cell, strict=True))
        columns = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
        # What touches a cell is no farther from its middle than half its diagonal; more, for what just touches.
        return _Cells(columns, z, 0.51 * self._diagonal, self.cell / 2)


def _turn(angle: float) -> Array:
    """The rotation (3, 3) of a frame with a facing angle; its columns are the frame's axes in the world."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


Boxes = tuple[Array, Array, Array]
"""Centres (K, 3) relative to the sensor's place, axes as rows (K, 3, 3), half edges (K, 3) along these."""


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of a sensor. columns: (C, 2), heights: (L,), middles in its frame. reach: metres that matter around them.

    half: (3,) half edges of a cell, when it is to be told which cells touch something.
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
        (centre, axes, half), upright = self._near(placed, frame)
        turn = _turn(frame[FACING])
        if upright.all():
            if len(centre):
                self._stand(squared, touched, (centre, axes, half), turn)
            return squared, touched
        leaning = ~upright
        if upright.any():
            self._stand(squared, touched, (centre[upright], axes[upright], half[upright]), turn)
        self._lean(squared, touched, (centre[leaning], axes[leaning], half[leaning]), turn)
        return squared, touched

    @cached_property
    def _across(self) -> Array:
        """The columns as (2, C)."""
        return np.ascontiguousarray(self.columns.T)

    @cached_property
    def _bounds(self) -> tuple[float, float, float]:
        """Radius, middle and half height of a cylinder around all cells and what they reach."""
        radius = math.sqrt(float((self.columns**2).sum(1).max()))
        low, high = float(self.heights[0]), float(self.heights[-1])
        return radius + self.reach, (low + high) / 2, (high - low) / 2 + self.reach

    def _near(self, placed: Placed, frame: Array) -> tuple[Boxes, Array]:
        """Cuboids near the cells, the most upright axis last; and which of them stand upright."""
        radius, middle, high = self._bounds
        away = placed.centre - frame[PLACE]
        bound = placed.bound
        near = np.einsum("ij,ij->i", away[:, :2], away[:, :2]) < (bound + radius) ** 2
        near &= np.abs(away[:, 2] - middle) < bound + high
        chosen = np.flatnonzero(near)
        level = np.abs(placed.rotation[chosen, 2]) < _UPRIGHT
        order = _LAST[level.argmin(1)]
        row = chosen[:, None]
        return (away[chosen], placed.rotation[row, :, order], placed.half[row, order]), level.sum(1) == 2

    def _stand(self, squared: Array, touched: Array, boxes: Boxes, turn: Array) -> None:
        """Set `squared`, infinite so far, and `touched` by cuboids that stand upright."""
        centre, axes, half = boxes
        count, plane = len(centre), turn[:2, :2]
        sides = axes[:, :2, :2] @ plane
        middle = centre[:, :2] @ plane
        # How far the columns' middles are from those of the rectangles, along the sides of these: (K, 2, C)
        along = (sides.reshape(-1, 2) @ self._across).reshape(count, 2, -1)
        along -= np.einsum("kai,ki->ka", sides, middle)[:, :, None]
        np.abs(along, out=along)
        gap = np.maximum(along - half[:, :2, None], 0)
        gap *= gap
        flat = gap[:, 0] + gap[:, 1]
        level = np.abs(self.heights - centre[:, 2:])
        rise = np.maximum(level - half[:, 2:], 0) ** 2
        # Few pairs of a column and a cuboid are within reach. Those of a column follow each other.
        column, box = np.nonzero(np.ascontiguousarray((flat < self.reach**2).T))
        if len(column):
            total = (flat[box, column][:, None] + rise[box]).astype(np.float32)
            first = np.append(0, np.flatnonzero(column[1:] != column[:-1]) + 1)
            squared[column[first]] = np.minimum.reduceat(total, first, axis=0)
        if self.half is None:
            return
        # Two rectangles are apart when a side of one of them separates them.
        cell, between = self.half[:2], np.abs(sides)
        theirs = half[:, :2] + between @ cell
        own = cell + np.einsum("ka,kai->ki", half[:, :2], between)
        met = along <= theirs[:, :, None]
        met &= np.abs(self._across - middle[:, :, None]) <= own[:, :, None]
        beside = (met[:, 0] & met[:, 1]).astype(np.float32)
        over = (level <= half[:, 2:] + self.half[2]).astype(np.float32)
        touched |= beside.T @ over > 0

    def _lean(self, squared: Array, touched: Array, boxes: Boxes, turn: Array) -> None:
        """Lower `squared` and set `touched` by cuboids that stand anyhow."""
        centre, axes, half = boxes
        columns = self.columns @ turn[:2, :2].T
        away = columns[:, None] - centre[:, :2]
        bound = np.sqrt((half**2).sum(1)) + self.reach
        column, box = np.nonzero((away**2).sum(2) < bound**2)
        start = np.concatenate((away[column, box], -centre[box, 2:]), axis=1)
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


_LAST = np.array([[1, 2, 0], [2, 0, 1], [0, 1, 2]])
"""Orders of the axes that put one of them last."""


_CROSS = np.array(
    [[[0, 0, 0], [0, 0, -1], [0, 1, 0]], [[0, 0, 1], [0, 0, 0], [-1, 0, 0]], [[0, -1, 0], [1, 0, 0], [0, 0, 0]]]
)
"""Matrices (3, 3, 3) of the cross products with X, Y and Z from the left."""
_PARALLEL = 1e-9
"""Metres: edges of two boxes may be parallel, their product then is rounding errors and must separate nothing."""
