# SPDX-License-Identifier: GPL-3.0-or-later
"""Say before a bake which action keys cannot work, and why.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""

from typing import TYPE_CHECKING

import bpy

from ..scene import keys, lookup
from .modal import JobOperation
from .problems import described, store

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .check_job import CheckJob


class NSM_OT_check_keys(JobOperation):
    """Check whether the actions can be baked; problems are shown in the list"""

    bl_idname = "nsm.check_keys"
    bl_label = "Check Actions"
    bl_options = {"REGISTER", "UNDO"}

    doing = "Checking"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character with a key."""
        armature = lookup.character(context)
        if armature is not None and armature.library is not None:
            cls.poll_message_set("The character is linked from another file; make a library override of it first")
            return False
        if armature is not None and not keys.of_character(armature):
            cls.poll_message_set("Add an action first")
            return False
        return super().poll(context)

    def start(self, context: bpy.types.Context) -> "CheckJob":
        """Gather the shot."""
        from .check_job import CheckJob

        armature = lookup.character(context)
        assert armature is not None
        return CheckJob(context, armature)

    def finish(self, _context: bpy.types.Context, job: "CheckJob") -> "set[OperatorReturnItems]":
        """Store each key's problem on it, and report the worst."""
        armature, problems = job.armature(), job.problems
        store(armature, problems)
        fatal = sum(problem.fatal for problem in problems)
        if not problems:
            self.report({"INFO"}, "All actions can be baked")
            return {"FINISHED"}
        kind = "The bake would be refused." if fatal else "It can be baked nevertheless."
        self.report({"WARNING"}, f"{described(armature, problems)} {kind}")
        return {"FINISHED"}


CLASSES = (NSM_OT_check_keys,)
