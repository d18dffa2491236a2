# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes that lose what they work on, and files that say what is not so: a sentence, and nothing is left behind."""

from __future__ import annotations

import json

import bpy
import numpy as np
import pytest

from . import build
from .snapshot import difference, snapshot

FRAMES = 16
"""Frames of bakes that are long enough to stop in each of their stages."""
EARLY, STAGES = [0.0, 0.86], [0.3, 0.88, 0.95]
"""Progress at which something happens: in the rollout, while keys are written, while measuring; and at the start of the
first two, where what our own checks find does not depend on the version of Blender."""


@pytest.fixture
def job(extension_module):
    """A function that begins a bake of an armature."""
    module = extension_module("operators.job")
    return lambda rig: module.BakeJob(bpy.context, rig)


def bakes() -> list[str]:
    return [action.name for action in bpy.data.actions if "Bake" in action.name]


def _delete_rig(rig, _way):
    bpy.data.objects.remove(rig)


def _delete_data(rig, _way):
    bpy.data.armatures.remove(rig.data)


def _delete_curve(_rig, way):
    bpy.data.objects.remove(way)


def _other_data(rig, _way):
    rig.data = bpy.data.armatures.new("Other")


def _rename_bone(rig, _way):
    rig.data.bones["LeftArm"].name = "Arm"


def _delete_bone(rig, _way):
    _edit(rig)
    rig.data.edit_bones.remove(rig.data.edit_bones["LeftHand"])
    bpy.ops.object.mode_set(mode="OBJECT")


def _edit(rig, _way=None):
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")


def _unlink(rig, _way):
    bpy.context.scene.collection.objects.unlink(rig)


def _disable(rig, _way):
    rig.hide_viewport = True


def _other_scene(_rig, _way):
    bpy.context.window.scene = bpy.data.scenes.new("Other")


def _other_file(_rig, _way):
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


LOSSES = {
    _delete_rig: "the rig 'Rig' was deleted",
    _delete_data: "the rig 'Rig' was deleted",
    _delete_curve: "the curve 'Way' was deleted",
    _other_data: "the rig 'Rig' was given another armature",
    _rename_bone: "the bone 'LeftArm' of the rig 'Rig' was deleted or renamed",
    _delete_bone: "the bone 'LeftHand' of the rig 'Rig' was deleted or renamed",
    _edit: "the rig 'Rig' was put into edit mode",
    _unlink: "the rig 'Rig' was taken out of the view layer",
    _disable: "the rig 'Rig' was taken out of the view layer",
    _other_scene: "the scene 'Scene' was left for another one",
    _other_file: "",
}


@pytest.mark.parametrize(
    "progress", [*(pytest.param(early, marks=pytest.mark.any_version) for early in EARLY), *STAGES]
)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_bake_that_loses_what_it_works_on_says_so_and_leaves_nothing(engine, job, loss, progress):
    rig, way = build.shot(engine, FRAMES)
    work = job(rig)
    while work.progress < progress:
        work.step()
    loss(rig, way)
    with pytest.raises(Exception, match=f"^The bake stopped: {LOSSES[loss]}") as told:
        work.run()
    assert type(told.value).__name__ == "StoppedError"
    assert bakes() == []
    assert all(obj.animation_data is None for obj in bpy.data.objects)


def _delete_action(rig):
    bpy.data.actions.remove(rig.animation_data.action)


def _assign_another(rig):
    rig.animation_data.action = bpy.data.actions.new("Mine")


def _clear_animation(rig):
    rig.animation_data_clear()


def _forget_mark(rig):
    del rig.animation_data.action["nsm_bake"]


def _damage_mark(rig):
    rig.animation_data.action["nsm_bake"] = "[" * 5000


def _move_to_nla(rig):
    action = rig.animation_data.action
    rig.animation_data.nla_tracks.new().strips.new("Strip", 1, action)
    rig.animation_data.action = None


