# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals: empties that say where a character is to go, or which thing it is to use.

The arrow of the empty, its local +Z, shows where the character looks at the end; an arrow that stands upright
leaves that open. Blender reads the annotations of a PropertyGroup as they are, so this file has no postponed
annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import math
from collections.abc import Iterable

import bpy
import numpy as np
from bpy.props import BoolProperty, FloatVectorProperty, PointerProperty
from mathutils import Matrix, Vector

from ..nsm_blender.geometry.roles import KINDS
from ..nsm_blender.motion.root import angle_of
from ..nsm_blender.motion.rotations import Array
from .curves import meters_per_unit

NAME = "Goal"
_SIZE = 0.5
"""Meters of the arrow."""
_STEP = 0.5
"""Meters before a thing at which its goal is put."""
_MOVED = 0.02
"""Meters beyond which a goal has been moved from where it was added to a collider."""
_UPRIGHT = 0.2
"""An arrow with less than this share of its length along the ground has no facing."""


class NSM_PG_goal(bpy.types.PropertyGroup):
    """What makes an empty a goal."""

    is_goal: BoolProperty(name="Goal", description="Offered as the goal of action keys", options=set())
    uses: PointerProperty(
        name="Uses",
        description="The collider that is used: at its handles, or, where the goal is moved away from where it was "
        "added, at the seat or surface nearest to it",
        type=bpy.types.Object,
    )
    has_home: BoolProperty(description="Whether `home` is known", options=set())
    home: FloatVectorProperty(
        description="The location at which the goal was added to a collider whose handles say where it is used", size=3
    )


def of_goal(obj: bpy.types.Object) -> NSM_PG_goal:
    """The goal's settings of an object."""
    return obj.nsm.goal


def is_goal(obj: bpy.types.Object | None) -> bool:
    """Whether this is a goal."""
    return obj is not None and obj.type == "EMPTY" and of_goal(obj).is_goal


def add(
    context: bpy.types.Context,
    place: Vector,
    facing: float | None,
    uses: bpy.types.Object | None,
    by_place: bool = False,
) -> bpy.types.Object:
    """Add a goal to the active collection and return it; the selection stays.

    place: in the world, Blender units. facing: angle about +Z, 0 along -Y; None leaves it open. uses: a collider,
    whose child the goal becomes. by_place: the part of the collider that is nearest to the place is used.
    """
    goal = bpy.data.objects.new(NAME if uses is None else f"{NAME} {uses.name}", None)
    (context.collection or context.scene.collection).objects.link(goal)
    mark(goal)
    goal.empty_display_size = _SIZE / meters_per_unit(context.scene)
    put(goal, place, facing, uses, by_place)
    return goal


def put(
    goal: bpy.types.Object,
    place: Vector,
    facing: float | None,
    uses: bpy.types.Object | None,
    by_place: bool = False,
) -> None:
    """Put a goal at a place, on a collider or free of any; the parameters are those of `add`.

    What the animator has made the goal a child of, other than the collider it was on, stays its parent.
    """
    settings = of_goal(goal)
    if goal.parent is not None and goal.parent == settings.uses:
        goal.parent = None
    settings.uses, settings.has_home = uses, False
    if uses is not None and goal.parent is None:
        goal.parent = uses
        goal.matrix_parent_inverse = uses.matrix_world.inverted_safe()
    turn(goal, facing)
    if goal.parent is None or goal.parent == uses:
        goal.location = place
    else:
        goal.matrix_world = Matrix.LocRotScale(place, goal.rotation_euler, None)
    if uses is not None and not by_place:
        settings.home, settings.has_home = goal.location, True


def put_on(context: bpy.types.Context, goal: bpy.types.Object, uses: bpy.types.Object) -> None:
    """Put a goal on a collider: on its top where its handles say the rest, before it where it has none."""
    if uses.nsm.collider.role in KINDS:
        put(goal, _top(uses), None, uses)
    else:
        put(goal, *_before(uses, _STEP / meters_per_unit(context.scene)), uses)


def add_on(context: bpy.types.Context, uses: bpy.types.Object) -> bpy.types.Object:
    """Add a goal on a collider: on its top where its handles say the rest, before it where it has none."""
    goal = add(context, Vector(), None, uses)
    put_on(context, goal, uses)
    return goal


