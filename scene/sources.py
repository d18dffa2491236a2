# SPDX-License-Identifier: GPL-3.0-or-later
"""Which action an edit or a restyled motion was made from, so that the next one is made from it again.

An edit of an edit begins with what the first one began with, so that edits do not add up; a style begins with what lies
below all edits and styles. What an action was made from is the action that it came in place of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import bpy

from . import actions, bake_notes
from .lookup import baked, find

Kind = Literal["EDIT", "STYLE"]
KIND = "nsm_refined"
"""Custom property of an action that was made from another one: how."""


@dataclass(frozen=True, eq=False)
class Step:
    """A step back from a refined action to its source. replaced: numbers of the actions that are stepped over, the one
    that was assigned first. state: how that one was assigned.
    """

    replaced: tuple[int, ...]
    state: actions.Assigned


def mark(action: bpy.types.Action, kind: Kind) -> None:
    """Note how an action was made from the one before it."""
    action[KIND] = kind


def shown(armature: bpy.types.Object) -> bpy.types.Action | None:
    """The action that the next edit of a character begins with; None when there is none."""
    if armature.animation_data is None or armature.animation_data.action is None:
        return None
    over = _stepped_over(armature, "EDIT")
    return bake_notes.previous(over[-1]) if over else armature.animation_data.action


def is_edited(armature: bpy.types.Object) -> bool:
    """Whether the assigned action was made by an edit whose source is still there."""
    return bool(_stepped_over(armature, "EDIT"))


def step_back(armature: bpy.types.Object, kind: Kind) -> Step | None:
    """Assign the action that a refinement of this kind begins with; None when it is assigned already."""
    over = _stepped_over(armature, kind)
    if not over:
        return None
    state = actions.assigned(armature)
    actions.assign(armature, replace(actions.assigned_before(over[-1]), values={}))
    return Step(tuple(action.session_uid for action in over), replace(state, action=None))


def step_forward(armature: bpy.types.Object, step: Step) -> None:
    """Assign again what was assigned before `step_back`, if it is still there."""
    action = find(bpy.data.actions, step.replaced[0])
    if action is not None and armature.animation_data is not None:
        actions.assign(armature, replace(step.state, action=action))


def _stepped_over(armature: bpy.types.Object, kind: Kind) -> list[bpy.types.Action]:
    """The refined actions, from the assigned one down, in whose place one of this kind comes."""
    over: list[bpy.types.Action] = []
    action = baked(armature)
    while action is not None and action.get(KIND) in (("EDIT",) if kind == "EDIT" else ("EDIT", "STYLE")):
        before = bake_notes.previous(action)
        if before is None or not bake_notes.is_sound(action):
            break
        over.append(action)
        action = before
    return over
