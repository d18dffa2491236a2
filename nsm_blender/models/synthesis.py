# SPDX-License-Identifier: GPL-3.0-or-later
"""From high-level parameters to hidden units of the manifold (Holden et al. 2016, section 6), the networks.

`Footsteps` tells from a trajectory when the feet touch the ground (6.3); `FeedForward` makes hidden units of
the autoencoder from a trajectory with contacts, or from the path of a hand or foot (6.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import WeightsError
from ..motion.easing import smoothstep
from ..motion.skeleton import CONTACT_JOINTS
from ..stepwise import Stepwise, finished
from .layout import Layout
from .manifold import UNITS
from .matmul import convolving, matmul
from .weights import check_shapes, file_hash, read_card, read_tensors

Float32 = NDArray[np.float32]

TRAJECTORY = Layout(
    root_velocity=(2,),  # m/s in the root frame, x left, y back, as in FRAME
    root_turn=(1,),  # rad/s about +z
)
"""One frame of the trajectory T."""
WAVES = Layout(
    threshold=(len(CONTACT_JOINTS),),  # tau of eq. 8, -1 always on the ground, 1 never
    frequency=(1,),  # d omega, radians per frame at 60 fps
)
"""One frame of Gamma, the parameters of the square waves."""
LOCOMOTION = Layout(root_velocity=(2,), root_turn=(1,), contact=(len(CONTACT_JOINTS),))
"""One frame of Upsilon(T) = [T F] (eq. 6)."""
EFFECTORS = ("LeftHand", "RightHand", "LeftToe", "RightToe")
"""Joints that can be sent to a target: fists, and the balls of the feet."""
REACH = Layout(
    position=(3,),  # of the acting joint, meters, around the root as it is STRIKE_FRAMES before the hit
    effector=(len(EFFECTORS),),  # one-hot
    strike=(1,),  # 1 at the moment of the hit, falling to both sides
)
"""One frame of the input that end-effector control has in place of eq. 6."""

STRIKE_FRAMES = 48
"""Frames before and after a hit in which hand or foot are led."""
_STRIKE_FADE = 18
"""Frames at both ends of that stretch in which the leading comes in and goes."""
_STRIKE_WIDTH = 4.0
"""Standard deviation in frames of the mark of the hit."""

STEP_UNITS, STEP_WIDTHS = 64, (45, 45)
"""h4 and the widths w4, w5 of eq. 9, which the paper leaves open: three quarters of a second to both sides."""
LAYERS = ((64, 45), (128, 25), (UNITS, 15))
"""Units h and widths w of the three layers of eq. 4."""
FEED_FORWARD_REACH = sum(width // 2 for _, width in LAYERS) + 1
"""Frames to either side of an input that its hidden units can depend on."""
FOOTSTEPS_REACH = sum(width // 2 for width in STEP_WIDTHS)
"""Frames to either side of a trajectory that Gamma can depend on."""

FOOTSTEP_SHAPES: Mapping[str, tuple[int | str, ...]] = {
    "w4": (STEP_UNITS, TRAJECTORY.size, STEP_WIDTHS[0]),
    "b4": (STEP_UNITS,),
    "w5": (WAVES.size, STEP_UNITS, STEP_WIDTHS[1]),
    "b5": (WAVES.size,),
    "x_mean": (TRAJECTORY.size,),
    "x_scale": (TRAJECTORY.size,),
    "y_mean": (WAVES.size,),
    "y_scale": (WAVES.size,),
}
"""Tensors of the footstep network's weights file."""
FEED_FORWARD_SHAPES: Mapping[str, tuple[int | str, ...]] = {
    "w1": (LAYERS[0][0], "l", LAYERS[0][1]),
    "b1": (LAYERS[0][0],),
    "w2": (LAYERS[1][0], LAYERS[0][0], LAYERS[1][1]),
    "b2": (LAYERS[1][0],),
    "w3": (LAYERS[2][0], LAYERS[1][0], LAYERS[2][1]),
    "b3": (LAYERS[2][0],),
    "x_mean": ("l",),
    "x_scale": ("l",),
}
"""Tensors of a feed-forward network's weights file."""
END_EFFECTOR_SHAPES: Mapping[str, tuple[int | str, ...]] = {
    **FEED_FORWARD_SHAPES,
    "profile": (2, 2 * STRIKE_FRAMES + 1, 4, 3),  # of left hand and left foot; see EndEffectors.path
    "target": (2, 3),  # the mean place that they hit
}
"""Tensors of the weights file of punches and kicks."""


