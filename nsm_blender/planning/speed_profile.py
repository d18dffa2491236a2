# SPDX-License-Identifier: GPL-3.0-or-later
"""The speed along one route, by its bends, its width and its end, and the trajectory ahead."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..geometry.ground import Ground
from ..models.pfnn import FPS, FUTURE, SAMPLE_FRAMES
from ..motion.gait import GAITS
from ..motion.root import direction
from ..motion.rotations import Array, wrap_angle
from .bends import bends, braked
from .flights import TreadPacing, flights_along
from .path import GroundPath
from .path_search import LEAD, Route, lengths
from .trajectory import ARRIVED, BRAKING, GAINING, JOGGING, LAST, MOVING, WALK_FEEDBACK, Future, State, farther_over
from .velocity_constraints import HIPS_BACK


@dataclass(frozen=True)
class Pace:
    """How a gait goes along a way.

    speed: m/s where the way is free. turning: rad/s by which the heading changes in bends. early: seconds before what
    slows it down from which it goes as slowly as there: quicker bodies swing wide. starting: seconds that getting on
    the way costs. exceeds: how many times as fast as asked for it goes then, measured in rooms.
    """

    speed: float
    turning: float
    early: float
    starting: float
    exceeds: float


PACES = {
    "walk": Pace(1.3, 1.4, 0.0, 0.5, 1.1),
    "jog": Pace(2.7, 1.4, 0.2, 0.75, 1.25),
    "crouch": Pace(0.7, 1.1, 0.0, 0.65, 1.25),
}
"""How each gait goes along a way, measured on the PFNN's walks through rooms."""
SIDEWAYS = 0.5
"""Speed in m/s commanded sideways through a gap: the PFNN then goes at 0.7, and hesitates at slower commands."""
SLOWEST = 0.45
"""Least speed in m/s: in the sharpest bend, in the narrowest gap, and at the end of the way."""
HOLDING_BACK, SLOWEST_SHARE = 0.8, 0.25
"""Share of the excess over the way's speed that is taken off what is asked for, and what is left of that at least."""
STROLL, ROOM = 0.9, 0.3
"""Speed in m/s where there is just enough room for the body, and meters of room beyond its radius from which the
character goes freely."""
ON_HANDS = 0.12
"""Speed in m/s of the root up to an edge that is climbed on hands and knees, and on from there: people take six seconds
for 0.7 m."""
KNEELING, KNEELS = 0.05, 0.05
"""Speed in m/s of a root on the knees, and meters before and beyond the edge between which it is: people stay there for
2.7 s before they set up a foot."""
UNEVEN = 0.6
"""Share by which each meter up or down in a meter of the way slows the character: people take stairs at about three
quarters of their level speed."""
_SLOPE = 0.8
"""Meters of a way over which its slope is measured, some treads of stairs."""
_STEP = 0.05
"""Meters between the points of the profile."""
_STAND, _WALK, _JOG, _CROUCH = (GAITS.index(name) for name in ("stand", "walk", "jog", "crouch"))
_ONE_HOT = np.eye(len(GAITS))
_DT = SAMPLE_FRAMES / FPS


