# SPDX-License-Identifier: GPL-3.0-or-later
"""What the character is asked to do: future trajectories from a path or from velocities (PFNN 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..models.pfnn import FPS, FUTURE, SAMPLE_FRAMES
from ..motion.gait import GAITS
from ..motion.root import direction
from ..motion.rotations import Array
from ..shot.shot import PathFollow, VelocityFollow
from .bends import bends, braked
from .flights import Flight, TreadPacing
from .leaps import Leaps
from .path import GroundPath
from .path_on_ground import Gap
from .takes import Take
from .velocity_constraints import Berth

AHEAD = np.arange(1, FUTURE) * (SAMPLE_FRAMES / FPS)
"""Seconds from now to the five future samples."""
_STAND, _WALK, _JOG, _JUMP, _CROUCH = (GAITS.index(name) for name in ("stand", "walk", "jog", "jump", "crouch"))
_ONE_HOT = np.eye(len(GAITS))
MOVING = 0.05
"""Speed in m/s below which a command means standing."""
CAME_TO_REST = 0.2
"""Mean speed in m/s below which a character that is told to stand keeps to the place where it is."""
TURN_TO_STEP = math.radians(30)
"""Radians between the root's facing and the asked one at which standing feet step round: legs twist comfortably by
about 30 to 40 degrees against the pelvis."""
LEAST_STEP = math.radians(12)
"""Radians off an asked facing that no longer changes, above which the feet step too; less is turned in the hips."""
TURNED = math.radians(5)
"""Radians off the asked facing at which the stepping ends."""
LAST_STEP = 0.5
"""Seconds of stepping after the facing is reached, in which the second foot follows the first."""
UNCHANGING = 0.3
"""Seconds without change after which an asked facing counts as reached by its keys."""
UNCHANGED = math.radians(0.05)
"""Radians between two frames up to which an asked facing counts as unchanged."""
TURN_RATE = 1.4
"""Turn rate in rad/s on the spot: with a faster command the network swings wide around the place."""
TURN_GAIN = 1.5
"""Gain on the turn that is left, in the facings asked for: the last degrees take long otherwise."""
STANDING_GAIN = 5.0
"""Gain on the offset from the place to stand at, in the places asked for: the network alone stays where it is."""
CROSS_TRACK_GAIN = 3.0
"""Times the offset from the way by which the way is asked for farther over: the network cuts and overshoots bends, and
goes sideways a hand beside the way."""
FARTHEST_OVER = 0.4
"""Meters by which the way is asked for farther over at most: to a character far beside it, it is way enough."""
PULL = 1.5
"""1/s: share of the offset from the place to stand at that the root makes up for, while the weight shifts on to it."""
LARGEST_PULL = 0.06
"""Largest speed in m/s of the pull to the place to stand at, less than the hips sway in standing."""
PULL_RISE = 0.5
"""Seconds after coming to rest over which the pull sets in."""
BRAKING = {"walk": 0.9, "jog": 1.3, "crouch": 0.6}
"""Comfortable deceleration in m/s^2 before the end of a path, by gait."""
SLOWING = 1.0
"""Largest deceleration in m/s^2 that a drop of the commanded speed amounts to: a second before they stand, recorded
people go at 1 m/s (median; at most 1.5)."""
GAINING = 1.3
"""Acceleration in m/s^2 out of a bend, and with which a route is set off on."""
TURNING = 3.0
"""Turn rate in rad/s with which bends of a path are taken at most: the recorded 99th percentile is 2.2 to 3.0."""
LAST_PACE = 0.4
"""Speed in m/s of the last steps to the end of a path: with a slower command the network stops."""
ARRIVED = 0.04
"""Meters before the end of a path at which the character stands there."""
NEARLY_ARRIVED = 0.08
"""Meters before the end of a path at which a character that came to rest stands there, too, and shifts over the rest of
the way: for less than a foot's breadth it would tread on the spot."""
LAST = 1.0
"""Meters before the end of a path from which a character walks upright: runs and crouches do not end on the spot."""
JOGGING = 1.9
"""Speed in m/s below which a jog is a walk."""
END_FEEDBACK = 1.0
"""Meters before the end of a path over which the feedback on the speed fades in, so that the stop is met; on stairs,
where steps have to fit, it is always on."""
WALK_FEEDBACK = 0.3
"""Share of the difference between commanded and present velocity that is added to the command: the
network alone falls back to the speeds at which it was recorded, and starts as leisurely."""
RUN_FEEDBACK = 0.9
"""The same for a run, which a user wants at once; more makes a walk start with a jerk."""
LARGEST_LACK = 1.0
"""The difference counts up to this share of the commanded speed."""
CATCH_UP = 1.2
"""1/s: share of the lag behind the target on the path that is added to the speed."""
PLANK = 0.6
"""Meters to either side of a jump over which what lies below it is not felt."""
_STEP = 0.05
"""Meters between the places of a path at which the speed round its bends is known."""
CATCH_UP_SHARE = 0.25
"""The speed is raised or lowered by at most this share to meet the target."""


