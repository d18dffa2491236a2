# SPDX-License-Identifier: GPL-3.0-or-later
"""Gizmos in the viewport: what turns and drags the selected goal, and the handle of the selected collider.

Each starts an operator when it is dragged, so that a drag is one step of undo and Esc takes it back.
"""

from __future__ import annotations

from typing import Any

import bpy
from mathutils import Matrix

from ..scene import goals, handles
from ..scene.selection import shown_collider

_COLOR, _COLOR_LIT = (1.0, 0.75, 0.2), (1.0, 1.0, 1.0)
"""Colors of a gizmo, and of that under the mouse, as sRGB: those of the lines that show where it goes."""
_ALPHA, _ALPHA_LIT = 0.7, 1.0
_DIAL, _RING, _ARROW = 0.9, 0.22, 0.7
"""Sizes on the screen, in Blender's gizmo sizes: so that the ring lies in the dial and the arrow ends beyond it."""


class NSM_GGT_goal(bpy.types.GizmoGroup):
    """Turns the arrow of the selected goal, and drags the goal onto a thing."""

    bl_label = "Animation Goal"
    bl_space_type = "VIEW_3D"
    bl_region_type = "WINDOW"
    bl_options = {"3D", "PERSISTENT"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """One goal has to be selected."""
        return context.mode == "OBJECT" and goals.selected(context.selected_objects) is not None

    def setup(self, _context: bpy.types.Context) -> None:
        """A dial for the facing, a ring to drag."""
        self.turn = _gizmo(self, "GIZMO_GT_dial_3d", _DIAL)
        self.turn.target_set_operator("nsm.turn_goal").release_confirm = True
        self.move = _gizmo(self, "GIZMO_GT_move_3d", _RING)
        self.move.draw_options = {"FILL_SELECT", "ALIGN_VIEW"}
        self.move.target_set_operator("nsm.place_goal").move_selected = True

    def draw_prepare(self, context: bpy.types.Context) -> None:
        """Put them where the goal is."""
        goal = goals.selected(context.selected_objects)
        if goal is not None:
            place = Matrix.Translation(goal.matrix_world.translation)
            self.turn.matrix_basis = self.move.matrix_basis = place


class NSM_GGT_handle(bpy.types.GizmoGroup):
    """Moves, raises and turns the handle of the selected seat, surface or step."""

    bl_label = "Collider Handle"
    bl_space_type = "VIEW_3D"
    bl_region_type = "WINDOW"
    bl_options = {"3D", "PERSISTENT"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """A collider with such a handle has to be selected, or its handle, and the handles shown."""
        active = context.active_object
        return (
            context.mode == "OBJECT"
            and active is not None
            and active.select_get()
            and context.scene.nsm.overlay.show_handles
            and handles.main(shown_collider(context)) is not None
        )

    def setup(self, _context: bpy.types.Context) -> None:
        """A dial for the facing, a ring to drag level, an arrow to raise."""
        self.turn = _gizmo(self, "GIZMO_GT_dial_3d", _DIAL)
        self.move = _gizmo(self, "GIZMO_GT_move_3d", _RING)
        self.move.draw_options = {"FILL_SELECT", "ALIGN_VIEW"}
        self.lift = _gizmo(self, "GIZMO_GT_arrow_3d", _ARROW)
        for gizmo, way in ((self.turn, "TURN"), (self.move, "MOVE"), (self.lift, "RAISE")):
            operator = gizmo.target_set_operator("nsm.move_handle")
            operator.way, operator.release_confirm = way, True

    def draw_prepare(self, context: bpy.types.Context) -> None:
        """Put them where the handle is."""
        empty = handles.main(shown_collider(context))
        if empty is not None:
            place = Matrix.Translation(empty.matrix_world.translation)
            self.turn.matrix_basis = self.move.matrix_basis = self.lift.matrix_basis = place


def _gizmo(group: bpy.types.GizmoGroup, kind: str, size: float) -> Any:
    """A new gizmo of a group, which keeps its size on the screen."""
    gizmo = group.gizmos.new(kind)
    gizmo.color, gizmo.color_highlight = _COLOR, _COLOR_LIT
    gizmo.alpha, gizmo.alpha_highlight = _ALPHA, _ALPHA_LIT
    gizmo.scale_basis = size
    gizmo.line_width = 3
    return gizmo


CLASSES = (NSM_GGT_goal, NSM_GGT_handle)
