# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panel for refining a motion: constraints, foot contacts, style, and what the last edit measured."""

from __future__ import annotations

from typing import Any

import bpy

from ..scene import contact_markers, lookup, sources
from ..scene.manifold import (
    CONSTRAINT_ITEMS,
    NSM_PG_constraint,
    NSM_PG_contact,
    NSM_PG_edit,
    NSM_PG_style_source,
)
from ..scene.properties import blank
from .base import BIG, Panel, Subpanel, figures, hint, manifold

_ICONS: dict[str, Any] = {item[0]: item[3] for item in CONSTRAINT_ITEMS}
_SOURCES = {"BUNDLED": "bundled", "ACTION": "rig", "FILE": "filepath"}


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
            row.label(text=f"{item.frame_start}-{item.frame_end}")
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


class NSM_PT_refine(Panel):
    """Change a motion that is there."""

    bl_label = "Refine"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Which motion is changed."""
        armature = lookup.character(context)
        source = None if armature is None else sources.shown(armature)
        if source is None:
            hint(self.layout, "Bake or assign an action first.")
        else:
            hint(self.layout, f"Source: {source.name}", "ACTION")


class NSM_PT_edit(Subpanel):
    """Change a motion as its constraints say."""

    bl_label = "Edit"
    bl_parent_id = "NSM_PT_refine"

    def draw(self, context: bpy.types.Context) -> None:
        """The constraints, the one that is chosen, and the button."""
        layout = self.layout
        edit = manifold(context).edit
        row = layout.row()
        row.template_list("NSM_UL_constraints", "", edit, "constraints", edit, "constraint_index", rows=5, maxrows=5)
        column = row.column(align=True)
        column.operator_menu_enum("nsm.add_constraint", "kind", text="", icon="ADD")
        column.operator("nsm.remove_constraint", text="", icon="REMOVE")
        column.separator()
        column.operator("nsm.move_constraint", text="", icon="TRIA_UP").direction = "UP"
        column.operator("nsm.move_constraint", text="", icon="TRIA_DOWN").direction = "DOWN"
        there = 0 <= edit.constraint_index < len(edit.constraints)
        chosen = edit.constraints[edit.constraint_index] if there else blank(context).blank_constraint
        _draw_constraint(layout, chosen, chosen.kind if there else "")
        layout.use_property_split = True
        layout.prop(edit, "strength")
        row = layout.row()
        row.scale_y = BIG
        row.operator("nsm.edit_motion", icon="MOD_SMOOTH")
        _draw_figures(layout, edit)


class NSM_PT_contacts(Subpanel):
    """When heels and toes touch the ground."""

    bl_label = "Foot Contacts"
    bl_parent_id = "NSM_PT_edit"

    def draw(self, context: bpy.types.Context) -> None:
        """The list, unless markers on the timeline have its place."""
        layout = self.layout
        armature = lookup.character(context)
        edit = manifold(context).edit
        marked = armature is not None and contact_markers.shown(context.scene, armature)
        row = layout.row(align=True)
        row.operator("nsm.create_contact_markers", text="Create Markers", icon="MARKER_HLT")
        row.operator("nsm.read_contact_markers", text="Read Markers", icon="MARKER")
        body = layout.column()
        body.enabled = not marked
        body.operator("nsm.detect_contacts", icon="VIEWZOOM")
        row = body.row()
        row.template_list("NSM_UL_contacts", "", edit, "contacts", edit, "contact_index", rows=4, maxrows=4)
        column = row.column(align=True)
        column.operator("nsm.add_contact", text="", icon="ADD")
        column.operator("nsm.remove_contact", text="", icon="REMOVE")
        column.separator()
        column.operator("nsm.clear_contacts", text="", icon="TRASH")
        if marked:
            hint(layout, "The timeline's markers are used.")
        else:
            hint(layout, "The listed contacts are used." if edit.contacts else "Contacts are detected.")


class NSM_PT_style(Subpanel):
    """Give a motion another style."""

    bl_label = "Style"
    bl_parent_id = "NSM_PT_refine"

    def draw(self, context: bpy.types.Context) -> None:
        """The reference and the button."""
        layout = self.layout
        layout.use_property_split = True
        style = manifold(context).style
        _draw_source(layout.column(), style.source)
        layout.prop(style, "use_second")
        column = layout.column()
        column.active = style.use_second
        _draw_source(column, style.second)
        column.prop(style, "mix")
        layout.prop(style, "amount")
        layout.prop(style, "timing")
        row = layout.row()
        row.scale_y = BIG
        row.operator("nsm.apply_style", icon="SHADERFX")
        row = layout.row(align=True)
        row.operator("nsm.load_style", text="Load", icon="FILE_FOLDER")
        row.operator("nsm.save_style", text="Save", icon="FILE_TICK")


class NSM_PT_style_search(Subpanel):
    """How the style is searched for."""

    bl_label = "Search"
    bl_parent_id = "NSM_PT_style"

    def draw(self, context: bpy.types.Context) -> None:
        """Weights, start and seed."""
        layout = self.layout
        layout.use_property_split = True
        style = manifold(context).style
        column = layout.column(align=True)
        column.prop(style, "content_weight")
        column.prop(style, "style_weight")
        layout.prop(style, "start")
        row = layout.row()
        row.active = style.start == "NOISE"
        row.prop(style, "seed")


class NSM_PT_variation(Subpanel):
    """Other actions out of the one that is there."""

    bl_label = "Mirror and Loop"
    bl_parent_id = "NSM_PT_refine"

    def draw(self, _context: bpy.types.Context) -> None:
        """The buttons."""
        column = self.layout.column(align=True)
        column.operator("nsm.mirror_motion", icon="MOD_MIRROR")
        row = column.row(align=True)
        row.operator("nsm.loop_gait", text="Loop on the Spot", icon="FILE_REFRESH").way = "SPOT"
        row.operator("nsm.loop_gait", text="Loop Traveling", icon="FORWARD").way = "TRAVEL"


def _draw_figures(layout: bpy.types.UILayout, edit: NSM_PG_edit) -> None:
    """What the last edit measured, before and after."""
    figures(layout, [(one.label, f"{one.before:.2f} to {one.after:.2f} {one.unit}") for one in edit.figures])


def _draw_source(layout: bpy.types.UILayout, source: NSM_PG_style_source) -> None:
    """Where a style comes from."""
    layout.prop(source, "kind")
    layout.prop(source, _SOURCES[source.kind])


def _draw_constraint(layout: bpy.types.UILayout, item: NSM_PG_constraint, kind: str) -> None:
    """The settings of all kinds of constraints; what this kind does not use is grayed out. kind: "" for none."""
    column = layout.column()
    column.enabled = kind != ""
    column.use_property_split = True
    aims = kind in ("PIN", "LOOK")
    for name, used in (
        ("joint", kind == "PIN"),
        ("target", aims),
        ("place", aims and item.target is None),
        ("height", kind == "FLOOR"),
        ("weight", True),
        ("use_range", kind != "POSE"),
        ("frame_start", item.use_range or kind == "POSE"),
        ("frame_end", item.use_range or kind == "POSE"),
    ):
        part = column.column()
        part.active = used
        part.prop(item, name)
    row = layout.row()
    row.enabled = kind == "POSE"
    row.operator("nsm.capture_pose", icon="ARMATURE_DATA")


CLASSES = (
    NSM_UL_constraints,
    NSM_UL_contacts,
    NSM_PT_refine,
    NSM_PT_edit,
    NSM_PT_contacts,
    NSM_PT_style,
    NSM_PT_style_search,
    NSM_PT_variation,
)
