# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs whose bones are named as the model's joints, such as the bundled character: they need no binding.

A bone's rest orientation is arbitrary; the rest pose has to be a T-pose, and which way it faces in the armature's own
space is read from its hips, legs and head. Such a rig takes the motion exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..nsm_blender.errors import RigError
from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.rotations import (
    Array,
    conjugate,
    from_matrix,
    make_continuous,
    multiply,
    normalize,
    rotate,
    to_matrix,
)
from ..nsm_blender.motion.skeleton import MODEL_SKELETON, Skeleton
from ..nsm_blender.stepwise import Stepwise, by_frames
from . import actions, curves
from .rig import Rig, Values, bone_path, in_mode, orientations, rotation_attribute

_LEG = ("LeftUpLeg", "LeftLeg", "LeftFoot")


@dataclass(frozen=True, eq=False)
class Bone:
    """What decides how a bone's channels move it. rest, basis: (4, 4); basis is the pose of an unmapped bone."""

    name: str
    parent: int
    joint: int
    """Index of the model joint, or -1 for an unmapped bone above a mapped one."""
    rest: Array
    basis: Array
    inherits_rotation: bool
    local_location: bool
    mode: str


class ModelRig(Rig):
    """An armature that has the model's joints.

    chain: the mapped bones and all above them, parents first. align: (3, 3) rotation from the armature's space to the
    model's frame in the rest pose. skeleton: the model skeleton with this armature's bone lengths, in meters.
    offset_bones: bones whose location or scale is not at rest, which the bake keys back to rest.
    """

    def __init__(
        self,
        name: str,
        chain: tuple[Bone, ...],
        align: Array,
        skeleton: Skeleton,
        scale: float,
        offset_bones: tuple[str, ...],
    ) -> None:
        super().__init__(name, scale, MODEL_SKELETON.names, MODEL_SKELETON.names)
        self.chain, self.align, self.skeleton, self.offset_bones = chain, align, skeleton, offset_bones
        indices = {bone.joint: index for index, bone in enumerate(chain) if bone.joint >= 0}
        self._rests = np.stack([align @ chain[indices[joint]].rest[:3, :3] for joint in range(len(MODEL_SKELETON))])
        self._hips = indices[0]

    def expected(self, motion: Motion) -> Array:
        """The motion at the rig's size."""
        motion = self.shown(motion)
        if self.scale == 1.0 and np.allclose(self.skeleton.offsets[1:], MODEL_SKELETON.offsets[1:], atol=1e-4):
            return motion.positions
        return self.skeleton.positions(motion.positions[:, 0] * self.scale, motion.rotations)

    def wanted(self, motion: Motion, at: Array) -> tuple[Array, Array]:
        """The bones' heads are the joints."""
        rotations = self.shown(motion).rotations[at].astype(np.float64)
        return self.expected(motion)[at], rotate(
            rotations, np.broadcast_to(self._rests[:, :, 1], (*rotations.shape[:2], 3))
        )

    def joints(self, heads: Array, _motion: Motion, _at: Array) -> Array:
        """The bones' heads are the joints."""
        return heads

    def keying(self, motion: Motion, world: Array, meters: float) -> Stepwise[list[actions.Channel]]:
        """The location of Hips and the rotation of every mapped bone.

        In the armature's space a bone has the rotation P = A^-1 R C M: A the armature's world rotation, R the
        joint's, C the alignment, M the bone's rest. Its channel is E^-1 P, with E the orientation that its parent
        gives it.
        """
        motion = self.shown(motion)
        size = np.linalg.norm(world[:, :3, 0], axis=1)
        own_inverse = (world[:, :3, :3] / size[:, None, None]).transpose(0, 2, 1)
        rotations = yield from by_frames(
            lambda turned: to_matrix(normalize(turned.astype(np.float64))), motion.rotations
        )
        hips = motion.positions[:, 0].astype(np.float64) * (self.scale / meters) - world[:, :3, 3]
        hips = np.einsum("tij,tj->ti", own_inverse, hips) / size[:, None]
        out: list[actions.Channel] = []
        poses: list[Array] = []
        places: list[Array] = []
        for bone in self.chain:
            yield
            given, place, axes = self._from_parent(bone, poses, places)
            if bone.joint < 0:
                poses.append(given @ bone.basis[:3, :3])
                places.append(place + axes @ bone.basis[:3, 3])
                continue
            pose = own_inverse @ rotations[:, bone.joint] @ self._rests[bone.joint]
            path = bone_path(bone.name)
            if bone.joint == 0:
                location = np.einsum("...ji,...j->...i", axes, hips - place)
                out.append(actions.Channel(f"{path}.location", location, bone.name))
            elif bone.name in self.offset_bones:
                out.append(actions.Channel(f"{path}.location", np.zeros((len(motion), 3)), bone.name))
            if bone.name in self.offset_bones:
                out.append(actions.Channel(f"{path}.scale", np.ones((len(motion), 3)), bone.name))
            local = from_matrix(np.swapaxes(given, -1, -2) @ pose)
            values = in_mode(make_continuous(local), bone.mode)
            out.append(actions.Channel(f"{path}.{rotation_attribute(bone.mode)}", values, bone.name))
            poses.append(pose)
            places.append(place)
        return out

    def posed(self, evaluated: bpy.types.Object, meters: float) -> tuple[Array, Array]:
        """Hips and the bones' orientations."""
        world = np.array(evaluated.matrix_world, dtype=np.float64)
        hips = np.array(evaluated.pose.bones["Hips"].head, dtype=np.float64)
        return (world[:3, :3] @ hips + world[:3, 3]) * meters, orientations(evaluated, self.bones)

    def recovering(self, places: Array, rotations: Array, _fps: float) -> Stepwise[tuple[Array, Array]]:
        """Each joint turned as its bone is against the rest pose."""
        back = conjugate(from_matrix(self._rests))
        return places / self.scale, (yield from by_frames(lambda turned: multiply(turned, back), rotations))

    def needs_playing(self, _obj: bpy.types.Object, _paths: list[str]) -> bool:
        """Constraints and drivers were refused."""
        return False

    def posing_by_keys(
        self, obj: bpy.types.Object, values: Values, world: Array, meters: float
    ) -> Stepwise[tuple[Array, Array]]:
        """Down the chain of bones."""
        poses: list[Array] = []
        places: list[Array] = []
        rotations: list[Array] = [np.empty(0)] * len(MODEL_SKELETON)
        own = world[:, :3, :3] / np.linalg.norm(world[:, :3, 0], axis=1)[:, None, None]
        connected = {bone.name for bone in obj.data.bones if bone.use_connect}
        for bone in self.chain:
            yield
            given, place, axes = self._from_parent(bone, poses, places)
            turned = given @ to_matrix(values.rotation(bone.name))
            if bone.name not in connected:
                place = place + np.einsum("...ij,...j->...i", axes, values.vector(bone.name, "location"))
            poses.append(turned)
            places.append(place)
            if bone.joint >= 0:
                rotations[bone.joint] = from_matrix(own @ turned)
        count = len(values)
        hips = np.broadcast_to(places[self._hips], (count, 3))
        hips = np.einsum("tij,tj->ti", np.broadcast_to(world[:, :3, :3], (count, 3, 3)), hips) + world[:, :3, 3]
        return hips * meters, np.stack([np.broadcast_to(q, (count, 4)) for q in rotations], axis=1)

    def _from_parent(self, bone: Bone, poses: list[Array], places: list[Array]) -> tuple[Array, Array, Array]:
        """Orientation, place and location axes that the parent's pose gives to `bone`, all in the armature's space."""
        rest = bone.rest[:3, :3]
        if bone.parent < 0:
            return rest, bone.rest[:3, 3], rest if bone.local_location else np.eye(3)
        parent = self.chain[bone.parent]
        turned = poses[bone.parent] @ parent.rest[:3, :3].T
        place = places[bone.parent] + turned @ (bone.rest[:3, 3] - parent.rest[:3, 3])
        axes = turned @ rest if bone.local_location else poses[bone.parent]
        return (turned @ rest if bone.inherits_rotation else rest), place, axes


