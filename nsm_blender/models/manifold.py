# SPDX-License-Identifier: GPL-3.0-or-later
"""A Deep Learning Framework for Character Motion Synthesis and Editing (Holden et al. 2016), the networks.

Everything works on whole motions: arrays (T, d) in time order, T even, at 60 fps.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..stepwise import FRAMES, Stepwise, finished
from .layout import Layout
from .matmul import convolving, matmul
from .weights import check_shapes, file_hash, read_card, read_tensors

Float32 = NDArray[np.float32]

FPS = 60.0
"""Frames a second of everything in the manifold (section 4)."""
FRAME = Layout(
    joint_position=(len(MODEL_SKELETON), 3),  # relative to the root on the ground, turned into its facing; meters
    root_velocity=(2,),  # from this frame to the next, in the root frame; m/s, x left, y back
    root_turn=(1,),  # rad/s about +z
    contact=(len(CONTACT_JOINTS),),  # 1 in contact, -1 not
)
"""One frame of motion X (section 4); the vertical axis here is z."""

WIDTH = 25
"""Frames of a filter, the paper's w0: nearly half a second (5.1)."""
UNITS = 256
"""Hidden units, the paper's m (5.1)."""
_HALF = WIDTH // 2
"""Frames that a filter reaches to either side."""
_TAPS = _HALF + 1
"""Taps of the decoder at half rate: 25 filter taps over pairs of frames that hold the same value."""
_SMOOTHING_RADIUS = 8
"""Frames that the unpooling's kernel reaches to either side."""
_CUTOFF = 7.0
"""Frequency in Hz of which the unpooling's kernel passes half. A hidden unit is the larger value of two frames; held
evenly over both, it makes a synthesized head tremble by 2 to 4 mm (rms above 10 Hz, recorded 0.4 mm), and with this
kernel by 0.2 mm, at a smaller error of reconstruction (0.93 cm on held-out performers in place of 0.97 cm)."""
DECODER_REACH = _HALF + _SMOOTHING_RADIUS
"""Frames to either side of a pair of frames that its hidden units change."""


def _low_pass() -> Float32:
    """Kernel (2 _SMOOTHING_RADIUS + 1,) of a windowed sinc, with sum 1."""
    frame = np.arange(-_SMOOTHING_RADIUS, _SMOOTHING_RADIUS + 1)
    kernel = np.sinc(2 * _CUTOFF / FPS * frame) * np.kaiser(len(frame), 5.0)
    out: Float32 = (kernel / kernel.sum()).astype(np.float32)
    return out


_SMOOTHING = _low_pass()

SHAPES: Mapping[str, tuple[int | str, ...]] = {
    "w": (UNITS, FRAME.size, WIDTH),
    "b": (UNITS,),
    "mean": (FRAME.size,),
    "scale": (FRAME.size,),
}
"""Tensors of the autoencoder's weights file: W0, b0, normalization."""


