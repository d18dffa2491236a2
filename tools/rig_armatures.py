# SPDX-License-Identifier: GPL-3.0-or-later
"""Test rigs as armatures in Blender: those of `nsm_blender.evaluation.rigs`, and Rigify's own from the add-on."""
# The objects that are added are armatures, and the stubs call the context's active object optional:
# mypy: disable-error-code="union-attr,attr-defined,assignment,return-value"

from __future__ import annotations

import addon_utils
import bpy
import numpy as np
from mathutils import Matrix, Vector

from nsm_blender.evaluation.rigs import ANEW, ODD, PROPORTIONED, RECIPES, build, rigify_truth
from nsm_blender.rigging.joints import RigInfo

PLAIN = tuple(RECIPES)
"""Names of the rigs that are built from data."""
METARIG, GENERATED = "Rigify metarig", "Rigify generated"

Added = tuple[bpy.types.Object, dict[str, str]]
"""An armature, and the truth about it: joint -> bone."""


def add(name: str) -> Added:
    """A rig by its name in PLAIN, PROPORTIONED, ODD or ANEW, METARIG or GENERATED, linked and active."""
    if name == METARIG:
        return metarig()
    if name == GENERATED:
        return generated()
    made = build(name, (RECIPES | PROPORTIONED | ODD | ANEW)[name])
    return armature(made.info), made.truth


def armature(info: RigInfo) -> bpy.types.Object:
    """An armature object from plain data, linked and active."""
    rig = bpy.data.objects.new(info.name, bpy.data.armatures.new(info.name))
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    rig.matrix_world = Matrix(np.asarray(info.world).tolist())
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in info.bones:
        made = rig.data.edit_bones.new(bone.name)
        made.head, made.tail = Vector(bone.head.tolist()), Vector(bone.tail.tolist())
        made.align_roll(Vector(np.cross(bone.x_axis, bone.tail - bone.head).tolist()))
        if bone.parent is not None:
            made.parent = rig.data.edit_bones[bone.parent]
        made.use_connect, made.use_deform = bone.connected, bone.deform
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def metarig() -> Added:
    """Rigify's human metarig."""
    addon_utils.enable("rigify", default_set=True)
    bpy.ops.object.armature_human_metarig_add()
    return bpy.context.view_layer.objects.active, rigify_truth("metarig")


def generated() -> Added:
    """The rig that Rigify generates from its human metarig."""
    meta, _ = metarig()
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.rigify_generate()
    bpy.ops.object.mode_set(mode="OBJECT")
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj is not meta)
    bpy.data.objects.remove(meta)
    bpy.context.view_layer.objects.active = rig
    return rig, rigify_truth("generated")
