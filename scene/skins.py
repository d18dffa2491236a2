# SPDX-License-Identifier: GPL-3.0-or-later
"""The meshes that an armature moves, as plain data: what its body is, in the rest pose."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np

from ..nsm_blender.motion.rotations import Array
from ..nsm_blender.rigging.skin import Skin

_MOST = 12000
"""Vertices of a character that are read at most, evenly from all its meshes: reading the weights of more takes seconds,
and these lie a centimeter apart on a grown-up."""
_WEIGHTS = 4
"""Weights of a vertex that are kept at most."""


def read(context: bpy.types.Context, armature: bpy.types.Object) -> Skin | None:
    """The skin of all meshes that follow the armature's bones and that are rendered; None where there is none."""
    meshes = [obj for obj in _meshes(context, armature) if len(obj.data.vertices)]
    step = -(-sum(len(obj.data.vertices) for obj in meshes) // _MOST)
    names = [bone.name for bone in armature.data.bones]
    number = {name: i for i, name in enumerate(names)}
    parts = [_read(obj, armature, step, number) for obj in meshes]
    if not parts:
        return None
    vertices, owners, weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    on = weights.sum(axis=1) > 0
    return Skin(vertices[on], tuple(names), owners[on], weights[on]) if on.any() else None


def _meshes(context: bpy.types.Context, armature: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """The mesh objects of the scene that an Armature modifier or a bone as parent lets follow the armature."""
    for obj in context.scene.objects:
        if obj.type != "MESH" or obj.hide_render:
            continue
        if _parent_bone(obj, armature) or any(_follows(modifier, armature) for modifier in obj.modifiers):
            yield obj


def _follows(modifier: bpy.types.Modifier, armature: bpy.types.Object) -> bool:
    return modifier.type == "ARMATURE" and modifier.object == armature and modifier.use_vertex_groups


def _parent_bone(obj: bpy.types.Object, armature: bpy.types.Object) -> str:
    """The bone that carries a mesh as a whole, or none."""
    carried = obj.parent == armature and obj.parent_type == "BONE" and obj.parent_bone in armature.data.bones
    return obj.parent_bone if carried else ""


def _carried(obj: bpy.types.Object, bone: bpy.types.Bone) -> Array:
    """Where a mesh (4, 4) is in the armature's space that hangs on the tail of a bone at rest, whatever its pose."""
    tail = np.eye(4)
    tail[1, 3] = bone.length
    own = np.array(obj.matrix_parent_inverse) @ np.array(obj.matrix_basis)
    return np.asarray(np.array(bone.matrix_local, dtype=np.float64) @ tail @ own)


def _read(
    obj: bpy.types.Object, armature: bpy.types.Object, step: int, number: dict[str, int]
) -> tuple[Array, Array, Array]:
    """Every `step`-th vertex (V, 3) of a mesh in the armature's space, and its owners and weights (V, W)."""
    mesh, bone = obj.data, _parent_bone(obj, armature)
    places = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", places)
    to_armature = np.linalg.inv(np.array(armature.matrix_world, dtype=np.float64)) @ np.array(obj.matrix_world)
    if bone:
        to_armature = _carried(obj, armature.data.bones[bone])
    vertices = places.reshape(-1, 3)[::step] @ to_armature[:3, :3].T + to_armature[:3, 3]
    owners, weights = np.zeros((len(vertices), _WEIGHTS), dtype=int), np.zeros((len(vertices), _WEIGHTS))
    if bone:
        weights[:, 0], owners[:, 0] = 1.0, number[bone]
        return vertices, owners, weights
    moving = {bone.name for bone in armature.data.bones if bone.use_deform}
    bone_of = {group.index: number[group.name] for group in obj.vertex_groups if group.name in moving}
    for row, index in enumerate(range(0, len(mesh.vertices), step)):
        found = [(g.weight, bone_of[g.group]) for g in mesh.vertices[index].groups if g.group in bone_of]
        for column, (weight, owner) in enumerate(sorted(found, reverse=True)[:_WEIGHTS]):
            weights[row, column], owners[row, column] = weight, owner
    return vertices, owners, weights