@dataclass(frozen=True)
class Stepping:
    """What an artist may change of the square waves (eq. 7).

    heel_phase, toe_phase: a^h, a^t in radians; larger is earlier. The paper's -0.1 and 0 belong to its
    contact labels; with ours the middle of the heel's contact lies 0.058 of a cycle before the toe's, walking
    and running.
    heel_threshold, toe_threshold: b^h, b^t; larger is a shorter contact (0.3 makes a walk lighter, -0.3 heavier).
    frequency: c, factor on the number of steps. duration: factor on the share of the cycle that a foot is down.
    """

    heel_phase: float = 0.36
    toe_phase: float = 0.0
    heel_threshold: float = 0.0
    toe_threshold: float = 0.0
    frequency: float = 1.0
    duration: float = 1.0


def duty(threshold: Float32) -> Float32:
    """Share d / (u + d) of the cycle that a foot is down, of thresholds tau: eq. 8 turned round."""
    out: Float32 = np.arccos(np.clip(threshold, -1, 1)) / np.float32(math.pi)
    return out


def threshold_of(down: Float32) -> Float32:
    """Threshold tau = cos(pi d / (u + d)) (eq. 8) of the share of the cycle that a foot is down, 0..1."""
    out: Float32 = np.cos(np.float32(math.pi) * np.clip(down, 0, 1))
    return out


def square_waves(angle: Float32, threshold: Float32, stepping: Stepping | None = None) -> Float32:
    """Contacts F (..., 4), 1 on the ground and -1 above it (eq. 7).

    angle: (...) omega in radians, already with the factor c. threshold: (..., 4) tau of CONTACT_JOINTS.
    """
    stepping = stepping or Stepping()
    tau = threshold_of(duty(threshold) * stepping.duration)
    phases = np.array([stepping.heel_phase, stepping.toe_phase] * 2, dtype=np.float32)
    phases[2:] += math.pi
    sharper = np.array([stepping.heel_threshold, stepping.toe_threshold] * 2, dtype=np.float32)
    # A foot that always stands has tau = -1, which no b lifts: else a standing character would tap.
    down = (np.sin(angle[..., None] + phases) > tau + sharper) | (tau < -_ALWAYS)
    return np.where(down, np.float32(1), np.float32(-1))


_ALWAYS = 0.995
"""tau below minus this is a foot that stands: the sine would fall short of it for a thirtieth of a cycle."""


def strike_inputs(path: Float32, frames: Sequence[int], effectors: Sequence[int]) -> Float32:
    """Parameters (T, REACH.size) of strikes at `frames` by EFFECTORS[e] each.

    path: (T, 3) places of the acting joint, that of the strike nearest in time, each around the root as it is
    STRIKE_FRAMES before that strike. A strike is told of for STRIKE_FRAMES before and after it; between strikes
    no effector is asked for anything.
    """
    out = np.zeros((len(path), REACH.size), dtype=np.float32)
    if not len(frames):
        return out
    nearest, since = nearest_strike(len(path), frames)
    window = strike_window(since)
    out[:, REACH.position] = window[:, None] * path
    out[np.arange(len(path)), REACH.effector.start + np.asarray(effectors)[nearest]] = window
    out[:, REACH.strike] = np.exp(-0.5 * (since / _STRIKE_WIDTH) ** 2)[:, None]
    return out


def nearest_strike(count: int, frames: Sequence[int]) -> tuple[NDArray[Any], NDArray[Any]]:
    """For each of `count` frames the index of the strike nearest in time, and the frames since it."""
    since = np.arange(count)[:, None] - np.asarray(frames)
    nearest = np.abs(since).argmin(1)
    return nearest, since[np.arange(count), nearest]


def strike_window(since: NDArray[Any]) -> Float32:
    """How much (T,), 0..1, of a strike is told `since` (T,) frames from the hit."""
    out: Float32 = smoothstep((STRIKE_FRAMES - np.abs(since)) / _STRIKE_FADE).astype(np.float32)
    return out


