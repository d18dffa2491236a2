# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panels for motions from the manifold: along a curve, for a crowd, and as a strike."""

from __future__ import annotations

import bpy

from ..operators import live
from ..scene import lookup
from ..scene.manifold import LIMB_ITEMS, NSM_PG_strike, of_character
from .sidebar import _Panel


class NSM_PT_synthesis(_Panel):
    """A motion along the curve, all at once."""

    bl_label = "Synthesis"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, _context: bpy.types.Context) -> None:
        """The buttons."""
        layout = self.layout
        row = layout.row(align=True)
        row.scale_y = 1.5
        row.operator("nsm.synthesize", icon="CURVE_PATH")
        row.operator("nsm.live_synthesis", icon="FILE_REFRESH", depress=live.running())
        layout.operator("nsm.synthesize_crowd", icon="COMMUNITY")


class NSM_PT_stepping(_Panel):
    """How the character steps."""

    bl_label = "Steps"
    bl_parent_id = "NSM_PT_synthesis"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Shown when there is a character."""
        return lookup.character(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        """The parameters of the square waves."""
        layout = self.layout
        layout.use_property_split = True
        armature = lookup.character(context)
        assert armature is not None
        settings = of_character(armature).synthesis
        column = layout.column(align=True)
        column.prop(settings, "ground")
        column.prop(settings, "standing_start")
        column.prop(settings, "sway")
        column = layout.column(align=True)
        column.prop(settings, "frequency")
        column.prop(settings, "duration")
        column.prop(settings, "phase")
        column = layout.column(align=True)
        column.prop(settings, "heel_phase")
        column.prop(settings, "toe_phase")
        column = layout.column(align=True)
        column.prop(settings, "heel_threshold")
        column.prop(settings, "toe_threshold")


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


class NSM_PT_strike(_Panel):
    """Punches and kicks at targets."""

    bl_label = "Strikes"
    bl_parent_id = "NSM_PT_synthesis"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Shown when there is a character."""
        return lookup.character(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        """The list and the button."""
        layout = self.layout
        armature = lookup.character(context)
        assert armature is not None
        settings = of_character(armature).strike
        row = layout.row()
        row.template_list("NSM_UL_strikes", "", settings, "strikes", settings, "index", rows=3)
        column = row.column(align=True)
        column.operator("nsm.add_strike", text="", icon="ADD")
        column.operator("nsm.remove_strike", text="", icon="REMOVE")
        layout.use_property_split = True
        if 0 <= settings.index < len(settings.strikes):
            strike = settings.strikes[settings.index]
            column = layout.column()
            column.prop(strike, "limb")
            column.prop(strike, "target")
            column.prop(strike, "frame")
        layout.prop(settings, "begin")
        layout.operator("nsm.synthesize_strike", icon="FORCE_FORCE")


CLASSES = (NSM_PT_synthesis, NSM_PT_stepping, NSM_UL_strikes, NSM_PT_strike)
