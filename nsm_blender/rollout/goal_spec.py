# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task asks of a character, as data: use a thing, follow a way, or stand; for network and root filters."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..geometry.roles import Carryable, Seat
from ..models.nsm import FPS, FUTURE, GOAL_ACTIONS, SAMPLE_FRAMES, SAMPLES
from ..motion.easing import smoothstep
from ..motion.root import angle_of, direction
from ..motion.rotations import Array, wrap_angle
from ..planning.speed_profile import Walker
from ..planning.trajectory import ARRIVED, LAST
from ..planning.velocity_constraints import HIPS_BACK, SLACK
from ..shot.goals import RouteOptions
from .nsm_features import WINDOW

WALKING_SPEED = 1.6
"""Greatest speed of a walking root in m/s: the recorded 99th percentile of a brisk walk."""
RUNNING_SPEED = 3.2
"""Greatest speed of a running root in m/s, the fastest jog on which the network was trained."""
STEP = 0.05
"""Rise or fall in meters of the ground along a way from which it is climbed; a doorstep is walked over."""
_WALKING, _IDLE = (np.eye(len(GOAL_ACTIONS))[GOAL_ACTIONS.index(name)] for name in ("walk", "idle"))


@dataclass(frozen=True, eq=False)
class Samples:
    """A goal at the SAMPLES trajectory samples, in the world. place: (13, 3). facing: (13,). action: (13, 6).

    turn_rate: rad/s at which the facings lead from the present one to those that are asked for. turned: the facing that
    is asked for now; it is farther from the present one than half a turn where the character turns the other way round.
    """

    place: Array
    facing: Array
    action: Array
    turn_rate: float = math.inf
    turned: float = 0.0


class GoalSpec:
    """What is asked of a character, by default nothing but to be somewhere.

    thing: name of the collider that is used or carried, "". pose: (7,) at which the interaction sensor is to see the
    thing, and the environment sensor not at all; None where it is. is_place: whether the goal is a place, and no way.
    door: name of the door that is opened or gone through, "".
    """

    is_place: ClassVar[bool] = True
    thing: str = ""
    pose: Array | None = None
    door: str = ""

    def samples(self, root: Array, seconds: float) -> Samples:
        """The goal for a character whose root (4,) is here, `seconds` after the goal was set."""
        raise NotImplementedError

    def fork(self) -> GoalSpec:
        """A copy that goes on from here on its own."""
        return self

    @property
    def clearance(self) -> float:
        """Meters that the root keeps off things."""
        return RouteOptions().radius - SLACK

    @property
    def ignored(self) -> frozenset[str]:
        """Names of the things that the root does not keep off."""
        return frozenset({self.thing} - {""})

    def route(self, root: Array) -> Array:
        """Places (N, 2) where a root (4,) is to be next, and to which it stays free to go."""
        return np.zeros((0, 2))

    def speed_limit(self, root: Array) -> float:
        """Greatest speed in m/s of a root (4,)."""
        return WALKING_SPEED

    def nearness(self, place: Array) -> float:
        """How near a root is to using a thing that will be at a place (2,) in a second: 0..1."""
        return 0.0

    def offset(self, root: Array) -> tuple[Array, float]:
        """Vector (2,) from a root (4,) to the very place where it is to be, and how far (0..1) that counts."""
        return np.zeros(2), 0.0

    def heading(self, root: Array) -> tuple[float, float]:
        """Radians from the facing of a root (4,) to its way, and how far (0..1) that counts in place of the goal's
        facing."""
        return 0.0, 0.0


@dataclass(frozen=True)
class _Use:
    """How the root comes to where a thing is used."""

    nearness: float = 0.4
    """Meters over which the pull to the goal rises."""

    braking: float = 0.4
    """Deceleration in m/s^2 toward the goal: 1.8 m before it the character may still jog."""

    approach: float = 1.3
    """Distance in meters from the goal down to which the body faces its way."""

    turns: float = 0.5
    """Distance in meters over which the body turns from its way to the goal's facing."""

    closer: tuple[float, ...] = (0.0, 0.08, 0.16)
    """Meters by which the root may come closer to the thing than its stand: without, 2 of 25 boxes are not put down on
    blocks of 0.3 to 0.6 m, which the character bends over."""