class Footsteps:
    """Gamma(T) (eq. 9): when the feet touch the ground along a trajectory, any number of trajectories at once."""

    def __init__(self, tensors: Mapping[str, Float32], card: Mapping[str, Any] | None = None, hash: str = "") -> None:
        self.card, self.hash = dict(card or {}), hash
        self._x = _Normal(tensors["x_mean"], tensors["x_scale"])
        self._y_mean, self._y_scale = tensors["y_mean"], tensors["y_scale"]
        self._layers = [_Layer(tensors["w4"], tensors["b4"]), _Layer(tensors["w5"], tensors["b5"])]

    @staticmethod
    def load(path: Path | str) -> Footsteps:
        """Read a weights file and its card. Raises WeightsError."""
        tensors = read_tensors(path)
        check_shapes(tensors, FOOTSTEP_SHAPES, path)
        return Footsteps(tensors, read_card(path), file_hash(path))

    def waves(self, trajectory: Float32) -> Float32:
        """Gamma (..., T, WAVES.size) of trajectories T (..., T, TRAJECTORY.size) at 60 fps, physical units."""
        return finished(self.waving(trajectory))

    def waving(self, trajectory: Float32) -> Stepwise[Float32]:
        """`waves` in pieces."""
        spaced = _Spaced(self._x(trajectory))
        hidden = yield from spaced.convolving(self._layers[0])
        np.maximum(hidden.flat, 0, out=hidden.flat)
        response = yield from hidden.cleared().convolving(self._layers[1])
        yield
        out = response.sequences() * self._y_scale + self._y_mean
        out[..., WAVES.threshold] = np.clip(out[..., WAVES.threshold], -1, 1)
        out[..., WAVES.frequency] = np.maximum(out[..., WAVES.frequency], 0)
        return out.reshape(*trajectory.shape[:-1], WAVES.size).astype(np.float32)


class FeedForward:
    """Pi (eq. 4): hidden units of the manifold from high-level parameters, any number of motions at once.

    inputs: number of parameters a frame. The layers are those of the paper; only the parameters' meaning
    differs between locomotion (LOCOMOTION) and end effectors (REACH).
    """

    def __init__(self, tensors: Mapping[str, Float32], card: Mapping[str, Any] | None = None, hash: str = "") -> None:
        self.card, self.hash = dict(card or {}), hash
        self.inputs = tensors["w1"].shape[1]
        self._x = _Normal(tensors["x_mean"], tensors["x_scale"])
        self._layers = [_Layer(tensors[f"w{i}"], tensors[f"b{i}"]) for i in (1, 2, 3)]

    @staticmethod
    def load(path: Path | str, inputs: int) -> FeedForward:
        """Read a weights file and its card. Raises WeightsError, also when it takes another number of inputs."""
        tensors = read_tensors(path)
        sizes = check_shapes(tensors, FEED_FORWARD_SHAPES, path)
        if sizes["l"] != inputs:
            raise WeightsError(
                f"{path}: the network takes {sizes['l']} parameters a frame instead of {inputs}; "
                "these weights belong to another model."
            )
        return FeedForward(tensors, read_card(path), file_hash(path))

    def hidden(self, parameters: Float32) -> Float32:
        """Hidden units (..., T / 2, UNITS), never negative, of parameters (..., T, inputs); T even."""
        return finished(self.hiding(parameters))

    def hiding(self, parameters: Float32) -> Stepwise[Float32]:
        """`hidden` in pieces."""
        spaced = _Spaced(self._x(parameters))
        for layer in self._layers[:-1]:
            spaced = yield from spaced.convolving(layer)
            yield
            np.maximum(spaced.flat, 0, out=spaced.flat)
            spaced = spaced.cleared()
        response = yield from spaced.convolving(self._layers[-1])
        yield
        wide = response.sequences()
        pooled = np.maximum(wide[:, 0::2], wide[:, 1::2])
        np.maximum(pooled, 0, out=pooled)
        return pooled.reshape(*parameters.shape[:-2], -1, UNITS)


