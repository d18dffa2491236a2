# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of own captures: shown on the timeline, corrected there, and saved for training.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import StringProperty

from ..nsm_blender import FileFormatError
from ..scene import lookup
from ..scene.label_settings import has_labels
from .apply_motion import FileJobOperation
from .base import Operation, counted
from .files import SaveFile

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .capture_job import CaptureJob


class NSM_OT_import_capture(FileJobOperation):
    """Put a capture (BVH, NPZ, or AMC with its ASF) onto the character with its labels on the timeline: those of the
    label file beside it, else automatic ones. The scene takes the capture's frame rate and length"""

    bl_idname = "nsm.import_capture"
    bl_label = "Import Capture"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Importing the capture"

    filepath: StringProperty(name="File", description="The motion file", subtype="FILE_PATH", options={"SKIP_SAVE"})
    filter_glob: StringProperty(default="*.bvh;*.amc;*.npz", options={"HIDDEN"})

    def is_chosen(self) -> bool:
        """Whether there is a file."""
        return bool(self.filepath)

    def run_again(self) -> None:
        """Run the operator on the chosen file."""
        bpy.ops.nsm.import_capture("INVOKE_DEFAULT", filepath=self.filepath)

    def start(self, context: bpy.types.Context) -> "CaptureJob":
        """Look at the character; the job reads the file, and nothing is changed when that fails."""
        from .capture_job import CaptureJob

        if not self.filepath:
            raise FileFormatError("Choose a motion file.")
        path = Path(bpy.path.abspath(self.filepath))
        return CaptureJob(context, lookup.character(context), path, context.scene.frame_start)

    def finish(self, _context: bpy.types.Context, job: "CaptureJob") -> "set[OperatorReturnItems]":
        """Report."""
        capture = job.capture
        assert capture is not None
        for note in job.report.notes:
            self.report({"WARNING"}, note)
        labels = "labels of its file" if capture.was_corrected else "automatic labels"
        self.report(
            {"INFO"},
            f"Imported {capture.clip.frames} frames at {capture.clip.fps:.6g} fps with {labels}, "
            f"{counted(len(capture.labels.doubts), 'doubtful stretch', 'doubtful stretches')}",
        )
        return {"FINISHED"}


class _OnLabels(Operation):
    """Base of operators on the labels of the timeline."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There have to be labels."""
        return _has_labels(cls, context)


class NSM_OT_save_labels(SaveFile):
    """Save the labels of the timeline where training looks for them: in the label file beside the capture"""

    bl_idname = "nsm.save_labels"
    bl_label = "Save Labels"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There have to be labels."""
        return _has_labels(cls, context)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> "set[OperatorReturnItems]":
        """Ask for the file, beside the capture."""
        self._choose(context)
        return super().invoke(context, event)

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Write the file."""
        self._choose(context)
        return super().run(context)

    def write(self, context: bpy.types.Context, armature: bpy.types.Object, path: Path) -> None:
        """Read the timeline and write; what does not fit together is told before anything is written."""
        from ..scene import label_tracks

        for note in label_tracks.save(context.scene, armature, path):
            self.report({"WARNING"}, note)

    def _choose(self, context: bpy.types.Context) -> None:
        from ..scene import label_tracks

        armature = lookup.character(context)
        if not self.filepath and armature is not None:
            self.filepath = str(label_tracks.file_of(armature))


class NSM_OT_copy_training_command(_OnLabels):
    """Copy the command line that trains the Neural State Machine on the capture's folder, for a terminal"""

    bl_idname = "nsm.copy_training_command"
    bl_label = "Copy Training Command"
    bl_options = {"REGISTER"}

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Put it into the clipboard."""
        from ..scene import label_tracks

        armature = lookup.character(context)
        assert armature is not None
        command = training_command(label_tracks.data_of(armature))
        context.window_manager.clipboard = command
        self.report({"INFO"}, f"Copied: {command}")
        return {"FINISHED"}


class NSM_OT_remove_labels(_OnLabels):
    """Take the labels off the timeline; the motion and the label file stay"""

    bl_idname = "nsm.remove_labels"
    bl_label = "Remove Labels"
    bl_options = {"REGISTER", "UNDO"}

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Remove keys and markers."""
        from ..scene import label_tracks

        armature = lookup.character(context)
        assert armature is not None
        label_tracks.clear(context.scene, armature)
        self.report({"INFO"}, f"Removed the labels of '{armature.name}'")
        return {"FINISHED"}


def training_command(data: Path) -> str:
    """The command line that trains on a folder, for the shell of this system."""
    words = ["nsm-blender", "train", "nsm", "--data", str(data), "--out", "runs/nsm.safetensors"]
    if os.name == "nt":
        return " ".join(f'"{word}"' if " " in word else word for word in words)
    return shlex.join(words)


def _has_labels(operator: type[Operation], context: bpy.types.Context) -> bool:
    if has_labels(lookup.character(context)):
        return True
    operator.poll_message_set("Import a capture first")
    return False


CLASSES = (NSM_OT_import_capture, NSM_OT_save_labels, NSM_OT_copy_training_command, NSM_OT_remove_labels)
