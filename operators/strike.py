# SPDX-License-Identifier: GPL-3.0-or-later
"""Punches and kicks at targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..scene import lookup
from ..scene.manifold import of_character
from .base import Operation
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .strike_job import StrikeJob


class NSM_OT_synthesize_strike(JobOperation):
    """Punch and kick the targets in the list at their frames, and write the motion as keys of a new action"""

    bl_idname = "nsm.synthesize_strike"
    bl_label = "Synthesize Strikes"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Synthesizing the strikes"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be something to hit."""
        if not super().poll(context):
            return False
        armature = lookup.character(context)
        if armature is None or not of_character(armature).strike.strikes:
            cls.poll_message_set("Add a strike to the list first")
            return False
        return True

    def start(self, context: bpy.types.Context) -> StrikeJob:
        """Gather the targets."""
        from .strike_job import StrikeJob

        return StrikeJob(context, lookup.character(context))

    def finish(self, _context: bpy.types.Context, job: StrikeJob) -> set[OperatorReturnItems]:
        """Report."""
        self.report(
            {"INFO"},
            f"Synthesized {job.report.frames} frames; the targets are missed by at most {job.missed_cm():.1f} cm",
        )
        return {"FINISHED"}


class _OnCharacter(Operation):
    """Base of operators on the list of strikes."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character."""
        if lookup.character(context) is None:
            cls.poll_message_set("Select a character's armature first")
            return False
        return True


class NSM_OT_add_strike(_OnCharacter):
    """Add a punch or a kick at the current frame; the other selected object is its target"""

    bl_idname = "nsm.add_strike"
    bl_label = "Add Strike"

    def run(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Add the strike at the current frame."""
        armature = lookup.character(context)
        assert armature is not None
        settings = of_character(armature).strike
        strike = settings.strikes.add()
        strike.frame = context.scene.frame_current
        strike.target = lookup.target(context, armature)
        settings.index = len(settings.strikes) - 1
        return {"FINISHED"}


class NSM_OT_remove_strike(_OnCharacter):
    """Remove the active strike"""

    bl_idname = "nsm.remove_strike"
    bl_label = "Remove Strike"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a strike in the list."""
        if not super().poll(context):
            return False
        armature = lookup.character(context)
        if armature is None or not of_character(armature).strike.strikes:
            cls.poll_message_set("Add a strike to the list first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Remove the strike; the strike before it is chosen."""
        armature = lookup.character(context)
        assert armature is not None
        settings = of_character(armature).strike
        settings.strikes.remove(settings.index)
        settings.index = max(0, settings.index - 1)
        return {"FINISHED"}


CLASSES = (NSM_OT_synthesize_strike, NSM_OT_add_strike, NSM_OT_remove_strike)
