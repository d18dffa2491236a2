# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals: adding them with one call, their facing, and those on colliders."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest

from . import build


@pytest.fixture
def facing_of(extension_module):
    """A function that says where a goal looks, None for anywhere."""
    module = extension_module("scene.goals")

    def facing(goal):
        bpy.context.view_layer.update()
        return module.facing_of(np.array(goal.matrix_world))

    return facing


def box(name: str = "Table", place: tuple[float, float, float] = (0, 0, 0.5)) -> bpy.types.Object:
    bpy.ops.mesh.primitive_cube_add(size=1, location=place)
    bpy.context.object.name = name
    return bpy.context.object


def test_a_goal_is_added_with_one_call_from_a_script(facing_of):
    assert bpy.ops.nsm.add_goal(location=(2, -3, 0), use_facing=True, facing=1.2, name="Window") == {"FINISHED"}
    goal = bpy.data.objects["Window"]
    assert goal.type == "EMPTY"
    assert tuple(goal.location) == (2, -3, 0)
    assert facing_of(goal) == pytest.approx(1.2)


def test_a_goal_appears_at_the_cursor_and_is_selected_while_the_character_stays_active():
    bpy.ops.nsm.add_character()
    rig = bpy.context.object
    bpy.context.scene.cursor.location = (1, 2, 0)
    bpy.ops.nsm.add_goal()
    (goal,) = bpy.context.selected_objects
    assert goal.empty_display_type == "SINGLE_ARROW"
    assert tuple(goal.location) == (1, 2, 0)
    assert bpy.context.view_layer.objects.active == rig


def test_turning_a_goal_about_z_turns_its_facing_and_an_upright_arrow_leaves_it_open(facing_of):
    bpy.ops.nsm.add_goal(name="A", use_facing=True)
    goal = bpy.data.objects["A"]
    assert facing_of(goal) == pytest.approx(0)
    goal.rotation_euler.z += math.pi / 2
    assert facing_of(goal) == pytest.approx(math.pi / 2)
    goal.rotation_euler = (0, 0, 2)
    assert facing_of(goal) is None


def test_a_goal_on_a_collider_is_its_child_and_moves_with_it():
    table = box()
    bpy.ops.nsm.wrap_collider(role="surface")
    bpy.ops.nsm.add_goal(name="At Table")
    goal = bpy.data.objects["At Table"]
    assert goal.parent == table
    assert goal.nsm.goal.uses == table
    bpy.context.view_layer.update()
    before = goal.matrix_world.translation.copy()
    assert (before - table.location).xy.length < 1e-5
    table.location.x += 2
    bpy.context.view_layer.update()
    assert goal.matrix_world.translation.x == pytest.approx(before.x + 2)


def test_a_goal_on_an_obstacle_stands_before_its_front_and_looks_at_it(facing_of):
    crate = box("Crate", (3, 0, 0.5))
    crate.rotation_euler.z = math.pi / 2  # its front, -Y, now looks to +X
    bpy.context.view_layer.update()
    bpy.ops.nsm.wrap_collider(role="obstacle")
    bpy.ops.nsm.add_goal(name="At Crate")
    bpy.context.view_layer.update()
    goal = bpy.data.objects["At Crate"]
    assert tuple(goal.matrix_world.translation) == pytest.approx((4, 0, 0), abs=1e-5)
    assert facing_of(goal) == pytest.approx(-math.pi / 2)


def test_a_goal_on_what_is_no_collider_is_refused():
    box("Lamp")
    with pytest.raises(RuntimeError, match="'Lamp' is not a collider"):
        bpy.ops.nsm.add_goal(collider="Lamp")
    assert not [obj for obj in bpy.data.objects if obj.type == "EMPTY"]


def test_an_empty_becomes_a_goal_and_its_character_is_found_from_it(engine, extension_module):
    rigs = [build.armature(engine, name) for name in ("One", "Two")]
    empty = bpy.data.objects.new("Spot", None)
    bpy.context.scene.collection.objects.link(empty)
    for obj in bpy.context.selected_objects:
        obj.select_set(False)
    empty.select_set(True)
    assert bpy.ops.nsm.mark_goal() == {"FINISHED"}
    bpy.context.view_layer.objects.active = rigs[1]
    bpy.ops.nsm.add_action_key(action="walk", goal="Spot")
    bpy.context.view_layer.objects.active = empty
    assert extension_module("scene.lookup").character(bpy.context) == rigs[1]


def test_without_an_empty_no_goal_can_be_made_of_the_selection():
    box()
    assert not bpy.ops.nsm.mark_goal.poll()
