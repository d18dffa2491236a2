# SPDX-License-Identifier: GPL-3.0-or-later
"""Armatures: which bone is which joint, whether they can be baked, and world rotations as bone channels.

Bones are found by the model skeleton's joint names. A bone's rest orientation is arbitrary; the rest pose has to
be a T-pose, and which way it faces in the armature's own space is read from its hips, legs and head.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..nsm_blender.errors import RigError
from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.rotations import Array, from_matrix, make_continuous, normalize, to_matrix
from ..nsm_blender.motion.skeleton import MODEL_SKELETON, Skeleton
from . import actions, curves, euler

_LEG = ("LeftUpLeg", "LeftLeg", "LeftFoot")
_ROTATION_ATTRIBUTE = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}


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


@dataclass(frozen=True, eq=False)
class Rig:
    """An armature as the bake sees it.

    bones: the mapped bones and all above them, parents first. joints: for each model joint its index in `bones`.
    align: (3, 3) rotation from the armature's space to the model's frame in the rest pose. skeleton: the model
    skeleton with this armature's bone lengths, in metres. scale: its leg length over the model's, 1 when equal.
    offset_bones: bones whose location or scale is not at rest, which the bake keys back to rest.
    """

    name: str
    bones: tuple[Bone, ...]
    joints: tuple[int, ...]
    align: Array
    skeleton: Skeleton
    scale: float
    offset_bones: tuple[str, ...]

    def expected(self, motion: Motion) -> Array:
        """Joint places (T, J, 3) in world metres that the rig should reach: the motion at the rig's size."""
        if self.scale == 1.0 and np.allclose(self.skeleton.offsets[1:], MODEL_SKELETON.offsets[1:], atol=1e-4):
            return motion.positions
        return self.skeleton.positions(motion.positions[:, 0] * self.scale, motion.rotations)


def read(context: bpy.types.Context, obj: bpy.types.Object | None) -> Rig:
    """Describe the armature `obj`. Raises RigError with the reason when it cannot be baked."""
    if obj is None:
        raise RigError("No character is chosen; select an armature, or add one with 'Add Mannequin'.")
    if obj.type != "ARMATURE":
        raise RigError(f"'{obj.name}' is not an armature; select the character's armature.")
    _check_object(context, obj)
    names = _names_with_parents(obj)
    _check_bones(obj, names)
    _check_scale(obj)
    align = _alignment(obj)
    skeleton = _skeleton(context, obj, align)
    bones = tuple(_bone(obj, name, names) for name in names)
    # The world scale of the armature is in the skeleton's metres already.
    model, own = (sum(_length(s, joint) for joint in _LEG[1:]) for s in (MODEL_SKELETON, skeleton))
    scale = own / model if abs(own / model - 1) > 1e-3 else 1.0
    return Rig(
        name=obj.name,
        bones=bones,
        joints=tuple(names.index(joint) for joint in MODEL_SKELETON.names),
        align=align,
        skeleton=skeleton,
        scale=scale,
        offset_bones=tuple(n for n in MODEL_SKELETON.names if n != "Hips" and _is_offset(obj.pose.bones[n])),
    )


def world_matrices(context: bpy.types.Context, obj: bpy.types.Object, frames: Array) -> Array:
    """World matrix of the armature at each frame, (F, 4, 4); (1, 4, 4) when nothing moves it."""
    above = [obj]
    while above[-1].parent is not None:
        above.append(above[-1].parent)
    moving = any(o.constraints or (o.animation_data and (o is not obj or o.animation_data.drivers)) for o in above)
    if not moving:
        return np.array(obj.matrix_world, dtype=np.float64)[None]
    scene, frame, subframe = context.scene, context.scene.frame_current, context.scene.frame_subframe
    out = np.empty((len(frames), 4, 4))
    try:
        for i, at in enumerate(frames.tolist()):
            scene.frame_set(at)
            out[i] = obj.evaluated_get(context.evaluated_depsgraph_get()).matrix_world
    finally:
        scene.frame_set(frame, subframe=subframe)
    return out


