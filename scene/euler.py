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
    both = np.stack((angles, other), axis=1)
    # From each of the two triples of a frame to each of the next frame's, (T - 1, 2, 2), full turns apart.
    steps = both[1:, None] - both[:-1, :, None]
    ways = np.abs(steps - 2 * np.pi * np.round(steps / (2 * np.pi))).sum(axis=-1).tolist()
    chosen = [0]
    for way in ways:
        first, second = way[chosen[-1]]
        chosen.append(0 if first <= second else 1)
    return np.unwrap(both[np.arange(len(angles)), chosen], axis=0)
