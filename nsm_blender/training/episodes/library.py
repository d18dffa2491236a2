# SPDX-License-Identifier: GPL-3.0-or-later
"""All episodes of a training set, made in parts that can be repeated from their seeds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FileFormatError, UserError
from ...files import Where, read_json, record, shown
from ...models.nsm import ACTIONS, FPS
from ...motion.clip_file import load_library
from ..nsm_data import KINDS
from .avoid_episodes import avoid_episode
from .carry_episodes import carry_episode
from .climb_episodes import climb_episode
from .climbing import Flight, recorded_flights, shows_climbing
from .episode import Episode, Fault
from .lifting import Lift, recorded_lifts, standing_lifts
from .open_episodes import Walks, open_episode, opened_as_recorded
from .opening import Opening, recorded_openings
from .pool import Pool, recorded_tracks, shows_locomotion, walked_tracks
from .sit_episodes import sit_episode
from .sitting import Sit, recorded_sits, shows_sitting
from .track import Track
from .walk_episodes import walk_episode

Make = Callable[[np.random.Generator, str], Episode | Fault]
_TRIES = 4
"""Attempts for each episode that is asked for, since what is not good enough is rejected."""
_AS_RECORDED = 0.5
"""Share of the doors that are recorded ones, where any were recorded."""


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

    def minutes(self) -> dict[str, dict[str, float]]:
        """By action, recorded and composed, to a hundredth."""
        return {
            action: {
                "recorded": round(self.recorded.get(action, 0.0), 2),
                "composed": round(self.composed.get(action, 0.0), 2),
            }
            for action in ACTIONS
        }

    def to_json(self) -> str:
        """As text."""
        return json.dumps({name: dict(value) for name, value in vars(self).items()}, indent=1, sort_keys=True)

    @staticmethod
    def joined(paths: Sequence[Path]) -> Tally:
        """The sum of tallies in files, each as `to_json` wrote it. Raises FileFormatError."""
        out = Tally()
        for path in paths:
            told = record(_Told, read_json(path, dict, "a tally of episodes"), Where(str(path)))
            for name, counts in vars(told).items():
                total = getattr(out, name)
                for key, value in counts.items():
                    if not isinstance(value, int | float) or isinstance(value, bool):
                        raise FileFormatError(f"{path}: {name}.{key} is {shown(value)}, a number is needed.")
                    total[key] = total.get(key, 0) + value
        return out


@dataclass
class _Told:
    """A tally as its file tells it."""

    recorded: dict[str, Any]
    composed: dict[str, Any]
    episodes: dict[str, Any]
    rejected: dict[str, Any]


def used_clips(data: Path, left_out: frozenset[str]) -> frozenset[str]:
    """Names of the recordings in a data folder of which episodes are made, but those of the performers `left_out`."""
    templates: list[Sit | Lift | Flight | Opening]
    templates = [*recorded_sits(data), *recorded_lifts(data), *recorded_flights(data), *recorded_openings(data)]
    names = {one.name for one in templates if one.subject not in left_out}
    names |= {clip.name for clip in load_library(data) if shows_locomotion(clip) and clip.subject not in left_out}
    return frozenset(names)


class Library:
    """Makes episodes of every kind from a data folder. test_subjects: performers that are left out.

    walked: walks of the PFNN from which approaches are taken, instead of `walks` new ones. own: ways of the network
    that learns, see `Pool`.
    """

    def __init__(
        self,
        data: Path,
        test_subjects: frozenset[str],
        walks: int,
        seed: int,
        walked: Sequence[Track] | None = None,
        own: Sequence[Track] = (),
    ) -> None:
        self.tally = Tally()
        self._data, self._left_out, self._seed = data, test_subjects, seed
        recorded = recorded_tracks(data, left_out=test_subjects)
        tracks = recorded + list(walked_tracks(walks, seed) if walked is None else walked)
        if not tracks:
            raise UserError(f"{data}: there is no locomotion to take approaches from; ask for walks of the PFNN.")
        self._pool = Pool(tracks, own)
        self._makers: dict[str, Callable[[], Make]] = {
            "walk": self._walks,
            "sit": self._sits,
            "carry": self._carries,
            "open": self._opens,
            "climb": self._climbs,
            "avoid": lambda: avoid_episode,
        }
        self._made: dict[str, Make] = {}

    def episodes(self, kind: str, count: int, part: int = 0) -> Iterator[Episode]:
        """`count` episodes of a kind, or fewer when too many are rejected. Other parts give others."""
        if kind not in self._made:
            self._made[kind] = self._makers[kind]()
        make = self._made[kind]
        made = 0
        for number in range(count * _TRIES):
            seeds = [self._seed, list(self._makers).index(kind), part, number]
            found = make(np.random.default_rng(seeds), f"{kind} {part}.{number}")
            if isinstance(found, Fault):
                self.tally.rejected[found.reason] += 1
                continue
            self.tally.add(found)
            yield found
            made += 1
            if made == count:
                return

    def _walks(self) -> Make:
        return lambda rng, name: walk_episode(self._pool, rng, name)

    def _sits(self) -> Make:
        sits = [sit for sit in recorded_sits(self._data) if sit.subject not in self._left_out]
        if not any(sit.down is not None for sit in sits) or not any(sit.up is not None for sit in sits):
            raise UserError(
                f"{self._data}: no performer to train on sits down and gets up; import such clips with the tag sit, "
                "or with a seat told beside them."
            )
        return lambda rng, name: sit_episode(self._pool, sits, rng, name)

    def _carries(self) -> Make:
        lifts = [lift for lift in recorded_lifts(self._data) if lift.subject not in self._left_out]
        # Of put-downs from standing, hardly any were recorded.
        lifts += [lift.reversed() for lift in lifts if lift.way == "up"]
        lifts += standing_lifts(self._pool.tracks)
        if not lifts:
            raise UserError(
                f"{self._data}: no performer lifts anything in it or stands still; ask for walks of the PFNN."
            )
        return lambda rng, name: carry_episode(self._pool, lifts, rng, name)

    def _opens(self) -> Make:
        walks = Walks(self._pool)
        openings = [one for one in recorded_openings(self._data) if one.subject not in self._left_out]

        def make(rng: np.random.Generator, name: str) -> Episode | Fault:
            if openings and rng.random() < _AS_RECORDED:
                return opened_as_recorded(self._pool, openings, rng, name)
            return open_episode(self._pool, walks, rng, name)

        return make

    def _climbs(self) -> Make:
        flights = [flight for flight in recorded_flights(self._data) if flight.subject not in self._left_out]
        if not flights:
            raise UserError(
                f"{self._data}: no performer to train on climbs; import such clips with the steps told beside them."
            )
        return lambda rng, name: climb_episode(self._pool, flights, rng, name)


def kinds_shown(data: Path, left_out: frozenset[str]) -> list[str]:
    """The kinds of episodes that can be composed of a data folder: sits and climbs only where some were recorded."""
    entries = [entry for entry in load_library(data) if entry.subject not in left_out]
    needed = {"sit": shows_sitting, "climb": shows_climbing}
    return [kind for kind in KINDS if kind not in needed or any(needed[kind](entry) for entry in entries)]
