# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of the manifold: joint places around the root, root velocities, contacts (section 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..models.manifold import FPS, FRAME
from ..motion.mirror import mirror_vectors
from ..motion.root import to_local, to_world
from ..motion.rotations import Array, from_yaw, normalize, rotate
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, mirror_indices

Float32 = NDArray[np.float32]

_POINT = 1e-6
"""Length in meters below which a bone has no direction."""
_OTHER_SIDE, _OTHER_FEET = mirror_indices(MODEL_SKELETON.names), mirror_indices(CONTACT_JOINTS)
"""Index of each joint's, and of each contact joint's, mirror image."""


def to_frames(positions: Array, root: Array, contacts: Array) -> Float32:
    """Frames (T, FRAME.size) of a motion at 60 fps.

    positions: (T, J, 3) world, model skeleton. root: (T, 4) x, y, z, facing angle. contacts: (T, 4), 0 or 1.
    The last frame's velocities repeat those before it.
    """
    count = len(positions)
    out = np.zeros((count, FRAME.size), dtype=np.float32)
    out[:, FRAME.joint_position] = around_root(positions, root).reshape(count, -1)
    step = np.diff(root, axis=0) * FPS
    if count > 1:
        out[:-1, FRAME.root_velocity] = to_local(step[:, :2], root[:-1, 3])
        out[:-1, FRAME.root_turn] = step[:, 3:]
        out[-1, FRAME.root_velocity.start : FRAME.root_turn.stop] = out[
            -2, FRAME.root_velocity.start : FRAME.root_turn.stop
        ]
    out[:, FRAME.contact] = 2 * contacts - 1
    return out


def around_root(positions: Array, root: Array) -> Array:
    """World joint places (T, J, 3) relative to the root and turned into its facing."""
    back = np.broadcast_to(from_yaw(-root[:, 3])[:, None], (*positions.shape[:2], 4))
    return rotate(back, positions - root[:, None, :3])


def mirror_frames(frames: Float32) -> Float32:
    """Mirror frames (T, FRAME.size) of a motion left to right."""
    out = frames.copy()
    places = frames[:, FRAME.joint_position].reshape(-1, *FRAME.shape("joint_position"))
    out[:, FRAME.joint_position] = mirror_vectors(places[:, _OTHER_SIDE]).reshape(len(frames), -1)
    out[:, FRAME.root_velocity.start] *= -1
    out[:, FRAME.root_turn] *= -1
    out[:, FRAME.contact] = frames[:, FRAME.contact][:, _OTHER_FEET]
    return out


def joint_places(frames: Array) -> Array:
    """Joint places (T, J, 3) around the root."""
    return frames[:, FRAME.joint_position].reshape(len(frames), *FRAME.shape("joint_position"))


def integrate_root(frames: Array, start: tuple[float, float, float, float]) -> Array:
    """Integrate the root (T, 4) x, y, z, facing angle, from the velocities of frames (T, d) and the first frame's
    root."""
    turn = np.concatenate(([0.0], np.cumsum(frames[:-1, FRAME.root_turn][:, 0].astype(np.float64)) / FPS))
    angle = start[3] + turn
    steps = to_world(frames[:-1, FRAME.root_velocity].astype(np.float64), angle[:-1]) / FPS
    out = np.empty((len(frames), 4))
    out[0] = start
    out[:, 3] = angle
    out[1:, :2] = start[:2] + np.cumsum(steps, axis=0)
    out[:, 2] = start[2]
    return out


def to_world_positions(frames: Array, root: Array) -> Array:
    """World joint places (T, J, 3) of frames with the root at `root` (T, 4)."""
    places = joint_places(frames).astype(np.float64)
    turn = np.broadcast_to(from_yaw(root[:, 3])[:, None], (*places.shape[:2], 4))
    return rotate(turn, places) + root[:, None, :3]


def contacts_of(frames: Array) -> Array:
    """Contact labels (T, 4), 0 or 1, of CONTACT_JOINTS."""
    return (frames[:, FRAME.contact] > 0).astype(np.float32)


def with_bone_lengths(places: Array, first: str) -> Array:
    """Joint places (T, J, 3) with exact bone lengths from the joint `first` of the model skeleton on.

    Each joint stays as near as possible to its place; every bone starts where its parent bone ends, so that errors of
    length do not add up along a chain.
    """
    out = places.copy()
    for joint, parent in enumerate(MODEL_SKELETON.parents):
        length = np.linalg.norm(MODEL_SKELETON.offsets[joint])
        if joint < MODEL_SKELETON.index(first):
            continue
        if length < _POINT:
            out[:, joint] = out[:, parent]
        else:
            out[:, joint] = out[:, parent] + normalize(places[:, joint] - out[:, parent]) * length
    return out
