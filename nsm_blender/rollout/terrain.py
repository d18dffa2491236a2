# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground that a PFNN rollout feels under its trajectory (PFNN 4.3, 6): heights, the root's height, low ceilings."""

from __future__ import annotations

import numpy as np

from ..geometry.ground import LOW, Ground, Sampled
from ..models.pfnn import ASIDE, CURRENT, FPS, SAMPLE_FRAMES, SAMPLES
from ..motion.filters import gaussian
from ..motion.rotations import Array
from ..planning.trajectory import Airborne

_SAME = 0.1
"""Meters within which a height tells the same level, as storeys and what is stepped onto are farther apart."""
_SIDES = np.array([-ASIDE, 0.0, ASIDE])
"""Offsets in meters toward the character's left: right, center, left."""
_TO_LEFT = np.array([[0.0, 1.0], [-1.0, 0.0]])
"""Turns directions, as rows, a quarter counter-clockwise."""
_MARGIN = 3
"""Samples to either side whose ground a sample feels, and by which the trajectory is lengthened, straight on, at both
ends."""
_SPREAD = 1.5
"""Standard deviation, in samples of a sixth of a second, of the heights whose mean a sample feels, about a step in all.
A flight of stairs rises by whole treads, and weights that are told so make the hips jerk by 150 m/s^2, not 10."""
_AT = np.arange(-_MARGIN * SAMPLE_FRAMES, (SAMPLES - 1 + _MARGIN) * SAMPLE_FRAMES + 1) / SAMPLE_FRAMES
"""Places of the lengthened trajectory (P,) in samples, one a frame, so that treads come up one after the other."""
_HERE = int(np.flatnonzero(_AT == CURRENT)[0])
"""Number of the present one of these places."""
_AHEAD = slice(_HERE - SAMPLE_FRAMES, len(_AT) - _MARGIN * SAMPLE_FRAMES)
"""Places over which it is looked for what hangs low."""


def _between() -> Array:
    """Shares (P, SAMPLES) of the samples in each place."""
    first = np.clip(_AT.astype(int), 0, SAMPLES - 2)
    out, rows = np.zeros((len(_AT), SAMPLES)), np.arange(len(_AT))
    out[rows, first], out[rows, first + 1] = first + 1 - _AT, _AT - first
    return out


def _spread() -> Array:
    """Shares (SAMPLES, P) of the places in what each sample feels."""
    away = np.arange(SAMPLES)[:, None] - _AT
    out: Array = np.exp(-0.5 * (away / _SPREAD) ** 2) * (np.abs(away) <= _MARGIN)
    return out / out.sum(axis=1, keepdims=True)


_BETWEEN, _SHARES = _between(), _spread()
GLIDE = 0.1
"""Standard deviation in seconds of the filter on the root's height in a rollout that does not feel the ground: there
the height is of a trajectory that changes a little from frame to frame, and the body rises and sinks with it."""


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
        self._chain = np.full(len(_AT), self._here)
        self._jumped: Airborne | None = None
        self.height = self._here
        """Height of the root in meters: what is felt under it, the mean of about a step's ground, as in training."""
        self.is_low = False
        """Whether something hangs low over the character or over its way."""

    def jump(self, airborne: Airborne) -> Array:
        """Heights (SAMPLES, 3) that are felt in the air: level ground under the root. Afterwards a plank is felt where
        the character has jumped, as in training no gap lay behind it."""
        self.height, self.is_low, self._jumped = airborne.height, False, airborne
        self._here, self._chain = airborne.height, np.full(len(_AT), airborne.height)
        return np.full((SAMPLES, len(_SIDES)), airborne.height)

    def feel(self, positions: Array, directions: Array) -> Array:
        """World heights (SAMPLES, 3) at the right of, under and at the left of the trajectory.

        positions: (SAMPLES, 2) in the world. directions: (SAMPLES, 2) unit facings. Sets `height` and `is_low`.
        """
        sides = positions[:, None] + _SIDES[:, None] * (directions @ _TO_LEFT)[:, None]
        places = (_BETWEEN @ sides.reshape(SAMPLES, -1)).reshape(len(_AT), *sides.shape[1:])
        sampled = self.ground.sampled(places)
        ground = self._chained(sampled) if self._has_levels else sampled.heights(np.inf)
        if self._jumped is not None:
            ground = np.maximum(ground, self._jumped.plank(places))
        self._here = float(ground[_HERE, 1])
        heights: Array = _SHARES @ ground
        self.height = float(heights[CURRENT, 1])
        self.is_low = False
        if self.ground.has_ceilings and self.ground.may_be_low(sampled, _AHEAD):
            near = self._chain if self._has_levels else np.full(len(_AT), np.inf)
            self.is_low = bool((self.ground.clearance(places[_AHEAD, 1], near[_AHEAD]) < LOW).any())
        return heights

    def _chained(self, sampled: Sampled) -> Array:
        """Heights (P, 3) of the places, each one's near that of its neighbor nearer to the root."""
        # Each round settles at least one place more on either side. Begun with those of the frame before, all are
        # settled after the first, as the heights have changed by less than what tells levels apart.
        for _ in range(len(_AT)):
            heights = sampled.heights(self._chain[:, None])
            near, before = np.empty(len(_AT)), self._chain
            near[:_HERE], near[_HERE] = heights[1 : _HERE + 1, 1], self._here
            near[_HERE + 1 :] = heights[_HERE:-1, 1]
            self._chain = near
            if np.abs(near - before).max() < _SAME:
                break
        return heights
