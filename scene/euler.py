# SPDX-License-Identifier: GPL-3.0-or-later
"""Quaternions as Blender's Euler angles, without jumps over time."""

from __future__ import annotations

import numpy as np

from ..nsm_blender.motion.rotations import Array, to_matrix


def from_quaternions(q: Array, order: str) -> Array:
    """Euler angles (T, 3) in radians, listed x, y, z, of unit quaternions (T, 4).

    order: as in Blender, "XYZ" turns about x first and about z last. Each frame takes the one of the two equal
    triples that is nearer to the frame before, plus full turns, so that curves have no jumps.
    """
    i, j, k = ("XYZ".index(letter) for letter in order)
    odd = -1.0 if (j - i) % 3 == 2 else 1.0
    m = to_matrix(q)
    cosine = np.hypot(m[:, i, i], m[:, j, i])
    out = np.empty((len(q), 3))
    out[:, j] = np.arctan2(-odd * m[:, k, i], cosine)
    # In gimbal lock (cosine near 0) first and last axis are one; the first takes the whole turn.
    locked = cosine < 1e-6
    out[:, i] = np.where(locked, np.arctan2(-odd * m[:, j, k], m[:, j, j]), np.arctan2(odd * m[:, k, j], m[:, k, k]))
    out[:, k] = np.where(locked, 0.0, np.arctan2(odd * m[:, j, i], m[:, i, i]))
    return _continuous(out, i, j, k)


def _continuous(angles: Array, i: int, j: int, k: int) -> Array:
    """The same rotations (T, 3) with each frame near the frame before."""
    other = angles.copy()
    other[:, (i, k)] += np.pi
    other[:, j] = np.pi - angles[:, j]
    out = angles.copy()
    for t in range(1, len(out)):
        candidates = np.stack((angles[t], other[t]))
        candidates += 2 * np.pi * np.round((out[t - 1] - candidates) / (2 * np.pi))
        out[t] = candidates[np.argmin(np.abs(candidates - out[t - 1]).sum(axis=1))]
    return out
