# SPDX-License-Identifier: GPL-3.0-or-later
"""Joint tracks of a motion or a recording at the same rate and with the same low-pass filter, so that measures
compare."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..motion.clip import Clip
from ..motion.filters import highest_around, runs
from ..motion.motion import Motion
from ..motion.root import facing_angle
from ..motion.rotations import Array, normalize, rotate, wrap_angle
from ..motion.skeleton import ANKLE_HEIGHT, MODEL_SKELETON, TOE_HEIGHT

FPS = 60.0
"""Frame rate in Hz of all measures; other rates are resampled with cubic (Catmull-Rom) splines."""

LOW_PASS = 0.02
"""Standard deviation in seconds of the Gaussian filter on every joint track before it is differentiated: it passes half
of 9 Hz and a sixth of 15 Hz, so that a recording at 30 fps, which contains nothing above 15 Hz, is comparable with one
at 60 fps."""

TREMBLE_FROM = 10.0
"""Frequency in Hz above which movement counts as tremble; voluntary movement of people ends below it."""
_TREMBLE_RAMP = 1.0
"""Width in Hz on either side of `TREMBLE_FROM` over which the high-pass filter opens."""
_TREMBLE_FPS = 50.0
"""Least frame rate in Hz of a source for its tremble to be measured: lower rates contain little above 10 Hz."""

PLANTED_SPEED = 0.25
"""Speed in m/s of the toe joint below which a foot is planted; a swinging toe moves at 2 m/s and more."""
PLANTED_HEIGHT = 0.05
"""Height in meters of the toe joint above its height in stance up to which a foot can be planted."""
_PLANTED_SECONDS = 0.1
"""Shortest time in seconds that a foot is planted."""
_SUPPORT_WINDOW = 0.75
"""Time in seconds before and after a frame over which the lowest toe gives the height of the ground."""

_ON_THINGS = 0.15
"""Height in meters of the lower foot above the floor from which it is on something, or hangs, and does not float."""

_LABELED, _JOG_NEAR = 0.5, 0.7
"""Label above which an action is being done, and time in seconds around the label of a run within which speed is a
run's."""

_L, _R = 0, 1
"""Columns of the left and of the right side."""
_HIPS = MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])
_KNEES = MODEL_SKELETON.indices(["LeftLeg", "RightLeg"])
_ANKLES = MODEL_SKELETON.indices(["LeftFoot", "RightFoot"])
_TOES = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
_SHOULDERS = MODEL_SKELETON.indices(["LeftArm", "RightArm"])
_ELBOWS = MODEL_SKELETON.indices(["LeftForeArm", "RightForeArm"])
_HANDS = MODEL_SKELETON.indices(["LeftHand", "RightHand"])
_HEAD = MODEL_SKELETON.index("Head")
_MODEL_LEG = float(np.linalg.norm(MODEL_SKELETON.offsets[[_KNEES[0], _ANKLES[0]]], axis=1).sum())
"""Length in meters of the model skeleton's leg."""

PARTS = ("hips", "hands", "feet", "head")
"""Parts of the body whose accelerations are measured: middle of the hip joints, wrists, ankles, base of the skull."""


