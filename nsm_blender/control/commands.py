# SPDX-License-Identifier: GPL-3.0-or-later
"""What the character is asked to do: future trajectories from a path or from velocities (PFNN 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..models.pfnn import FPS, FUTURE, SAMPLE_FRAMES
from ..motion.gait import GAITS
from ..motion.root import direction
from ..motion.rotations import Array
from .berth import Berth
from .path import GroundPath
from .shot import PathFollow, VelocityFollow

AHEAD = np.arange(1, FUTURE) * (SAMPLE_FRAMES / FPS)
"""Seconds from now to the five future samples."""
_STAND, _WALK, _JOG = GAITS.index("stand"), GAITS.index("walk"), GAITS.index("jog")
_ONE_HOT = np.eye(len(GAITS))
MOVING = 0.05
"""m/s; a slower command means standing."""
CAME_TO_REST = 0.2
"""m/s; one who was told to stop and is slower than this keeps to the place where that was."""
TURN_TO_STEP = math.radians(20)
"""A standing character steps round when its facing is further off than this."""
TURNED = math.radians(5)
"""It stops stepping once it is nearer than this, and"""
LAST_STEP = 0.5
"""seconds later: the second foot has to follow the first."""
BRAKING = 1.5
"""m/s^2 with which a character comes to rest at the end of a path."""
ARRIVED = 0.05
"""Metres before the end of a path at which it is walked to its end."""
WALK_FEEDBACK = 0.3
"""Share of the difference between commanded and present velocity that is added to the command: the
network alone falls back to the speeds at which it was recorded, and starts as leisurely."""
RUN_FEEDBACK = 1.2
"""The same for a run, which a user wants at once; more makes a walk start with a jerk."""
LARGEST_LACK = 1.0
"""The difference counts up to this share of the commanded speed."""
CATCH_UP = 1.2
"""1/s: share of the lag behind the target on the path that is added to the speed."""
CATCH_UP_SHARE = 0.25
"""The speed is raised or lowered by at most this share to meet the target."""


@dataclass
class State:
    """Where the character is: x, y in metres and facing angle about +Z, world; `time` in seconds.

    velocity: x, y in m/s, the mean over about a step.
    """

    x: float
    y: float
    angle: float
    time: float
    velocity: tuple[float, float] = (0.0, 0.0)


@dataclass
class Future:
    """The trajectory asked for at the samples AHEAD, in the world.

    position: (5, 2) places, or None where only velocities are asked for. velocity: (5, 2) m/s.
    direction: (5, 2) facing. gait: (6, 5) weights at now and the five samples. berth: what one keeps off on the way.
    sideways: one goes sideways now, where there is less room.
    """

    position: Array | None
    velocity: Array
    direction: Array
    gait: Array
    berth: Berth | None = None
    sideways: bool = False


class Commands(Protocol):
    """Anything that can say where to go from a state."""

    def future(self, state: State) -> Future:
        """The trajectory asked for from `state` on."""


class VelocityCommands:
    """A game pad: desired velocity, facing and gait over time."""

    def __init__(self, follow: VelocityFollow, fps: float) -> None:
        self._velocity = np.asarray(follow.velocities, dtype=np.float64)
        self._facing = np.asarray(follow.facings, dtype=np.float64)
        self._gait = np.array([GAITS.index(g) for g in follow.gaits])
        self._fps = fps
        self._turn = TurnInPlace()
        self._rest: Array | None = None

    def future(self, state: State) -> Future:
        """The command as it is now, held; a pad cannot be read ahead of time."""
        now = min(int(state.time * self._fps + 1e-6), len(self._gait) - 1)
        velocity, facing = self._velocity[now], self._facing[now]
        speed = math.hypot(velocity[0], velocity[1])
        gait = int(self._gait[now])
        if speed > MOVING:
            lack = velocity - np.array(state.velocity)
            lack *= min(1.0, LARGEST_LACK * speed / max(math.hypot(lack[0], lack[1]), 1e-6))
            velocity = velocity + (RUN_FEEDBACK if gait == _JOG else WALK_FEEDBACK) * lack
            self._rest = None
        elif self._rest is None and math.hypot(*state.velocity) < CAME_TO_REST:
            self._rest = np.array([state.x, state.y])
        stepping = self._turn.steps(facing - state.angle, state.time)
        gait = actual_gait(gait, speed, stepping)
        return Future(
            None if self._rest is None else np.tile(self._rest, (FUTURE - 1, 1)),
            np.tile(velocity, (FUTURE - 1, 1)),
            np.tile(direction(facing), (FUTURE - 1, 1)),
            np.tile(_ONE_HOT[gait], (FUTURE, 1)),
        )


class TurnInPlace:
    """Whether a standing character steps round, remembered, so that both feet come to rest under the body."""

    def __init__(self) -> None:
        self._until = -1.0

    def steps(self, turn: float, time: float) -> bool:
        """True while the facing is `turn` radians off, and a step longer than that; `time` in seconds."""
        off = abs(math.remainder(turn, 2 * math.pi))
        if off > TURN_TO_STEP or (time < self._until and off > TURNED):
            self._until = time + LAST_STEP
        return time < self._until


def actual_gait(gait: int, speed: float, stepping: bool) -> int:
    """The gait that a command amounts to: standing when it asks for no movement, stepping to turn."""
    if speed > MOVING:
        return _WALK if gait == _STAND else gait
    if GAITS[gait] == "crouch":
        return gait
    return _WALK if stepping else _STAND


class PathCommands:
    """Follow a path; a target moves along it with the commanded speed, and the character keeps up.

    The future samples lie on the path ahead of the character's own place (so corners are not cut to
    catch a target); the lag behind the target changes the speed a little.
    """

    def __init__(self, follow: PathFollow, fps: float) -> None:
        points = np.asarray(follow.points, dtype=np.float64)
        self.path = GroundPath(points, follow.closed, np.asarray(follow.speed_factors))
        self._speed = np.asarray(follow.speeds, dtype=np.float64)
        self._gait = np.array([GAITS.index(g) for g in follow.gaits])
        self._offset = np.unwrap(np.asarray(follow.facing_offsets, dtype=np.float64))
        self._fps = fps
        self._times = np.arange(len(self._gait)) / fps
        self._turn = TurnInPlace()
        self._along = 0.0
        self._target = 0.0
        self._time = 0.0
        # Remembered, as one who stands sways and would set off again for a centimetre.
        self._arrived = False
        # Where one came to rest: asked for the place where one is, a crouching character walks off.
        self._rest: Array | None = None
        self._frames_ahead = np.concatenate(([0.0], AHEAD))

    def future(self, state: State) -> Future:
        """Places and headings on the path at the speeds keyed for the coming second."""
        place = np.array([state.x, state.y])
        self._along = self.path.project(place, self._along)
        self._arrived |= not self.path.closed and self.path.length - self._along <= ARRIVED
        self._target += (state.time - self._time) * self._speed_at(state.time) * self.path.factor(self._target)
        self._time = state.time
        if not self.path.closed:
            self._target = min(self._target, self.path.length)
        # A character that cannot keep up (a blocked or very fast path) does not chase a target far away.
        self._target = min(self._target, self._along + 1.0)
        lag = self._target - self._along

        s, along = self._along, np.empty(FUTURE - 1)
        speeds = np.empty(FUTURE)
        for k in range(FUTURE):
            time = state.time + self._frames_ahead[k]
            speed = self._speed_at(time) * self.path.factor(s)
            if speed > MOVING:
                speed += min(max(CATCH_UP * lag, -CATCH_UP_SHARE * speed), CATCH_UP_SHARE * speed)
            if not self.path.closed:
                left = 0.0 if self._arrived else self.path.length - s
                speed = min(speed, math.sqrt(2 * BRAKING * left)) if left > ARRIVED else 0.0
            speeds[k] = speed
            if k < FUTURE - 1:
                s += speed * (SAMPLE_FRAMES / FPS)
                along[k] = s
        frame = np.minimum(((state.time + self._frames_ahead) * self._fps + 0.5).astype(int), len(self._gait) - 1)
        offset = self._offset[frame]
        position = self.path.position(along)
        heading = self.path.heading(along)
        heading_now = float(self.path.heading(np.array(self._along))) + offset[0]
        stepping = self._turn.steps(heading_now - state.angle, state.time)
        gait = np.array([actual_gait(int(self._gait[f]), v, stepping) for f, v in zip(frame, speeds, strict=True)])
        step = np.diff(np.vstack((self.path.position(np.array([self._along])), position)), axis=0)
        if speeds.max() > MOVING:
            self._rest = None
        else:
            self._rest = place if self._rest is None else self._rest
            position = np.tile(self._rest, (FUTURE - 1, 1))
        return Future(position, step * (FPS / SAMPLE_FRAMES), direction(heading + offset[1:]), _ONE_HOT[gait])

    def _speed_at(self, time: float) -> float:
        return float(self._speed[min(int(time * self._fps + 0.5), len(self._speed) - 1)])


def start_of(follow: PathFollow) -> tuple[float, float, float, float]:
    """Place x, y, z and facing angle at which a path begins."""
    points = np.asarray(follow.points, dtype=np.float64)
    path = GroundPath(points, follow.closed)
    angle = float(path.heading(np.array(0.0))) + follow.facing_offsets[0]
    return float(points[0, 0]), float(points[0, 1]), float(points[0, 2]), angle
