# SPDX-License-Identifier: GPL-3.0-or-later
"""A control rig as a game takes it: a copy for an export that has only the bones that move the mesh.

An exporter keeps the bones above those that deform, which in a rig of controls are most of its mechanism.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import bpy

from ..nsm_blender.errors import RigError

_ORIGINAL, _DEFORM = "ORG-", "DEF-"
"""Beginnings of the names of Rigify's copies of a bone: the one that its controls move, and the one for the mesh."""


def hierarchy(armature: bpy.types.Armature) -> dict[str, str | None] | None:
    """Each bone that a game needs, and the one above it; None where an exporter finds the same by itself.

    Needed are those that deform, and a bone above all of them, which moves over the ground.
    """
    deforming = [bone for bone in armature.bones if bone.use_deform]
    above = {other for bone in deforming for other in bone.parent_recursive} - set(deforming)
    if all(bone.parent is None for bone in above):
        return None
    names = {bone.name for bone in deforming}
    roots = {bone.parent_recursive[-1] for bone in deforming if bone.parent is not None}
    carrier = roots.pop().name if len(roots) == 1 else None
    out: dict[str, str | None] = {} if carrier is None or carrier in names else {carrier: None}
    out |= {bone.name: _above(bone, names) or carrier for bone in deforming}
    return {name: None if parent == name else parent for name, parent in out.items()}


def _above(bone: bpy.types.Bone, deforming: set[str]) -> str | None:
    """The deforming bone on which another one hangs, through the bones between."""
    for other in bone.parent_recursive:
        twin = other.name.replace(_ORIGINAL, _DEFORM, 1) if other.name.startswith(_ORIGINAL) else other.name
        if twin in deforming and twin != bone.name and not _hangs_on(bone.id_data.bones[twin], bone):
            return str(twin)
    return None


def _hangs_on(bone: bpy.types.Bone, other: bpy.types.Bone) -> bool:
    return other in bone.parent_recursive


@contextmanager
def lean(
    context: bpy.types.Context, scene: bpy.types.Scene, rig: bpy.types.Object, meshes: Sequence[bpy.types.Object]
) -> Iterator[tuple[bpy.types.Object, list[bpy.types.Object]]]:
    """The rig and its meshes for an export from `scene`: copies of which the rig has only the needed bones and follows
    the original; or the originals, where nothing is to be left out."""
    assert isinstance(rig.data, bpy.types.Armature)
    wanted = hierarchy(rig.data)
    if wanted is None:
        yield rig, list(meshes)
        return
    copies: list[bpy.types.Object] = []
    data: list[bpy.types.ID] = []
    try:
        copy = rig.copy()
        copies.append(copy)
        copy.data = rig.data.copy()
        data.append(copy.data)
        copy.animation_data_clear()
        copy.data.animation_data_clear()
        scene.collection.objects.link(copy)
        _rebuild(context, scene, copy, wanted)
        scene.collection.objects.unlink(copy)
        for bone in copy.pose.bones:
            for constraint in list(bone.constraints):
                bone.constraints.remove(constraint)
            follow = bone.constraints.new("COPY_TRANSFORMS")
            assert isinstance(follow, bpy.types.CopyTransformsConstraint)
            follow.target, follow.subtarget = rig, bone.name
        for mesh in meshes:
            twin = mesh.copy()
            copies.append(twin)
            for modifier in twin.modifiers:
                if isinstance(modifier, bpy.types.ArmatureModifier) and modifier.object == rig:
                    modifier.object = copy
            if twin.parent == rig and (twin.parent_type != "BONE" or twin.parent_bone in wanted):
                twin.parent = copy
        yield copy, copies[1:]
    finally:
        bpy.data.batch_remove([*copies, *data])


def _rebuild(
    context: bpy.types.Context, scene: bpy.types.Scene, copy: bpy.types.Object, wanted: dict[str, str | None]
) -> None:
    """Leave the wanted bones, with the wanted bones above them. Edit mode wants the scene to be that of the window."""
    window = context.window
    if window is None:
        raise RigError(f"The bones of '{copy.name}' can be prepared for export only while Blender has a window.")
    user = window.scene
    try:
        window.scene = scene
        layer = scene.view_layers[0]
        layer.update()
        layer.objects.active = copy
        bpy.ops.object.mode_set(mode="EDIT")
        bones = copy.data.edit_bones
        for bone in bones:
            bone.use_connect = False
        for name, parent in wanted.items():
            bones[name].parent = None if parent is None else bones[parent]
        for bone in list(bones):
            if bone.name not in wanted:
                bones.remove(bone)
        for collection in copy.data.collections_all:
            collection.is_visible = True
        bpy.ops.object.mode_set(mode="OBJECT")
        for name in wanted:
            copy.data.bones[name].use_deform = True
    finally:
        window.scene = user
