# SPDX-License-Identifier: GPL-3.0-or-later
"""Mirrored motions and loops of a gait, through the installed extension's operators."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from . import build, rigs
from .snapshot import difference, snapshot

FRAMES = 90


@pytest.fixture
def walker(engine):
    """A function that bakes three seconds of walking along a curve through `points`; returns the armature."""

    def bake(points, bound=False):
        rig, way = build.shot(engine, FRAMES)
        if bound:
            bpy.data.objects.remove(rig)
            rig, _ = rigs.add("Mixamo")
            bpy.ops.nsm.bind()
        bpy.data.objects.remove(way)
        rig.nsm.path = build.curve(points, "BEZIER")
        rig.location = points[0]
        bpy.ops.nsm.bake()
        return rig

    return bake


STRAIGHT = [(1.0, 0.5, 0), (1.0, -3, 0), (1.0, -7, 0)]
BENT = [(0, 0, 0), (0.3, -2, 0), (2.5, -4, 0)]


def heads(rig, frames) -> np.ndarray:
    """World places (F, B, 3) of the bones' heads."""
    out = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        out.append([tuple(rig.matrix_world @ bone.head) for bone in rig.pose.bones])
    return np.array(out)


@pytest.mark.parametrize("bound", [False, True])
def test_a_mirrored_motion_bends_to_the_other_side_and_mirrored_again_is_the_first(walker, bound):
    rig = walker(BENT, bound)
    action, name = rig.animation_data.action, rig.animation_data.action.name
    frames = range(1, FRAMES + 1, 6)
    first = heads(rig, frames)
    assert bpy.ops.nsm.mirror_motion() == {"FINISHED"}
    other = rig.animation_data.action
    assert other != action and other.name == f"{name} Mirrored"
    assert tuple(other.frame_range) == tuple(action.frame_range)
    hips = 0 if not bound else rig.pose.bones.find(rig.nsm.binding.matches["Hips"].bone)
    once = heads(rig, frames)
    assert first[-1, hips, 0] - first[0, hips, 0] > 1.0
    assert once[-1, hips, 0] - once[0, hips, 0] < -0.5
    assert bpy.ops.nsm.mirror_motion() == {"FINISHED"}
    again = heads(rig, frames)
    assert np.linalg.norm(again - first, axis=-1).max() < 1e-4
    assert {action.name, other.name} < {one.name for one in bpy.data.actions}


def test_removing_a_mirrored_motion_brings_the_first_back(walker):
    walker(BENT)
    before = snapshot()
    bpy.ops.nsm.mirror_motion()
    bpy.ops.nsm.remove_bake()
    found = {path for path in difference(before, snapshot()) if ".report" not in path}
    assert not found


@pytest.mark.parametrize("way", ["SPOT", "TRAVEL"])
@pytest.mark.parametrize("root", ["HIPS", "OBJECT"])
def test_a_loop_goes_round_without_a_seam(walker, way, root):
    rig = walker(STRAIGHT, bound=True)
    source = rig.animation_data.action
    if root == "OBJECT":
        rig.nsm.binding.root_motion = "OBJECT"
        bpy.ops.nsm.bake()
        source = rig.animation_data.action
    assert bpy.ops.nsm.loop_gait(way=way) == {"FINISHED"}
    action = rig.animation_data.action
    assert action != source and source.name in bpy.data.actions
    first, last = (round(frame) for frame in action.frame_range)
    assert action.use_cyclic and action.use_frame_range
    count = last - first
    places = heads(rig, range(first, last + 4))
    moved = places[count] - places[0]
    assert np.abs(moved - moved.mean(axis=0)).max() < 1e-4, "the last frame is the first one, farther on"
    assert np.abs(places[count:] - places[:4] - moved).max() < 1e-4, "the next round is this one, farther on"
    changes = np.linalg.norm(np.diff(places, n=2, axis=0), axis=-1).max(axis=1)
    inside = changes[: count - 1]
    assert changes[count - 1 : count + 1].max() <= max(np.percentile(inside, 99), 1e-4)
    far = np.linalg.norm(moved.mean(axis=0))
    if way == "SPOT":
        assert far < 1e-4
        assert np.linalg.norm(places[:, 0, :2] - places[0, 0, :2], axis=-1).max() < 0.1
    else:
        speed = far / count * 30
        assert speed == pytest.approx(1.4, abs=0.3)
        assert abs(moved[0, 2]) < 1e-3
    assert np.linalg.norm(places[0, 0, :2] - [1.0, 0.5]) < 0.15, "it begins where the character stands"


def test_a_bend_is_written_as_often_as_asked_and_does_not_go_round_by_itself(walker):
    rig = walker(BENT)
    assert bpy.ops.nsm.loop_gait(way="TRAVEL", rounds=2, cycles=1) == {"FINISHED"}
    action = rig.animation_data.action
    first, last = (round(frame) for frame in action.frame_range)
    assert (last - first) % 2 == 0
    assert not action.use_cyclic


def test_without_steps_there_is_no_loop_and_nothing_changes(walker):
    walker(STRAIGHT)
    scene = bpy.context.scene
    scene.nsm.use_custom_range, scene.nsm.frame_start, scene.nsm.frame_end = True, 1, 12
    before = snapshot()
    with pytest.raises(RuntimeError, match="no whole cycle of a gait"):
        bpy.ops.nsm.loop_gait()
    assert difference(before, snapshot()) == {}


def test_mirroring_is_canceled_with_nothing_left_behind(walker, extension_module):
    rig = walker(BENT)
    job = extension_module("operators.variation_job").MirrorJob(bpy.context, rig)
    before = snapshot()
    while job.progress < 0.9:
        job.step()
    job.cancel()
    assert difference(before, snapshot()) == {}
