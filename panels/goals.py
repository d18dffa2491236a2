# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panel for goals."""

from __future__ import annotations

import bpy

from ..scene import goals
from .sidebar import _Panel


class NSM_PT_goals(_Panel):
    """Places to go to and things to use."""

    bl_label = "Goals"

    def draw(self, context: bpy.types.Context) -> None:
        """The button, and the settings of the goal that is selected."""
        layout = self.layout
        layout.operator("nsm.add_goal", icon="EMPTY_SINGLE_ARROW")
        goal = goals.selected(context.selected_objects)
        if goal is None:
            if not goals.in_scene(context.scene):
                layout.operator("nsm.add_demo_room", icon="HOME")
            empties = [obj for obj in context.selected_objects if obj.type == "EMPTY"]
            if empties and not any(goals.is_goal(obj) for obj in empties):
                layout.operator("nsm.mark_goal", icon="EMPTY_AXIS")
            return
        layout.use_property_split = True
        column = layout.column()
        column.prop(goal, "name", text="Goal")
        column.prop(goals.of_goal(goal), "uses")
        column.label(text="The arrow is the facing at the end;", icon="INFO")
        column.label(text="upright, it leaves that open.", icon="BLANK1")


CLASSES = (NSM_PT_goals,)