class Autoencoder:
    """The motion manifold: `encode` is Phi (eq. 1), `decode` is Phi-dagger (eq. 2), for any even length.

    Features are in physical units outside and normalized as (x - mean) / scale inside. Borders are
    padded with zeros, that is with the mean pose. Unpooling spreads hidden units over time by a smooth kernel; the
    paper's random choice of one frame of each pair is for training, and spreading them evenly makes motion tremble.
    """

    def __init__(self, tensors: Mapping[str, Float32], card: Mapping[str, Any] | None = None, hash: str = "") -> None:
        self.card, self.hash = dict(card or {}), hash
        self.tensors = dict(tensors)
        """As the weights file has them; see SHAPES."""
        self.mean, self.scale = tensors["mean"], tensors["scale"]
        w, self._b = tensors["w"], tensors["b"]
        self._encode = np.ascontiguousarray(w.transpose(2, 1, 0).reshape(WIDTH * FRAME.size, UNITS))
        self._decode = half_rate_kernel(w) * np.tile(self.scale, 2)
        # Of -b0 convolved with the reflected filters: the sum of the first k taps, (WIDTH + 1, d).
        taps = np.matmul(self._b, w.reshape(UNITS, -1)).reshape(FRAME.size, WIDTH).T
        self._bias = np.concatenate((np.zeros((1, FRAME.size)), np.cumsum(taps, axis=0, dtype=np.float64)))

    @staticmethod
    def load(path: Path | str) -> Autoencoder:
        """Read a weights file and its card. Raises WeightsError."""
        tensors = read_tensors(path)
        check_shapes(tensors, SHAPES, path)
        return Autoencoder(tensors, read_card(path), file_hash(path))

    def encode(self, x: Float32) -> Float32:
        """Hidden units (T / 2, UNITS), never negative, of frames x (T, d) in physical units; T even."""
        return finished(self.encoding(x))

    def encoding(self, x: Float32) -> Stepwise[Float32]:
        """`encode` in pieces."""
        normal = ((x - self.mean) / self.scale).astype(np.float32)
        pre = yield from convolving(normal, self._encode, _HALF)
        yield
        pre += self._b
        hidden: Float32 = np.maximum(np.maximum(pre[0::2], pre[1::2]), 0)
        return hidden

    def decode(self, hidden: Float32) -> Float32:
        """Frames (T, d) in physical units of hidden units (T / 2, UNITS)."""
        return finished(self.decoding(hidden))

    def decoding(self, hidden: Float32) -> Stepwise[Float32]:
        """`decode` in pieces."""
        out = yield from self._decoding_linear(hidden)
        out += yield from _smoothing(self.offset(2 * len(hidden)))
        return out

    def decode_linear(self, hidden: Float32) -> Float32:
        """The part of `decode` that is linear in the hidden units, in physical units (T, d)."""
        return finished(self._decoding_linear(hidden))

    def _decoding_linear(self, hidden: Float32) -> Stepwise[Float32]:
        both = yield from convolving(hidden, self._decode, _TAPS // 2)
        return (yield from _smoothing(both.reshape(2 * len(hidden), FRAME.size)))

    def decode_both(self, gradient: Float32) -> Float32:
        """D D^T `gradient` in one convolution, D being `decode_linear`, for frames (T, d); T even.

        The same except near the ends, where hidden units beyond the motion take part as well.
        """
        return finished(self.decoding_both(gradient))

    def decoding_both(self, gradient: Float32) -> Stepwise[Float32]:
        """`decode_both` in pieces."""
        half = yield from _smoothing(gradient)
        out = yield from convolving(half.reshape(-1, 2 * FRAME.size), self._covariance, _TAPS - 1)
        return (yield from _smoothing(out.reshape(gradient.shape)))

    @cached_property
    def _covariance(self) -> Float32:
        """Kernel of `decode_both`: what two pairs of frames up to 12 pairs apart share of white noise in H."""
        taps = self._decode.reshape(_TAPS, UNITS, 2 * FRAME.size)
        out = np.zeros((2 * _TAPS - 1, 2 * FRAME.size, 2 * FRAME.size), dtype=np.float32)
        for lag in range(_TAPS):
            earlier, later = (part.reshape(-1, 2 * FRAME.size) for part in (taps[: _TAPS - lag], taps[lag:]))
            out[_TAPS - 1 + lag] = matmul(earlier.T, later)
            out[_TAPS - 1 - lag] = out[_TAPS - 1 + lag].T
        return out.reshape(-1, 2 * FRAME.size)

    def offset(self, frames: int) -> Float32:
        """The mean and what -b0 gives through the filters: (frames, d), the same in all frames but near the ends."""
        # Only frames that exist count: near the ends the first or the last taps of a frame lie beyond them.
        frame = np.arange(frames)
        first = np.maximum(frame + _TAPS - frames, 0)
        beyond = np.minimum(frame + _TAPS, WIDTH)
        out = np.tile(self._without_hidden(self._bias[WIDTH]), (frames, 1))
        ends = np.flatnonzero(beyond - first < WIDTH)
        out[ends] = self._without_hidden(self._bias[beyond[ends]] - self._bias[first[ends]])
        return out

    def _without_hidden(self, sums: Float32) -> Float32:
        """Frames (..., d) in physical units of sums (..., d) of the taps of b0."""
        return (self.mean - sums * self.scale).astype(np.float32)


def _smoothing(frames: Float32) -> Stepwise[Float32]:
    """Frames (T, d) as the unpooling's kernel spreads them; mirrored beyond the ends, so that it is symmetric."""
    radius, count = _SMOOTHING_RADIUS, len(frames)
    padded = np.pad(frames.astype(np.float32, copy=False), ((radius, radius), (0, 0)), mode="symmetric")
    out: Float32 = np.empty(frames.shape, dtype=np.float32)
    for start in range(0, count, FRAMES):
        yield
        stop = min(start + FRAMES, count)
        part = out[start:stop]
        np.multiply(padded[radius + start : radius + stop], _SMOOTHING[radius], out=part)
        for lag in range(1, radius + 1):
            early, late = radius - lag, radius + lag
            pair = padded[early + start : early + stop] + padded[late + start : late + stop]
            pair *= _SMOOTHING[late]
            part += pair
    return out


def smoothed_filters(w: Float32) -> Float32:
    """The filters (UNITS, d, WIDTH + 2 _SMOOTHING_RADIUS) that decode with smooth unpooling in one convolution."""
    out = np.zeros((*w.shape[:2], w.shape[2] + 2 * _SMOOTHING_RADIUS), dtype=np.float32)
    for lag, share in enumerate(_SMOOTHING):
        out[..., lag : lag + w.shape[2]] += share * w
    return out


def half_rate_kernel(w: Float32) -> Float32:
    """The decoder folded to half rate, from hidden neighbors to two frames at once.

    w: (UNITS, d, width). Returns ((width // 2 + 1) * UNITS, 2 * d).

    Unpooling spreads each hidden value evenly over its two frames (half to each); frame n then sums
    w[:, :, k] over the frames n - k + 12, so pairs of taps act on one hidden value.
    """
    units, size, width = w.shape
    half, taps = width // 2, width // 2 + 1
    out = np.zeros((taps, units, 2, size), dtype=np.float32)
    for parity in range(2):
        for k in range(width):
            # Decoded frame 2 t + parity reads the unpooled frame 2 t + parity + half - k ... reflected in time.
            source = parity + k - half
            tap = source // 2 + taps // 2
            out[tap, :, parity] += 0.5 * w[:, :, width - 1 - k]
    return out.reshape(taps * units, 2 * size)