_USE = _Use()


@dataclass(frozen=True, eq=False)
class Reach(GoalSpec):
    """Be at a place (3,), facing an angle, and do something there.

    standoff: meters from the place at which the root of the character is. speed: greatest speed of the root there in
    m/s. pose: (7,) of the thing as it is to be in the end, for what is put down. grasp: by which a thing is taken.
    top: on which it is put down: the collider's name and the height in the world. seat: that is sat on, in the thing's
    frame. door: name of the door that is opened, "".
    """

    place: Array
    facing: float
    action: str
    thing: str = ""
    pose: Array | None = None
    grasp: Carryable | None = None
    top: tuple[str, float] | None = None
    seat: Seat | None = None
    standoff: float = 0.45
    speed: float = 0.4
    door: str = ""

    def samples(self, root: Array, seconds: float) -> Samples:
        """The same for all samples."""
        action = np.zeros((SAMPLES, len(GOAL_ACTIONS)))
        action[:, GOAL_ACTIONS.index(self.action)] = 1
        return Samples(
            np.tile(np.asarray(self.place, dtype=float), (SAMPLES, 1)), np.full(SAMPLES, self.facing), action
        )

    @property
    def stand(self) -> Array:
        """Place (2,) of the root of a character that begins to use the thing."""
        return self._stands(np.zeros(1))[0]

    def route(self, root: Array) -> Array:
        """The stand, and a little closer to the thing."""
        return self._stands(np.array(_USE.closer))

    def speed_limit(self, root: Array) -> float:
        """A walk that slows down to the speed at which the thing is used."""
        return min(self.speed + math.sqrt(2 * _USE.braking * max(self.away(root[:2]), 0.0)), WALKING_SPEED)

    def nearness(self, place: Array) -> float:
        """0 farther than `_USE.nearness` from where the thing is used."""
        return min(max(1 - self.away(place) / _USE.nearness, 0.0), 1.0)

    def heading(self, root: Array) -> tuple[float, float]:
        """The way to the thing, while it is still far."""
        to = self.place[:2] - root[:2]
        near = min(max((_USE.approach - self.away(root[:2])) / _USE.turns, 0.0), 1.0)
        way = float(wrap_angle(angle_of(to) - root[3]))
        return way, (1 - near) * looks_along(way)

    def away(self, place: Array) -> float:
        """Meters from a place (2,) of the root to where the thing is used."""
        return float(np.linalg.norm(place - self.place[:2])) - self.standoff

    def _stands(self, closer: Array) -> Array:
        away = np.maximum(self.standoff - closer, 0.0)[:, None]
        return np.asarray(self.place[:2] - away * direction(np.array(self.facing)))


@dataclass(frozen=True)
class _Way:
    """How a way is asked for."""

    pace_share: float = 0.12
    """Share of a frame's speed in the measured pace, which evens out the sway of steps."""

    lookahead: float = 0.3
    """Meters ahead on the way to which the character is to look before it runs."""

    aligned: float = math.radians(60)
    """Radians from there up to which a character runs as usual."""

    averted: float = math.radians(120)
    """Radians from there beyond which it does not run yet."""

    slowing: float = 0.4
    """Meters over which a run turns into a walk before the end."""

    open: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    """Meters along the way that are kept free to go."""

    foreseeing: float = 0.3
    """Seconds in which a climb is foreseen at the last sample: labels were trained to change so."""

    out_of_seat: float = 0.45
    """Meters of a way from a seat on which the root does not keep off the seat."""


_WAY = _Way()


@dataclass(frozen=True)
class _Rise:
    """How people get up from a seat, by 40 composed rises: medians."""

    forward: float = 0.4
    """Meters by which the root comes forward meanwhile."""

    stands: float = 0.3
    """Seconds that it stands before it walks, and is asked to walk and no longer to sit: asked to sit until it walks, 7
    of 72 characters kept their arms up, and came to stand bent over."""


_RISE = _Rise()


