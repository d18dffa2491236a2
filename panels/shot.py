# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panel for the shot: what the character does, a walk along a curve or one action after the other."""

from __future__ import annotations

from typing import Any

import bpy

from ..scene import goals, keys, lookup, routes
from ..scene.properties import blank, by_actions, of_object
from ..scene.selection import fitting_actions
from .base import Panel, Subpanel, hint
from .menus import ACTIONS

_ICONS: dict[str, Any] = {item[0]: item[3] for item in keys.ACTION_ITEMS}
_WAIT = 2.0
"""Seconds that an added wait takes."""


class NSM_UL_action_keys(bpy.types.UIList):
    """What the character is to do, one after the other."""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.AnyType,
        item: keys.NSM_PG_action_key,
        _icon: int,
        _active_data: bpy.types.AnyType,
        _active_property: str,
    ) -> None:
        """The action and its goal, when it sets off, and whether it can be baked."""
        split = layout.split(factor=0.66)
        split.label(text=_label(item), icon=_ICONS[item.action])
        row = split.row(align=True)
        row.label(text=_when(item))
        if item.problem:
            row.label(text="", icon="CANCEL" if item.is_fatal else "ERROR")
        elif routes.is_own(item.route):
            row.label(text="", icon="CURVE_BEZCURVE")


class NSM_MT_add_action(bpy.types.Menu):
    """What the character can do with the selected object, or at the 3D cursor."""

    bl_label = "Add Action"

    def draw(self, context: bpy.types.Context) -> None:
        """All actions; those that do not fit the selection are grayed out."""
        fitting = fitting_actions(context)
        for action, label in ACTIONS:
            row = self.layout.row()
            row.enabled = action in fitting
            added = row.operator("nsm.add_action_key", text=label, icon=_ICONS[action])
            added.action = action
            if action == "idle":
                added.hold = _WAIT


class NSM_PT_shot(Panel):
    """What the character does."""

    bl_label = "Shot"

    def draw(self, context: bpy.types.Context) -> None:
        """The switch, and the path or the actions."""
        layout = self.layout
        armature = lookup.character(context)
        settings = blank(context).blank if armature is None else of_object(armature)
        row = layout.row(align=True)
        row.enabled = armature is not None
        row.prop(settings, "animate_by", expand=True)
        if armature is not None and by_actions(armature):
            _draw_actions(layout, context, armature)
        else:
            _draw_path(layout, context, armature)


class NSM_PT_shot_advanced(Subpanel):
    """Settings that are seldom needed."""

    bl_label = "Advanced"
    bl_parent_id = "NSM_PT_shot"

    def draw(self, context: bpy.types.Context) -> None:
        """How closely the path is followed, or how the chosen action is carried out."""
        layout = self.layout
        layout.use_property_split = True
        armature = lookup.character(context)
        if armature is None or not by_actions(armature):
            path = lookup.path(context)
            column = layout.column()
            column.enabled = path is not None
            settings = blank(context).blank if path is None else of_object(path)
            column.prop(settings, "bias_velocity")
            column.prop(settings, "bias_direction")
            return
        key = keys.active(armature) or blank(context).blank_key
        column = layout.column()
        column.enabled = keys.active(armature) is not None
        column.prop(key, "gait")
        column.prop(key, "speed", text="Speed (m/s)")
        column.prop(key, "use_facing")
        row = column.row()
        row.active = key.use_facing
        row.prop(key, "facing")
        row = column.row()
        row.active = key.action == "sit"
        row.prop(key, "lean")
        column.prop(key, "route", text="Edited Route" if routes.is_own(key.route) else "Route")
        row = layout.row(align=True)
        row.operator("nsm.select_goal", text="Goal", icon="RESTRICT_SELECT_OFF")
        row.operator("nsm.go_to_action_key", text="Frame", icon="TIME")
        row.operator("nsm.forget_route", text="Route", icon="X")


class NSM_PT_navigation(Subpanel):
    """How the character finds its paths."""

    bl_label = "Navigation"
    bl_parent_id = "NSM_PT_shot"

    def draw(self, context: bpy.types.Context) -> None:
        """The body's size, and what it may go under and through."""
        layout = self.layout
        layout.use_property_split = True
        armature = lookup.character(context)
        layout.enabled = armature is not None
        settings = blank(context).blank if armature is None else of_object(armature)
        layout.prop(settings.routes, "radius", text="Radius (m)")
        layout.prop(settings.routes, "crouch")
        layout.prop(settings.routes, "sideways")
        layout.operator("nsm.show_routes", icon="CURVE_BEZCURVE")


