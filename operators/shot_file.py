# SPDX-License-Identifier: GPL-3.0-or-later
"""Load a saved shot into the scene.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from typing import TYPE_CHECKING

import bpy
from bpy.props import StringProperty

from ..nsm_blender import ShotError
from ..scene import lookup
from .base import Operation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class NSM_OT_load_shot(Operation):
    """Put a saved shot into the scene: its colliders as boxes, its goals and keys or its path.

    Without a character, the mannequin is added.
    """

    bl_idname = "nsm.load_shot"
    bl_label = "Load Shot"
    bl_description = (
        "Put a saved shot into the scene: colliders as boxes, goals and action keys or the path. They replace those "
        "of the character; without one, the mannequin is added"
    )
    bl_options = {"REGISTER", "UNDO"}

    filepath: StringProperty(name="File", description="The file to read", subtype="FILE_PATH", options={"SKIP_SAVE"})
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Objects are added in object mode."""
        if context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
            return False
        return True

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> "set[OperatorReturnItems]":
        """Ask for the file."""
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Read the file, then change the scene."""
        from ..nsm_blender import Shot
        from ..scene import armatures, staging
        from ..scene.all_or_nothing import additions
        from ..scene.mannequin import add_mannequin

        if not self.filepath:
            raise ShotError("Choose a shot file.")
        shot = Shot.load(bpy.path.abspath(self.filepath))
        shot.validate()
        with additions(context):
            armature = lookup.character(context) or add_mannequin(context, context.scene.cursor.location)
            staging.put(context, armature, armatures.read(context, armature), shot)
        self.report({"INFO"}, f"Loaded '{shot.name}': {shot.frames} frames at {shot.fps:g} fps")
        return {"FINISHED"}


CLASSES = (NSM_OT_load_shot,)
