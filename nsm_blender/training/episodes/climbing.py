# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded steps and platforms as templates: where feet, knees and hands rested, and the treads under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from ...errors import FileFormatError
from ...geometry.colliders import Cuboids
from ...models.nsm import FPS
from ...motion.clip_file import LibraryEntry, load_library
from ...motion.easing import smoothstep
from ...motion.filters import gaussian, runs, velocity, without_short_runs
from ...motion.root import angle_of
from ...motion.rotations import Array
from ...motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from .captures import Capture, load_capture
from .props import Prop, kinds_beside
from .reach import Target, reaching
from .track import Track

TAKES: dict[str, tuple[int, int | None, float]] = {
    # Frames of the take (60 fps) that are used, and the height of its floor in meters.
    "cmu_13_35_keys": (0, 425, 0.0),
    "cmu_13_36_keys": (0, None, 0.0),
    "cmu_13_37_keys": (0, 570, 0.0),
    "cmu_15_02b_keys": (0, None, 0.0),
    "cmu_83_28_keys": (0, None, 0.0),
    "cmu_113_19_keys": (0, None, 0.0),
    "o3de_jumps1": (140, 560, 0.29),
    "holo_climb1": (0, None, 0.0),
}
STEEPEST = 0.5
"""Largest height in meters of a single step up by the legs alone."""
_STANDING_SPEED = 0.35
"""Speed in m/s below which a foot stands; without a known ground its height says nothing."""
_SHORTEST, _SHORTEST_GAP = 0.12, 0.05
"""Least seconds that a foot stands, and that it is off the ground between."""
_ONE_CLIMB = 0.5
"""Seconds between two steps from tread to tread that still belong to one climb."""
_SAME_LEVEL = 0.06
"""Meters within which heights are of one tread."""
_OFF_TREAD = 0.12
"""Largest distance in meters from the ball of a standing foot to the tread that was told under it."""
_TIP, _HEEL = 0.06, 0.16
"""Meters from the ball of the foot to its tip, and back to its heel."""
_KNEE, _WRIST = 0.14, 0.16
"""Meters over a tread up to which a knee that kneels on it and the wrist of a hand that leans on it are."""
_HANDS_SMOOTHING = 0.1
"""Seconds: standard deviation of the filter on how much a hand is held where it leans."""
_TOES = {"Left": MODEL_SKELETON.index("LeftToe"), "Right": MODEL_SKELETON.index("RightToe")}
_ANKLES = {"Left": MODEL_SKELETON.index("LeftFoot"), "Right": MODEL_SKELETON.index("RightFoot")}
_KNEES = {"Left": MODEL_SKELETON.index("LeftLeg"), "Right": MODEL_SKELETON.index("RightLeg")}
_WRISTS = {"Left": MODEL_SKELETON.index("LeftHand"), "Right": MODEL_SKELETON.index("RightHand")}
_EARLY = 0.6
"""Share of a step in which a foot has risen to its new height, so that it clears the edge."""
_HIPS_SMOOTHING = 0.15
"""Seconds: standard deviation of the filter on the change of the hips' height."""


@dataclass(frozen=True, eq=False)
class Stance:
    """A foot that stands, a knee that kneels or a hand that leans, first frame and the one after the last, on tread
    number `level`; 0 is the floor. ball: place (3,) of the ball of the foot, of the knee or of the wrist."""

    side: str
    start: int
    stop: int
    level: int
    ball: Array