@dataclass
class State:
    """Where the character is: x, y in meters and facing angle about +Z, world; `time` in seconds.

    velocity: x, y in m/s, the mean over about a step. z: height of the ground under the root in meters. ball: x, y of
    the ball of the foot that came down last, None before the first step.
    """

    x: float
    y: float
    angle: float
    time: float
    velocity: tuple[float, float] = (0.0, 0.0)
    z: float = 0.0
    ball: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Airborne:
    """A jump from a place x, y, z in meters to another. height: that the root has in it now. velocity: (2,) m/s at
    which it goes. led: how far it goes so and not as the network predicts, 0..1."""

    start: Array
    end: Array
    height: float
    velocity: Array
    led: float

    def plank(self, places: Array) -> Array:
        """Heights (...) at places (..., 2) of a level plank under the jump, -inf beside it."""
        way = self.end[:2] - self.start[:2]
        length = max(float(np.hypot(*way)), 1e-9)
        away = places - self.start[:2]
        along, aside = away @ way / length, away @ np.array([-way[1], way[0]]) / length
        on = (along >= 0) & (along <= length) & (np.abs(aside) < PLANK)
        return np.where(on, min(self.start[2], self.end[2]), -np.inf)


@dataclass
class Future:
    """The trajectory asked for at the samples AHEAD, in the world.

    position: (5, 2) places, or None where only velocities are asked for. velocity: (5, 2) m/s.
    direction: (5, 2) facing. gait: (6, 5) weights at now and the five samples. berth: what is kept off on the way.
    sideways: the character goes sideways now, where there is less room. pull: x, y m/s that the root is moved by
    beside what the network predicts. leaps: the network that jumps leads. airborne: the course of a jump, for which it
    does too; None on the ground. phase: radians of
    the cycle to which a standing character comes, None: that of its gait.
    """

    position: Array | None
    velocity: Array
    direction: Array
    gait: Array
    berth: Berth | None = None
    sideways: bool = False
    pull: tuple[float, float] = (0.0, 0.0)
    leaps: bool = False
    airborne: Airborne | None = None
    phase: float | None = None


class Commands(Protocol):
    """Anything that can say where to go from a state."""

    def future(self, state: State) -> Future:
        """The trajectory asked for from `state` on."""


def slowing(speed: Array, fps: float) -> Array:
    """Commanded speeds (F,) in m/s of the scene's frames that drop no faster than SLOWING."""
    out = speed.copy()
    for i in range(1, len(out)):
        out[i] = max(out[i], out[i - 1] - SLOWING / fps)
    return out


