# SPDX-License-Identifier: GPL-3.0-or-later
"""Say before a bake which action keys cannot work, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..scene import keys
from .key import KeyOperation

if TYPE_CHECKING:
    from ..nsm_blender import Model, Problem


_MODELS: dict[str, Model] = {"AUTO": "auto", "PFNN": "pfnn", "NSM": "nsm"}
"""The engine's names of the controllers."""


class NSM_OT_check_keys(KeyOperation):
    """See whether the action keys can be baked; what is wrong with a key is shown in the list"""

    bl_idname = "nsm.check_keys"
    bl_label = "Check"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Store each key's problem on it. Raises UserError when no shot can be made of them at all."""
        from ..nsm_blender import find_problems
        from ..scene.gather_keys import gather

        problems = find_problems(gather(context, armature).shot, model_of(armature))
        store(armature, problems)
        fatal = sum(problem.fatal for problem in problems)
        if not problems:
            self.report({"INFO"}, "All action keys can be baked")
            return
        kind = "the bake would be refused" if fatal else "it can be baked"
        self.report({"WARNING"}, f"{described(armature, problems)}; {kind}")


def model_of(armature: bpy.types.Object) -> Model:
    """The network that the animator chose for a character's bakes."""
    chosen: Model = _MODELS[armature.nsm.controller]
    return chosen


def store(armature: bpy.types.Object, problems: list[Problem]) -> None:
    """Show the problems in the list, the worst of each key."""
    for key in keys.of_character(armature):
        key.problem, key.is_fatal = "", False
    for problem in sorted(problems, key=lambda problem: problem.fatal):
        if 0 <= problem.key < len(keys.of_character(armature)):
            key = keys.of_character(armature)[problem.key]
            key.problem, key.is_fatal = problem.text, problem.fatal


def described(armature: bpy.types.Object, problems: list[Problem]) -> str:
    """The worst problem as a sentence that names its key, and how many others there are."""
    first = next((problem for problem in problems if problem.fatal), problems[0])
    others = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    listed = keys.of_character(armature)
    if not 0 <= first.key < len(listed):
        return f"{first.text}{others}"
    return f"Key {first.key + 1}, {keys.label(listed[first.key])}: {first.text}{others}"


CLASSES = (NSM_OT_check_keys,)
