# SPDX-License-Identifier: GPL-3.0-or-later
"""Action keys from the scene to the shot file, to the bake, and back into a scene."""

from __future__ import annotations

import importlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest

from . import build
from .snapshot import difference, snapshot


@pytest.fixture
def gathered(extension_module):
    """A function that describes what a bake of an armature does."""
    module = extension_module("scene.gather_keys")
    return lambda rig: module.gather_shot(bpy.context, rig).shot


@pytest.fixture
def rig(engine):
    """A character that walks two meters round a box to A, and looks along +X there."""
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, 220
    bpy.ops.mesh.primitive_cube_add(size=0.5, location=(0, -1.1, 0.25), calc_uvs=False)
    bpy.context.object.name = "Crate"
    bpy.ops.nsm.wrap_collider(role="obstacle")
    rig = build.armature(engine)
    bpy.ops.nsm.add_goal(location=(0.2, -2.2, 0), use_facing=True, facing=math.pi / 2, name="A", attach=False)
    bpy.ops.nsm.add_action_key(action="walk", goal="A", frame=11, hold=0.5)
    return rig


def test_the_shot_holds_keys_goals_colliders_and_where_the_character_stands(rig, gathered):
    rig.location, rig.rotation_euler.z = (1, 2, 0), 0.5
    bpy.ops.nsm.add_action_key(action="idle", goal="A", hold=1)
    shot = gathered(rig)
    assert [key.action for key in shot.keys] == ["walk", "idle"]
    assert [(goal.name, goal.collider) for goal in shot.goals] == [("A", "")]
    assert shot.goals[0].place == pytest.approx([0.2, -2.2, 0])
    assert shot.goals[0].facing == pytest.approx(math.pi / 2)
    assert [thing.name for thing in shot.colliders] == ["Crate"]
    assert shot.start == pytest.approx([1, 2, 0, 0.5], abs=1e-5)
    assert (shot.frames, shot.fps, shot.path) == (220, 30, None)


def test_a_goal_that_is_animated_brings_its_way(rig, gathered):
    goal = bpy.data.objects["A"]
    for frame, x in ((1, 0.2), (21, 2.2)):
        goal.location.x = x
        goal.keyframe_insert("location", index=0, frame=frame)
    bpy.context.scene.frame_set(11)
    before = snapshot()
    shot = gathered(rig)
    assert difference(before, snapshot()) == {}
    assert shot.goals[0].place == pytest.approx([0.2, -2.2, 0])
    assert shot.goals[0].at(10).place == pytest.approx([1.2, -2.2, 0], abs=0.05)
    assert shot.goals[0].at(200).place == pytest.approx([2.2, -2.2, 0])
    assert shot.goals[0].at(200).facing == pytest.approx(math.pi / 2)


def test_a_character_half_as_large_has_a_world_twice_as_large(rig, gathered):
    rig.scale = (0.5, 0.5, 0.5)
    rig.nsm.keys[0].speed = 0.6
    rig.nsm.keys[0].route = build.curve([(0, 0, 0), (1, -1, 0), (0.2, -2.2, 0)])
    shot = gathered(rig)
    assert shot.goals[0].place == pytest.approx([0.4, -4.4, 0])
    assert shot.keys[0].speed == pytest.approx(1.2)
    assert shot.keys[0].route[1] == pytest.approx([2, -2, 0])
    assert shot.colliders[0].poses[0, :3] == pytest.approx([0, -2.2, 0.5])
    assert np.abs(shot.colliders[0].cuboids.center).max() + shot.colliders[0].cuboids.half.max() > 0.4
    assert shot.route_options.radius == pytest.approx(0.6)


def test_the_units_of_the_scene_count(rig, gathered):
    bpy.context.scene.unit_settings.scale_length = 0.5
    rig.scale = (2, 2, 2)
    shot = gathered(rig)
    assert shot.goals[0].place == pytest.approx([0.1, -1.1, 0])


def test_keys_win_over_a_path(rig, gathered):
    rig.nsm.path = build.curve([(0, 0, 0), (0, 4, 0)])
    assert gathered(rig).path is None
    bpy.ops.nsm.remove_action_key()
    assert gathered(rig).path is not None


def _before_the_range(rig):
    rig.nsm.keys[0].frame = -3


def _without_goal(rig):
    rig.nsm.keys[0].goal = None


