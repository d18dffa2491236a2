# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes on top of each other: which keys of boxes and doors are a character's, and the scene without them.

The action that a bake gives to a thing names, in the custom property WITH, the character's own action of that bake, and
in BELOW the action of another character's bake that moved the thing meanwhile: a box may be put on a shelf by one and
taken from there by the next. A new bake of a character begins without what its earlier ones moved, and without all that
was built on that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import bpy

from . import actions, bake_notes
from .bake_notes import PREVIOUS
from .lookup import MARK, baked, find
from .properties import of_action

WITH = "nsm_moved_with"
BELOW = "nsm_below"
_LINKS = (PREVIOUS, WITH, BELOW)


def moved_by(armature: bpy.types.Object) -> list[bpy.types.Action]:
    """The actions that the bakes of a character, the present one and those before it, gave to things."""
    bakes = list(bake_notes.chain(baked(armature), PREVIOUS))
    return [action for action in bpy.data.actions if action.get(WITH) in bakes] if bakes else []


def moved_with(bake: bpy.types.Action) -> list[bpy.types.Action]:
    """The actions that one bake, whose own is `bake`, gave to things."""
    return [action for action in bpy.data.actions if action.get(WITH) == bake and action != bake]


def begin(obj: bpy.types.Object, bake: bpy.types.Action, armature: bpy.types.Object) -> bpy.types.Action:
    """Give `obj` a new, empty action of the character's bake whose own action is `bake`."""
    below = _without(obj, moved_by(armature)).action if obj.animation_data else None
    made = actions.begin(obj, f"{obj.name} Bake")
    if below is not None and below.get(MARK):
        made[BELOW] = below
    made[WITH] = bake
    return made


def replace_previous(bake: bpy.types.Action) -> None:
    """Delete the bakes in whose place `bake` came, the last one first, up to one that is to stay; see `_is_kept`."""
    while (old := bake_notes.previous(bake)) is not None and old.get(MARK):
        things = [*moved_with(old), old]
        successors = [bake, *moved_with(bake)]
        if any(_is_kept(action, [*things, *successors]) for action in things):
            return
        for action in things:
            _dissolve(action)


def supersede(numbers: Iterable[int]) -> None:
    """Delete the actions with these numbers, in whose place another one came; those that something else uses stay, and
    those with keys made by hand."""
    for number in numbers:
        action = find(bpy.data.actions, number)
        known = [one for one in bpy.data.actions if any(one.get(link) == action for link in _LINKS)]
        if action is not None and not _is_kept(action, known, ask=False):
            _dissolve(action)


def purge(*, kept: bool) -> int:
    """Delete the bakes that move nothing now and return how many they were, with all that they gave to things.

    kept: those that are to be kept, too. Those that something else uses stay, and those with keys made by hand.
    """
    moving = {action for obj in bpy.data.objects if (action := baked(obj)) is not None}
    count = 0
    for bake in [action for action in bpy.data.actions if action.get(MARK)]:
        if bake.get(WITH) is not None or bake in moving:
            continue
        things = [*moved_with(bake), bake]
        users = [one for one in bpy.data.actions if any(one.get(link) in things for link in _LINKS)]
        if moving.isdisjoint(things) and not any(_is_kept(one, users, ask=not kept) for one in things):
            for action in things:
                _dissolve(action)
            count += 1
    return count


@contextmanager
def without(context: bpy.types.Context, armature: bpy.types.Object) -> Iterator[list[bpy.types.Object]]:
    """The scene as it is without what the character's bakes move; gives the things that they move."""
    mine = moved_by(armature)
    freed = [obj for obj in bpy.data.objects if obj != armature and _is_moved(obj, mine)]
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
    things = [action for action, _ in moved]
    bake = actions.removable(armature, uses=1 + _named(bake, [bake, *things]) if bake is not None else 1)
    for action in (bake, *things):
        bake_notes.read(action)
    for action, _ in moved:
        _check_free(action)
    kept = sum(_take_away(action, holder).kept_keys for action, holder in moved)
    removed = actions.discard(armature, bake)
    return actions.Removed(removed.action, removed.kept_keys + kept)


def _is_moved(obj: bpy.types.Object, mine: Sequence[bpy.types.Action]) -> bool:
    action = baked(obj)
    return action is not None and _rests_on(action, mine)


def _rests_on(action: bpy.types.Action, mine: Sequence[bpy.types.Action]) -> bool:
    """Whether an action is one of these, or was made for things as one of these moved them."""
    return any(one in mine for one in bake_notes.chain(action, BELOW))


def _without(obj: bpy.types.Object, mine: Sequence[bpy.types.Action]) -> actions.Assigned:
    """What moves `obj` when none of these actions does, nor one that was built on them."""
    state, values = actions.assigned(obj), dict[str, Any]()
    for action in bake_notes.chain(state.action, PREVIOUS):
        if not action.get(MARK) or not _rests_on(action, mine):
            break
        state = actions.assigned_before(action)
        values |= state.values
    return replace(state, values=values)


def _is_kept(action: bpy.types.Action, known: Sequence[bpy.types.Action], *, ask: bool = True) -> bool:
    """Whether a bake's action is to stay: the animator keeps it, made keys in it by hand or uses it somewhere else; or
    what it notes is damaged.

    known: the actions that may name it in a custom property. ask: whether the animator's choice counts.
    """
    if action.library is not None or action.use_fake_user or (ask and of_action(action).keep):
        return True
    return action.users > _named(action, known) or not bake_notes.is_sound(action) or actions.has_hand_made_keys(action)


def _named(action: bpy.types.Action, by: Sequence[bpy.types.Action]) -> int:
    """How many of the custom properties of these actions name an action; each counts as a user of it."""
    return sum(one.get(link) == action for one in by for link in _LINKS)


def _dissolve(action: bpy.types.Action) -> None:
    """Delete a bake's action that moves nothing; what came in its place takes over what it notes of the time before."""
    note, before, below = bake_notes.read(action), bake_notes.previous(action), action.get(BELOW)
    for later in bpy.data.actions:
        if later.get(PREVIOUS) == action and later != action:
            if bake_notes.is_sound(later):
                # Of the same property, what the older bake found was there before what the newer one found.
                replace(note, pose=bake_notes.read(later).pose | note.pose).write(later)
            _link(later, PREVIOUS, before)
        if later.get(BELOW) == action and later != action:
            _link(later, BELOW, below if isinstance(below, bpy.types.Action) else None)
    bpy.data.actions.remove(action)


def _link(action: bpy.types.Action, name: str, to: bpy.types.Action | None) -> None:
    """Let the custom property of an action name another one, or none."""
    if to is not None:
        action[name] = to
    else:
        del action[name]


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
