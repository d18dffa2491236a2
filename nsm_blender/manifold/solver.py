# SPDX-License-Identifier: GPL-3.0-or-later
"""Minimizes constraints in the space of hidden units (section 7.1, eq. 13), by Gauss-Newton.

A change of the hidden units H changes the frames X by D dH, with the decoder D. Each Gauss-Newton step solves min |r +
J D dH|^2 by conjugate gradients, stopped early, which keeps dH small. The gradient with respect to H is always D^T of
something in X, so H itself is never needed: with z in the frames' space, dH = D^T z and dX = D D^T z, and D D^T is a
single convolution between frames, half the work of decoding and back.

The edited motion keeps what the manifold cannot express: edits are added to its frames. A decoder cannot express every
part of what the constraints need, such as a bone that flutters or a foot that stops within a frame, and conjugate
gradients converge slowly toward it. So a change may leave the manifold a little: D D^T is joined by a narrow kernel in
time, as if each feature had a little freedom of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..models.manifold import Autoencoder, Float32
from ..motion.rotations import Array
from ..stepwise import Stepwise
from .kinematics import Kinematics
from .terms import Term

TARGET = 0.01
"""Share of the cost at which a solve ends."""
_OWN = 0.04
"""Variance of a normalized feature of a frame outside the manifold; through white hidden units it has 0.25 on
average."""
_INNER = 9
"""Steps of conjugate gradients for a linearization; bones turn little, so it holds for that long."""
_MOST = 45
"""Largest number of steps in all, after which the cost falls too slowly to wait for."""
_HALVINGS = 4
"""Number of step lengths that are tried, the full step and its halvings, until the cost falls."""


class Solver:
    """A minimization in progress: `step()` does a piece (20 ms for a minute of motion) until `done`.

    frames: (T, FRAME.size) the motion at 60 fps, T even. start: its first root. guess: initial frames that meet some of
    the terms already. free: (T, FRAME.size), 0 where a feature stays as in the guess, else 1; None leaves all free. It
    ends when the cost is below `target` times that of `frames` and every term is met, or after `most` steps.
    """

    def __init__(
        self,
        autoencoder: Autoencoder,
        frames: Array,
        start: tuple[float, float, float, float],
        terms: Sequence[Term],
        guess: Array | None = None,
        target: float = TARGET,
        most: int = _MOST,
        free: Array | None = None,
    ) -> None:
        self._autoencoder, self._terms = autoencoder, terms
        self._target, self._most = target, most
        self._free = free
        self._own = np.float32(_OWN) * autoencoder.scale**2
        given = Kinematics(frames.astype(np.float32), start)
        self._at = given if guess is None else Kinematics(guess.astype(np.float32), start)
        self._residuals: list[Array] = []
        self.costs: list[float] = []
        """Sum of the terms' costs of the motion and, by the linearization, after each step; none before the first
        piece of work."""
        self._steps = self._run(given)
        self.done = False

    @property
    def frames(self) -> Array:
        """The best frames (T, FRAME.size) so far."""
        return self._at.frames

    @property
    def cost(self) -> float:
        """Sum of the terms' costs of `frames`."""
        return _dot(self._residuals, self._residuals)

    @property
    def progress(self) -> float:
        """Share of the work that is done, 0..1."""
        if self.done or not self.costs:
            return float(self.done)
        fallen = np.log(max(self.costs[-1] / self.costs[0], 1e-12)) / np.log(self._target)
        return float(np.clip(max(fallen, (len(self.costs) - 1) / self._most), 0, 0.99))

    def step(self) -> None:
        """Do a piece of a step of conjugate gradients."""
        if not self.done:
            self.done = next(self._steps, True) is not None

    def solve(self) -> Array:
        """Run to the end and return `frames`."""
        while not self.done:
            self.step()
        return self.frames

    def _residuals_of(self, at: Kinematics) -> Stepwise[list[Array]]:
        """r of each term."""
        out = []
        for term in self._terms:
            yield
            out.append(term.residual(at))
        return out

    def _run(self, given: Kinematics) -> Iterator[None]:
        """Work until the cost is low enough or falls no more."""
        first = self._residuals = yield from self._residuals_of(given)
        self.costs.append(_dot(first, first))
        if self._at is not given:
            self._residuals = yield from self._residuals_of(self._at)
        if self.costs[0] == 0 or self._most == 0:
            return
        while len(self.costs) <= self._most:
            before = self.cost
            change = np.zeros_like(self.frames)
            yield from self._linear(change)
            for halving in range(_HALVINGS):
                at = Kinematics(self.frames + np.float32(0.5**halving) * change, self._at.start)
                residuals = yield from self._residuals_of(at)
                if _dot(residuals, residuals) < before:
                    self._at, self._residuals = at, residuals
                    break
            else:
                return
            if self.cost <= self._target * self.costs[0] and self._met():
                return

    def _linear(self, change: Array) -> Iterator[None]:
        """Conjugate gradients on the linearized terms (CGLS, with H eliminated); adds to `change` (T, d)."""
        left = [-r for r in self._residuals]
        descent = yield from self._transposed(left)
        shown = yield from self._projected(descent)
        size = _product(descent, shown)
        direction = shown.copy()
        for i in range(_INNER):
            moved = []
            for term in self._terms:
                yield
                moved.append(term.tangent(self._at, direction))
            curvature = _dot(moved, moved)
            if size <= 0 or curvature <= 0 or len(self.costs) > self._most:
                return
            length = size / curvature
            change += np.float32(length) * direction
            left = [r - length * m for r, m in zip(left, moved, strict=True)]
            self.costs.append(_dot(left, left))
            low = self.costs[-1] <= 0.9 * self._target * self.costs[0] and self._met()
            yield
            if low or i == _INNER - 1:
                return
            descent = yield from self._transposed(left)
            shown = yield from self._projected(descent)
            last, size = size, _product(descent, shown)
            direction *= np.float32(size / last)
            direction += shown
            yield

    def _projected(self, descent: Float32) -> Stepwise[Float32]:
        """Change (T, d) of the frames for a descent in them: D D^T, and the features' own freedom."""
        out = yield from self._autoencoder.decoding_both(descent)
        yield
        own = descent * self._own
        out += 0.5 * own
        out[1:] += 0.25 * own[:-1]
        out[:-1] += 0.25 * own[1:]
        if self._free is not None:
            out *= self._free
        return out

    def _met(self) -> bool:
        return all(term.met(r) for term, r in zip(self._terms, self._residuals, strict=True))

    def _transposed(self, residuals: Sequence[Array]) -> Stepwise[Array]:
        """J^T r of all terms, (T, d)."""
        out = np.zeros_like(self.frames)
        for term, residual in zip(self._terms, residuals, strict=True):
            yield
            term.gradient(self._at, residual, out)
        if self._free is not None:
            out *= self._free
        return out


def _dot(a: Sequence[Array], b: Sequence[Array]) -> float:
    return sum(_product(x, y) for x, y in zip(a, b, strict=True))


def _product(a: Array, b: Array) -> float:
    return float(np.vdot(a, b))
