# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panel for the binding: which bone is which joint, and how the rig takes the motion."""

from __future__ import annotations

import bpy

from ..scene import binding, lookup
from .sidebar import _draw_text, _Panel


class NSM_UL_matches(bpy.types.UIList):
    """Joints and their bones."""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.AnyType,
        item: binding.NSM_PG_match,
        _icon: int,
        _active_data: bpy.types.AnyType,
        _active_property: str,
    ) -> None:
        """The joint, its bone, and whether the proposal is unsure. The bone is chosen below the list, where its whole
        name fits; here what all names begin with, such as "mixamorig:", would hide the rest.
        """
        split = layout.split(factor=0.42)
        split.label(text=item.name)
        row = split.row(align=True)
        row.label(text=item.bone.rpartition(":")[2])
        if not item.bone:
            row.label(text="", icon="REMOVE")
        else:
            row.label(text="", icon="CHECKMARK" if item.confidence >= binding.SURE else "QUESTION")


class NSM_PT_binding(_Panel):
    """Which bones of the character's own rig are which joints."""

    bl_label = "Binding"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Shown when there is a character."""
        return lookup.character(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        """The list, or how to get one."""
        layout = self.layout
        armature = lookup.character(context)
        if armature is None:
            return
        if not armature.is_editable:
            layout.label(text="Linked from another file.", icon="LIBRARY_DATA_DIRECT")
            layout.operator("object.make_override_library", icon="LIBRARY_DATA_OVERRIDE")
            return
        settings = binding.of(armature)
        row = layout.row(align=True)
        row.operator("nsm.bind", icon="OUTLINER_OB_ARMATURE")
        row.operator("nsm.load_mapping", text="", icon="FILE_FOLDER")
        if not binding.is_bound(armature):
            layout.operator("nsm.bind", text="Map Manually", icon="HAND").manual = True
            return
        row.operator("nsm.save_mapping", text="", icon="FILE_TICK")
        row.operator("nsm.unbind", text="", icon="X")
        layout.template_list("NSM_UL_matches", "", settings, "matches", settings, "index", rows=6)
        if 0 <= settings.index < len(settings.matches):
            chosen = settings.matches[settings.index]
            layout.prop_search(chosen, "bone", armature.data, "bones", text="")
            if chosen.bone:
                _draw_text(layout, f"{chosen.confidence:.0%} sure. {chosen.why}", "INFO")
            else:
                _draw_text(layout, binding.without(chosen.name), "INFO")
        layout.operator("nsm.check_binding", icon="CHECKMARK")


class NSM_PT_binding_motion(_Panel):
    """How the rig takes the motion."""

    bl_label = "Motion on the Rig"
    bl_parent_id = "NSM_PT_binding"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """What moves over the ground, controls, and the poses at both ends."""
        armature = lookup.character(context)
        if armature is None:
            return
        layout, settings = self.layout, binding.of(armature)
        layout.use_property_split = True
        if binding.is_bound(armature):
            layout.prop(settings, "root_motion")
            if settings.root_motion == "ROOT":
                layout.prop_search(settings, "root_bone", armature.data, "bones")
            column = layout.column(heading="IK")
            column.prop(settings, "ik_legs", text="Legs")
            column.prop(settings, "ik_arms", text="Arms")
        layout.prop(settings, "start_pose")
        layout.prop(settings, "blend_in")
        layout.prop(settings, "end_pose")
        if settings.end_pose == "ACTION":
            layout.prop(settings, "end_pose_action")
        if settings.end_pose != "NONE":
            layout.prop(settings, "blend_out")
        row = layout.row(align=True)
        row.operator("nsm.apply_motion", icon="IMPORT")
        row.operator("nsm.save_motion", text="Save", icon="EXPORT")


CLASSES = (NSM_UL_matches, NSM_PT_binding, NSM_PT_binding_motion)
