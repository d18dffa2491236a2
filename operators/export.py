# SPDX-License-Identifier: GPL-3.0-or-later
"""Exporting a baked character.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..nsm_blender import UserError
from ..scene import lookup
from ..scene.fbx import PRESETS, current_action, export_fbx
from .base import Operation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class NSM_OT_export_fbx(Operation, bpy.types.Operator):
    """Write the character, the meshes that it moves and its current action to an FBX file"""

    bl_idname = "nsm.export_fbx"
    bl_label = "Export FBX"
    bl_options = {"REGISTER"}

    filepath: StringProperty(name="File", description="The file to write", subtype="FILE_PATH", options={"SKIP_SAVE"})
    filter_glob: StringProperty(default="*.fbx", options={"HIDDEN"})
    check_existing: BoolProperty(default=True, options={"HIDDEN"})
    preset: EnumProperty(
        name="For",
        description="The program that will read the file",
        items=[(key, preset.label, preset.description) for key, preset in PRESETS.items()],
        default="UNITY",
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There must be an armature with an action, in object or pose mode."""
        rig = lookup.character(context)
        if rig is None:
            cls.poll_message_set("Select a character's armature first")
        elif context.mode not in {"OBJECT", "POSE"}:
            cls.poll_message_set("Switch to object mode or pose mode to export")
        elif current_action(rig) is None:
            cls.poll_message_set(f"'{rig.name}' has no action; bake one first")
        elif not hasattr(bpy.types, "EXPORT_SCENE_OT_fbx"):
            cls.poll_message_set("Enable Blender's own FBX add-on in the preferences")
        else:
            return True
        return False

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> "set[OperatorReturnItems]":
        """Ask for the file, named after the character unless it is known."""
        rig = lookup.character(context)
        if not self.filepath and rig is not None:
            folder = Path(bpy.data.filepath).parent if bpy.data.filepath else Path.home()
            self.filepath = str(folder / f"{bpy.path.clean_name(rig.name)}.fbx")
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context: bpy.types.Context) -> set[str]:
        """Write the file."""
        rig = lookup.character(context)
        assert rig is not None
        if not self.filepath:
            raise UserError("Choose a file name for the FBX file.")
        path = Path(bpy.path.abspath(self.filepath))
        if path.suffix.lower() != ".fbx":
            path = path.with_name(f"{path.name}.fbx")
        done = export_fbx(context, rig, path, self.preset)
        meshes = "1 mesh" if done.meshes == 1 else f"{done.meshes} meshes"
        self.report({"INFO"}, f"Wrote frames {done.first} to {done.last} and {meshes} to {path.name}")
        return {"FINISHED"}


CLASSES = (NSM_OT_export_fbx,)
