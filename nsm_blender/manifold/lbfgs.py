# SPDX-License-Identifier: GPL-3.0-or-later
"""Limited-memory BFGS with a lower bound on all variables, one step at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from ..models.manifold import Float32
from ..stepwise import Stepwise

_MEMORY = 8
"""Number of past steps that approximate the inverse Hessian."""
_SUFFICIENT = 1e-4
"""Least share of the decrease predicted by the slope that a step must bring (Armijo)."""
_SHORTEST = 1e-4
"""Shortest step, as a share of the full step, that the line search tries."""
_FIRST_MOVE = 0.1
"""Root mean square of the first step, relative to that of the variables."""


class Lbfgs:
    """Minimizes cost(x) for x >= lower; `step()` makes one step until `done`.

    cost: x -> cost and its gradient, shaped as x, in pieces of work. It ends when `patience` steps have together
    lowered the cost by less than the share `tolerance`, or after `most` steps.
    """

    def __init__(
        self,
        cost: Callable[[Float32], Stepwise[tuple[float, Float32]]],
        start: Float32,
        lower: float = -np.inf,
        most: int = 120,
        tolerance: float = 0.01,
        patience: int = 5,
    ) -> None:
        self._cost, self._lower, self._most = cost, lower, most
        self._tolerance, self._patience = tolerance, patience
        self.x = np.maximum(start, np.float32(lower))
        self.costs: list[float] = []
        """Cost at the start and after each step."""
        self.evaluations = 0
        self._pairs: deque[tuple[Float32, Float32, float]] = deque(maxlen=_MEMORY)
        self._work = self._run()
        self.done = False

    @property
    def progress(self) -> float:
        """Estimated share of the work that is done, 0..1: convergence cannot be predicted."""
        return 1.0 if self.done else max(len(self.costs) - 1, 0) / self._most

    def step(self) -> None:
        """Do a piece of a step: a direction, and a length that lowers the cost enough."""
        next(self._work, None)

    def _run(self) -> Iterator[None]:
        self._value, self._gradient = yield from self._evaluate(self.x)
        self.costs.append(self._value)
        while not self.done:
            yield
            yield from self._descend()

    def _descend(self) -> Iterator[None]:
        """One step."""
        # Variables that would cross the bound stay at it and take no part in the curvature.
        free = (self.x > self._lower) | (self._gradient < 0)
        product = yield from self._product(self._gradient * free)
        direction = -product * free
        slope = float(np.vdot(direction, self._gradient))
        if slope >= 0:
            self._pairs.clear()
            direction = -self._first(self._gradient * free)
            slope = float(np.vdot(direction, self._gradient))
        length = 1.0
        while length > _SHORTEST:
            yield
            x = np.maximum(self.x + np.float32(length) * direction, np.float32(self._lower))
            value, gradient = yield from self._evaluate(x)
            if value <= self._value + _SUFFICIENT * length * slope:
                yield
                self._accept(x, value, gradient)
                return
            length *= 0.5
        self.done = True

    def _accept(self, x: Float32, value: float, gradient: Float32) -> None:
        moved, bent = x - self.x, gradient - self._gradient
        curvature = float(np.vdot(moved, bent))
        if curvature > 1e-10 * float(np.vdot(bent, bent)):
            self._pairs.append((moved, bent, 1 / curvature))
        self.x, self._value, self._gradient = x, value, gradient
        self.costs.append(value)
        fallen = self.costs[max(len(self.costs) - 1 - self._patience, 0)] - value
        settled = len(self.costs) > self._patience and fallen < self._tolerance * value
        self.done = settled or len(self.costs) > self._most or value == 0

    def _evaluate(self, x: Float32) -> Stepwise[tuple[float, Float32]]:
        self.evaluations += 1
        return (yield from self._cost(x))

    def _first(self, gradient: Float32) -> Float32:
        """The first step: the gradient, scaled to _FIRST_MOVE."""
        size = float(np.sqrt(np.mean(gradient * gradient)))
        return gradient * np.float32(_FIRST_MOVE * max(float(np.sqrt(np.mean(self.x**2))), 1e-3) / max(size, 1e-20))

    def _product(self, gradient: Float32) -> Stepwise[Float32]:
        """The gradient times the inverse Hessian that the stored pairs approximate (two-loop recursion)."""
        if not self._pairs:
            return self._first(gradient)
        q, shares = gradient.copy(), []
        for moved, bent, rho in reversed(self._pairs):
            yield
            share = np.float32(rho * float(np.vdot(moved, q)))
            q -= share * bent
            shares.append(share)
        moved, bent, rho = self._pairs[-1]
        q *= np.float32(1 / (rho * float(np.vdot(bent, bent))))
        for (moved, bent, rho), share in zip(self._pairs, reversed(shares), strict=True):
            yield
            q += moved * (share - np.float32(rho * float(np.vdot(bent, q))))
        return q