@pytest.mark.parametrize("progress", [0.86, 0.88, 0.95])
@pytest.mark.parametrize(
    "loss", [_delete_action, _assign_another, _clear_animation, _forget_mark, _damage_mark, _move_to_nla]
)
def test_a_bake_whose_action_is_taken_away_says_so_and_leaves_nothing(engine, job, loss, progress):
    rig, _ = build.shot(engine, FRAMES)
    work = job(rig)
    while work.progress < progress:
        work.step()
    loss(rig)
    with pytest.raises(Exception, match=r"'Rig Bake' (was deleted|was taken from|was damaged)"):
        work.run()
    assert bakes() == []
    left = rig.animation_data.action if rig.animation_data else None
    assert (left.name if left else None) == ("Mine" if loss is _assign_another else None)


@pytest.mark.parametrize("loss", [_delete_rig, _delete_curve, _rename_bone, _edit])
def test_what_a_handler_takes_away_while_a_frame_is_measured_ends_the_bake_too(engine, job, loss):
    rig, way = build.shot(engine, FRAMES)
    work = job(rig)
    while work.progress < 0.9:
        work.step()

    def handler(*_):
        bpy.app.handlers.frame_change_post.remove(handler)
        loss(rig, way)

    bpy.app.handlers.frame_change_post.append(handler)
    with pytest.raises(Exception, match="The bake stopped: "):
        work.run()
    assert handler not in bpy.app.handlers.frame_change_post
    assert bakes() == []


def test_a_goal_deleted_during_the_bake_ends_it(engine, job):
    rig = build.armature(engine)
    bpy.ops.nsm.add_goal(name="There", location=(0, -2, 0), attach=False)
    bpy.ops.nsm.add_action_key(action="walk", goal="There")
    work = job(rig)
    work.step()
    bpy.data.objects.remove(bpy.data.objects["There"])
    with pytest.raises(Exception, match="The bake stopped: the goal 'There' was deleted"):
        work.run()
    assert bakes() == []


def test_a_crowd_that_loses_a_character_leaves_nothing(engine, extension_module):
    rig, way = build.shot(engine, FRAMES)
    bpy.ops.nsm.bake()
    other = build.curve([(2, 0, 0), (2, -3, 0)], name="Other Way")
    for curve in (way, other):
        curve.select_set(True)
    before = {obj.name for obj in bpy.data.objects}, rig.animation_data.action.name
    work = extension_module("operators.synthesis_job").CrowdJob(bpy.context)
    while work.progress < 0.6:
        work.step()
    made = next(obj for obj in bpy.data.objects if obj.name not in before[0] and obj.type == "ARMATURE")
    bpy.data.objects.remove(made)
    with pytest.raises(Exception, match="The synthesis stopped: "):
        work.run()
    assert ({obj.name for obj in bpy.data.objects}, rig.animation_data.action.name) == before
    assert bakes() == ["Rig Bake"]


@pytest.mark.parametrize("progress", [0.8, 0.95])
def test_a_crowd_that_loses_an_action_that_it_has_written_leaves_nothing(engine, extension_module, progress):
    _, way = build.shot(engine, FRAMES)
    other = build.curve([(2, 0, 0), (2, -3, 0)], name="Other Way")
    for curve in (way, other):
        curve.select_set(True)
    before = {obj.name for obj in bpy.data.objects}
    work = extension_module("operators.synthesis_job").CrowdJob(bpy.context)
    while work.progress < progress:
        work.step()
    bpy.data.actions.remove(bpy.data.actions[0])
    with pytest.raises(Exception, match=r"The synthesis stopped: the action '.+' was deleted"):
        work.run()
    assert {obj.name for obj in bpy.data.objects} == before and not bpy.data.actions


# Chains and paths that a file says


def _baked(engine, count=2):
    """A rig with bakes that are kept, each on top of the last: short, as what links them is tested, not the motion."""
    rig, _ = build.shot(engine, frames=8)
    for _ in range(count):
        bpy.ops.nsm.bake()
        rig.animation_data.action.nsm.keep = True
    return rig


def test_a_bake_that_is_its_own_predecessor_hangs_nothing(engine):
    """As after Remap Users."""
    rig = _baked(engine)
    last = rig.animation_data.action
    last["nsm_previous_action"].user_remap(last)
    assert last["nsm_previous_action"] == last
    bpy.ops.nsm.bake()
    bpy.ops.nsm.remove_bake()
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data is None or rig.animation_data.action is None


