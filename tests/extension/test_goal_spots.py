# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals that are moved on their collider: the part that is nearest to them is used."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from . import build
from .shapes import boxes, select

TURNED, AT = 0.4, (0.5, -2.5, 0.0)


@pytest.fixture
def sofa():
    """A sofa for three that looks along its -Y, turned away from the axes, and a character that is to sit on it."""
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, 240
    seat, back = ((-0.9, -0.3, 0.0), (0.9, 0.3, 0.43)), ((-0.9, 0.3, 0.0), (0.9, 0.45, 0.85))
    obj = boxes(seat, back, name="Sofa")
    obj.location, obj.rotation_euler.z = AT, np.pi + TURNED
    select(obj)
    bpy.ops.nsm.wrap_collider(role="seat")
    bpy.ops.nsm.add_goal(name="On Sofa")
    return obj


@pytest.fixture
def sitter(engine, sofa):
    rig = build.armature(engine)
    bpy.ops.nsm.add_action_key(action="sit", goal="On Sofa")
    return rig


def cushion(sofa, x):
    """The middle of a cushion in the world."""
    bpy.context.view_layer.update()
    return np.array(sofa.matrix_world)[:3] @ [x, 0.0, 0.43, 1.0]


def shot(extension_module, rig):
    return extension_module("scene.gather_keys").gather(bpy.context, rig).shot


def test_a_goal_counts_as_moved_only_when_it_was(sitter, sofa, extension_module):
    goal = bpy.data.objects["On Sofa"]
    assert not shot(extension_module, sitter).goals[0].by_place
    sofa.location.x += 1.0
    bpy.context.view_layer.update()
    assert not shot(extension_module, sitter).goals[0].by_place, "it went along with the sofa"
    goal.matrix_world.translation = cushion(sofa, 0.6)
    bpy.context.view_layer.update()
    assert shot(extension_module, sitter).goals[0].by_place


def test_a_goal_given_a_place_by_a_script_says_where(sitter, sofa, extension_module):
    bpy.ops.nsm.add_goal(name="Left", collider="Sofa", location=cushion(sofa, -0.6))
    bpy.context.view_layer.objects.active = sitter
    sitter.nsm.keys[0].goal = bpy.data.objects["Left"]
    assert shot(extension_module, sitter).goals[0].by_place


def test_an_empty_that_stands_on_a_cushion_and_is_made_a_goal_says_where(sitter, sofa, extension_module):
    empty = bpy.data.objects.new("By Hand", None)
    bpy.context.scene.collection.objects.link(empty)
    empty.location = cushion(sofa, 0.6)
    select(empty)
    bpy.ops.nsm.mark_goal()
    empty.nsm.goal.uses = sofa
    sitter.nsm.keys[0].goal = empty
    bpy.context.view_layer.update()
    assert shot(extension_module, sitter).goals[0].by_place


@pytest.mark.parametrize("x", [-0.6, 0.6])
def test_the_character_sits_on_the_cushion_to_which_the_goal_was_moved(sitter, sofa, x):
    bpy.data.objects["On Sofa"].matrix_world.translation = cushion(sofa, x)
    bpy.context.view_layer.objects.active = sitter
    assert bpy.ops.nsm.bake() == {"FINISHED"}
    bpy.context.scene.frame_set(bpy.context.scene.frame_end)
    hips = sitter.evaluated_get(bpy.context.evaluated_depsgraph_get())
    bone = next(bone for bone in hips.pose.bones if bone.parent is None)
    place = np.array(sitter.matrix_world @ bone.head)
    assert np.linalg.norm((place - cushion(sofa, x))[:2]) < 0.25
    assert np.linalg.norm((place - cushion(sofa, 0.0))[:2]) > 0.35


def test_the_boards_of_a_shelf_are_known_to_the_shot(engine, extension_module):
    boards = [((-0.5, -0.2, z), (0.5, 0.2, z + 0.03)) for z in (0.4, 0.8, 1.2)]
    walls = [((x, -0.2, 0.0), (x + 0.03, 0.2, 1.23)) for x in (-0.53, 0.5)]
    shelf = boxes(*boards, *walls, name="Shelf")
    select(shelf)
    bpy.ops.nsm.wrap_collider(role="surface")
    rig = build.armature(engine)
    bpy.ops.nsm.add_action_key(action="idle", goal="")
    (found,) = shot(extension_module, rig).colliders
    heights = sorted(top.place[2] for top in (found.handles, *found.also))
    assert heights == pytest.approx([0.43, 0.83, 1.23], abs=0.01)
