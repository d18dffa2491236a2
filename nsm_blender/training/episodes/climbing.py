# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded steps and platforms as templates: where the feet stood, and the treads that were under them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from ...geometry.colliders import Cuboids
from ...models.nsm import FPS
from ...motion.clip_file import load_clip, load_library
from ...motion.filters import gaussian, runs, velocity, without_short_runs
from ...motion.retarget import to_model_skeleton
from ...motion.root import angle_of
from ...motion.rotations import Array
from ...motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from .reach import reaching
from .track import Track, from_clip

TAKES: dict[str, tuple[int, int | None, float]] = {
    # Frames of the take (60 fps) that are used, and the height of its floor in metres.
    "cmu_13_35_keys": (0, 425, 0.0),
    "cmu_13_36_keys": (0, None, 0.0),
    "cmu_13_37_keys": (0, 570, 0.0),
    "cmu_15_02b_keys": (0, None, 0.0),
    "cmu_83_28_keys": (0, None, 0.0),
    "cmu_113_19_keys": (0, None, 0.0),
    "o3de_jumps1": (140, 560, 0.29),
}
_STANDING_SPEED = 0.35
"""m/s of a foot that stands; without a known ground its height says nothing."""
_SHORTEST, _SHORTEST_GAP = 0.12, 0.05
"""Seconds that a foot stands at least, and that it does not while it is off the ground."""
_ONE_CLIMB = 0.5
"""Seconds between two steps from tread to tread that belong to one climb."""
_SAME_LEVEL = 0.06
"""Metres between heights of one tread."""
_TIP, _HEEL = 0.06, 0.16
"""Metres from the ball of the foot to its tip and back to its heel."""
_TOES = {"Left": MODEL_SKELETON.index("LeftToe"), "Right": MODEL_SKELETON.index("RightToe")}
_ANKLES = {"Left": MODEL_SKELETON.index("LeftFoot"), "Right": MODEL_SKELETON.index("RightFoot")}
_EARLY = 0.6
"""Share of a step in which a foot has risen to its new height, so that it clears the edge."""
_HIPS_SMOOTHING = 0.15


@dataclass(frozen=True, eq=False)
class Stance:
    """A foot that stands, first frame and the one after the last, on tread number `level`; 0 is the floor.
    ball: place (3,) of the ball of the foot."""

    side: str
    start: int
    stop: int
    level: int
    ball: Array


@dataclass(frozen=True, eq=False)
class Flight:
    """One way over steps, climbed along -Y. heights: (L,) metres of the treads, the floor's 0 first."""

    name: str
    subject: str
    track: Track
    stances: tuple[Stance, ...]
    heights: Array

    @property
    def last_level(self) -> int:
        """Level on which one stands in the end."""
        return max(self.stances, key=lambda stance: stance.stop).level

    @property
    def climbing(self) -> list[tuple[int, int]]:
        """First and last frames of going from tread to tread."""
        moving = np.zeros(len(self.track), dtype=bool)
        for side in _TOES:
            own = [stance for stance in self.stances if stance.side == side]
            for before, after in pairwise(own):
                moving[before.stop : after.start] |= before.level != after.level
        joined = without_short_runs(moving, round(_ONE_CLIMB * FPS), 1)
        return runs(joined)

    def mirrored(self) -> Flight:
        """As seen in a mirror."""
        other = {"Left": "Right", "Right": "Left"}
        stances = tuple(
            replace(stance, side=other[stance.side], ball=stance.ball * np.array([-1.0, 1, 1]))
            for stance in self.stances
        )
        return replace(self, name=self.name + "_mirrored", track=self.track.mirrored(), stances=stances)

    def scaled(self, factor: float) -> Flight:
        """On treads `factor` times as high: each foot keeps its place on its tread (5.2, steps 3 to 5)."""
        positions = self.track.positions()
        feet, rise = {}, np.zeros(len(self.track))
        for side, joint in _ANKLES.items():
            change = self._change(side, (factor - 1) * self.heights)
            feet[side] = positions[:, joint] + change[:, None] * np.array([0.0, 0.0, 1.0])
            rise += gaussian(change, _HIPS_SMOOTHING * FPS) / 2
        hips = rise[:, None] * np.array([0.0, 0.0, 1.0])
        track = reaching(self.track, hips, {}, feet)
        return replace(self, track=track, heights=self.heights * factor)

    def _change(self, side: str, by_level: Array) -> Array:
        """Metres (T,) that a foot is moved up: by its tread's change while it stands, between them in between."""
        out = np.zeros(len(self.track))
        own = [stance for stance in self.stances if stance.side == side]
        out[: own[0].start] = by_level[own[0].level]
        out[own[-1].start :] = by_level[own[-1].level]
        for before, after in pairwise(own):
            low, high = by_level[before.level], by_level[after.level]
            out[before.start : before.stop] = low
            t = np.linspace(0, 1, after.start - before.stop + 2)[1:-1]
            t = np.clip(t / _EARLY if high > low else (t - 1 + _EARLY) / _EARLY, 0, 1)
            out[before.stop : after.start] = low + (high - low) * t * t * (3 - 2 * t)
        return out

    def treads(self, beyond: float, beside: tuple[float, float]) -> Cuboids:
        """The steps under the feet. beyond: metres that the last one goes on behind the feet, when it is the end of
        the way; beside: metres to the left and right of the feet."""
        on = [stance for stance in self.stances if stance.level]
        low_x = min(stance.ball[0] for stance in on) - beside[1]
        high_x = max(stance.ball[0] for stance in on) + beside[0]
        end = max(-stance.ball[1] for stance in self.stances) + beyond
        centre, half = [], []
        for level in range(1, len(self.heights)):
            near, far = self._edges(level, end)
            centre.append([(low_x + high_x) / 2, -(near + far) / 2, self.heights[level] / 2])
            half.append([(high_x - low_x) / 2, (far - near) / 2, self.heights[level] / 2])
        return Cuboids(np.array(centre), np.array(half))

    def _edges(self, level: int, end: float) -> tuple[float, float]:
        """Where a tread and what is on it begin and end, along the climb."""
        upper = np.array([-stance.ball[1] for stance in self.stances if stance.level >= level])
        lower = np.array([-stance.ball[1] for stance in self.stances if stance.level < level])
        before = lower[lower < upper.mean()]
        after = lower[lower > upper.max()]
        near = upper.min() - _HEEL
        if len(before):
            near = min(max(near, before.max() + _TIP), upper.min() - 0.02)
        far = float(max(upper.max() + _TIP, after.min() - _HEEL)) if len(after) else end
        return float(near), far


