# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of a few objects without playing the whole scene: they and what they depend on, in a scene of their own.

The scene that is open is not touched: Blender writes evaluated values back to the graph of an open scene only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import bpy


class Stage:
    """Where objects are shown at a frame."""

    def __init__(self, context: bpy.types.Context, scene: bpy.types.Scene) -> None:
        self._context, self._scene = context, scene

    def show(self, frame: int) -> bpy.types.Depsgraph:
        """Go to a frame; the graph holds what objects are there."""
        self._scene.frame_set(frame)
        if self._scene == self._context.scene:
            return self._context.evaluated_depsgraph_get()
        return self._scene.view_layers[0].depsgraph


@contextmanager
def stage(context: bpy.types.Context, objects: Sequence[bpy.types.Object]) -> Iterator[Stage]:
    """Show objects at other frames. Afterwards all is as it was.

    Where handlers or drivers look at the open scene itself, that is what is played.
    """
    scene = context.scene
    frame, subframe = scene.frame_current, scene.frame_subframe
    if _looks_at_scene(objects):
        try:
            yield Stage(context, scene)
        finally:
            scene.frame_set(frame, subframe=subframe)
        return
    alone = bpy.data.scenes.new(f"{scene.name} (measured)")
    try:
        for name in ("fps", "fps_base", "frame_map_old", "frame_map_new"):
            setattr(alone.render, name, getattr(scene.render, name))
        for obj in objects:
            alone.collection.objects.link(obj)
        yield Stage(context, alone)
    finally:
        bpy.data.scenes.remove(alone)


def _looks_at_scene(objects: Sequence[bpy.types.Object]) -> bool:
    """Whether handlers act on each frame, or drivers of the objects read something of a scene."""
    if bpy.app.handlers.frame_change_pre or bpy.app.handlers.frame_change_post:
        return True
    blocks = [block for obj in objects for block in (obj, obj.data) if block is not None]
    return any(
        target.id_type == "SCENE" or variable.type == "CONTEXT_PROP"
        for block in blocks
        if block.animation_data is not None
        for curve in block.animation_data.drivers
        for variable in curve.driver.variables
        for target in variable.targets
    )