class NSM_PT_shot_file(Subpanel):
    """The shot as a file."""

    bl_label = "Shot File"
    bl_parent_id = "NSM_PT_shot"

    def draw(self, _context: bpy.types.Context) -> None:
        """Load and save."""
        row = self.layout.row(align=True)
        row.operator("nsm.load_shot", text="Load", icon="FILE_FOLDER")
        row.operator("nsm.save_shot", text="Save", icon="FILE_TICK")


def _draw_path(layout: bpy.types.UILayout, context: bpy.types.Context, armature: bpy.types.Object | None) -> None:
    """The curve, and how it is walked."""
    path = lookup.path(context)
    layout.use_property_split = True
    row = layout.row(align=True)
    row.enabled = armature is not None
    row.prop(blank(context).blank if armature is None else of_object(armature), "path")
    row = layout.row(align=True)
    row.operator("nsm.add_path", icon="CURVE_BEZCURVE")
    row.operator("nsm.assign_path", text="Use Selected", icon="EYEDROPPER")
    column = layout.column()
    column.enabled = path is not None
    settings = blank(context).blank if path is None else of_object(path)
    column.prop(settings, "speed", text="Speed (m/s)")
    column.prop(settings, "gait")
    column.prop(settings, "facing")
    column.prop(settings, "use_radius")
    row = column.row()
    row.active = path is not None and any(spline.use_cyclic_u for spline in path.data.splines)
    row.prop(settings, "loop")


def _draw_actions(layout: bpy.types.UILayout, context: bpy.types.Context, armature: bpy.types.Object) -> None:
    """The list, the chosen action, what was found wrong with it or what became of it, and the buttons."""
    settings = of_object(armature)
    row = layout.row()
    row.template_list("NSM_UL_action_keys", "", settings, "keys", settings, "key_index", rows=5, maxrows=5)
    column = row.column(align=True)
    column.menu("NSM_MT_add_action", text="", icon="ADD")
    column.operator("nsm.remove_action_key", text="", icon="REMOVE")
    column.operator("nsm.duplicate_action_key", text="", icon="DUPLICATE")
    column.separator()
    column.operator("nsm.move_action_key", text="", icon="TRIA_UP").direction = "UP"
    column.operator("nsm.move_action_key", text="", icon="TRIA_DOWN").direction = "DOWN"
    chosen = keys.active(armature)
    key = chosen or blank(context).blank_key
    column = layout.column()
    column.enabled = chosen is not None
    column.use_property_split = True
    column.use_property_decorate = False  # An action cannot be animated, and a goal's name needs the room.
    column.prop(key, "action")
    column.prop(key, "goal")
    column.prop(key, "start")
    row = column.row()
    row.active = key.start == "FRAME"
    row.prop(key, "frame")
    row = column.row()
    row.active = not keys.stays(key)
    row.prop(key, "timing")
    row = column.row()
    row.active = not keys.stays(key) and key.timing != "FREE"
    row.prop(key, "duration" if key.timing == "DURATION" else "arrive")
    column.prop(key, "hold")
    if chosen is None:
        hint(layout, "+ adds an action: select a seat to sit on, or put the 3D cursor where to walk.", lines=3)
    elif chosen.problem:
        hint(layout, chosen.problem, "CANCEL" if chosen.is_fatal else "ERROR", lines=3)
    else:
        hint(layout, _result(chosen), lines=3)
    layout.operator("nsm.check_keys", text="Check", icon="CHECKMARK")


def _label(key: keys.NSM_PG_action_key) -> str:
    """The action and what it is about: the thing that is used tells more than the name of the goal on it."""
    uses = goals.of_goal(key.goal).uses if key.goal is not None else None
    return keys.label(key) if uses is None else f"{keys.ACTIONS[key.action]} {uses.name}"


def _when(key: keys.NSM_PG_action_key) -> str:
    """The frame at which a key sets off, that of the last bake for one that waits for its turn; and that at which it
    arrives, where it says when."""
    start = str(key.frame) if key.start == "FRAME" else f"~{key.set_off}" if key.was_baked else "Next"
    if keys.stays(key) or key.timing == "FREE":
        return start
    return f"{start} - {key.arrive}" if key.timing == "ARRIVE" else f"{start} +{key.duration}"


def _result(key: keys.NSM_PG_action_key) -> str:
    """What became of the key in the last bake."""
    if not key.was_baked:
        return ""
    if key.arrived == keys.NEVER:
        return f"Set off at frame {key.set_off}, but did not arrive."
    cm = f", {key.error_cm:.1f} cm" if key.error_cm >= 0 else ""
    deg = f", {key.error_deg:.1f}°" if key.error_deg >= 0 else ""
    return f"Frames {key.set_off} to {key.arrived}{cm}{deg}{' off' if cm or deg else ''}."


CLASSES = (
    NSM_UL_action_keys,
    NSM_MT_add_action,
    NSM_PT_shot,
    NSM_PT_shot_advanced,
    NSM_PT_navigation,
    NSM_PT_shot_file,
)