def unmoved_on(context: bpy.types.Context, uses: bpy.types.Object) -> bpy.types.Object | None:
    """A goal on a collider that is where it was added, for use by another key; None when there is none."""
    for goal in in_scene(context.scene):
        settings = of_goal(goal)
        if settings.uses == uses and settings.has_home and goal.location == Vector(settings.home):
            return goal
    return None


def select(context: bpy.types.Context, goal: bpy.types.Object) -> None:
    """Select a goal alone; an armature stays the active object, so that its keys stay in view."""
    for selected_object in list(context.selected_objects):
        selected_object.select_set(False)
    if goal.name in context.view_layer.objects:
        goal.select_set(True)
        active = context.view_layer.objects.active
        if active is None or active.type != "ARMATURE":
            context.view_layer.objects.active = goal


def mark(obj: bpy.types.Object) -> None:
    """Make an empty a goal, and show it as one."""
    of_goal(obj).is_goal = True
    obj.empty_display_type = "SINGLE_ARROW"
    obj.show_name = True


def face(goal: bpy.types.Object, facing: float | None) -> None:
    """Turn a goal where it is, whatever it is a child of, so that its arrow lies along the facing in the world; None
    stands it upright. The goal's world matrix must be up to date."""
    place, _, size = goal.matrix_world.decompose()
    turn(goal, facing)
    if goal.parent is not None:
        goal.matrix_world = Matrix.LocRotScale(place, goal.rotation_euler, size)


def turn(goal: bpy.types.Object, facing: float | None) -> None:
    """Lay the arrow down along the facing, so that turning the goal about Z turns it; None stands it upright."""
    goal.rotation_mode = "XYZ"
    goal.rotation_euler = (0.0, 0.0, 0.0) if facing is None else (math.pi / 2, 0.0, facing)


def facing_of(world: Array) -> float | None:
    """Facing angle of a goal from its world matrix (4, 4); None when the arrow stands upright."""
    arrow = np.asarray(world, dtype=np.float64)[:3, 2]
    length = float(np.linalg.norm(arrow))
    if length == 0 or np.linalg.norm(arrow[:2]) < _UPRIGHT * length:
        return None
    return float(angle_of(arrow[:2]))


def is_by_place(context: bpy.types.Context, goal: bpy.types.Object, locations: Array) -> bool:
    """Whether a goal says where on its collider that is used: it was moved away from where it was added.

    locations: (F, 3) of its own channels over the shot, Blender units.
    """
    settings = of_goal(goal)
    if settings.uses is None or settings.uses.nsm.collider.role not in KINDS:
        return False
    meters = meters_per_unit(context.scene)
    if settings.has_home:
        moved = np.linalg.norm(locations - np.array(settings.home), axis=1).max()
    else:
        moved = (goal.matrix_world.translation - _top(settings.uses)).length
    return bool(moved * meters > _MOVED)


def in_scene(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """All goals of a scene."""
    return [obj for obj in scene.objects if is_goal(obj)]


def selected(objects: Iterable[bpy.types.Object]) -> bpy.types.Object | None:
    """The one goal among objects, or None."""
    found = [obj for obj in objects if is_goal(obj)]
    return found[0] if len(found) == 1 else None


def _top(uses: bpy.types.Object) -> Vector:
    """The middle of an object's top in the world, where a goal is shown whose place the handles decide."""
    low, high = _bounds(uses)
    return Vector(((low.x + high.x) / 2, (low.y + high.y) / 2, high.z))


def _before(uses: bpy.types.Object, distance: float) -> tuple[Vector, float]:
    """A place on the ground before an object's front, its own -Y, and the facing from there to the object.

    distance: Blender units from the bounding box.
    """
    front = (uses.matrix_world.to_3x3() @ Vector((0, -1, 0))).to_2d()
    front = front.normalized() if front.length > 0 else Vector((0, -1))
    low, high = _bounds(uses)
    middle, half = (low + high) / 2, (high - low) / 2
    reach = min(half[axis] / abs(front[axis]) for axis in range(2) if abs(front[axis]) > 1e-6) + distance
    place = Vector((middle.x + reach * front.x, middle.y + reach * front.y, low.z))
    return place, float(angle_of(-np.array(front)))


def _bounds(obj: bpy.types.Object) -> tuple[Vector, Vector]:
    """Lowest and highest corner of an object's bounding box in the world."""
    corners = np.array([obj.matrix_world @ Vector(corner) for corner in obj.bound_box])
    return Vector(corners.min(axis=0)), Vector(corners.max(axis=0))
