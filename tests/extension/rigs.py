# SPDX-License-Identifier: GPL-3.0-or-later
"""The armatures on which `nsm-blender evaluate rigs` measures, for the tests."""

from __future__ import annotations

from pathlib import Path

import bpy

from nsm_blender.evaluation.rigs import rigify_truth
from tools.rig_armatures import GENERATED, METARIG, PLAIN, Added, add, armature, generated, metarig

__all__ = ["GENERATED", "METARIG", "PLAIN", "Added", "add", "armature", "from_file", "generated", "metarig"]


def from_file(path: Path) -> Added:
    """The generated rig that was saved as "rig" in a file, active."""
    with bpy.data.libraries.load(str(path)) as (_, into):
        into.objects = ["rig"]
    rig = bpy.data.objects["rig"]
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    return rig, rigify_truth("generated")
