# SPDX-License-Identifier: GPL-3.0-or-later
"""Put the motions of files onto a character.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import CollectionProperty, EnumProperty, IntProperty, StringProperty

from ..nsm_blender import FileFormatError
from ..scene import lookup
from .base import counted
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .motion_file_job import MotionFileJob
    from .motion_files_job import MotionFilesJob


class FileJobOperation(JobOperation):
    """Base of operators that ask for a file, and then work in slices on it."""

    _asks = False
    """The file selector is open for this operator."""

    def is_chosen(self) -> bool:
        """Whether there is a file to work on."""
        raise NotImplementedError

    def run_again(self) -> None:
        """Run the operator on what was chosen, in slices."""
        raise NotImplementedError

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> "set[OperatorReturnItems]":
        """Ask for the file; with one, work in slices, with progress and Esc."""
        if self.is_chosen():
            return super().invoke(context, event)
        self._asks = True
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Work to the end; after the file selector, which calls this, in slices by another run of the operator."""
        if not self._asks or bpy.app.background or context.window is None:
            return super().execute(context)
        self.run_again()
        return {"CANCELLED"}  # the other run reports, and is what undo takes back


class NSM_OT_apply_motion(FileJobOperation):
    """Put the motion of a BVH, FBX, glTF or VRM file onto the character, as a new action; also AMC with its ASF, or
    NPZ. Of several files, or of all in a folder, each becomes an action of its own"""

    bl_idname = "nsm.apply_motion"
    bl_label = "Apply Motion File"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Applying the motion"

    filepath: StringProperty(
        name="File",
        description="The motion file, or a folder of them",
        subtype="FILE_PATH",
        options={"SKIP_SAVE"},
    )
    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})
    files: CollectionProperty(type=bpy.types.OperatorFileListElement, options={"HIDDEN", "SKIP_SAVE"})
    filter_glob: StringProperty(default="*.bvh;*.fbx;*.glb;*.gltf;*.vrm;*.amc;*.npz", options={"HIDDEN"})
    place: EnumProperty(
        name="Start",
        description="Place and facing at which the motion begins",
        items=(
            ("HERE", "Current Location", "Begin where the character stands, with its facing"),
            ("FILE", "As in File", "Begin at the place and facing of the file"),
        ),
        default="HERE",
    )
    frame_start: IntProperty(
        name="First Frame", description="First frame of the motion; the scene's first frame when it is not set"
    )

    def is_chosen(self) -> bool:
        """Whether there is a file, or several."""
        return bool(self.filepath or self.files)

    def run_again(self) -> None:
        """Run the operator on the chosen files."""
        chosen = {
            name: getattr(self, name) for name in ("place", "frame_start") if self.properties.is_property_set(name)
        }
        files = [{"name": file.name} for file in self.files]
        bpy.ops.nsm.apply_motion(
            "INVOKE_DEFAULT", filepath=self.filepath, directory=self.directory, files=files, **chosen
        )

    def start(self, context: bpy.types.Context) -> "MotionFileJob | MotionFilesJob":
        """Look at the character; the job reads the files, and nothing is changed when that fails."""
        from . import motion_files_job
        from .motion_file_job import MotionFileJob

        first = self.frame_start if self.properties.is_property_set("frame_start") else context.scene.frame_start
        here, armature = self.place == "HERE", lookup.character(context)
        names = [file.name for file in self.files if file.name]
        chosen = [Path(bpy.path.abspath(self.directory)) / name for name in names]
        if not chosen and self.filepath:
            chosen = [Path(bpy.path.abspath(self.filepath))]
        if not chosen:
            raise FileFormatError("Choose a motion file.")
        if len(chosen) == 1 and not chosen[0].is_dir():
            return MotionFileJob(context, armature, chosen[0], first, here=here)
        return motion_files_job.MotionFilesJob(context, armature, motion_files_job.found(chosen), first, here=here)

    def finish(self, _context: bpy.types.Context, job: "MotionFileJob | MotionFilesJob") -> "set[OperatorReturnItems]":
        """Report."""
        from .motion_files_job import MotionFilesJob

        if isinstance(job, MotionFilesJob):
            for refusal in job.refusals:
                self.report({"WARNING"}, refusal)
            count = f"{len(job.applied)} of {counted(len(job.paths), 'motion file')}"
            self.report({"INFO"}, f"Applied {count}, each as an action; the character shows '{job.shown}'")
            return {"FINISHED"}
        report = job.report
        for note in report.notes:
            self.report({"WARNING"}, note)
        self.report(
            {"INFO"},
            f"Applied {report.frames} frames; rig error {report.rig_error_mm_max:.2f} mm, "
            f"foot slide {report.foot_slide_cm_per_s:.1f} cm/s",
        )
        return {"FINISHED"}


CLASSES = (NSM_OT_apply_motion,)
