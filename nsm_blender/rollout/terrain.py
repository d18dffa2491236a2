# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground that a PFNN rollout feels under its trajectory (PFNN 4.3, 6): heights, the root's height, low ceilings."""

from __future__ import annotations

import numpy as np

from ..geometry.ground import Ground
from ..models.pfnn import ASIDE, CURRENT, LEVEL, SAMPLES
from ..motion.rotations import Array

UPRIGHT = 1.8
"""Meters of free height in which the model skeleton, 1.75 m tall, walks upright; below, it crouches (PFNN 6)."""
_SAME = 0.1
"""Meters within which a height tells the same level, as storeys and what is stepped onto are farther apart."""
_SIDES = np.array([-ASIDE, 0.0, ASIDE])
"""Offsets in meters toward the character's left: right, center, left."""


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
        self.height = self._here
        """Height of the root in meters: the mean of the ground's over LEVEL, as in training."""
        self.is_low = False
        """Whether something hangs low over the character or over its way."""

    def feel(self, positions: Array, directions: Array) -> Array:
        """World heights (SAMPLES, 3) at the right of, under and at the left of the trajectory.

        positions: (SAMPLES, 2) in the world. directions: (SAMPLES, 2) unit facings. Sets `height` and `is_low`.
        """
        # Facing -y, the left is +x: a quarter turn counter-clockwise.
        left = np.stack((-directions[:, 1], directions[:, 0]), axis=1)
        places = positions[:, None] + _SIDES[:, None] * left[:, None]
        near = self._near(positions) if self._has_levels else np.full(SAMPLES, np.inf)
        heights = self.ground.height(places, near[:, None])
        self._here = float(heights[CURRENT, 1])
        self.height = float(heights[LEVEL, 1].mean())
        ahead = slice(CURRENT - 1, SAMPLES)
        self.is_low = self.ground.has_ceilings and bool(
            (self.ground.clearance(positions[ahead], near[ahead]) < UPRIGHT).any()
        )
        return heights

    def _near(self, middle: Array) -> Array:
        """Heights (SAMPLES,) near which the ground lies at samples (SAMPLES, 2): that of each one's neighbor nearer to
        the root."""
        near = self._chain
        # Each round settles at least one sample more on either side. Begun with those of the frame before, all are
        # settled after the first, as the heights have changed by less than what tells levels apart.
        for _ in range(CURRENT + 1):
            heights = self.ground.height(middle, near)
            near, before = np.concatenate((heights[1 : CURRENT + 1], [self._here], heights[CURRENT:-1])), near
            if np.abs(near - before).max() < _SAME:
                break
        self._chain = near
        return near
