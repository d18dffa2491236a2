# SPDX-License-Identifier: GPL-3.0-or-later
"""Gathering a shot from the scene, curves of all kinds, and the sentences for what cannot be baked."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest

from . import build
from .snapshot import difference, snapshot


@pytest.fixture
def gather(extension_module):
    """A function that describes what an armature is to do."""
    module = extension_module("scene.gather")
    return lambda rig: module.gather(bpy.context, rig).shot


@pytest.fixture
def polyline(extension_module):
    """A function that evaluates a curve object."""
    module = extension_module("scene.curves")
    return lambda obj: module.polyline(bpy.context, obj)


def test_keyed_speed_gait_and_facing_arrive_in_the_shot(engine, gather):
    rig, way = build.shot(engine, frames=40)
    for frame, speed, gait, facing in ((1, 0.5, "stand", 0.0), (21, 2.5, "jog", math.pi / 2)):
        way.nsm.speed, way.nsm.gait, way.nsm.facing = speed, gait, facing
        for name in ("speed", "gait", "facing"):
            way.keyframe_insert(f"nsm.{name}", frame=frame)
    before = snapshot()
    path = gather(rig).path
    assert difference(before, snapshot()) == {}
    assert path.gaits == ["stand"] * 20 + ["jog"] * 20
    assert (path.speeds[0], path.speeds[20]) == (0.5, 2.5)
    assert path.speeds[:21] == sorted(path.speeds[:21])
    assert path.speeds[10] == pytest.approx(1.5, abs=1e-6)
    assert path.facing_offsets[20] == pytest.approx(math.pi / 2)
    for frame in (5, 14):
        bpy.context.scene.frame_set(frame)
        assert path.speeds[frame - 1] == pytest.approx(way.nsm.speed, abs=1e-6)
        assert path.facing_offsets[frame - 1] == pytest.approx(way.nsm.facing, abs=1e-6)


def test_a_driven_speed_arrives_in_the_shot(engine, gather):
    rig, way = build.shot(engine, frames=20)
    driver = way.driver_add("nsm.speed").driver
    driver.expression = "frame / 10"
    bpy.context.scene.frame_set(4, subframe=0.5)
    assert gather(rig).path.speeds == pytest.approx([frame / 10 for frame in range(1, 21)], abs=1e-6)
    assert (bpy.context.scene.frame_current, bpy.context.scene.frame_subframe) == (4, 0.5)


def test_a_speed_in_an_nla_strip_arrives_in_the_shot(engine, gather):
    rig, way = build.shot(engine, frames=20)
    for frame, speed in ((1, 0.0), (11, 2.0)):
        way.nsm.speed = speed
        way.keyframe_insert("nsm.speed", frame=frame)
    action = way.animation_data.action
    strip = way.animation_data.nla_tracks.new().strips.new("Strip", 6, action)
    way.animation_data.action = None
    assert strip.frame_start == 6
    speeds = gather(rig).path.speeds
    assert speeds[15] == pytest.approx(2.0)
    assert speeds[10] == pytest.approx(1.0)


def test_a_muted_curve_does_not_count(engine, gather, extension_module):
    rig, way = build.shot(engine, frames=10)
    way.nsm.speed = 2.0
    way.keyframe_insert("nsm.speed", frame=1)
    (curve,) = extension_module("scene.actions").of(way)
    curve.mute = True
    way.nsm.speed = 1.0
    assert gather(rig).path.speeds == [1.0] * 10


def test_the_frame_rate_is_that_of_the_scene(engine, gather):
    rig, _ = build.shot(engine)
    render = bpy.context.scene.render
    render.fps, render.fps_base = 24, 1.001
    assert gather(rig).fps == pytest.approx(23.976, abs=1e-3)


def test_the_radius_of_the_points_is_the_factor_on_the_speed(engine, gather):
    rig, way = build.shot(engine)
    for point, radius in zip(way.data.splines[0].bezier_points, (1.0, 0.5, 2.0), strict=True):
        point.radius = radius
    path = gather(rig).path
    assert len(path.speed_factors) == len(path.points)
    at = np.argmin(np.linalg.norm(np.array(path.points) - (0.3, -2, 0), axis=1))
    assert path.speed_factors[at] == pytest.approx(0.5, abs=1e-3)
    assert (path.speed_factors[0], path.speed_factors[-1]) == pytest.approx((1.0, 2.0))
    way.nsm.use_radius = False
    assert gather(rig).path.speed_factors == []


def test_the_biases_and_the_loop_arrive_in_the_shot(engine, gather):
    rig, way = build.shot(engine)
    way.nsm.bias_velocity, way.nsm.bias_direction = 5.0, 10.0
    way.data.splines[0].use_cyclic_u = True
    shot = gather(rig)
    assert (shot.bias_velocity, shot.bias_direction, shot.path.closed) == (5.0, 10.0, True)
    way.nsm.loop = False
    assert gather(rig).path.closed is False


@pytest.mark.parametrize("kind", ["POLY", "BEZIER", "NURBS"])
@pytest.mark.parametrize("cyclic", [False, True])
def test_curves_of_every_kind_are_walked_in_world_meters(polyline, kind, cyclic):
    points = [(0, 0, 0), (1, 2, 0), (3, 2, 0.5), (4, 0, 0), (6, 1, 0)]
    way = build.curve(points, kind)
    way.data.splines[0].use_cyclic_u = cyclic
    parent = bpy.data.objects.new("Parent", None)
    bpy.context.scene.collection.objects.link(parent)
    parent.location.x, parent.scale = 10, (2, 2, 2)
    way.parent, way.location.y = parent, 5
    bpy.context.scene.unit_settings.scale_length = 0.5
    line = polyline(way)
    assert line.closed == cyclic
    assert len(line.points) == len(line.factors)
    assert np.linalg.norm(np.diff(line.points, axis=0), axis=1).min() > 0
    if cyclic:
        assert np.allclose(line.points[0], line.points[-1])
    if kind != "NURBS":
        for x, y, z in points:
            place = np.array([(10 + 2 * x) / 2, 2 * (5 + y) / 2, z])
            assert np.linalg.norm(line.points - place, axis=1).min() < 1e-5


def test_modifiers_and_bevels_do_not_change_what_is_walked(polyline):
    way = build.curve([(0, 0, 0), (2, 0, 0), (4, 1, 0)], "BEZIER")
    plain = polyline(way)
    before = snapshot()
    way.data.bevel_depth = 0.1
    assert np.allclose(polyline(way).points, plain.points, atol=1e-6)
    way.data.bevel_depth = 0.0
    assert difference(before, snapshot()) == {}
    target = bpy.data.objects.new("Empty", None)
    bpy.context.scene.collection.objects.link(target)
    hook = way.modifiers.new("Cast", "CAST")
    hook.factor, hook.radius, hook.size = 0.5, 3, 3
    assert not np.allclose(polyline(way).points, plain.points, atol=1e-3)


def test_of_several_splines_the_longest_is_walked_and_it_is_said(engine, polyline):
    way = build.curve([(0, 0, 0), (1, 0, 0)])
    build.spline(way.data, [(0, 1, 0), (5, 1, 0), (5, 3, 0)])
    build.spline(way.data, [(0, 9, 0), (1, 9, 0)])
    way.data.splines[1].points[1].radius = 0.25
    line = polyline(way)
    assert line.points.tolist() == [[0, 1, 0], [5, 1, 0], [5, 3, 0]]
    assert line.factors.tolist() == [1, 0.25, 1]
    assert "3 splines; the longest" in line.note


def test_the_radius_of_a_nurbs_curve_acts_where_the_point_pulls(polyline):
    way = build.curve([(i, 0, 0) for i in range(7)], "NURBS")
    way.data.splines[0].use_endpoint_u = True
    way.data.splines[0].points[3].radius = 3.0
    line = polyline(way)
    assert line.points[np.argmax(line.factors), 0] == pytest.approx(3.0, abs=0.1)


# What cannot be baked: each a change to a bakeable scene, and a part of the sentence that it gets.


def _no_path(rig, way):
    rig.nsm.path = None


def _deleted_path(rig, way):
    bpy.data.objects.remove(way)


def _no_points(rig, way):
    way.data.splines.clear()


def _no_length(rig, way):
    for point in way.data.splines[0].bezier_points:
        point.handle_left_type = point.handle_right_type = "FREE"
        point.co = point.handle_left = point.handle_right = (0, 0, 0)


def _scaled_to_nothing(rig, way):
    way.scale = (0, 0, 0)


def _short(rig, way):
    way.scale = (0.01, 0.01, 0.01)


def _disabled_path(rig, way):
    way.hide_viewport = True


def _disabled_rig(rig, way):
    rig.hide_viewport = True


def _missing_bones(rig, way):
    rig.data.bones["LeftLeg"].name = "shin.L"


def _wrong_parent(rig, way):
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["Head"].parent = rig.data.edit_bones["Hips"]
    bpy.ops.object.mode_set(mode="OBJECT")


def _edit_mode(rig, way):
    bpy.ops.object.mode_set(mode="EDIT")


def _rest_position(rig, way):
    rig.data.pose_position = "REST"


def _uneven(rig, way):
    rig.scale = (1, 1, 2)


def _mirrored(rig, way):
    rig.scale = (-1, 1, 1)


def _no_scale(rig, way):
    rig.scale = (0, 0, 0)


def _sheared(rig, way):
    parent = bpy.data.objects.new("Parent", None)
    bpy.context.scene.collection.objects.link(parent)
    parent.scale = (1, 1, 3)
    rig.parent = parent
    rig.rotation_euler.x = 0.7


def _constrained(rig, way):
    rig.pose.bones["LeftFoot"].constraints.new("IK")


def _driven(rig, way):
    rig.pose.bones["Head"].rotation_mode = "XYZ"
    rig.driver_add('pose.bones["Head"].rotation_euler', 0)


def _locked_rotation(rig, way):
    rig.pose.bones["LeftLeg"].lock_rotation[1] = True


def _locked_location(rig, way):
    rig.pose.bones["Hips"].lock_location[2] = True


def _lying(rig, way):
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in rig.data.edit_bones:
        bone.head, bone.tail = (0, 0, bone.head.z), (0, 0.1, bone.head.z)
    bpy.ops.object.mode_set(mode="OBJECT")


def _solo(rig, way):
    track = rig.animation_data_create().nla_tracks.new()
    track.strips.new("Strip", 1, bpy.data.actions.new("Other"))
    track.is_solo = True


def _one_frame(rig, way):
    bpy.context.scene.nsm.use_custom_range = True
    bpy.context.scene.nsm.frame_start = bpy.context.scene.nsm.frame_end = 3


def _tiny(rig, way):
    rig.scale = (0.01, 0.01, 0.01)


REFUSED = [
    (_no_path, "Choose or add a path"),
    (_deleted_path, "Choose or add a path"),
    (_no_points, "'Way' has no points"),
    (_no_length, "'Way' has no length"),
    (_scaled_to_nothing, "'Way' has no length"),
    (_short, "cm long"),
    (_disabled_path, "'Way' is disabled"),
    (_disabled_rig, "'Rig' is disabled"),
    (_missing_bones, "'Rig' is not bound yet; press Bind"),
    (_wrong_parent, "'Head' of 'Rig' is not below 'Neck'"),
    (_edit_mode, "in edit mode"),
    (_rest_position, "rest position"),
    (_uneven, "not scaled evenly"),
    (_mirrored, "mirrored"),
    (_no_scale, "scale of zero"),
    (_sheared, "sheared"),
    (_constrained, "constraint 'IK'"),
    (_driven, "'Head' of 'Rig' has a driver"),
    (_locked_rotation, "'LeftLeg' of 'Rig' has a locked rotation"),
    (_locked_location, "'Hips' of 'Rig' has a locked location"),
    (_lying, "not a standing figure"),
    (_solo, "plays solo"),
    (_one_frame, "fewer than 2 frames"),
    (_tiny, "so small"),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED)
def test_what_cannot_be_baked_is_refused_with_the_reason_and_nothing_is_written(engine, change, sentence):
    rig, way = build.shot(engine)
    change(rig, way)
    before = snapshot()
    with pytest.raises(RuntimeError) as caught:
        bpy.ops.nsm.bake()
    assert sentence in str(caught.value)
    assert difference(before, snapshot()) == {}


def test_a_linked_armature_is_refused_with_the_reason(engine, tmp_path):
    build.shot(engine)
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_, into):
        into.objects = ["Rig"]
    rig = bpy.data.objects["Rig"]
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    with pytest.raises(RuntimeError, match="linked from another file"):
        bpy.ops.nsm.bake()


def test_a_muted_constraint_does_not_matter(engine):
    rig, _ = build.shot(engine, frames=5)
    rig.pose.bones["LeftFoot"].constraints.new("IK").mute = True
    assert bpy.ops.nsm.bake() == {"FINISHED"}


def test_without_a_character_the_bake_cannot_be_started():
    assert not bpy.ops.nsm.bake.poll()
    with pytest.raises(RuntimeError, match="Select a character"):
        bpy.ops.nsm.bake()


def test_a_new_path_can_be_baked_at_once(engine):
    rig = build.armature(engine)
    rig.location = (2, 3, 0)
    bpy.context.scene.frame_end = 10
    assert bpy.ops.nsm.add_path() == {"FINISHED"}
    way = bpy.context.active_object
    assert (way.type, rig.nsm.path, tuple(way.location)) == ("CURVE", way, (2, 3, 0))
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    bpy.context.scene.frame_set(1)
    hips = rig.matrix_world @ rig.pose.bones["Hips"].head
    assert np.allclose(np.array(hips)[:2], (2, 3), atol=0.15)


def test_the_bundled_character_is_baked_exactly():
    bpy.context.scene.frame_end = 20
    bpy.ops.nsm.add_character()
    rig = bpy.context.active_object
    bpy.ops.nsm.add_path()
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    assert rig.nsm.report.rig_error_mm_max < 0.01


def test_the_selected_curve_becomes_the_path(engine):
    rig, way = build.shot(engine)
    rig.nsm.path = None
    bpy.context.view_layer.objects.active = rig
    with pytest.raises(RuntimeError, match="Select a curve first"):
        bpy.ops.nsm.assign_path()
    way.select_set(True)
    bpy.ops.nsm.assign_path()
    assert rig.nsm.path == way


def test_the_character_is_found_from_its_mesh_and_from_its_curve(engine, extension_module):
    rig, way = build.shot(engine)
    build.armature(engine, "Other")
    body = bpy.data.objects.new("Body", bpy.data.meshes.new("Body"))
    bpy.context.scene.collection.objects.link(body)
    body.modifiers.new("Armature", "ARMATURE").object = rig
    lookup = extension_module("scene.lookup")
    for active in (rig, way, body):
        bpy.context.view_layer.objects.active = active
        assert lookup.character(bpy.context) == rig
        assert lookup.path(bpy.context) == way
    bpy.context.scene.nsm.character = ""
    bpy.context.view_layer.objects.active = None
    assert lookup.character(bpy.context) is None


def test_files_are_refused_with_the_reason(engine, tmp_path):
    build.shot(engine)
    with pytest.raises(RuntimeError, match="bake first"):
        bpy.ops.nsm.save_report(filepath=str(tmp_path / "report.json"))
    with pytest.raises(RuntimeError, match="cannot be written"):
        bpy.ops.nsm.save_shot(filepath=str(tmp_path / "missing" / "shot.json"))
