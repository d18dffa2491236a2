# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading animation back, constraints, editing and restyling through the installed extension's operators."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from . import build
from .snapshot import difference, snapshot

MILLIMETRE = 1e-3


@pytest.fixture
def recording(extension_module):
    return extension_module("scene.recording")


@pytest.fixture
def baked(engine, extension_module):
    """A function that bakes a walk and returns the armature and the motion that the engine made."""
    module = extension_module("operators.job")

    def bake(change=None, frames=40):
        rig, _ = build.shot(engine, frames)
        if change is not None:
            change(rig)
        job = module.BakeJob(bpy.context, rig)
        job.run()
        return rig, job.work.motion()

    return bake


def largest_difference(recording, rig, motion):
    """Millimetres between joints and degrees between rotations of a character's animation and a motion."""
    found = recording.record(bpy.context, rig).motion
    assert len(found) == len(motion)
    apart = np.linalg.norm(found.positions - motion.positions, axis=-1).max() / MILLIMETRE
    dots = np.clip(np.abs((found.rotations.astype(np.float64) * motion.rotations).sum(-1)), 0, 1)
    return apart, np.degrees(2 * np.arccos(dots)).max()


def _as_it_is(_rig):
    pass


def _turned_and_small(rig):
    rig.scale, rig.rotation_euler, rig.location = (0.5,) * 3, (0.3, -0.2, 2.0), (3, -2, 1)


def _eulers(rig):
    for bone, mode in zip(rig.pose.bones, ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "AXIS_ANGLE"] * 4, strict=False):
        bone.rotation_mode = mode


def _below_a_posed_root_bone(rig):
    bpy.ops.object.mode_set(mode="EDIT")
    root = rig.data.edit_bones.new("Root")
    root.head, root.tail, root.roll = (0.1, 0.2, 0), (0.3, 1, 0.2), 0.7
    rig.data.edit_bones["Hips"].parent = root
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.pose.bones["Root"].location = (0.2, 0.1, 0.5)
    rig.pose.bones["Root"].rotation_quaternion = (0.8, 0.3, 0.4, 0.2)


def _without_inherited_rotation(rig):
    for name in ("LeftLeg", "Spine1", "Head"):
        rig.data.bones[name].use_inherit_rotation = False


def _in_centimetres(rig):
    rig.data.transform(Matrix.Scale(100, 4))
    rig.scale = (0.01,) * 3


def _on_a_moving_parent(rig):
    parent = bpy.data.objects.new("Parent", None)
    bpy.context.scene.collection.objects.link(parent)
    rig.parent = parent
    parent.keyframe_insert("location", frame=1)
    parent.location.x += 2
    parent.keyframe_insert("location", frame=30)


@pytest.mark.parametrize(
    "change",
    [
        _as_it_is,
        _turned_and_small,
        _eulers,
        _below_a_posed_root_bone,
        _without_inherited_rotation,
        _in_centimetres,
        _on_a_moving_parent,
    ],
)
def test_a_bake_read_back_is_the_motion_that_was_baked(baked, recording, change):
    rig, motion = baked(change)
    before = snapshot()
    apart, turned = largest_difference(recording, rig, motion)
    assert difference(before, snapshot()) == {}
    assert apart < 0.5
    assert turned < 0.1


def test_a_bake_in_an_nla_strip_is_read_as_it_plays(baked, recording):
    rig, motion = baked()
    action = rig.animation_data.action
    rig.animation_data.action = None
    rig.animation_data.nla_tracks.new().strips.new("Strip", 1, action)
    apart, turned = largest_difference(recording, rig, motion)
    assert apart < 0.5
    assert turned < 0.1


def test_an_object_that_moves_with_its_action_is_read_as_it_plays(baked, recording):
    rig, motion = baked()
    for frame, x in ((1, 0.0), (40, 3.9)):
        rig.location.x = x
        rig.keyframe_insert("location", frame=frame)
    found = recording.record(bpy.context, rig).motion
    moved = found.positions[:, 0] - motion.positions[:, 0]
    assert moved[0, 0] == pytest.approx(0, abs=1e-3)
    assert moved[-1, 0] == pytest.approx(3.9, abs=1e-3)


def test_the_frames_are_those_of_the_action_or_of_the_custom_range(baked, recording):
    rig, motion = baked()
    bpy.context.scene.frame_end = 10
    assert len(recording.record(bpy.context, rig).motion) == 40
    settings = bpy.context.scene.nsm
    settings.use_custom_range, settings.frame_start, settings.frame_end = True, 11, 20
    found = recording.record(bpy.context, rig).motion
    assert np.abs(found.positions - motion.positions[10:20]).max() < 0.5 * MILLIMETRE


def test_an_armature_without_animation_is_refused(engine, recording):
    rig, _ = build.shot(engine)
    with pytest.raises(Exception, match="has no action"):
        recording.record(bpy.context, rig)


def test_the_feet_that_touch_the_ground_are_found(baked, recording):
    rig, motion = baked(frames=90)
    found = recording.record(bpy.context, rig).motion
    agree = (found.contacts > 0.5) == (motion.contacts > 0.5)
    assert agree.mean() > 0.85
