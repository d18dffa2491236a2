# SPDX-License-Identifier: GPL-3.0-or-later
"""A crowd: a character for each selected curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..scene import lookup
from .base import counted
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .synthesis_job import CrowdJob


class NSM_OT_synthesize_crowd(JobOperation):
    """Walk a character along each selected curve: the selected one that follows it, else a copy of the character"""

    bl_idname = "nsm.synthesize_crowd"
    bl_label = "Synthesize Crowd"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Synthesizing the crowd"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There have to be curves; copies need object mode."""
        if lookup.baking(context):
            cls.poll_message_set("A bake is running; Esc cancels it")
        elif context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
        elif not any(obj.type == "CURVE" for obj in context.selected_objects):
            cls.poll_message_set("Select a curve for each character")
        else:
            return True
        return False

    def start(self, context: bpy.types.Context) -> CrowdJob:
        """Find the selected characters and curves."""
        from .synthesis_job import CrowdJob

        return CrowdJob(context)

    def finish(self, _context: bpy.types.Context, job: CrowdJob) -> set[OperatorReturnItems]:
        """Report."""
        worst = max(report.rig_error_mm_max for report in job.reports)
        closest = f", closest pass {job.passes.closest:.2f} m" if len(job.reports) > 1 else ""
        self.report(
            {"INFO"}, f"Synthesized {counted(len(job.reports), 'character')}; rig error {worst:.2f} mm{closest}"
        )
        if job.passes.under:
            self.report(
                {"WARNING"},
                f"Characters come nearer than 40 cm to each other {counted(job.passes.under, 'time')}; "
                "move their curves apart",
            )
        return {"FINISHED"}


CLASSES = (NSM_OT_synthesize_crowd,)
