# SPDX-License-Identifier: GPL-3.0-or-later
"""Fewer keys for the same curve: cubic Bezier segments through samples that have one value a frame.

A cubic has two handles between its keys, and so goes exactly through two samples: three frames need no more than one
key. Neighboring segments become one as long as a cubic goes through all their samples. Handles stand at a third and at
two thirds of a segment, so that a curve's time runs evenly; as lengths are multiples of three, these are whole frames,
which float32 holds exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..nsm_blender.motion.rotations import Array

_PART = 3
"""Frames of the shortest segment."""
_FINE = 2e-6
"""How far a curve may be from a sample. Of a quaternion this is 8e-6 radians at most; over a chain of nine bones, a
meter from the last, that adds up to 0.07 mm."""
_STEP = 2.0**-22
"""The same as a share of the largest sample, where that is more: two steps of float32, 0.1 mm at 400 m."""


@dataclass(frozen=True, eq=False)
class Keys:
    """K keys of one curve.

    at: (K,) indices of the samples. left, right: (K, 2) of the handles, frames from the key and value. curved: (K,)
    whether a Bezier segment, and no straight line, leads to the next key.
    """

    at: Array
    left: Array
    right: Array
    curved: Array


def thinned(values: Array) -> list[Keys]:
    """Keys of the C curves that go through samples (F, C), one a frame; all have the same times."""
    values = np.asarray(values, dtype=np.float64)
    count, parts = len(values), (len(values) - 1) // _PART
    tolerance = max(_FINE, _STEP * float(np.abs(values).max(initial=0.0)))
    first, second = (np.zeros((parts, values.shape[1])) for _ in range(2))
    length = np.ones(parts, dtype=int)
    starts = np.arange(parts)
    size = 1
    while len(starts):
        fits, one, two = _fitted(values, starts * _PART, size * _PART, tolerance)
        kept = starts[fits]
        first[kept], second[kept], length[kept] = one[fits], two[fits], size
        # Only two halves of which both fit may become one segment.
        pairs = kept[kept % (2 * size) == 0]
        starts = pairs[np.isin(pairs + size, kept)]
        size *= 2
    chosen = _chain(length)
    tail = np.arange(parts * _PART, count)
    at = np.concatenate([chosen * _PART, tail])
    left, right, after = values[at], values[at], np.zeros(len(at))
    right[: len(chosen)] = first[chosen]
    left[1 : len(chosen) + 1] = second[chosen]
    after[: len(chosen)] = length[chosen]
    before = np.concatenate([[0.0], -after[:-1]])
    return [
        Keys(at, np.stack([before, one], axis=1), np.stack([after, other], axis=1), after > 0)
        for one, other in zip(left.T, right.T, strict=True)
    ]


def _fitted(values: Array, starts: Array, frames: int, tolerance: float) -> tuple[Array, Array, Array]:
    """Whether a cubic goes through all samples of each segment (N,), and its handles (N, C)."""
    u = np.arange(1, frames) / frames
    between = values[starts[:, None] + np.arange(1, frames)]
    ends = np.stack([(1 - u) ** 3, u**3], axis=1) @ values[np.stack([starts, starts + frames], axis=1)]
    basis = np.stack([3 * u * (1 - u) ** 2, 3 * u**2 * (1 - u)], axis=1)
    handles = np.linalg.pinv(basis) @ (between - ends)
    off = np.abs(basis @ handles + ends - between).max(axis=(1, 2))
    return (off <= tolerance) | (frames == _PART), handles[:, 0], handles[:, 1]


def _chain(length: Array) -> Array:
    """The starts of the segments from the first on, where `length` (P,) says how many parts each is long."""
    out, at = [], 0
    while at < len(length):
        out.append(at)
        at += int(length[at])
    return np.array(out, dtype=int)