@dataclass(frozen=True, eq=False)
class Track:
    """A motion over T frames at 60 fps, in the world (Z up, meters), lightly low-passed (`LOW_PASS`).

    raw: (T, 22, 3) joints by the model skeleton's names, resampled, not low-passed. look: (T, 3) unit direction of the
    face. source_fps: rate before resampling. carrying: (T,) frames with something in the hands. may_jog: (T,) frames in
    which fast movement is a run, because the gait was commanded; elsewhere it is a lunge.
    """

    raw: Array
    look: Array
    source_fps: float
    carrying: Array
    may_jog: Array

    def __len__(self) -> int:
        return len(self.raw)

    @cached_property
    def places(self) -> Array:
        """Joint places (T, 22, 3), low-passed."""
        return smooth(self.raw, LOW_PASS)

    @cached_property
    def hips(self) -> Array:
        """Middle (T, 3) of the hip joints; the joint Hips lies up to 11 cm above it, differently in each source."""
        out: Array = self.places[:, _HIPS].mean(axis=1)
        return out

    @cached_property
    def parts(self) -> dict[str, Array]:
        """Places (T, 1 or 2, 3) of each of `PARTS`, left before right."""
        return {
            "hips": self.hips[:, None],
            "hands": self.places[:, _HANDS],
            "feet": self.places[:, _ANKLES],
            "head": self.places[:, [_HEAD]],
        }

    @cached_property
    def leg(self) -> float:
        """Length in meters from hip joint to ankle with a straight leg."""
        p = self.places
        bones = np.linalg.norm(p[:, _KNEES] - p[:, _HIPS], axis=-1) + np.linalg.norm(
            p[:, _ANKLES] - p[:, _KNEES], axis=-1
        )
        return float(np.median(bones))

    @cached_property
    def scale(self) -> float:
        """Size of the body: its legs as a share of the model skeleton's."""
        return self.leg / _MODEL_LEG

    @cached_property
    def facing(self) -> Array:
        """Facing angle (T,) about +Z, radians, continuous; the mean of hip and shoulder axes over 0.1 s."""
        return facing_angle(self.places, FPS, 0.1)

    @cached_property
    def velocity(self) -> Array:
        """Velocity (T, 2) of the hips over the ground in m/s, over 0.05 s."""
        return smooth(derivative(self.hips[:, :2]), 0.05)

    @cached_property
    def course(self) -> Array:
        """Velocity (T, 2) of the hips over the ground in m/s, over 0.3 s, without the sway from step to step."""
        return smooth(derivative(self.hips[:, :2]), 0.3)

    @cached_property
    def support(self) -> Array:
        """Height (T,) of the ground in meters under the feet, from the lowest toe around each frame."""
        lowest = self.places[:, _TOES, 2].min(axis=1) - TOE_HEIGHT * self.scale
        half = min(int(_SUPPORT_WINDOW * FPS), len(self) - 1)
        padded = np.pad(lowest, half, mode="edge")
        out = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1).min(axis=-1)
        return smooth(out, 0.1)

    @cached_property
    def feet_above_floor(self) -> Array:
        """Height (T,) in meters of the lower foot's lower end, toe or heel, above the floor at z = 0; NaN from
        `_ON_THINGS` on."""
        rest = np.array([TOE_HEIGHT, ANKLE_HEIGHT]) * self.scale
        toes, ankles = self.places[:, _TOES, 2] - rest[0], self.places[:, _ANKLES, 2] - rest[1]
        lowest = np.minimum(toes, ankles).min(axis=1)
        return np.where(lowest < _ON_THINGS, lowest, np.nan)

    @cached_property
    def height(self) -> Array:
        """Height (T,) of the hip joints above the ground as a share of that with straight legs."""
        out: Array = (self.hips[:, 2] - self.support) / (self.leg + ANKLE_HEIGHT * self.scale)
        return out

    @cached_property
    def planted(self) -> Array:
        """Mask (T, 2) of the frames in which the left and the right foot stands: its toe rests near the ground."""
        toes = self.places[:, _TOES]
        speed = np.linalg.norm(derivative(toes), axis=-1)
        low = toes[..., 2] - self.support[:, None] < TOE_HEIGHT * self.scale + PLANTED_HEIGHT
        out = (speed < PLANTED_SPEED) & low
        for side in (_L, _R):
            for a, b in runs(out[:, side]):
                if b - a < _PLANTED_SECONDS * FPS:
                    out[a:b, side] = False
        return out

    @cached_property
    def knees(self) -> Array:
        """Flexion (T, 2) of the knees in radians, 0 straight."""
        return _flexion(self.places[:, _HIPS], self.places[:, _KNEES], self.places[:, _ANKLES])

    @cached_property
    def elbows(self) -> Array:
        """Flexion (T, 2) of the elbows in radians, 0 straight."""
        return _flexion(self.places[:, _SHOULDERS], self.places[:, _ELBOWS], self.places[:, _HANDS])

    @cached_property
    def twist(self) -> Array:
        """Angle (T, 2) in radians between the direction of each foot and that of the pelvis, seen from above; NaN while
        the foot is upright."""
        p = self.places
        across = (p[:, _HIPS[_L]] - p[:, _HIPS[_R]])[:, :2]
        pelvis = np.arctan2(across[:, 1], across[:, 0])
        foot = (p[:, _TOES] - p[:, _ANKLES])[..., :2]
        angle = np.arctan2(foot[..., 0], -foot[..., 1])
        out: Array = np.abs(wrap_angle(angle - pelvis[:, None]))
        out[np.linalg.norm(foot, axis=-1) < 0.06 * self.scale] = np.nan
        return out

    @cached_property
    def foot_pitch(self) -> Array:
        """Angle (T, 2) in radians by which the line from toe to ankle rises."""
        foot = self.places[:, _ANKLES] - self.places[:, _TOES]
        out: Array = np.arctan2(foot[..., 2], np.linalg.norm(foot[..., :2], axis=-1))
        return out

    @cached_property
    def reach(self) -> Array:
        """Distance (T, 2) in meters of each hand from its resting place at the side of an upright body."""
        s = self.scale
        ahead = np.stack((np.sin(self.facing), -np.cos(self.facing)), axis=-1)
        left = np.stack((np.cos(self.facing), np.sin(self.facing)), axis=-1)
        out = np.empty((len(self), 2))
        for side, sign in ((_L, 1.0), (_R, -1.0)):
            place = np.empty((len(self), 3))
            place[:, :2] = self.hips[:, :2] + 0.22 * s * sign * left + 0.05 * s * ahead
            place[:, 2] = self.support + 0.82 * s
            out[:, side] = np.linalg.norm(self.places[:, _HANDS[side]] - place, axis=-1)
        return out

    @cached_property
    def hand_height(self) -> Array:
        """Height (T,) in meters of the higher hand above the hip joints, for a body of the model's size."""
        out: Array = (self.places[:, _HANDS, 2].max(axis=1) - self.hips[:, 2]) / self.scale
        return out

    @cached_property
    def hand_aside(self) -> Array:
        """Distance (T,) in meters of the farther hand to the side of the hips, for a body of the model's size."""
        left = np.stack((np.cos(self.facing), np.sin(self.facing)), axis=-1)
        off = self.places[:, _HANDS, :2] - self.hips[:, None, :2]
        out: Array = np.abs(np.einsum("tji,ti->tj", off, left)).max(axis=1) / self.scale
        return out

    @cached_property
    def lean(self) -> Array:
        """Angle (T,) in radians between the trunk, from hip joints to shoulders, and upright."""
        trunk = normalize(self.places[:, _SHOULDERS].mean(axis=1) - self.hips)
        out: Array = np.arccos(np.clip(trunk[:, 2], -1, 1))
        return out

    @cached_property
    def feet_ahead(self) -> Array:
        """Distance (T,) in meters of the middle of the ankles before the hips, along the facing."""
        ahead = np.stack((np.sin(self.facing), -np.cos(self.facing)), axis=-1)
        off = self.places[:, _ANKLES, :2].mean(axis=1) - self.hips[:, :2]
        out: Array = np.einsum("ti,ti->t", off, ahead)
        return out

    @cached_property
    def tremble(self) -> dict[str, Array]:
        """Displacement (T, n, 3) in meters above 10 Hz of each of `PARTS`; empty where the source's rate is too low."""
        if self.source_fps < _TREMBLE_FPS:
            return {}
        places = {"hips": [0], "hands": _HANDS, "feet": _ANKLES, "head": [_HEAD]}
        return {name: high_passed(self.raw[:, joints]) for name, joints in places.items()}

    def head_to(self, target: Array, frame: int) -> float:
        """Angle in radians between the direction of the face and that from the head to `target` (3,) at a frame."""
        way = target - self.places[frame, _HEAD]
        cosine = float(way @ self.look[frame]) / max(float(np.linalg.norm(way)), 1e-6)
        return float(np.arccos(np.clip(cosine, -1, 1)))


