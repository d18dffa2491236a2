# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bake, an edit and a measurement need to know of a character, whatever its armature is like."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..nsm_blender.motion.blending import Pose, blended
from ..nsm_blender.motion.foot_lock import Heights
from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.rotations import Array, from_matrix
from ..nsm_blender.rigging.body_measure import BodyMeasure
from ..nsm_blender.rigging.fingers import FingerBone, FingerPose, finger_rotations
from ..nsm_blender.stepwise import Stepwise
from . import actions, euler

_EXACT = 0.001
"""Meters by which a rig whose bones have keys of their own may miss a pose; float32 explains a tenth of that."""
_ROTATION_ATTRIBUTE = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}


@dataclass(frozen=True, eq=False)
class Blends:
    """Poses that a motion begins and ends in, and over how many frames; see `blending.blended`."""

    start: Pose | None = None
    frames_in: int = 0
    end: Pose | None = None
    frames_out: int = 0


@dataclass(frozen=True, eq=False)
class Fingers:
    """How the fingers of a character are posed. modes: bone -> its rotation mode."""

    bones: tuple[FingerBone, ...]
    pose: FingerPose
    modes: dict[str, str]

    def channels(self, motion: Motion) -> list[actions.Channel]:
        """Rotations of the fingers' bones over the motion, which tells when hands hold something."""
        turned = finger_rotations(self.bones, self.pose, motion)
        return [
            actions.Channel(f"{bone_path(name)}.{rotation_attribute(mode)}", in_mode(turned[name], mode), name)
            for name, mode in self.modes.items()
        ]


class Rig:
    """An armature that can be animated.

    name: of its object. scale: its leg length over the model's; the scene is divided by it for the engine, which
    knows one size. bones: B names of the bones whose rotations make its pose, the one that carries the body first.
    measured: M names of the bones by which a bake is measured. blends: what motions are blended with. fingers: how the
    fingers are posed, None where they are left alone. notes: what keeps the rig from holding a pose exactly.
    body_radii: of its capsules, see `Shot`.
    """

    def __init__(self, name: str, scale: float, bones: tuple[str, ...], measured: tuple[str, ...]) -> None:
        self.name, self.scale, self.bones, self.measured = name, scale, bones, measured
        self.blends = Blends()
        self.fingers: Fingers | None = None
        self.notes: list[str] = []
        self.body_radii: tuple[float, ...] = ()
        self._blended: tuple[Motion, Motion] | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """The bones without which neither keys nor measurements make sense."""
        return tuple(dict.fromkeys((*self.bones, *self.measured, *self.finger_bones)))

    @property
    def finger_bones(self) -> tuple[str, ...]:
        """The bones of fingers that get keys."""
        return () if self.fingers is None else tuple(bone.name for bone in self.fingers.bones)

    @property
    def slack(self) -> float:
        """Meters by which the rig itself may miss a pose: without bound where something is locked or limited."""
        return float("inf") if self.notes else _EXACT

    def shown(self, motion: Motion) -> Motion:
        """The motion as this rig shows it: blended with the poses that it begins and ends in."""
        if self._blended is None or self._blended[0] is not motion:
            b = self.blends
            self._blended = (motion, blended(motion, b.start, b.frames_in, b.end, b.frames_out))
        return self._blended[1]

    def expected(self, motion: Motion) -> Array:
        """Places (T, J, 3) in world meters at which the model's joints are to be."""
        raise NotImplementedError

    def wanted(self, motion: Motion, at: Array) -> tuple[Array, Array]:
        """Places (N, M, 3) in world meters of the heads of the measured bones at frames (N,), and their directions
        (N, M, 3)."""
        raise NotImplementedError

    def joints(self, heads: Array, motion: Motion, at: Array) -> Array:
        """Places (N, J, 3) of the model's joints, where the measured bones' heads are at (N, M, 3).

        at: (N,) frames of `motion`, which says where joints are that the rig lacks.
        """
        raise NotImplementedError

    def body_measure(
        self, motion: Motion, at: Array, heads: Array, rotations: Array, ground: Heights | None = None
    ) -> BodyMeasure | None:
        """What the mesh does at frames (N,) of the motion, where the measured bones' heads are at (N, M, 3) with world
        orientations (N, M, 4); None where no mesh is known. ground: heights in meters under places (N, P, 2), where
        the floor is not level."""
        return None

    def keying(self, motion: Motion, world: Array, meters: float) -> Stepwise[list[actions.Channel]]:
        """The motion as keys, in pieces of work. world: (T or 1, 4, 4) of the armature in Blender units, of which one
        is `meters` long."""
        raise NotImplementedError

    def posed(self, evaluated: bpy.types.Object, meters: float) -> tuple[Array, Array]:
        """Place of the first bone (3,) in world meters and orientations (B, 4) of all, as Blender shows them now."""
        raise NotImplementedError

    def recovering(self, places: Array, rotations: Array, fps: float) -> Stepwise[tuple[Array, Array]]:
        """Hips (F, 3) and rotations (F, J, 4) of the model, at its size, from what `posed` returned, in pieces of
        work."""
        raise NotImplementedError

    def needs_playing(self, obj: bpy.types.Object, paths: list[str]) -> bool:
        """Whether keys of the properties `paths` do not tell by themselves how the bones move."""
        raise NotImplementedError

    def posing_by_keys(
        self, obj: bpy.types.Object, values: Values, world: Array, meters: float
    ) -> Stepwise[tuple[Array, Array] | None]:
        """As `posed` for all frames, (F, 3) and (F, B, 4), from the keys alone; None where they do not tell. In pieces
        of work, of which only the first touches `obj`."""
        raise NotImplementedError


class Values:
    """The channels of bones over F frames."""

    def __len__(self) -> int:
        raise NotImplementedError

    def vector(self, bone: str, attribute: str) -> Array:
        """A property of a bone, (F, components), or (1, components) when it is not animated."""
        raise NotImplementedError

    def rotation(self, bone: str) -> Array:
        """The bone's own rotation (F or 1, 4) as unit quaternions."""
        raise NotImplementedError


def orientations(evaluated: bpy.types.Object, names: tuple[str, ...]) -> Array:
    """World orientations (B, 4) of bones' own axes in an evaluated armature."""
    world = np.array(evaluated.matrix_world, dtype=np.float64)[:3, :3]
    posed = np.array([evaluated.pose.bones[name].matrix.to_3x3() for name in names], dtype=np.float64)
    turned = world @ posed
    return from_matrix(turned / np.linalg.norm(turned, axis=-2, keepdims=True))


def bone_path(name: str) -> str:
    """Path of a pose bone from its object."""
    return f'pose.bones["{bpy.utils.escape_identifier(name)}"]'


def rotation_attribute(mode: str) -> str:
    """The property that holds a rotation of this mode."""
    return _ROTATION_ATTRIBUTE.get(mode, "rotation_euler")


def in_mode(q: Array, mode: str) -> Array:
    """Quaternions (T, 4) as the channels of a rotation mode."""
    if mode == "QUATERNION":
        return q
    if mode == "AXIS_ANGLE":
        sine = np.linalg.norm(q[:, 1:], axis=1)
        axis = np.where(sine[:, None] > 1e-7, q[:, 1:] / np.maximum(sine, 1e-7)[:, None], [0.0, 1.0, 0.0])
        return np.column_stack((2 * np.arctan2(sine, q[:, 0]), axis))
    return euler.from_quaternions(q, mode)
