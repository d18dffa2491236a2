# SPDX-License-Identifier: GPL-3.0-or-later
"""Walking one route: how fast where, and the trajectory ahead."""

from __future__ import annotations

import math

import numpy as np

from ..models.pfnn import FPS, FUTURE, SAMPLE_FRAMES
from ..motion.gait import GAITS
from ..motion.root import direction
from ..motion.rotations import Array, wrap_angle
from .path import GroundPath
from .path_search import Route
from .trajectory import MOVING, WALK_FEEDBACK, Future, State
from .velocity_constraints import HIPS_BACK

SPEEDS = {"walk": 1.3, "jog": 2.7, "crouch": 0.7}
"""m/s on free ways."""
SIDEWAYS = 0.5
"""m/s that are asked for sideways through a gap; the PFNN goes at 0.7, and slower ones make it hesitate."""
TURN_ASIDE = 0.7
"""Metres of the way before and behind, over which one turns aside for it and ahead again."""
TURNING = {"walk": 1.4, "jog": 1.4, "crouch": 1.1}
"""rad/s that the heading changes by in bends; slower where they are sharp. Who runs and turns faster swings wide;"""
EARLY = {"walk": 0.0, "jog": 0.2, "crouch": 0.0}
"""so many seconds before what slows him down he goes as slowly as there."""
SLOWEST = 0.45
"""m/s in the sharpest bend and the narrowest gap."""
BRAKING = {"walk": 0.9, "jog": 1.3, "crouch": 0.6}
"""m/s^2 before bends and ends."""
GAINING = 1.3
"""m/s^2 when one sets off."""
HOLDING_BACK, SLOWEST_SHARE = 0.8, 0.25
"""Share of what one is too fast by that is taken off what is asked for, and what is left of that at least."""
STROLL = 0.9
"""m/s where there is no more room than the body needs;"""
ROOM = 0.3
"""metres beyond the body's radius at which one goes freely."""
JOGGING = 1.9
"""m/s: a slower run is a walk."""
STARTING = {"walk": 0.5, "jog": 0.75, "crouch": 0.65}
"""Seconds that getting on the way costs;"""
PACE = {"walk": 1.1, "jog": 1.25, "crouch": 1.25}
"""times as fast as asked for one goes then (measured, in rooms),"""
LAST_PACE = 0.45
"""and arrives at so many m/s."""
ARRIVED = 0.04
"""Metres before the end of the way at which one is there."""
LAST = 1.0
"""Metres before the end, from which one walks whatever the gait: runs and crouches do not end on the spot."""
INSISTENCE = 3.0
"""The way is asked for by this much further over than one is beside it: the network cuts and overshoots bends."""
_STEP = 0.05
_BEND = 0.25
_STAND, _WALK, _JOG, _CROUCH = (GAITS.index(name) for name in ("stand", "walk", "jog", "crouch"))
_ONE_HOT = np.eye(len(GAITS))
_DT = SAMPLE_FRAMES / FPS


