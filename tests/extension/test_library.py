# SPDX-License-Identifier: GPL-3.0-or-later
"""Motions as strips of the NLA editor and as assets, through the installed extension's operators."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from . import build, rigs
from .snapshot import difference, snapshot


@pytest.fixture
def baked(engine):
    """An armature with a bake of 40 frames."""
    rig, _ = build.shot(engine)
    bpy.ops.nsm.bake()
    return rig


def places(rig, frame: int) -> np.ndarray:
    bpy.context.scene.frame_set(frame)
    return np.array([bone.head for bone in rig.pose.bones])


def test_a_bake_becomes_a_strip_that_shows_the_same_motion_and_the_next_bake_begins_clean(baked):
    action, before = baked.animation_data.action, places(baked, 25)
    assert bpy.ops.nsm.push_down() == {"FINISHED"}
    assert baked.animation_data.action is None
    (track,) = baked.animation_data.nla_tracks
    (strip,) = track.strips
    assert (track.name, strip.name, strip.action) == (action.name, action.name, action)
    assert (strip.frame_start, strip.frame_end) == (1, 40)
    if hasattr(strip, "action_slot"):
        assert strip.action_slot == action.slots[0]
    assert np.abs(places(baked, 25) - before).max() < 1e-6
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    second = baked.animation_data.action
    assert second not in (None, action)
    assert action.name in bpy.data.actions
    assert len(track.strips) == 1
    assert bpy.ops.nsm.push_down(track="Take 2") == {"FINISHED"}
    assert [one.name for one in baked.animation_data.nla_tracks] == [action.name, "Take 2"]
    assert {one.strips[0].action for one in baked.animation_data.nla_tracks} == {action, second}
    bpy.ops.nsm.purge_bakes()
    assert {action.name, second.name} <= {one.name for one in bpy.data.actions}


def test_an_action_made_by_hand_is_pushed_down_with_its_slot(engine):
    rig = build.armature(engine)
    for frame in (1, 20):
        rig.pose.bones["Head"].rotation_quaternion = (1, 0.01 * frame, 0, 0)
        rig.pose.bones["Head"].keyframe_insert("rotation_quaternion", frame=frame)
    shown = np.array(rig.pose.bones["Head"].rotation_quaternion)
    bpy.ops.nsm.push_down()
    rig.pose.bones["Head"].rotation_quaternion = (1, 0, 0, 0)
    bpy.context.scene.frame_set(20)
    assert np.abs(np.array(rig.pose.bones["Head"].rotation_quaternion) - shown).max() < 1e-5


def test_a_later_strip_does_not_hide_an_earlier_one(engine):
    rig = build.armature(engine)
    head = rig.pose.bones["Head"]
    for first, turn in ((1, 0.2), (31, -0.3)):
        for frame in (first, first + 19):
            head.rotation_quaternion = (1, turn, 0, 0)
            head.keyframe_insert("rotation_quaternion", frame=frame)
        bpy.ops.nsm.push_down()
    shown = {}
    for frame in (10, 25, 40):
        bpy.context.scene.frame_set(frame)
        shown[frame] = head.rotation_quaternion[1]
    assert shown == pytest.approx({10: 0.2, 25: 0.2, 40: -0.3}, abs=1e-5)


def test_what_has_no_action_is_not_pushed_down(engine):
    build.armature(engine)
    with pytest.raises(RuntimeError, match="has no action; bake one first"):
        bpy.ops.nsm.push_down()


def test_a_solo_track_is_told_and_nothing_changes(baked):
    track = baked.animation_data.nla_tracks.new()
    track.is_solo = True
    before = snapshot()
    with pytest.raises(RuntimeError, match="switch solo off"):
        bpy.ops.nsm.push_down()
    assert difference(before, snapshot()) == {}


def test_an_action_is_marked_with_description_tags_and_a_picture(engine):
    bpy.ops.nsm.add_character()
    rig = bpy.context.object
    rig.nsm.path = build.curve([(0, 0, 0), (0.3, -2, 0), (1.5, -4, 0)], "BEZIER")
    bpy.context.scene.frame_end = 40
    bpy.ops.nsm.bake()
    action = rig.animation_data.action
    data = {kind: set(getattr(bpy.data, kind)) for kind in ("scenes", "objects", "meshes", "images", "worlds")}
    frame = bpy.context.scene.frame_current
    assert bpy.ops.nsm.mark_asset(description="A walk", tags="walk, calm") == {"FINISHED"}
    about = action.asset_data
    assert about.description == "A walk"
    assert {"walk", "calm", "Neural State Machine"} <= {tag.name for tag in about.tags}
    pixels = np.array(action.preview.image_pixels_float).reshape(256, 256, 4)
    assert pixels[..., 3].min() > 0.99
    assert pixels[64:192, 96:160, :3].std() > 0.05, "the character is in the middle"
    assert bpy.context.scene.frame_current == frame
    assert {kind: set(getattr(bpy.data, kind)) for kind in data} == data
    bpy.ops.nsm.mark_asset()
    assert "40 frames" in action.asset_data.description or "1.6 s" in action.asset_data.description
    assert len([tag for tag in about.tags if tag.name == "walk"]) == 1


def test_the_picture_shows_a_rig_without_a_mesh_as_sticks(engine):
    rig, _ = rigs.add("Mixamo")
    bpy.ops.nsm.bind()
    rig.nsm.path = build.curve([(0, 0, 0), (0, -3, 0)], "POLY")
    bpy.context.scene.frame_end = 30
    bpy.ops.nsm.bake()
    bpy.ops.nsm.mark_asset()
    pixels = np.array(rig.animation_data.action.preview.image_pixels_float).reshape(256, 256, 4)
    assert pixels[64:192, 96:160, :3].std() > 0.05
