# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panel for the scene's objects: what the character may use them for, goals, and what is shown."""

from __future__ import annotations

import math

import bpy

from ..nsm_blender import KINDS
from ..scene import colliders, goals
from ..scene.properties import blank
from ..scene.selection import shown_collider
from .base import Panel, Subpanel, hint

_LABELS = {item[0]: item[1] for item in colliders.ROLE_ITEMS}
_LEGEND = ("seat", "door", "carryable", "surface", "climbable", "ground", "obstacle")


class NSM_PT_things(Panel):
    """What the selected object is for the character."""

    bl_label = "Scene Objects"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """The use of the selected object, and its settings as a collider."""
        layout = self.layout
        obj = shown_collider(context)
        settings = blank(context).blank.collider if obj is None else colliders.of(obj)
        hint(layout, *_state(context, obj))
        row = layout.row()
        row.enabled = bool(context.selected_objects)
        if obj is None:
            row.operator_menu_enum("nsm.wrap_collider", "role", text="Use As", icon="MESH_CUBE")
        else:
            row.operator_menu_enum("nsm.set_role", "role", text=f"Use As: {_LABELS[settings.role]}", icon="MESH_CUBE")
        column = layout.column()
        column.use_property_split = True
        column.enabled = obj is not None
        column.prop(settings, "enabled")
        column.prop(settings, "size", text="Voxel (m)")
        row = layout.row(align=True)
        row.operator("nsm.refresh_colliders", text="Refresh", icon="FILE_REFRESH")
        row.operator("nsm.remove_collider", text="Remove", icon="TRASH")
        layout.operator_menu_enum("nsm.select_role", "role", text="Select by Role", icon="RESTRICT_SELECT_OFF")
        layout.operator("nsm.add_demo_room", icon="HOME")


class NSM_PT_handles(Subpanel):
    """How a character uses the selected object."""

    bl_label = "Handles"
    bl_parent_id = "NSM_PT_things"

    def draw(self, context: bpy.types.Context) -> None:
        """The settings of each role, the buttons, and the warnings."""
        layout = self.layout
        obj = shown_collider(context)
        settings = blank(context).blank.collider if obj is None else colliders.of(obj)
        role = settings.role if obj is not None else ""
        column = layout.column()
        column.use_property_split = True
        _of_role(column, role, "seat").prop(settings, "approaches", text="Approach")
        _of_role(column, role, "carryable").prop(settings, "weight", text="Weight")
        door = _of_role(column, role, "door")
        door.prop(settings, "angle", text="Opening")
        # Meters whatever the scene's unit scale, which a property with Blender's own unit would be multiplied by.
        door.prop(settings, "leaf_width", text="Width (m)")
        door.prop(settings, "leaf_height", text="Height (m)")
        column = layout.column(align=True)
        column.enabled = role in KINDS
        column.operator("nsm.propose_handles", icon="VIEWZOOM")
        column.operator("nsm.show_handles", icon="EMPTY_DATA")
        column.operator("nsm.check_handles", icon="CHECKMARK")
        row = layout.row(align=True)
        row.enabled = role in KINDS and role != "door"
        row.operator("nsm.turn_facing", text="Left").angle = math.pi / 2
        row.operator("nsm.turn_facing", text="Flip").angle = math.pi
        row.operator("nsm.turn_facing", text="Right").angle = -math.pi / 2
        hint(layout, " ".join(settings.warnings.splitlines()), "ERROR", lines=3)


class NSM_PT_goals(Subpanel):
    """Places to go to and things to use."""

    bl_label = "Goal"
    bl_parent_id = "NSM_PT_things"

    def draw(self, context: bpy.types.Context) -> None:
        """The buttons, and the settings of the goal that is selected."""
        layout = self.layout
        row = layout.row(align=True)
        row.operator("nsm.add_goal", icon="EMPTY_SINGLE_ARROW")
        row.operator("nsm.mark_goal", text="Make Goal", icon="EMPTY_AXIS")
        row = layout.row(align=True)
        row.operator("nsm.place_goal", icon="EYEDROPPER")
        row.operator("nsm.turn_goal", icon="DRIVER_ROTATIONAL_DIFFERENCE")
        goal = goals.selected(context.selected_objects)
        column = layout.column()
        column.use_property_split = True
        column.enabled = goal is not None
        if goal is None:
            column.label(text="No goal is selected")
            column.prop(blank(context).blank.goal, "uses")
        else:
            column.prop(goal, "name", text="Name")
            column.prop(goals.of_goal(goal), "uses")
        hint(layout, "The arrow shows the facing at the end; upright, any facing.", lines=2)


class NSM_PT_overlays(Subpanel):
    """What is shown in the viewport."""

    bl_label = "Overlays"
    bl_parent_id = "NSM_PT_things"

    def draw(self, context: bpy.types.Context) -> None:
        """The switches, and what the colors mean."""
        layout = self.layout
        overlay = context.scene.nsm.overlay
        layout.use_property_split = True
        column = layout.column(heading="Show")
        column.prop(overlay, "show_colliders")
        column.prop(overlay, "show_handles")
        column = layout.column(heading="Sensors")
        column.prop(overlay, "show_environment")
        column.prop(overlay, "show_interaction")
        row = layout.row()
        row.active = overlay.show_environment
        row.prop(overlay, "source")
        column = layout.column(align=True)
        for role in _LEGEND:
            column.prop(overlay, role)


def _of_role(column: bpy.types.UILayout, role: str, wanted: str) -> bpy.types.UILayout:
    """A part of the column for settings of one role, grayed out for every other."""
    part = column.column()
    part.enabled = role == wanted
    return part


def _state(context: bpy.types.Context, obj: bpy.types.Object | None) -> tuple[str, str]:
    """What the selected object is, with an icon."""
    if obj is None:
        active = context.active_object
        if active is not None and active.select_get() and active.type == "MESH" and active.find_armature() is None:
            return f"{active.name}: not used yet", "OBJECT_DATA"
        return "Select an object to use", "INFO"
    settings = colliders.of(obj)
    if settings.stale:
        return f"{obj.name} has changed: refresh", "ERROR"
    return f"{obj.name}: {settings.count} {'cuboid' if settings.count == 1 else 'cuboids'}", "MESH_CUBE"


CLASSES = (NSM_PT_things, NSM_PT_handles, NSM_PT_goals, NSM_PT_overlays)
