# SPDX-License-Identifier: GPL-3.0-or-later
"""From a drawn curve with speeds to the trajectory of the manifold's synthesis (Holden et al. 2016, 6.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..models.manifold import FPS
from ..models.synthesis import TRAJECTORY
from ..motion.filters import gaussian
from ..motion.root import to_local
from ..motion.rotations import Array
from ..planning.path import GroundPath
from ..shot.shot import PathFollow

BRAKING = 1.5
"""Deceleration in m/s^2 with which a character comes to rest at the end of a path."""
_SPEED_SMOOTHING = 0.25
"""Standard deviation in seconds of the filter on the speed, so that a keyed jump is walked within about a second."""
_PLACE_SMOOTHING = 0.1
"""Standard deviation in seconds of the filter on places, which cuts a corner by centimeters."""
_HEADING_SMOOTHING = 0.25
"""Standard deviation in seconds of the filter on the heading, so that the body turns before and after a corner."""
_STANDING = 0.5
"""Time in seconds that the character stands before it sets off from rest."""


@dataclass(frozen=True, eq=False)
class Course:
    """Target of the root at each frame at 60 fps.

    track: (T, 3) x, y and facing angle about +Z, world. trajectory: (T, TRAJECTORY.size), m/s and rad/s in the frame of
    the track. speed: (T,) m/s along the curve. way: the curve that it follows, if it does.
    """

    track: Array
    trajectory: Array
    speed: Array
    way: Way | None = None


@dataclass(frozen=True, eq=False)
class Way:
    """How a curve is walked along. along: (T,) meters of the curve at each frame. turned: (T,) radians by which the
    facing is off the curve's heading."""

    path: GroundPath
    along: Array
    turned: Array


def course_of(follow: PathFollow, fps: float, count: int, *, standing_start: bool = False) -> Course:
    """Walk along a curve for `count` frames at 60 fps at the speeds keyed at `fps`.

    The character moves at the first speed from before the first frame on, or (standing_start) sets off from rest, and
    comes to rest at the end of an open curve.
    """
    path = GroundPath(np.asarray(follow.points), follow.closed, np.asarray(follow.speed_factors))
    times = np.arange(count) / FPS
    keys = np.arange(len(follow.speeds)) / fps
    wanted = np.interp(times, keys, np.asarray(follow.speeds, dtype=np.float64))
    if standing_start:
        wanted = np.where(times < _STANDING, 0.0, wanted)
    along, speed = _along(path, gaussian(wanted, _SPEED_SMOOTHING * FPS), any(f != 1 for f in follow.speed_factors))
    offsets = np.interp(times, keys, np.unwrap(np.asarray(follow.facing_offsets, dtype=np.float64)))
    return _course(Way(path, along, offsets), speed)


def along_way(way: Way, along: Array) -> Course:
    """Walk along the same curve, facing as before at the same places, at other meters (T,) of it."""
    turned = np.interp(along, way.along, way.turned)
    return _course(Way(way.path, along, turned), np.diff(along, append=2 * along[-1] - along[-2]) * FPS)


def _course(way: Way, speed: Array) -> Course:
    facing = np.unwrap(way.path.heading(way.along)) + way.turned
    track = np.empty((len(way.along), 3))
    track[:, :2] = _smooth(way.path.position(way.along), _PLACE_SMOOTHING)
    track[:, 2] = _smooth(facing[:, None], _HEADING_SMOOTHING)[:, 0]
    return Course(track, trajectory_along(track), speed, way)


def trajectory_along(track: Array) -> Array:
    """T (T, TRAJECTORY.size) of a track (T, 3) x, y, facing angle at 60 fps."""
    step = np.diff(track, axis=0, append=2 * track[-1:] - track[-2:-1]) * FPS
    out = np.empty((len(track), TRAJECTORY.size), dtype=np.float32)
    out[:, TRAJECTORY.root_velocity] = to_local(step[:, :2], track[:, 2])
    out[:, TRAJECTORY.root_turn] = step[:, 2:]
    return out


def _smooth(values: Array, seconds: float) -> Array:
    """Gaussian smoothing of (T, d) that extrapolates at both ends instead of coming to rest."""
    reach = math.ceil(3 * seconds * FPS)
    steps = np.arange(1, reach + 1)[:, None]
    before = values[:1] - steps[::-1] * (values[1:2] - values[:1])
    after = values[-1:] + steps * (values[-1:] - values[-2:-1])
    return gaussian(np.concatenate((before, values, after)), seconds * FPS)[reach:-reach]


def _along(path: GroundPath, speed: Array, factored: bool) -> tuple[Array, Array]:
    """Arc length and speed (T,) at each frame; at the end of an open path the character brakes and stands."""
    along = _integrated(path, speed) if factored else np.concatenate(([0.0], np.cumsum(speed[:-1]) / FPS))
    speed = np.append(np.diff(along), 0.0) * FPS
    speed[-1] = speed[-2]
    if path.closed:
        return along, speed
    left = path.length - along
    late = np.flatnonzero(speed * speed / (2 * BRAKING) >= left)
    if len(late):
        first = int(late[0])
        room = max(float(left[first]), 0.0)
        needed = 2 * room / max(float(speed[first]), 1e-6)  # seconds to stop within the room, evenly
        rest = np.clip(1 - (np.arange(len(along) - first) / FPS) / max(needed, 1e-6), 0, 1)
        along = along.copy()
        along[first:] = path.length - room * rest * rest
        speed[first:] = speed[first] * rest
    return along, speed


def _integrated(path: GroundPath, speed: Array) -> Array:
    """Arc length (T,) for a speed that also varies along the curve."""
    out = np.zeros(len(speed))
    for t in range(len(speed) - 1):
        out[t + 1] = out[t] + speed[t] * path.factor(out[t]) / FPS
    return out
