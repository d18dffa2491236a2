# SPDX-License-Identifier: GPL-3.0-or-later
"""Baking, cancelling and removing through the installed extension's operators."""

from __future__ import annotations

import json
import math
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from . import build
from .snapshot import difference, snapshot


@pytest.fixture
def curves_of(extension_module):
    return extension_module("scene.actions").of


@pytest.fixture
def job(extension_module):
    """A function that begins a bake of an armature."""
    module = extension_module("operators.job")
    return lambda rig: module.BakeJob(bpy.context, rig)


def add_previous_action(rig: bpy.types.Object) -> bpy.types.Action:
    """An action of the user's, assigned and evaluated."""
    bone = rig.pose.bones["Hips"]
    bone.rotation_mode = "QUATERNION"
    for frame, x in ((1, 0.0), (20, 0.5)):
        bone.location.x = x
        bone.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(7)
    return rig.animation_data.action


def test_a_bake_writes_one_new_action_of_generated_keys(engine, curves_of):
    rig, _ = build.shot(engine, frames=40)
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    (action,) = bpy.data.actions
    assert rig.animation_data.action == action
    found = {(curve.data_path, curve.array_index) for curve in curves_of(rig)}
    wanted = {('pose.bones["Hips"].location', i) for i in range(3)}
    wanted |= {(f'pose.bones["{b.name}"].rotation_quaternion', i) for b in rig.pose.bones for i in range(4)}
    assert found == wanted
    for curve in curves_of(rig):
        assert [key.co.x for key in curve.keyframe_points] == list(range(1, 41))
        assert {key.type for key in curve.keyframe_points} == {"GENERATED"}
        assert {key.interpolation for key in curve.keyframe_points} == {"LINEAR"}
        assert curve.group.name in curve.data_path


def test_a_second_bake_makes_an_action_of_its_own_and_removing_goes_back_one_by_one(engine):
    rig, _ = build.shot(engine)
    bpy.ops.nsm.bake()
    first = rig.animation_data.action
    bpy.ops.nsm.bake()
    assert rig.animation_data.action != first
    assert len(bpy.data.actions) == 2
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data.action == first
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data is None
    assert not bpy.data.actions


def test_the_rig_moves_as_the_engine_says_to_a_hundredth_of_a_millimeter(engine):
    rig, _ = build.shot(engine)
    bpy.ops.nsm.bake()
    assert rig.nsm.report.frames_measured == 40
    assert 0 < rig.nsm.report.rig_error_mm_max < 0.01


def test_the_measured_error_sees_a_rig_that_is_off(engine, job):
    """The measurement is independent of what wrote the keys: a key moved by 5 mm shows as 5 mm."""
    rig, _ = build.shot(engine)
    work = job(rig)
    while work.progress < 0.9:
        work.step()
    bone = rig.pose.bones["Hips"]
    curve = next(c for c in _location_curves(rig) if c.array_index == 0)
    for key in curve.keyframe_points:
        key.co.y += 0.005
    curve.update()
    rig.animation_data.action.update_tag()
    work.run()
    assert bone.name == "Hips"
    assert work.report.rig_error_mm_max == pytest.approx(5.0, abs=0.05)


def _location_curves(rig):
    action = rig.animation_data.action
    if bpy.app.version < (4, 4, 0):
        return [c for c in action.fcurves if c.data_path.endswith("location")]
    bag = action.layers[0].strips[0].channelbag(rig.animation_data.action_slot)
    return [c for c in bag.fcurves if c.data_path.endswith("location")]


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
def test_bones_of_any_rotation_mode_are_baked_without_jumps(engine, curves_of, mode):
    rig, _ = build.shot(engine)
    for bone in rig.pose.bones:
        bone.rotation_mode = mode
    bpy.ops.nsm.bake()
    assert rig.nsm.report.rig_error_mm_max < 0.05
    if mode != "AXIS_ANGLE":
        for curve in curves_of(rig):
            steps = np.diff([key.co.y for key in curve.keyframe_points])
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


def test_the_operator_does_what_the_engine_does(engine, extension_module):
    rig, _ = build.shot(engine)
    gathered = extension_module("scene.gather").gather(bpy.context, rig)
    bake = extension_module("operators.job").begin_bake(gathered.shot)
    while not bake.done:
        bake.step()
    motion = bake.motion()
    bpy.ops.nsm.bake()
    for frame in (1, 17, 40):
        bpy.context.scene.frame_set(frame)
        heads = np.array([rig.matrix_world @ rig.pose.bones[name].head for name in motion.names])
        assert np.abs(heads - motion.positions[frame - 1]).max() < 1e-5