class Walker:
    """Follows a route at the speed that its bends, its width and its end allow.

    gait: "walk", "jog" or "crouch". speed: m/s where the way is free, or None: as usual for the gait. clearance: (N,)
    metres from the points of the route to the nearest thing, less the body's radius.
    """

    def __init__(self, route: Route, gait: str, speed: float | None, clearance: Array) -> None:
        self.path = GroundPath(route.points)
        self._gait = gait
        self._s = np.arange(0, self.path.length + _STEP, _STEP)
        # A way that begins on a seat or goes on over an edge has points that are not evenly spaced.
        at = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(route.points[:, :2], axis=0), axis=1))))
        crouching = np.interp(self._s, at, route.crouch.astype(float)) > 0.5
        last = self._s > self.path.length - LAST
        sideways = np.interp(self._s, at, route.sideways.astype(float)) > 0.5
        self._crouch = (crouching | (gait == "crouch")) & ~(last & ~crouching) & ~sideways
        self._aside, self._sideways_facing = self._turned(sideways, route.facings)
        room = np.interp(self._s, at, np.minimum(clearance, ROOM))
        self._speed = self._profile(SPEEDS[gait] if speed is None else speed, room)
        self._taken = np.cumsum(_STEP / np.maximum(self._speed, 0.2))
        self._goes_aside = bool(self._aside.any())
        self.along = 0.0

    @property
    def left(self) -> float:
        """Metres to the end of the way."""
        return self.path.length - self.along

    @property
    def seconds(self) -> float:
        """How long the whole way takes, about, until one arrives."""
        pace = np.where(self._crouch, PACE["crouch"], PACE[self._gait])
        step = np.clip(self.path.length - ARRIVED - self._s, 0, _STEP)
        return STARTING[self._gait] + float((step / (np.maximum(self._speed, LAST_PACE) * pace)).sum())

    def ahead(self, times: Array, pace: float | None = None, rest: float = 0.0) -> Array:
        """Arc lengths (T,) where one is after `times` (T,) seconds, as far as one can tell.

        pace: m/s at which one goes now, from which one only gets faster by and by, and not before `rest` seconds; one
        who goes faster than the way allows is held back. None: as fast as the way allows at once.
        """
        taken = self._taken
        now = np.interp(self.along, self._s, taken)
        out: Array = np.interp(now + times, taken, self._s)
        if pace is None:
            return out
        wanted = float(np.interp(now + 1.0, taken, self._s)) - self.along
        if pace > wanted:
            out = self.along + (out - self.along) * max(1 - HOLDING_BACK * (pace / max(wanted, 0.1) - 1), SLOWEST_SHARE)
        gaining = np.maximum(times - rest, 0.0)
        return np.minimum(out, self.along + pace * times + 0.5 * GAINING * gaining**2)

    def future(self, state: State, stop: float) -> Future:
        """The trajectory asked for. stop: arc length at which one must not go on, for now."""
        place = np.array([state.x, state.y])
        self.along = self.path.project(place, self.along)
        pace = math.hypot(*state.velocity)
        s, along, speeds = self.along, np.empty(FUTURE - 1), np.empty(FUTURE)
        for k in range(FUTURE):
            speed = min(self._at(s), self._stopping(stop - s))
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
            position + INSISTENCE * (now - place),
            step / _DT,
            direction(self.facing(along)),
            _ONE_HOT[gait],
            sideways=self.aside > 0.5,
        )

    @property
    def aside(self) -> float:
        """How far one has turned aside from the way where one is, to go sideways: 0..1."""
        return float(np.interp(self.along, self._s, self._aside))

    @property
    def speed(self) -> float:
        """m/s that the way allows where one is."""
        return self._at(self.along)

    @property
    def top(self) -> float:
        """m/s that the way allows where it allows most."""
        return float(self._speed.max())

    @property
    def squeezes(self) -> bool:
        """Whether one is in a gap, or has one before him, that one goes sideways through."""
        return bool((self._aside[self._s >= self.along] > 0.5).any())

    def heading(self) -> float:
        """Facing angle where one is: along the way, or aside from it."""
        return float(self.facing(np.array([self.along]))[0])

    def facing(self, along: Array) -> Array:
        """Facing angles (N,) at arc lengths (N,): along the way, or aside from it where one goes sideways."""
        ahead = self.path.heading(along)
        index = np.minimum((along / _STEP + 0.5).astype(int), len(self._s) - 1)
        share = np.interp(along, self._s, self._aside)
        out: Array = ahead + share * wrap_angle(self._sideways_facing[index] - ahead)
        return out

    def places(self, along: Array) -> Array:
        """Places (N, 2) of the root at arc lengths (N,): on the way, or a little behind it who is turned aside."""
        out: Array = self.path.position(along)
        if self._goes_aside:
            share = np.interp(along, self._s, self._aside)
            out = out - HIPS_BACK * share[:, None] * direction(self.facing(along))
        return out

    def _turned(self, sideways: Array, facings: tuple[float | None, float | None]) -> tuple[Array, Array]:
        """How far one is turned aside at each of the arc lengths, 0..1, and the facing angle of one who is.

        sideways: where one goes sideways. One turns to the side that is nearer to how one comes and goes on: `facings`
        are the angles of a body that comes from between things, and of one that stays there.
        """
        share, facing = np.zeros(len(self._s)), np.zeros(len(self._s))
        edges = np.flatnonzero(np.diff(sideways, prepend=False, append=False))
        for first, last in edges.reshape(-1, 2):
            begin, end = self._s[first], self._s[last - 1]
            places = np.array([0.5 * (begin + end), begin - TURN_ASIDE, end + TURN_ASIDE])
            way, before, after = self.path.heading(places)
            if first == 0 and facings[0] is not None:
                before = after = facings[0]
            if last == len(self._s) and facings[1] is not None:
                before = after = facings[1]
            sides = way + 0.5 * np.pi * np.array([1.0, -1.0])
            turning = np.abs(wrap_angle(sides - before)) + np.abs(wrap_angle(sides - after))
            away = np.maximum(np.maximum(begin - self._s, self._s - end), 0)
            turned = 0.5 + 0.5 * np.cos(np.pi * np.minimum(away / TURN_ASIDE, 1))
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
        return float(self._speed[min(int(s / _STEP), len(self._speed) - 1)])

    def _stopping(self, left: float) -> float:
        """The speed at which one can still stop within `left` metres."""
        return math.sqrt(2 * BRAKING[self._gait] * left) if left > ARRIVED else 0.0

    def _profile(self, top: float, room: Array) -> Array:
        """Speed in m/s at each of the arc lengths."""
        span = np.minimum(_BEND, 0.5 * self.path.length)
        turn = self.path.heading(self._s + span) - self.path.heading(self._s - span)
        bend = np.abs((turn + math.pi) % (2 * math.pi) - math.pi) / (2 * span)
        speed = np.minimum(top, TURNING[self._gait] / np.maximum(bend, 1e-3))
        narrow = np.clip(room / ROOM, 0, 1)
        speed = np.minimum(speed, np.maximum(STROLL + (top - STROLL) * narrow, min(top, STROLL)))
        speed = np.where(self._crouch, np.minimum(speed, SPEEDS["crouch"]), speed)
        speed = np.maximum(speed, min(SLOWEST, top))
        speed = np.minimum(speed, top + (min(SIDEWAYS, top) - top) * self._aside)
        reach = 1 + np.rint(EARLY[self._gait] * speed / _STEP).astype(int)
        speed = np.array([speed[i : i + count].min() for i, count in enumerate(reach)])
        left = np.maximum(self.path.length - self._s, 0)
        brake = BRAKING[self._gait]
        speed = np.minimum(speed, np.sqrt(2 * np.where(left < LAST, BRAKING["walk"], brake) * left))
        for i in range(len(speed) - 2, -1, -1):
            speed[i] = min(speed[i], math.sqrt(speed[i + 1] ** 2 + 2 * brake * _STEP))
        return speed
