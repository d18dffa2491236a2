# SPDX-License-Identifier: GPL-3.0-or-later
"""What is under the mouse, or at a place: the thing that a goal is put on, and where on it."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
from bpy_extras import view3d_utils
from mathutils import Vector
from mathutils.geometry import intersect_line_plane

from . import colliders, meshes
from .curves import meters_per_unit

_THROUGH = 30
"""Characters and what they wear that a look through the mouse passes at most; a crowd has no more in one line."""
_BEYOND = 1e-3
"""Meters by which a look goes on behind what it passes."""
_AT = 0.3
"""Meters from a place within which a thing is at it: half of a seat's width, so that the next seat is not meant."""


@dataclass(frozen=True)
class Spot:
    """A place (3,) in the world, Blender units, and the thing it is on; None for the bare floor."""

    place: Vector
    thing: bpy.types.Object | None


@dataclass(frozen=True)
class View:
    """A 3D viewport's window region with its view."""

    region: bpy.types.Region
    data: bpy.types.RegionView3D

    def ray(self, x: float, y: float) -> tuple[Vector, Vector]:
        """Origin and direction, in the world, of the look through a pixel of the region."""
        pixel = (x, y)
        origin = view3d_utils.region_2d_to_origin_3d(self.region, self.data, pixel)
        return origin, view3d_utils.region_2d_to_vector_3d(self.region, self.data, pixel)

    def on_level(self, x: float, y: float, height: float) -> Vector | None:
        """Where the look through a pixel meets the level plane at a height; None where it does not."""
        origin, direction = self.ray(x, y)
        met = intersect_line_plane(origin, origin + direction, Vector((0.0, 0.0, height)), Vector((0.0, 0.0, 1.0)))
        # A plane behind an eye in perspective is not seen.
        return met if met is not None and (not self.data.is_perspective or (met - origin).dot(direction) > 0) else None


def under(context: bpy.types.Context, view: View, x: float, y: float) -> Spot | None:
    """The nearest visible thing below a pixel of a view, else the floor at the world's height 0; None for the sky.

    Characters and what they wear are looked through.
    """
    graph = context.evaluated_depsgraph_get()
    origin, direction = view.ray(x, y)
    step = direction * (_BEYOND / meters_per_unit(context.scene))
    for _ in range(_THROUGH):
        met, place, _normal, _index, obj, _matrix = context.scene.ray_cast(graph, origin, direction)
        if not met:
            break
        if not is_worn(obj.original):
            return Spot(place, thing_of(context, obj.original))
        origin = place + step
    floor = view.on_level(x, y, 0.0)
    return None if floor is None else Spot(floor, None)


def at(context: bpy.types.Context, place: Vector) -> list[bpy.types.Object]:
    """The things of which some surface is at a place in the world, the nearest first."""
    graph = context.evaluated_depsgraph_get()
    reach = _AT / meters_per_unit(context.scene)
    found: dict[bpy.types.Object, float] = {}
    for obj in context.visible_objects:
        if obj.type != "MESH" or is_worn(obj) or not obj.data.polygons:
            continue
        evaluated = obj.evaluated_get(graph)
        met, nearest, _normal, _index = evaluated.closest_point_on_mesh(evaluated.matrix_world.inverted_safe() @ place)
        away = (evaluated.matrix_world @ nearest - place).length if met else float("inf")
        if away <= reach:
            thing = thing_of(context, obj)
            found[thing] = min(away, found.get(thing, away))
    return sorted(found, key=lambda thing: found[thing])


def thing_of(context: bpy.types.Context, obj: bpy.types.Object) -> bpy.types.Object:
    """The collider that an object belongs to, as itself, a child or a part; else the object."""
    above: bpy.types.Object | None = obj
    while above is not None:
        if colliders.is_collider(above):
            return above
        above = above.parent
    wholes = (one for one in colliders.in_scene(context) if any(part.object == obj for part in colliders.of(one).parts))
    return next(wholes, obj)


def is_thing(obj: bpy.types.Object) -> bool:
    """Whether an object is a collider, or has a surface and can become one; what characters wear cannot."""
    return colliders.is_collider(obj) or (obj.type == "MESH" and meshes.has_surface(obj) and not is_worn(obj))


def is_worn(obj: bpy.types.Object) -> bool:
    """Whether a mesh hangs on an armature, as a character's body does."""
    return obj.find_armature() is not None or (obj.parent is not None and obj.parent.type == "ARMATURE")
