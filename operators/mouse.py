# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that follow the mouse in a 3D viewport, with hints in the status bar; Esc leaves all as it was.

They only look while the mouse moves and show by lines what a click would do; `execute` does it, with what the mouse
has set of the operator's properties, so the redo panel and scripts do the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy

from ..nsm_blender import Array
from ..scene import ghosts
from ..scene.picking import View
from .base import Operation
from .view_navigation import HINT, is_navigation, view_under

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class MouseOperation(Operation):
    """Base of operators that follow the mouse: put what a place means into `aim`, the work into `run`."""

    held = False
    """Whether the mouse button is down already when the operator starts, as when a gizmo is dragged."""

    _ghost: Any = None
    _pressed: Any = None

    def aim(self, context: bpy.types.Context, view: View, x: float, y: float, *, pressed: bool) -> list[Array]:
        """Set the properties to what a pixel of a view means. Returns lines that show it, as ghosts.Ghost draws them.

        pressed: whether the mouse button is down, and has been moved since.
        """
        raise NotImplementedError

    def hints(self) -> str:
        """What the mouse does now, for the status bar."""
        raise NotImplementedError

    def ready(self) -> bool:
        """Whether there is something to do when the button is let go."""
        raise NotImplementedError

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[OperatorReturnItems]:
        """Follow the mouse from now on; without a window do the work at once."""
        if bpy.app.background or context.window is None:
            return self.execute(context)
        try:
            self.begin(context)
        except Exception as error:  # noqa: BLE001 - becomes a report, as in execute
            return self.failed(error)
        self._pressed = (event.mouse_x, event.mouse_y) if self.held else None
        self._ghost = ghosts.Ghost()
        context.window.cursor_modal_set("CROSSHAIR")
        context.window_manager.modal_handler_add(self)
        self._look(context, event)
        return {"RUNNING_MODAL"}

    def begin(self, context: bpy.types.Context) -> None:
        """Get ready; raise UserError for what the user should correct."""

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[OperatorReturnItems]:
        """Look where the mouse points; do the work when its button is let go."""
        try:
            if event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
                self.cancel(context)
                return {"CANCELLED"}
            if is_navigation(context, event):
                return {"PASS_THROUGH"}
            if event.type in {"MOUSEMOVE", "LEFT_SHIFT", "RIGHT_SHIFT", "LEFT_CTRL", "RIGHT_CTRL"}:
                self._look(context, event)
            if event.type == "LEFTMOUSE" and event.value == "PRESS" and view_under(context, event) is not None:
                self._look(context, event)
                self._pressed = (event.mouse_x, event.mouse_y)
            elif event.type == "LEFTMOUSE" and event.value == "RELEASE" and self._pressed is not None:
                self._look(context, event)
                self._pressed = None
                if self.ready():
                    self._clear(context)
                    return self.execute(context)
        except Exception as error:  # noqa: BLE001 - becomes a report, as in execute
            self.cancel(context)
            return self.failed(error)
        return {"RUNNING_MODAL"}

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender calls this too, for example when another file is opened."""
        self._clear(context)

    def _look(self, context: bpy.types.Context, event: bpy.types.Event) -> None:
        """Aim at what is under the mouse, show it, and say in the status bar what can be done."""
        view = view_under(context, event)
        if view is None or self._ghost is None:
            return
        x, y = event.mouse_x - view.region.x, event.mouse_y - view.region.y
        pressed = self._pressed is not None and self._pressed != (event.mouse_x, event.mouse_y)
        self._ghost.show(self.aim(context, view, x, y, pressed=pressed))
        if context.workspace is not None:
            context.workspace.status_text_set(f"{self.hints()}    {HINT}    Esc, Right Mouse: Cancel")

    def _clear(self, context: bpy.types.Context) -> None:
        """Take away what was drawn, the hints and the cross-hair."""
        if self._ghost is not None:
            self._ghost.close()
            self._ghost = None
        clear_status(context)
        if context.window is not None:
            context.window.cursor_modal_restore()


def clear_status(context: bpy.types.Context) -> None:
    """Give the status bar back to Blender, also in a workspace that the user has left meanwhile."""
    for workspace in context.blend_data.workspaces:
        workspace.status_text_set(None)
