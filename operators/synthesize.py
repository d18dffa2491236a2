# SPDX-License-Identifier: GPL-3.0-or-later
"""Synthesize the character's way along its curve with the motion manifold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..scene import lookup
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .synthesis_job import SynthesisJob


class NSM_OT_synthesize(JobOperation):
    """Walk the character along its curve, all frames at once, and write the motion as keys of a new action"""

    bl_idname = "nsm.synthesize"
    bl_label = "Synthesize"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Synthesizing"

    def start(self, context: bpy.types.Context) -> SynthesisJob:
        """Gather the shot."""
        from .synthesis_job import SynthesisJob

        return SynthesisJob(context, lookup.character(context))

    def finish(self, _context: bpy.types.Context, job: SynthesisJob) -> set[OperatorReturnItems]:
        """Report."""
        for note in job.report.notes:
            self.report({"WARNING"}, note)
        self.report(
            {"INFO"},
            f"Synthesized {job.report.frames} frames; rig error {job.report.rig_error_mm_max:.2f} mm, "
            f"foot slide {job.report.foot_slide_cm_per_s:.1f} cm/s",
        )
        return {"FINISHED"}


CLASSES = (NSM_OT_synthesize,)
