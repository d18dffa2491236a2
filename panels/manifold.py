# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panels for editing a motion: constraints, foot contacts, and what the last edit measured."""

from __future__ import annotations

from typing import Any

import bpy

from ..scene import contact_markers, lookup
from ..scene.manifold import (
    CONSTRAINT_ITEMS,
    NSM_PG_constraint,
    NSM_PG_contact,
    NSM_PG_edit,
    NSM_PG_style_source,
    of_character,
)
from .sidebar import _Panel

_ICONS: dict[str, Any] = {item[0]: item[3] for item in CONSTRAINT_ITEMS}


class _CharacterPanel(_Panel):
    """Base of panels that need a character."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Shown when there is a character."""
        return lookup.character(context) is not None


class NSM_UL_constraints(bpy.types.UIList):
    """The constraints of an edit."""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.AnyType,
        item: NSM_PG_constraint,
        _icon: int,
        _active_data: bpy.types.AnyType,
        _active_property: str,
    ) -> None:
        """Its name, its frames, and whether it takes part."""
        row = layout.row(align=True)
        row.active = item.enabled
        row.prop(item, "name", text="", emboss=False, icon=_ICONS[item.kind])
        if item.use_range:
            row.label(text=f"{item.frame_start} to {item.frame_end}")
        row.prop(item, "enabled", text="")


class NSM_UL_contacts(bpy.types.UIList):
    """The contacts of the feet with the ground."""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.AnyType,
        item: NSM_PG_contact,
        _icon: int,
        _active_data: bpy.types.AnyType,
        _active_property: str,
    ) -> None:
        """What touches, and when."""
        split = layout.split(factor=0.5)
        split.prop(item, "joint", text="")
        row = split.row(align=True)
        row.prop(item, "frame_start", text="")
        row.prop(item, "frame_end", text="")


class NSM_PT_edit(_CharacterPanel):
    """Change a motion as its constraints say."""

    bl_label = "Edit"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """The constraints, the one that is chosen, and the button."""
        layout = self.layout
        armature = lookup.character(context)
        assert armature is not None
        edit = of_character(armature).edit
        row = layout.row()
        row.template_list("NSM_UL_constraints", "", edit, "constraints", edit, "constraint_index", rows=4)
        column = row.column(align=True)
        column.operator_menu_enum("nsm.add_constraint", "kind", text="", icon="ADD")
        column.operator("nsm.remove_constraint", text="", icon="REMOVE")
        column.separator()
        column.operator("nsm.move_constraint", text="", icon="TRIA_UP").direction = "UP"
        column.operator("nsm.move_constraint", text="", icon="TRIA_DOWN").direction = "DOWN"
        if 0 <= edit.constraint_index < len(edit.constraints):
            _draw_constraint(layout, edit.constraints[edit.constraint_index])
        layout.use_property_split = True
        layout.prop(edit, "strength")
        row = layout.row()
        row.scale_y = 1.5
        row.operator("nsm.edit_motion", icon="MOD_SMOOTH")
        _draw_figures(layout, edit)


class NSM_PT_contacts(_CharacterPanel):
    """When heels and toes touch the ground."""

    bl_label = "Foot Contacts"
    bl_parent_id = "NSM_PT_edit"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """The list."""
        layout = self.layout
        armature = lookup.character(context)
        assert armature is not None
        edit = of_character(armature).edit
        marked = contact_markers.shown(context.scene, armature)
        row = layout.row(align=True)
        row.operator("nsm.create_contact_markers", text="Create Markers", icon="MARKER_HLT")
        row.operator("nsm.read_contact_markers", text="Read Markers", icon="MARKER")
        if marked:
            layout.label(text="Contacts are those of the timeline's markers.", icon="INFO")
            return
        layout.operator("nsm.detect_contacts", icon="VIEWZOOM")
        row = layout.row()
        row.template_list("NSM_UL_contacts", "", edit, "contacts", edit, "contact_index", rows=4)
        column = row.column(align=True)
        column.operator("nsm.add_contact", text="", icon="ADD")
        column.operator("nsm.remove_contact", text="", icon="REMOVE")
        column.separator()
        column.operator("nsm.clear_contacts", text="", icon="TRASH")
        if not edit.contacts:
            layout.label(text="Contacts are detected.", icon="INFO")


class NSM_PT_style(_CharacterPanel):
    """Give a motion another style."""

    bl_label = "Style"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """The reference and the button."""
        layout = self.layout
        layout.use_property_split = True
        armature = lookup.character(context)
        assert armature is not None
        style = of_character(armature).style
        _draw_source(layout, style.source)
        layout.prop(style, "use_second")
        if style.use_second:
            _draw_source(layout, style.second)
            layout.prop(style, "mix")
        layout.prop(style, "amount")
        layout.prop(style, "timing")
        row = layout.row()
        row.scale_y = 1.5
        row.operator("nsm.apply_style", icon="SHADERFX")
        row = layout.row(align=True)
        row.operator("nsm.save_style", icon="FILE_TICK")
        row.operator("nsm.load_style", icon="FILE_FOLDER")
        _draw_figures(layout, of_character(armature).edit)


class NSM_PT_style_search(_CharacterPanel):
    """How the style is searched for."""

    bl_label = "Search"
    bl_parent_id = "NSM_PT_style"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Weights, start and seed."""
        layout = self.layout
        layout.use_property_split = True
        armature = lookup.character(context)
        assert armature is not None
        style = of_character(armature).style
        column = layout.column(align=True)
        column.prop(style, "content_weight")
        column.prop(style, "style_weight")
        layout.prop(style, "start")
        if style.start == "NOISE":
            layout.prop(style, "seed")


def _draw_figures(layout: bpy.types.UILayout, edit: NSM_PG_edit) -> None:
    """What the last edit measured, before and after."""
    column = layout.column(align=True)
    for figure in edit.figures:
        split = column.split(factor=0.45)
        split.label(text=figure.label)
        split.label(text=f"{figure.before:.2f} to {figure.after:.2f} {figure.unit}")


def _draw_source(layout: bpy.types.UILayout, source: NSM_PG_style_source) -> None:
    """Where a style comes from."""
    column = layout.column()
    column.prop(source, "kind")
    column.prop(source, {"BUNDLED": "bundled", "ACTION": "rig", "FILE": "filepath"}[source.kind])


def _draw_constraint(layout: bpy.types.UILayout, item: NSM_PG_constraint) -> None:
    """The settings of one constraint."""
    column = layout.column()
    column.use_property_split = True
    if item.kind == "PIN":
        column.prop(item, "joint")
    if item.kind in ("PIN", "LOOK"):
        column.prop(item, "target")
        if item.target is None:
            column.prop(item, "place")
    if item.kind == "FLOOR":
        column.prop(item, "height")
    column.prop(item, "weight")
    if item.kind != "POSE":
        column.prop(item, "use_range")
    if item.use_range or item.kind == "POSE":
        part = column.column(align=True)
        part.prop(item, "frame_start")
        part.prop(item, "frame_end")
    if item.kind == "POSE":
        column.operator("nsm.capture_pose", icon="ARMATURE_DATA")


CLASSES = (
    NSM_UL_constraints,
    NSM_UL_contacts,
    NSM_PT_edit,
    NSM_PT_contacts,
    NSM_PT_style,
    NSM_PT_style_search,
)