def test_gait_changes_become_pose_markers(engine):
    rig, way = build.shot(engine)
    for frame, gait in ((1, "stand"), (11, "walk"), (30, "jog")):
        way.nsm.gait = gait
        way.keyframe_insert("nsm.gait", frame=frame)
    bpy.ops.nsm.bake()
    markers = [(marker.frame, marker.name) for marker in rig.animation_data.action.pose_markers]
    assert markers == [(1, "Stand"), (11, "Walk"), (30, "Jog")]


def test_a_custom_range_is_baked_instead_of_the_scenes(engine, curves_of):
    rig, _ = build.shot(engine, frames=40)
    settings = bpy.context.scene.nsm
    settings.use_custom_range, settings.frame_start, settings.frame_end = True, -5, 10
    bpy.ops.nsm.bake()
    assert [key.co.x for key in curves_of(rig)[0].keyframe_points] == list(range(-5, 11))


def test_a_bake_leaves_the_current_frame_and_the_selection_alone(engine):
    rig, way = build.shot(engine)
    way.select_set(True)
    bpy.context.scene.frame_set(9, subframe=0.25)
    bpy.ops.nsm.bake()
    assert (bpy.context.scene.frame_current, bpy.context.scene.frame_subframe) == (9, 0.25)
    assert bpy.context.view_layer.objects.active == rig
    assert bpy.context.selected_objects == [way]


def _nothing(rig):
    pass


def _own_action(rig):
    add_previous_action(rig)


def _nla(rig):
    action = add_previous_action(rig)
    track = rig.animation_data.nla_tracks.new()
    track.strips.new("Strip", 1, action)
    rig.animation_data.action = None
    rig.animation_data.action_blend_type = "ADD"
    rig.animation_data.action_influence = 0.5
    bpy.context.scene.frame_set(7)


def _posed(rig):
    _posed_before(rig)
    rig.pose.bones["LeftLeg"].rotation_mode = "ZXY"
    rig.pose.bones["LeftLeg"].rotation_euler = (1, 2, 3)


STATES = [_nothing, _own_action, _nla, _posed]


@pytest.mark.parametrize("state", STATES)
def test_removing_a_bake_leaves_everything_as_it_was(engine, state):
    rig, _ = build.shot(engine)
    state(rig)
    before = snapshot()
    bpy.ops.nsm.bake()
    assert difference(before, snapshot())
    bpy.ops.nsm.remove_bake()
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("progress", [0.0, 0.4, 0.86, 0.95])
def test_cancelling_a_bake_leaves_everything_as_it_was(engine, job, state, progress):
    rig, _ = build.shot(engine)
    state(rig)
    before = snapshot()
    work = job(rig)
    while work.progress < progress:
        work.step()
    assert not work.done
    assert bool([action for action in bpy.data.actions if "Bake" in action.name]) == (work.progress > 0.85)
    work.cancel()
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize(
    ("module", "place"),
    [
        ("nsm_blender.baking.bake", "Bake.step"),
        ("operators.job", "armatures.channels"),
        ("scene.actions", "_enum"),
        ("scene.measure", "_evaluate"),
        ("scene.measure", "Report.store"),
    ],
)
@pytest.mark.parametrize("state", STATES)
def test_an_exception_in_the_middle_leaves_everything_as_it_was(
    engine, extension_module, monkeypatch, capfd, state, module, place
):
    rig, _ = build.shot(engine)
    state(rig)
    before = snapshot()
    *owners, name = place.split(".")
    owner = extension_module(module)
    for part in owners:
        owner = getattr(owner, part)

    def fail(*_args, **_kwargs):
        raise RuntimeError("the disk caught fire")

    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(RuntimeError, match="the disk caught fire"):
        bpy.ops.nsm.bake()
    assert difference(before, snapshot()) == {}
    assert "Blender" in capfd.readouterr().err  # the bug report names the versions


def test_an_unexpected_exception_can_be_raised_for_developers(engine, extension_module, monkeypatch):
    build.shot(engine)
    monkeypatch.setenv("NSM_BLENDER_RAISE", "1")
    monkeypatch.setattr(extension_module("nsm_blender.baking.bake").Bake, "step", lambda self: 1 / 0)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        bpy.ops.nsm.bake()


def test_keys_made_by_hand_survive_the_removal(engine):
    rig, _ = build.shot(engine)
    bpy.ops.nsm.bake()
    name = rig.animation_data.action.name
    bone = rig.pose.bones["Head"]
    bone.rotation_quaternion = (1, 0, 0, 0)
    bone.keyframe_insert("rotation_quaternion", frame=100)
    bpy.ops.nsm.remove_bake()
    kept = bpy.data.actions[name]
    assert kept.use_fake_user
    assert rig.animation_data is None
    rig.animation_data_create().action = kept
    if bpy.app.version >= (4, 4, 0):
        rig.animation_data.action_slot = kept.slots[0]
    bpy.context.scene.frame_set(1)
    assert tuple(bone.rotation_quaternion) == (1, 0, 0, 0)


