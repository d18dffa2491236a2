# SPDX-License-Identifier: GPL-3.0-or-later
"""The other characters of a scene, as their bakes move them: colliders to walk round."""

from __future__ import annotations

import bpy

from ..nsm_blender.errors import RigError
from ..nsm_blender.geometry.body import as_colliders
from ..nsm_blender.geometry.colliders import Collider
from ..nsm_blender.geometry.scaling import scaled
from ..nsm_blender.motion.rotations import Array
from . import armatures, lookup, recording


def gather(context: bpy.types.Context, armature: bpy.types.Object, frames: Array) -> list[Collider]:
    """The bodies of the other baked characters at scene frames (F,), in world meters. The scene is left as it is.

    A character that is not baked yet, is hidden, or cannot be read any more is no obstacle.
    """
    out = []
    for other in lookup.armatures(context.scene):
        if other == armature or lookup.baked(other) is None or not other.visible_get(view_layer=context.view_layer):
            continue
        try:
            rig = armatures.read(context, other)
        except RigError:
            continue
        motion = recording.read(context, other, rig, frames)
        out += [scaled(part, rig.scale) for part in as_colliders(other.name_full, motion.positions)]
    return out
