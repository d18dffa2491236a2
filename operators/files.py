# SPDX-License-Identifier: GPL-3.0-or-later
"""Save the shot and the report of a bake, and any motion of a character, as files.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, StringProperty

from ..nsm_blender import ShotError
from ..scene import lookup, output
from ..scene.properties import of_object
from .base import Operation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class SaveFile(Operation):
    """Base of operators that write a file: what `text` returns as JSON, or whatever `write` writes."""

    filepath: StringProperty(name="File", description="The file to write", subtype="FILE_PATH", options={"SKIP_SAVE"})
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})
    check_existing: BoolProperty(default=True, options={"HIDDEN"})

    name_end = ""
    suffix = ".json"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character."""
        if lookup.character(context) is None:
            cls.poll_message_set("Select a character's armature first")
            return False
        return True

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> "set[OperatorReturnItems]":
        """Ask for the file, named after the character."""
        armature = lookup.character(context)
        if not self.filepath and armature is not None:
            folder = Path(bpy.data.filepath).parent if bpy.data.filepath else Path.home()
            self.filepath = str(folder / f"{bpy.path.clean_name(armature.name)}{self.name_end}{self.suffix}")
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Write the file."""
        if not self.filepath:
            raise ShotError("Choose a name for the file.")
        armature = lookup.character(context)
        assert armature is not None
        path = Path(bpy.path.abspath(self.filepath))
        output.check_writable(path)
        self.write(context, armature, path)
        self.report({"INFO"}, f"Wrote {path.name}")
        return {"FINISHED"}

    def write(self, context: bpy.types.Context, armature: bpy.types.Object, path: Path) -> None:
        """Write the file; what is wrong with its content is found before."""
        output.write_whole(path, self.text(context, armature) + "\n")

    def text(self, context: bpy.types.Context, armature: bpy.types.Object) -> str:
        """The file's content."""
        raise NotImplementedError


class NSM_OT_save_shot(SaveFile):
    """Save what the character is to do as a file, to repeat the bake without Blender"""

    bl_idname = "nsm.save_shot"
    bl_label = "Save Shot"
    bl_options = {"REGISTER"}

    name_end = "_shot"

    def text(self, context: bpy.types.Context, armature: bpy.types.Object) -> str:
        """The shot that a bake would give to the engine now."""
        from ..scene.gather_keys import gather_shot

        return gather_shot(context, armature).shot.to_json()


class NSM_OT_save_report(SaveFile):
    """Save the measurements of the last bake as a file"""

    bl_idname = "nsm.save_report"
    bl_label = "Save Bake Report"
    bl_options = {"REGISTER"}

    name_end = "_report"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a bake that was measured."""
        if not super().poll(context):
            return False
        armature = lookup.character(context)
        if not of_object(armature).report.frames:
            cls.poll_message_set(f"'{armature.name}' has no report; bake first")
            return False
        return True

    def text(self, _context: bpy.types.Context, armature: bpy.types.Object) -> str:
        """The report that the last bake left on the armature."""
        from ..scene.measure import Report

        return Report.stored(armature).to_json()


class NSM_OT_save_motion(SaveFile):
    """Save the character's animation as a motion file: for training, or to apply it to another character"""

    bl_idname = "nsm.save_motion"
    bl_label = "Save Motion File"
    bl_options = {"REGISTER"}

    filter_glob: StringProperty(default="*.npz", options={"HIDDEN"})

    name_end = "_motion"
    suffix = ".npz"

    def write(self, context: bpy.types.Context, armature: bpy.types.Object, path: Path) -> None:
        """Read the animation back from the rig, as a clip of the model."""
        from ..nsm_blender import export_clip
        from ..scene import recording

        motion = recording.record(context, armature).motion
        action = armature.animation_data.action
        export_clip(motion, path, action.name if action else armature.name)


CLASSES = (NSM_OT_save_shot, NSM_OT_save_report, NSM_OT_save_motion)