def read(context: bpy.types.Context, obj: bpy.types.Object) -> ModelRig:
    """Describe the armature `obj`. Raises RigError with the reason when it cannot be baked."""
    names = _names_with_parents(obj)
    _check_bones(obj, names)
    align = _alignment(obj)
    skeleton = _skeleton(context, obj, align)
    # The world scale of the armature is in the skeleton's meters already.
    model, own = (sum(_length(s, joint) for joint in _LEG[1:]) for s in (MODEL_SKELETON, skeleton))
    return ModelRig(
        name=obj.name,
        chain=tuple(_bone(obj, name, names) for name in names),
        align=align,
        skeleton=skeleton,
        scale=own / model if abs(own / model - 1) > 1e-3 else 1.0,
        offset_bones=tuple(n for n in MODEL_SKELETON.names if n != "Hips" and _is_offset(obj.pose.bones[n])),
    )


def _names_with_parents(obj: bpy.types.Object) -> list[str]:
    """The mapped bones and all bones above them, parents first. Raises RigError when some are missing."""
    bones = obj.data.bones
    missing = [name for name in MODEL_SKELETON.names if name not in bones]
    if missing:
        listed = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise RigError(
            f"'{obj.name}' lacks the bones {listed}; press Bind to tell which of its bones are which joints."
        )
    needed = set(MODEL_SKELETON.names)
    for joint, parent in enumerate(MODEL_SKELETON.parents):
        bone, name = bones[MODEL_SKELETON.names[joint]].parent, MODEL_SKELETON.names[joint]
        while bone is not None and bone.name not in MODEL_SKELETON.names:
            needed.add(bone.name)
            bone = bone.parent
        found, wanted = bone.name if bone else None, MODEL_SKELETON.names[parent] if parent >= 0 else None
        if found != wanted:
            place = f"below '{wanted}'" if wanted else "above all others"
            raise RigError(f"The bone '{name}' of '{obj.name}' is not {place}; correct its parent.")
    return [bone.name for bone in bones if bone.name in needed]  # Blender lists parents first


