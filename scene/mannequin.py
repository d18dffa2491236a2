# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundled character in Blender: its armature, its skinned mesh and its materials."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Vector
from numpy.typing import NDArray

from ..nsm_blender.geometry.mannequin import MATERIALS, Bone, Piece, bones, mannequin
from ..nsm_blender.motion.skeleton import MODEL_SKELETON
from .curves import meters_per_unit

NAME = "Mannequin"


def add_mannequin(context: bpy.types.Context, location: Vector) -> bpy.types.Object:
    """Add the character to the active collection, standing at `location` and facing -Y, 1.75 m tall in the
    scene's units.

    Returns the armature object, selected and active; the mesh is its child. Object mode is needed.
    """
    scene, view_layer = context.scene, context.view_layer
    assert scene is not None
    assert view_layer is not None
    collection = context.collection or scene.collection
    for selected in list(context.selected_objects):
        selected.select_set(False)
    rig = bpy.data.objects.new(NAME, bpy.data.armatures.new(NAME))
    rig.location = location
    collection.objects.link(rig)
    view_layer.objects.active = rig
    rig.select_set(True)
    unit = 1 / meters_per_unit(scene)
    _build_bones(context, rig, bones(), unit)
    rig.data.display_type = "STICK"
    rig.show_in_front = True
    body = _mesh_object(mannequin(), unit)
    collection.objects.link(body)
    body.parent = rig
    modifier = body.modifiers.new("Armature", "ARMATURE")
    assert isinstance(modifier, bpy.types.ArmatureModifier)
    modifier.object = rig
    return rig


def _build_bones(context: bpy.types.Context, rig: bpy.types.Object, rest: list[Bone], unit: float) -> None:
    """Bones can be made in edit mode only. unit: Blender units in a meter."""
    with context.temp_override(active_object=rig, object=rig, selected_objects=[rig]):
        bpy.ops.object.mode_set(mode="EDIT")
        try:
            for bone in rest:
                made = rig.data.edit_bones.new(bone.name)
                made.head, made.tail = Vector(bone.head.tolist()) * unit, Vector(bone.tail.tolist()) * unit
                made.align_roll(Vector(bone.front))
                # The timeline shows the keys of selected bones alone.
                made.select = made.select_head = made.select_tail = True
                if bone.parent is not None:
                    made.parent = rig.data.edit_bones[bone.parent]
                    made.use_connect = (made.parent.tail - made.head).length < 1e-6 * unit
        finally:
            bpy.ops.object.mode_set(mode="OBJECT")


def _mesh_object(piece: Piece, unit: float) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(NAME)
    corners = np.concatenate([piece.quads.ravel(), piece.triangles.ravel()]).astype(np.int32)
    sizes = np.concatenate([np.full(len(piece.quads), 4), np.full(len(piece.triangles), 3)])
    mesh.vertices.add(len(piece.vertices))
    mesh.vertices.foreach_set("co", (piece.vertices * unit).astype(np.float32).ravel())
    mesh.loops.add(len(corners))
    mesh.loops.foreach_set("vertex_index", corners)
    mesh.polygons.add(len(sizes))
    mesh.polygons.foreach_set("loop_start", (np.cumsum(sizes) - sizes).astype(np.int32))
    slots = np.concatenate([piece.quad_slots, piece.triangle_slots]).astype(np.int32)
    mesh.polygons.foreach_set("material_index", slots)
    mesh.update(calc_edges=True)
    mesh.shade_smooth()
    for name, color, roughness in MATERIALS:
        mesh.materials.append(_material(name, color, roughness))
    body = bpy.data.objects.new(f"{NAME} Body", mesh)
    _weigh(body, piece.weights)
    return body


def _material(name: str, color: tuple[float, float, float, float], roughness: float) -> bpy.types.Material:
    """The material of that name, so that ten mannequins share three; made where this file has none."""
    found: bpy.types.Material | None = bpy.data.materials.get((name, None))
    if found is not None:
        return found
    material = bpy.data.materials.new(name)
    material.diffuse_color = color
    material.roughness = roughness
    if material.node_tree is None:  # always there from 5.0 on
        material.use_nodes = True
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = color
    shader.inputs["Roughness"].default_value = roughness
    return material


def _weigh(body: bpy.types.Object, weights: NDArray[np.float64]) -> None:
    """Vertex groups of all bones. Equal weights go in one call: most vertices follow one bone."""
    for joint, name in enumerate(MODEL_SKELETON.names):
        group = body.vertex_groups.new(name=name)
        column = weights[:, joint]
        values, which = np.unique(column.round(4), return_inverse=True)
        for i, value in enumerate(values):
            if value > 0:
                group.add(np.flatnonzero(which == i).tolist(), float(value), "REPLACE")