def _on_its_back(rig):
    rig.rotation_euler.x = math.pi / 2


def _uses_no_collider(rig):
    bpy.data.objects["A"].nsm.goal.uses = rig


def _too_small(rig):
    rig.scale = (0.1, 0.1, 0.1)
    rig.nsm.keys[0].speed = 1.5


def _in_the_crate(rig):
    bpy.data.objects["A"].location = (0, -1.1, 0)


def _sits(rig):
    rig.nsm.keys[0].action = "sit"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_before_the_range, "starts at frame -3, before the first frame 1"),
        (_without_goal, "Action key 1 .Walk. has no goal; choose one"),
        (_on_its_back, "lies on its back or face"),
        (_uses_no_collider, "uses 'Rig', which is not a collider"),
        (_too_small, "so small"),
        (_in_the_crate, "Crate"),
        (_sits, "Action key 1 .Sit A.:"),
    ],
)
def test_what_cannot_be_baked_is_refused_with_the_reason_and_nothing_is_written(rig, change, sentence):
    change(rig)
    before = snapshot()
    with pytest.raises(RuntimeError, match=sentence):
        bpy.ops.nsm.bake()
    assert difference(before, snapshot()) == {}


def test_the_check_shows_each_problem_at_its_key(rig):
    bpy.ops.nsm.add_goal(location=(0, -1.1, 0), name="In Crate", attach=False)
    bpy.ops.nsm.add_action_key(action="walk", goal="In Crate")
    assert bpy.ops.nsm.check_keys() == {"FINISHED"}
    assert rig.nsm.keys[0].problem == ""
    assert "Crate" in rig.nsm.keys[1].problem
    assert rig.nsm.keys[1].is_fatal
    rig.nsm.keys[1].goal = bpy.data.objects["A"]
    assert rig.nsm.keys[1].problem == "", "of a changed key nothing is known"
    bpy.ops.nsm.check_keys()
    assert not rig.nsm.keys[1].is_fatal


def test_a_bake_walks_to_the_goal_and_tells_how_near_it_came(rig, tmp_path):
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    bpy.context.scene.frame_set(220)
    hips = rig.matrix_world @ rig.pose.bones["Hips"].head
    assert math.hypot(hips.x - 0.2, hips.y + 2.2) < 0.1
    key, report = rig.nsm.keys[0], tmp_path / "report.json"
    assert 11 <= key.set_off < key.arrived <= key.done <= 220
    bpy.ops.nsm.save_report(filepath=str(report))
    told = json.loads(report.read_text())
    assert 0 <= told["goal_error_cm"] < 10
    assert 0 <= told["goal_error_deg"] < 5
    assert told["rig_error_mm.max"] < 0.05
    assert 0 <= told["penetration_cm.max"] < 1
    (goal,) = told["goals"]
    assert (goal["goal"], goal["arrived"], goal["error_cm"]) == ("A", key.arrived, told["goal_error_cm"])
    assert any(marker.name == "At A" for marker in rig.animation_data.action.pose_markers)
    bpy.ops.nsm.go_to_action_key()
    assert bpy.context.scene.frame_current == 11
    bpy.ops.nsm.remove_bake()
    assert not rig.nsm.keys[0].was_baked


def test_an_action_arrives_at_its_frame_and_the_check_tells_where_it_cannot(rig, gathered):
    key = rig.nsm.keys[0]
    key.timing, key.arrive = "ARRIVE", 151
    assert (gathered(rig).keys[0].start, gathered(rig).keys[0].arrive) == (10, 150)
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    assert abs(key.arrived - 151) <= 1
    key.arrive = 20
    bpy.ops.nsm.check_keys()
    assert key.is_fatal
    assert "the fastest is" in key.problem


def test_a_duration_a_seed_a_performer_and_a_sway_survive_the_shot_file(rig, gathered, tmp_path):
    key = rig.nsm.keys[0]
    key.timing, key.duration = "DURATION", 130
    rig.nsm.seed, rig.nsm.performer, rig.nsm.performer_blend, rig.nsm.sway = 7, "accad_female1", 0.25, 0.5
    shot = gathered(rig)
    assert (shot.performer, shot.performer_blend) == ("accad_female1", 0.25)
    assert (shot.keys[0].duration, shot.seed) == (130, 7)
    bpy.ops.nsm.save_shot(filepath=str(tmp_path / "shot.json"))
    key.timing, rig.nsm.seed, rig.nsm.performer, rig.nsm.sway = "FREE", 0, "DEFAULT", 1.0
    assert gathered(rig).keys[0].duration is None
    assert gathered(rig).performer == ""
    bpy.ops.nsm.load_shot(filepath=str(tmp_path / "shot.json"))
    assert rig.nsm.keys[0].timing == "DURATION"
    assert (gathered(rig).keys[0].duration, gathered(rig).seed, gathered(rig).sway) == (130, 7, 0.5)
    assert (gathered(rig).performer, gathered(rig).performer_blend) == ("accad_female1", 0.25)


