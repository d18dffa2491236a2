# SPDX-License-Identifier: GPL-3.0-or-later
"""Live synthesis: characters that were synthesised follow their curves again when these change.

It is on while a handler of ours is among Blender's; what it remembers it keeps in itself. A new file has it off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..nsm_blender.errors import UserError
from ..scene import lookup
from .base import Operation, bug_report

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from ..nsm_blender.control.synthesis import Synthesis

_PAUSE = 0.15
"""Seconds without a change of a curve before it is walked again."""


def running() -> bool:
    """Whether live synthesis is on."""
    return bool(_handlers())


def stop() -> None:
    """Switch it off."""
    for handler in _handlers():
        bpy.app.handlers.depsgraph_update_post.remove(handler)
        handler.forget()


class NSM_OT_live_synthesis(Operation):
    """Synthesise again whenever the curve of a synthesised character changes; press again to stop"""

    bl_idname = "nsm.live_synthesis"
    bl_label = "Live"
    bl_options = {"REGISTER"}

    def run(self, _context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Switch it on or off."""
        if running():
            stop()
        else:
            bpy.app.handlers.depsgraph_update_post.append(_Live())
        return {"FINISHED"}


class _Live:
    """The handler. It waits for a pause in the changes, then walks the changed curves again.

    Syntheses are kept, so that the next one makes only what has changed.
    """

    def __init__(self) -> None:
        self._made: dict[int, Synthesis] = {}
        # Blender knows a timer's function by its identity, and each `self._again` is another object.
        self._timer = self._again

    def __call__(self, _scene: bpy.types.Scene, graph: bpy.types.Depsgraph) -> None:
        """Blender calls this after each change of the scene."""
        if any(_is_curve(update.id) for update in graph.updates):
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
            self._synthesise()
        except UserError as error:
            # Curves that are half drawn are expected here; the button says what is wrong with one.
            print(f"Live synthesis: {error}")
        except Exception as error:
            print(bug_report(error))
            raise
        handlers.append(self)
        return None

    def _synthesise(self) -> None:
        from ..nsm_blender.control.synthesis import Networks
        from .synthesis_job import changed_characters, synthesise_again

        for armature in changed_characters(bpy.context):
            before = self._made.get(armature.session_uid)
            networks = before.networks if before is not None else Networks.load()
            self._made[armature.session_uid] = synthesise_again(bpy.context, armature, networks, before)


def _is_curve(block: bpy.types.ID) -> bool:
    return isinstance(block, bpy.types.Curve) or (isinstance(block, bpy.types.Object) and block.type == "CURVE")


def _handlers() -> list[_Live]:
    return [handler for handler in bpy.app.handlers.depsgraph_update_post if isinstance(handler, _Live)]


CLASSES = (NSM_OT_live_synthesis,)
