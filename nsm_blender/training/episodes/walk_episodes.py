# SPDX-License-Identifier: GPL-3.0-or-later
"""Episodes of plain locomotion, steered along the way or sent to a place, with things standing around."""

from __future__ import annotations

import numpy as np

from ...models.nsm import ACTIONS, FPS
from ...motion.filters import runs
from ...motion.rotations import Array
from .clutter import clutter
from .episode import Episode, Goals
from .pool import Pool

SECONDS = (5.0, 9.0)
"""Seconds of a walk, from the shortest to the longest."""
_FARTHEST = 4.0
"""Meters beyond which a goal is reached along a route, by steering (see `planning.path_search`)."""
_IDLE = ACTIONS.index("idle")


def walk_episode(pool: Pool, rng: np.random.Generator, name: str) -> Episode:
    """A random stretch of locomotion; where it comes to rest, half of the time the place of rest is the goal."""
    number = int(rng.choice(len(pool.tracks), p=_shares(pool)))
    track = pool.tracks[number]
    count = min(round(float(rng.uniform(*SECONDS)) * FPS), len(track))
    stops = [
        start for start, end in runs(track.actions[:, _IDLE] > 0.5) if end - start > 0.7 * FPS and start > count // 2
    ]
    sent = bool(stops) and rng.random() < 0.6
    if sent:
        stop = stops[int(rng.integers(len(stops)))]
        start = max(0, min(stop - count // 2, len(track) - count))
    else:
        stop = 0
        start = int(rng.integers(0, len(track) - count + 1))
    cut = track.cut(start, start + count)
    goals = Goals.steered(count)
    if sent:
        root = cut.root()
        rest = min(stop - start + round(0.5 * FPS), count - 1)
        away = np.linalg.norm(root[:, :2] - root[rest, :2], axis=1)
        near = np.flatnonzero(away > _FARTHEST)
        first = int(near[near < rest][-1]) + 1 if (near < rest).any() else 0
        place = np.array([*root[rest, :2], 0.0])
        goals = goals.wanting(slice(first, _until_off(away, rest)), place, float(root[rest, 3]), "idle")
    still = np.zeros((count, 3), dtype=np.float32)
    return Episode(name, "walk", (), cut, (), goals, still, clutter(cut, [], rng))


def _until_off(away: Array, rest: int) -> int:
    """The frame at which a resting character sets off again."""
    later = np.flatnonzero(away[rest:] > 0.15)
    return rest + int(later[0]) - 5 if len(later) and later[0] > 5 else len(away)


def _shares(pool: Pool) -> Array:
    """Probability of each track: by its length."""
    length = np.array([len(track) for track in pool.tracks], dtype=float)
    out: Array = length / length.sum()
    return out
