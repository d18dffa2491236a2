# SPDX-License-Identifier: GPL-3.0-or-later
"""When a foot stands, from how it moves: the same for the model's foot and for a rig's brought to the model's size.

What is found changes little when the motion does: the way back from a rig asks again and again, of motions that come
ever nearer to the one sought.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.easing import smoothstep
from ..motion.filters import gaussian, runs
from ..motion.rotations import Array, from_yaw, rotate

_SLOW = 0.5
"""m/s below which an end of a foot is at rest. At rest it moves at 0.4 m/s at the most, swinging at 2 and more."""
_SHORT, _LONG = 0.06, 0.12
"""Seconds at rest: up to the first it is the turning point of a swing or a kick, from the second on a stance."""
_LEAVING = 0.15
"""Seconds before and after a stance in which it begins to hold and ends to."""
_STILL = 0.3
"""m/s up to which the heading of a foot on its ball counts as its stance's, the less the faster."""
_ALONE = 0.3
"""Weight of the hips' heading over one foot, where over both it is 1: over one foot they can give way."""
_STEEP, _LEVEL = 0.4, 0.6
"""Length over the ground of a foot's axis of length one, above which it begins to have a heading, and has one."""
_ARM = 0.4
"""Meters: how fast a foot turns about the vertical counts as the speed of something so far from the axis. One that
pivots on its ball stands in one heading before and in another one after."""
_EQUAL = 0.3
"""m/s: two ends of a foot that are slower than this are about equally still."""
_SMOOTH = 0.02
"""Seconds: standard deviation of the filter on a foot's places."""
_LITTLE = 1e-4
"""Seconds that all frames of a rest count together at least."""
_TIE, _TOUCH = 0.2, 0.02
"""Seconds that a tie between two rests counts when the foot moved by as much (meters) in between."""
_AHEAD = np.array([0.0, -1.0, 0.0])


@dataclass(frozen=True, eq=False)
class Stance:
    """How a foot stands over T frames.

    held: (T,) 0 to 1, how much one of its ends, ankle or ball, stands. ball: (T,) how much of that the ball does: all
    under a heel that moves, half where both are still. along: (T, 4) rotation about +Z to where the foot points.
    heading, facing: (T, 4) the same of the foot and of the hips above it, but constant while the foot stands: unlike
    the body's own they stay what they are until it leaves, or pivots.
    """

    held: Array
    ball: Array
    along: Array
    heading: Array
    facing: Array


@dataclass(frozen=True, eq=False)
class Foot:
    """A foot of the model's size. ankle, ball: (T, 3) meters. rotation: (T, 4) in the world."""

    ankle: Array
    ball: Array
    rotation: Array


def stances(feet: dict[str, Foot], hips: Array, fps: float) -> dict[str, Stance]:
    """How both feet stand, by side. hips: (T, 4) their rotation in the world."""
    speeds = {side: _speeds(foot, fps) for side, foot in feet.items()}
    rests = {side: _rests(speed.min(axis=1), fps) for side, speed in speeds.items()}
    held = {side: _strength(found, len(hips), fps) for side, found in rests.items()}
    out = {}
    for side, foot in feet.items():
        speed = speeds[side]
        heading, level = _yaw(foot.rotation)
        turning = _ARM * level * np.abs(_rate(heading, fps))
        unturned = _rests(np.maximum(speed[:, 1], turning), fps)
        kept = _kept(heading, unturned, level * smoothstep(1 - speed[:, 1] / _STILL), fps)
        both = (_ALONE + np.min([held[other] for other in feet], axis=0)) * smoothstep(1 - speed.min(axis=1) / _SLOW)
        whole = _rests(np.maximum(speed.min(axis=1), turning), fps)
        moves = speed * speed + _EQUAL * _EQUAL
        stiller = moves[:, 0] / moves.sum(axis=1)
        out[side] = Stance(
            held[side],
            stiller * _strength(_rests(speed[:, 1], fps), len(hips), fps),
            from_yaw(kept + level * (heading - kept)),
            from_yaw(kept),
            from_yaw(_kept(_yaw(hips)[0], whole, both, fps)),
        )
    return out


@dataclass(frozen=True, eq=False)
class _Rest:
    """A time at rest: from frame `first` to before `end`; `start` and `stop` are the same between frames, infinite
    where the motion begins or ends. sure: 0 to 1, whether it is long enough to be one.
    """

    first: int
    end: int
    start: float
    stop: float
    sure: float
    moved: float


