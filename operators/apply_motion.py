# SPDX-License-Identifier: GPL-3.0-or-later
"""Put the motion of a file onto a character.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
import numpy as np
from bpy.props import EnumProperty, IntProperty, StringProperty

from ..nsm_blender.errors import FileFormatError
from ..scene import lookup
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from ..nsm_blender.motion.motion import Motion
    from .job import MotionJob

_LONGEST = 100_000
"""Frames of a file that are still taken."""


class NSM_OT_apply_motion(JobOperation):
    """Put the motion of a BVH or FBX file (also AMC with its ASF, or NPZ) onto the character, as a new action"""

    bl_idname = "nsm.apply_motion"
    bl_label = "Apply Motion File"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Applying the motion"

    filepath: StringProperty(name="File", description="The motion file", subtype="FILE_PATH", options={"SKIP_SAVE"})
    filter_glob: StringProperty(default="*.bvh;*.fbx;*.amc;*.npz", options={"HIDDEN"})
    place: EnumProperty(
        name="Begin",
        description="Where the motion begins",
        items=(
            ("HERE", "Here", "Where the character stands, facing as it does"),
            ("FILE", "As in File", "Where the file says"),
        ),
        default="HERE",
    )
    frame_start: IntProperty(
        name="First Frame", description="Frame of the motion's beginning; the scene's first when not set"
    )

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> "set[OperatorReturnItems]":
        """Ask for the file."""
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def start(self, context: bpy.types.Context) -> "MotionJob":
        """Read the file; nothing is changed when that fails."""
        from ..nsm_blender.control.shot import Shot
        from ..nsm_blender.motion.blending import placed
        from ..scene import actions, armatures
        from ..scene.gather import Gathered
        from .job import MotionJob

        armature = lookup.character(context)
        rig = armatures.read(context, armature)
        assert armature is not None
        actions.check_assignable(armature)
        motion = self._motion(context)
        render = context.scene.render
        motion = motion.resampled(render.fps / render.fps_base)
        chosen = self.properties.is_property_set("frame_start")
        first = self.frame_start if chosen else context.scene.frame_start
        frames = np.arange(first, first + len(motion))
        if self.place == "HERE":
            motion = placed(motion, armatures.standing(context, armature, rig, first))
        shot = Shot(name=armature.name, fps=motion.fps, frames=len(frames))
        return MotionJob(Gathered(shot, rig, None, frames), armature, _Read(motion), Path(self.filepath).stem)

    def finish(self, _context: bpy.types.Context, job: "MotionJob") -> "set[OperatorReturnItems]":
        """Report."""
        report = job.report
        for note in report.notes:
            self.report({"WARNING"}, note)
        self.report(
            {"INFO"},
            f"Applied {report.frames} frames; rig error {report.rig_error_mm_max:.2f} mm, "
            f"foot slide {report.foot_slide_cm_per_s:.1f} cm/s",
        )
        return {"FINISHED"}

    def _motion(self, context: bpy.types.Context) -> "Motion":
        """The file's motion on the model."""
        from ..nsm_blender.motion.feet import level_feet
        from ..nsm_blender.motion.load import load_motion
        from ..nsm_blender.motion.retarget import to_model_skeleton
        from ..scene import motion_files, recording

        if not self.filepath:
            raise FileFormatError("Choose a motion file.")
        path = Path(bpy.path.abspath(self.filepath))
        if path.suffix.lower() == ".fbx":
            motion = motion_files.read_fbx(context, path)
        else:
            clip = to_model_skeleton(level_feet(load_motion(path)))
            motion = recording.assembled(clip.root, clip.world()[1], clip.fps, path.stem)
        if not 2 <= len(motion) <= _LONGEST:
            raise FileFormatError(f"{path}: {len(motion)} frames; a motion of 2 to {_LONGEST} frames is needed.")
        return motion


class _Read:
    """A file's motion as the work of a `MotionJob`."""

    done, progress = True, 1.0

    def __init__(self, motion: "Motion") -> None:
        self._motion = motion

    def step(self) -> None:
        """Nothing is left to do."""

    def motion(self) -> "Motion":
        """The motion."""
        return self._motion


CLASSES = (NSM_OT_apply_motion,)