def _flexion(upper: Array, middle: Array, lower: Array) -> Array:
    """Angles (T, 2) in radians, 0 straight, between two bones of both sides with joints at places (T, 2, 3)."""
    cosine = np.einsum("tji,tji->tj", normalize(middle - upper), normalize(lower - middle))
    return np.asarray(np.arccos(np.clip(cosine, -1, 1)))


def track_of(motion: Motion) -> Track:
    """The track of a bake. Its action labels give the frames in which it carries, and in which it may run; a motion
    without labels of gaits may run anywhere."""
    joints = [motion.names.index(name) for name in MODEL_SKELETON.names]
    carrying, runs_ = _labeled(motion, "carry"), _labeled(motion, "run") | _labeled(motion, "jog")
    near = highest_around(runs_[:, None], round(_JOG_NEAR * motion.fps))[:, 0]
    may_jog = near if {"run", "jog"} & {*motion.action_names} else np.ones(len(motion), dtype=bool)
    return _track(motion.positions[:, joints], motion.rotations[:, joints], motion.fps, carrying, may_jog)


def _labeled(motion: Motion, action: str) -> Array:
    """Mask (T,) of the frames of a bake with the label of an action."""
    if action not in motion.action_names:
        return np.zeros(len(motion), dtype=bool)
    out: Array = motion.actions[:, motion.action_names.index(action)] > _LABELED
    return out


def track_of_clip(clip: Clip, carrying: bool = False) -> Track:
    """The track of a recording, on the performer's own bones."""
    positions, rotations = clip.world()
    anywhere = np.ones(len(positions), dtype=bool)
    return _track(positions, rotations, clip.fps, anywhere & carrying, anywhere)


