# SPDX-License-Identifier: GPL-3.0-or-later
"""Handles: proposed, moved by the animator, turned, kept through copies, and what is said of odd ones."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from .shapes import box, boxes, chair, select
from .snapshot import difference, snapshot


@pytest.fixture
def gathered(extension_module):
    """A function that gives the handles of an object as a shot has them."""
    module = extension_module("scene.colliders")

    def handles(obj):
        bpy.context.view_layer.update()
        return next(c.handles for c in module.gather(bpy.context, np.array([1])) if c.name == obj.name)

    return handles


@pytest.fixture
def roles(extension_module):
    return extension_module("nsm_blender.geometry.roles")


def wrap(obj, role):
    select(obj)
    assert bpy.ops.nsm.wrap_collider(role=role) == {"FINISHED"}
    return obj


def empties(obj):
    return {child["nsm_handle"]: child for child in obj.children if "nsm_handle" in child}


def test_a_chair_is_recognized_and_gets_a_seat_that_faces_away_from_its_back(gathered):
    obj = chair()
    select(obj)
    bpy.ops.nsm.wrap_collider()
    seat = gathered(obj)
    assert obj.nsm.collider.role == "seat"
    assert seat.place == pytest.approx([0, 0, 0.45], abs=0.08)
    assert seat.facing == pytest.approx([0, -1, 0], abs=0.1)
    assert "back" not in seat.approaches
    (empty,) = empties(obj).values()
    assert np.allclose(empty.matrix_world.translation, seat.place, atol=1e-5)
    assert (empty.parent, empty.type, empty.name) == (obj, "EMPTY", "Chair Seat")


def test_a_turned_and_scaled_chair_has_its_seat_in_meters_in_its_own_frame(gathered):
    obj = chair()
    obj.rotation_euler.z, obj.scale, obj.location = 2.0, (2, 1, 1), (5, 5, 1)
    seat = gathered(wrap(obj, "seat"))
    assert seat.place == pytest.approx([0, 0, 0.45], abs=0.08)
    assert seat.facing == pytest.approx([0, -1, 0], abs=0.1)
    assert seat.width == pytest.approx(0.96, abs=0.12)


def test_a_chair_that_is_stood_up_by_its_rotation_gets_a_seat_on_top(gathered):
    obj = chair()
    obj.data.transform(Matrix.Rotation(-math.pi / 2, 4, "X"))
    obj.rotation_euler.x = math.pi / 2
    seat = gathered(wrap(obj, "seat"))
    world = obj.matrix_world
    assert np.allclose(world @ Matrix.Translation(seat.place).translation, [0, 0, 0.45], atol=0.08)
    assert np.allclose(world.to_3x3() @ Matrix.Translation(seat.facing).translation, [0, -1, 0], atol=0.1)


@pytest.mark.parametrize("unit", [1.0, 0.01])
def test_what_the_animator_moves_arrives_in_the_shot(gathered, unit):
    bpy.context.scene.unit_settings.scale_length = unit
    obj = chair()
    obj.data.transform(Matrix.Scale(1 / unit, 4))
    obj.scale, obj.rotation_euler = (1, 1, 1.2), (0.0, 0.0, 0.7)
    wrap(obj, "seat")
    before = gathered(obj)
    empty = empties(obj)["seat"]
    empty.location.z += 0.1 / unit
    empty.rotation_euler.z += math.pi / 2
    empty.scale.x *= 0.5
    after = gathered(obj)
    assert np.allclose(np.array(after.place) - before.place, [0, 0, 0.1], atol=1e-4)
    assert after.facing == pytest.approx([1, 0, 0], abs=0.1)
    assert after.width == pytest.approx(before.width / 2, rel=1e-3)


def test_a_copy_without_its_empties_keeps_the_handles_as_they_were_moved(gathered):
    obj = wrap(chair(), "seat")
    empties(obj)["seat"].location.z += 0.2
    moved = gathered(obj)
    copy = obj.copy()
    bpy.context.scene.collection.objects.link(copy)
    copy.location.x = 4
    assert empties(copy) == {}
    assert gathered(copy).place == pytest.approx(moved.place, abs=1e-5)
    select(copy)
    assert bpy.ops.nsm.show_handles() == {"FINISHED"}
    assert set(empties(copy)) == {"seat"}
    assert gathered(copy).place == pytest.approx(moved.place, abs=1e-5)


def test_a_copied_chair_with_its_empties_has_handles_of_its_own(gathered):
    obj = wrap(chair(), "seat")
    select(obj, *empties(obj).values())
    bpy.ops.object.duplicate()
    copy = next(other for other in bpy.context.selected_objects if other.type == "MESH")
    empties(copy)["seat"].location.z += 0.3
    assert gathered(copy).place[2] == pytest.approx(gathered(obj).place[2] + 0.3, abs=1e-5)


def test_the_facing_is_turned_and_flipped(gathered):
    obj = wrap(chair(), "seat")
    before = gathered(obj)
    bpy.ops.nsm.turn_facing(angle=math.pi / 2)
    assert gathered(obj).facing == pytest.approx([1, 0, 0], abs=0.1)
    assert gathered(obj).width == pytest.approx(before.depth, rel=1e-3)
    bpy.ops.nsm.turn_facing()
    assert gathered(obj).facing == pytest.approx([-1, 0, 0], abs=0.1)
    assert gathered(obj).place == pytest.approx(before.place, abs=1e-4)


def test_a_seat_that_faces_its_back_is_warned_about_in_words():
    obj = wrap(chair(), "seat")
    assert obj.nsm.collider.warnings == ""
    bpy.ops.nsm.turn_facing()
    assert len(obj.nsm.collider.warnings) > 20
    bpy.ops.nsm.propose_handles()
    assert obj.nsm.collider.warnings == ""


def test_a_seat_that_is_too_high_is_warned_about_in_words():
    obj = chair()
    obj.scale.z = 1.2 / 0.45
    wrap(obj, "seat")
    assert len(obj.nsm.collider.warnings) > 20


def test_a_handle_that_was_moved_is_checked_again_on_request():
    obj = wrap(chair(), "seat")
    empties(obj)["seat"].location.z += 1.0
    bpy.context.view_layer.update()
    assert bpy.ops.nsm.check_handles() == {"FINISHED"}
    assert len(obj.nsm.collider.warnings) > 20


def test_another_role_brings_its_own_handles_and_none_takes_them_away(gathered, roles):
    obj = wrap(boxes(((-0.2, -0.15, 0), (0.2, 0.15, 0.3))), "carryable")
    assert set(empties(obj)) == {"left", "right"}
    assert isinstance(gathered(obj), roles.Carryable)
    bpy.ops.nsm.set_role(role="surface")
    assert set(empties(obj)) == {"surface"}
    assert isinstance(gathered(obj), roles.Surface)
    bpy.ops.nsm.set_role(role="obstacle")
    assert (empties(obj), gathered(obj), len(bpy.data.objects)) == ({}, None, 1)


def test_moving_a_hand_turns_the_carrier(gathered):
    obj = wrap(boxes(((-0.2, -0.15, 0), (0.2, 0.15, 0.3))), "carryable")
    left, right = empties(obj)["left"], empties(obj)["right"]
    left.location, right.location = (0, 0.15, 0.15), (0, -0.15, 0.15)
    # With the left hand at +Y and the right one at -Y, the character stands at -X and looks along +X.
    assert gathered(obj).facing == pytest.approx([-1, 0, 0], abs=1e-4)


def every_handle(roles):
    return {
        "seat": roles.Seat([0.1, 0.2, 0.3], [0.6, -0.8, 0.0], 0.5, 0.4, [[0.3, 0, 0.6], [-0.3, 0, 0.6]], ["left"]),
        "door": roles.Door([0.1, 0, 0], [0.0, 0.0, 1.0], [0.9, 0, 1], 0.85, 2.1, -1.2),
        "carryable": roles.Carryable([-0.2, 0, 0.1], [0.2, 0, 0.1], [0.0, -1.0, 0.0], "heavy"),
        "surface": roles.Surface([0, 0, 0.7], [0.0, 1.0, 0.0], 0.9, 0.5),
        "climbable": roles.Climbable([0, -0.3, 0.3], [0.0, 1.0, 0.0], [0, 0.2, 0.3], 0.8),
    }


@pytest.mark.parametrize("role", ["seat", "door", "carryable", "surface", "climbable"])
def test_handles_come_back_from_their_empties_as_they_went_in(extension_module, gathered, roles, role):
    obj = wrap(box(), "obstacle")
    obj.rotation_euler, obj.scale, obj.location = (0, 0, 1.1), (1, 3, 0.5), (7, 8, 9)
    bpy.context.view_layer.update()
    module, wanted = extension_module("scene.handles"), every_handle(roles)[role]
    obj.nsm.collider.role = role
    module.store(obj, wanted)
    assert module.apart(gathered(obj), wanted) < 1e-5
    module.show(bpy.context, obj, wanted)
    found = gathered(obj)
    assert module.apart(found, wanted) < 1e-5
    assert roles.to_data(found).keys() == roles.to_data(wanted).keys()
    if role == "seat":
        assert found.approaches == wanted.approaches
    if role == "carryable":
        assert found.weight == wanted.weight


def test_a_door_has_no_facing_to_turn(gathered):
    obj = wrap(boxes(((0, -0.02, 0), (0.9, 0.02, 2))), "door")
    before = snapshot()
    with pytest.raises(RuntimeError, match="no facing"):
        bpy.ops.nsm.turn_facing()
    assert difference(before, snapshot()) == {}
    obj.nsm.collider.angle = -1.0
    assert gathered(obj).angle == pytest.approx(-1.0)


def test_an_obstacle_has_no_handles_to_propose():
    wrap(box(), "obstacle")
    with pytest.raises(RuntimeError, match="which has no handles"):
        bpy.ops.nsm.propose_handles()


def test_a_deleted_handle_is_missed_with_the_reason(extension_module, gathered):
    obj = wrap(boxes(((-0.2, -0.15, 0), (0.2, 0.15, 0.3))), "carryable")
    bpy.data.objects.remove(empties(obj)["left"])
    with pytest.raises(extension_module("nsm_blender.errors").ColliderError, match="lacks the handle left"):
        gathered(obj)


def test_handles_of_a_removed_collider_are_removed_too():
    obj = wrap(chair(), "seat")
    bpy.ops.nsm.remove_collider()
    assert list(bpy.data.objects) == [obj]


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("scale", [(1.5, 1.5, 1.5), (1.0, 1.0, 1.4), (2.0, 1.0, 1.0), (1.0, 0.5, 1.0)])
def test_a_chair_that_is_scaled_later_has_its_seat_where_it_is_seen(gathered, scale, hidden):
    obj = wrap(chair(), "seat")
    before = gathered(obj)
    if hidden:
        for empty in empties(obj).values():
            bpy.data.objects.remove(empty)
    obj.scale = scale
    seat = gathered(obj)
    assert seat.place == pytest.approx(np.multiply(before.place, scale).tolist(), abs=1e-3)
    assert seat.facing == pytest.approx(before.facing, abs=1e-3)
    assert seat.width == pytest.approx(before.width * scale[0], rel=1e-3)
    assert seat.depth == pytest.approx(before.depth * scale[1], rel=1e-3)
    obj.scale = (1, 1, 1)
    assert gathered(obj).place == pytest.approx(before.place, abs=1e-4)


@pytest.mark.parametrize("hidden", [False, True])
def test_a_scaled_door_has_its_hinge_handle_and_leaf_at_its_scale(gathered, hidden):
    obj = wrap(boxes(((0, -0.025, 0), (0.9, 0.025, 2.0)), name="Door"), "door")
    before = gathered(obj)
    if hidden:
        for empty in empties(obj).values():
            bpy.data.objects.remove(empty)
    obj.scale = (1.2, 1.0, 1.1)
    door = gathered(obj)
    assert door.hinge == pytest.approx(np.multiply(before.hinge, obj.scale).tolist(), abs=1e-3)
    assert door.handle == pytest.approx(np.multiply(before.handle, obj.scale).tolist(), abs=1e-3)
    assert door.width == pytest.approx(before.width * 1.2, rel=1e-3)
    assert door.height == pytest.approx(before.height * 1.1, rel=1e-3)