def test_bakes_that_follow_each_other_in_a_circle_hang_nothing(engine):
    rig = _baked(engine, 3)
    third = rig.animation_data.action
    second = third["nsm_previous_action"]
    second["nsm_previous_action"]["nsm_previous_action"] = third
    for link in ("nsm_below", "nsm_moved_with"):
        second[link], third[link] = third, second
    bpy.ops.nsm.bake()
    bpy.ops.nsm.purge_bakes(kept=True)
    assert rig.animation_data.action.name in bakes()


@pytest.mark.any_version
@pytest.mark.parametrize("link", [7, "Rig Bake", [1.0, 2.0]])
def test_a_predecessor_that_is_no_action_counts_as_none(engine, link):
    rig = _baked(engine, 1)
    rig.animation_data.action["nsm_previous_action"] = link
    bpy.ops.nsm.bake()
    bpy.ops.nsm.remove_bake()
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data is None


def _told(**changes):
    return lambda note: json.dumps(note | changes)


CRAFTED = {
    "renames": _told(pose={"name": "Hacked"}),
    "other object": _told(pose={"data.bones[0].name": "Hacked"}),
    "scene": _told(pose={"users_scene[0].frame_end": 7}),
    "modes": _told(pose={'pose.bones["Hips"].rotation_mode': "XYZ"}),
    "texts": _told(pose={'pose.bones["Hips"].location': ["a", "b", "c"]}),
    "lists": _told(pose={'pose.bones["Hips"].location': [[1], [2], [3]]}),
    "influence": _told(
        blending={"action_blend_type": "REPLACE", "action_influence": 7, "action_extrapolation": "HOLD"}
    ),
    "blending": _told(blending={"use_nla": True}),
    "slot": _told(slot=7),
    "no object": lambda _note: "[]",
    "nested": lambda _note: "[" * 100_000,
    "no text": lambda _note: 7,
    "unknown": _told(more=1),
}


@pytest.mark.parametrize(
    "crafted",
    [
        pytest.param(crafted, id=name, marks=() if name in ("slot", "modes") else pytest.mark.any_version)
        for name, crafted in CRAFTED.items()
    ],
)
def test_remove_bake_checks_what_the_file_says_before_it_acts(engine, crafted):
    rig = _baked(engine, 1)
    action = rig.animation_data.action
    action["nsm_bake"] = crafted(json.loads(action["nsm_bake"]))
    before = snapshot()
    with pytest.raises(RuntimeError, match="notes of the bake 'Rig Bake' were changed"):
        bpy.ops.nsm.remove_bake()
    assert difference(before, snapshot()) == {}
    bpy.ops.nsm.bake()
    assert rig.animation_data.action != action
    bpy.ops.nsm.remove_bake()


# Bakes in the file


def test_the_next_bake_replaces_the_last_and_one_undo_step_goes_back_to_before_the_first(engine):
    rig, _ = build.shot(engine, FRAMES)
    before = snapshot()
    for _ in range(3):
        bpy.ops.nsm.bake()
        assert len(bpy.data.actions) == 1
        assert not rig.animation_data.action.use_fake_user
    bpy.ops.nsm.remove_bake()
    assert difference(before, snapshot()) == {}


def _use_in_nla(rig, action):
    rig.animation_data.nla_tracks.new().strips.new("Strip", 1, action).mute = True


def _key_by_hand(rig, action):
    bone = rig.pose.bones["Head"]
    bone.keyframe_insert("rotation_quaternion", frame=100)


def _give_to_another(rig, action):
    other = bpy.data.objects.new("Other", None)
    bpy.context.scene.collection.objects.link(other)
    other.animation_data_create().action = action


def _fake_user(_rig, action):
    action.use_fake_user = True