@dataclass(eq=False)
class Steer(GoalSpec):
    """Walk a route as fast as its bends, its width and its end allow, doing `action`; stand at its end.

    The walker keeps where the character is on the way. ground: heights (N,) of the ground under places (N, 2); None
    where it is level. pace: m/s of the root. seat: that the character gets up from first, None without. rest: seconds
    of getting up, for most of which it goes on doing what it did there. door: name of the one that the way leads
    through, "".
    """

    is_place: ClassVar[bool] = False
    walker: Walker
    action: str = "walk"
    thing: str = ""
    pose: Array | None = None
    ground: Callable[[Array], Array] | None = None
    pace: float = 0.0
    seat: Reach | None = None
    rest: float = 0.0
    door: str = ""
    seen: tuple[float, Array] | None = None
    """Seconds and root (4,) of the frame before."""
    rises: bool = False
    """Whether the ground rises or falls along the way of the next seconds."""
    climbs: Array | None = None
    """How far (FUTURE + 1,) it climbs on hands and knees now, and at the trajectory samples of the next second; None on
    a way without such a climb."""
    climbs_since: float = 0.0
    """Seconds at which that was known."""

    def fork(self) -> Steer:
        """A copy that goes on from here on its own."""
        return replace(self, walker=copy.copy(self.walker))

    def samples(self, root: Array, seconds: float) -> Samples:
        """Where the root is to be in 0 to 2 seconds: each goal sample lies a second ahead of its trajectory sample."""
        walker, times = self.walker, (WINDOW - WINDOW[0]) / FPS
        walker.along = walker.path.project(root[:2], walker.along)
        rises = times < self.rest - seconds
        if rises.any():
            along = self._getting_up(times, seconds)
        else:
            self._measure_pace(root, seconds)
            along = walker.ahead(times, self.pace)
        flat = walker.places(along)
        place = np.empty((SAMPLES, 3))
        place[:, :2], place[:, 2] = flat, root[2] if self.ground is None else self.ground(flat)
        self.rises = bool(np.ptp(place[:, 2]) > STEP)
        self._foresee_climb(float(along[FUTURE]), seconds)
        action = np.zeros((SAMPLES, len(GOAL_ACTIONS)))
        action[:, GOAL_ACTIONS.index(self.action)] = 1
        if self.action == "run":
            # Little by little: where the network is asked for something else at once, its prediction jumps.
            runs = self.looks_along(root) * np.clip((walker.path.length - along - LAST) / _WAY.slowing, 0, 1)
            action = runs[:, None] * action + (1 - runs)[:, None] * _WALKING
        if self.action != "carry":
            # What is carried stays in the hands at the end of the way.
            there = along >= walker.path.length - ARRIVED
            action[there] = _IDLE
        if self.seat is not None:
            sits = times < self.rest - _RISE.stands - seconds
            action[sits] = np.eye(len(GOAL_ACTIONS))[GOAL_ACTIONS.index(self.seat.action)]
        return Samples(place, walker.facing(along), action)

    def looks_along(self, root: Array) -> float:
        """How far the character looks along the way already: 0..1."""
        ahead = float(self.walker.facing(np.array([self.walker.along + _WAY.lookahead]))[0])
        return looks_along(float(wrap_angle(np.array(ahead - root[3]))))

    @property
    def clearance(self) -> float:
        """Less where the way leads sideways."""
        if self.walker.aside > 0:
            return RouteOptions().slim - SLACK - HIPS_BACK
        return super().clearance

    @property
    def ignored(self) -> frozenset[str]:
        """What is carried, the leaf, and the seat that the character leaves."""
        seat = self.seat.thing if self.seat is not None and self.walker.along < _WAY.out_of_seat else ""
        return frozenset({self.thing, seat, self.door} - {""})

    def offset(self, root: Array) -> tuple[Array, float]:
        """To the middle of a gap through which the way leads sideways."""
        share = self.walker.aside
        return (self.walker.places(np.array([self.walker.along]))[0] - root[:2] if share > 0 else np.zeros(2)), share

    def route(self, root: Array) -> Array:
        """The way ahead."""
        return self.walker.places(self.walker.along + np.array(_WAY.open))

    def speed_limit(self, root: Array) -> float:
        """That of the gait."""
        return RUNNING_SPEED if self.action == "run" else WALKING_SPEED

    def _getting_up(self, times: Array, seconds: float) -> Array:
        """Arc lengths (T,) after `times` (T,) seconds of a character that gets up and walks off then."""
        walker = self.walker
        now, then = (smoothstep(at / self.rest) for at in (np.array(seconds), seconds + times))
        along = walker.ahead(np.maximum(times - (self.rest - seconds), 0.0), 0.0) + _RISE.forward * (then - now)
        return np.minimum(along, walker.path.length)

    def _foresee_climb(self, along: float, seconds: float) -> None:
        """A climb that is foreseen at an arc length, in a second, is done then: its label comes in at the last sample,
        and goes on to the present at the pace of time, wherever the character is by then."""
        if not self.walker.goes_on_hands:
            return
        if self.climbs is None:
            self.climbs = np.zeros(FUTURE + 1)
        asked, before = self.walker.climbs(along), self.climbs
        passed = min((seconds - self.climbs_since) * FPS / SAMPLE_FRAMES, 1.0)
        self.climbs_since = seconds
        after = np.append(before[1:], before[-1])
        self.climbs = before + passed * (after - before)
        rise = passed * SAMPLE_FRAMES / (_WAY.foreseeing * FPS)
        self.climbs[-1] = before[-1] + np.clip(asked - before[-1], -rise, rise)

    def _measure_pace(self, root: Array, seconds: float) -> None:
        if self.seen is not None and seconds > self.seen[0]:
            speed = float(np.linalg.norm(root[:2] - self.seen[1][:2])) / (seconds - self.seen[0])
            self.pace += _WAY.pace_share * (speed - self.pace)
        if self.seen is None or seconds > self.seen[0]:
            self.seen = seconds, root


