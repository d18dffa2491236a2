# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panel for action keys: the list, the chosen key, and what a check or a bake said of it."""

from __future__ import annotations

from typing import Any

import bpy

from ..scene import keys, lookup, routes
from .sidebar import _draw_text, _Panel

_ICONS: dict[str, Any] = {item[0]: item[3] for item in keys.ACTION_ITEMS}


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
        split = layout.split(factor=0.6)
        split.label(text=keys.label(item), icon=_ICONS[item.action])
        row = split.row(align=True)
        row.label(text=_when(item))
        if item.problem:
            row.label(text="", icon="CANCEL" if item.is_fatal else "ERROR")
        elif routes.is_own(item.route):
            row.label(text="", icon="CURVE_BEZCURVE")


class NSM_PT_action_keys(_Panel):
    """The character's list of things to do."""

    bl_label = "Action Keys"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Shown when there is a character."""
        return lookup.character(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        """The list, the chosen key, and the buttons."""
        layout = self.layout
        armature = lookup.character(context)
        if armature is None:
            return
        row = layout.row()
        row.template_list("NSM_UL_action_keys", "", armature.nsm, "keys", armature.nsm, "key_index", rows=5)
        column = row.column(align=True)
        column.operator("nsm.add_action_key", text="", icon="ADD")
        column.operator("nsm.remove_action_key", text="", icon="REMOVE")
        column.operator("nsm.duplicate_action_key", text="", icon="DUPLICATE")
        column.separator()
        column.operator("nsm.move_action_key", text="", icon="TRIA_UP").direction = "UP"
        column.operator("nsm.move_action_key", text="", icon="TRIA_DOWN").direction = "DOWN"
        key = keys.active(armature)
        if key is None:
            layout.label(text="+ adds a walk to the selected goal.", icon="INFO")
            return
        _draw_key(layout, key)
        row = layout.row(align=True)
        row.operator("nsm.check_keys", icon="CHECKMARK")
        row.operator("nsm.show_routes", icon="CURVE_BEZCURVE")


class NSM_PT_navigation(_Panel):
    """How the character finds its paths."""

    bl_label = "Navigation"
    bl_parent_id = "NSM_PT_action_keys"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """The body's size, and what it may go under and through."""
        armature = lookup.character(context)
        if armature is None:
            return
        layout = self.layout
        layout.use_property_split = True
        layout.prop(armature.nsm.routes, "radius")
        layout.prop(armature.nsm.routes, "crouch")
        layout.prop(armature.nsm.routes, "sideways")


def _draw_key(layout: bpy.types.UILayout, key: keys.NSM_PG_action_key) -> None:
    """The settings of a key."""
    _draw_text(layout, key.problem, "CANCEL" if key.is_fatal else "ERROR")
    _draw_text(layout, _result(key), "INFO")
    column = layout.column()
    column.use_property_split = True
    column.prop(key, "action")
    column.prop(key, "goal")
    column.prop(key, "start")
    if key.start == "FRAME":
        column.prop(key, "frame")
    column.prop(key, "hold", text="Hold (s)")
    column.prop(key, "gait")
    column.prop(key, "speed", text="Speed (m/s)")
    column.prop(key, "use_facing")
    if key.use_facing:
        column.prop(key, "facing")
    if key.action == "sit":
        column.prop(key, "lean")
    column.prop(key, "route", text="Own Route" if routes.is_own(key.route) else "Route")
    row = layout.row(align=True)
    row.operator("nsm.go_to_action_key", text="Go to Frame", icon="TIME")
    row.operator("nsm.select_goal", text="Goal", icon="RESTRICT_SELECT_OFF")
    if key.route is not None:
        row.operator("nsm.forget_route", text="Route", icon="X")


def _when(key: keys.NSM_PG_action_key) -> str:
    """The frame at which a key sets off; that of the last bake for one that waits for its turn."""
    if key.start == "FRAME":
        return str(key.frame)
    return f"~{key.set_off}" if key.was_baked else "After Previous"


def _result(key: keys.NSM_PG_action_key) -> str:
    """What became of the key in the last bake."""
    if not key.was_baked:
        return ""
    if key.arrived == keys.NEVER:
        return f"Set off at frame {key.set_off}, but did not arrive."
    cm = f", {key.error_cm:.1f} cm" if key.error_cm >= 0 else ""
    deg = f", {key.error_deg:.1f}°" if key.error_deg >= 0 else ""
    return f"Frames {key.set_off} to {key.arrived}{cm}{deg}{' off' if cm or deg else ''}."


CLASSES = (NSM_UL_action_keys, NSM_PT_action_keys, NSM_PT_navigation)
