# SPDX-License-Identifier: GPL-3.0-or-later
"""Baked curves have few keys and show every frame of the motion nevertheless."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from . import build

MINUTE = 1440
"""Frames at the 24 frames a second of Blender's new files."""


@pytest.fixture
def job(extension_module):
    """A function that begins a bake of an armature."""
    module = extension_module("operators.job")
    return lambda rig: module.BakeJob(bpy.context, rig)


def _posed(rig):
    """World places (B, 3) and orientations (B, 3, 3) of all bones at the current frame."""
    bpy.context.view_layer.update()
    matrices = np.array([rig.matrix_world @ bone.matrix for bone in rig.pose.bones])
    return matrices[:, :3, 3], matrices[:, :3, :3]


def test_a_minute_takes_less_than_two_megabytes_and_is_what_it_was(extension_module, job, tmp_path):
    """A kept bake grows the file by that much; the bound holds against the same motion with a key in every frame."""

    def saved():
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"), compress=False)
        return (tmp_path / "shot.blend").stat().st_size

    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 24, 1, MINUTE
    bpy.ops.curve.primitive_bezier_circle_add(radius=3.0)
    circle = bpy.context.object
    bpy.ops.nsm.add_character()
    rig = bpy.context.object
    rig.nsm.path = circle
    before = saved()
    work = job(rig)
    work.run()
    assert saved() - before < 2_000_000
    armatures, frames = extension_module("scene.armatures"), work.gathered.frames
    world = armatures.world_matrices(bpy.context, rig, frames)
    whole = armatures.channels(work.gathered.rig, work.work.motion(), world, 1.0)
    for index in range(0, len(frames), 7):
        bpy.context.scene.frame_set(int(frames[index]))
        places, turned = _posed(rig)
        for channel in whole:
            owner, attribute = channel.path.rsplit(".", 1)
            setattr(rig.path_resolve(owner), attribute, channel.values[index])
        exact, wanted = _posed(rig)
        assert np.linalg.norm(places - exact, axis=1).max() < 1e-4
        # For small angles the matrices of two rotations are apart by their angle times the root of two.
        apart = np.linalg.norm(turned - wanted, axis=(1, 2)) / np.sqrt(2)
        assert np.degrees(apart.max()) < 0.05


def test_what_jumps_and_what_stands_still_is_kept(engine, extension_module):
    rig, _ = build.shot(engine)
    actions, frames = extension_module("scene.actions"), np.arange(1, 301)
    way = np.zeros((300, 3))
    way[100:, 0], way[:, 1] = 2.0, 0.7
    way[::7, 2] = np.random.default_rng(0).normal(size=43)
    made = actions.begin(rig, "Jump")
    actions.write(rig, made, frames, [actions.Channel("location", way, "Rig")])
    curves = actions.of(rig)
    shown = np.array([[curve.evaluate(frame) for curve in curves] for frame in frames.tolist()])
    assert np.abs(shown - way).max() < 5e-5
    assert len(curves[1].keyframe_points) == 2


@pytest.mark.parametrize("frames", [2, 3, 4, 5, 41, 120])
def test_a_quarter_of_the_keys_shows_every_frame_of_the_motion(engine, extension_module, job, frames):
    rig, _ = build.shot(engine, frames)
    work = job(rig)
    work.run()
    motion = work.work.motion()
    told = rig.nsm.report
    assert 0 <= told.rig_error_mm_max < 0.1
    assert told.keys_unthinned == 91 * frames
    if frames > 40:
        assert told.keys < 0.25 * told.keys_unthinned
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
