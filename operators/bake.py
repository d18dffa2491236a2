# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake the character's way along its curve, and take a bake away again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..scene import lookup
from .base import Operation, user_folder
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .job import BakeJob


class NSM_OT_bake(JobOperation):
    """Walk the character along its curve and write the motion as keys of a new action"""

    bl_idname = "nsm.bake"
    bl_label = "Bake"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Baking"

    def start(self, context: bpy.types.Context) -> BakeJob:
        """Gather the shot."""
        from .job import BakeJob

        return BakeJob(context, lookup.character(context))

    def finish(self, _context: bpy.types.Context, job: BakeJob) -> set[OperatorReturnItems]:
        """Report, and keep the report as a file."""
        job.report.save(user_folder("reports") / "report.json")
        for note in job.report.notes:
            self.report({"WARNING"}, note)
        self.report(
            {"INFO"},
            f"Baked {job.report.frames} frames; rig error {job.report.rig_error_mm_max:.2f} mm, "
            f"foot slide {job.report.foot_slide_cm_per_s:.1f} cm/s",
        )
        return {"FINISHED"}


class NSM_OT_remove_bake(Operation):
    """Take away the baked action and assign again what was assigned before"""

    bl_idname = "nsm.remove_bake"
    bl_label = "Remove Bake"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character."""
        if lookup.character(context) is None:
            cls.poll_message_set("Select the baked character's armature first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Remove the bake and forget its report."""
        from ..scene import actions, measure

        armature = lookup.character(context)
        assert armature is not None
        removed = actions.remove(armature)
        measure.forget(armature)
        kept = f"; {removed.kept_keys} keys made by hand stay in it" if removed.kept_keys else ""
        self.report({"INFO"}, f"Removed the bake '{removed.action}'{kept}")
        return {"FINISHED"}


CLASSES = (NSM_OT_bake, NSM_OT_remove_bake)