def channels(rig: Rig, motion: Motion, world: Array, metres_per_unit: float) -> list[actions.Channel]:
    """The motion as bone channels: the location of Hips and the rotation of every mapped bone.

    world: (T or 1, 4, 4) world matrices of the armature, in Blender units. In the armature's space a bone has the
    rotation P = A^-1 R C M: A the armature's world rotation, R the joint's, C the alignment, M the bone's rest.
    Its channel is E^-1 P, with E the orientation that its parent gives it.
    """
    size = np.linalg.norm(world[:, :3, 0], axis=1)
    own = world[:, :3, :3] / size[:, None, None]
    own_inverse = own.transpose(0, 2, 1)
    rotations = to_matrix(normalize(motion.rotations.astype(np.float64)))
    hips = motion.positions[:, 0].astype(np.float64) * (rig.scale / metres_per_unit) - world[:, :3, 3]
    hips = np.einsum("tij,tj->ti", own_inverse, hips) / size[:, None]
    out: list[actions.Channel] = []
    poses: list[Array] = []
    places: list[Array] = []
    for bone in rig.bones:
        given, place, axes = from_parent(rig, bone, poses, places)
        if bone.joint < 0:
            poses.append(given @ bone.basis[:3, :3])
            places.append(place + axes @ bone.basis[:3, 3])
            continue
        pose = own_inverse @ rotations[:, bone.joint] @ (rig.align @ bone.rest[:3, :3])
        path = f'pose.bones["{bpy.utils.escape_identifier(bone.name)}"]'
        if bone.joint == 0:
            location = np.einsum("...ji,...j->...i", axes, hips - place)
            out.append(actions.Channel(f"{path}.location", location, bone.name))
        elif bone.name in rig.offset_bones:
            out.append(actions.Channel(f"{path}.location", np.zeros((len(motion), 3)), bone.name))
        if bone.name in rig.offset_bones:
            out.append(actions.Channel(f"{path}.scale", np.ones((len(motion), 3)), bone.name))
        local = from_matrix(np.swapaxes(given, -1, -2) @ pose)
        attribute = _ROTATION_ATTRIBUTE.get(bone.mode, "rotation_euler")
        out.append(actions.Channel(f"{path}.{attribute}", _in_mode(make_continuous(local), bone.mode), bone.name))
        poses.append(pose)
        places.append(place)
    return out


def from_parent(rig: Rig, bone: Bone, poses: list[Array], places: list[Array]) -> tuple[Array, Array, Array]:
    """Orientation, place and location axes that the parent's pose gives to `bone`, all in the armature's space."""
    rest = bone.rest[:3, :3]
    if bone.parent < 0:
        return rest, bone.rest[:3, 3], rest if bone.local_location else np.eye(3)
    parent = rig.bones[bone.parent]
    turned = poses[bone.parent] @ parent.rest[:3, :3].T
    place = places[bone.parent] + turned @ (bone.rest[:3, 3] - parent.rest[:3, 3])
    axes = turned @ rest if bone.local_location else poses[bone.parent]
    return (turned @ rest if bone.inherits_rotation else rest), place, axes


def _in_mode(q: Array, mode: str) -> Array:
    """Quaternions (T, 4) as the channels of a rotation mode."""
    if mode == "QUATERNION":
        return q
    if mode == "AXIS_ANGLE":
        sine = np.linalg.norm(q[:, 1:], axis=1)
        axis = np.where(sine[:, None] > 1e-7, q[:, 1:] / np.maximum(sine, 1e-7)[:, None], [0.0, 1.0, 0.0])
        return np.column_stack((2 * np.arctan2(sine, q[:, 0]), axis))
    return euler.from_quaternions(q, mode)


def _check_object(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    override = obj.override_library
    if obj.library is not None or (override is not None and override.is_system_override):
        raise RigError(f"'{obj.name}' is linked from another file; make a library override of it first.")
    if obj.mode == "EDIT":
        raise RigError(f"'{obj.name}' is in edit mode; leave it (Tab) before baking.")
    if not obj.evaluated_get(context.evaluated_depsgraph_get()).is_evaluated:
        raise RigError(f"'{obj.name}' is disabled in viewports or its collection is; enable it.")
    if obj.data.pose_position == "REST":
        raise RigError(f"'{obj.name}' shows its rest position; switch its armature to Pose Position.")


def _names_with_parents(obj: bpy.types.Object) -> list[str]:
    """The mapped bones and all bones above them, parents first. Raises RigError when some are missing."""
    bones = obj.data.bones
    missing = [name for name in MODEL_SKELETON.names if name not in bones]
    if missing:
        listed = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise RigError(
            f"'{obj.name}' lacks the bones {listed}; bones have to be named as in the character of 'Add Character'."
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


def _check_scale(obj: bpy.types.Object) -> None:
    world = np.array(obj.matrix_world, dtype=np.float64)[:3, :3]
    lengths = np.linalg.norm(world, axis=0)
    if lengths.min() < 1e-9:
        raise RigError(f"'{obj.name}' has a scale of zero; give it a scale.")
    if np.abs((world / lengths).T @ (world / lengths) - np.eye(3)).max() > 1e-3:
        raise RigError(f"'{obj.name}' is sheared by a parent's scale; apply the scales first (Ctrl+A).")
    if lengths.max() / lengths.min() > 1.001:
        raise RigError(f"'{obj.name}' is not scaled evenly; apply its scale first (Ctrl+A).")
    if np.linalg.det(world) < 0:
        raise RigError(f"'{obj.name}' is mirrored by a negative scale; apply its scale first (Ctrl+A).")


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
    """The model skeleton with this armature's bone lengths in metres."""
    size = float(np.linalg.norm(np.array(obj.matrix_world)[:3, 0])) * curves.metres_per_unit(context.scene)
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