@dataclass(frozen=True, eq=False)
class Flight:
    """One way over steps, climbed along -Y. heights: (L,) meters of the treads, the floor's 0 first. steps: what was
    climbed, where that was told; the highest tread comes last. knees, hands: where they rested, on what was told."""

    name: str
    subject: str
    track: Track
    stances: tuple[Stance, ...]
    heights: Array
    steps: Cuboids | None = None
    knees: tuple[Stance, ...] = ()
    hands: tuple[Stance, ...] = ()

    @property
    def last_level(self) -> int:
        """Level on which the climb ends."""
        return max(self.stances, key=lambda stance: stance.stop).level

    @property
    def on_hands_and_knees(self) -> bool:
        """Whether it goes up more at once than a leg can step."""
        return bool(self.hands and np.diff(self.heights).max() > STEEPEST)

    @property
    def climbing(self) -> list[tuple[int, int]]:
        """First and last frames of going from tread to tread; on hands and knees, of leaning on the hands."""
        if self.on_hands_and_knees:
            return [(min(hand.start for hand in self.hands), max(hand.stop for hand in self.hands) - 1)]
        moving = np.zeros(len(self.track), dtype=bool)
        for side in _TOES:
            own = [stance for stance in self.stances if stance.side == side]
            for before, after in pairwise(own):
                moving[before.stop : after.start] |= before.level != after.level
        joined = without_short_runs(moving, round(_ONE_CLIMB * FPS), 1)
        return runs(joined)

    def mirrored(self) -> Flight:
        """As seen in a mirror."""
        other, across = {"Left": "Right", "Right": "Left"}, np.array([-1.0, 1, 1])

        def seen(stances: tuple[Stance, ...]) -> tuple[Stance, ...]:
            return tuple(replace(one, side=other[one.side], ball=one.ball * across) for one in stances)

        return replace(self, name=self.name + "_mirrored", track=self.track.mirrored(), stances=seen(self.stances),
                       steps=self._stretched(across), knees=seen(self.knees), hands=seen(self.hands))  # fmt: skip

    def scaled(self, factor: float) -> Flight:
        """On treads `factor` times as high: each foot, knee and hand keeps its place on its tread (5.2, steps 3 to
        5)."""
        positions, up, by_level = self.track.positions(), np.array([0.0, 0.0, 1.0]), (factor - 1) * self.heights
        feet, rise = {}, np.zeros(len(self.track))
        for side, joint in _ANKLES.items():
            change = self._change(side, by_level)
            feet[side] = positions[:, joint] + change[:, None] * up
            rise += gaussian(change, _HIPS_SMOOTHING * FPS) / 2
        hands = {}
        for side, joint in _WRISTS.items():
            change, leans = np.zeros(len(self.track)), np.zeros(len(self.track))
            for hand in (hand for hand in self.hands if hand.side == side):
                change[hand.start : hand.stop], leans[hand.start : hand.stop] = by_level[hand.level], 1.0
            # Where the hand is on its way, it is held as high as where it leans next or leaned last.
            weight = gaussian(leans, _HANDS_SMOOTHING * FPS)
            change = gaussian(change, _HANDS_SMOOTHING * FPS) / np.maximum(weight, 1e-6)
            hands[side] = Target(positions[:, joint] + change[:, None] * up, weight)
        track = reaching(self.track, rise[:, None] * up, hands, feet)
        return replace(
            self, track=track, heights=self.heights * factor, steps=self._stretched(np.array([1.0, 1.0, factor]))
        )

    def _stretched(self, factors: Array) -> Cuboids | None:
        steps = self.steps
        return None if steps is None else Cuboids(steps.center * factors, steps.half * np.abs(factors))

    def _change(self, side: str, by_level: Array) -> Array:
        """Meters (T,) that a foot is moved up: by its tread's change while it stands, between them in between."""
        out = np.zeros(len(self.track))
        own = [stance for stance in (*self.stances, *self.knees) if stance.side == side]
        own.sort(key=lambda stance: stance.start)
        out[: own[0].start] = by_level[own[0].level]
        out[own[-1].start :] = by_level[own[-1].level]
        for before, after in pairwise(own):
            low, high = by_level[before.level], by_level[after.level]
            out[before.start : before.stop] = low
            t = np.linspace(0, 1, after.start - before.stop + 2)[1:-1]
            share = smoothstep(t / _EARLY if high > low else (t - 1 + _EARLY) / _EARLY)
            out[before.stop : after.start] = low + (high - low) * share
        return out

    def treads(self, beyond: float, beside: tuple[float, float]) -> Cuboids:
        """The steps under the feet: those that were told, else fitted ones. beyond: meters that the last one goes on
        behind the feet, when it is the end of the way; beside: meters to the left and right of the feet."""
        if self.steps is not None:
            return self.steps
        on = [stance for stance in self.stances if stance.level]
        low_x = min(stance.ball[0] for stance in on) - beside[1]
        high_x = max(stance.ball[0] for stance in on) + beside[0]
        end = max(-stance.ball[1] for stance in self.stances) + beyond
        center, half = [], []
        for level in range(1, len(self.heights)):
            near, far = self._edges(level, end)
            center.append([(low_x + high_x) / 2, -(near + far) / 2, self.heights[level] / 2])
            half.append([(high_x - low_x) / 2, (far - near) / 2, self.heights[level] / 2])
        return Cuboids(np.array(center), np.array(half))

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


