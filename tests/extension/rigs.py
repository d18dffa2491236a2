# SPDX-License-Identifier: GPL-3.0-or-later
"""Armatures in the conventions that animators meet, built from the engine tests' plain data, and Rigify's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import addon_utils
import bpy
import numpy as np
from mathutils import Matrix, Vector

from ..engine import rigs as data

PLAIN = tuple(data.RECIPES)
"""Names of the rigs that are built from data."""


def add(name: str) -> tuple[bpy.types.Object, dict[str, str]]:
    """A rig by its name in PLAIN; returns it, active, and the truth: joint -> bone."""
    made = data.build(name, data.RECIPES[name])
    return armature(made.info), made.truth


def armature(info: Any) -> bpy.types.Object:
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


def metarig() -> tuple[bpy.types.Object, dict[str, str]]:
    """Rigify's human metarig from the add-on, active."""
    addon_utils.enable("rigify", default_set=True)
    bpy.ops.object.armature_human_metarig_add()
    return bpy.context.object, data.rigify("metarig").truth


def generated() -> tuple[bpy.types.Object, dict[str, str]]:
    """The rig that Rigify generates from its human metarig, active."""
    meta, _ = metarig()
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.rigify_generate()
    bpy.ops.object.mode_set(mode="OBJECT")
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj is not meta)
    bpy.data.objects.remove(meta)
    bpy.context.view_layer.objects.active = rig
    return rig, data.rigify("generated").truth


def from_file(path: Path) -> tuple[bpy.types.Object, dict[str, str]]:
    """The generated rig that was saved as "rig" in a file, active."""
    with bpy.data.libraries.load(str(path)) as (_, into):
        into.objects = ["rig"]
    rig = bpy.data.objects["rig"]
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    return rig, data.rigify("generated").truth
