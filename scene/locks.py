# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation channels that an animator locked: a bake leaves them as they are."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..nsm_blender.motion.rotations import Array, from_euler
from . import euler

_AXES = 3
"""Number of rotation axes that can be locked one by one."""


@dataclass(frozen=True)
class Lock:
    """What of a bone's rotation is locked.

    whole: nothing may turn. free: the axes x, y, z (0..2) that may. order: of the Euler angles about which the bone
    is locked. angles: (3,) radians that the locked ones keep. posed: (4,) the rotation that a wholly locked bone keeps.
    """

    whole: bool
    free: tuple[int, ...]
    order: str
    angles: tuple[float, ...]
    posed: tuple[float, ...]

    @property
    def any(self) -> bool:
        """Whether anything is locked."""
        return self.whole or len(self.free) < _AXES

    def applied(self, q: Array) -> Array:
        """Rotations (T, 4) as near as the locks let the bone come."""
        if self.whole:
            return np.broadcast_to(np.array(self.posed), q.shape)
        if not self.any:
            return q
        angles = euler.from_quaternions(q, self.order)
        for axis in range(_AXES):
            if axis not in self.free:
                angles[:, axis] = self.angles[axis]
        return to_quaternions(angles, self.order)


def of(bone: bpy.types.PoseBone) -> Lock:
    """The locks of a bone."""
    mode = bone.rotation_mode
    is_euler = mode not in ("QUATERNION", "AXIS_ANGLE")
    locked = list(bone.lock_rotation)
    # With four components locked one by one, none can be left alone without the others.
    whole = all(locked) or (not is_euler and bone.lock_rotations_4d and (any(locked) or bone.lock_rotation_w))
    angles = bone.rotation_euler if is_euler else bone.matrix_basis.to_euler("XYZ")
    posed = bone.matrix_basis.to_quaternion()
    return Lock(
        whole=whole,
        free=tuple(axis for axis in range(_AXES) if not locked[axis]),
        order=mode if is_euler else "XYZ",
        angles=(angles[0], angles[1], angles[2]),
        posed=(posed.w, posed.x, posed.y, posed.z),
    )


def to_quaternions(angles: Array, order: str) -> Array:
    """Unit quaternions (T, 4) of Blender's Euler angles (T, 3), listed x, y, z."""
    # Blender's "XYZ" turns about x first; the engine lists the axis that turns last first.
    return from_euler(angles[:, ["XYZ".index(letter) for letter in order[::-1]]], order[::-1])
