# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes that are cancelled, that fail, or that are removed: the scene is as it was, and keys made by hand stay."""

from __future__ import annotations

import bpy
import pytest

from . import build
from .snapshot import difference, snapshot

FRAMES = 16
"""Frames of bakes that are long enough to stop in each of their stages."""


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


def test_a_bake_that_is_kept_stays_below_the_next_and_removing_goes_back_one_by_one(engine):
    rig, _ = build.shot(engine, FRAMES)
    bpy.ops.nsm.bake()
    first = rig.animation_data.action
    first.nsm.keep = True
    bpy.ops.nsm.bake()
    assert rig.animation_data.action != first
    assert len(bpy.data.actions) == 2
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data.action == first
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data is None
    assert not bpy.data.actions


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
    rig.pose.bones["LeftArm"].location = (0.1, 0.2, 0.3)
    rig.pose.bones["Spine"].scale = (2, 2, 2)
    rig.pose.bones["Head"].rotation_quaternion = (0.5, 0.5, 0.5, 0.5)
    rig.pose.bones["LeftLeg"].rotation_mode = "ZXY"
    rig.pose.bones["LeftLeg"].rotation_euler = (1, 2, 3)


STATES = [_nothing, _own_action, _nla, _posed]


@pytest.mark.parametrize("state", STATES)
def test_removing_a_bake_leaves_everything_as_it_was(engine, state):
    rig, _ = build.shot(engine, FRAMES)
    state(rig)
    before = snapshot()
    bpy.ops.nsm.bake()
    assert difference(before, snapshot())
    bpy.ops.nsm.remove_bake()
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    "progress", [*(pytest.param(early, marks=pytest.mark.any_version) for early in (0.0, 0.4)), 0.86, 0.95]
)
def test_cancelling_a_bake_leaves_everything_as_it_was(engine, job, state, progress):
    rig, _ = build.shot(engine, FRAMES)
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
        pytest.param("nsm_blender.baking.bake", "Bake.step", marks=pytest.mark.any_version),
        ("operators.job", "armatures.keying"),
        ("scene.actions", "_enum"),
        ("scene.measure", "_evaluate"),
        ("scene.measure", "Report.store"),
    ],
)
@pytest.mark.parametrize("state", STATES)
def test_an_exception_in_the_middle_leaves_everything_as_it_was(
    engine, extension_module, monkeypatch, capfd, state, module, place
):
    rig, _ = build.shot(engine, FRAMES)
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
    build.shot(engine, FRAMES)
    monkeypatch.setenv("NSM_BLENDER_RAISE", "1")
    monkeypatch.setattr(extension_module("nsm_blender.baking.bake").Bake, "step", lambda self: 1 / 0)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        bpy.ops.nsm.bake()


def test_keys_made_by_hand_survive_the_removal(engine):
    rig, _ = build.shot(engine, FRAMES)
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


def test_keys_made_by_hand_survive_baking_again_and_the_report_says_where_they_are(engine):
    rig, _ = build.shot(engine, FRAMES)
    bpy.ops.nsm.bake()
    first = rig.animation_data.action
    bone = rig.pose.bones["Head"]
    bone.rotation_quaternion = (1, 0, 0, 0)
    bone.keyframe_insert("rotation_quaternion", frame=100)
    bpy.ops.nsm.bake()
    assert f"in its action, '{first.name}', which stays in the file" in rig.nsm.report.notes
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data.action == first
    bpy.context.scene.frame_set(100)
    assert tuple(bone.rotation_quaternion) == (1, 0, 0, 0)


def test_an_action_that_was_not_baked_is_never_removed(engine):
    rig, _ = build.shot(engine, FRAMES)
    add_previous_action(rig)
    before = snapshot()
    with pytest.raises(RuntimeError, match="has no bake"):
        bpy.ops.nsm.remove_bake()
    assert difference(before, snapshot()) == {}


def test_a_bake_used_in_the_nla_is_not_removed(engine):
    rig, _ = build.shot(engine, FRAMES)
    bpy.ops.nsm.bake()
    action = rig.animation_data.action
    rig.animation_data.nla_tracks.new().strips.new("Strip", 1, action)
    with pytest.raises(RuntimeError, match="NLA strip"):
        bpy.ops.nsm.remove_bake()
    assert rig.animation_data.action == action


def test_a_bake_and_its_removal_survive_save_and_load(engine, tmp_path):
    rig, way = build.shot(engine, FRAMES)
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


def test_a_character_deleted_during_the_bake_leaves_no_action(engine, job):
    rig, _ = build.shot(engine, FRAMES)
    work = job(rig)
    while not bpy.data.actions:
        work.step()
    bpy.data.objects.remove(rig)
    with pytest.raises(Exception, match="The bake stopped: the rig 'Rig' was deleted"):
        work.run()
    assert not bpy.data.actions


def test_a_forgotten_bake_never_takes_the_keys_of_another(engine, job):
    rig, _ = build.shot(engine, FRAMES)
    forgotten = job(rig)
    while not bpy.data.actions:
        forgotten.step()
    bpy.data.actions.remove(bpy.data.actions[0])
    bpy.ops.nsm.bake()
    name = rig.animation_data.action.name
    forgotten.cancel()
    assert rig.animation_data.action.name == name
