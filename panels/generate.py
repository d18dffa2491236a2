# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panel for motions from the manifold: along a curve, for a crowd, as strikes; and from files."""

from __future__ import annotations

import bpy

from ..operators import live
from ..scene import lookup
from ..scene.manifold import LIMB_ITEMS, NSM_PG_strike
from ..scene.properties import blank
from ..scene.readiness import missing_for_motion
from .base import BIG, Panel, Subpanel, hint, manifold


class NSM_PT_generate(Panel):
    """Make whole motions at once."""

    bl_label = "Generate"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """What is missing."""
        missing = missing_for_motion(lookup.character(context))
        hint(self.layout, f"{missing}." if missing else "A new action for the character.", lines=2)


class NSM_PT_synthesis(Subpanel):
    """A motion along the curve, all at once."""

    bl_label = "Path Synthesis"
    bl_parent_id = "NSM_PT_generate"

    def draw(self, context: bpy.types.Context) -> None:
        """The buttons, and where the character walks."""
        layout = self.layout
        row = layout.row(align=True)
        row.scale_y = BIG
        row.operator("nsm.synthesize", icon="CURVE_PATH")
        row.operator("nsm.live_synthesis", text="Live", icon="FILE_REFRESH", depress=live.running())
        layout.use_property_split = True
        column = layout.column()
        column.enabled = lookup.character(context) is not None
        settings = manifold(context).synthesis
        column.prop(settings, "ground")
        column.prop(settings, "standing_start")
        column.prop(settings, "sway")


class NSM_PT_stepping(Subpanel):
    """How the character steps."""

    bl_label = "Steps"
    bl_parent_id = "NSM_PT_synthesis"

    def draw(self, context: bpy.types.Context) -> None:
        """The parameters of the square waves."""
        layout = self.layout
        layout.use_property_split = True
        layout.enabled = lookup.character(context) is not None
        settings = manifold(context).synthesis
        for group in (
            (("frequency", "Frequency"), ("duration", "Duration"), ("phase", "First Step")),
            (("heel_phase", "Heel Phase"), ("toe_phase", "Toe Phase")),
            (("heel_threshold", "Heel Lift"), ("toe_threshold", "Toe Lift")),
        ):
            column = layout.column(align=True)
            for name, text in group:
                column.prop(settings, name, text=text)


class NSM_PT_crowd(Subpanel):
    """A character for each selected curve."""

    bl_label = "Crowd"
    bl_parent_id = "NSM_PT_generate"

    def draw(self, _context: bpy.types.Context) -> None:
        """The button."""
        layout = self.layout
        row = layout.row()
        row.scale_y = BIG
        row.operator("nsm.synthesize_crowd", icon="COMMUNITY")
        hint(layout, "Select a curve for each character.", lines=2)


class NSM_UL_strikes(bpy.types.UIList):
    """The punches and kicks of a character."""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.AnyType,
        item: NSM_PG_strike,
        _icon: int,
        _active_data: bpy.types.AnyType,
        _active_property: str,
    ) -> None:
        """What hits what, and when."""
        limb = next(label for name, label, *_ in LIMB_ITEMS if name == item.limb)
        layout.label(text=f"{item.frame}: {limb} to {item.target.name if item.target else 'nothing yet'}")


class NSM_PT_strike(Subpanel):
    """Punches and kicks at targets."""

    bl_label = "Strikes"
    bl_parent_id = "NSM_PT_generate"

    def draw(self, context: bpy.types.Context) -> None:
        """The list and the button."""
        layout = self.layout
        settings = manifold(context).strike
        row = layout.row()
        row.template_list("NSM_UL_strikes", "", settings, "strikes", settings, "index", rows=3, maxrows=3)
        column = row.column(align=True)
        column.operator("nsm.add_strike", text="", icon="ADD")
        column.operator("nsm.remove_strike", text="", icon="REMOVE")
        layout.use_property_split = True
        there = 0 <= settings.index < len(settings.strikes)
        strike = settings.strikes[settings.index] if there else blank(context).blank_strike
        column = layout.column()
        column.enabled = there
        column.prop(strike, "limb")
        column.prop(strike, "target")
        column.prop(strike, "frame")
        layout.prop(settings, "begin")
        row = layout.row()
        row.scale_y = BIG
        row.operator("nsm.synthesize_strike", icon="FORCE_FORCE")


class NSM_PT_motion_files(Subpanel):
    """Motions from files and into them."""

    bl_label = "Motion Files"
    bl_parent_id = "NSM_PT_generate"

    def draw(self, _context: bpy.types.Context) -> None:
        """The buttons."""
        column = self.layout.column(align=True)
        column.operator("nsm.apply_motion", icon="IMPORT")
        column.operator("nsm.save_motion", icon="EXPORT")


CLASSES = (
    NSM_PT_generate,
    NSM_PT_synthesis,
    NSM_PT_stepping,
    NSM_PT_crowd,
    NSM_UL_strikes,
    NSM_PT_strike,
    NSM_PT_motion_files,
)
