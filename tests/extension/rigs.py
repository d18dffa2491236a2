# SPDX-License-Identifier: GPL-3.0-or-later
"""The armatures on which `nsm-blender evaluate rigs` measures, for the tests."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np

from nsm_blender.evaluation.rig_skins import Body, body
from nsm_blender.evaluation.rigs import rigify_truth
from tools.rig_armatures import GENERATED, METARIG, PLAIN, Added, add, armature, generated, metarig

__all__ = [
    "GENERATED",
    "METARIG",
    "PLAIN",
    "Added",
    "add",
    "armature",
    "from_file",
    "generated",
    "metarig",
    "skinned",
]


def from_file(path: Path) -> Added:
    """The generated rig that was saved as "rig" in a file, active."""
    with bpy.data.libraries.load(str(path)) as (_, into):
        into.objects = ["rig"]
    rig = bpy.data.objects["rig"]
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    return rig, rigify_truth("generated")


def skinned(name: str) -> tuple[bpy.types.Object, bpy.types.Object, Body]:
    """A made-up body of `rig_skins`, active: its armature, its mesh, and what it is made of."""
    made = body(name)
    rig = armature(made.rig.info)
    mesh = bpy.data.meshes.new("Skin")
    faces = np.concatenate([triangles for _, triangles in made.parts.values()])
    mesh.from_pydata(made.skin.vertices.tolist(), [], faces.tolist())
    skin = bpy.data.objects.new("Skin", mesh)
    bpy.context.scene.collection.objects.link(skin)
    skin.parent = rig
    skin.modifiers.new("Armature", "ARMATURE").object = rig
    groups = [skin.vertex_groups.new(name=bone) for bone in made.skin.bones]
    for vertex, (owners, weights) in enumerate(zip(made.skin.owners, made.skin.weights, strict=True)):
        for owner, weight in zip(owners, weights, strict=True):
            groups[owner].add([vertex], float(weight), "ADD")
    bpy.context.view_layer.objects.active = rig
    return rig, skin, made
