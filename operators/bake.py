# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake what the character is to do, and take bakes away again.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty

from ..nsm_blender import UserError
from ..scene import lookup, output
from ..scene.readiness import missing_for_bake
from .base import Operation, counted, user_folder
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .job import BakeJob
    from .keep_job import KeepJob


class NSM_OT_bake(JobOperation):
    """Write the walk along the path, or the actions, as keyframes of a new action"""

    bl_idname = "nsm.bake"
    bl_label = "Bake"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Baking"

    @classmethod
    def missing(cls, context: bpy.types.Context) -> str:
        """There has to be a bound character with something to do."""
        return missing_for_bake(context)

    def start(self, context: bpy.types.Context) -> "BakeJob":
        """Gather the shot."""
        from .earlier import Earlier
        from .job import BakeJob

        armature = lookup.character(context)
        return BakeJob(context, armature, None if armature is None else Earlier.of(armature))

    def finish(self, context: bpy.types.Context, job: "BakeJob") -> "set[OperatorReturnItems]":
        """Report, keep the report as a file, and the bake for the next one; the character's keys come into view."""
        from .earlier import Earlier

        lookup.activate(context, job.character)
        Earlier.keep(job.character, job.bake)
        try:
            output.write_whole(user_folder("reports") / "report.json", job.report.to_json() + "\n")
        except UserError as error:
            self.report({"WARNING"}, f"The bake's report was not kept as a file: {error}")
        for note in job.report.notes:
            self.report({"INFO" if note in job.infos else "WARNING"}, note)
        report = job.report
        goals = "" if report.goal_error_cm is None else f", {report.goal_error_cm:.1f} cm from the goal"
        odd = next((f"; {one.text}" for one in report.findings if not one.natural), "")
        self.report(
            {"INFO"},
            f"Baked {report.frames} frames; rig error {report.rig_error_mm_max:.2f} mm, "
            f"foot slide {report.foot_slide_cm_per_s:.1f} cm/s{goals}{odd}",
        )
        return {"FINISHED"}


class NSM_OT_remove_bake(Operation):
    """Remove the baked action, and the keys of the objects that it moved, and assign the earlier action again"""

    bl_idname = "nsm.remove_bake"
    bl_label = "Remove Bake"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a baked character."""
        missing = _missing_bake(lookup.character(context))
        if missing:
            cls.poll_message_set(missing)
        return not missing

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Remove the bake and forget its report."""
        from ..scene import layers, measure

        armature = lookup.character(context)
        assert armature is not None
        removed = layers.remove(armature)
        measure.forget(armature)
        hand_made = counted(removed.kept_keys, "hand-made key stays", "hand-made keys stay")
        kept = f"; {hand_made} in it" if removed.kept_keys else ""
        self.report({"INFO"}, f"Removed the bake '{removed.action}'{kept}")
        return {"FINISHED"}


class NSM_OT_keep_bake(JobOperation):
    """Let the next bake leave this one in the file, and thin its keys (0.1 mm and 0.05 degrees at most)"""

    bl_idname = "nsm.keep_bake"
    bl_label = "Keep This Bake"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Thinning"

    @classmethod
    def missing(cls, context: bpy.types.Context) -> str:
        """There has to be a baked character."""
        return _missing_bake(lookup.character(context))

    def start(self, context: bpy.types.Context) -> "KeepJob":
        """Begin to fit the curves anew."""
        from .keep_job import KeepJob

        armature = lookup.character(context)
        assert armature is not None
        return KeepJob(context, armature)

    def finish(self, _context: bpy.types.Context, job: "KeepJob") -> "set[OperatorReturnItems]":
        """Tell what it saves."""
        thinning = job.thinning
        saved = "" if thinning is None else f"; {thinning.keys:,} keys instead of {thinning.keys_before:,}"
        self.report({"INFO"}, f"The next bake leaves '{job.name}' in the file{saved}")
        return {"FINISHED"}


class NSM_OT_purge_bakes(Operation):
    """Delete the bakes of all characters that are not assigned; bakes that are in use or have keys made by hand stay"""

    bl_idname = "nsm.purge_bakes"
    bl_label = "Delete Unused Bakes"
    bl_options = {"REGISTER", "UNDO"}

    kept: BoolProperty(
        name="Include Kept", description="Also delete the bakes that are marked to be kept", default=False
    )

    def run(self, _context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Delete them and tell how many they were."""
        from ..scene import layers

        count = layers.purge(kept=self.kept)
        if not count:
            self.report({"INFO"}, "No bake can be deleted: each is assigned, kept, or used")
            return {"CANCELLED"}
        self.report({"INFO"}, f"Deleted {counted(count, 'bake')}")
        return {"FINISHED"}


def _missing_bake(armature: bpy.types.Object | None) -> str:
    """What to do before a bake can be kept or removed; empty when it can."""
    if armature is None:
        return "Select the baked character's armature first"
    return "" if lookup.baked(armature) is not None else f"'{armature.name}' has no bake"


CLASSES = (NSM_OT_bake, NSM_OT_remove_bake, NSM_OT_keep_bake, NSM_OT_purge_bakes)