@pytest.mark.parametrize("use", [_use_in_nla, _key_by_hand, _give_to_another, _fake_user])
def test_a_bake_that_the_animator_works_with_is_not_replaced(engine, use):
    rig, _ = build.shot(engine, FRAMES)
    bpy.ops.nsm.bake()
    first = rig.animation_data.action
    use(rig, first)
    bpy.ops.nsm.bake()
    assert len(bakes()) == 2
    bpy.ops.nsm.purge_bakes(kept=True)
    assert len(bakes()) == 2
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data.action == first


def test_a_cancelled_bake_leaves_the_last_one(engine, job):
    rig, _ = build.shot(engine, FRAMES)
    bpy.ops.nsm.bake()
    before = snapshot()
    work = job(rig)
    while work.progress < 0.95:
        work.step()
    work.cancel()
    assert difference(before, snapshot()) == {}


def test_one_button_deletes_the_bakes_that_are_not_shown(engine):
    rig = _baked(engine, 4)
    shown = rig.animation_data.action
    assert len(bakes()) == 4
    assert bpy.ops.nsm.purge_bakes() == {"CANCELLED"}
    assert bpy.ops.nsm.purge_bakes(kept=True) == {"FINISHED"}
    assert bakes() == [shown.name]
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data is None


def test_bakes_that_nothing_shows_any_more_go_with_blenders_own_purge(engine):
    rig, _ = build.shot(engine, FRAMES)
    bpy.ops.nsm.bake()
    bpy.data.objects.remove(rig)
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    assert bakes() == []


# Fewer keys


@pytest.mark.parametrize("frames", [2, 3, 4, 5, 41, 120])
def test_a_third_of_the_keys_shows_every_frame_of_the_motion(engine, extension_module, job, frames):
    rig, _ = build.shot(engine, frames)
    work = job(rig)
    work.run()
    motion = work.work.motion()
    told = rig.nsm.report
    assert 0 <= told.rig_error_mm_max < 0.1
    assert told.keys_unthinned == 91 * frames
    if frames > 40:
        assert told.keys < 0.4 * told.keys_unthinned
    bones = [rig.pose.bones[name] for name in motion.names]
    wanted = motion.positions
    for frame in range(1, frames + 1):
        bpy.context.scene.frame_set(frame)
        heads = np.array([rig.matrix_world @ bone.head for bone in bones])
        assert np.linalg.norm(heads - wanted[frame - 1], axis=1).max() < 1e-4


def test_keys_far_from_the_origin_show_every_frame(engine, extension_module):
    """A walk of five minutes ends 400 m away."""
    rig, _ = build.shot(engine)
    actions, frames = extension_module("scene.actions"), np.arange(1, 901)
    t = frames / 30
    way = np.stack([360 + 1.3 * t + 0.02 * np.sin(9 * t), 0.03 * np.sin(11 * t), 0.9 + 0.03 * np.cos(18 * t)], axis=1)
    made = actions.begin(rig, "Far")
    actions.write(rig, made, frames, [actions.Channel("location", way, "Rig")])
    shown = np.array([[curve.evaluate(frame) for curve in actions.of(rig)] for frame in frames.tolist()])
    assert np.abs(shown - way).max() < 1e-4


def test_between_frames_the_curves_stay_between_their_neighbors(engine, extension_module):
    """Motion blur looks there."""
    rig, _ = build.shot(engine, 120)
    bpy.ops.nsm.bake()
    for curve in extension_module("scene.actions").of(rig):
        whole = np.array([curve.evaluate(frame) for frame in range(1, 121)])
        half = np.array([curve.evaluate(frame + 0.5) for frame in range(1, 120)])
        straight = (whole[1:] + whole[:-1]) / 2
        bend = np.abs(np.diff(whole, 2)).max()
        assert np.abs(half - straight).max() <= 0.5 * bend + 1e-5, curve.data_path


def test_keys_far_along_the_timeline_are_as_exact(engine):
    rig, _ = build.shot(engine)
    settings = bpy.context.scene.nsm
    settings.use_custom_range, settings.frame_start, settings.frame_end = True, 1_000_000, 1_000_060
    bpy.ops.nsm.bake()
    assert rig.nsm.report.rig_error_mm_max < 0.1