def _rate(angle: Array, fps: float) -> Array:
    """Radians (T,) per second of an angle (T,)."""
    if len(angle) < 2:
        return np.zeros(len(angle))
    out: Array = np.gradient(gaussian(angle, _SMOOTH * fps)) * fps
    return out


def _speeds(foot: Foot, fps: float) -> Array:
    """Speeds (T, 2) in m/s of ankle and ball."""
    ends = np.stack((foot.ankle, foot.ball), axis=1)
    if len(ends) < 2:
        return np.zeros(ends.shape[:2])
    out: Array = np.linalg.norm(np.gradient(gaussian(ends, _SMOOTH * fps), axis=0), axis=-1) * fps
    return out


def _rests(speed: Array, fps: float) -> list[_Rest]:
    """When something at a speed (T,) rests."""
    out: list[_Rest] = []
    way = np.cumsum(np.maximum(speed - _SLOW, 0.0)) / fps
    for a, b in runs(speed < _SLOW):
        start = -np.inf if a == 0 else a - _share(speed[a], speed[a - 1])
        stop = np.inf if b == len(speed) else b - 1 + _share(speed[b - 1], speed[b])
        sure = float(smoothstep(np.asarray(((stop - start) / fps - _SHORT) / (_LONG - _SHORT))))
        if sure > 0:
            out.append(_Rest(a, b, start, stop, sure, float(way[a] - way[out[-1].end - 1]) if out else np.inf))
    return out


def _share(slow: float, fast: float) -> float:
    """Where between two frames the speed passes the limit, from the slow one on."""
    return float((_SLOW - slow) / (fast - slow))


def _strength(rests: list[_Rest], count: int, fps: float) -> Array:
    """How much (T,) something is at rest at `count` frames."""
    frames, out = np.arange(count), np.zeros(count)
    for rest in rests:
        away = np.maximum(np.maximum(rest.start - frames, frames - rest.stop), 0.0) / fps
        out = np.maximum(out, rest.sure * smoothstep(1 - away / _LEAVING))
    return out


def _yaw(rotation: Array) -> tuple[Array, Array]:
    """Angle (T,) about +Z of where something looks, and how much (T,) it is level enough to look anywhere."""
    ahead = rotate(rotation, np.broadcast_to(_AHEAD, (len(rotation), 3)))
    level = smoothstep((np.hypot(ahead[:, 0], ahead[:, 1]) - _STEEP) / (_LEVEL - _STEEP))
    return np.unwrap(np.arctan2(ahead[:, 0], -ahead[:, 1])), level


def _kept(angle: Array, rests: list[_Rest], weight: Array, fps: float) -> Array:
    """An angle (T,) that is constant during each rest and goes straight from one to the next.

    weight: (T,) how much each frame says of the constant. Rests between which hardly anything moves share one, the
    more the less it is: a least squares problem whose matrix has three diagonals.
    """
    if not rests:
        return angle
    known, means, ties = [], [], []
    for rest in rests:
        part = slice(rest.first, rest.end)
        w = rest.sure * weight[part] / fps + _LITTLE / (rest.end - rest.first)
        known.append(float(w.sum()))
        means.append(float(angle[part] @ w))
        ties.append(_TIE * (_TOUCH / max(rest.moved, 1e-3 * _TOUCH)) ** 2)
    values = _tridiagonal(known, means, [0.0, *ties[1:]])
    times = [(max(rest.start, rest.first - 1.0), min(rest.stop, float(rest.end))) for rest in rests]
    return np.interp(np.arange(len(angle)), np.ravel(times), np.repeat(values, 2))


def _tridiagonal(known: list[float], right: list[float], ties: list[float]) -> list[float]:
    """Values x that make the sum of known x^2 - 2 right x and of ties (x - x before)^2 least. ties[0] is 0."""
    count = len(known)
    upper, value = [0.0] * count, [0.0] * count
    for i in range(count):
        after = ties[i + 1] if i + 1 < count else 0.0
        before = upper[i - 1] if i else 0.0
        pivot = known[i] + ties[i] * (1 - before) + after
        upper[i] = after / pivot
        value[i] = (right[i] + (ties[i] * value[i - 1] if i else 0.0)) / pivot
    for i in range(count - 2, -1, -1):
        value[i] += upper[i] * value[i + 1]
    return value
