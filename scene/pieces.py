# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects made from the engine's shapes, wrapped as colliders of exactly the cuboids that are given."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ..nsm_blender.geometry.colliders import Cuboids
from ..nsm_blender.geometry.mesh import TriangleMesh
from ..nsm_blender.geometry.roles import Handles
from ..nsm_blender.motion.rotations import Array
from . import colliders, handles, meshes

_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
_SIDES = np.array(((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)))
"""Corners of a cuboid's faces, counter-clockwise as seen from outside."""


def mesh_of(name: str, shape: TriangleMesh, unit: float) -> bpy.types.Mesh:
    """A mesh of triangles. unit: Blender units in a meter."""
    return _mesh(name, np.asarray(shape.vertices) * unit, np.asarray(shape.triangles))


def mesh_of_cuboids(name: str, cuboids: Cuboids, unit: float) -> bpy.types.Mesh:
    """A mesh of boxes. unit: Blender units in a meter."""
    corners = cuboids.center[:, None] + cuboids.half[:, None] * _CORNERS
    first = len(_CORNERS) * np.arange(len(corners))
    return _mesh(name, corners.reshape(-1, 3) * unit, (first[:, None, None] + _SIDES).reshape(-1, 4))


def wrap(context: bpy.types.Context, things: Sequence[tuple[bpy.types.Object, Cuboids, str, Handles | None]]) -> None:
    """Make each object a collider of its cuboids with its role and handles. The cuboids are not refreshed before the
    object's mesh changes.
    """
    context.view_layer.update()
    surfaces = meshes.read_all(context.evaluated_depsgraph_get(), {obj: [] for obj, _, _, _ in things})
    for obj, cuboids, role, held in things:
        settings = colliders.of(obj)
        settings.use_children = False
        settings.role = role
        colliders.store(obj, cuboids, colliders.signature(surfaces[obj], settings.size))
        handles.store(obj, held)


def material(name: str, color: tuple[float, float, float, float]) -> bpy.types.Material:
    """A matt material."""
    made = bpy.data.materials.new(name)
    made.diffuse_color = color
    if made.node_tree is None:  # always there from 5.0 on
        made.use_nodes = True
    shader = next(node for node in made.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = color
    shader.inputs["Roughness"].default_value = 0.8
    return made


def _mesh(name: str, vertices: Array, faces: Array) -> bpy.types.Mesh:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices.tolist(), [], faces.tolist())
    mesh.validate()
    return mesh
