# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions as strips of the NLA editor."""

from __future__ import annotations

from dataclasses import dataclass

import bpy

from . import actions, layers
from .lookup import baked


@dataclass(frozen=True)
class PushedDown:
    """What `push_down` made: the names of the action and of its track, and how many other objects got strips."""

    action: str
    track: str
    others: int


def push_down(armature: bpy.types.Object, track: str = "") -> PushedDown:
    """Make a strip of the action that moves a character, and of those that its bake gave to things; they are kept, and
    nothing else moves these objects then but their other strips.

    track: name of the character's new track, by default the action's. Raises ActionError, and then nothing has changed.
    """
    action = armature.animation_data.action
    bake = baked(armature)
    mine = layers.moved_with(bake) if bake is not None else []
    things = [obj for obj in bpy.data.objects if obj != armature and baked(obj) in mine]
    for obj in (armature, *things):
        actions.check_assignable(obj)
    for obj in things:
        actions.push_down(obj, obj.animation_data.action.name)
    return PushedDown(action.name, actions.push_down(armature, track or action.name), len(things))
