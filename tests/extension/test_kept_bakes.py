# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes that are kept have few keys, and show every frame of the motion nevertheless."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from . import build
from .snapshot import difference, snapshot

FRAMES = 240
"""10 s at the 24 frames a second of Blender's new files."""


@pytest.fixture
def job(extension_module):
    """A function that begins to keep the bake of an armature."""
    module = extension_module("operators.keep_job")
    return lambda rig: module.KeepJob(bpy.context, rig)


def _walk(frames):
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 24, 1, frames
    bpy.ops.curve.primitive_bezier_circle_add(radius=3.0)
    circle = bpy.context.object
    bpy.ops.nsm.add_character()
    rig = bpy.context.object
    rig.nsm.path = circle
    bpy.ops.nsm.bake()
    return rig


def _posed(rig, frames):
    """World places (F, B, 3) and orientations (F, B, 3, 3) of all bones."""
    shown = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        shown.append([rig.matrix_world @ bone.matrix for bone in rig.pose.bones])
    matrices = np.array(shown)
    return matrices[..., :3, 3], matrices[..., :3, :3]


def test_a_kept_bake_takes_a_third_less_of_the_file_and_shows_what_it_did(engine, tmp_path):
    """A minute takes under 2 MB: `nsm-blender bench --growth`."""

    def saved():
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"), compress=False, copy=True)
        return (tmp_path / "shot.blend").stat().st_size

    rig = _walk(FRAMES)
    frames = range(1, FRAMES + 1, 7)
    places, turned = _posed(rig, frames)
    keys = rig.nsm.report.keys
    fresh = saved()
    bpy.ops.nsm.remove_bake()
    without = saved()
    bpy.ops.nsm.bake()
    assert bpy.ops.nsm.keep_bake() == {"FINISHED"}
    assert rig.animation_data.action.nsm.keep
    assert rig.nsm.report.keys < 0.67 * keys
    assert saved() - without < 0.67 * (fresh - without)
    now, ways = _posed(rig, frames)
    assert np.linalg.norm(now - places, axis=-1).max() < 1e-4
    # For small angles the matrices of two rotations are apart by their angle times the root of two.
    assert np.degrees(np.linalg.norm(ways - turned, axis=(-2, -1)).max() / np.sqrt(2)) < 0.05


def test_a_bake_that_is_marked_by_a_script_is_thinned_when_the_next_one_comes(engine):
    rig = _walk(60)
    first = rig.animation_data.action
    first.nsm.keep = True
    bpy.ops.nsm.bake()
    again = rig.nsm.report.keys
    assert first.name in bpy.data.actions
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data.action == first
    assert sum(len(curve.keyframe_points) for curve in _curves(first)) < 0.7 * again


def _curves(action):
    bags = [action] if bpy.app.version < (4, 4, 0) else [b for s in action.layers[0].strips for b in s.channelbags]
    return [curve for bag in bags for curve in bag.fcurves]


def test_keeping_twice_changes_nothing_more(engine):
    _walk(16)
    bpy.ops.nsm.keep_bake()
    before = snapshot()
    assert bpy.ops.nsm.keep_bake() == {"FINISHED"}
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_keeping_that_is_cancelled_leaves_the_bake_as_it_was(engine, job, share):
    rig = _walk(16)
    before = snapshot()
    pieces = job(rig)
    count = 0
    while not pieces.done:
        pieces.step()
        count += 1
    pieces.undo()
    rig.animation_data.action.nsm.keep = False
    rig.nsm.report.keys = sum(len(curve.keyframe_points) for curve in _curves(rig.animation_data.action))
    assert difference(before, snapshot()) == {}
    work = job(rig)
    for _ in range(int(share * count)):
        work.step()
    work.cancel()
    assert difference(before, snapshot()) == {}


def test_curves_that_the_animator_has_changed_are_left_alone(engine):
    rig = _walk(60)
    bone = rig.pose.bones["Head"]
    bone.keyframe_insert("rotation_quaternion", frame=30)
    curves = {(c.data_path, c.array_index): c for c in _curves(rig.animation_data.action)}
    curves['pose.bones["Hips"].location', 2].modifiers.new("NOISE")
    mine = [curves['pose.bones["Head"].rotation_quaternion', 0], curves['pose.bones["Hips"].location', 2]]
    counts = [len(curve.keyframe_points) for curve in mine]
    bpy.ops.nsm.keep_bake()
    curves = {(c.data_path, c.array_index): c for c in _curves(rig.animation_data.action)}
    mine = [curves['pose.bones["Head"].rotation_quaternion', 0], curves['pose.bones["Hips"].location', 2]]
    assert [len(curve.keyframe_points) for curve in mine] == counts


def test_what_jumps_and_what_stands_still_is_kept(engine, extension_module):
    rig, _ = build.shot(engine)
    actions, kept = extension_module("scene.actions"), extension_module("scene.kept")
    finished = extension_module("nsm_blender.stepwise").finished
    frames, way = np.arange(1, 301), np.zeros((300, 3))
    way[100:, 0], way[:, 1] = 2.0, 0.7
    way[::7, 2] = np.random.default_rng(0).normal(size=43)
    made = actions.begin(rig, "Jump")
    actions.write(rig, made, frames, [actions.Channel("location", way, "Rig")])
    finished(kept.Thinning(bpy.context, rig, made).work())
    curves = actions.of(rig)
    shown = np.array([[curve.evaluate(frame) for curve in curves] for frame in frames.tolist()])
    assert np.abs(shown - way).max() < 5e-5
    assert len(curves[1].keyframe_points) == 2


def test_between_frames_kept_curves_stay_between_their_neighbors(engine, extension_module):
    """Motion blur looks there."""
    rig = _walk(120)
    bpy.ops.nsm.keep_bake()
    for curve in extension_module("scene.actions").of(rig):
        whole = np.array([curve.evaluate(frame) for frame in range(1, 121)])
        half = np.array([curve.evaluate(frame + 0.5) for frame in range(1, 120)])
        straight = (whole[1:] + whole[:-1]) / 2
        bend = np.abs(np.diff(whole, 2)).max()
        assert np.abs(half - straight).max() <= 0.5 * bend + 1e-5, curve.data_path