def test_a_second_bake_begins_where_the_first_did(rig, gathered):
    first = gathered(rig)
    bpy.ops.nsm.bake()
    assert gathered(rig).to_json() == first.to_json()


def test_a_shot_saved_here_and_baked_without_blender_gives_the_same_arrays(rig, repository, tmp_path, extension_module):
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    job.run()
    inside = job.work.motion()
    shot, out = tmp_path / "shot.json", tmp_path / "motion.npz"
    bpy.ops.nsm.save_shot(filepath=str(shot))
    command = [sys.executable, "-m", "nsm_blender", "bake", str(shot), "--out", str(out)]
    wheels = Path(importlib.import_module("array_api_compat").__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(wheels)}
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with np.load(out) as outside:
        for name in ("positions", "rotations", "root", "contacts", "phase", "actions"):
            assert np.array_equal(outside[name], getattr(inside, name)), name


def test_a_loaded_shot_is_the_saved_one_again(rig, gathered, tmp_path):
    bpy.ops.nsm.add_action_key(action="idle", goal="A", hold=1, facing=1.0)
    rig.nsm.keys[0].route = build.curve([(0, 0, 0), (1, -1, 0), (0.2, -2.2, 0)])
    rig.location = (0.3, 0.2, 0)
    rig.nsm.routes.sideways, rig.nsm.routes.crouch = False, False
    crate = bpy.data.objects["Crate"]
    for frame, x in ((1, 0.0), (100, 0.5)):
        crate.location.x = x
        crate.keyframe_insert("location", frame=frame)
    bpy.context.view_layer.objects.active = rig
    saved, file = gathered(rig), str(tmp_path / "shot.json")
    bpy.ops.nsm.save_shot(filepath=file)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert bpy.ops.nsm.load_shot(filepath=file) == {"FINISHED"}
    loaded = gathered(bpy.data.objects["Mannequin"])
    assert (loaded.frames, loaded.fps) == (saved.frames, saved.fps)
    assert np.allclose(loaded.start, saved.start, atol=1e-5)
    assert (loaded.route_options.sideways, loaded.route_options.crouch) == (False, False)
    assert [(g.name, g.collider) for g in loaded.goals] == [(g.name, g.collider) for g in saved.goals]
    assert np.allclose([g.place for g in loaded.goals], [g.place for g in saved.goals], atol=1e-5)
    for one, other in zip(loaded.keys, saved.keys, strict=True):
        assert (one.action, one.goal, one.start, one.gait) == (other.action, other.goal, other.start, other.gait)
        assert (one.hold, one.speed, one.facing) == (other.hold, other.speed, other.facing)
        assert np.allclose(one.route, other.route, atol=1e-5)
    for one, other in zip(loaded.colliders, saved.colliders, strict=True):
        assert (one.name, one.role, one.handles) == (other.name, other.role, other.handles)
        assert np.allclose(one.cuboids.center, other.cuboids.center, atol=1e-5)
        assert np.allclose(one.poses, other.poses, atol=1e-5)


def test_a_loaded_path_is_walked_as_before(engine, gathered, tmp_path):
    rig, way = build.shot(engine)
    for frame, speed, gait in ((1, 0.5, "walk"), (21, 2.5, "jog")):
        way.nsm.speed, way.nsm.gait = speed, gait
        way.keyframe_insert("nsm.speed", frame=frame)
        way.keyframe_insert("nsm.gait", frame=frame)
    saved, file = gathered(rig), str(tmp_path / "shot.json")
    bpy.ops.nsm.save_shot(filepath=file)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.ops.nsm.load_shot(filepath=file)
    loaded = gathered(bpy.data.objects["Mannequin"])
    assert np.allclose(loaded.path.points, saved.path.points, atol=1e-5)
    assert loaded.path.gaits == saved.path.gaits
    assert np.allclose(loaded.path.speeds, saved.path.speeds, atol=1e-5)
    assert np.allclose(loaded.path.speed_factors, saved.path.speed_factors, atol=1e-5)


