# SPDX-License-Identifier: GPL-3.0-or-later
"""What a character senses of the things around it: the two volumetric sensors of NSM 4.3.

Both are columns of cells that share their heights. Most things stand upright, and then the squared distance of a
cell's middle is a horizontal part, one for a column, plus a vertical part, one for a height: few numbers are worked
on until the two are added, and these only where the horizontal part alone is within reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..motion.root import to_local, to_world
from ..motion.rotations import Array
from .colliders import Placed

ENVIRONMENT = (4, 22, 16)
"""Spheres of the environment sensor along the radius, around, and up."""
INTERACTION = (8, 8, 8)
"""Cells of the interaction sensor along X, Y and Z of its frame."""

PLACE, FACING = slice(0, 3), 3
"""Parts of a root frame (4,)."""
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
        return _places(*self._cells(), np.asarray(root, dtype=float))

    def values(self, placed: Placed, root: Array) -> Array:
        """Occupancies (1408,) float32, in the order of ENVIRONMENT: 1 inside, 1 - d/r within r, 0 farther away."""
        columns, heights = self._cells()
        squared, _ = _squared_distances(columns, heights, self.sphere, placed, np.asarray(root, dtype=float))
        return np.maximum(1 - np.sqrt(squared) / self.sphere, 0).astype(np.float32).reshape(-1)

    def _cells(self) -> tuple[Array, Array]:
        rings, around, up = ENVIRONMENT
        ring = (np.arange(rings) + 0.5) * (self.radius / rings)
        angle = np.arange(around) * (2 * math.pi / around)
        columns = ring[:, None, None] * np.stack((np.sin(angle), -np.cos(angle)), axis=-1)
        return columns.reshape(-1, 2), (np.arange(up) + 0.5) * (self.height / up)


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
        axes = placed.rotation.copy()
        axes[:, :2] = np.moveaxis(to_local(np.moveaxis(axes[:, :2], 1, 2), np.float64(facing)), 2, 1)
        centre = placed.centre.copy()
        centre[:, :2] = to_local(centre[:, :2], np.float64(facing))
        half = np.einsum("nij,nj->ni", np.abs(axes), placed.half)
        low, high = (centre - half).min(0), (centre + half).max(0)
        middle = (low + high) / 2
        middle[:2] = to_world(middle[:2], np.float64(facing))
        edge = float((high - low).max())
        return Interaction((edge, edge, edge)), np.append(middle, facing)

    @property
    def cell(self) -> Array:
        """Edges (3,) of a cell in metres."""
        return np.array(self.extent) / INTERACTION

    def places(self, frame: Array) -> Array:
        """Middles (512, 3) of the cells in the world; frame: (4,) x, y, z of the volume's middle and facing angle."""
        return _places(*self._cells(), np.asarray(frame, dtype=float))

    def values(self, placed: Placed, frame: Array, root: Array) -> Array:
        """Values (2048,) float32: for each cell, in the order of INTERACTION, the vector to the body, the occupancy.

        frame: (4,) of the volume. root: (4,) of the body; the vectors, from the cell's middle to the root's place,
        are in metres and in the root's frame. Occupancy: 1 when the middle is inside, 0 when the cell touches
        nothing, otherwise 1 - d/r with r the diagonal of a cell.
        """
        root = np.asarray(root, dtype=float)
        out = np.empty((math.prod(INTERACTION), 4), dtype=np.float32)
        away = root[PLACE] - self.places(frame)
        out[:, :2] = to_local(away[:, :2], root[FACING])
        out[:, 2] = away[:, 2]
        out[:, 3] = self.occupancy(placed, frame)
        return out.reshape(-1)

    def occupancy(self, placed: Placed, frame: Array) -> Array:
        """Only the occupancies (512,) float32 of `values`."""
        columns, heights = self._cells()
        diagonal = float(np.linalg.norm(self.cell))
        squared, touched = _squared_distances(
            columns, heights, diagonal / 2, placed, np.asarray(frame, dtype=float), self.cell / 2
        )
        return np.where(touched, 1 - np.sqrt(squared) / diagonal, 0).astype(np.float32).reshape(-1)

    def _cells(self) -> tuple[Array, Array]:
        x, y, z = ((np.arange(n) + 0.5 - n / 2) * edge for n, edge in zip(INTERACTION, self.cell, strict=True))
        return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2), z


def _places(columns: Array, heights: Array, frame: Array) -> Array:
    """Middles (C * L, 3) in the world of cells in columns (C, 2) at heights (L,) of a frame (4,)."""
    out = np.empty((len(columns), len(heights), 3))
    out[:, :, :2] = (to_world(columns, frame[FACING]) + frame[:2])[:, None]
    out[:, :, 2] = heights + frame[2]
    return out.reshape(-1, 3)


def _squared_distances(
    columns: Array, heights: Array, reach: float, placed: Placed, frame: Array, cell: Array | None = None
) -> tuple[Array, Array]:
    """Squared distances (C, L) float32 of the cells' middles to the nearest cuboid, infinity where it is out of reach.

    Also which cells (C, L) touch a cuboid, when their half edges `cell` (3,) are given.
    """
    squared = np.full((len(columns), len(heights)), np.inf, dtype=np.float32)
    touched = np.zeros(squared.shape, dtype=bool)
    radius = math.sqrt(float((columns**2).sum(1).max())) + reach
    centre, axes, half = _within(placed, frame, radius, (heights[0] - reach, heights[-1] + reach))
    upright = np.abs(axes[:, :2, 2]).max(axis=1, initial=0) < _UPRIGHT
    if upright.any():
        _upright(squared, touched, columns, heights, reach, (centre[upright], axes[upright], half[upright]), cell)
    if not upright.all():
        leaning = ~upright
        _leaning(squared, touched, columns, heights, reach, (centre[leaning], axes[leaning], half[leaning]), cell)
    return squared, touched


