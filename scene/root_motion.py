# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the motion over the ground goes in an export: a bone, the object, or nowhere.

The character is copied with keys of its own, so that any exporter writes the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np
from mathutils import Matrix

from ..nsm_blender.errors import RigError
from ..nsm_blender.motion.filters import gaussian
from ..nsm_blender.motion.root import FACING_SMOOTHING
from ..nsm_blender.motion.rotations import Array
from . import actions

ITEMS = (
    ("KEEP", "As Animated", "Leave the motion over the ground on the bones that have it"),
    ("BONE", "Root Bone", "Put it on a bone 'root' above all others; for Unreal Engine that is the armature"),
    ("OBJECT", "Object", "Put it on the armature object"),
    ("NONE", "In Place", "Take it away: the character stays and turns where it is at the first frame"),
)
"""Choices of an export, as Blender's enums want them."""
ROOT = "root"
"""Name of the bone that is added."""
_ROOT_LENGTH = 0.2
"""Length of the added bone in the armature's units, to be seen beside feet."""


def moves_object(armature: bpy.types.Object) -> bool:
    """Whether keys move the object itself, not only its bones."""
    return any(curve.data_path in {"location", "rotation_quaternion"} for curve in actions.of(armature))


@contextmanager
def moved_to(
    context: bpy.types.Context,
    scene: bpy.types.Scene,
    armature: bpy.types.Object,
    meshes: Sequence[bpy.types.Object],
    root: str,
    *,
    sampled: bool,
    in_world: bool,
) -> Iterator[tuple[bpy.types.Object, list[bpy.types.Object]]]:
    """The armature and its meshes with the motion over the ground where `root` wants it.

    They are copies, or themselves where nothing is to be changed and no keys of their own are needed (`sampled`).
    in_world: the copy's object has no transform, so that its bones are where they are in the world.
    """
    if root == "KEEP" and not sampled:
        yield armature, list(meshes)
        return
    copies: list[bpy.types.Object] = []
    data: list[bpy.types.ID] = []
    try:
        frames = np.arange(scene.frame_start, scene.frame_end + 1)
        worlds, poses = _sampled(scene, armature, frames)
        copy = armature.copy()
        copies.append(copy)
        copy.data = armature.data.copy()
        data.append(copy.data)
        _set_free(copy)
        ground = _ground(worlds, poses, armature, scene)
        if in_world:
            copy.data.transform(worlds[0])
            poses = [{n: w @ m for n, m in pose.items()} for w, pose in zip(worlds, poses, strict=True)]
            worlds = [Matrix()] * len(worlds)
        if root == "BONE":
            _add_root(context, scene, copy)
        data.append(_key(copy, frames, worlds, poses, ground, root))
        for mesh in meshes:
            twin = mesh.copy()
            copies.append(twin)
            for modifier in twin.modifiers:
                if isinstance(modifier, bpy.types.ArmatureModifier) and modifier.object == armature:
                    modifier.object = copy
            if twin.parent == armature:
                twin.parent = copy
        yield copy, copies[1:]
    finally:
        bpy.data.batch_remove([*copies, *data])


def _sampled(
    scene: bpy.types.Scene, armature: bpy.types.Object, frames: Array
) -> tuple[list[Matrix], list[dict[str, Matrix]]]:
    """The armature's matrix in the world, and those of its bones in the armature, in each frame."""
    scene.collection.objects.link(armature)
    worlds, poses = [], []
    try:
        layer = scene.view_layers[0]
        for frame in frames:
            scene.frame_set(int(frame))
            layer.update()
            evaluated = armature.evaluated_get(layer.depsgraph)
            worlds.append(evaluated.matrix_world.copy())
            poses.append({bone.name: bone.matrix.copy() for bone in evaluated.pose.bones})
    finally:
        scene.collection.objects.unlink(armature)
    return worlds, poses


def _set_free(copy: bpy.types.Object) -> None:
    """Nothing but its own keys moves the copy."""
    copy.animation_data_clear()
    copy.data.animation_data_clear()
    copy.constraints.clear()
    copy.parent = None
    copy.matrix_parent_inverse.identity()
    copy.rotation_mode = "QUATERNION"
    for bone in copy.pose.bones:
        bone.rotation_mode = "QUATERNION"
        for constraint in list(bone.constraints):
            bone.constraints.remove(constraint)


