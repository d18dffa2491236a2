# SPDX-License-Identifier: GPL-3.0-or-later
"""Say before a bake which action keys cannot work, and why.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""

from typing import TYPE_CHECKING

import bpy

from ..scene import keys, lookup
from .modal import JobOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from ..nsm_blender import Model, Problem
    from .check_job import CheckJob


_MODELS: "dict[str, Model]" = {"AUTO": "auto", "PFNN": "pfnn", "NSM": "nsm"}
"""The engine's names of the controllers."""


class NSM_OT_check_keys(JobOperation):
    """See whether the action keys can be baked; what is wrong with a key is shown in the list"""

    bl_idname = "nsm.check_keys"
    bl_label = "Check"
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
            cls.poll_message_set("Add an action key first")
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
            self.report({"INFO"}, "All action keys can be baked")
            return {"FINISHED"}
        kind = "the bake would be refused" if fatal else "it can be baked"
        self.report({"WARNING"}, f"{described(armature, problems)}; {kind}")
        return {"FINISHED"}


def model_of(armature: bpy.types.Object) -> "Model":
    """The network that the animator chose for a character's bakes."""
    chosen: Model = _MODELS[armature.nsm.controller]
    return chosen


def store(armature: bpy.types.Object, problems: "list[Problem]") -> None:
    """Show the problems in the list, the worst of each key."""
    for key in keys.of_character(armature):
        key.problem, key.is_fatal = "", False
    for problem in sorted(problems, key=lambda problem: problem.fatal):
        if 0 <= problem.key < len(keys.of_character(armature)):
            key = keys.of_character(armature)[problem.key]
            key.problem, key.is_fatal = problem.text, problem.fatal


def described(armature: bpy.types.Object, problems: "list[Problem]") -> str:
    """The worst problem as a sentence that names its key, and how many others there are."""
    first = next((problem for problem in problems if problem.fatal), problems[0])
    others = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    listed = keys.of_character(armature)
    if not 0 <= first.key < len(listed):
        return f"{first.text}{others}"
    return f"Key {first.key + 1}, {keys.label(listed[first.key])}: {first.text}{others}"


CLASSES = (NSM_OT_check_keys,)
