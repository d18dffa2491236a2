# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins that cannot hold: the user reads so, and by how much."""

import bpy
import numpy as np
import pytest

from . import build

FRAMES, PINNED = 60, (29, 31)


@pytest.fixture
def walking(engine):
    """A character that walks, with the trajectory kept and the right hand to be pinned to an empty."""
    rig, _ = build.shot(engine, FRAMES)
    bpy.ops.nsm.bake()
    constraints = rig.nsm.manifold.edit.constraints
    constraints.add().kind = "TRAJECTORY"
    item = constraints.add()
    item.kind, item.joint = "PIN", "RightHand"
    item.use_range, item.frame_start, item.frame_end = True, *PINNED
    item.target = bpy.data.objects.new("Rail", None)
    bpy.context.scene.collection.objects.link(item.target)
    bpy.context.scene.frame_set(sum(PINNED) // 2)
    return rig, item.target


def beside_the_hand(rig, offset):
    return np.add(rig.matrix_world @ rig.pose.bones["RightHand"].head, offset)


def test_a_hand_that_stays_short_of_its_pin_is_a_warning_with_the_centimeters(walking, capfd):
    rig, rail = walking
    rail.location = beside_the_hand(rig, (0, 0.8, 0.6))
    assert bpy.ops.nsm.edit_motion() == {"FINISHED"}
    (line,) = [line for line in capfd.readouterr().out.splitlines() if line.startswith("Warning")]
    assert "RightHand stays" in line
    assert "cm short of its pin" in line
    figures = {figure.label: figure for figure in rig.nsm.manifold.edit.figures}
    assert f"{figures['Pins'].after:.0f} cm short" in line


def test_a_pin_that_is_reached_is_no_warning(walking, capfd):
    rig, rail = walking
    rail.location = beside_the_hand(rig, (0.1, 0, 0.1))
    assert bpy.ops.nsm.edit_motion() == {"FINISHED"}
    assert "Warning" not in capfd.readouterr().out


def test_a_pin_that_nothing_reaches_is_refused_and_the_scene_left_as_it_was(walking):
    rig, rail = walking
    rail.location = beside_the_hand(rig, (0, 0, 4))
    action = rig.animation_data.action
    with pytest.raises(RuntimeError, match=r"RightHand lies .* cm higher than the character reaches"):
        bpy.ops.nsm.edit_motion()
    assert rig.animation_data.action == action
    assert len(bpy.data.actions) == 1
