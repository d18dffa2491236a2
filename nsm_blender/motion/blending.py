# SPDX-License-Identifier: GPL-3.0-or-later
"""Blends out of a start pose into a motion, and out of a motion into an end pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .easing import smoothstep
from .motion import Motion
from .root import root_track
from .rotations import Array, from_yaw, make_continuous, multiply, rotate, slerp, wrap_angle
from .skeleton import MODEL_SKELETON


@dataclass(frozen=True, eq=False)
class Pose:
    """A pose of the model skeleton. hips: (3,) meters in the world. rotations: (J, 4) world quaternions."""

    hips: Array
    rotations: Array

    @property
    def positions(self) -> Array:
        """World joint places (J, 3) in meters."""
        return MODEL_SKELETON.positions(self.hips, self.rotations)

    @property
    def root(self) -> tuple[float, float, float, float]:
        """Root (4,): x, y under the hips, 0, and the facing angle."""
        x, y, z, angle = root_track(self.positions[None], 1.0)[0].tolist()
        return x, y, z, angle


def blended(
    motion: Motion, start: Pose | None = None, frames_in: int = 0, end: Pose | None = None, frames_out: int = 0
) -> Motion:
    """Blend the motion out of `start` over its first `frames_in` frames and into `end` over its last `frames_out`.

    The poses are turned and moved over the ground to the motion's root; their heights stay. Joints are blended in their
    parents' frames, so that bones keep their lengths.
    """
    if start is not None and frames_in > 0:
        motion = _toward(motion, start, 1 - smoothstep(np.arange(len(motion)) / frames_in))
    if end is not None and frames_out > 0:
        motion = _toward(motion, end, 1 - smoothstep(np.arange(len(motion))[::-1] / frames_out))
    return motion


def _toward(motion: Motion, pose: Pose, weights: Array) -> Motion:
    """Mix the motion with a pose that moves with the root; weights: (T,), 1 is the pose."""
    at = np.flatnonzero(weights > 0)
    x, y, _, angle = pose.root
    root = motion.root[at].astype(np.float64)
    turn = from_yaw(wrap_angle(root[:, 3] - angle))
    rotations = motion.rotations[at].astype(np.float64)
    posed = multiply(turn[:, None], np.broadcast_to(pose.rotations.astype(np.float64), rotations.shape))
    mixed = slerp(
        MODEL_SKELETON.local_rotations(rotations),
        MODEL_SKELETON.local_rotations(posed),
        np.repeat(weights[at, None], len(MODEL_SKELETON), 1),
    )
    # The pose's hips lie straight above its root.
    place = np.column_stack((root[:, :2], np.full(len(at), pose.hips[2])))
    place[:, :2] += np.array([pose.hips[0] - x, pose.hips[1] - y])
    hips = motion.positions[at, 0] * (1 - weights[at, None]) + place * weights[at, None]
    positions, turned = MODEL_SKELETON.forward(hips, mixed)
    out_positions, out_rotations = motion.positions.copy(), motion.rotations.copy()
    out_positions[at], out_rotations[at] = positions, turned
    return replace(motion, positions=out_positions, rotations=make_continuous(out_rotations))


def placed(motion: Motion, start: Sequence[float]) -> Motion:
    """Move the motion over the ground and turn it about the vertical so that its root begins at `start`.

    start: x, y, z in meters and the facing angle in radians.
    """
    first = motion.root[0].astype(np.float64)
    angle = float(start[3]) - first[3]
    turn = from_yaw(np.asarray(angle))
    shift = np.asarray(start[:3]) - rotate(turn, first[:3])

    def moved(places: Array) -> Array:
        return rotate(np.broadcast_to(turn, (*places.shape[:-1], 4)), places.astype(np.float64)) + shift

    rotations = multiply(np.broadcast_to(turn, motion.rotations.shape), motion.rotations.astype(np.float64))
    root = np.column_stack((moved(motion.root[:, :3]), motion.root[:, 3] + angle))
    return replace(
        motion,
        positions=moved(motion.positions).astype(np.float32),
        rotations=make_continuous(rotations).astype(np.float32),
        root=root.astype(np.float32),
    )
