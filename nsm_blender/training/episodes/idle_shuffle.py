# SPDX-License-Identifier: GPL-3.0-or-later
"""Standing about, a few steps, a turn, standing again: approaches that begin near their end."""

from __future__ import annotations

import numpy as np

from ...baking.bake import Bake
from ...models.nsm import FPS
from ...shot.goals import ActionKey, Goal
from ...shot.shot import Shot
from .track import Track, from_motion

_SECONDS = 24.0
"""Seconds of each walk."""
_ERRANDS = 6
"""Places that each walk goes to."""
_STEP = (0.6, 2.6)
"""Meters from one place to the next, from the least to the most."""


def idle_shuffle_tracks(count: int, seed: int) -> list[Track]:
    """Walks of our PFNN from place to place in the open, with all turns between them: approaches from anywhere and
    from any facing."""
    rng = np.random.default_rng([seed, 77])
    return [from_motion(Bake(_shot(rng)).motion()) for _ in range(count)]


def _shot(rng: np.random.Generator) -> Shot:
    place = np.zeros(2)
    goals, keys = [], []
    for number in range(_ERRANDS):
        angle = rng.uniform(-np.pi, np.pi)
        place = place + rng.uniform(*_STEP) * np.array([np.sin(angle), np.cos(angle)])
        # Half of the time the facing at the end is that of the way, which asks for no turn.
        facing = float(rng.uniform(-np.pi, np.pi)) if rng.random() < 0.5 else None
        goals.append(Goal(f"{number}", [float(place[0]), float(place[1]), 0.0], facing))
        keys.append(ActionKey("walk", f"{number}", hold=float(rng.uniform(0.0, 1.2))))
    start = [0.0, 0.0, 0.0, float(rng.uniform(-np.pi, np.pi))]
    return Shot("idle shuffle", FPS, round(_SECONDS * FPS), start=start, goals=goals, keys=keys)
