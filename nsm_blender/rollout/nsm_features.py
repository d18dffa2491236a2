# SPDX-License-Identifier: GPL-3.0-or-later
"""What the NSM reads and writes, from and to the world: the root frame, the goal frames, axes of rotations.

Used by the rollout frame by frame, and by the preparation of training data for whole episodes.
"""

from __future__ import annotations

import numpy as np

from ..models.nsm import CELLS, CURRENT, INTERACTION, SAMPLE_FRAMES, SAMPLES, TO_ROOT
from ..motion.root import direction, to_local, to_world
from ..motion.rotations import Array, from_matrix, from_yaw, multiply, stacked, to_matrix

WINDOW = (np.arange(SAMPLES) - CURRENT) * SAMPLE_FRAMES
"""Frames from the current one to each trajectory sample."""
_FORWARD, _UP = 1, 2
"""Columns of a rotation matrix: a body faces -Y and stands along +Z in the rest pose."""


def axes_of(rotations: Array) -> Array:
    """Forward and up axis [..., 2, 3] of rotations [..., 4]."""
    matrix = to_matrix(rotations)
    return np.stack((-matrix[..., _FORWARD], matrix[..., _UP]), axis=-2)


def rotations_of(axes: Array) -> Array:
    """Rotations [..., 4] from forward and up axes [..., 2, 3], which need not be quite perpendicular or of length 1."""
    forward = axes[..., 0, :] / np.maximum(np.linalg.norm(axes[..., 0, :], axis=-1, keepdims=True), 1e-8)
    up = axes[..., 1, :] - forward * np.sum(forward * axes[..., 1, :], axis=-1, keepdims=True)
    up = up / np.maximum(np.linalg.norm(up, axis=-1, keepdims=True), 1e-8)
    back = -forward
    (a, b, c), (x, y, z) = np.moveaxis(back, -1, 0), np.moveaxis(up, -1, 0)
    left = stacked(b * z - c * y, c * x - a * z, a * y - b * x)
    return from_matrix(stacked(left, back, up))


def points_to_root(points: Array, root: Array) -> Array:
    """World points [..., n, 3] in root frames [..., 4]."""
    out = points - root[..., None, :3]
    out[..., :2] = to_local(out[..., :2], root[..., None, 3])
    return out


def vectors_to_root(vectors: Array, root: Array) -> Array:
    """World vectors [..., n, 3] (such as velocities) as root frames [..., 4] see them."""
    out = vectors.copy()
    out[..., :2] = to_local(vectors[..., :2], root[..., None, 3])
    return out


def points_to_world(points: Array, root: Array) -> Array:
    """Points [..., n, 3] of root frames [..., 4] in the world."""
    out = points.copy()
    out[..., :2] = to_world(points[..., :2], root[..., None, 3])
    return out + root[..., None, :3]


def rotations_to_root(rotations: Array, root: Array) -> Array:
    """World rotations [..., n, 4] as root frames [..., 4] see them."""
    yaw = from_yaw(-root[..., 3])[..., None, :]
    return multiply(np.broadcast_to(yaw, rotations.shape), rotations)


def rotations_to_world(rotations: Array, root: Array) -> Array:
    """Inverse of `rotations_to_root`."""
    yaw = from_yaw(root[..., 3])[..., None, :]
    return multiply(np.broadcast_to(yaw, rotations.shape), rotations)


def places_to_root(places: Array, root: Array) -> Array:
    """Ground places [..., n, 2] in root frames [..., 4]."""
    return to_local(places - root[..., None, :2], root[..., None, 3])


def directions_to_root(facing: Array, root: Array) -> Array:
    """Directions [..., n, 2] in root frames [..., 4] of world facing angles [..., n]."""
    return direction(facing - root[..., None, 3])


def places_to_goal(places: Array, goal: Array, facing: Array) -> Array:
    """Ground places [..., 2] in goal frames: at `goal` [..., 2], facing `facing` [...]."""
    return to_local(places - goal, facing)


def places_from_goal(places: Array, goal: Array, facing: Array) -> Array:
    """Inverse of `places_to_goal`."""
    return to_world(places, facing) + goal


CORNERS = 4
"""Cells whose vectors determine those of all cells: the first, and the last along each axis of the volume."""


def corner_vectors(cells: Array) -> Array:
    """The vectors (..., CORNERS, 3) of an interaction input (..., INTERACTION.size) that determine the others."""
    values = cells.reshape(*cells.shape[:-1], CELLS, CELLS, CELLS, INTERACTION.shape("cell")[1])[..., TO_ROOT]
    last = CELLS - 1
    return np.stack(
        (values[..., 0, 0, 0, :], values[..., last, 0, 0, :], values[..., 0, last, 0, :], values[..., 0, 0, last, :]),
        axis=-2,
    )
