# SPDX-License-Identifier: GPL-3.0-or-later
"""What cannot be wrapped is refused with the reason, and nothing changes."""

from __future__ import annotations

import math

import bpy
import pytest

from .odd_objects import beveled_curve, box, changes, instance, link, mesh, node_group, parent, text, wrap
from .snapshot import snapshot

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


def _a_million_meters():
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
    obj, _, _ = beveled_curve()
    obj.data.bevel_depth = 0
    return obj


def _curve_without_points():
    return link(bpy.data.objects.new("Thing", bpy.data.curves.new("Thing", "CURVE")))


def _no_text():
    obj, _, _ = text()
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
    (_a_million_meters, "too large"),
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
