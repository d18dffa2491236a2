# SPDX-License-Identifier: GPL-3.0-or-later
"""All episodes of a training set, made in parts that can be repeated from their seeds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...models.nsm import ACTIONS, FPS
from .episode import Episode, Fault
from .pool import Pool, recorded_tracks, walked_tracks
from .sit_episodes import sit_episode
from .sitting import recorded_sits
from .walk_episodes import walk_episode

_TRIES = 4
"""Attempts for each episode that is asked for; what is not good enough is rejected."""


@dataclass
class Tally:
    """What a library holds. minutes: by action, recorded and composed; rejected: by reason."""

    recorded: dict[str, float] = field(default_factory=dict)
    composed: dict[str, float] = field(default_factory=dict)
    episodes: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)

    def add(self, episode: Episode) -> None:
        """Count an episode."""
        self.episodes[episode.kind] += 1
        for i, action in enumerate(ACTIONS):
            on = episode.track.actions[:, i] > 0.5
            for totals, chosen in ((self.recorded, episode.track.recorded), (self.composed, ~episode.track.recorded)):
                totals[action] = totals.get(action, 0.0) + float((on & chosen).sum()) / FPS / 60

    def to_json(self) -> str:
        """As text."""
        return json.dumps({name: dict(value) for name, value in vars(self).items()}, indent=1, sort_keys=True)


class Library:
    """Makes episodes of every kind from a data folder. test_subjects: performers that are left out."""

    def __init__(self, data: Path, test_subjects: frozenset[str], walks: int, seed: int) -> None:
        self.tally = Tally()
        self._seed = seed
        self._pool = Pool(recorded_tracks(data) + walked_tracks(walks, seed))
        self._sits = [sit for sit in recorded_sits(data) if sit.subject not in test_subjects]

    def episodes(self, kind: str, count: int) -> Iterator[Episode]:
        """`count` episodes of a kind, or fewer when too many are rejected."""
        make: dict[str, Callable[[np.random.Generator, str], Episode | Fault]] = {
            "walk": lambda rng, name: walk_episode(self._pool, rng, name),
            "sit": lambda rng, name: sit_episode(self._pool, self._sits, rng, name),
        }
        made = 0
        for number in range(count * _TRIES):
            found = make[kind](np.random.default_rng([self._seed, len(kind), number]), f"{kind} {number}")
            if isinstance(found, Fault):
                self.tally.rejected[found.reason] += 1
                continue
            self.tally.add(found)
            yield found
            made += 1
            if made == count:
                return
