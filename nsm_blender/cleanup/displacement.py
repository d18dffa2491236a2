# SPDX-License-Identifier: GPL-3.0-or-later
"""Displacement curves: cubic B-splines over time, and the least squares that choose their control points.

Lee and Shin (1999) fit displacement maps as B-splines; here the normal equations of all frames are banded, so that a
solve takes time in proportion to the length of the motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array
from ..stepwise import Stepwise, finished

SPACING = 3
"""Frames between two knots: at 60 fps a displacement may follow a swing of 0.2 s, and no tremble above 10 Hz."""
_ORDER = 4
_GROUP = _ORDER - 1
_PIECE = 1000
"""Groups of control points that are eliminated in one piece of work: 30 ms."""


def _basis() -> tuple[Array, Array, Array]:
    """Values, first and second derivatives per frame (SPACING, 4) of the four B-splines at the frames of one span."""
    u = np.arange(SPACING) / SPACING
    zero, one = np.zeros(SPACING), np.ones(SPACING)
    values = np.stack(((1 - u) ** 3, 3 * u**3 - 6 * u**2 + 4, -3 * u**3 + 3 * u**2 + 3 * u + 1, u**3), axis=1)
    first = np.stack((-3 * (1 - u) ** 2, 9 * u**2 - 12 * u, -9 * u**2 + 6 * u + 3 * one, 3 * u**2 + zero), axis=1)
    second = np.stack((6 * (1 - u), 18 * u - 12, 6 - 18 * u, 6 * u), axis=1)
    return values / 6, first / (6 * SPACING), second / (6 * SPACING**2)


_VALUE, _SPEED, _BEND = _basis()


class Displacement:
    """D curves over T frames. control: (M, D) control points, all zero at first."""

    def __init__(self, frames: int, size: int) -> None:
        self.frames, self.size = frames, size
        self.spans = -(-frames // SPACING)
        self.control = np.zeros((self.spans + _GROUP, size))

    def values(self) -> Array:
        """(T, D) at every frame."""
        parts = np.stack([self.control[i : i + self.spans] for i in range(_ORDER)], axis=1)
        out: Array = np.einsum("ki,qid->qkd", _VALUE, parts).reshape(-1, self.size)
        return out[: self.frames]


class NormalEquations:
    """Sums of squares of values, speeds and accelerations of displacement curves, and their least."""

    def __init__(self, curves: Displacement) -> None:
        self._curves = curves
        count, size = curves.control.shape
        self._bands = np.zeros((_ORDER, count, size, size))
        self._right = np.zeros((count, size))

    def add(self, matrices: Array, right: Array) -> None:
        """The sum over frames of x H x / 2 - b x, for values x: matrices H (T, D, D) and vectors b (T, D)."""
        spans, size = self._curves.spans, self._curves.size
        pairs = [(i, j) for i in range(_ORDER) for j in range(i, _ORDER)]
        weights = np.stack([_VALUE[:, i] * _VALUE[:, j] for i, j in pairs])
        sums = np.matmul(weights, self._by_span(matrices)).reshape(spans, len(pairs), size, size)
        for number, (i, j) in enumerate(pairs):
            self._bands[j - i, i : i + spans] += sums[:, number]
        vectors = np.einsum("ki,qkd->qid", _VALUE, self._by_span(right))
        for i in range(_ORDER):
            self._right[i : i + spans] += vectors[:, i]

    def add_speeds(self, weights: Array) -> None:
        """The sum over frames of squared changes per frame, with weights (T, D)."""
        self._add_diagonal(_SPEED, weights)

    def add_accelerations(self, weights: Array) -> None:
        """The sum over frames of squared accelerations per frame^2, with weights (T, D)."""
        self._add_diagonal(_BEND, weights)

    def add_control(self, weights: Array, toward: Array) -> None:
        """The sum over control points of squared differences from others (M, D), with weights (M, D)."""
        diagonal = np.arange(self._curves.size)
        self._bands[0][:, diagonal, diagonal] += weights
        self._right += weights * toward

    def copy(self) -> NormalEquations:
        """The same sum, to which others are added."""
        out = NormalEquations(self._curves)
        out._bands, out._right = self._bands.copy(), self._right.copy()
        return out

    def cost(self, control: Array) -> float:
        """Value of a sum of squares that is 0 at 0, at control points (M, D)."""
        product = np.einsum("mde,me->md", self._bands[0], control)
        for offset, band in enumerate(self._bands[1:], start=1):
            product[:-offset] += 2 * np.einsum("mde,me->md", band[:-offset], control[offset:])
        return float(np.vdot(control, product))

    def least(self) -> Array:
        """`solving` at once."""
        return finished(self.solving())

    def solving(self) -> Stepwise[Array]:
        """Control points (M, D) at the least of the sum, by block elimination from the first to the last, in pieces of
        work."""
        count, size = self._right.shape
        groups = -(-count // _GROUP)
        wide = _GROUP * size
        middle, upper = np.zeros((groups, wide, wide)), np.zeros((groups, wide, wide))
        right = np.zeros((groups * _GROUP, size))
        right[:count] = self._right
        for offset, band in enumerate(self._bands):
            yield
            for m in range(count - offset):
                group, row = divmod(m, _GROUP)
                rows = slice(row * size, (row + 1) * size)
                other, column = divmod(m + offset, _GROUP)
                columns = slice(column * size, (column + 1) * size)
                if other == group:
                    middle[group, rows, columns] = band[m]
                    middle[group, columns, rows] = band[m].T
                else:
                    upper[group, rows, columns] = band[m]
        spare = np.arange((count - 1) % _GROUP + 1, _GROUP) * size
        for start in spare:
            middle[-1, range(start, start + size), range(start, start + size)] = 1.0
        known = right.reshape(groups, wide)
        carried = np.zeros((groups, wide, wide + 1))
        for group in range(groups):
            if group % _PIECE == 0:
                yield
            if group:
                middle[group] -= upper[group - 1].T @ carried[group - 1, :, :-1]
                known[group] -= upper[group - 1].T @ carried[group - 1, :, -1]
            both = np.concatenate((upper[group], known[group, :, None]), axis=1)
            carried[group] = np.linalg.solve(middle[group], both)
        yield
        out = np.zeros((groups, wide))
        for group in reversed(range(groups)):
            out[group] = carried[group, :, -1]
            if group + 1 < groups:
                out[group] -= carried[group, :, :-1] @ out[group + 1]
        return out.reshape(-1, size)[:count]

    def _add_diagonal(self, basis: Array, weights: Array) -> None:
        spans, diagonal = self._curves.spans, np.arange(self._curves.size)
        padded = self._by_span(weights)
        for i in range(_ORDER):
            for j in range(i, _ORDER):
                sums = np.einsum("k,qkd->qd", basis[:, i] * basis[:, j], padded)
                self._bands[j - i, i : i + spans][:, diagonal, diagonal] += sums

    def _by_span(self, x: Array) -> Array:
        """(S, SPACING, ...) of values (T, ...), flat from the third axis on."""
        short = self._curves.spans * SPACING - len(x)
        padded = np.concatenate((x, np.zeros((short, *x.shape[1:])))) if short else x
        return padded.reshape(self._curves.spans, SPACING, -1)


@dataclass(frozen=True)
class Descent:
    """How damped Gauss-Newton comes down (Levenberg and Marquardt).

    steps: at most. damping: weight of a control point's change in the first step. converged, negligible: share of the
    cost, and cost, of which the last two steps that lower it, in their whole length, take off less: one such step may
    be short for its damping alone. farthest: by which a displacement changes in one step. eased, hardened: factors of
    the damping after a step that lowers the cost, and after one that does not.
    """

    steps: int
    damping: float
    converged: float
    farthest: float
    negligible: float = 0.0
    eased: float = 0.7
    hardened: float = 3.0


def descend(
    curves: Displacement,
    own: NormalEquations,
    squares: Callable[[Array], Stepwise[tuple[float, Array, Array]]],
    descent: Descent,
) -> Stepwise[Array]:
    """Values (T, D) of the curves, whose control points are left where the sum of squares is least.

    own: what displacements cost by themselves. squares: of values (T, D) the other costs, in pieces of work, with their
    normal equations' matrices (T, D, D) and vectors (T, D).
    """
    damping, best, found, largest = descent.damping, np.inf, curves.control, np.zeros((1, 1))
    equations, small = own, 0
    for _ in range(descent.steps):
        cost, matrices, vectors = yield from squares(curves.values())
        cost += own.cost(curves.control)
        if cost <= best:
            little = best - cost < max(descent.converged * best, descent.negligible)
            small = small + 1 if little and largest.max() <= descent.farthest else 0
            if small == 2:
                found = curves.control
                break
        if cost < best:
            damping, best, found = damping * descent.eased, cost, curves.control
            equations = own.copy()
            equations.add(matrices, vectors)
        else:
            damping *= descent.hardened
        step = equations.copy()
        step.add_control(np.full(found.shape, damping), found)
        change = (yield from step.solving()) - found
        largest = np.abs(change).max(axis=1, keepdims=True)
        curves.control = found + change * np.minimum(1.0, descent.farthest / np.maximum(largest, descent.farthest))
    curves.control = found
    return curves.values()
