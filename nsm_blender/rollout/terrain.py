# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground that a PFNN rollout feels under its trajectory (PFNN 4.3, 6): heights, the root's height, low ceilings."""

from __future__ import annotations

import numpy as np

from ..geometry.ground import LOW, Ground, Sampled
from ..models.pfnn import ASIDE, CURRENT, FPS, LEVEL, SAMPLES
from ..motion.filters import gaussian
from ..motion.rotations import Array
from ..planning.trajectory import Airborne

_SAME = 0.1
"""Meters within which a height tells the same level, as storeys and what is stepped onto are farther apart."""
_SIDES = np.array([-ASIDE, 0.0, ASIDE])
"""Offsets in meters toward the character's left: right, center, left."""
_TO_LEFT = np.array([[0.0, 1.0], [-1.0, 0.0]])
"""Turns directions, as rows, a quarter counter-clockwise."""
_AHEAD = slice(CURRENT - 1, SAMPLES)
"""Samples over which it is looked for what hangs low."""
_LEVELED = LEVEL.stop - LEVEL.start
GLIDE = 0.1
"""Standard deviation in seconds of the filter on the root's height when a rollout is done: in it the root rises by a
fifth of a riser at once, whenever a sample comes onto the next tread."""


def gliding(root: Array) -> Array:
    """A root (T, 4) whose height goes smoothly over ground."""
    out = root.copy()
    out[:, 2] = gaussian(root[:, 2], GLIDE * FPS)
    return out


class Terrain:
    """What is felt of a ground, frame after frame.

    On several levels the one counts that can be reached from the sample before, starting at the root: a flight of
    stairs is higher a second ahead than a foot steps, but from tread to tread it is not.
    """

    def __init__(self, ground: Ground, place: tuple[float, float], near: float) -> None:
        """place: x, y of the root in meters, which stands near a height."""
        self.ground = ground
        self._has_levels = len(ground.levels) > 1
        self._here = float(ground.height(np.array(place), near))
        self._chain = np.full(SAMPLES, self._here)
        self._jumped: Airborne | None = None
        self.height = self._here
        """Height of the root in meters: the mean of the ground's over LEVEL, as in training."""
        self.is_low = False
        """Whether something hangs low over the character or over its way."""

    def jump(self, airborne: Airborne) -> Array:
        """Heights (SAMPLES, 3) that are felt in the air: level ground under the root. Afterwards a plank is felt where
        the character has jumped, as in training no gap lay behind it."""
        self.height, self.is_low, self._jumped = airborne.height, False, airborne
        self._here, self._chain = airborne.height, np.full(SAMPLES, airborne.height)
        return np.full((SAMPLES, len(_SIDES)), airborne.height)

    def feel(self, positions: Array, directions: Array) -> Array:
        """World heights (SAMPLES, 3) at the right of, under and at the left of the trajectory.

        positions: (SAMPLES, 2) in the world. directions: (SAMPLES, 2) unit facings. Sets `height` and `is_low`.
        """
        places = positions[:, None] + _SIDES[:, None] * (directions @ _TO_LEFT)[:, None]
        sampled = self.ground.sampled(places)
        heights = self._chained(sampled) if self._has_levels else sampled.heights(np.inf)
        if self._jumped is not None:
            heights = np.maximum(heights, self._jumped.plank(places))
        self._here = float(heights[CURRENT, 1])
        self.height = sum(heights[LEVEL, 1].tolist()) / _LEVELED
        self.is_low = False
        if self.ground.has_ceilings and self.ground.may_be_low(sampled, _AHEAD):
            near = self._chain if self._has_levels else np.full(SAMPLES, np.inf)
            self.is_low = bool((self.ground.clearance(positions[_AHEAD], near[_AHEAD]) < LOW).any())
        return heights

    def _chained(self, sampled: Sampled) -> Array:
        """Heights (SAMPLES, 3), each sample's near that of its neighbor nearer to the root."""
        # Each round settles at least one sample more on either side. Begun with those of the frame before, all are
        # settled after the first, as the heights have changed by less than what tells levels apart.
        for _ in range(CURRENT + 1):
            heights = sampled.heights(self._chain[:, None])
            near, before = np.empty(SAMPLES), self._chain
            near[:CURRENT], near[CURRENT] = heights[1 : CURRENT + 1, 1], self._here
            near[CURRENT + 1 :] = heights[CURRENT:-1, 1]
            self._chain = near
            if np.abs(near - before).max() < _SAME:
                break
        return heights
