# SPDX-License-Identifier: GPL-3.0-or-later
"""When a foot stands, from how it moves: the same for the model's foot and for a rig's brought to the model's size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.filters import gaussian, runs
from ..motion.rotations import Array, from_yaw, rotate

_HELD, _SWINGING = 0.45, 1.0
"""m/s: a foot is held in its place below the first and free above the second. A foot at rest moves at 0.4 m/s at the
most, a swinging one at 2 and more."""
_STILL = 0.2
"""m/s below which the ball of a foot stands, so that its heading there is the stance's."""
_LEVEL = 0.5
"""Length over the ground of a foot's axis of length one, above which it has a heading."""
_SMOOTH = 0.02
"""Seconds: standard deviation of the filter on a foot's places."""


@dataclass(frozen=True, eq=False)
class Stance:
    """How a foot stands over T frames.

    held: (T,) 0 to 1, how much one of its ends, ankle or ball, stands. ball: (T,) how much the ball does. heading:
    (T, 4) rotation about +Z, constant while the foot stands: unlike the body's it stays what it is until it leaves.
    """

    held: Array
    ball: Array
    heading: Array


def stance(ankle: Array, ball: Array, rotation: Array, fps: float) -> Stance:
    """The stance of a foot of the model's size. ankle, ball: (T, 3) metres. rotation: (T, 4) world, foot's joint."""
    ends = np.stack((ankle, ball), axis=1)
    speeds = np.zeros(ends.shape[:2])
    if len(ends) > 1:
        speeds = np.linalg.norm(np.gradient(gaussian(ends, _SMOOTH * fps), axis=0), axis=-1) * fps
    ahead = rotate(rotation, np.broadcast_to([0.0, -1.0, 0.0], ankle.shape))
    level = np.hypot(ahead[:, 0], ahead[:, 1]) > _LEVEL
    heading = np.unwrap(np.arctan2(ahead[:, 0], -ahead[:, 1]))
    still = level & (speeds[:, 1] < _STILL)
    return Stance(_slow(speeds.min(axis=1)), _slow(speeds[:, 1]), from_yaw(_kept(heading, still)))


def ease(t: Array) -> Array:
    """Smooth step from 0 to 1 of `t` clipped to that range."""
    t = np.clip(t, 0.0, 1.0)
    out: Array = t * t * (3 - 2 * t)
    return out


def _slow(speed: Array) -> Array:
    return ease((_SWINGING - speed) / (_SWINGING - _HELD))


def _kept(angle: Array, still: Array) -> Array:
    """An angle (T,) that is constant while a foot is `still` (T,) and goes straight from one stance to the next."""
    stances = runs(still)
    if not stances:
        return angle
    frames = np.arange(len(angle))
    known = np.concatenate([frames[a:b] for a, b in stances])
    values = np.concatenate([np.full(b - a, angle[a:b].mean()) for a, b in stances])
    return np.interp(frames, known, values)