def recorded_flights(data: Path) -> list[Flight]:
    """The steps and platforms in the clips of a data folder."""
    found = []
    for entry in load_library(data):
        if entry.name in TAKES:
            first, last, floor = TAKES[entry.name]
            clip = to_model_skeleton(load_clip(data / "clips" / f"{entry.name}.npz").resampled(FPS))
            track = from_clip(clip).cut(first, len(clip) if last is None else last)
            track = replace(track, hips=track.hips - [0.0, 0.0, floor])
            found.append(flight_of(track, entry.name, str(entry.subject)))
    return found


def flight_of(track: Track, name: str, subject: str) -> Flight:
    """Treads and stances of one track that begins on the floor, at z = 0, turned so that it climbs along -Y."""
    places = track.positions()
    down = {side: _stands(places[:, joint]) for side, joint in _TOES.items()}
    heights = np.array([np.median(places[a:b, _TOES[side], 2]) for side in down for a, b in runs(down[side])])
    treads = _levels(heights - TOE_HEIGHT)
    stances = []
    for side, joint in _TOES.items():
        for start, stop in runs(down[side]):
            ball = np.median(places[start:stop, joint], axis=0)
            level = int(np.abs(treads - (ball[2] - TOE_HEIGHT)).argmin())
            stances.append(Stance(side, start, stop, level, ball))
    stances.sort(key=lambda stance: stance.start)
    first = min(stance.start for stance in stances if stance.level)
    floor = np.mean([stance.ball for stance in stances if stance.start < first][-2:], axis=0)[:2]
    top = np.mean([stance.ball for stance in stances if stance.level == len(treads) - 1], axis=0)[:2]
    turn = -float(angle_of(top - floor))
    moved = track.moved(turn, floor, -floor)
    places = moved.positions()
    stances = [
        replace(stance, ball=np.median(places[stance.start : stance.stop, _TOES[stance.side]], axis=0))
        for stance in stances
    ]
    return Flight(name, subject, replace(moved, contacts=_contacts(places)), tuple(stances), treads)


def _levels(heights: Array) -> Array:
    """Heights of the treads, the floor's first, from those of all stances."""
    ordered = np.sort(heights)
    groups = np.split(ordered, np.flatnonzero(np.diff(ordered) > _SAME_LEVEL) + 1)
    out = np.array([np.median(group) for group in groups])
    out[0] = 0.0
    return out


def _stands(places: Array) -> Array:
    """(T,) whether a foot stands, from the places (T, 3) of its ball."""
    speed = np.linalg.norm(velocity(gaussian(places, 0.01 * FPS), FPS), axis=1)
    out: Array = without_short_runs(speed < _STANDING_SPEED, round(_SHORTEST_GAP * FPS), round(_SHORTEST * FPS))
    return out


def _contacts(places: Array) -> Array:
    columns = [_stands(places[:, MODEL_SKELETON.index(name)]) for name in CONTACT_JOINTS]
    return np.stack(columns, axis=1).astype(np.float32)