class EndEffectors(FeedForward):
    """Pi for punches and kicks, with the recorded ways of hands and feet to their targets."""

    def __init__(self, tensors: Mapping[str, Float32], card: Mapping[str, Any] | None = None, hash: str = "") -> None:
        super().__init__(tensors, card, hash)
        self._profile, self._target = tensors["profile"], tensors["target"]

    @staticmethod
    def load(path: Path | str, inputs: int = REACH.size) -> EndEffectors:
        """Read a weights file and its card. Raises WeightsError."""
        tensors = read_tensors(path)
        check_shapes(tensors, {**END_EFFECTOR_SHAPES, "x_mean": (inputs,)}, path)
        return EndEffectors(tensors, read_card(path), file_hash(path))

    def usual_target(self, effector: int) -> Float32:
        """Place (3,) around the root before the strike that EFFECTORS[effector] hits on average."""
        out: Float32 = self._target[effector // 2] * _mirror(effector)
        return out

    def path(self, effector: int, target: Float32) -> Float32:
        """Way (2 STRIKE_FRAMES + 1, 3) of EFFECTORS[effector] to `target` (3,) and back, around the root before."""
        known = np.concatenate(([1.0], target * _mirror(effector)))
        out: Float32 = np.einsum("k,tkj->tj", known, self._profile[effector // 2]) * _mirror(effector)
        return out


def _mirror(effector: int) -> Float32:
    """Factors (3,) between places of a left limb and those of EFFECTORS[effector]."""
    return np.array([1.0 if effector % 2 == 0 else -1.0, 1.0, 1.0], dtype=np.float32)


class _Normal:
    """(x - mean) / scale."""

    def __init__(self, mean: Float32, scale: Float32) -> None:
        self._mean, self._scale = mean, scale

    def __call__(self, x: Float32) -> Float32:
        out: Float32 = ((x - self._mean) / self._scale).astype(np.float32)
        return out


_FEW_OUTPUTS = 16
"""Up to this many outputs a product of windows and kernel is too narrow to be fast."""


class _Layer:
    """A convolution over time that keeps the length: w (out, in, width), b (out,)."""

    def __init__(self, w: Float32, b: Float32) -> None:
        self._half = w.shape[2] // 2
        self._kernel = np.ascontiguousarray(w.transpose(2, 1, 0).reshape(-1, len(w)))
        self._b = b
        self._taps = np.ascontiguousarray(w.transpose(2, 0, 1)) if len(w) <= _FEW_OUTPUTS else None

    def response(self, x: Float32) -> Stepwise[Float32]:
        """The response (T, out) to a sequence (T, in)."""
        if self._taps is None:
            out = yield from convolving(x, self._kernel, self._half)
        else:
            out = yield from self._added_up(x, self._taps)
        yield
        out += self._b
        return out

    def _added_up(self, x: Float32, taps: Float32) -> Stepwise[Float32]:
        """The same convolution with `taps` (width, out, in): products of all taps at once, then added up in time."""
        width, size, _ = taps.shape
        products = matmul(taps.reshape(width * size, -1), x.T).reshape(width, size, len(x))
        yield
        out = np.zeros((size, len(x)), dtype=np.float32)
        for tap, product in enumerate(products):
            late = tap - self._half
            if late < 0:
                out[:, -late:] += product[:, :late]
            else:
                out[:, : max(len(x) - late, 0)] += product[:, late:]
        return out.T


class _Spaced:
    """Sequences (N, T, d) behind each other in one array, with zeros between them, so that one convolution does all."""

    _GAP = max(width for _, width in (*LAYERS, (0, STEP_WIDTHS[0]))) // 2

    def __init__(self, sequences: Float32) -> None:
        rows = sequences.reshape(-1, *sequences.shape[-2:])
        self._count, self._length = rows.shape[:2]
        if self._count == 1:
            self.flat = np.ascontiguousarray(rows[0])
            return
        padded = np.zeros((self._count, self._length + self._GAP, rows.shape[2]), dtype=np.float32)
        padded[:, : self._length] = rows
        self.flat = padded.reshape(-1, rows.shape[2])

    def convolving(self, layer: _Layer) -> Stepwise[_Spaced]:
        """The layer's response; between the sequences it is not zero, see `cleared`."""
        out = object.__new__(_Spaced)
        out._count, out._length = self._count, self._length
        out.flat = yield from layer.response(self.flat)
        return out

    def cleared(self) -> _Spaced:
        """Itself, with zeros between the sequences again."""
        if self._count > 1:
            self.flat.reshape(self._count, -1, self.flat.shape[1])[:, self._length :] = 0
        return self

    def sequences(self) -> Float32:
        """(N, T, d)."""
        return self.flat.reshape(self._count, -1, self.flat.shape[1])[:, : self._length]
