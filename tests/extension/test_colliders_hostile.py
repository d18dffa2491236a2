# SPDX-License-Identifier: GPL-3.0-or-later
"""What people have in their files is wrapped where it is."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest

from .odd_objects import (
    beveled_curve,
    box,
    changes,
    collection,
    corners,
    instance,
    link,
    mesh,
    node_group,
    parent,
    text,
    wrap,
)
from .snapshot import snapshot

NEAR = 0.1
"""Meters: two voxels and a half."""


# Handled: each makes a scene and returns the object, and the low and high corner of its shape in world meters.


def _plain():
    return box(), [-1] * 3, [1] * 3


def _moved():
    return box(at=(10, -5, 3)), [9, -6, 2], [11, -4, 4]


def _far_away():
    return box(at=(1e4, 0, 0)), [9999, -1, -1], [10001, 1, 1]


def _turned():
    obj = box()
    obj.rotation_euler.z = math.pi / 4
    return obj, [-math.sqrt(2), -math.sqrt(2), -1], [math.sqrt(2), math.sqrt(2), 1]


def _quaternion():
    obj = box()
    obj.scale.x = 2
    obj.rotation_mode = "QUATERNION"
    obj.rotation_quaternion = (math.sqrt(0.5), 0, 0, math.sqrt(0.5))
    return obj, [-1, -2, -1], [1, 2, 1]


def _delta():
    obj = box()
    obj.delta_location, obj.delta_scale = (5, 0, 0), (1, 1, 2)
    return obj, [4, -1, -2], [6, 1, 2]


def _scaled_unevenly():
    obj = box()
    obj.scale = (0.5, 1, 2)
    return obj, [-0.5, -1, -2], [0.5, 1, 2]


def _mirrored():
    obj = box()
    for vertex in obj.data.vertices:
        vertex.co.x += 1
    obj.scale = (-1, 1, 1)
    return obj, [-2, -1, -1], [0, 1, 1]


def _turned_inside_out():
    obj = box()
    for vertex in obj.data.vertices:
        vertex.co.z += 1
    obj.scale = (-1, -1, -1)
    return obj, [-1, -1, -2], [1, 1, 0]


def _sheared():
    obj = box()
    parent(obj, scale=(1, 1, 2))
    obj.rotation_euler.y = math.pi / 4
    return obj, [-math.sqrt(2), -1, -2 * math.sqrt(2)], [math.sqrt(2), 1, 2 * math.sqrt(2)]


def _parented_to_a_bone():
    data = bpy.data.armatures.new("Rig")
    rig = link(bpy.data.objects.new("Rig", data))
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    bone = data.edit_bones.new("Bone")
    bone.head, bone.tail = (0, 0, 0), (0, 0, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    obj = box()
    obj.parent, obj.parent_type, obj.parent_bone = rig, "BONE", "Bone"
    return obj, [-1, -1, 0], [1, 1, 2]


def _tiny():
    return box(size=0.001), [0] * 3, [0] * 3


def _flat():
    data = mesh([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [(0, 1, 2, 3)])
    return link(bpy.data.objects.new("Thing", data)), [-1, -1, 0], [1, 1, 0]


def _many_sided():
    ring = [(math.cos(a), math.sin(a), 0) for a in np.linspace(0, 2 * math.pi, 64, endpoint=False)]
    return link(bpy.data.objects.new("Thing", mesh(ring, [tuple(range(64))]))), [-1, -1, 0], [1, 1, 0]


def _without_a_side():
    obj = box()
    data = obj.data
    faces = [tuple(face.vertices) for face in data.polygons][1:]
    obj.data = mesh([tuple(v.co) for v in data.vertices], faces)
    return obj, [-1] * 3, [1] * 3


def _flipped():
    obj = box()
    obj.data.flip_normals()
    return obj, [-1] * 3, [1] * 3


def _doubled_faces():
    obj = box()
    faces = [tuple(face.vertices) for face in obj.data.polygons]
    obj.data = mesh([tuple(v.co) for v in obj.data.vertices], faces + [face[::-1] for face in faces])
    return obj, [-1] * 3, [1] * 3


def _degenerate_faces():
    obj = box()
    corners = [tuple(v.co) for v in obj.data.vertices]
    faces = [tuple(face.vertices) for face in obj.data.polygons]
    obj.data = mesh([*corners, corners[0], corners[0]], [*faces, (0, 8, 9)])
    return obj, [-1] * 3, [1] * 3


def _loose_parts():
    obj = box()
    corners = [tuple(v.co) for v in obj.data.vertices]
    faces = [tuple(face.vertices) for face in obj.data.polygons]
    obj.data = mesh([*corners, (9, 9, 9), (8, 8, 8), (7, 7, 7)], faces, edges=[(8, 9)])
    return obj, [-1] * 3, [1] * 3


def _loose_point_nowhere():
    obj = box()
    corners = [tuple(v.co) for v in obj.data.vertices]
    faces = [tuple(face.vertices) for face in obj.data.polygons]
    obj.data = mesh([*corners, (math.nan,) * 3], faces)
    return obj, [-1] * 3, [1] * 3


def _hidden_faces():
    obj = box()
    for face in obj.data.polygons:
        face.hide = True
    return obj, [-1] * 3, [1] * 3


def _shown_as_wire():
    obj = box()
    obj.display_type = "WIRE"
    obj.hide_render = True
    return obj, [-1] * 3, [1] * 3


def _two_users():
    obj = box()
    other = link(bpy.data.objects.new("Twin", obj.data))
    other.location.x = 9
    return obj, [-1] * 3, [1] * 3


def _shape_keyed():
    obj = box()
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Tall")
    for point in key.data:
        point.co.z *= 2
    key.value = 1
    return obj, [-1, -1, -2], [1, 1, 2]


def _animated():
    obj = box()
    for frame, x in ((1, 0), (11, 10)):
        obj.location.x = x
        obj.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(6)
    return obj, [4, -1, -1], [6, 1, 1]


def _scaled_to_nothing_later():
    obj = box()
    for frame, scale in ((1, 1), (11, 0)):
        obj.scale = (scale,) * 3
        obj.keyframe_insert("scale", frame=frame)
    bpy.context.scene.frame_set(1)
    return obj, [-1] * 3, [1] * 3


def _driven():
    obj = box()
    obj.driver_add("scale", 0).driver.expression = "frame + 1"
    bpy.context.scene.frame_set(1)
    return obj, [-2, -1, -1], [2, 1, 1]


def _broken_driver():
    obj = box()
    obj.driver_add("location", 0).driver.expression = "no_such_name"
    return obj, [-1] * 3, [1] * 3


def _constrained():
    obj = box()
    target = link(bpy.data.objects.new("Target", None))
    target.location.y = 7
    obj.constraints.new("COPY_LOCATION").target = target
    return obj, [-1, 6, -1], [1, 8, 1]


def _constrained_in_a_circle():
    obj, other = box(), box("Other")
    obj.constraints.new("COPY_ROTATION").target = other
    other.constraints.new("COPY_ROTATION").target = obj
    return obj, [-1] * 3, [1] * 3


def _armature_deformed():
    obj, _, _ = _parented_to_a_bone()
    rig = obj.parent
    obj.parent_type = "OBJECT"
    group = obj.vertex_groups.new(name="Bone")
    group.add(range(8), 1.0, "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    rig.pose.bones["Bone"].location.y = 3
    return obj, [-1, -1, 2], [1, 1, 4]


def _mirror_modifier():
    obj = box()
    for vertex in obj.data.vertices:
        vertex.co.x += 3
    obj.modifiers.new("Mirror", "MIRROR")
    return obj, [-4, -1, -1], [4, 1, 1]


def _array_modifier():
    obj = box()
    array = obj.modifiers.new("Array", "ARRAY")
    array.count = 30
    return obj, [-1, -1, -1], [59, 1, 1]


def _subdivided():
    obj = box()
    obj.modifiers.new("Subdivision", "SUBSURF").subdivision_type = "SIMPLE"
    return obj, [-1] * 3, [1] * 3


def _modifiers_without_targets():
    obj = box()
    for kind in ("BOOLEAN", "SHRINKWRAP", "LATTICE", "ARMATURE", "CURVE", "NODES"):
        obj.modifiers.new(kind.title(), kind)
    return obj, [-1] * 3, [1] * 3


def _modifier_off():
    obj = box()
    obj.modifiers.new("Array", "ARRAY").show_viewport = False
    return obj, [-1] * 3, [1] * 3


def _collection_instance():
    obj = instance(collection(box("Inner", at=(3, 0, 0))))
    obj.location.y = 5
    return obj, [2, 4, -1], [4, 6, 1]


def _instances_in_instances():
    inner = instance(collection(box("Inner", at=(1, 0, 0)), name="Deep"), "Middle")
    inner.location.x = 10
    obj = instance(collection(inner))
    obj.rotation_euler.z = math.pi / 2
    return obj, [-1, 10, -1], [1, 12, 1]


def _mirrored_instance():
    obj = instance(collection(box("Inner", at=(3, 0, 0))))
    obj.scale.x = -2
    return obj, [-8, -1, -1], [-4, 1, 1]


def _face_instances():
    obj = box()
    obj.instance_type = "FACES"
    obj.show_instancer_for_viewport = False
    box("Inner", size=0.2).parent = obj
    return obj, [-1.1] * 3, [1.1] * 3


def _vertex_instances():
    obj = box()
    obj.instance_type = "VERTS"
    box("Inner", size=1.0).parent = obj
    return obj, [-1.5] * 3, [1.5] * 3


def _particle_instances():
    obj, inner = box(), box("Inner", size=0.5, at=(0, 0, 50))
    obj.modifiers.new("Hair", "PARTICLE_SYSTEM")
    settings = obj.particle_systems[0].settings
    settings.type, settings.count, settings.hair_length = "HAIR", 50, 0.01
    settings.render_type, settings.instance_object, settings.particle_size = "OBJECT", inner, 0.01
    return obj, [-1] * 3, [1] * 3


def _node_instances():
    def build(group, geometry):
        points, cube = group.nodes.new("GeometryNodeInstanceOnPoints"), group.nodes.new("GeometryNodeMeshCube")
        group.links.new(geometry, points.inputs["Points"])
        group.links.new(cube.outputs[0], points.inputs["Instance"])
        return points.outputs[0]

    obj = box()
    obj.modifiers.new("Nodes", "NODES").node_group = node_group(build)
    return obj, [-1.5] * 3, [1.5] * 3


def _metaball():
    data = bpy.data.metaballs.new("Thing")
    data.elements.new().radius = 2
    data.resolution = 0.1
    obj = link(bpy.data.objects.new("Thing", data))
    return obj, [-1.15] * 3, [1.15] * 3


def _surface():
    bpy.ops.surface.primitive_nurbs_surface_sphere_add()
    return bpy.context.active_object, [-1] * 3, [1] * 3


def _empty_with_children():
    obj = link(bpy.data.objects.new("Thing", None))
    for name, x in (("Left", -3), ("Right", 3)):
        box(name, at=(x, 0, 0)).parent = obj
    return obj, [-4, -1, -1], [4, 1, 1]


def _grandchildren():
    obj, middle, last = box(), link(bpy.data.objects.new("Middle", None)), box("Last", at=(5, 0, 0))
    middle.parent, last.parent = obj, middle
    return obj, [-1, -1, -1], [6, 1, 1]


def _hidden():
    obj = box()
    obj.select_set(True)
    child = box("Child", at=(4, 0, 0))
    child.parent = obj
    bpy.context.view_layer.update()
    child.hide_set(True)
    return obj, [-1, -1, -1], [5, 1, 1]


def _centimeters():
    bpy.context.scene.unit_settings.scale_length = 0.01
    return box(size=200, at=(300, 0, 0)), [2, -1, -1], [4, 1, 1]


def _no_units():
    bpy.context.scene.unit_settings.system = "NONE"
    bpy.context.scene.unit_settings.scale_length = 0.01
    return box(), [-1] * 3, [1] * 3


def _odd_name():
    return box("Stühlchen \"1\" \\ '…' 椅子"), [-1] * 3, [1] * 3


def _in_two_scenes():
    obj = box()
    bpy.data.scenes.new("Other").collection.objects.link(obj)
    return obj, [-1] * 3, [1] * 3


def _rigid_body():
    obj = box()
    bpy.context.view_layer.objects.active = obj
    bpy.ops.rigidbody.object_add()
    bpy.context.scene.frame_set(1)
    return obj, [-1] * 3, [1] * 3


HANDLED = [
    _plain,
    _moved,
    _far_away,
    _turned,
    _quaternion,
    _delta,
    _scaled_unevenly,
    _mirrored,
    _turned_inside_out,
    _sheared,
    _parented_to_a_bone,
    _tiny,
    _flat,
    _many_sided,
    _without_a_side,
    _flipped,
    _doubled_faces,
    _degenerate_faces,
    _loose_parts,
    _loose_point_nowhere,
    _hidden_faces,
    _shown_as_wire,
    _two_users,
    _shape_keyed,
    _animated,
    _scaled_to_nothing_later,
    _driven,
    _broken_driver,
    _constrained,
    _constrained_in_a_circle,
    _armature_deformed,
    _mirror_modifier,
    _array_modifier,
    _subdivided,
    _modifiers_without_targets,
    _modifier_off,
    _collection_instance,
    _instances_in_instances,
    _mirrored_instance,
    _face_instances,
    _vertex_instances,
    _particle_instances,
    _node_instances,
    beveled_curve,
    text,
    _metaball,
    _surface,
    _empty_with_children,
    _grandchildren,
    _hidden,
    _centimeters,
    _no_units,
    _odd_name,
    _in_two_scenes,
    _rigid_body,
]


@pytest.mark.parametrize("case", HANDLED, ids=lambda case: case.__name__.strip("_"))
def test_any_shape_is_wrapped_where_it_is_and_nothing_else_changes(case, extension_module):
    obj, low, high = case()
    name = obj.name
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = obj
    for other in bpy.context.view_layer.objects:
        other.select_set(other == obj)
    before = snapshot()
    assert wrap(obj) == {"FINISHED"}
    frame = bpy.context.scene.frame_current
    (collider,) = extension_module("scene.colliders").gather(bpy.context, np.array([frame]))
    assert [key for key in changes(before) if not key.startswith(f"objects[{name}].nsm.collider")] == []
    lowest, highest = corners(collider)
    assert np.allclose(lowest, low, atol=NEAR)
    assert np.allclose(highest, high, atol=NEAR)
