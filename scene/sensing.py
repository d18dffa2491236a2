# SPDX-License-Identifier: GPL-3.0-or-later
"""What a character would sense from where it stands in the scene, for the viewport."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector

from ..nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from ..nsm_blender.motion.rotations import Array
from . import colliders, curves, handles, lookup

Shapes = Callable[[bpy.types.Object], Cuboids]
"""Reads the cuboids of a collider; frequent callers cache them."""


@dataclass(frozen=True, eq=False)
class Sensed:
    """Cells of a sensor. places: (N, 3) middles in Blender units. values: (N,) 0..1. radius: of a cell, in units.
    round: spheres, else cubes."""

    places: Array
    values: Array
    radius: float
    round: bool


def environment(context: bpy.types.Context, graph: bpy.types.Depsgraph, shapes: Shapes) -> Sensed | None:
    """The environment sensor at the chosen object, or the character; None when there is neither."""
    from ..nsm_blender.geometry.sensors import Environment

    source = context.scene.nsm.overlay.source or lookup.character(context)
    if source is None:
        return None
    size = curves.meters_per_unit(context.scene)
    root = _root(source.evaluated_get(graph), size)
    sensor = Environment()
    placed = _surroundings(context, graph, shapes, source, size).at(0)
    return Sensed(sensor.places(root) / size, sensor.values(placed, root), sensor.sphere / size, True)


def interaction(context: bpy.types.Context, graph: bpy.types.Depsgraph, shapes: Shapes) -> Sensed | None:
    """The interaction sensor at the active collider; None when the active object is none."""
    from ..nsm_blender.geometry.sensors import Interaction

    obj = context.view_layer.objects.active
    if obj is not None and handles.is_handle(obj):
        obj = obj.parent
    if obj is None or not colliders.is_collider(obj):
        return None
    size = curves.meters_per_unit(context.scene)
    placed = _surroundings(context, graph, shapes, None, size).at(0)
    if colliders.name_of(obj) not in placed.names:
        return None
    sensor, frame = Interaction.covering(placed.of([colliders.name_of(obj)]), _facing(obj, graph))
    return Sensed(sensor.places(frame) / size, sensor.occupancy(placed, frame), float(sensor.cell[0]) / 2 / size, False)


def _surroundings(
    context: bpy.types.Context,
    graph: bpy.types.Depsgraph,
    shapes: Shapes,
    source: bpy.types.Object | None,
    size: float,
) -> Surroundings:
    """The enabled colliders as they stand now, without the one that senses."""
    found = []
    for obj in colliders.in_scene(context):
        evaluated = obj.evaluated_get(graph)
        if obj != source and colliders.of(obj).enabled and evaluated.is_evaluated:
            pose = colliders.pose(evaluated.matrix_world, size, obj.name)[None]
            found.append(Collider(colliders.name_of(obj), shapes(obj), pose))
    return Surroundings(found)


def _root(evaluated: bpy.types.Object, size: float) -> Array:
    """Place on the ground in meters and facing angle, (4,), of a character or of an empty, whose front is -Y."""
    place, front = evaluated.matrix_world.translation.copy(), Vector((0.0, -1.0, 0.0))
    if evaluated.type == "ARMATURE" and evaluated.pose.bones:
        bone = next(bone for bone in evaluated.pose.bones if bone.parent is None)
        hips = evaluated.matrix_world @ bone.head
        place.x, place.y = hips.x, hips.y
        front = (bone.matrix @ bone.bone.matrix_local.inverted()).to_3x3() @ front
    front = evaluated.matrix_world.to_3x3() @ front
    return np.array([place.x * size, place.y * size, place.z * size, np.arctan2(front.x, -front.y)])


def _facing(obj: bpy.types.Object, graph: bpy.types.Depsgraph) -> float:
    """The facing angle of a collider's handles, else that of its front, -Y."""
    kept = handles.stored(obj)
    front = Vector(getattr(kept, "facing", (0.0, -1.0, 0.0)))
    front = obj.evaluated_get(graph).matrix_world.to_quaternion() @ front
    return float(np.arctan2(front.x, -front.y))