def shows_climbing(entry: LibraryEntry) -> bool:
    """Whether a clip is a climb: it is one of the public ones, or steps are told beside it."""
    return entry.name in TAKES or "climbable" in kinds_beside(entry.path)


def recorded_flights(data: Path) -> list[Flight]:
    """The steps and platforms in the clips of a data folder. Raises FileFormatError when steps are told that are not
    under the feet."""
    return [captured_flight(load_capture(e, level=False)) for e in load_library(data) if shows_climbing(e)]


def first_frame(capture: Capture) -> int:
    """The first frame of a clip that is used as a climb."""
    starts = [prop.start for prop in capture.of_kind("climbable") if prop.start is not None]
    return round(min(starts) * FPS) if starts else TAKES.get(capture.name, (0, None, 0.0))[0]


def captured_flight(capture: Capture) -> Flight:
    """The climb of one clip, from its `first_frame` on."""
    props = capture.of_kind("climbable")
    first = first_frame(capture)
    _, last, floor = TAKES.get(capture.name, (0, None, 0.0))
    if any(prop.stop is not None for prop in props):
        last = round(max(prop.stop for prop in props if prop.stop is not None) * FPS)
    track = capture.track.cut(first, len(capture.track) if last is None else last)
    track = replace(track, hips=track.hips - [0.0, 0.0, floor])
    return flight_of(track, capture.name, capture.subject, props, corrected=capture.marks is not None)


def flight_of(track: Track, name: str, subject: str, props: Sequence[Prop] = (), *, corrected: bool = False) -> Flight:
    """Treads and stances of one track that begins on the floor, at z = 0, turned so that it climbs along -Y.

    props: the steps, where they are known. corrected: whether the track's contacts are to be believed.
    """
    places = track.positions()
    contacts = track.contacts if corrected else standing_feet(places)
    kneeling, leaning = (_resting(track, props, joints, most) for joints, most in ((_KNEES, _KNEE), (_WRISTS, _WRIST)))
    contacts = _without_hanging(contacts, kneeling)
    down = {side: contacts[:, CONTACT_JOINTS.index(side + "Toe")] > 0.5 for side in _TOES}
    if not any(down[side].any() for side in down):
        raise FileFormatError(f"{name}: no foot stands in it; correct its labels (nsm-blender data label)")
    heights = np.array([np.median(places[a:b, _TOES[side], 2]) for side in down for a, b in runs(down[side])])
    treads = _told_levels(props, heights - TOE_HEIGHT, name) if props else _levels(heights - TOE_HEIGHT)
    stances = []
    for side, joint in _TOES.items():
        for start, stop in runs(down[side]):
            ball = np.median(places[start:stop, joint], axis=0)
            level = int(np.abs(treads - (ball[2] - TOE_HEIGHT)).argmin())
            stances.append(Stance(side, start, stop, level, ball))
    stances.sort(key=lambda stance: stance.start)
    if not any(stance.level for stance in stances):
        raise FileFormatError(
            f"{name}: no climb was found in it; check position, axes and unit of what is told beside it"
        )
    first = min(stance.start for stance in stances if stance.level)
    if stances[0].start >= first:
        raise FileFormatError(f"{name}: a climb must begin on the floor; tell with 'from' and 'to' which part to use")
    floor = np.mean([stance.ball for stance in stances if stance.start < first][-2:], axis=0)[:2]
    top = np.mean([stance.ball for stance in stances if stance.level == len(treads) - 1], axis=0)[:2]
    facing = float(angle_of(top - floor)) if not props or props[0].facing is None else props[0].facing
    moved = track.moved(-facing, floor, -floor)
    places = moved.positions()
    stances = [
        replace(stance, ball=np.median(places[stance.start : stance.stop, _TOES[stance.side]], axis=0))
        for stance in stances
    ]
    steps = _in_order([prop.solid(facing, floor) for prop in props], treads) if props else None
    knees, hands = (
        tuple(
            Stance(side, start, stop, int((treads < middle[2]).sum()) - 1, middle)
            for side, rests in resting.items()
            for start, stop in runs(rests)
            for middle in [np.median(places[start:stop, joints[side]], axis=0)]
        )
        for joints, resting in ((_KNEES, kneeling), (_WRISTS, leaning))
    )
    return Flight(name, subject, replace(moved, contacts=contacts), tuple(stances), treads, steps, knees, hands)