def _check_bones(obj: bpy.types.Object, names: list[str]) -> None:
    """Raise RigError for a bone among `names` that keys would not move as they say."""
    animation = obj.animation_data
    driven = [curve.data_path for curve in animation.drivers] if animation else []
    for name in names:
        bone = obj.pose.bones[name]
        for constraint in bone.constraints:
            if not constraint.mute and constraint.influence > 0:
                raise RigError(
                    f"The bone '{name}' of '{obj.name}' has the constraint '{constraint.name}'; mute it before baking."
                )
        if any(f'["{name}"]' in path for path in driven):
            raise RigError(f"The bone '{name}' of '{obj.name}' has a driver; remove it before baking.")
        locked = any(bone.lock_rotation) or (bone.lock_rotations_4d and bone.lock_rotation_w)
        if name in MODEL_SKELETON.names and (locked or (name == "Hips" and any(bone.lock_location))):
            what = "rotation" if locked else "location"
            raise RigError(f"The bone '{name}' of '{obj.name}' has a locked {what}; unlock it before baking.")
    hips = obj.data.bones["Hips"]
    if hips.parent is not None and hips.use_connect:
        raise RigError(f"The bone 'Hips' of '{obj.name}' is connected to its parent and cannot move; disconnect it.")
    while (hips := hips.parent) is not None:
        if not np.allclose(np.array(obj.pose.bones[hips.name].scale), 1.0, atol=1e-5):
            raise RigError(f"The bone '{hips.name}' of '{obj.name}' is scaled in the pose; clear its scale (Alt+S).")


def _alignment(obj: bpy.types.Object) -> Array:
    """Rotation (3, 3) from the armature's space to the model's frame: left to +x, up to +z, rounded to right angles.

    Rounded, because hips and head of a figure that stands straight are seldom exactly above each other.
    """
    heads = {name: np.array(obj.data.bones[name].head_local) for name in MODEL_SKELETON.names}
    left = heads["LeftUpLeg"] - heads["RightUpLeg"]
    up = heads["Head"] - 0.5 * (heads["LeftFoot"] + heads["RightFoot"])
    rows = []
    for direction in (left, up):
        axis = int(np.argmax(np.abs(direction)))
        rows.append(np.sign(direction[axis]) * np.eye(3)[axis])
    if abs(rows[0] @ rows[1]) > 0.5 or np.linalg.norm(left) < 1e-9:
        raise RigError(f"The rest pose of '{obj.name}' is not a standing figure; correct its rest pose.")
    return np.stack((rows[0], np.cross(rows[1], rows[0]), rows[1]))


def _skeleton(context: bpy.types.Context, obj: bpy.types.Object, align: Array) -> Skeleton:
    """The model skeleton with this armature's bone lengths in meters."""
    size = float(np.linalg.norm(np.array(obj.matrix_world)[:3, 0])) * curves.meters_per_unit(context.scene)
    heads = np.array([obj.data.bones[name].head_local for name in MODEL_SKELETON.names], dtype=np.float64)
    heads = heads @ align.T * size
    offsets = heads - heads[[max(parent, 0) for parent in MODEL_SKELETON.parents]]
    return Skeleton(MODEL_SKELETON.names, MODEL_SKELETON.parents, offsets)


def _length(skeleton: Skeleton, joint: str) -> float:
    return float(np.linalg.norm(skeleton.offsets[skeleton.index(joint)]))


def _bone(obj: bpy.types.Object, name: str, names: list[str]) -> Bone:
    bone = obj.data.bones[name]
    pose = obj.pose.bones[name]
    return Bone(
        name=name,
        parent=names.index(bone.parent.name) if bone.parent else -1,
        joint=MODEL_SKELETON.names.index(name) if name in MODEL_SKELETON.names else -1,
        rest=np.array(bone.matrix_local, dtype=np.float64),
        basis=np.array(pose.matrix_basis, dtype=np.float64),
        inherits_rotation=bone.use_inherit_rotation,
        local_location=bone.use_local_location,
        mode=pose.rotation_mode,
    )


def _is_offset(bone: bpy.types.PoseBone) -> bool:
    return not (
        np.allclose(np.array(bone.location), 0.0, atol=1e-6) and np.allclose(np.array(bone.scale), 1.0, atol=1e-6)
    )