def _ground(
    worlds: list[Matrix], poses: list[dict[str, Matrix]], armature: bpy.types.Object, scene: bpy.types.Scene
) -> list[Matrix]:
    """The motion over the ground from the first frame on: that of the bone on which most others hang, without what
    leaves the ground, its turn smoothed."""
    bones = armature.data.bones
    carrier = max((bone for bone in bones if bone.parent is None), key=lambda bone: len(bone.children_recursive))
    carried = [world @ pose[carrier.name] for world, pose in zip(worlds, poses, strict=True)]
    yaws = []
    for matrix in carried:
        turn = matrix.to_quaternion() @ carried[0].to_quaternion().inverted()
        yaws.append(2 * np.arctan2(turn.z, turn.w))  # the twist about the vertical
    fps = scene.render.fps / scene.render.fps_base
    turned = gaussian(np.unwrap(np.array(yaws)), FACING_SMOOTHING * fps)
    begin = carried[0].translation
    out = []
    for matrix, yaw in zip(carried, turned - turned[0], strict=True):
        place = matrix.translation
        about = Matrix.Translation((begin.x, begin.y, 0))
        out.append(
            Matrix.Translation((place.x - begin.x, place.y - begin.y, 0))
            @ about
            @ Matrix.Rotation(float(yaw), 4, "Z")
            @ about.inverted()
        )
    return out


def _add_root(context: bpy.types.Context, scene: bpy.types.Scene, copy: bpy.types.Object) -> None:
    """Put the root bone above all others, where the armature's origin is."""
    bones = copy.data.bones
    if ROOT in bones and bones[ROOT].parent is None:
        return
    window = context.window
    if window is None:
        raise RigError(f"A root bone can be added to '{copy.name}' only while Blender has a window.")
    user = window.scene
    scene.collection.objects.link(copy)
    try:
        window.scene = scene
        layer = scene.view_layers[0]
        layer.update()
        layer.objects.active = copy
        bpy.ops.object.mode_set(mode="EDIT")
        added = copy.data.edit_bones.new(ROOT)
        added.head, added.tail = (0, 0, 0), (0, _ROOT_LENGTH, 0)
        for bone in copy.data.edit_bones:
            if bone.parent is None and bone != added:
                bone.use_connect = False
                bone.parent = added
        bpy.ops.object.mode_set(mode="OBJECT")
        copy.pose.bones[ROOT].rotation_mode = "QUATERNION"
    finally:
        window.scene = user
        scene.collection.objects.unlink(copy)


def _key(
    copy: bpy.types.Object,
    frames: Array,
    worlds: list[Matrix],
    poses: list[dict[str, Matrix]],
    ground: list[Matrix],
    root: str,
) -> bpy.types.Action:
    """Key the copy in each frame. Returns its action."""
    count = len(frames)
    objects = [moved @ worlds[0] if root == "OBJECT" else worlds[0] for moved in ground]
    basis = {bone.name: np.empty((count, 10)) for bone in copy.pose.bones}
    rest = {bone.name: bone.bone.matrix_local for bone in copy.pose.bones}
    for number in range(count):
        back = ground[number].inverted() if root == "NONE" else Matrix()
        here = objects[number].inverted() @ back @ worlds[number]
        pose = {name: here @ matrix for name, matrix in poses[number].items()}
        if root == "BONE":
            pose[ROOT] = objects[number].inverted() @ ground[number] @ objects[number] @ rest[ROOT]
        for bone in copy.pose.bones:
            above = bone.parent
            local = bone.bone.convert_local_to_pose(
                pose[bone.name],
                rest[bone.name],
                parent_matrix=pose[above.name] if above else Matrix(),
                parent_matrix_local=rest[above.name] if above else Matrix(),
                invert=True,
            )
            place, turn, scale = local.decompose()
            basis[bone.name][number] = (*place, *turn, *scale)
    channels = []
    if root == "OBJECT":
        placed = np.array([(*matrix.to_translation(), *matrix.to_quaternion()) for matrix in objects])
        channels.append(actions.Channel("location", placed[:, :3], "Object"))
        channels.append(actions.Channel("rotation_quaternion", _continuous(placed[:, 3:]), "Object"))
    copy.location, copy.rotation_quaternion, copy.scale = objects[0].decompose()
    for name, values in basis.items():
        path = f'pose.bones["{bpy.utils.escape_identifier(name)}"]'
        channels.append(actions.Channel(f"{path}.location", values[:, :3], name))
        channels.append(actions.Channel(f"{path}.rotation_quaternion", _continuous(values[:, 3:7]), name))
        channels.append(actions.Channel(f"{path}.scale", values[:, 7:], name))
    action = actions.begin(copy, "Export")
    actions.write(copy, action, frames, channels)
    return action


def _continuous(turns: Array) -> Array:
    """Quaternions (T, 4) of which each is the nearer of two to the one before."""
    flips = np.where(np.sum(turns[1:] * turns[:-1], axis=1) < 0, -1.0, 1.0)
    out: Array = turns * np.concatenate(([1.0], np.cumprod(flips)))[:, None]
    return out
