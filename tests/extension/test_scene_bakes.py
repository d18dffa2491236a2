# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of action keys among things: what is carried, baking again, other characters, the choice of the network.

The network is the puppet of the engine's tests: it goes straight to what it is fed, so that boxes are carried whatever
weights are installed.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import bpy
import numpy as np
import pytest

from . import build
from .layouts import drawn
from .snapshot import difference, snapshot
from .test_things import add_box, frame_of

FRAMES = 300


@pytest.fixture
def puppet(repository: Path, extension_module, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Neural State Machine is installed, and is the puppet."""
    spec = importlib.util.spec_from_file_location("puppets", repository / "tests" / "engine" / "puppets.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "puppets", module)
    spec.loader.exec_module(module)
    bakes, network = (extension_module(f"nsm_blender.{name}") for name in ("baking.nsm", "rollout.nsm_network"))
    straight = extension_module("nsm_blender.rollout.nsm").Options(bidirectional=False)
    monkeypatch.setattr(bakes, "load", lambda _weights: module.Puppet())
    monkeypatch.setattr(bakes, "Options", lambda: straight)
    monkeypatch.setattr(network, "able", lambda: tuple(module.ALL))
    extension_module("operators.earlier").Earlier._bakes.clear()


@pytest.fixture
def rig(engine):
    """A character before a box on the ground and a table."""
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, FRAMES
    for name, role, place, size in (
        ("Table", "surface", (1.0, -1.6, 0.35), (1.0, 0.6, 0.7)),
        ("Box", "carryable", (-1.0, -1.4, 0.1), (0.36, 0.2, 0.2)),
    ):
        add_box(name, place, size)
        bpy.ops.nsm.wrap_collider(role=role)
        bpy.ops.nsm.add_goal(name=f"On {name}")
    rig = build.armature(engine)
    bpy.ops.nsm.add_goal(name="Away", location=(0, 1.5, 0), attach=False, use_facing=False)
    bpy.ops.nsm.add_action_key(action="pick_up", goal="On Box")
    bpy.ops.nsm.add_action_key(action="put_down", goal="On Table")
    bpy.ops.nsm.add_action_key(action="walk", goal="Away")
    return rig


def notes(rig) -> str:
    return rig.nsm.report.notes


def at(frame: int, obj: bpy.types.Object) -> np.ndarray:
    bpy.context.scene.frame_set(frame)
    return frame_of(obj)


@pytest.mark.any_version
def test_a_box_is_carried_to_the_table_and_a_second_bake_takes_it_from_where_it_lay(puppet, rig, tmp_path):
    box = bpy.data.objects["Box"]
    lay = frame_of(box)
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    assert np.allclose(at(1, box), lay, atol=1e-4)
    on_table = at(FRAMES, box)
    assert on_table[2] == pytest.approx(0.8, abs=0.02)
    assert abs(on_table[0] - 1.0) < 0.5 and abs(on_table[1] + 1.6) < 0.3
    report = tmp_path / "report.json"
    bpy.ops.nsm.save_report(filepath=str(report))
    told = json.loads(report.read_text())
    assert 0 <= told["penetration_cm.max"] < 50 and told["rig_error_mm.max"] < 0.05
    assert "Baked anew" not in notes(rig)

    first = {frame: at(frame, box) for frame in range(1, FRAMES + 1, 10)}
    rig.animation_data.action.nsm.keep = True
    bpy.data.objects["Away"].location = (-1.5, 1.0, 0)
    bpy.ops.nsm.bake()
    assert "Baked anew from frame" in notes(rig)
    start = int(notes(rig).split("from frame ")[1].split()[0])
    assert rig.nsm.keys[1].set_off < start <= rig.nsm.keys[2].set_off
    for frame, pose in first.items():
        # A millimeter: one solver weighs the whole time for which the box is held.
        assert np.allclose(at(frame, box), pose, atol=1e-3), frame

    for _ in range(2):
        bpy.ops.nsm.remove_bake()
    box.location.x -= 0.3
    bpy.context.view_layer.update()
    bpy.ops.nsm.bake()
    assert "Baked anew" not in notes(rig), "a thing that was moved changes all"
    assert np.allclose(at(1, box)[:3], lay[:3] - [0.3, 0, 0], atol=1e-4)


@pytest.mark.any_version
def test_the_hands_grip_while_they_carry_the_box(puppet, rig, extension_module, engine):
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    job.run()
    motion = job.work.motion()
    box = np.array(motion.meta["things"]["Box"])[:, :3]
    moving = np.flatnonzero(np.linalg.norm(np.diff(box, axis=0), axis=1) > 1e-4)
    for hand in ("LeftHand", "RightHand"):
        ((start, end),) = motion.meta["holds"][hand]
        assert start * motion.fps <= moving[0] + 2
        assert end * motion.fps >= moving[-1] - 2
        assert end - start < len(motion) / motion.fps - 1
    bone = engine.FingerBone("Index", "RightHand", 1, 0, np.array([1.0, 0, 0]), 0.0)
    turned = engine.finger_rotations([bone], "FLAT", motion)["Index"]
    angles = 2 * np.arctan2(turned[:, 1], turned[:, 0])
    assert angles[(moving[0] + moving[-1]) // 2] == pytest.approx(bone.angle("GRIP"), abs=1e-3)
    assert angles[0] == pytest.approx(0, abs=1e-3)


def test_a_bake_can_be_watched_with_what_is_carried(puppet, rig, extension_module):
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    assert job.ghost() == []
    while len(job.ghost()) < 2:
        job.step()
    figure, box = job.ghost()
    assert figure.shape == (42, 3) and box.shape == (24, 3)
    assert np.abs(figure[:, :2].mean(0) - box[:, :2].mean(0)).max() < 0.8
    job.cancel()
    assert bpy.data.objects["Box"].animation_data is None


def test_a_walk_can_be_watched(engine, extension_module):
    rig, _ = build.shot(engine)
    rig.scale = (2, 2, 2)
    bpy.context.view_layer.update()
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    while not job.ghost():
        job.step()
    (figure,) = job.ghost()
    assert 2.7 < np.ptp(figure[:, 2]) < 3.5, "twice as tall as the joints of a person"
    job.run()
    assert job.ghost() == []


@pytest.mark.any_version
def test_another_baked_character_is_walked_round(engine, extension_module):
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, 200
    other = build.armature(engine, "Other")
    other.location = (0, -1.5, 0)
    bpy.ops.nsm.add_goal(name="There", location=(0, -1.5, 0), attach=False, use_facing=False)
    bpy.ops.nsm.add_action_key(action="idle", goal="")
    rig = build.armature(engine)
    bpy.ops.nsm.add_goal(name="Behind", location=(0, -3, 0), attach=False)
    bpy.ops.nsm.add_action_key(action="walk", goal="Behind")
    gather = extension_module("scene.gather_keys").gather
    assert gather(bpy.context, rig).shot.colliders == [], "a character without a bake is no obstacle"
    bpy.context.view_layer.objects.active = other
    bpy.ops.nsm.bake()
    bpy.context.view_layer.objects.active = rig
    found = gather(bpy.context, rig).shot.colliders
    assert {thing.name for thing in found} >= {"Other (Hips)", "Other (Neck)", "Other (LeftLeg)"}
    trunk = next(thing for thing in found if thing.name == "Other (Hips)")
    assert np.allclose(trunk.poses[:, :2], (0, -1.5), atol=0.15) and 0.9 < trunk.poses[0, 2] < 1.4
    bpy.ops.nsm.bake()
    away = []
    for frame in range(1, 201, 4):
        scene.frame_set(frame)
        hips = rig.matrix_world @ rig.pose.bones["Hips"].head
        away.append(np.hypot(hips.x, hips.y + 1.5))
    assert min(away) > 0.3
    assert np.hypot(hips.x, hips.y + 3) < 0.1
    assert 0 <= rig.nsm.report.penetration_cm_max < 1


@pytest.mark.any_version
def test_a_character_of_another_size_is_an_obstacle_of_its_own_size(engine, extension_module):
    other, _ = build.shot(engine)
    other.scale = (0.5, 0.5, 0.5)
    bpy.ops.nsm.bake()
    rig = build.armature(engine, "Watcher")
    rig.location = (3, 3, 0)
    bpy.ops.nsm.add_action_key(action="idle", goal="")
    rig.scale = (2, 2, 2)
    found = extension_module("scene.gather_keys").gather(bpy.context, rig).shot.colliders
    top = max(thing.poses[0, 2] + thing.cuboids.half[0].max() for thing in found)
    assert 0.35 < top < 0.5, "half as large as a person, seen by a character twice as large"
    trunk = next(thing for thing in found if "Hips" in thing.name)
    assert len(trunk.poses) == 40


@pytest.mark.any_version
def test_the_network_can_be_chosen_and_what_it_cannot_do_is_refused(puppet, rig, extension_module):
    def begun():
        """What a job bakes with, once it has checked what is asked for."""
        job = extension_module("operators.job").BakeJob(bpy.context, rig)
        while job.bake is None:
            job.step()
        return job.bake

    rig.nsm.controller = "PFNN"
    before = snapshot()
    with pytest.raises(RuntimeError, match="Picking things up is beyond the locomotion network"):
        bpy.ops.nsm.bake()
    assert difference(before, snapshot()) == {}
    while len(rig.nsm.keys) > 1:
        bpy.ops.nsm.remove_action_key(index=0)
    locomotion = extension_module("nsm_blender.baking.bake").Bake
    assert isinstance(begun(), locomotion)
    rig.nsm.controller = "AUTO"
    assert isinstance(begun(), locomotion), "walks need no more"


@pytest.mark.parametrize("there", [False, True])
def test_a_network_that_is_not_installed_is_not_offered(rig, extension_module, monkeypatch, tmp_path, there):
    monkeypatch.setattr(extension_module("scene.lookup"), "has_scene_network", lambda: there)
    assert ("NSM" in drawn("NSM_PT_network")) == there
    if there:
        return
    monkeypatch.setattr(extension_module("nsm_blender.api.baking"), "weights_folder", lambda: tmp_path)
    rig.nsm.controller = "NSM"
    before = snapshot()
    with pytest.raises(RuntimeError, match="not part of this installation; choose another controller"):
        bpy.ops.nsm.bake()
    assert difference(before, snapshot()) == {}


@pytest.mark.any_version
def test_a_character_that_never_comes_near_is_no_obstacle(engine, extension_module):
    other, _ = build.shot(engine)
    other.location = (60, 0, 0)
    other.nsm.path = build.curve([(60, 0, 0), (60, -3, 0)])
    bpy.ops.nsm.bake()
    build.armature(engine, "Rig")
    bpy.ops.nsm.add_goal(name="There", location=(0, -3, 0), attach=False)
    bpy.ops.nsm.add_action_key(action="walk", goal="There")
    gather = extension_module("scene.gather_keys").gather
    rig = bpy.context.view_layer.objects.active
    assert gather(bpy.context, rig).shot.colliders == []
    bpy.data.objects["There"].location.x = 58
    assert gather(bpy.context, rig).shot.colliders


def test_measuring_one_of_many_characters_plays_none_of_the_others(engine, extension_module):
    rigs = []
    for _number in range(3):
        rig, _ = build.shot(engine)
        rigs.append(rig)
        bpy.ops.nsm.bake()
    for rig in rigs:
        rig.pose.bones["Hips"].location.x = 7.0  # what playing would put right
    before = snapshot()
    isolation = extension_module("scene.isolation")
    with isolation.stage(bpy.context, rigs[:1]) as stage:
        for frame in (5, 30):
            graph = stage.show(frame)
            assert {obj.name for obj in graph.objects} == {rigs[0].name}
    assert difference(before, snapshot()) == {}
