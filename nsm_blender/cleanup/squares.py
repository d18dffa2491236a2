# SPDX-License-Identifier: GPL-3.0-or-later
"""Sums of squares over the displacements of frames, as the normal equations of each frame."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from .kinematics import SIZE


class Squares:
    """A sum of squares over displacements x of F frames: matrices (F, SIZE, SIZE) and vectors (F, SIZE)."""

    def __init__(self, count: int) -> None:
        self.matrix, self.vector = np.zeros((count, SIZE, SIZE)), np.zeros((count, SIZE))
        self.cost = 0.0

    def add(self, x: Array, frames: Array, moves: Array, off: Array, weight: Array | float) -> None:
        """What is to change by meters `off` (N,) and moves with displacements by `moves` (N, SIZE), at frames (N,)
        where displacements x (F, SIZE) are now."""
        if not len(frames):
            return
        self.cost += float(np.sum(weight * off * off))
        order = np.argsort(frames, kind="stable")
        frames, moves = frames[order], moves[order]
        weighted = moves * np.broadcast_to(weight, len(order))[order, None]
        wanted = np.einsum("nd,nd->n", moves, x[frames]) + off[order]
        starts = np.flatnonzero(np.diff(frames, prepend=-1))
        self.matrix[frames[starts]] += np.add.reduceat(weighted[:, :, None] * moves[:, None], starts, axis=0)
        self.vector[frames[starts]] += np.add.reduceat(weighted * wanted[:, None], starts, axis=0)

    def add_places(self, x: Array, frames: Array, moves: Array, off: Array, weight: Array | float) -> None:
        """The same of points that are to move by meters (N, 3), and move by (N, 3, SIZE)."""
        for axis in range(3):
            self.add(x, frames, moves[:, axis], off[:, axis], weight)

    def add_columns(self, x: Array, columns: slice, values: Array, weight: Array) -> None:
        """What displacements are to be in some columns: values (F, C), with weights (F,) for all frames."""
        for number, column in enumerate(range(columns.start, columns.stop)):
            self.matrix[:, column, column] += weight
            self.vector[:, column] += weight * values[:, number]
            self.cost += float(np.sum(weight * (values[:, number] - x[:, column]) ** 2))
