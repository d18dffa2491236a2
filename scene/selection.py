# SPDX-License-Identifier: GPL-3.0-or-later
"""What the selection means for the character: which object is used, and which actions fit it."""

from __future__ import annotations

import bpy

from . import colliders, goals, handles, picking

ROLES = {"sit": "seat", "open": "door", "pick_up": "carryable", "put_down": "surface", "climb": "climbable"}
"""The role that each action needs."""
ANYWHERE = ("idle", "walk", "run", "jump")
"""Actions that need no thing."""


def shown_collider(context: bpy.types.Context) -> bpy.types.Object | None:
    """The collider that is meant: the active object, or the one that the active handle belongs to."""
    active = context.active_object
    if active is not None and handles.is_handle(active):
        active = active.parent
    return active if active is not None and colliders.is_collider(active) else None


def used_thing(context: bpy.types.Context) -> bpy.types.Object | None:
    """The selected object that an action may use: a collider, or a mesh that can become one; the active one first.

    None where nothing or more than one thing is selected. Characters and what they wear are no things.
    """
    found: dict[bpy.types.Object, None] = {}
    for obj in context.selected_objects:
        thing = obj.parent if handles.is_handle(obj) and obj.parent is not None else obj
        if picking.is_thing(thing):
            found[thing] = None
    if context.active_object in found:
        return context.active_object
    return next(iter(found)) if len(found) == 1 else None


def fitting_actions(context: bpy.types.Context) -> tuple[str, ...]:
    """The actions that can be added for what is selected."""
    goal = goals.selected(context.selected_objects)
    thing = used_thing(context) if goal is None else goals.of_goal(goal).uses
    if thing is None:
        return ANYWHERE
    if not colliders.is_collider(thing):
        return (*ANYWHERE, *ROLES)
    role = colliders.of(thing).role
    return (*ANYWHERE, *(action for action, wanted in ROLES.items() if role in (wanted, "obstacle")))
