# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panel for colliders: wrap, role, handles, what is odd about them."""

from __future__ import annotations

import bpy

from ..nsm_blender import KINDS
from ..scene import colliders, handles
from .sidebar import _Panel

_LABELS = {item[0]: item[1] for item in colliders.ROLE_ITEMS}


class NSM_PT_colliders(_Panel):
    """The selected object as a collider."""

    bl_label = "Colliders"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """The buttons, and what the active object is."""
        layout = self.layout
        column = layout.column(align=True)
        column.operator("nsm.wrap_collider", icon="MESH_CUBE")
        column.operator("nsm.refresh_colliders", icon="FILE_REFRESH")
        column.operator_menu_enum("nsm.select_role", "role", icon="RESTRICT_SELECT_OFF")
        obj = _shown(context)
        if obj is None:
            layout.label(text="Select objects and wrap them.", icon="INFO")
            return
        settings = colliders.of(obj)
        layout.use_property_split = True
        column = layout.column()
        column.label(text=f"{obj.name}: {settings.count} cuboids", icon="MESH_CUBE")
        if settings.stale:
            column.label(text="Its shape has changed: refresh", icon="ERROR")
        column.operator_menu_enum("nsm.set_role", "role", text=f"Role: {_LABELS[settings.role]}")
        column.prop(settings, "enabled")
        column.prop(settings, "size", text="Voxel Size (m)")
        column.operator("nsm.remove_collider", icon="TRASH")


class NSM_PT_handles(_Panel):
    """How a character uses the selected collider."""

    bl_label = "Handles"
    bl_parent_id = "NSM_PT_colliders"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Shown for the roles that have handles."""
        obj = _shown(context)
        return obj is not None and colliders.of(obj).role in KINDS

    def draw(self, context: bpy.types.Context) -> None:
        """The role's settings, the buttons, and the warnings."""
        layout = self.layout
        layout.use_property_split = True
        obj = _shown(context)
        assert obj is not None
        settings = colliders.of(obj)
        column = layout.column()
        if settings.role == "seat":
            column.prop(settings, "approaches")
        elif settings.role == "carryable":
            column.prop(settings, "weight")
        elif settings.role == "door":
            column.prop(settings, "angle")
            column.prop(settings, "leaf_width")
            column.prop(settings, "leaf_height")
        column = layout.column(align=True)
        column.operator("nsm.propose_handles", icon="VIEWZOOM")
        if settings.handles and not handles.empties(obj):
            column.operator("nsm.show_handles", icon="EMPTY_DATA")
        column.operator("nsm.check_handles", icon="CHECKMARK")
        if settings.role != "door":
            row = layout.row(align=True)
            for text, angle in (("Left", 0.5), ("Flip", 1.0), ("Right", -0.5)):
                row.operator("nsm.turn_facing", text=text).angle = angle * 3.14159265
        for line in settings.warnings.splitlines():
            layout.label(text=line, icon="ERROR")


def _shown(context: bpy.types.Context) -> bpy.types.Object | None:
    """The collider that is meant: the active object, or the one that the active handle belongs to."""
    active = context.active_object
    if active is not None and handles.is_handle(active):
        active = active.parent
    return active if active is not None and colliders.is_collider(active) else None


CLASSES = (NSM_PT_colliders, NSM_PT_handles)
