# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters along the time axis."""

from __future__ import annotations

import numpy as np

from .rotations import Array


def gaussian(x: Array, sigma: float) -> Array:
    """Smooth `x` (T, ...) along time with a Gaussian, `sigma` in frames; ends are held."""
    if sigma <= 0 or len(x) < 2:
        return x
    radius = int(np.ceil(3 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    flat = x.reshape(len(x), -1)
    padded = np.concatenate((np.repeat(flat[:1], radius, 0), flat, np.repeat(flat[-1:], radius, 0)))
    columns = [np.convolve(padded[:, i], kernel, mode="valid") for i in range(flat.shape[1])]
    return np.stack(columns, axis=1).reshape(x.shape).astype(x.dtype)


def highest_around(x: Array, frames: int) -> Array:
    """Running maximum of `x` (T, ...) from `frames` before to `frames` after each frame; ends are held."""
    padded = np.pad(x, ((frames, frames), *((0, 0),) * (x.ndim - 1)), mode="edge")
    out: Array = np.lib.stride_tricks.sliding_window_view(padded, 2 * frames + 1, axis=0).max(-1)
    return out


def velocity(x: Array, fps: float) -> Array:
    """Backward differences of `x` (T, ...) per second; the first frame repeats the second's."""
    v = np.empty_like(x)
    v[1:] = (x[1:] - x[:-1]) * fps
    v[0] = v[1] if len(x) > 1 else 0
    return v


def runs(mask: Array) -> list[tuple[int, int]]:
    """Half-open ranges [start, stop) where the boolean array `mask` (T,) is true."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.asarray(mask, dtype=np.int8), [0]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def without_short_runs(mask: Array, shortest_gap: int, shortest_run: int) -> Array:
    """Fill gaps shorter than `shortest_gap` frames, then drop runs shorter than `shortest_run`."""
    out = np.asarray(mask, dtype=bool).copy()
    for a, b in runs(~out):
        if b - a < shortest_gap and a > 0 and b < len(out):
            out[a:b] = True
    for a, b in runs(out):
        if b - a < shortest_run and a > 0 and b < len(out):
            out[a:b] = False
    return out