TURN_RATE = 1.5
"""Turning in rad/s asked of a character on the spot, that of recorded standing turns."""


NEARLY = 0.4
"""Meters from where a character is to stand up to which a sidestep takes it there: farther off it is still walking."""
AT_PLACE, AT_FACING = 0.1, 0.2
"""Meters from where a character is to stand, and radians from where it is to look, within which it takes no more steps:
left to its labels, it treads there with a sway of 3 cm for as long as it stands."""


@dataclass(frozen=True, eq=False)
class Stay(GoalSpec):
    """Stand at a place (3,), turned to `facing` or as the character is; with `action` "carry", holding `thing`."""

    place: Array
    facing: float | None = None
    action: str = "idle"
    thing: str = ""
    pose: Array | None = None

    def samples(self, root: Array, seconds: float) -> Samples:
        """The same place for all samples; the facing comes within the next two seconds."""
        facing = float(root[3]) if self.facing is None else self.facing
        action = np.zeros((SAMPLES, len(GOAL_ACTIONS)))
        action[:, GOAL_ACTIONS.index(self.action)] = 1
        return Samples(np.tile(self.place, (SAMPLES, 1)), np.full(SAMPLES, facing), action, TURN_RATE)

    def is_met(self, root: Array) -> bool:
        """Whether a root (4,) is at the place and turned as asked, near enough to take no more steps."""
        turn = 0.0 if self.facing is None else float(wrap_angle(np.array(self.facing - root[3])))
        return float(np.linalg.norm(self.place[:2] - root[:2])) < AT_PLACE and abs(turn) < AT_FACING

    def offset(self, root: Array) -> tuple[Array, float]:
        """To the place, once the character is nearly there."""
        off = self.place[:2] - root[:2]
        return off, float(np.linalg.norm(off) < NEARLY)

    def route(self, root: Array) -> Array:
        """The place."""
        return np.asarray(self.place[:2])[None]


def looks_along(away: float) -> float:
    """How far a character whose way leads `away` radians from its facing, to either side, looks along it: 0..1."""
    return min(max((_WAY.averted - abs(away)) / (_WAY.averted - _WAY.aligned), 0.0), 1.0)
