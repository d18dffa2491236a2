# SPDX-License-Identifier: GPL-3.0-or-later
"""What cannot work in a character's action keys, in the list and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..scene import keys

if TYPE_CHECKING:
    from ..nsm_blender import Model, Problem

_MODELS: dict[str, Model] = {"AUTO": "auto", "PFNN": "pfnn", "NSM": "nsm"}
"""The engine's names of the controllers."""


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
    more = len(problems) - 1
    others = f" {more} more problem{' is' if more == 1 else 's are'} in the list." if more else ""
    listed = keys.of_character(armature)
    if not 0 <= first.key < len(listed):
        return f"{first.text}{others}"
    return f"Action key {first.key + 1} ({keys.label(listed[first.key])}): {first.text}{others}"
