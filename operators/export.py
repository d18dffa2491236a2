# SPDX-License-Identifier: GPL-3.0-or-later
"""Exporting a baked character."""

from __future__ import annotations

from pathlib import Path

import bpy
from bpy_extras.io_utils import ExportHelper

from ..nsm_blender.errors import UserError
from ..scene.fbx import PRESETS, current_action, export_fbx


class NSM_OT_export_fbx(bpy.types.Operator, ExportHelper):
    """Write the active character, its meshes and its current action to an FBX file"""

    bl_idname = "nsm.export_fbx"
    bl_label = "Export FBX"
    bl_options = {"REGISTER"}

    filename_ext = ".fbx"
    filter_glob: bpy.props.StringProperty(default="*.fbx", options={"HIDDEN"})  # type: ignore[valid-type]
    preset: bpy.props.EnumProperty(  # type: ignore[valid-type]
        name="For",
        description="The program that will read the file",
        items=[(key, preset.label, preset.description) for key, preset in PRESETS.items()],
        default="UNITY",
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        rig = _rig(context)
        if rig is None:
            cls.poll_message_set("Select an armature, or a mesh that one moves")
        elif context.mode not in {"OBJECT", "POSE"}:
            cls.poll_message_set("Switch to object mode or pose mode to export")
        elif current_action(rig) is None:
            cls.poll_message_set(f"'{rig.name}' has no action; bake one first")
        elif not hasattr(bpy.types, "EXPORT_SCENE_OT_fbx"):
            cls.poll_message_set("Enable Blender's own FBX add-on in the preferences")
        else:
            return True
        return False

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        rig = _rig(context)
        if not self.filepath and rig is not None:
            folder = Path(bpy.data.filepath).parent if bpy.data.filepath else Path.home()
            self.filepath = str(folder / f"{bpy.path.clean_name(rig.name)}.fbx")
        return ExportHelper.invoke(self, context, event)

    def execute(self, context: bpy.types.Context) -> set[str]:
        rig = _rig(context)
        assert rig is not None, "poll looked"
        if not self.filepath:
            self.report({"ERROR"}, "Choose a file name for the FBX file.")
            return {"CANCELLED"}
        path = Path(bpy.path.abspath(self.filepath)).with_suffix(".fbx")
        try:
            done = export_fbx(context, rig, path, self.preset)
        except UserError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, f"Wrote frames {done.first} to {done.last} and {done.meshes} mesh(es) to {path.name}.")
        return {"FINISHED"}


def _rig(context: bpy.types.Context) -> bpy.types.Object | None:
    """The active armature, or the one that moves the active mesh."""
    active = context.active_object
    if active is None:
        return None
    return active if active.type == "ARMATURE" else active.find_armature()


CLASSES = (NSM_OT_export_fbx,)
