# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of T frames as the keys of a timeline, and keys as labels of T frames."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..motion.rotations import Array


def changes(values: Array) -> Array:
    """Frames (K,) of the keys that hold `values` (T,) until the next key: the first, and each at which it changes."""
    return np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1])


def held(frames: Array, values: Array, count: int) -> Array:
    """Values (count,) of keys at whole frames (K,) in any order, each held until the next, the first also before it. Of
    keys at the same frame the last counts. There must be a key."""
    x, y = _in_order(frames, values)
    at = np.searchsorted(x, np.arange(count), side="right") - 1
    out: Array = y[np.maximum(at, 0)]
    return out


def straight(frames: Array, values: Array, count: int) -> Array:
    """Values (count,) of keys at whole frames (K,) in any order, with straight lines between them that go on before the
    first and after the last. There must be a key."""
    x, y = _in_order(frames.astype(float), values.astype(float))
    at = np.arange(count, dtype=float)
    out: Array = np.interp(at, x, y)
    if len(x) > 1:
        before, after = at < x[0], at > x[-1]
        out[before] = y[0] + (at[before] - x[0]) * (y[1] - y[0]) / (x[1] - x[0])
        out[after] = y[-1] + (at[after] - x[-1]) * (y[-1] - y[-2]) / (x[-1] - x[-2])
    return out


def corners(values: Array, tolerance: float) -> Array:
    """Frames (K,) of keys between which straight lines stay within `tolerance` of `values` (T,).

    By Douglas and Peucker (1973): each line is broken where it is farthest off.
    """
    kept = {0, len(values) - 1}
    open_ends = [(0, len(values) - 1)]
    while open_ends:
        a, b = open_ends.pop()
        if b - a < 2:
            continue
        line = values[a] + (values[b] - values[a]) * np.arange(1, b - a) / (b - a)
        off = np.abs(values[a + 1 : b] - line)
        worst = int(np.argmax(off))
        if off[worst] > tolerance:
            middle = a + 1 + worst
            kept.add(middle)
            open_ends += [(a, middle), (middle, b)]
    return np.array(sorted(kept))


def numbered(stretches: tuple[tuple[int, int], ...], count: int) -> Array:
    """Numbers (count,) int: 1 in the first of the stretches (first and last frame), 2 in the second, 0 in none."""
    out = np.zeros(count, dtype=int)
    for number, (first, last) in enumerate(stretches, start=1):
        out[first : last + 1] = number
    return out


def stretches_of(numbers: Array) -> tuple[tuple[int, int], ...]:
    """First and last frames of the stretches of the same number (T,), without those of zero."""
    edges = [*changes(numbers).tolist(), len(numbers)]
    return tuple((a, b - 1) for a, b in pairwise(edges) if numbers[a] > 0)


def _in_order(frames: Array, values: Array) -> tuple[Array, Array]:
    """Keys by their frames, of those at the same frame the last."""
    order = np.argsort(frames, kind="stable")
    last = np.append(np.diff(frames[order]) > 0, True)
    return frames[order][last], values[order][last]
