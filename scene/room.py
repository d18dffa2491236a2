# SPDX-License-Identifier: GPL-3.0-or-later
"""The furnished demo room in Blender: meshes with simple materials, wrapped as colliders with roles and handles."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix, Vector

from ..nsm_blender.geometry.mesh import TriangleMesh
from ..nsm_blender.geometry.rooms import Furnishing, demo_room
from . import colliders, handles, meshes
from .curves import metres_per_unit

NAME = "Demo Room"

_COLOURS = {
    "wall": (0.62, 0.60, 0.55, 1.0),
    "beam": (0.23, 0.13, 0.07, 1.0),
    "box": (0.55, 0.36, 0.17, 1.0),
    "armchair": (0.10, 0.22, 0.30, 1.0),
    "step": (0.30, 0.31, 0.33, 1.0),
    "door": (0.45, 0.12, 0.07, 1.0),
}
_WOOD = (0.42, 0.26, 0.13, 1.0)


def add(context: bpy.types.Context, location: Vector) -> list[bpy.types.Object]:
    """Add the demo room about `location`, in a collection of its own; returns its objects, all colliders.

    The collider's cuboids are those that the pieces were made of, without voxels.
    """
    collection = bpy.data.collections.new(NAME)
    (context.collection or context.scene.collection).children.link(collection)
    unit = 1 / metres_per_unit(context.scene)
    materials: dict[str, bpy.types.Material] = {}
    made = [_object(collection, item, location, unit, materials) for item in demo_room()]
    context.view_layer.update()
    graph = context.evaluated_depsgraph_get()
    surfaces = meshes.read_all(graph, {obj: [] for obj, _ in made})
    for obj, item in made:
        settings = colliders.of(obj)
        settings.use_children = False
        settings.role = item.piece.role
        colliders.store(obj, item.piece.boxes, colliders.signature(surfaces[obj], settings.size))
        handles.store(obj, item.piece.handles)
    return [obj for obj, _ in made]


def _object(
    collection: bpy.types.Collection,
    item: Furnishing,
    location: Vector,
    unit: float,
    materials: dict[str, bpy.types.Material],
) -> tuple[bpy.types.Object, Furnishing]:
    """A piece as a mesh object, and the piece. unit: Blender units in a metre."""
    obj = bpy.data.objects.new(item.name, _mesh(item.name, item.piece.mesh, unit))
    collection.objects.link(obj)
    place = Matrix(item.matrix().tolist())
    place.translation = place.translation * unit + location
    obj.matrix_world = place
    kind = item.piece.kind
    if kind not in materials:
        materials[kind] = _material(kind)
    obj.data.materials.append(materials[kind])
    return obj, item


def _mesh(name: str, shape: TriangleMesh, unit: float) -> bpy.types.Mesh:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata((shape.vertices * unit).tolist(), [], np.asarray(shape.triangles).tolist())
    mesh.validate()
    return mesh


def _material(kind: str) -> bpy.types.Material:
    """A matt material in the colour of that kind of piece."""
    colour = _COLOURS.get(kind, _WOOD)
    material = bpy.data.materials.new(f"{NAME} {kind.replace('_', ' ').title()}")
    material.diffuse_color = colour
    if material.node_tree is None:  # always there from 5.0 on
        material.use_nodes = True
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = colour
    shader.inputs["Roughness"].default_value = 0.8
    return material
