# SPDX-License-Identifier: GPL-3.0-or-later
"""The goal of a new action key from what is selected; a mesh that an action uses becomes a collider by the way."""

from __future__ import annotations

import bpy

from ..nsm_blender import ShotError, finished
from ..scene import colliders, goals, keys, picking, selection


def goal_of_selection(context: bpy.types.Context, action: str) -> bpy.types.Object | None:
    """The selected goal, else one on the selected thing, else one at the 3D cursor; None for an action that needs
    none.

    Raises ShotError and ColliderError, and then nothing has changed.
    """
    goal = goals.selected(context.selected_objects)
    if goal is not None or not keys.needs_goal(action):
        return goal
    thing = selection.used_thing(context)
    role = selection.ROLES.get(action)
    if thing is not None and role is not None:
        give_role(context, thing, role)
    if thing is None or not colliders.is_collider(thing):
        return goals.add(context, context.scene.cursor.location, None, None)
    return goals.unmoved_on(context, thing) or goals.add_on(context, thing)


def goal_at_cursor(context: bpy.types.Context, action: str) -> bpy.types.Object:
    """A new goal at the 3D cursor, on the thing there that the action can use: the seat nearest to the cursor, say.

    Raises ShotError when an action that uses a thing has none there, and ColliderError; then nothing has changed.
    """
    place, role = context.scene.cursor.location.copy(), selection.ROLES.get(action)
    if role is None:
        return goals.add(context, place, None, None)
    there = picking.at(context, place)
    fitting = [thing for thing in there if not colliders.is_collider(thing) or colliders.of(thing).role == role]
    fitting += [thing for thing in there if colliders.is_collider(thing) and colliders.of(thing).role == "obstacle"]
    if not fitting:
        raise ShotError(
            "There is nothing at the 3D cursor that can be used so; put it on the object with Shift and the right "
            "mouse button, or select the object and use 'Add Action'."
        )
    give_role(context, fitting[0], role)
    return goals.add(context, place, None, fitting[0], by_place=True)


def give_role(context: bpy.types.Context, thing: bpy.types.Object, role: str) -> None:
    """Wrap a thing that is no collider yet; give a mere obstacle the role that it is used in."""
    from . import proposing
    from .collider_job import Order, WrapJob

    if not colliders.is_collider(thing):
        if context.mode != "OBJECT":
            raise ShotError("Go to object mode first: the selected object becomes a collider.")
        WrapJob(context, Order(role, colliders.VOXEL, use_children=True, as_one=False), [thing]).run()
    elif colliders.of(thing).role == "obstacle":
        colliders.check_writable(thing)
        use = finished(proposing.propose(context, thing, role, proposing.mesh_of(context, thing)))
        proposing.put(context, thing, use)