def test_an_action_that_was_not_baked_is_never_removed(engine):
    rig, _ = build.shot(engine)
    add_previous_action(rig)
    before = snapshot()
    with pytest.raises(RuntimeError, match="no bake to remove"):
        bpy.ops.nsm.remove_bake()
    assert difference(before, snapshot()) == {}


def test_a_bake_used_in_the_nla_is_not_removed(engine):
    rig, _ = build.shot(engine)
    bpy.ops.nsm.bake()
    action = rig.animation_data.action
    rig.animation_data.nla_tracks.new().strips.new("Strip", 1, action)
    with pytest.raises(RuntimeError, match="NLA strip"):
        bpy.ops.nsm.remove_bake()
    assert rig.animation_data.action == action


def test_a_bake_and_its_removal_survive_save_and_load(engine, tmp_path):
    rig, way = build.shot(engine)
    previous = add_previous_action(rig).name
    way.nsm.speed, way.nsm.gait, way.nsm.facing, way.nsm.use_radius = 2.5, "jog", 1.5, False
    bpy.ops.nsm.bake()
    frames, error = rig.nsm.report.frames, rig.nsm.report.rig_error_mm_max
    path = str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    rig, way = bpy.data.objects["Rig"], bpy.data.objects["Way"]
    assert rig.nsm.path == way
    assert (way.nsm.speed, way.nsm.gait, way.nsm.facing, way.nsm.use_radius) == (2.5, "jog", 1.5, False)
    assert (rig.nsm.report.frames, rig.nsm.report.rig_error_mm_max) == (frames, error)
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data.action.name == previous
    assert [action.name for action in bpy.data.actions] == [previous]


def test_the_report_has_the_designs_names(engine, tmp_path):
    build.shot(engine)
    bpy.ops.nsm.bake()
    path = tmp_path / "report.json"
    bpy.ops.nsm.save_report(filepath=str(path))
    report = json.loads(path.read_text())
    assert {
        "frames", "seconds.rollout", "seconds.retarget", "seconds.write", "rig_error_mm.max", "rig_error_mm.mean",
        "foot_slide_cm_per_s", "goal_error_cm", "goal_error_deg", "penetration_cm.max", "path_error_cm",
    } <= report.keys()  # fmt: skip
    assert report["frames"] == 40
    assert report["goal_error_deg"] is None


def test_the_report_names_the_five_figures_that_are_farthest_from_how_people_move(engine, tmp_path):
    rig, _ = build.shot(engine, frames=90)
    bpy.ops.nsm.bake()
    stored = rig.nsm.report.findings
    ratios = [finding.ratio for finding in stored]
    assert len(stored) == 5 and ratios == sorted(ratios, reverse=True)
    assert len({finding.measure for finding in stored}) == 5 and all(finding.text for finding in stored)
    path = tmp_path / "report.json"
    bpy.ops.nsm.save_report(filepath=str(path))
    told = json.loads(path.read_text())["findings"]
    assert [one["text"] for one in told] == [finding.text for finding in stored]
    assert all(one["natural"] == (one["ratio"] <= 1) for one in told)
    bpy.ops.nsm.remove_bake()
    assert not rig.nsm.report.findings


def test_every_bake_leaves_its_report_in_the_users_folder(engine):
    build.shot(engine)
    bpy.ops.nsm.bake()
    folder = bpy.utils.extension_path_user("bl_ext.user_default.nsm_blender", path="reports")
    assert json.loads((Path(folder) / "report.json").read_text())["frames"] == 40


def test_the_saved_shot_repeats_the_bake_without_blender(engine, extension_module, tmp_path):
    rig, _ = build.shot(engine)
    path = tmp_path / "shot.json"
    bpy.ops.nsm.save_shot(filepath=str(path))
    loaded = extension_module("nsm_blender.shot.shot").Shot.load(path)
    assert loaded == extension_module("scene.gather").gather(bpy.context, rig).shot


def test_a_character_deleted_during_the_bake_leaves_no_action(engine, job):
    rig, _ = build.shot(engine)
    work = job(rig)
    while not bpy.data.actions:
        work.step()
    bpy.data.objects.remove(rig)
    with pytest.raises(Exception, match="was deleted during the bake"):
        work.run()
    assert not bpy.data.actions


def test_a_forgotten_bake_never_takes_the_keys_of_another(engine, job):
    rig, _ = build.shot(engine)
    forgotten = job(rig)
    while not bpy.data.actions:
        forgotten.step()
    bpy.data.actions.remove(bpy.data.actions[0])
    bpy.ops.nsm.bake()
    name = rig.animation_data.action.name
    forgotten.cancel()
    assert rig.animation_data.action.name == name