class VelocityCommands:
    """A game pad: desired velocity, facing and gait over time. seed: of the take."""

    def __init__(self, follow: VelocityFollow, fps: float, seed: int = 0) -> None:
        velocity = np.asarray(follow.velocities, dtype=np.float64)
        speed = np.linalg.norm(velocity, axis=1) * Take(seed).paces(np.arange(len(velocity)) / fps)
        # A velocity of nothing has the direction of the last one.
        last = np.maximum.accumulate(np.where(speed > 0, np.arange(len(speed)), 0))
        self._velocity = velocity[last] * (slowing(speed, fps) / np.maximum(speed[last], 1e-9))[:, None]
        self._facing = np.asarray(follow.facings, dtype=np.float64)
        self._gait = np.array([GAITS.index(g) for g in follow.gaits])
        self._fps = fps
        self._standing: Standing | None = None

    def future(self, state: State) -> Future:
        """The command as it is now, held; a pad cannot be read ahead of time."""
        now = min(int(state.time * self._fps + 1e-6), len(self._gait) - 1)
        velocity, facing = self._velocity[now], self._facing[now]
        speed = math.hypot(velocity[0], velocity[1])
        gait = int(self._gait[now])
        if speed <= MOVING:
            self._standing = self._standing or Standing()
            return self._standing.future(state, facing, gait)
        self._standing = None
        lack = velocity - np.array(state.velocity)
        lack *= min(1.0, LARGEST_LACK * speed / max(math.hypot(lack[0], lack[1]), 1e-6))
        velocity = velocity + (RUN_FEEDBACK if gait == _JOG else WALK_FEEDBACK) * lack
        return Future(
            None,
            np.tile(velocity, (FUTURE - 1, 1)),
            np.tile(direction(facing), (FUTURE - 1, 1)),
            np.tile(_ONE_HOT[actual_gait(gait, speed, stepping=False)], (FUTURE, 1)),
        )


class Standing:
    """Standing at a place, facing as asked; the feet step round when the facing leaves their comfortable range.

    Between steps the root keeps its facing, so that a facing that is keyed slowly is followed in bursts of steps.
    place: (2,) meters, or None: where the character comes to rest.
    """

    def __init__(self, place: Array | None = None) -> None:
        self._place = place
        self._held: float | None = None
        self._facing = 0.0
        self._changed = 0.0
        self._until = -1.0
        self._came_to_rest = math.inf

    def future(self, state: State, facing: float, gait: int = _STAND) -> Future:
        """The trajectory asked for, facing the angle `facing` in radians; gait: "crouch" stays low."""
        here = np.array([state.x, state.y])
        if math.hypot(*state.velocity) < CAME_TO_REST:
            self._came_to_rest = min(self._came_to_rest, state.time)
        rested = state.time - self._came_to_rest
        if self._place is None and rested >= 0:
            self._place = here
        back = np.zeros(2) if self._place is None else self._place - here
        pull = PULL * min(max(rested / PULL_RISE, 0.0), 1.0) * back
        pull *= min(1.0, LARGEST_PULL / max(math.hypot(*pull), 1e-9))
        turn = math.remainder(self._asked(state, facing) - state.angle, 2 * math.pi)
        stepping = rested >= 0 and state.time < self._until
        turn *= TURN_GAIN if stepping else 1.0
        return Future(
            np.tile(here + (1 + STANDING_GAIN) * back, (FUTURE - 1, 1)),
            np.zeros((FUTURE - 1, 2)),
            direction(state.angle + np.clip(turn, -TURN_RATE * AHEAD, TURN_RATE * AHEAD)),
            np.tile(_ONE_HOT[actual_gait(gait, 0.0, stepping)], (FUTURE, 1)),
            pull=(float(pull[0]), float(pull[1])),
        )

    def _asked(self, state: State, facing: float) -> float:
        """The facing to be commanded: the one that is held between steps, the asked one while stepping."""
        if self._held is None:
            self._held = self._facing = facing
            self._changed = state.time - UNCHANGING
        if abs(facing - self._facing) > UNCHANGED:
            self._facing, self._changed = facing, state.time
        settled = state.time - self._changed >= UNCHANGING
        off = abs(math.remainder(facing - state.angle, 2 * math.pi))
        stepping = state.time < self._until
        if off > (TURN_TO_STEP if not settled else LEAST_STEP) or (stepping and off > TURNED):
            self._until = state.time + LAST_STEP
        if stepping or settled:
            self._held = facing
        return self._held


def actual_gait(gait: int, speed: float, stepping: bool) -> int:
    """The gait that a command amounts to: standing when it asks for no movement, stepping to turn, and walking before
    and after a run."""
    if speed > MOVING:
        return _WALK if gait == _STAND or (gait == _JOG and speed < JOGGING) else gait
    if GAITS[gait] == "crouch":
        return gait
    return _WALK if stepping else _STAND


