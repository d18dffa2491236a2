# SPDX-License-Identifier: GPL-3.0-or-later
"""Tempo of a motion, its speed along the path and its cadence, and retiming to another tempo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import EditError
from ..models.manifold import FPS, FRAME
from ..motion.filters import gaussian
from ..motion.motion import Motion
from ..motion.rotations import Array, conjugate, from_yaw, make_continuous, multiply, rotate, slerp
from ..motion.skeleton import MODEL_SKELETON
from .frames import around_root, joint_places

_SMOOTHING = 1 / 3
"""Time in seconds that separates the speed of a walk from the sway of its steps."""
_STANDING, _WALKING = 0.1, 0.3
"""Speeds in m/s: below the first a character stands and has no tempo, and above the second its tempo counts in full."""
_APART = 0.04
"""Distance in meters by which a foot counts as ahead of the other."""
_TOES = MODEL_SKELETON.indices(("LeftToe", "RightToe"))
_MOST = 6.0
"""Largest factor by which a motion becomes quicker or slower."""
_SAME = 0.02
"""Share by which a cadence may be off before poses are shifted."""
_LEAST = 0.1
"""Weight of the cycles around a pose below which the motion, too short for them, keeps its own poses."""
_FADE = 0.5 * np.pi
"""Phase in radians over which a step cycle at the end of the motion fades in."""


@dataclass(frozen=True)
class Tempo:
    """Tempo of a walk. speed: m/s along the path, cadence: steps a second, each while the character walks; 0 without
    walking.

    A step is a foot that passes the other foot: contacts are less certain where feet slide or hardly lift.
    """

    speed: float = 0.0
    cadence: float = 0.0

    @staticmethod
    def of(frames: Array, shown: Array | None = None) -> Tempo:
        """Measure the tempo of frames (T, FRAME.size) at 60 fps. shown: (T,) whether a frame counts; None for all."""
        speed = _smooth_speed(np.linalg.norm(frames[:, FRAME.root_velocity], axis=1), FPS)
        walks = speed > _WALKING
        if shown is not None:
            walks &= shown
        if not walks.any():
            return Tempo()
        return Tempo(float(speed[walks].mean()), _cadence(joint_places(frames), walks, FPS))


def mixed(tempi: Sequence[Tempo], weights: Sequence[float]) -> Tempo:
    """Mix tempos; weights sum to 1 and may lie outside 0..1. There is none where one of them has none."""
    speed, cadence = (
        sum(w * value for w, value in zip(weights, values, strict=True)) if all(values) else 0.0
        for values in zip(*((t.speed, t.cadence) for t in tempi), strict=True)
    )
    return Tempo(max(speed, 0.0), max(cadence, 0.0))


def retimed(motion: Motion, tempo: Tempo, share: float) -> Motion:
    """Retime the motion to another tempo, along the same path to the same end, so that it lasts longer or shorter.

    motion: on the model skeleton, at any rate. share: 0 keeps it, 1 brings its mean speed and cadence to those of
    `tempo`, with interpolation between. Standing parts keep their length, and relative speeds stay. A cadence that
    changes otherwise than the speed takes poses from the steps before and after, at the target phase. Raises EditError
    when `tempo` is none.
    """
    if not 0 <= share <= 1:
        raise EditError(f"The share of the style's tempo is {share}; it must be between 0 and 1.")
    if share == 0 or len(motion) < 2:
        return motion
    if tempo.speed <= 0:
        raise EditError("The style has no tempo: its character does not walk, or its file is too old; set 0.")
    steps = np.linalg.norm(np.diff(motion.root[:, :2].astype(np.float64), axis=0), axis=1) * motion.fps
    speed = _smooth_speed(np.append(steps, steps[-1]), motion.fps)
    walks = speed > _WALKING
    if not walks.any():
        return motion
    moving = np.clip((speed - _STANDING) / (_WALKING - _STANDING), 0, 1)
    faster = _bounded(tempo.speed / float(speed[walks].mean())) ** share
    lasts = 1 / faster ** moving[:-1]
    comes = np.concatenate(([0.0], np.cumsum(lasts)))
    count = int(np.floor(comes[-1] + 1e-6)) + 1
    times = np.interp(np.arange(count), comes, np.arange(len(motion)))
    out = motion.sampled(times)
    places = around_root(motion.positions, motion.root)
    cadence = _cadence(places, walks, motion.fps)
    if cadence <= 0 or tempo.cadence <= 0:
        return out
    oftener = _bounded(tempo.cadence / cadence) ** share
    if abs(oftener / faster - 1) < _SAME:
        return out
    return _stepping(motion, out, times, _phase(places), (oftener / faster - 1) * moving)


def _bounded(ratio: float) -> float:
    return float(np.clip(ratio, 1 / _MOST, _MOST))


def _smooth_speed(speed: Array, fps: float) -> Array:
    """Speeds (T,) without the sway of the steps."""
    return gaussian(speed.astype(np.float64)[:, None], _SMOOTHING * fps)[:, 0]


def _passing(places: Array) -> Array:
    """Frames (N,) in which a foot has passed the other foot, of joint places (T, J, 3) around the root."""
    ahead = places[:, _TOES[1], 1] - places[:, _TOES[0], 1]  # the root faces -y
    frames = np.flatnonzero(np.abs(ahead) > _APART)
    sides = np.sign(ahead[frames])
    return frames[1:][sides[1:] != sides[:-1]]


def _cadence(places: Array, walks: Array, fps: float) -> float:
    """Steps a second in those parts of a motion that walk, (T,); 0 without such parts."""
    passing = _passing(places)
    resting = np.concatenate(([0], np.cumsum(~walks)))
    whole = resting[passing[1:]] == resting[passing[:-1]]
    frames = np.diff(passing)[whole].sum()
    return float(np.count_nonzero(whole) * fps / frames) if frames else 0.0


def _phase(places: Array) -> Array:
    """Phase (T,) in radians, which grows by pi with each step; there are at least two steps."""
    passing, frames = _passing(places), np.arange(len(places))
    first, last = (np.pi / max(passing[i + 1] - passing[i], 1) for i in (0, -2))
    phase = np.interp(frames, passing, np.pi * np.arange(len(passing)))
    return phase + first * np.minimum(frames - passing[0], 0) + last * np.maximum(frames - passing[-1], 0)


def _stepping(motion: Motion, along: Motion, times: Array, phase: Array, more: Array) -> Motion:
    """`along`, which has `motion` at `times` (F,) of its frames, with its phase (T,) advanced by `more` (T,).

    The pose at the target phase lies less than a cycle ahead, and less than a cycle behind. Both are mixed, the nearer
    with more weight, so that the pose that falls out of use has no weight left. Where `more` is 0 the character rests,
    in its own pose.
    """
    frames = np.arange(len(motion))
    gained = np.concatenate(([0.0], np.cumsum(more[:-1] * np.diff(phase))))
    now, ahead = np.interp(times, frames, phase), np.interp(times, frames, gained) % (2 * np.pi)
    later, earlier = now + ahead, now + ahead - 2 * np.pi
    # Beyond the motion's ends there are no steps to take poses from.
    has_later = np.clip((phase[-1] - later) / _FADE, 0, 1)
    has_earlier = np.clip((earlier - phase[0]) / _FADE, 0, 1)
    weight_later = has_later * (1 - ahead / (2 * np.pi))
    weight_earlier = has_earlier * ahead / (2 * np.pi)
    both = weight_later + weight_earlier
    share_earlier = np.where(both > 0, weight_earlier / np.maximum(both, 1e-9), 0)
    share = np.interp(times, frames, more / more[np.abs(more).argmax()]) * np.clip(both / _LEAST, 0, 1)
    steps = _mixed(
        motion.sampled(np.interp(later, phase, frames)),
        motion.sampled(np.interp(earlier, phase, frames)),
        share_earlier,
        along.root,
    )
    return _mixed(along, steps, share, along.root)


def _mixed(a: Motion, b: Motion, share: Array, root: Array) -> Motion:
    """Mix the poses of two motions about the root (F, 4), with the share (F,) of the second."""
    places, turns = zip(_about_root(a), _about_root(b), strict=True)
    t = share.astype(np.float32)
    hips = places[0] + t[:, None] * (places[1] - places[0])
    count = len(MODEL_SKELETON)
    rotations = slerp(turns[0], turns[1], np.repeat(t[:, None], count, axis=1))
    yaw = from_yaw(root[:, 3])
    rotations = multiply(np.broadcast_to(yaw[:, None], rotations.shape), rotations)
    positions = MODEL_SKELETON.positions(rotate(yaw, hips) + root[:, :3], rotations)
    return replace(
        a,
        positions=positions.astype(np.float32),
        rotations=make_continuous(rotations).astype(np.float32),
        root=root,
        contacts=np.where(share[:, None] < 0.5, a.contacts, b.contacts),
    )


def _about_root(motion: Motion) -> tuple[Array, Array]:
    """Places (F, 3) of the hips and rotations (F, J, 4), relative to the root and turned into its facing."""
    back = conjugate(from_yaw(motion.root[:, 3]))
    hips = rotate(back, motion.positions[:, 0] - motion.root[:, :3])
    return hips, multiply(np.broadcast_to(back[:, None], motion.rotations.shape), motion.rotations)