Boxes = tuple[Array, Array, Array]
"""Centres (K, 3), axes as columns (K, 3, 3) and half edges (K, 3) of cuboids, in a sensor's frame."""


def _within(placed: Placed, frame: Array, radius: float, heights: tuple[float, float]) -> Boxes:
    """The cuboids near a cylinder, in its frame; the axis nearest to the vertical comes last."""
    away = placed.centre - frame[PLACE]
    bound = np.sqrt(np.einsum("ij,ij->i", placed.half, placed.half))
    near = away[:, 0] ** 2 + away[:, 1] ** 2 < (bound + radius) ** 2
    near &= (away[:, 2] + bound > heights[0]) & (away[:, 2] - bound < heights[1])
    chosen = np.flatnonzero(near)
    c, s = math.cos(frame[FACING]), math.sin(frame[FACING])
    turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    rotation, half = placed.rotation[chosen], placed.half[chosen]
    up = np.abs(rotation[:, 2]).argmax(1)
    order = (up[:, None] + [1, 2, 0]) % 3
    axes = np.take_along_axis(turn @ rotation, order[:, None], 2)
    return away[chosen] @ turn.T, axes, np.take_along_axis(half, order, 1)


def _upright(
    squared: Array, touched: Array, columns: Array, heights: Array, reach: float, boxes: Boxes, cell: Array | None
) -> None:
    """Lower `squared` and set `touched` by cuboids that stand upright."""
    centre, axes, half = boxes
    x, y = columns[:, :1] - centre[:, 0], columns[:, 1:] - centre[:, 1]
    along = [np.abs(x * axes[:, 0, a] + y * axes[:, 1, a]) for a in range(2)]
    level = np.abs(heights[:, None] - centre[:, 2])
    gaps = [np.maximum(along[a] - half[:, a], 0) for a in range(2)]
    flat = gaps[0] ** 2 + gaps[1] ** 2
    rise = (np.maximum(level - half[:, 2], 0) ** 2).T.astype(np.float32)
    column, box = np.nonzero(flat < reach * reach)
    _lower(squared, column, flat[column, box].astype(np.float32)[:, None] + rise[box])
    if cell is None:
        return
    # Two rectangles are apart when the sides of one of them separate them.
    beside = np.abs(x) <= cell[0] + (np.abs(axes[:, 0, :2]) * half[:, :2]).sum(1)
    beside &= np.abs(y) <= cell[1] + (np.abs(axes[:, 1, :2]) * half[:, :2]).sum(1)
    for a in range(2):
        beside &= along[a] <= half[:, a] + np.abs(axes[:, 0, a]) * cell[0] + np.abs(axes[:, 1, a]) * cell[1]
    level_touched = level <= half[:, 2] + cell[2]
    touched |= (beside[:, None] & level_touched).any(2)


def _leaning(
    squared: Array, touched: Array, columns: Array, heights: Array, reach: float, boxes: Boxes, cell: Array | None
) -> None:
    """Lower `squared` and set `touched` by cuboids that stand anyhow."""
    centre, axes, half = boxes
    away = columns[:, None] - centre[:, :2]
    bound = np.sqrt((half**2).sum(1)) + reach
    column, box = np.nonzero((away**2).sum(2) < bound**2)
    start = np.concatenate((away[column, box], -centre[box, 2:]), axis=1)
    gap = np.zeros((len(column), len(heights)))
    for a in range(3):
        local = np.einsum("pi,pi->p", start, axes[box, :, a])[:, None] + axes[box, 2, a][:, None] * heights
        gap += np.maximum(np.abs(local) - half[box, a][:, None], 0) ** 2
    _lower(squared, column, gap.astype(np.float32))
    if cell is None:
        return
    # Separating axes of two boxes: the normals of both, and those square to an edge of each.
    edges = np.broadcast_to(np.eye(3), (len(box), 3, 3))
    crossed = np.cross(np.eye(3)[:, None], np.swapaxes(axes, 1, 2)[:, None]).reshape(-1, 9, 3)[box]
    apart = np.concatenate((edges, np.swapaxes(axes, 1, 2)[box], crossed), axis=1)
    width = np.abs(apart) @ cell + (np.abs(apart @ axes[box]) * half[box, None]).sum(2) + 1e-9
    distance = (apart @ start[:, :, None]) + apart[:, :, 2:] * heights
    met = (np.abs(distance) <= width[:, :, None]).all(1)
    _set(touched, column, met)


def _lower(out: Array, row: Array, values: Array) -> None:
    """Lower rows of `out` to `values` (P, L); `row` (P,) rises."""
    if len(row):
        first = np.flatnonzero(np.diff(row, prepend=-1))
        rows = row[first]
        out[rows] = np.minimum(out[rows], np.minimum.reduceat(values, first, axis=0))


def _set(out: Array, row: Array, values: Array) -> None:
    """Set in rows of `out` what is set in `values` (P, L); `row` (P,) rises."""
    if len(row):
        first = np.flatnonzero(np.diff(row, prepend=-1))
        out[row[first]] |= np.logical_or.reduceat(values, first, axis=0)
