# SPDX-License-Identifier: GPL-3.0-or-later
"""Make another action out of the character's motion: mirrored, or as a loop of its gait.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import math
from typing import TYPE_CHECKING

import bpy
from bpy.props import EnumProperty, IntProperty

from ..scene import lookup
from .base import counted
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .variation_job import LoopJob, MirrorJob


class NSM_OT_mirror_motion(JobOperation):
    """Exchange left and right in the character's motion, as a new action: it begins at the same place with the same
    facing, and its way bends to the other side"""

    bl_idname = "nsm.mirror_motion"
    bl_label = "Mirror Motion"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Mirroring"

    def start(self, context: bpy.types.Context) -> "MirrorJob":
        """Read the motion."""
        from .variation_job import MirrorJob

        return MirrorJob(context, lookup.character(context))

    def finish(self, _context: bpy.types.Context, job: "MirrorJob") -> "set[OperatorReturnItems]":
        """Report."""
        for note in job.report.notes:
            self.report({"WARNING"}, note)
        self.report({"INFO"}, f"Mirrored {job.report.frames} frames as '{job.action().name}'")
        return {"FINISHED"}


class NSM_OT_loop_gait(JobOperation):
    """Cut the steps that follow each other best out of the character's walk or run, as a new action that goes round
    without a visible seam"""

    bl_idname = "nsm.loop_gait"
    bl_label = "Loop Gait"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Looping"

    way: EnumProperty(
        name="Root Motion",
        description="Whether the loop moves on",
        items=(
            ("SPOT", "On the Spot", "Take the way out: the character walks where it stands, as games want it"),
            ("TRAVEL", "Traveling", "Go on with the mean speed and turn, each round from where the one before ended"),
        ),
        default="SPOT",
    )
    cycles: IntProperty(
        name="Cycles",
        description="Pairs of steps of a round; 0 takes the number that fits best",
        default=0,
        min=0,
        max=100,
    )
    rounds: IntProperty(
        name="Rounds",
        description="How often the loop is written one after the other; a way that turns needs it to go on",
        default=1,
        min=1,
        max=100,
    )

    def start(self, context: bpy.types.Context) -> "LoopJob":
        """Read the motion."""
        from .variation_job import LoopJob

        return LoopJob(context, lookup.character(context), self.way, self.cycles, self.rounds)

    def finish(self, _context: bpy.types.Context, job: "LoopJob") -> "set[OperatorReturnItems]":
        """Report."""
        for note in job.report.notes:
            self.report({"WARNING"}, note)
        loop = job.loop
        if not loop.repeats_exactly:
            self.report(
                {"WARNING"},
                f"The way turns by {abs(math.degrees(loop.turn)):.0f} degrees a round, which no action repeats by "
                f"itself; it was written {counted(self.rounds, 'time')}",
            )
        self.report(
            {"INFO"},
            f"A loop of {counted(loop.cycles, 'cycle')} in {job.report.frames - 1} frames; at its seam joints change "
            f"by {loop.seam_mm:.1f} mm a frame, inside by up to {loop.inside_mm:.1f}",
        )
        return {"FINISHED"}


CLASSES = (NSM_OT_mirror_motion, NSM_OT_loop_gait)