def farther_over(place: Array, nearest: Array) -> Array:
    """Offset (2,) in meters of what is asked for at a place (2,) beside the way, whose point `nearest` (2,) is."""
    off = nearest - place
    out: Array = off * min(CROSS_TRACK_GAIN, FARTHEST_OVER / max(math.hypot(*off), 1e-9))
    return out


class PathCommands:
    """Follow a path; a target moves along it with the commanded speed, and the character keeps up.

    The future samples lie on the path ahead of the character's own place (so corners are not cut to
    catch a target); the lag behind the target changes the speed a little. seed: of the take.
    """

    def __init__(self, follow: PathFollow, fps: float, seed: int = 0) -> None:
        points = np.asarray(follow.points, dtype=np.float64)
        self.path = GroundPath(points, follow.closed, np.asarray(follow.speed_factors))
        paces = Take(seed).paces(np.arange(len(follow.speeds)) / fps)
        self._speed = slowing(np.asarray(follow.speeds, dtype=np.float64) * paces, fps)
        self._gait = np.array([GAITS.index(g) for g in follow.gaits])
        self._offset = np.unwrap(np.asarray(follow.facing_offsets, dtype=np.float64))
        self._fps = fps
        self._times = np.arange(len(self._gait)) / fps
        self._along = 0.0
        self._target = 0.0
        self._time = 0.0
        self._last = min(LAST, 0.5 * self.path.length)
        # Remembered, as a standing character sways and would set off again for a centimeter.
        self._arrived = False
        self._standing: Standing | None = None
        self._frames_ahead = np.concatenate(([0.0], AHEAD))
        self.treads = TreadPacing(self.path, [], BRAKING["walk"])
        self.leaps = Leaps([])
        # A closed path goes on from its end with its beginning.
        along = np.arange(0, self.path.length * (2 if self.path.closed else 1) + _STEP, _STEP)
        round_bends = TURNING / np.maximum(bends(self.path, along), 1e-3)
        # Out of a bend as into it: a run that is asked for at once throws the body out of the corner.
        gaining = braked(round_bends[::-1], _STEP, GAINING)[::-1]
        self._bends = {brake: braked(gaining, _STEP, brake) for brake in set(BRAKING.values())}

    def take(self, flights: Sequence[Flight], gaps: Sequence[Gap]) -> None:
        """Take flights of stairs tread by tread, and leap over wide gaps."""
        self.treads = TreadPacing(self.path, flights, BRAKING["walk"])
        self.leaps = Leaps(gaps, self.path.length if self.path.closed else None)

    def future(self, state: State) -> Future:
        """Places and headings on the path at the speeds keyed for the coming second."""
        place = np.array([state.x, state.y])
        self._along = self.path.project(place, self._along)
        resting = math.hypot(*state.velocity) < CAME_TO_REST
        self._arrived |= self._left(self._along) <= (NEARLY_ARRIVED if resting else ARRIVED)
        pace = self._speed_at(state.time) * self.path.factor(self._target)
        if self._gait_keyed(state.time) != _JOG:
            pace = min(pace, self.treads.allowed(self._target))
        pace = self.leaps.speed(self._target, min(pace, self._round(self._target, state.time)))
        self._target += (state.time - self._time) * pace
        self._time = state.time
        if not self.path.closed:
            self._target = min(self._target, self.path.length)
        # A character that cannot keep up (a blocked or very fast path) does not chase a target far away.
        self._target = min(self._target, self._along + 1.0)
        frame = np.minimum(((state.time + self._frames_ahead) * self._fps + 0.5).astype(int), len(self._gait) - 1)
        offset = self._offset[frame]
        along, speeds = self._ahead(state)
        if self._arrived or speeds.max() <= MOVING:
            if self._standing is None:
                self._standing = Standing(self.path.position(np.array(self.path.length)) if self._arrived else None)
            heading = float(self.path.heading(np.array(self._along))) + offset[0]
            return self._standing.future(state, heading, _STAND if self._arrived else int(self._gait[frame[0]]))
        self._standing = None
        position = self.path.position(np.concatenate(([self._along], along)))
        gait = [self._gait_at(f, v, s) for f, v, s in zip(frame, speeds, (self._along, *along), strict=True)]
        # A leap is made facing ahead.
        offset[1:][[self.leaps.runs_up(s) for s in along]] = 0.0
        return Future(
            position[1:] + farther_over(place, position[0]),
            np.diff(position, axis=0) * (FPS / SAMPLE_FRAMES),
            direction(self.path.heading(along) + offset[1:]),
            _ONE_HOT[gait],
            leaps=self.leaps.leads(self._along),
        )

    def _ahead(self, state: State) -> tuple[Array, Array]:
        """Arc lengths (5,) of the samples AHEAD, and speeds in m/s (6,) asked for now and there."""
        lag = self._target - self._along
        s, along, speeds = self._along, np.empty(FUTURE - 1), np.empty(FUTURE)
        lack, step = 0.0, self.treads.step(s, state.ball)
        for k in range(FUTURE):
            time = state.time + self._frames_ahead[k]
            speed = self.leaps.speed(s, self._speed_at(time) * self.path.factor(s))
            if speed > MOVING:
                speed += min(max(CATCH_UP * lag, -CATCH_UP_SHARE * speed), CATCH_UP_SHARE * speed)
                speed = min(speed, self._stopping(s, time), self._round(s, time))
                if self._gait_keyed(time) != _JOG:
                    speed = self.treads.speed(s, speed, step)
            if k == 0:
                near = 1.0 if self.treads.is_on(s) else min(max(1 - self._left(s) / END_FEEDBACK, 0.0), 1.0)
                pace = math.hypot(*state.velocity)
                lack = near * WALK_FEEDBACK * min(max(speed - pace, -speed), speed)
            speeds[k] = speed
            if k < FUTURE - 1:
                s += max(speed + lack, 0.0) * (SAMPLE_FRAMES / FPS)
                along[k] = s
        return along, speeds

    def _left(self, s: float) -> float:
        """Meters from the arc length s to the end of the path; infinite on a closed one."""
        return math.inf if self.path.closed else self.path.length - s

    def _stopping(self, s: float, time: float) -> float:
        """The speed in m/s at the arc length s from which the character comes to rest at the path's end."""
        brake = BRAKING.get(GAITS[self._gait_keyed(time)], BRAKING["walk"])
        left = self._left(s)
        return max(math.sqrt(2 * brake * max(left, 0.0)), LAST_PACE) if left < math.inf else left

    def _round(self, s: float, time: float) -> float:
        """The speed in m/s at the arc length s with which the character gets round the bends from there on."""
        speeds = self._bends[BRAKING.get(GAITS[self._gait_keyed(time)], BRAKING["walk"])]
        inside = s % self.path.length if self.path.closed else max(s, 0.0)
        return float(speeds[min(int(inside / _STEP), len(speeds) - 1)])

    def _gait_at(self, frame: int, speed: float, s: float) -> int:
        """The keyed gait, which becomes a walk on the way to the stop at the path's end, and a jump over a gap."""
        if self.leaps.runs_up(s):
            return _JUMP if self.leaps.jumps(s) else _JOG
        gait = actual_gait(int(self._gait[frame]), speed, stepping=False)
        return _WALK if gait == _CROUCH and self._left(s) < self._last else gait

    def _gait_keyed(self, time: float) -> int:
        return int(self._gait[min(int(time * self._fps + 0.5), len(self._gait) - 1)])

    def _speed_at(self, time: float) -> float:
        return float(self._speed[min(int(time * self._fps + 0.5), len(self._speed) - 1)])


def start_of(follow: PathFollow) -> tuple[float, float, float, float]:
    """Place x, y, z and facing angle at which a path begins."""
    points = np.asarray(follow.points, dtype=np.float64)
    path = GroundPath(points, follow.closed)
    angle = float(path.heading(np.array(0.0))) + follow.facing_offsets[0]
    return float(points[0, 0]), float(points[0, 1]), float(points[0, 2]), angle
