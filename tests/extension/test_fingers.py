# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingers of bound rigs: left alone by default, posed on request, through the installed extension's operators."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from . import build, rigs

FRAMES = 30


@pytest.fixture
def rig():
    """Rigify's metarig, whose hands have five fingers of three bones, bound and with a path."""
    found, _ = rigs.metarig()
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.objects.active = found
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, FRAMES
    found.nsm.path = build.curve([(0, 0, 0), (0, -3, 0)], "POLY")
    bpy.ops.nsm.bind()
    return found


def keyed(rig) -> set[str]:
    """Bones that the action moves."""
    action = rig.animation_data.action
    curves = action.fcurves if hasattr(action, "fcurves") else action.layers[0].strips[0].channelbags[0].fcurves
    return {curve.data_path.split('"')[1] for curve in curves}


def fingers(names: set[str]) -> set[str]:
    return {name for name in names if name.startswith(("f_", "thumb"))}


def bent(rig, side: str) -> float:
    """Degrees between the hand and the end of the middle finger."""
    bones = rig.pose.bones
    along = np.array(bones[f"f_middle.01.{side}"].head - bones[f"hand.{side}"].head)
    end = np.array(bones[f"f_middle.03.{side}"].vector)
    return float(np.degrees(np.arccos(along @ end / np.linalg.norm(along) / np.linalg.norm(end))))


def test_fingers_are_left_alone_unless_asked_for(rig):
    rig.pose.bones["f_index.01.L"].rotation_quaternion = (0.9, 0.3, 0.2, 0.1)
    before = tuple(rig.pose.bones["f_index.01.L"].rotation_quaternion)
    assert rig.nsm.binding.fingers == "KEEP"
    bpy.ops.nsm.bake()
    assert fingers(keyed(rig)) == set()
    bpy.context.scene.frame_set(10)
    assert tuple(rig.pose.bones["f_index.01.L"].rotation_quaternion) == before


def test_hands_are_flat_relaxed_or_gripping_and_the_fingers_come_back(rig):
    found = {}
    for pose in ("FLAT", "RELAXED", "GRIP"):
        rig.nsm.binding.fingers = pose
        bpy.ops.nsm.bake()
        bpy.context.scene.frame_set(15)
        found[pose] = [bent(rig, side) for side in ("L", "R")]
        assert found[pose][0] == pytest.approx(found[pose][1], abs=3)
        assert len(fingers(keyed(rig))) == 30
        assert rig.nsm.report.rig_error_mm_max < 0.1
    assert max(found["FLAT"]) < 12
    assert min(found["RELAXED"]) > 40
    assert max(found["RELAXED"]) < 110
    assert min(found["GRIP"]) > 130
    bpy.ops.nsm.remove_bake()
    assert all(abs(bone.rotation_quaternion[0]) > 1 - 1e-6 for bone in rig.pose.bones if bone.name.startswith("f_"))


def test_a_finger_that_a_constraint_holds_is_left_alone(rig):
    rig.pose.bones["f_ring.02.L"].constraints.new("LIMIT_ROTATION")
    rig.nsm.binding.fingers = "RELAXED"
    bpy.ops.nsm.bake()
    assert "f_ring.02.L" not in keyed(rig)
    assert "f_pinky.02.L" in keyed(rig)


def test_a_rig_without_fingers_says_so_and_gets_no_keys(engine):
    rig, _ = build.shot(engine)
    rig.nsm.binding.fingers = "RELAXED"
    bpy.ops.nsm.bake()
    assert "no fingers" in rig.nsm.report.notes
    assert keyed(rig) == {bone.name for bone in rig.data.bones}


def test_hands_grip_while_they_hold(rig, extension_module):
    """What a motion file tells of its hands, as a carrying bake does."""
    rig.nsm.binding.fingers = "FLAT"
    read = extension_module("scene.armatures").read(bpy.context, rig)
    job = extension_module("operators.job").BakeJob(bpy.context, rig)
    job.run()
    motion = job.work.motion()
    count = len(motion)
    held = np.zeros((count, 1), dtype=np.float32)
    held[10:20] = 1
    holding = type(motion)(
        **{name: getattr(motion, name) for name in motion.__dataclass_fields__}
        | {"contacts": np.hstack((motion.contacts, held)), "contact_names": (*motion.contact_names, "RightHand")}
    )
    channels = {one.path: one.values for one in read.fingers.channels(holding)}
    right, left = (channels[f'pose.bones["f_middle.02.{side}"].rotation_quaternion'] for side in ("R", "L"))
    turned = 2 * np.degrees(np.arccos(np.clip(np.abs(right @ right[0]), 0, 1)))
    assert np.ptp(left, axis=0).max() < 1e-6
    assert turned[15] > 40
    assert turned[-1] < 1
