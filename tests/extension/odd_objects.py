# SPDX-License-Identifier: GPL-3.0-or-later
"""Odd objects for the tests of colliders, wrapping them as a user does, and what that changes."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Quaternion

from .snapshot import difference, snapshot


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


def beveled_curve():
    data = bpy.data.curves.new("Thing", "CURVE")
    data.dimensions, data.bevel_depth = "3D", 0.2
    points = data.splines.new("POLY").points
    points.add(1)
    points[0].co, points[1].co = (0, 0, 0, 1), (4, 0, 0, 1)
    return link(bpy.data.objects.new("Thing", data)), [0, -0.2, -0.2], [4, 0.2, 0.2]


def text():
    data = bpy.data.curves.new("Thing", "FONT")
    data.body, data.extrude = "I", 0.5
    return link(bpy.data.objects.new("Thing", data)), [0.06, 0, -0.5], [0.19, 0.73, 0.5]


def changes(before):
    """Where the scene differs from a snapshot. What is no number equals itself here."""
    return [key for key, (old, new) in difference(before, snapshot()).items() if repr(old) != repr(new)]


def corners(collider):
    """The world's bounds of a collider at its first pose, (3,) each."""
    place, turn = collider.poses[0, :3], np.array(Quaternion(collider.poses[0, 3:].tolist()).to_matrix())
    center, half = collider.cuboids.center, collider.cuboids.half
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    points = (center[:, None] + signs * half[:, None]).reshape(-1, 3) @ turn.T + place
    return points.min(axis=0), points.max(axis=0)
