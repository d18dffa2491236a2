# SPDX-License-Identifier: GPL-3.0-or-later
"""Characters and curves for tests, made without the extension's help."""

from __future__ import annotations

from types import ModuleType

import bpy
import numpy as np
from mathutils import Matrix, Vector


def armature(engine: ModuleType, name: str = "Rig", size: float = 1.0, turn: Matrix | None = None) -> bpy.types.Object:
    """An armature with the model skeleton's joints and odd bone directions and rolls.

    size scales all bones. turn: (3 x 3) orientation of the figure inside the armature's own space.
    """
    import importlib

    skeleton = importlib.import_module(f"{engine.__name__}.motion.skeleton")
    model = skeleton.MODEL_SKELETON
    heads = model.rest_positions() + np.array([0, 0, skeleton.HIPS_HEIGHT])
    turn = turn or Matrix.Identity(3)
    data = bpy.data.armatures.new(name)
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    random = np.random.default_rng(3)
    for joint, joint_name in enumerate(model.names):
        bone = data.edit_bones.new(joint_name)
        bone.head = turn @ (Vector(heads[joint]) * size)
        direction = Vector(random.normal(size=3)).normalized()
        bone.tail = bone.head + direction * 0.1 * size
        bone.roll = float(random.uniform(-3, 3))
        if model.parents[joint] >= 0:
            bone.parent = data.edit_bones[model.names[model.parents[joint]]]
    bpy.ops.object.mode_set(mode="OBJECT")
    return obj


def curve(points: list[tuple[float, float, float]], kind: str = "POLY", name: str = "Way") -> bpy.types.Object:
    """A curve through `points`, linked to the scene."""
    data = bpy.data.curves.new(name, "CURVE")
    data.dimensions = "3D"
    spline(data, points, kind)
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def spline(data: bpy.types.Curve, points: list[tuple[float, float, float]], kind: str = "POLY") -> bpy.types.Spline:
    """Add a spline through (or, for NURBS, near) `points`."""
    new = data.splines.new(kind)
    if kind == "BEZIER":
        new.bezier_points.add(len(points) - 1)
        for point, co in zip(new.bezier_points, points, strict=True):
            point.co = co
            point.handle_left_type = point.handle_right_type = "AUTO"
    else:
        new.points.add(len(points) - 1)
        for point, co in zip(new.points, points, strict=True):
            point.co = (*co, 1.0)
    return new


def shot(engine: ModuleType, frames: int = 40) -> tuple[bpy.types.Object, bpy.types.Object]:
    """An armature and a curve of 4 m that it follows, at 30 fps."""
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = 30, 1.0
    scene.frame_start, scene.frame_end = 1, frames
    rig = armature(engine)
    way = curve([(0, 0, 0), (0.3, -2, 0), (1.5, -4, 0)], "BEZIER")
    rig.nsm.path = way
    bpy.context.view_layer.objects.active = rig
    return rig, way
