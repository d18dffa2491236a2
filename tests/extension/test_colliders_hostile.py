# SPDX-License-Identifier: GPL-3.0-or-later
"""What people have in their files: each thing is wrapped where it is, or refused with the reason."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from .snapshot import difference, snapshot

NEAR = 0.1
"""Metres: two voxels and a half."""


def link(obj):
    bpy.context.scene.collection.objects.link(obj)
    return obj


def mesh(vertices, faces, name="Thing", edges=()):
    data = bpy.data.meshes.new(name)
    data.from_pydata(vertices, list(edges), faces)
    return data


def box(name="Thing", size=2.0, at=(0, 0, 0)):
    """A cube with edges of `size`, its data in local space around the origin."""
    h = size / 2
    corners = [(x, y, z) for x in (-h, h) for y in (-h, h) for z in (-h, h)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    obj = link(bpy.data.objects.new(name, mesh(corners, faces, name)))
    obj.location = at
    return obj


def parent(obj, **transform):
    above = link(bpy.data.objects.new("Above", None))
    for name, value in transform.items():
        setattr(above, name, value)
    obj.parent = above
    return above


def node_group(build):
    """A geometry node group; `build(group, geometry)` returns the socket that comes out."""
    group = bpy.data.node_groups.new("Nodes", "GeometryNodeTree")
    for side in ("INPUT", "OUTPUT"):
        group.interface.new_socket("Geometry", in_out=side, socket_type="NodeSocketGeometry")
    first, last = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    out = build(group, first.outputs[0])
    if out is not None:
        group.links.new(out, last.inputs[0])
    return group


def collection(*objects, name="Group"):
    """A collection that no scene shows."""
    group = bpy.data.collections.new(name)
    for obj in objects:
        for other in obj.users_collection:
            other.objects.unlink(obj)
        group.objects.link(obj)
    return group


def instance(group, name="Thing"):
    obj = link(bpy.data.objects.new(name, None))
    obj.instance_type, obj.instance_collection = "COLLECTION", group
    return obj


def wrap(obj, **options):
    """Wrap one object as a user does."""
    bpy.context.view_layer.update()
    for other in bpy.context.selected_objects:
        other.select_set(False)
    if obj is not None and bpy.context.view_layer.objects.get(obj.name) is not None:
        bpy.context.view_layer.objects.active = obj
        obj.select_set(True)
    return bpy.ops.nsm.wrap_collider(role="obstacle", **options)


# Handled: each makes a scene and returns the object, and the low and high corner of its shape in world metres.


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


def _bevelled_curve():
    data = bpy.data.curves.new("Thing", "CURVE")
    data.dimensions, data.bevel_depth = "3D", 0.2
    points = data.splines.new("POLY").points
    points.add(1)
    points[0].co, points[1].co = (0, 0, 0, 1), (4, 0, 0, 1)
    return link(bpy.data.objects.new("Thing", data)), [0, -0.2, -0.2], [4, 0.2, 0.2]


def _text():
    data = bpy.data.curves.new("Thing", "FONT")
    data.body, data.extrude = "I", 0.5
    return link(bpy.data.objects.new("Thing", data)), [0.06, 0, -0.5], [0.19, 0.73, 0.5]


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


def _centimetres():
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
    _bevelled_curve,
    _text,
    _metaball,
    _surface,
    _empty_with_children,
    _grandchildren,
    _hidden,
    _centimetres,
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


def changes(before):
    """Where the scene differs from a snapshot. What is no number equals itself here."""
    return [key for key, (old, new) in difference(before, snapshot()).items() if repr(old) != repr(new)]


def corners(collider):
    """The world's bounds of a collider at its first pose, (3,) each."""
    place, turn = collider.poses[0, :3], np.array(Quaternion(collider.poses[0, 3:].tolist()).to_matrix())
    centre, half = collider.cuboids.centre, collider.cuboids.half
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    points = (centre[:, None] + signs * half[:, None]).reshape(-1, 3) @ turn.T + place
    return points.min(axis=0), points.max(axis=0)


# Refused: each makes a scene and returns the object to wrap; beside it a part of the sentence that it gets.


def _no_points():
    return link(bpy.data.objects.new("Thing", bpy.data.meshes.new("Thing")))


def _points_only():
    return link(bpy.data.objects.new("Thing", mesh([(0, 0, 0), (1, 0, 0)], [])))


def _edges_only():
    return link(bpy.data.objects.new("Thing", mesh([(0, 0, 0), (1, 0, 0)], [], edges=[(0, 1)])))


def _not_a_number():
    obj = box()
    obj.data.vertices[3].co.x = math.nan
    return obj


def _infinite():
    obj = box()
    obj.data.vertices[3].co.x = math.inf
    return obj


def _scaled_by_a_million():
    obj = box()
    obj.scale = (1e6,) * 3
    return obj


def _a_million_metres():
    return box(size=1e6)


def _a_vertex_far_away():
    obj = box()
    for vertex in list(obj.data.vertices)[:4]:
        vertex.co *= 1e5
    return obj


def _no_scale():
    obj = box()
    obj.scale = (0, 0, 0)
    return obj


