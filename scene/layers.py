# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes on top of each other: which keys of boxes and doors are a character's, and the scene without them.

The action that a bake gives to a thing names, in the custom property WITH, the character's own action of that bake, and
in BELOW the action of another character's bake that moved the thing meanwhile: a box may be put on a shelf by one and
taken from there by the next. A new bake of a character begins without what its earlier ones moved, and without all that
was built on that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import bpy

from . import actions
from .lookup import MARK, baked

WITH = "nsm_moved_with"
BELOW = "nsm_below"


def moved_by(armature: bpy.types.Object) -> list[bpy.types.Action]:
    """The actions that the bakes of a character, the present one and those that it replaced, gave to things."""
    bakes: list[bpy.types.Action] = []
    action = baked(armature)
    while action is not None:
        bakes.append(action)
        action = action.get(actions.PREVIOUS)
    return [action for action in bpy.data.actions if action.get(WITH) in bakes] if bakes else []


def moved_with(bake: bpy.types.Action) -> list[bpy.types.Action]:
    """The actions that one bake, whose own is `bake`, gave to things."""
    return [action for action in bpy.data.actions if action.get(WITH) == bake]


def begin(obj: bpy.types.Object, bake: bpy.types.Action, armature: bpy.types.Object) -> bpy.types.Action:
    """Give `obj` a new, empty action of the character's bake whose own action is `bake`."""
    below = _without(obj, moved_by(armature)).action if obj.animation_data else None
    made = actions.begin(obj, f"{obj.name} Bake")
    if below is not None and below.get(MARK):
        made[BELOW] = below
    made[WITH] = bake
    return made


@contextmanager
def without(context: bpy.types.Context, armature: bpy.types.Object) -> Iterator[list[bpy.types.Object]]:
    """The scene as it is without what the character's bakes move; gives the things that they move."""
    mine = moved_by(armature)
    freed = [obj for obj in bpy.data.objects if _is_moved(obj, mine)]
    if not freed:
        yield []
        return
    kept: list[tuple[bpy.types.Object, actions.Assigned]] = []
    try:
        for obj in freed:
            rest = _without(obj, mine)
            kept.append((obj, actions.assigned(obj, rest.values)))
            actions.assign(obj, rest)
        context.view_layer.update()
        yield freed
    finally:
        for obj, state in kept:
            actions.assign(obj, state)
        context.view_layer.update()


def remove(armature: bpy.types.Object) -> actions.Removed:
    """Take the bake of a character away, with the keys that it gave to things. Raises ActionError, and then nothing
    has changed.
    """
    bake = baked(armature)
    moved = [(action, _holder(action)) for action in moved_with(bake)] if bake is not None else []
    bake = actions.removable(armature, uses=1 + len(moved))
    for action, _ in moved:
        _check_free(action)
    kept = sum(_take_away(action, holder).kept_keys for action, holder in moved)
    removed = actions.discard(armature, bake)
    return actions.Removed(removed.action, removed.kept_keys + kept)


def _is_moved(obj: bpy.types.Object, mine: Sequence[bpy.types.Action]) -> bool:
    action = baked(obj)
    return action is not None and _rests_on(action, mine)


def _rests_on(action: bpy.types.Action | None, mine: Sequence[bpy.types.Action]) -> bool:
    """Whether an action is one of these, or was made for things as one of these moved them."""
    while action is not None:
        if action in mine:
            return True
        action = action.get(BELOW)
    return False


def _without(obj: bpy.types.Object, mine: Sequence[bpy.types.Action]) -> actions.Assigned:
    """What moves `obj` when none of these actions does, nor one that was built on them."""
    state, values = actions.assigned(obj), dict[str, Any]()
    while state.action is not None and state.action.get(MARK) and _rests_on(state.action, mine):
        state = actions.assigned_before(state.action)
        values |= state.values
    return actions.Assigned(state.action, state.slot, state.last_slot, state.blending, values)


def _holder(action: bpy.types.Action) -> bpy.types.Object | None:
    """The object that an action moves now."""
    return next((obj for obj in bpy.data.objects if baked(obj) == action), None)


def _check_free(action: bpy.types.Action) -> None:
    """Raise ActionError when something besides its bake and its thing uses an action."""
    later = next((one for one in bpy.data.actions if action in (one.get(BELOW), one.get(actions.PREVIOUS))), None)
    if later is not None:
        raise actions.ActionError(
            f"What '{action.name}' moves was moved again by a later bake, '{later.name}'; remove that one first."
        )
    holders = sum(baked(obj) == action for obj in bpy.data.objects)
    if holders > 1 or action.users - action.use_fake_user > holders:
        raise actions.ActionError(
            f"The action '{action.name}' is also used by an NLA strip or another object; delete that use first."
        )


def _take_away(action: bpy.types.Action, holder: bpy.types.Object | None) -> actions.Removed:
    return actions.drop(action) if holder is None else actions.discard(holder, action)
