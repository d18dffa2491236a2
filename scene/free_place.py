# SPDX-License-Identifier: GPL-3.0-or-later
"""A place to stand for a new character: the 3D cursor, or near it where something stands there already."""

from __future__ import annotations

import math
from collections.abc import Iterator

import bpy
from mathutils import Vector

from .curves import meters_per_unit

_RADIUS = 0.35
"""Meters about the body's middle that have to be free."""
_HEIGHTS = (0.35, 0.9, 1.5)
"""Meters above the ground at which that is looked at: a step, the hips, the chest."""
_STEP, _RINGS = 0.6, 8
"""Meters between the rings of places about the cursor, and how many of them are tried."""


def near(context: bpy.types.Context, location: Vector) -> Vector:
    """The place nearest to `location`, in Blender units, where nothing visible is in a standing body's way; `location`
    itself where none is found within five meters."""
    context.view_layer.update()
    graph = context.evaluated_depsgraph_get()
    unit = 1 / meters_per_unit(context.scene)
    there = [obj for obj in context.visible_objects if obj.type in ("MESH", "ARMATURE")]
    for place in _around(location, unit):
        if not any(_is_in_the_way(obj.evaluated_get(graph), place, unit) for obj in there):
            return place
    return location


def _around(middle: Vector, unit: float) -> Iterator[Vector]:
    """The middle, then places on rings about it, the nearest first, from its +X side on."""
    yield middle.copy()
    for ring in range(1, _RINGS + 1):
        count = 6 * ring
        for number in range(count):
            angle = 2 * math.pi * number / count
            yield middle + ring * _STEP * unit * Vector((math.cos(angle), math.sin(angle), 0.0))


def _is_in_the_way(obj: bpy.types.Object, place: Vector, unit: float) -> bool:
    """Whether a body that stands at `place` would be in an evaluated object or touch it. unit: Blender units in a
    meter."""
    corners = [obj.matrix_world @ Vector(corner) for corner in obj.bound_box]
    reach = _RADIUS * unit
    low = [min(corner[axis] for corner in corners) for axis in range(3)]
    high = [max(corner[axis] for corner in corners) for axis in range(3)]
    if any(not low[axis] - reach < place[axis] < high[axis] + reach for axis in range(2)):
        return False
    if high[2] < place.z + (_HEIGHTS[0] * unit - reach) or low[2] > place.z + _HEIGHTS[-1] * unit + reach:
        return False
    if obj.type == "ARMATURE":
        return True
    return any(_is_near(obj, place + Vector((0.0, 0.0, height * unit)), reach) for height in _HEIGHTS)


def _is_near(obj: bpy.types.Object, point: Vector, reach: float) -> bool:
    """Whether a point of the world is inside a mesh, or nearer to it than `reach`."""
    if not obj.data.polygons:
        return False
    found, nearest, normal, _ = obj.closest_point_on_mesh(obj.matrix_world.inverted_safe() @ point)
    if not found:
        return False
    away = point - obj.matrix_world @ nearest
    outwards = obj.matrix_world.to_3x3().inverted_safe().transposed() @ normal
    return away.length < reach or away.dot(outwards) < 0
