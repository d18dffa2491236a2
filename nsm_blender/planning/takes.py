# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes: the same shot carried out in another way for each seed, as an actor never repeats a take."""

from __future__ import annotations

import math

import numpy as np

from ..motion.rotations import Array

PACE = 0.06
"""Share by which the pace of a take differs at most from what is asked for, less than what counts as missed: people who
walk the same way again differ by 3 to 6 %."""
_PERIODS = (2.3, 3.7, 6.1)
"""Seconds of the waves of a pace that wanders, longer than a step and of no common beat."""


class Take:
    """What differs from take to take; of seed 0, nothing.

    phase: radians of the gait cycle at which the character begins to stand, and so the foot with which it sets off.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.phase = 0.0 if seed == 0 else float(self._random(0).uniform(0.0, 2 * math.pi))

    def tempo(self, number: int) -> float:
        """Factor on the pace of the key of a number."""
        return 1.0 if self._seed == 0 else 1.0 + PACE * float(self._random(1, number).uniform(-1.0, 1.0))

    def paces(self, times: Array) -> Array:
        """Factors (T,) on the speed at times (T,) in seconds, which wander slowly."""
        if self._seed == 0:
            return np.ones(len(times))
        starts = self._random(2).uniform(0.0, 2 * math.pi, len(_PERIODS))
        waves = [np.sin(2 * math.pi * times / period + start) for period, start in zip(_PERIODS, starts, strict=True)]
        out: Array = 1.0 + PACE * np.mean(waves, axis=0)
        return out

    def _random(self, *kind: int) -> np.random.Generator:
        """Random numbers of this take for one purpose."""
        return np.random.default_rng([self._seed, *kind])