class Walker:
    """Follows a route at the speed that its bends, its width and its end allow.

    gait: "walk", "jog" or "crouch". speed: m/s where the way is free, or None: as usual for the gait. clearance: (N,)
    meters from the points of the route to the nearest thing, less the body's radius. ground: that it leads over; a walk
    takes its stairs tread by tread. tempo: factor on the speeds of the whole way but its end, for a character that is
    to arrive sooner or later.
    """

    def __init__(
        self, route: Route, gait: str, speed: float | None, clearance: Array, ground: Ground | None = None
    ) -> None:
        self.path = GroundPath(route.points)
        self._gait, self._pace = gait, PACES[gait]
        self._s = np.arange(0, self.path.length + _STEP, _STEP)
        # A way that begins on a seat or goes on over an edge has points that are not evenly spaced.
        at = lengths(route.points)
        crouching = np.interp(self._s, at, route.crouch.astype(float)) > 0.5
        last = self._s > self.path.length - LAST
        sideways = np.interp(self._s, at, route.sideways.astype(float)) > 0.5
        self._crouch = (crouching | (gait == "crouch")) & ~(last & ~crouching) & ~sideways
        self._on_hands, self._on_knees = self._climbing(route.on_hands, at)
        self._aside, self._sideways_facing = self._turned(sideways, route.facings)
        room = np.interp(self._s, at, np.minimum(clearance, ROOM))
        before, behind = (np.interp(self._s + side * _SLOPE, at, route.points[:, 2]) for side in (-0.5, 0.5))
        self._uneven = 1 + UNEVEN * np.abs(behind - before) / _SLOPE
        evenly = np.interp(np.linspace(0, self.path.length, len(at)), at, route.points[:, 2])
        flights = [] if ground is None or gait == "jog" else flights_along(self.path, ground, evenly)
        self._treads = TreadPacing(self.path, flights, BRAKING[gait])
        self._speed = self._profile(self._pace.speed if speed is None else speed, room)
        self._taken = np.cumsum(_STEP / np.maximum(self._speed, np.minimum(self._on_knees, 0.2)))
        self._goes_aside = bool(self._aside.any())
        self.along = 0.0
        self.tempo = 1.0

    @property
    def left(self) -> float:
        """Meters to the end of the way."""
        return self.path.length - self.along

    @property
    def seconds(self) -> float:
        """How long the whole way takes, about, until the character arrives."""
        return self._pace.starting + float(self._taking(math.inf).sum())

    def seconds_at(self, most: float) -> float:
        """The same for a character that goes at no more than `most` m/s, whatever is asked for."""
        return self._pace.starting + float(self._taking(most).sum())

    def remaining(self, most: float) -> float:
        """Seconds from where the character is on the way until it arrives, at no more than `most` m/s, at tempo 1."""
        taking = self._taking(most)
        to_come = np.clip((self._s + _STEP - self.along) / _STEP, 0, 1)
        return float((to_come * taking).sum())

    def _taking(self, most: float) -> Array:
        """Seconds that each step of the profile takes at no more than `most` m/s."""
        exceeds = np.where(self._crouch, PACES["crouch"].exceeds, self._pace.exceeds)
        step = np.clip(self.path.length - ARRIVED - self._s, 0, _STEP)
        speed = np.minimum(np.maximum(self._speed, SLOWEST) * exceeds, self._on_knees)
        out: Array = step / np.minimum(speed, most)
        return out

    def ahead(self, times: Array, pace: float | None = None) -> Array:
        """Arc lengths (T,) where the character will be after `times` (T,) seconds, about.

        pace: m/s at which it goes now, from which it only gets faster by and by; faster than the way allows, it is held
        back. None: as fast as the way allows at once.
        """
        taken = self._taken
        now = np.interp(self.along, self._s, taken)
        out: Array = np.interp(now + self.tempo * times, taken, self._s)
        if pace is None:
            return out
        wanted = float(np.interp(now + self.tempo, taken, self._s)) - self.along
        if pace > wanted:
            out = self.along + (out - self.along) * max(1 - HOLDING_BACK * (pace / max(wanted, 0.1) - 1), SLOWEST_SHARE)
        return np.minimum(out, self.along + pace * times + 0.5 * GAINING * times**2)

    def future(self, state: State, stop: float) -> Future:
        """The trajectory asked for. stop: arc length beyond which the character must not go, for now."""
        place = np.array([state.x, state.y])
        self.along = self.path.project(place, self.along)
        pace = math.hypot(*state.velocity)
        s, along, speeds = self.along, np.empty(FUTURE - 1), np.empty(FUTURE)
        treads = self._treads.step(s, state.ball)
        for k in range(FUTURE):
            speed = min(self._treads.speed(s, self._at(s), treads), self._stopping(stop - s))
            if k == 0:
                lack = min(max(speed - pace, -speed), speed)
            speeds[k] = speed
            if k < FUTURE - 1:
                s += max(speed + WALK_FEEDBACK * lack, 0.0) * _DT if speed > MOVING else 0.0
                along[k] = s
        along = np.minimum(along, self.path.length)
        position = self.places(along)
        now = self.places(np.array([self.along]))
        step = np.diff(np.vstack((now, position)), axis=0)
        gait = np.array([self._gait_at(a, v) for a, v in zip((self.along, *along), speeds, strict=True)])
        return Future(
            position + farther_over(place, now[0]),
            step / _DT,
            direction(self.facing(along)),
            _ONE_HOT[gait],
            sideways=self.aside > 0.5,
        )

    def climbs(self, along: float) -> float:
        """How far the way at an arc length leads up on hands and knees: 0..1."""
        return float(np.interp(along, self._s, self._on_hands))

    @property
    def goes_on_hands(self) -> bool:
        """Whether the way leads up on hands and knees somewhere."""
        return bool(self._on_hands.any())

    @property
    def aside(self) -> float:
        """How far the character is turned aside from the way to go sideways, where it is: 0..1."""
        return float(np.interp(self.along, self._s, self._aside))

    @property
    def speed(self) -> float:
        """m/s that the way allows where the character is."""
        return self._at(self.along)

    @property
    def top(self) -> float:
        """m/s that the way allows where it allows most."""
        return float(self._speed.max())

    @property
    def goes_sideways(self) -> bool:
        """Whether the character is in a gap, or has one before it, through which it goes sideways."""
        return bool((self._aside[self._s >= self.along] > 0.5).any())

    def heading(self) -> float:
        """Facing angle where the character is: along the way, or aside from it."""
        return float(self.facing(np.array([self.along]))[0])

    def facing(self, along: Array) -> Array:
        """Facing angles (N,) at arc lengths (N,): along the way, or aside from it where it leads sideways."""
        ahead = self.path.heading(along)
        index = np.minimum((along / _STEP + 0.5).astype(int), len(self._s) - 1)
        share = np.interp(along, self._s, self._aside)
        out: Array = ahead + share * wrap_angle(self._sideways_facing[index] - ahead)
        return out

    def places(self, along: Array) -> Array:
        """Places (N, 2) of the root at arc lengths (N,): on the way, or a little behind it where it is turned aside."""
        out: Array = self.path.position(along)
        if self._goes_aside:
            share = np.interp(along, self._s, self._aside)
            out = out - HIPS_BACK * share[:, None] * direction(self.facing(along))
        return out

    def _climbing(self, on_hands: Array | None, at: Array) -> tuple[Array, Array]:
        """Which of the arc lengths lead up an edge on the hands, to a little beyond it, and the greatest speed in m/s
        at each: that of hands and knees, until the character stands, infinite elsewhere.

        on_hands: which points of the route, at arc lengths `at`, are come to so.
        """
        if on_hands is None or not on_hands.any():
            return np.zeros(len(self._s), dtype=bool), np.full(len(self._s), np.inf)
        first, last = np.flatnonzero(on_hands)[[0, -1]]
        begins, edge = at[max(first - 1, 0)], at[last]
        climbs = (self._s > begins) & (self._s < edge + KNEELS)
        # On the knees beyond the edge the character has yet to stand up.
        speed = np.where(self._s > begins, ON_HANDS, np.inf)
        # A speed is that of the way up to its arc length.
        speed[np.abs(self._s - _STEP / 2 - edge) < KNEELS] = KNEELING
        return climbs, speed

    def _turned(self, sideways: Array, facings: tuple[float | None, float | None]) -> tuple[Array, Array]:
        """How far the body is turned aside at each of the arc lengths, 0..1, and its facing angle there.

        sideways: where it goes sideways. It turns to the side that is nearer to how it comes and goes on: `facings` are
        the angles of a body that comes from between things, and of one that stays there.
        """
        share, facing = np.zeros(len(self._s)), np.zeros(len(self._s))
        edges = np.flatnonzero(np.diff(sideways, prepend=False, append=False))
        for first, last in edges.reshape(-1, 2):
            begin, end = self._s[first], self._s[last - 1]
            places = np.array([0.5 * (begin + end), begin - LEAD, end + LEAD])
            way, before, after = self.path.heading(places)
            if first == 0 and facings[0] is not None:
                before = after = facings[0]
            if last == len(self._s) and facings[1] is not None:
                before = after = facings[1]
            sides = way + 0.5 * np.pi * np.array([1.0, -1.0])
            turning = np.abs(wrap_angle(sides - before)) + np.abs(wrap_angle(sides - after))
            away = np.maximum(np.maximum(begin - self._s, self._s - end), 0)
            turned = 0.5 + 0.5 * np.cos(np.pi * np.minimum(away / LEAD, 1))
            facing = np.where(turned > share, sides[int(turning.argmin())], facing)
            share = np.maximum(share, turned)
        return share, facing

    def _gait_at(self, s: float, speed: float) -> int:
        if speed <= MOVING:
            return _STAND
        if self._crouch[min(int(s / _STEP), len(self._crouch) - 1)]:
            return _CROUCH
        return _JOG if self._gait == "jog" and speed > JOGGING else _WALK

    def _at(self, s: float) -> float:
        speed = float(self._speed[min(int(s / _STEP), len(self._speed) - 1)])
        return speed * (1 + (self.tempo - 1) * min(max((self.path.length - s) / LAST, 0.0), 1.0))

    def _stopping(self, left: float) -> float:
        """The speed at which the character can still stop within `left` meters."""
        return math.sqrt(2 * BRAKING[self._gait] * left) if left > ARRIVED else 0.0

    def _profile(self, top: float, room: Array) -> Array:
        """Speed in m/s at each of the arc lengths."""
        speed = np.minimum(top, self._pace.turning / np.maximum(bends(self.path, self._s), 1e-3))
        narrow = np.clip(room / ROOM, 0, 1)
        speed = np.minimum(speed, np.maximum(STROLL + (top - STROLL) * narrow, min(top, STROLL)))
        speed = np.where(self._crouch, np.minimum(speed, PACES["crouch"].speed), speed)
        speed = speed / self._uneven
        speed = np.maximum(speed, min(SLOWEST, top))
        speed = np.minimum(speed, [self._treads.allowed(s) for s in self._s.tolist()])
        speed = np.minimum(speed, top + (min(SIDEWAYS, top) - top) * self._aside)
        reach = 1 + np.rint(self._pace.early * speed / _STEP).astype(int)
        speed = np.array([speed[i : i + count].min() for i, count in enumerate(reach)])
        speed = np.where(np.isfinite(self._on_knees), self._on_knees, speed)
        left = np.maximum(self.path.length - self._s, 0)
        brake = BRAKING[self._gait]
        speed = np.minimum(speed, np.sqrt(2 * np.where(left < LAST, BRAKING["walk"], brake) * left))
        return braked(speed, _STEP, brake)
