# SPDX-License-Identifier: GPL-3.0-or-later
"""The fewest keys for curves that may be off by a little: cubic Bezier segments near samples, one value a frame.

Between two keys stand two handles, each with a time and a value: four numbers, with which a segment can go through the
four samples that lie inside five frames. Whether it can, and with which handles, is a small least squares problem for
each start and length (variable projection: Golub and Pereyra 1973, with Kaufman's derivative); which segments to take
is the shortest path along the frames. Handles stand at times that float32 holds exactly. `thinning`, which is quicker
and exact, is for bakes that the next one may replace; this is for those that stay in the file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..nsm_blender.motion.rotations import Array
from ..nsm_blender.stepwise import Stepwise
from .thinning import Keys

_STEP = 2.0**-23
"""How far a curve may be from a sample at least, as a share of the largest sample: one step of float32, 0.05 mm at
400 m. The rounding of keys and handles comes on top of it."""
_LONGEST = 24
"""Frames of the longest segment; keys a second apart are few enough."""
_FREE = 3
"""Frames of the segment that goes through all samples whatever they are. Shorter ones are straight lines."""
_EXACT = 5
"""Frames of the longest segment whose handles have as many numbers as there are samples inside: one search tells
whether a longer one fits."""
_BLOCK = 2048
"""Samples that are thinned in one piece of work, which takes 0.05 s; between pieces there is a key."""
_NEAREST, _FARTHEST = 0.08, 0.92
"""Where the times of handles may be, as shares of a segment: at its ends the curve would jump between two frames."""
_TICK = 2.0**-10
"""Frames between the times that a handle may have. Finer ones make Blender's solver of the cubic lose digits."""
_EVEN, _CROSSED = (1 / 3, 2 / 3), (0.6, 0.4)
"""Times of handles with which a curve's time runs evenly, and with which it runs fast in the middle."""
_SEARCHES = ((_EVEN, 3), (_CROSSED, 3))
"""From where the best times of handles are searched and in how many steps of the least squares, each time for the
segments that do not fit yet. Twice as many steps make 1 % fewer keys and take a fifth longer."""
_SAG = 0.45
"""How far a curve may be, halfway between two frames, from the mean of their values, as a share of the sharpest bend of
the curve: motion blur looks there."""
_DAMPING = 1e-3
"""Levenberg's damping at first, as a share of the diagonal."""
_REACH = 0.15
"""Share of a segment by which a handle's time may move in one step."""
_STEEP = 0.05
"""Least slope of a segment's time over its parameter that is reckoned with; less is divided by as this."""
_SINGULAR = 1e-6
"""Share of the product of a matrix's diagonal below which its determinant is none: float32's ten last bits."""
_TINY = 1e-30
"""Added to what is divided by, so that curves without any bend stay as they are."""


@dataclass(frozen=True, eq=False)
class _Segments:
    """N segments of one length. times, values: (2, N) of their handles, times in shares of the length. fits: (N,)."""

    times: Array
    values: Array
    fits: Array


