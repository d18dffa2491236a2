# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions as assets: what the asset browser tells and shows of them.

Blender makes the preview of an action from the viewport, which needs a window and shows a still scene; so the picture
is rendered here, in any session alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import bpy
import numpy as np

from ..nsm_blender.errors import UserError
from ..nsm_blender.motion.rotations import Array
from ..nsm_blender.motion.skeleton import MODEL_SKELETON
from . import binding, preview
from .lookup import MARK
from .sources import KIND

_SIZE = 256
"""Pixels of a side of the picture, as large as Blender's own previews."""
_ASIDE = math.radians(35)
"""Angle from which the picture shows the character, from its front to its left."""
_TAG = "Neural State Machine"
"""Tag of all that this add-on made."""
_MADE = {"EDIT": "Edited", "STYLE": "Restyled"}
"""How a refined action was made."""


def mark(
    context: bpy.types.Context,
    armature: bpy.types.Object,
    action: bpy.types.Action,
    description: str = "",
    tags: Sequence[str] = (),
) -> None:
    """Mark an action as an asset, outside of all catalogs. Marked again, it is described anew; its tags stay."""
    action.asset_mark()
    about = action.asset_data
    about.description = description or _told(context, armature, action)
    wanted = [*([_TAG] if action.get(MARK) else []), *(["Loop"] if action.use_cyclic else []), *tags]
    for tag in wanted:
        about.tags.new(tag, skip_if_exists=True)


def add_picture(context: bpy.types.Context, armature: bpy.types.Object, action: bpy.types.Action) -> bool:
    """Give an action a preview of the character at its middle frame; returns whether that could be rendered."""
    bones = _bones(armature)
    if context.window is None or not bones:
        return False
    first, last = (round(frame) for frame in action.frame_range)
    way, angle = _seen(context, armature, bones, (first, (first + last) // 2, last))
    try:
        pixels = preview.thumbnail(armature, list(bones.values()), way, angle, (first + last) // 2, _SIZE)
    except UserError:
        return False
    image = action.preview_ensure()
    image.image_size = (_SIZE, _SIZE)
    image.image_pixels_float.foreach_set(pixels.ravel())
    return True


def _bones(armature: bpy.types.Object) -> dict[str, str]:
    """Joint -> bone of a character, as far as they are known."""
    if binding.is_bound(armature):
        return {joint: match.bone for joint, match in binding.mapping(armature).matches.items()}
    return {joint: joint for joint in MODEL_SKELETON.names if joint in armature.data.bones}


def _seen(
    context: bpy.types.Context, armature: bpy.types.Object, bones: dict[str, str], frames: tuple[int, int, int]
) -> tuple[Array, float]:
    """The way (N, 3) over the ground, in Blender units, and the angle about +Z from which the character is seen at the
    middle frame: half from its left, half from the front. The scene is left as it is."""
    scene, frame, subframe = context.scene, context.scene.frame_current, context.scene.frame_subframe
    way, angle = [], 0.0
    try:
        for number, at in enumerate(frames):
            scene.frame_set(at)
            there = armature.evaluated_get(context.evaluated_depsgraph_get())
            heads = {joint: there.matrix_world @ there.pose.bones[bone].head for joint, bone in bones.items()}
            carried = next(iter(heads.values()))
            way.append((carried.x, carried.y))
            if number == 1 and {"LeftUpLeg", "RightUpLeg"} <= set(heads):
                across = heads["LeftUpLeg"] - heads["RightUpLeg"]
                angle = math.atan2(across.y, across.x) + _ASIDE
    finally:
        scene.frame_set(frame, subframe=subframe)
    places = np.column_stack((np.array(way, dtype=np.float32), np.zeros(3, dtype=np.float32)))
    places[-1, 0] += 1e-3  # a way without length cannot be drawn
    return places, angle


def _told(context: bpy.types.Context, armature: bpy.types.Object, action: bpy.types.Action) -> str:
    """What an action is, in a sentence."""
    frames = action.frame_range
    render = context.scene.render
    seconds = (frames[1] - frames[0]) * render.fps_base / render.fps
    how = _MADE.get(str(action.get(KIND, "")), "Made")
    return f"{how} for '{armature.name}', {seconds:.1f} s at {render.fps / render.fps_base:g} frames per second."
