# SPDX-License-Identifier: GPL-3.0-or-later
"""Live synthesis: characters that were synthesized follow their curves again when these or their ground change.

It is on while a handler of ours is among Blender's; what it remembers it keeps in itself. A new file has it off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..nsm_blender import UserError
from ..scene import lookup
from ..scene.manifold import of_character
from .base import Operation, bug_report

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from ..nsm_blender import Synthesis

_PAUSE = 0.15
"""Seconds without a change of a curve or a ground before it is walked again."""


def running() -> bool:
    """Whether live synthesis is on."""
    return bool(_handlers())


def stop() -> None:
    """Switch it off."""
    for handler in _handlers():
        bpy.app.handlers.depsgraph_update_post.remove(handler)
        handler.forget()


class NSM_OT_live_synthesis(Operation):
    """Synthesize again whenever the curve or the ground of a synthesized character changes; press again to stop"""

    bl_idname = "nsm.live_synthesis"
    bl_label = "Live Synthesis"
    bl_options = {"REGISTER"}

    def run(self, _context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Switch it on or off."""
        if running():
            stop()
        else:
            bpy.app.handlers.depsgraph_update_post.append(_Live())
        return {"FINISHED"}


class _Live:
    """The handler. It waits for a pause in the changes, then makes the characters walk again that they concern.

    Syntheses are kept, so that the next one makes only what has changed.
    """

    def __init__(self) -> None:
        self._made: dict[int, Synthesis] = {}
        # Blender knows a timer's function by its identity, and each `self._again` is another object.
        self._timer = self._again

    def __call__(self, scene: bpy.types.Scene, graph: bpy.types.Depsgraph) -> None:
        """Blender calls this after each change of the scene."""
        if any(_is_curve(update.id) for update in graph.updates) or _grounds(graph) & _walked_on(scene):
            self.forget()
            bpy.app.timers.register(self._timer, first_interval=_PAUSE)

    def forget(self) -> None:
        """Wait no longer."""
        if bpy.app.timers.is_registered(self._timer):
            bpy.app.timers.unregister(self._timer)

    def _again(self) -> float | None:
        """Runs from Blender's timer, outside of any operator."""
        if lookup.baking(bpy.context):
            return _PAUSE
        handlers = bpy.app.handlers.depsgraph_update_post
        # Reading a curve may change the scene for a moment, which is no reason to read it again.
        handlers.remove(self)
        try:
            self._synthesize()
        except UserError as error:
            # Curves that are half drawn are expected here; the button says what is wrong with one.
            print(f"Live synthesis: {error}")
        except Exception as error:
            print(bug_report(error))
            raise
        handlers.append(self)
        return None

    def _synthesize(self) -> None:
        from .synthesis_job import changed_characters, synthesize_again

        for armature in changed_characters(bpy.context):
            before = self._made.get(armature.session_uid)
            self._made[armature.session_uid] = synthesize_again(bpy.context, armature, before)


def _is_curve(block: bpy.types.ID) -> bool:
    return isinstance(block, bpy.types.Curve) or (isinstance(block, bpy.types.Object) and block.type == "CURVE")


def _grounds(graph: bpy.types.Depsgraph) -> set[int]:
    """The mesh objects that were moved or have another surface."""
    return {
        update.id.original.session_uid
        for update in graph.updates
        if isinstance(update.id, bpy.types.Object)
        and update.id.type == "MESH"
        and (update.is_updated_transform or update.is_updated_geometry)
    }


def _walked_on(scene: bpy.types.Scene) -> set[int]:
    """The objects that are some character's ground."""
    grounds = (of_character(obj).synthesis.ground for obj in scene.objects if obj.type == "ARMATURE")
    return {ground.session_uid for ground in grounds if ground is not None}


def _handlers() -> list[_Live]:
    return [handler for handler in bpy.app.handlers.depsgraph_update_post if isinstance(handler, _Live)]


CLASSES = (NSM_OT_live_synthesis,)
