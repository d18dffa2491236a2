# SPDX-License-Identifier: GPL-3.0-or-later
"""The furnished demo room and the demo course in Blender: meshes with simple materials, wrapped as colliders with roles
and handles."""

from __future__ import annotations

import bpy
from mathutils import Matrix, Vector

from ..nsm_blender.geometry.demo_course import demo_course
from ..nsm_blender.geometry.rooms import Furnishing, demo_room
from . import pieces
from .curves import meters_per_unit

NAME, COURSE = "Demo Room", "Demo Course"

_COLORS = {
    "wall": (0.62, 0.60, 0.55, 1.0),
    "beam": (0.23, 0.13, 0.07, 1.0),
    "box": (0.55, 0.36, 0.17, 1.0),
    "armchair": (0.10, 0.22, 0.30, 1.0),
    "step": (0.30, 0.31, 0.33, 1.0),
    "platform": (0.42, 0.40, 0.36, 1.0),
    "ramp": (0.36, 0.30, 0.24, 1.0),
    "door": (0.45, 0.12, 0.07, 1.0),
}
_WOOD = (0.42, 0.26, 0.13, 1.0)


def add(context: bpy.types.Context, location: Vector, door_open: bool = True) -> list[bpy.types.Object]:
    """Add the demo room about `location`, in a collection of its own; returns its objects, all colliders.

    door_open: whether its door stands open.
    """
    return _placed(context, location, NAME, demo_room(door_open))


def add_course(context: bpy.types.Context, location: Vector) -> list[bpy.types.Object]:
    """Add the demo's stairs, platforms, ramp and beam about `location` alike; all of them are ground."""
    return _placed(context, location, COURSE, demo_course())


def _placed(
    context: bpy.types.Context, location: Vector, name: str, furnishings: list[Furnishing]
) -> list[bpy.types.Object]:
    """Pieces as objects. The cuboids are those that the pieces were made of, without voxels."""
    collection = bpy.data.collections.new(name)
    (context.collection or context.scene.collection).children.link(collection)
    unit = 1 / meters_per_unit(context.scene)
    kinds = {item.piece.kind for item in furnishings}
    materials = {
        kind: pieces.material(f"{name} {kind.replace('_', ' ').title()}", _COLORS.get(kind, _WOOD)) for kind in kinds
    }
    made = []
    for item in furnishings:
        obj = _object(item, location, unit)
        obj.data.materials.append(materials[item.piece.kind])
        collection.objects.link(obj)
        made.append((obj, item.piece.boxes, item.piece.role, item.piece.handles))
    pieces.wrap(context, made)
    return [obj for obj, *_ in made]


def _object(item: Furnishing, location: Vector, unit: float) -> bpy.types.Object:
    """A piece as a mesh object. unit: Blender units in a meter."""
    obj = bpy.data.objects.new(item.name, pieces.mesh_of(item.name, item.piece.mesh, unit))
    place = Matrix(item.matrix().tolist())
    place.translation = place.translation * unit + location
    obj.matrix_world = place
    return obj