def _told_levels(props: Sequence[Prop], stood: Array, name: str) -> Array:
    """Heights of the told treads on which feet stand, the floor's first. stood: heights of all stances."""
    solids = [prop.solid(0.0) for prop in props]
    tops = np.concatenate([[0.0], *(solid.center[:, 2] + solid.half[:, 2] for solid in solids)])
    nearest = np.abs(stood[:, None] - tops).argmin(1)
    off = np.abs(stood - tops[nearest])
    if (worst := float(off.max())) > _OFF_TREAD:
        raise FileFormatError(
            f"{name}: a foot stands {worst:.2f} m above or below all steps beside it; check their sizes, axes and unit"
        )
    return _levels(np.append(tops[nearest], 0.0))


def _in_order(solids: Sequence[Cuboids], heights: Array) -> Cuboids:
    """All cuboids as one set, the largest one of the highest tread last."""
    center = np.concatenate([solid.center for solid in solids])
    half = np.concatenate([solid.half for solid in solids])
    highest = np.abs(center[:, 2] + half[:, 2] - heights[-1]) < _SAME_LEVEL
    order = np.argsort(np.where(highest, half[:, 0] * half[:, 1], 0.0), kind="stable")
    return Cuboids(center[order], half[order])


def _levels(heights: Array) -> Array:
    """Heights of the treads, the floor's first, from those of all stances."""
    ordered = np.sort(heights)
    groups = np.split(ordered, np.flatnonzero(np.diff(ordered) > _SAME_LEVEL) + 1)
    out = np.array([np.median(group) for group in groups])
    out[0] = 0.0
    return out


def _resting(track: Track, props: Sequence[Prop], joints: Mapping[str, int], most: float) -> dict[str, Array]:
    """(T,) by side whether a joint rests on a prop, no more than `most` meters above its top."""
    facing = (props[0].facing or 0.0) if props else 0.0
    places = track.moved(-facing, np.zeros(2), np.zeros(2)).positions()
    solids = [prop.solid(facing, np.zeros(2)) for prop in props]
    out = {}
    for side, joint in joints.items():
        over = np.zeros(len(track), dtype=bool)
        for center, half in ((c, h) for solid in solids for c, h in zip(solid.center, solid.half, strict=True)):
            away = places[:, joint] - center - [0.0, 0.0, half[2]]
            over |= (np.abs(away[:, :2]) <= half[:2]).all(1) & (np.abs(away[:, 2] - most / 2) <= most / 2)
        out[side] = without_short_runs(_stands(places[:, joint]) & over, round(_SHORTEST_GAP * FPS),
                                       round(_SHORTEST * FPS))  # fmt: skip
    return out


def _without_hanging(contacts: Array, kneeling: Mapping[str, Array]) -> Array:
    """Contacts (T, 4) without those of feet that are still, but hang over an edge while the knee kneels."""
    out = contacts.copy()
    for column, name in enumerate(CONTACT_JOINTS):
        kneels = next(rests for side, rests in kneeling.items() if name.startswith(side))
        for start, stop in runs(contacts[:, column] > 0.5):
            if kneels[start:stop].any():
                out[start:stop, column] = 0
    return out


def _stands(places: Array) -> Array:
    """(T,) whether a joint is still, from its places (T, 3)."""
    speed = np.linalg.norm(velocity(gaussian(places, 0.01 * FPS), FPS), axis=1)
    out: Array = without_short_runs(speed < _STANDING_SPEED, round(_SHORTEST_GAP * FPS), round(_SHORTEST * FPS))
    return out


def standing_feet(places: Array) -> Array:
    """Contacts (T, 4) of CONTACT_JOINTS at any height, from joint places (T, J, 3)."""
    columns = [_stands(places[:, MODEL_SKELETON.index(name)]) for name in CONTACT_JOINTS]
    return np.stack(columns, axis=1).astype(np.float32)