def _track(positions: Array, rotations: Array, fps: float, carrying: Array, may_jog: Array) -> Track:
    look = rotate(rotations[:, _HEAD].astype(np.float64), np.array([0.0, -1.0, 0.0]))
    times = sample_times(len(positions), fps)
    nearest = np.clip(np.round(times).astype(int), 0, len(positions) - 1)
    return Track(
        resampled(positions.astype(np.float64), times),
        normalize(resampled(look, times)),
        fps,
        carrying[nearest],
        may_jog[nearest],
    )


def sample_times(count: int, fps: float) -> Array:
    """Times in frames of the source at which 60 fps samples `count` frames at `fps`."""
    return np.arange(int(np.floor((count - 1) * FPS / fps + 1e-6)) + 1) * (fps / FPS)


def resampled(x: Array, times: Array) -> Array:
    """`x` (T, ...) at fractional frames, on Catmull-Rom splines through the frames."""
    if np.allclose(times, np.round(times)):
        return x[np.clip(np.round(times).astype(int), 0, len(x) - 1)]
    i = np.clip(np.floor(times).astype(int), 0, max(len(x) - 2, 0))
    t = (times - i).reshape(-1, *(1,) * (x.ndim - 1))
    # One more point at either end, on the line through the last two.
    padded = _extended(x, 1)
    a, b, c, d = (padded[np.minimum(i + k, len(padded) - 1)] for k in range(4))
    out: Array = b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))
    return out


def _extended(x: Array, count: int) -> Array:
    """`x` (T, ...) with `count` frames more at either end, mirrored through the end points."""
    count_in = min(count, len(x) - 1)
    if count_in < 1:
        return np.concatenate((np.repeat(x[:1], count, 0), x, np.repeat(x[-1:], count, 0)))
    before, after = 2 * x[:1] - x[count_in:0:-1], 2 * x[-1:] - x[-2 : -count_in - 2 : -1]
    rest = count - count_in
    return np.concatenate((np.repeat(before[:1], rest, 0), before, x, after, np.repeat(after[-1:], rest, 0)))


def smooth(x: Array, seconds: float) -> Array:
    """Gaussian low-pass of `x` (T, ...) at 60 fps; the track is mirrored through its end points."""
    sigma = seconds * FPS
    radius = int(np.ceil(3 * sigma))
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    weights /= weights.sum()
    padded = _extended(x, radius)
    if x.ndim == 1:
        return np.convolve(padded, weights, mode="valid")
    out = np.zeros(x.shape)
    for k, weight in enumerate(weights.tolist()):
        out += weight * padded[k : k + len(x)]
    return out


def derivative(x: Array) -> Array:
    """Central differences of `x` (T, ...) per second at 60 fps."""
    out: Array = np.gradient(x, axis=0) * FPS if len(x) > 1 else np.zeros_like(x)
    return out


def high_passed(x: Array, from_hz: float = TREMBLE_FROM) -> Array:
    """The part of `x` (T, ...) at 60 fps above a frequency, by the Fourier transform of the mirrored track."""
    pad = min(30, len(x) - 1)
    padded = _extended(x, pad) if pad > 0 else x
    line = np.linspace(0, 1, len(padded)).reshape(-1, *(1,) * (x.ndim - 1))
    padded = padded - padded[:1] - line * (padded[-1:] - padded[:1])
    spectrum = np.fft.rfft(padded, axis=0)
    at = np.fft.rfftfreq(len(padded), 1 / FPS)
    gain = np.clip((at - from_hz + _TREMBLE_RAMP) / (2 * _TREMBLE_RAMP), 0, 1).reshape(-1, *(1,) * (x.ndim - 1))
    out: Array = np.fft.irfft(spectrum * gain, n=len(padded), axis=0)
    return out[pad : pad + len(x)]


def turning_points(angle: Array, dead_band: float) -> list[float]:
    """Values at which `angle` (T,) turns back by more than `dead_band`, its first and last among them.

    The sum of the steps between them is the total turning without the sway of walking.
    """
    values = angle.tolist()
    points = [values[0]]
    low = high = values[0]
    rising: bool | None = None
    for value in values[1:]:
        low, high = min(low, value), max(high, value)
        if rising is not True and value - low > dead_band:
            if rising is False:
                points.append(low)
            rising, high = True, value
        elif rising is not False and high - value > dead_band:
            if rising is True:
                points.append(high)
            rising, low = False, value
    points.append(values[-1] if rising is None else high if rising else low)
    return points