def fitting(values: Array, tolerance: float, last_frame: float) -> Stepwise[list[Keys]]:
    """Keys of the C curves that are within `tolerance` of samples (F, C), one a frame, in pieces of work.

    last_frame: the largest number of a frame, which limits the times that float32 holds.
    """
    values = np.asarray(values, dtype=np.float64)
    count, columns = values.shape
    tick = max(_TICK, float(np.spacing(np.float32(abs(last_frame)))))
    tolerances = np.maximum(tolerance, _STEP * np.abs(values).max(axis=0, initial=0.0))
    block = max(_BLOCK // max(columns, 1), 2 * _LONGEST)
    parts: list[list[Keys]] = [[] for _ in range(columns)]
    for first in range(0, max(count - 1, 1), block):
        piece = values[first : first + block + 1]
        for column, keys in enumerate(_block(piece, tolerances, tick)):
            parts[column].append(Keys(keys.at + first, keys.left, keys.right, keys.curved))
        yield
    return [_joined(keys) for keys in parts]


def _block(values: Array, tolerance: Array, tick: float) -> list[Keys]:
    """Keys of the curves through samples (F, C), each within its tolerance (C,)."""
    count, columns = values.shape
    still = np.ptp(values, axis=0) <= 2 * tolerance
    out: list[Keys | None] = [_ends(values[:, column]) if still[column] else None for column in range(columns)]
    moving = np.flatnonzero(~still)
    if len(moving):
        samples = np.ascontiguousarray(values[:, moving].T)
        lengths = _lengths(samples, tolerance[moving], tick)
        chosen = _shortest(lengths, count, len(moving))
        for row, column in enumerate(moving.tolist()):
            out[column] = _keys(samples[row], chosen[row], lengths, row)
    return [keys for keys in out if keys is not None]


def _ends(samples: Array) -> Keys:
    """A straight line from the first of (F,) samples that hardly differ to the last."""
    at = np.unique([0, len(samples) - 1])
    beside = np.stack([np.zeros(len(at)), samples[at]], axis=1)
    return Keys(at, beside, beside.copy(), np.zeros(len(at), dtype=bool))


def _lengths(samples: Array, tolerance: Array, tick: float) -> dict[int, _Segments]:
    """By their length the segments from every start of samples (C, F), (C, F - length) of each, as long as any fits."""
    rows, count = samples.shape
    sag = _SAG * np.abs(np.diff(samples, 2, axis=1)).max(axis=1, initial=0.0)
    out: dict[int, _Segments] = {}
    for length in range(_FREE, min(_LONGEST, count - 1) + 1):
        starts = count - length
        asked = np.ones((rows, starts), dtype=bool)
        if length > _FREE + 1:
            # A part of a segment that fits is nearly always one as well.
            shorter = out[length - 1].fits
            asked = shorter[:, :-1] & shorter[:, 1:]
            if not asked.any():
                break
        row, start = np.nonzero(asked)
        through = samples[row, start + np.arange(length + 1)[:, None]]
        fitted = _fitted(through, tolerance[row], sag[row], tick)
        times, values = (np.zeros((2, rows, starts)) for _ in range(2))
        fits = np.zeros((rows, starts), dtype=bool)
        times[:, row, start], values[:, row, start], fits[row, start] = fitted.times, fitted.values, fitted.fits
        out[length] = _Segments(times, values, fits)
    return out


# Below, runs of M samples between the ends of N segments are arrays (M, N), which NumPy sums fastest.


def _fitted(through: Array, tolerance: Array, sag: Array, tick: float) -> _Segments:
    """The segments nearest to N runs of samples (L + 1, N), from the first to the last of each.

    tolerance, sag: (N,) how far the curve may be from the samples, and halfway between two from their mean.
    """
    length = len(through) - 1
    # Relative to the straight line, so that no digits are lost far from 0.
    slope = through[-1] - through[0]
    between = (through[1:-1] - through[0] - slope * _shares(length)).astype(np.float32)
    times = np.repeat(np.reshape(_EVEN, (2, 1)), len(slope), axis=1).astype(np.float32)
    if length > _FREE:
        poor = np.arange(len(slope))
        for guess, iterations in _SEARCHES[: None if length <= _EXACT else 1]:
            start = np.repeat(np.reshape(guess, (2, 1)), len(poor), axis=1).astype(np.float32)
            times[:, poor], off = _best_times(between[:, poor], start, iterations)
            poor = poor[off > tolerance[poor]]
            if not len(poor):
                break
    times = np.round(times * np.float32(length / tick)) * np.float32(tick / length)
    off, values = _Basis(_parameters(_shares(length), times, _shares(length), 6)).nearest(between)
    fits = (np.abs(off).max(axis=0) <= tolerance) | (length <= _FREE)
    half = ((np.arange(length)[:, None] + 0.5) / length).astype(np.float32)
    basis = _Basis(_parameters(half, times, half, 6))
    corners = np.pad(between, ((1, 1), (0, 0)))
    away = basis.first * values[0] + basis.second * values[1] - (corners[1:] + corners[:-1]) / 2
    fits &= (np.abs(away).max(axis=0) <= sag) | (length <= _FREE)
    return _Segments(times, values + through[0] + slope * times, fits)


def _shares(length: int) -> Array:
    """Times (L - 1, 1) of the samples inside a segment, as shares of its length."""
    return (np.arange(1, length)[:, None] / length).astype(np.float32)


def _best_times(between: Array, times: Array, iterations: int) -> tuple[Array, Array]:
    """Times (2, N) of handles with which a curve from 0 to 0 is nearest to samples (M, N), and how far it is, (N,).

    times: (2, N) from which they are searched.
    """
    x = _shares(len(between) + 1)
    u = _parameters(x, times, x, 4)
    basis = _Basis(u)
    off, values = basis.nearest(between)
    cost = _dot(off, off)
    damping = np.full(len(cost), _DAMPING, dtype=np.float32)
    for _ in range(iterations):
        pull = _slope(u, values, 0.0) / np.maximum(_slope(u, times, 1.0), _STEEP)
        one, two = (basis.nearest(pull * part)[0] for part in (basis.first, basis.second))
        a, b, c = _dot(one, one) * (1 + damping) + _TINY, _dot(one, two), _dot(two, two) * (1 + damping) + _TINY
        step = -_inverted(a, b, c, _dot(one, off), _dot(two, off))
        tried = np.clip(times + np.clip(step, -_REACH, _REACH), _NEAREST, _FARTHEST)
        moved = _parameters(u, tried, x, 2)
        there = _Basis(moved)
        left, held = there.nearest(between)
        less = _dot(left, left)
        better = less < cost
        times, values, u = np.where(better, tried, times), np.where(better, held, values), np.where(better, moved, u)
        off, cost = np.where(better, left, off), np.where(better, less, cost)
        damping *= np.where(better, np.float32(0.3), np.float32(5.0))
        basis = _Basis(u)
    return times, np.abs(off).max(axis=0)


class _Basis:
    """What the two handles of N segments count for at parameters (M, N): first, second."""

    def __init__(self, u: Array) -> None:
        v = 1 - u
        both = 3 * u * v
        self.first, self.second = both * v, both * u
        self._squares = (
            _dot(self.first, self.first) + _TINY,
            _dot(self.first, self.second),
            _dot(self.second, self.second) + _TINY,
        )

    def nearest(self, vectors: Array) -> tuple[Array, Array]:
        """What is left of vectors (M, N) beside the nearest that the handles make, and the values (2, N) of these."""
        values = _inverted(*self._squares, _dot(self.first, vectors), _dot(self.second, vectors))
        return vectors - self.first * values[0] - self.second * values[1], values


def _dot(one: Array, other: Array) -> Array:
    """Products (N,) of vectors (M, N)."""
    out: Array = np.einsum("mn,mn->n", one, other)
    return out


def _inverted(a: Array, b: Array, c: Array, f: Array, g: Array) -> Array:
    """Solutions (2, N) of the symmetric equations a p + b q = f, b p + c q = g; 0 where they have none."""
    determinant = a * c - b * b
    safe: Array = np.where(determinant > _SINGULAR * a * c, determinant, np.inf)
    return np.stack([c * f - b * g, a * g - b * f]) / safe


def _slope(u: Array, handles: Array, end: float) -> Array:
    """Derivative at parameters (M, N) of a cubic from 0 over two handles (2, N) to `end`."""
    v = 1 - u
    one, two = handles[0], handles[1]
    return 3 * (v * v * one + 2 * u * v * (two - one) + u * u * (end - two))


def _parameters(u: Array, times: Array, x: Array, steps: int) -> Array:
    """Parameters (M, N) at which cubics with handles at times (2, N) are at x (M, 1).

    u: (M, N or 1) from which Newton's steps are made.
    """
    one, two = times
    c, b, a = 3 * one, 3 * (two - 2 * one), 1 + 3 * (one - two)
    for _ in range(steps):
        away = ((a * u + b) * u + c) * u - x
        u = np.clip(u - away / np.maximum((3 * a * u + 2 * b) * u + c, _STEEP), 0.0, 1.0)
    return u


def _shortest(lengths: dict[int, _Segments], count: int, rows: int) -> list[Array]:
    """For each of the rows the samples at which the fewest segments that fit begin and end."""
    longest = max(lengths, default=1)
    price = np.full((count, longest, rows), np.inf)
    price[1:, 0] = 1.0
    for length, segments in lengths.items():
        price[length:, length - 1] = np.where(segments.fits, 1.0, np.inf).T
    # Of lengths that are as good the shortest: the longer ones leave odd ends.
    spent = np.full((count + longest, rows), np.inf)
    spent[longest] = 0.0
    back = np.zeros((count, rows), dtype=int)
    for end in range(1, count):
        way = spent[end : end + longest][::-1] + price[end]
        back[end] = way.argmin(axis=0)
        spent[end + longest] = way.min(axis=0)
    out = []
    for row in range(rows):
        key, steps = count - 1, back[:, row].tolist()
        keys = [key]
        while key > 0:
            key -= steps[key] + 1
            keys.append(key)
        out.append(np.array(keys[::-1], dtype=int))
    return out


def _keys(samples: Array, at: Array, lengths: dict[int, _Segments], row: int) -> Keys:
    """Keys at the samples `at` (K,) of a curve (F,)."""
    sides = np.stack([np.zeros(len(at)), samples[at]], axis=1)
    left, right, curved = sides.copy(), sides.copy(), np.zeros(len(at), dtype=bool)
    for key, (start, end) in enumerate(zip(at[:-1].tolist(), at[1:].tolist(), strict=True)):
        length = end - start
        if length < _FREE:
            continue
        times, values = (part[:, row, start].tolist() for part in (lengths[length].times, lengths[length].values))
        right[key] = times[0] * length, values[0]
        left[key + 1] = (times[1] - 1) * length, values[1]
        curved[key] = True
    return Keys(at, left, right, curved)


def _joined(parts: list[Keys]) -> Keys:
    """One curve of parts that share their ends."""
    at, left, right, curved = parts[0].at, parts[0].left, parts[0].right, parts[0].curved
    for part in parts[1:]:
        right = np.concatenate([right[:-1], part.right])
        left = np.concatenate([left, part.left[1:]])
        curved = np.concatenate([curved[:-1], part.curved])
        at = np.concatenate([at, part.at[1:]])
    return Keys(at, left, right, curved)
