# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of characters that are turned, scaled, parented, posed or built in unusual ways."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from . import build


@pytest.fixture
def curves_of(extension_module):
    return extension_module("scene.actions").of


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
def test_bones_of_any_rotation_mode_are_baked_without_jumps(engine, curves_of, mode):
    rig, _ = build.shot(engine)
    for bone in rig.pose.bones:
        bone.rotation_mode = mode
    bpy.ops.nsm.bake()
    assert rig.nsm.report.rig_error_mm_max < 0.05
    if mode != "AXIS_ANGLE":
        for curve in curves_of(rig):
            steps = np.diff([curve.evaluate(frame) for frame in range(1, 41)])
            assert np.abs(steps).max() < 2.5, curve.data_path


def _turned(rig):
    rig.rotation_euler = (0.3, -0.2, 2.0)
    rig.location = (3, -2, 1)


def _in_centimeters(rig):
    rig.data.transform(Matrix.Scale(100, 4))
    rig.scale = (0.01, 0.01, 0.01)


def _parented(rig):
    parent = bpy.data.objects.new("Parent", None)
    bpy.context.scene.collection.objects.link(parent)
    parent.location, parent.rotation_euler, parent.scale = (1, 2, 3), (0.1, 0.2, 0.3), (2, 2, 2)
    rig.parent = parent


def _on_a_moving_parent(rig):
    _parented(rig)
    rig.parent.keyframe_insert("location", frame=1)
    rig.parent.location.x += 2
    rig.parent.keyframe_insert("location", frame=30)


def _constrained_object(rig):
    target = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    target.location = (4, 5, 6)
    rig.constraints.new("COPY_LOCATION").target = target


def _without_inherited_rotation(rig):
    for name in ("LeftLeg", "Spine1", "Head"):
        rig.data.bones[name].use_inherit_rotation = False


def _global_locations(rig):
    rig.data.bones["Hips"].use_local_location = False


def _posed_before(rig):
    rig.pose.bones["LeftArm"].location = (0.1, 0.2, 0.3)
    rig.pose.bones["Spine"].scale = (2, 2, 2)
    rig.pose.bones["Head"].rotation_quaternion = (0.5, 0.5, 0.5, 0.5)


def _below_a_root_bone(rig, local_location=True, inherits=True):
    bpy.ops.object.mode_set(mode="EDIT")
    root = rig.data.edit_bones.new("Root")
    root.head, root.tail, root.roll = (0.1, 0.2, 0), (0.3, 1, 0.2), 0.7
    hips = rig.data.edit_bones["Hips"]
    hips.parent = root
    hips.use_local_location, hips.use_inherit_rotation = local_location, inherits
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.pose.bones["Root"].location = (0.2, 0.1, 0.5)
    rig.pose.bones["Root"].rotation_quaternion = (0.8, 0.3, 0.4, 0.2)


def _below_a_root_bone_with_global_location(rig):
    _below_a_root_bone(rig, local_location=False, inherits=False)


def _with_twist_bones(rig):
    bpy.ops.object.mode_set(mode="EDIT")
    twist = rig.data.edit_bones.new("Twist")
    twist.head, twist.tail = (0.3, 0, 1.3), (0.4, 0.1, 1.3)
    twist.parent = rig.data.edit_bones["LeftArm"]
    rig.data.edit_bones["LeftForeArm"].parent = twist
    bpy.ops.object.mode_set(mode="OBJECT")


def _in_pose_mode(rig):
    bpy.ops.object.mode_set(mode="POSE")


def _hidden_by_the_eye(rig):
    rig.hide_set(True)


def _with_the_figure_in_inches(rig):
    bpy.context.scene.unit_settings.scale_length = 0.0254
    rig.scale = (1 / 0.0254,) * 3


@pytest.mark.parametrize(
    "change",
    [
        _turned, _in_centimeters, _parented, _on_a_moving_parent, _constrained_object, _without_inherited_rotation,
        _global_locations, _posed_before, _below_a_root_bone, _below_a_root_bone_with_global_location,
        _with_twist_bones, _in_pose_mode, _hidden_by_the_eye, _with_the_figure_in_inches,
    ],
)  # fmt: skip
def test_odd_rigs_are_baked_exactly(engine, change):
    rig, way = build.shot(engine)
    change(rig)
    if change is _with_the_figure_in_inches:
        way.scale = (1 / 0.0254,) * 3
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    assert rig.nsm.report.rig_error_mm_max < 0.1
    assert rig.nsm.report.path_error_cm < 30


@pytest.mark.parametrize("turn", [Matrix.Rotation(math.pi, 3, "Z"), Matrix.Rotation(math.pi / 2, 3, "X")])
def test_a_figure_that_faces_elsewhere_in_its_own_space_faces_right_in_the_world(engine, turn):
    """As in imported rigs: Y up inside the armature, or facing +Y."""
    build.shot(engine)
    bpy.data.objects.remove(bpy.data.objects["Rig"])
    rig = build.armature(engine, "Turned", turn=turn)
    rig.nsm.path = bpy.data.objects["Way"]
    bpy.context.view_layer.objects.active = rig
    bpy.ops.nsm.bake()
    assert rig.nsm.report.rig_error_mm_max < 0.1
    bpy.context.scene.frame_set(20)
    heads = {name: rig.matrix_world @ rig.pose.bones[name].head for name in ("Head", "LeftFoot")}
    assert heads["Head"].z - heads["LeftFoot"].z > 1.2


def test_a_small_character_walks_the_same_curve_at_the_same_speed(engine, extension_module):
    _, way = build.shot(engine)
    small = build.armature(engine, "Small", size=0.5)
    small.nsm.path = way
    bpy.context.view_layer.objects.active = small
    gathered = extension_module("scene.gather").gather(bpy.context, small)
    assert gathered.rig.scale == pytest.approx(0.5, abs=1e-4)
    assert gathered.shot.path.speeds[0] == pytest.approx(2.8, rel=1e-3)  # 1.4 m/s on legs of half the length
    bpy.ops.nsm.bake()
    assert small.nsm.report.rig_error_mm_max < 0.1
    assert small.nsm.report.path_error_cm < 15
