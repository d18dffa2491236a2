# SPDX-License-Identifier: GPL-3.0-or-later
"""Punches and kicks at targets."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from . import build
from .layouts import drawn
from .snapshot import difference, snapshot
from .test_manifold import empty, select


@pytest.fixture
def striker(engine):
    """A character with a target before its chest that its right hand hits at frame 30, as (character, target)."""
    rig, _ = build.shot(engine, frames=60)
    target = empty((-0.1, -0.5, 1.3))
    select(target, rig)
    bpy.context.scene.frame_set(30)
    bpy.ops.nsm.add_strike()
    bpy.context.scene.frame_set(1)
    return rig, target


def place_of(rig, bone, frame):
    """World place of a bone's head at a frame."""
    bpy.context.scene.frame_set(frame)
    return np.array(rig.matrix_world @ rig.pose.bones[bone].head)


def test_a_strike_is_added_for_the_selected_target_at_the_current_frame(striker):
    rig, target = striker
    (strike,) = rig.nsm.manifold.strike.strikes
    assert (strike.target, strike.frame, strike.limb) == (target, 30, "RightHand")
    assert "Synthesize Strikes" in drawn("NSM_PT_strike")
    bpy.ops.nsm.remove_strike()
    assert not bpy.ops.nsm.remove_strike.poll()
    assert not bpy.ops.nsm.synthesize_strike.poll()


def test_the_hand_is_at_the_target_at_its_frame(striker):
    rig, target = striker
    assert bpy.ops.nsm.synthesize_strike() == {"FINISHED"}
    assert np.linalg.norm(place_of(rig, "RightHand", 30) - target.location) < 0.01
    assert rig.nsm.report.rig_error_mm_max < 0.05
    assert rig.nsm.report.path_error_cm < 0  # no path was followed
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data is None


def test_the_character_strikes_from_where_it_stands_or_from_where_it_hits_best(striker, extension_module):
    rig, _ = striker
    rig.location, rig.rotation_euler.z = (1, 2, 0.5), 0.5
    bpy.context.view_layer.update()
    gather = extension_module("scene.strikes").gather
    before = snapshot()
    _, shot = gather(bpy.context, rig)
    assert difference(before, snapshot()) == {}
    assert shot.start == pytest.approx((1, 2, 0.5), abs=1e-3)
    assert shot.facing is None
    assert (shot.frames, shot.fps, shot.targets[0].time) == (60, 30, pytest.approx(29 / 30))
    rig.nsm.manifold.strike.begin = "HERE"
    _, shot = gather(bpy.context, rig)
    assert shot.facing == pytest.approx(0.5, abs=1e-3)
    rig.nsm.manifold.strike.begin = "BEST"
    _, shot = gather(bpy.context, rig)
    assert (shot.start, shot.facing) == (None, None)


def test_a_moving_target_is_hit_where_it_is_at_that_frame(striker, extension_module):
    rig, target = striker
    for frame, x in ((1, 0.0), (30, 0.2), (60, 3.0)):
        target.location.x = x
        target.keyframe_insert("location", frame=frame)
    _, shot = extension_module("scene.strikes").gather(bpy.context, rig)
    assert shot.targets[0].place == pytest.approx((0.2, -0.5, 1.3), abs=1e-5)


def test_a_target_that_cannot_be_hit_is_named(striker):
    rig, target = striker
    strike = rig.nsm.manifold.strike.strikes[0]
    strike.frame = 100
    with pytest.raises(RuntimeError, match="'Target' is to be hit at frame 100, outside of 1 to 60"):
        bpy.ops.nsm.synthesize_strike()
    strike.frame, strike.target = 30, None
    with pytest.raises(RuntimeError, match="has no target"):
        bpy.ops.nsm.synthesize_strike()
    strike.target, target.location.y = target, -5
    before = snapshot()
    with pytest.raises(RuntimeError, match="m away from the character"):
        bpy.ops.nsm.synthesize_strike()
    assert difference(before, snapshot()) == {}


@pytest.mark.parametrize("progress", [0.1, 0.86, 0.95])
def test_a_cancelled_strike_leaves_everything_as_it_was(striker, extension_module, progress):
    rig, _ = striker
    before = snapshot()
    job = extension_module("operators.strike_job").StrikeJob(bpy.context, rig)
    while job.progress < progress:
        job.step()
    assert not job.done
    job.cancel()
    assert difference(before, snapshot()) == {}
