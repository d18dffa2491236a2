# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panel for the character: which one, whether its rig is ready, and how it takes the motion."""

from __future__ import annotations

from typing import Any

import bpy

from ..scene import binding, lookup
from ..scene.properties import blank
from .base import Panel, Subpanel, hint


class NSM_PT_character(Panel):
    """Which armature acts."""

    bl_label = "Character"

    def draw(self, context: bpy.types.Context) -> None:
        """The picker, how to add a character, and the state of the rig with the button that mends it."""
        layout = self.layout
        armature = lookup.character(context)
        name = "No character" if armature is None else armature.name
        layout.menu("NSM_MT_characters", text=name, icon="ARMATURE_DATA")
        row = layout.row(align=True)
        row.operator("nsm.add_character", text="Add", icon="OUTLINER_OB_ARMATURE")
        row.operator("nsm.add_demo_shot", text="Demo Shot", icon="HOME")
        row.operator_menu_enum("nsm.add_demo_shot", "place", text="", icon="DOWNARROW_HLT")
        text, icon = _rig_state(armature)
        row = layout.split(factor=0.6)
        row.label(text=text, icon=icon)
        if armature is not None and not armature.is_editable:
            row.operator("object.make_override_library", text="Override", icon="LIBRARY_DATA_OVERRIDE")
        else:
            bound = armature is not None and binding.is_bound(armature)
            row.operator("nsm.bind", text="Bind Again" if bound else "Bind", icon="LINKED")


class NSM_MT_characters(bpy.types.Menu):
    """The armatures of the scene."""

    bl_label = "Characters"

    def draw(self, context: bpy.types.Context) -> None:
        """One after the other."""
        for armature in lookup.armatures(context.scene):
            picked = self.layout.operator("nsm.pick_character", text=armature.name, icon="ARMATURE_DATA")
            picked.name = armature.name


def _rig_state(armature: bpy.types.Object | None) -> tuple[str, Any]:
    """Whether the rig can take a motion, in two words, and an icon."""
    if armature is None:
        return "Add one, or select", "INFO"
    if not armature.is_editable:
        return "Linked", "LIBRARY_DATA_DIRECT"
    if binding.is_bound(armature):
        rows = binding.of(armature).matches
        return f"{sum(bool(row.bone) for row in rows)} joints bound", "CHECKMARK"
    return ("Rig is ready", "CHECKMARK") if binding.is_ready(armature) else ("Not bound yet", "ERROR")


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


class NSM_PT_mapping(Subpanel):
    """Which bones of the character's own rig are which joints."""

    bl_label = "Bone Mapping"
    bl_parent_id = "NSM_PT_character"

    def draw(self, context: bpy.types.Context) -> None:
        """The list, the chosen joint, and the files."""
        layout = self.layout
        armature = lookup.character(context)
        settings = blank(context).blank.binding if armature is None else binding.of(armature)
        row = layout.row(align=True)
        row.operator("nsm.bind", text="Map Manually", icon="HAND").manual = True
        row.operator("nsm.load_mapping", text="", icon="FILE_FOLDER")
        row.operator("nsm.save_mapping", text="", icon="FILE_TICK")
        row.operator("nsm.unbind", text="", icon="X")
        layout.template_list("NSM_UL_matches", "", settings, "matches", settings, "index", rows=6, maxrows=6)
        if armature is not None and 0 <= settings.index < len(settings.matches):
            chosen = settings.matches[settings.index]
            layout.prop_search(chosen, "bone", armature.data, "bones", text="")
            why = f"{chosen.confidence:.0%} sure. {chosen.why}" if chosen.bone else binding.without(chosen.name)
        else:
            layout.label(text="")
            why = "Bind lists which bone is which joint, for you to correct."
        hint(layout, why, lines=3)
        layout.operator("nsm.check_binding", icon="CHECKMARK")


class NSM_PT_root_ik(Subpanel):
    """How the rig takes the motion."""

    bl_label = "Root and IK"
    bl_parent_id = "NSM_PT_character"

    def draw(self, context: bpy.types.Context) -> None:
        """What moves over the ground, controls, fingers, and the poses at both ends."""
        layout = self.layout
        layout.use_property_split = True
        armature = lookup.character(context)
        settings = blank(context).blank.binding if armature is None else binding.of(armature)
        bound = layout.column()
        bound.enabled = armature is not None and binding.is_bound(armature)
        bound.prop(settings, "root_motion")
        row = bound.row()
        row.active = settings.root_motion == "ROOT"
        if armature is None:
            row.prop(settings, "root_bone")
        else:
            row.prop_search(settings, "root_bone", armature.data, "bones")
        column = bound.column(heading="IK")
        column.prop(settings, "ik_legs", text="Legs")
        column.prop(settings, "ik_arms", text="Arms")
        poses = layout.column()
        poses.enabled = armature is not None
        poses.prop(settings, "fingers")
        poses.prop(settings, "start_pose")
        poses.prop(settings, "blend_in")
        poses.prop(settings, "end_pose")
        row = poses.row()
        row.active = settings.end_pose == "ACTION"
        row.prop(settings, "end_pose_action", text="Action")
        row = poses.row()
        row.active = settings.end_pose != "NONE"
        row.prop(settings, "blend_out")


CLASSES = (NSM_MT_characters, NSM_PT_character, NSM_UL_matches, NSM_PT_mapping, NSM_PT_root_ik)