def _no_height():
    obj = box()
    obj.scale.z = 0
    return obj


def _no_scale_above():
    obj = box()
    parent(obj, scale=(1, 0, 1))
    return obj


def _nowhere():
    obj = box()
    obj.location.x = math.nan
    return obj


def _disabled():
    obj, other = box(), box("Child")
    other.parent = obj
    other.hide_viewport = True
    obj.data = bpy.data.meshes.new("Empty")
    return obj


def _camera():
    return link(bpy.data.objects.new("Thing", bpy.data.cameras.new("Thing")))


def _light():
    return link(bpy.data.objects.new("Thing", bpy.data.lights.new("Thing", "POINT")))


def _lattice():
    return link(bpy.data.objects.new("Thing", bpy.data.lattices.new("Thing")))


def _rig():
    return link(bpy.data.objects.new("Thing", bpy.data.armatures.new("Thing")))


def _speaker():
    return link(bpy.data.objects.new("Thing", bpy.data.speakers.new("Thing")))


def _volume():
    return link(bpy.data.objects.new("Thing", bpy.data.volumes.new("Thing")))


def _empty():
    return link(bpy.data.objects.new("Thing", None))


def _thin_curve():
    obj, _, _ = _bevelled_curve()
    obj.data.bevel_depth = 0
    return obj


def _curve_without_points():
    return link(bpy.data.objects.new("Thing", bpy.data.curves.new("Thing", "CURVE")))


def _no_text():
    obj, _, _ = _text()
    obj.data.body = ""
    return obj


def _no_metaball():
    return link(bpy.data.objects.new("Thing", bpy.data.metaballs.new("Thing")))


def _instance_of_nothing():
    return instance(bpy.data.collections.new("Group"))


def _instance_without_a_collection():
    obj = instance(bpy.data.collections.new("Group"))
    obj.instance_collection = None
    return obj


def _masked_away():
    obj = box()
    obj.vertex_groups.new(name="Nothing")
    obj.modifiers.new("Mask", "MASK").vertex_group = "Nothing"
    return obj


def _nodes_without_output():
    obj = box()
    obj.modifiers.new("Nodes", "NODES").node_group = node_group(lambda group, geometry: None)
    return obj


def _too_many_instances():
    def build(group, _geometry):
        grid = group.nodes.new("GeometryNodeMeshGrid")
        grid.inputs["Vertices X"].default_value = grid.inputs["Vertices Y"].default_value = 800
        return grid.outputs[0]

    obj, inner = box(), box("Inner")
    obj.instance_type = "VERTS"
    inner.modifiers.new("Nodes", "NODES").node_group = node_group(build)
    inner.parent = obj
    return obj


def _drawn_out():
    obj = box()
    obj.modifiers.new("Array", "ARRAY").count = 10
    obj.modifiers[0].relative_offset_displace = (1e4, 1e4, 1e4)
    return obj


def _in_edit_mode():
    obj = box()
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    return obj


REFUSED = [
    (_no_points, "'Thing' has no faces"),
    (_points_only, "'Thing' has no faces"),
    (_edges_only, "'Thing' has no faces"),
    (_not_a_number, "'Thing': Some of the mesh's vertices have no finite place"),
    (_infinite, "too large"),
    (_scaled_by_a_million, "too large"),
    (_a_million_metres, "too large"),
    (_a_vertex_far_away, "too large"),
    (_no_scale, "'Thing' has a scale of zero"),
    (_no_height, "'Thing' has a scale of zero"),
    (_no_scale_above, "'Thing' has a scale of zero"),
    (_nowhere, "The transform of 'Thing' is not made of finite numbers"),
    (_disabled, "have no faces"),
    (_camera, "'Thing' has no surface"),
    (_light, "'Thing' has no surface"),
    (_lattice, "'Thing' has no surface"),
    (_rig, "'Thing' has no surface"),
    (_speaker, "'Thing' has no surface"),
    (_volume, "'Thing' has no surface"),
    (_empty, "'Thing' is an empty without objects below it"),
    (_thin_curve, "'Thing' has no faces"),
    (_curve_without_points, "'Thing' has no faces"),
    (_no_text, "'Thing' has no faces"),
    (_no_metaball, "'Thing' has no faces"),
    (_instance_of_nothing, "'Thing' is an empty without objects"),
    (_instance_without_a_collection, "'Thing' is an empty without objects"),
    (_masked_away, "check its modifiers (Mask)"),
    (_nodes_without_output, "check its modifiers (Nodes)"),
    (_too_many_instances, "more than 10 million triangles"),
    (_drawn_out, "too large"),
    (_in_edit_mode, "object mode"),
]


@pytest.mark.parametrize(("case", "sentence"), REFUSED, ids=lambda part: getattr(part, "__name__", "").strip("_"))
def test_what_cannot_be_wrapped_is_refused_with_the_reason_and_nothing_changes(case, sentence):
    obj = case()
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = obj
    for other in bpy.context.view_layer.objects:
        other.select_set(other == obj)
    before = snapshot()
    with pytest.raises(RuntimeError) as caught:
        wrap(obj)
    assert sentence in str(caught.value)
    assert changes(before) == []