def test_loading_replaces_the_keys_of_the_character_and_leaves_the_rest(rig, gathered, tmp_path):
    file = str(tmp_path / "shot.json")
    bpy.ops.nsm.save_shot(filepath=file)
    bpy.ops.nsm.add_action_key(action="run", goal="A", frame=90)
    crate = bpy.data.objects["Crate"]
    bpy.ops.nsm.load_shot(filepath=file)
    assert [key.action for key in rig.nsm.keys] == ["walk"]
    assert [marker.name for marker in bpy.context.scene.timeline_markers] == ["NSM Rig 1: Walk A.001"]
    assert crate.users_scene


def test_a_linked_collider_and_a_linked_goal_on_it_are_walked_to(rig, gathered, tmp_path):
    bpy.ops.mesh.primitive_cube_add(size=0.8, location=(2.5, -2, 0.4), calc_uvs=False)
    bpy.context.object.name = "Desk"
    bpy.ops.nsm.wrap_collider(role="obstacle")
    bpy.ops.nsm.add_goal(name="At Desk")
    file = str(tmp_path / "furniture.blend")
    desk, goal = bpy.data.objects["Desk"], bpy.data.objects["At Desk"]
    bpy.data.libraries.write(file, {desk, goal})
    for obj in (desk, goal):
        bpy.data.objects.remove(obj)
    with bpy.data.libraries.load(file, link=True) as (_, target):
        target.objects = ["Desk", "At Desk"]
    for obj in target.objects:
        bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = rig
    rig.nsm.keys[0].goal = target.objects[1]
    shot = gathered(rig)
    assert shot.goals[0].collider == target.objects[0].name_full
    assert {thing.name for thing in shot.colliders} == {"Crate", target.objects[0].name_full}
    bpy.ops.nsm.check_keys()
    assert not rig.nsm.keys[0].is_fatal


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("{", "not JSON"), ("{}", "name is missing"), ('{"name": "x", "fps": 30, "frames": 9}', "needs either a path")],
)
def test_what_is_no_shot_is_refused_with_the_reason(rig, tmp_path, text, sentence):
    file = tmp_path / "shot.json"
    file.write_text(text)
    before = snapshot()
    with pytest.raises(RuntimeError, match=sentence):
        bpy.ops.nsm.load_shot(filepath=str(file))
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize("with_character", [True, False])
@pytest.mark.parametrize("place", ["_colliders", "_goals", "_key", "check_time", "_curve", "pieces.wrap"])
def test_a_shot_that_cannot_be_loaded_to_its_end_changes_nothing(
    rig, extension_module, monkeypatch, tmp_path, place, with_character
):
    bpy.ops.nsm.add_action_key(action="run", goal="A", frame=90)
    rig.nsm.keys[0].route = build.curve([(0, 0, 0), (1, -1, 0), (0.2, -2.2, 0)])
    file = str(tmp_path / "shot.json")
    bpy.ops.nsm.save_shot(filepath=file)
    rig.location = (0.3, 0.2, 0)
    bpy.context.scene.render.fps = 25
    if not with_character:
        bpy.data.objects.remove(rig)
    owner = extension_module("scene.staging")
    *owners, name = place.split(".")
    for part in owners:
        owner = getattr(owner, part)

    def fail(*_args, **_kwargs):
        raise RuntimeError("the disk caught fire")

    monkeypatch.setattr(owner, name, fail)
    before = snapshot()
    with pytest.raises(RuntimeError, match="the disk caught fire"):
        bpy.ops.nsm.load_shot(filepath=file)
    assert difference(before, snapshot()) == {}


def test_a_shot_that_reaches_beyond_blenders_last_frame_is_refused(rig, tmp_path):
    file = str(tmp_path / "shot.json")
    bpy.ops.nsm.save_shot(filepath=file)
    bpy.context.scene.frame_start = 1_048_500
    before = snapshot()
    with pytest.raises(RuntimeError, match="beyond what Blender shows"):
        bpy.ops.nsm.load_shot(filepath=file)
    assert difference(before, snapshot()) == {}
