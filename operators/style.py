# SPDX-License-Identifier: GPL-3.0-or-later
"""Give the character's motion another style, and keep styles as files.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, StringProperty

from ..nsm_blender import UserError
from ..scene import lookup
from ..scene.manifold import of_character
from .base import Operation
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .manifold_job import EditJob

_SUFFIX = ".npz"


class NSM_OT_apply_style(JobOperation):
    """Restyle the character's motion as the reference moves, as a new action; the next style begins with the same
    motion again"""

    bl_idname = "nsm.apply_style"
    bl_label = "Apply Style"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Restyling"

    def start(self, context: bpy.types.Context) -> "EditJob":
        """Read the motion and the style."""
        from .manifold_job import StyleJob

        return StyleJob(context, lookup.character(context))

    def finish(self, _context: bpy.types.Context, job: "EditJob") -> "set[OperatorReturnItems]":
        """Report, and tell what does not hold."""
        self.report({"INFO"}, f"Restyled {job.report.frames} frames; {job.summary()}")
        for warning in job.work.warnings:
            self.report({"WARNING"}, warning)
        return {"FINISHED"}


class _StyleFile(Operation):
    """Base of operators on style files."""

    filepath: StringProperty(name="File", description="The style file", subtype="FILE_PATH", options={"SKIP_SAVE"})
    filter_glob: StringProperty(default=f"*{_SUFFIX}", options={"HIDDEN"})

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character."""
        if lookup.character(context) is None:
            cls.poll_message_set("Select a character's armature first")
            return False
        return True

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> "set[OperatorReturnItems]":
        """Ask for the file."""
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def path(self) -> Path:
        """The chosen file. Raises UserError when none is chosen."""
        if not self.filepath:
            raise UserError("Choose a style file.")
        return Path(bpy.path.abspath(self.filepath))


class NSM_OT_save_style(_StyleFile):
    """Save the style of the character's action as a file"""

    bl_idname = "nsm.save_style"
    bl_label = "Save Style"
    bl_options = {"REGISTER"}

    check_existing: BoolProperty(default=True, options={"HIDDEN"})

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> "set[OperatorReturnItems]":
        """Ask for the file, named after the character."""
        armature = lookup.character(context)
        if not self.filepath and armature is not None:
            folder = Path(bpy.data.filepath).parent if bpy.data.filepath else Path.home()
            self.filepath = str(folder / f"{bpy.path.clean_name(armature.name)}{_SUFFIX}")
        return super().invoke(context, event)

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Write it."""
        from . import styles

        path = self.path()
        if path.suffix.lower() != _SUFFIX:
            path = path.with_name(f"{path.name}{_SUFFIX}")
        armature = lookup.character(context)
        assert armature is not None
        style = styles.of_character(context, armature)
        try:
            style.save(path)
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror}); choose another place.") from error
        self.report({"INFO"}, f"Wrote {path.name}")
        return {"FINISHED"}


class NSM_OT_load_style(_StyleFile):
    """Use the style of a file as the reference"""

    bl_idname = "nsm.load_style"
    bl_label = "Load Style"
    bl_options = {"REGISTER", "UNDO"}

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Choose the file when its style can be read."""
        from ..nsm_blender import Style

        name = Style.load(self.path()).name
        armature = lookup.character(context)
        assert armature is not None
        source = of_character(armature).style.source
        source.kind, source.filepath = "FILE", self.filepath
        self.report({"INFO"}, f"Loaded the style '{name}'")
        return {"FINISHED"}


CLASSES = (NSM_OT_apply_style, NSM_OT_save_style, NSM_OT_load_style)
