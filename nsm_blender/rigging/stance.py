# SPDX-License-Identifier: GPL-3.0-or-later
"""Stances of a foot, from its motion: the same for the model's foot and for a rig's brought to the model's size.

The stances change little when the motion does: the inverse retargeting determines them again and again, for motions
that converge to the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.easing import smoothstep
from ..motion.filters import gaussian, runs
from ..motion.rotations import Array, from_yaw, rotate

_SLOW = 0.5
"""Speed in m/s below which an end of a foot is at rest: at rest it moves at 0.4 m/s at most, swinging at 2 and more."""
_SHORT, _LONG = 0.06, 0.12
"""Seconds at rest: up to the first it is the turning point of a swing or a kick, and from the second on a stance."""
_LEAVING = 0.2
"""Time in seconds before and after a stance over which its weight rises and falls."""
_STILL = 0.3
"""Speed in m/s up to which the heading of a foot on its ball counts for its stance, with a weight that falls with the
speed."""
_ALONE = 0.3
"""Weight of the hips' heading over a single foot, where over both feet it is 1: over a single foot the hips can
turn."""
_STEEP, _LEVEL = 0.4, 0.6
"""Lengths over the ground of a foot's unit axis: above the first the foot begins to have a heading, and above the
second it has one."""
_ARM = 0.4
"""Lever arm in meters that turns a foot's yaw rate into a speed: a foot that pivots on its ball has a heading before
and another heading after."""
_EQUAL = 0.3
"""Speed in m/s below which two ends of a foot count as about equally still."""
_SMOOTH = 0.02
"""Standard deviation in seconds of the filter on a foot's places."""
_LITTLE = 1e-4
"""Least weight in seconds of all frames of a rest together."""
_TIE, _TOUCH = 0.2, 0.02
"""Weight in seconds of a tie between two rests, and distance in meters of the foot between them to which it belongs."""
_AHEAD = np.array([0.0, -1.0, 0.0])
"""Direction of a foot in the model's T-pose."""


@dataclass(frozen=True, eq=False)
class Stance:
    """The stance of a foot over T frames.

    held: (T,) 0 to 1, weight with which one of its ends, ankle or ball, stands. ball: (T,) the ball's share of it: all
    under a heel that moves, half where both are still. along: (T, 4) rotation about +Z to the foot's direction.
    heading, facing: (T, 4) the same of the foot and of the hips above it, but constant while the foot stands: unlike
    the body's own they stay until the foot leaves the ground or pivots.
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
    """Stances of both feet, by side. hips: (T, 4) their world rotation."""
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
    """A time at rest from frame `first` to before `end`; `start` and `stop` are its ends between frames.

    start and stop are infinite where the motion begins or ends. sure: 0 to 1, whether it is long enough for a stance.
    """

    first: int
    end: int
    start: float
    stop: float
    sure: float
    moved: float


def _rate(angle: Array, fps: float) -> Array:
    """Rate (T,) in radians per second of an angle (T,)."""
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
    """The times at rest of a point with a speed (T,) in m/s."""
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
    """Fraction between a slow and a fast frame at which the speed passes the limit, from the slow frame on."""
    return float((_SLOW - slow) / (fast - slow))


def _strength(rests: list[_Rest], count: int, fps: float) -> Array:
    """Weight (T,) of being at rest at `count` frames."""
    out, reach = np.zeros(count), int(np.ceil(_LEAVING * fps)) + 1
    for rest in rests:
        near = slice(max(rest.first - reach, 0), rest.end + reach)
        frames = np.arange(count)[near]
        away = np.maximum(np.maximum(rest.start - frames, frames - rest.stop), 0.0) / fps
        out[near] = np.maximum(out[near], rest.sure * smoothstep(1 - away / _LEAVING))
    return out


def _yaw(rotation: Array) -> tuple[Array, Array]:
    """Angle (T,) about +Z of the foot's direction, and weight (T,) with which it is level enough to have one."""
    ahead = rotate(rotation, np.broadcast_to(_AHEAD, (len(rotation), 3)))
    level = smoothstep((np.hypot(ahead[:, 0], ahead[:, 1]) - _STEEP) / (_LEVEL - _STEEP))
    return np.unwrap(np.arctan2(ahead[:, 0], -ahead[:, 1])), level


def _kept(angle: Array, rests: list[_Rest], weight: Array, fps: float) -> Array:
    """An angle (T,) that is constant during each rest and linear between rests.

    weight: (T,) of each frame in the constant. Rests with little motion between them share a constant, the more the
    less they move: a least squares problem with a tridiagonal matrix.
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
    """Values x that minimize the sum of known x^2 - 2 right x and of ties (x - previous x)^2. ties[0] is 0."""
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
