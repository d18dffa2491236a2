# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals that point at a part of a thing: another cushion, board or side is used as far as the thing offers it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Carryable, Climbable, Handles, Seat, Surface
from nsm_blender.geometry.scaling import scaled
from nsm_blender.geometry.spots import at_spot
from nsm_blender.planning.approach_poses import stands, used_handles
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.carry import put_down_aim

from .legs import leg

UP = np.array([0.0, 0.0, 1.0])
SOFA = Seat([0, 0, 0.45], [0, -1, 0], 2.0, 0.5, [[1.1, 0, 0.6]], ["front", "left"])
WING = Seat([-1.2, -1.0, 0.45], [1, 0, 0], 0.7, 0.5)
BENCH = Seat([0, 0, 0.45], [0, -1, 0], 1.6, 0.4, [], ["front", "left", "right", "back"])
BOARDS = [Surface([0, 0, z], [0, -1, 0], 0.8, 0.4) for z in (0.9, 0.5, 1.3)]
TURNED = np.array([[3.0, 1.0, 0.0, np.cos(0.5), 0, 0, np.sin(0.5)]])


def collider(handles: Handles, also: list[Handles] | None = None, pose=TURNED) -> Collider:
    cuboids = Cuboids(np.array([[0, 0, 0.2]]), np.array([[1.0, 0.25, 0.2]]))
    role = {Seat: "seat", Surface: "surface"}[type(handles)]
    return Collider("thing", cuboids, pose, role, handles, also or [])


def in_world(local, pose=TURNED[0]):
    c, s = np.cos(1.0), np.sin(1.0)
    x, y, z = local
    return [float(pose[0] + c * x - s * y), float(pose[1] + s * x + c * y), float(pose[2] + z)]


@pytest.mark.parametrize("x", [-0.6, 0.0, 0.4])
def test_a_sitter_goes_to_the_cushion_at_which_the_goal_points(x: float) -> None:
    seat = at_spot(SOFA, [], np.array([x, 0.1, 0.7]), UP)
    assert isinstance(seat, Seat) and seat.place == pytest.approx([x, 0, 0.45])
    assert seat.facing == SOFA.facing and seat.depth == SOFA.depth
    # What is left of the seat's width is still on the seat.
    assert abs(seat.place[0]) + seat.width / 2 <= 1.0 + 1e-9


def test_a_goal_beyond_the_seat_keeps_the_sitter_on_it() -> None:
    seat = at_spot(SOFA, [], np.array([3.0, 0.0, 0.5]), UP)
    assert isinstance(seat, Seat) and 0.6 < seat.place[0] < 1.0
    narrow = Seat([0, 0, 0.45], [0, -1, 0], 0.4, 0.4)
    assert at_spot(narrow, [], np.array([0.2, 0.0, 0.5]), UP).place == [0, 0, 0.45]


def test_the_way_to_a_shifted_seat_does_not_lead_over_the_rest_of_it() -> None:
    assert at_spot(SOFA, [], np.array([-0.7, 0, 0.5]), UP).approaches == ["front"]
    assert at_spot(SOFA, [], np.array([0.7, 0, 0.5]), UP).approaches == ["front", "left"]


def test_a_bench_is_sat_on_from_the_side_on_which_the_goal_lies() -> None:
    for y in (-0.15, 0.15):
        seat = at_spot(BENCH, [], np.array([0.3, y, 0.45]), UP)
        assert seat.facing[1] == pytest.approx(np.sign(y))
        assert "back" not in seat.approaches
    middle = at_spot(BENCH, [], np.array([0.0, 0.0, 0.45]), UP)
    assert middle == BENCH


def test_another_part_of_the_thing_is_used_when_it_is_nearer() -> None:
    assert at_spot(SOFA, [WING], np.array([-1.1, -1.0, 0.5]), UP).facing == WING.facing
    assert at_spot(SOFA, [WING], np.array([0.5, 0.0, 0.5]), UP).facing == SOFA.facing


@pytest.mark.parametrize(("z", "board"), [(0.55, 0.5), (0.75, 0.5), (0.95, 0.9), (1.7, 1.3)])
def test_a_goal_stands_on_the_board_below_it(z: float, board: float) -> None:
    assert at_spot(BOARDS[0], BOARDS[1:], np.array([0.1, 0.0, z]), UP).place[2] == board


def test_an_edge_is_climbed_where_the_goal_is() -> None:
    stage = Climbable([0, -0.5, 0.4], [0, 1, 0], [0, -0.15, 0.4], 2.0)
    there = at_spot(stage, [], np.array([0.5, 0.3, 0.4]), UP)
    assert isinstance(there, Climbable)
    assert there.edge == pytest.approx([0.5, -0.5, 0.4]) and there.landing == pytest.approx([0.5, -0.15, 0.4])


def test_what_is_taken_in_the_hands_is_the_same_everywhere() -> None:
    box = Carryable([0.2, 0, 0.1], [-0.2, 0, 0.1], [0, -1, 0])
    assert at_spot(box, [], np.array([0.3, 0.2, 0.1]), UP) is box


def test_a_goal_that_was_not_moved_leaves_the_handles_alone() -> None:
    thing, place = collider(SOFA), in_world([0.6, 0.0, 0.9])
    assert used_handles(Goal("g", place, None, "thing"), thing, TURNED[0]) is SOFA
    moved = used_handles(Goal("g", place, None, "thing", by_place=True), thing, TURNED[0])
    assert isinstance(moved, Seat) and moved.place == pytest.approx([0.6, 0, 0.45])


def test_the_way_leads_before_the_chosen_cushion_also_on_a_turned_sofa() -> None:
    goal = Goal("g", in_world([0.6, 0.0, 0.5]), None, "thing", by_place=True)
    used = used_handles(goal, collider(SOFA), TURNED[0])
    assert used is not None
    first = stands(goal, collider(SOFA), used, 0, 0.3)[0]
    assert first.place == pytest.approx(in_world([0.6, -0.55, 0.0])[:2])
    shot = Shot("a", 30, 60, keys=[ActionKey("sit", "g")], goals=[goal], colliders=[collider(SOFA)], start=[0.0] * 4)
    way = leg(shot, shot.keys[0], (0.0, 0.0))
    assert isinstance(way.handles, Seat) and way.handles.place == pytest.approx([0.6, 0, 0.45])


@pytest.mark.parametrize("spot", [[0.2, -0.05, 0.5], [-0.1, 0.02, 0.5]])
def test_a_box_is_put_where_the_goal_is_and_never_beyond_the_surface(spot: list[float]) -> None:
    half = np.array([0.1, 0.08, 0.05])
    box = Collider("box", Cuboids(np.zeros((1, 3)), half[None]), np.array([[0, 0, 0, 1.0, 0, 0, 0]]), "carryable")
    grasp = Carryable([-0.1, 0, 0], [0.1, 0, 0], [0, -1, 0])
    still, lying = np.array([0, 0, 0, 1.0, 0, 0, 0]), box.poses[0]
    top = at_spot(BOARDS[1], [], np.array(spot), UP)
    assert isinstance(top, Surface)
    pose = put_down_aim(top, still, box, grasp, lying).pose
    assert pose is not None and pose[:2] == pytest.approx(spot[:2], abs=1e-6)
    far = put_down_aim(at_spot(BOARDS[1], [], np.array([2.0, 2.0, 0.5]), UP), still, box, grasp, lying).pose
    assert far is not None and (np.abs(far[:2]) + half[:2] <= [0.4 + 1e-9, 0.2]).all()


def test_parts_and_goals_survive_the_file_and_older_files_have_none() -> None:
    goal = Goal("g", [0.0, 0, 0], None, "thing", by_place=True)
    top = Surface([0, 0, 0.5], [0, -1, 0], 0.8, 0.4)
    shot = Shot(
        "a", 30, 60, keys=[ActionKey("put_down", "g")], goals=[goal], colliders=[collider(top, [BOARDS[2]])]
    )  # fmt: skip
    again = Shot.from_json(shot.to_json())
    assert again.goals == [goal] and again.colliders[0].also == [BOARDS[2]]
    older = re.sub(r'"by_place": true,', "", shot.to_json())
    data = Collider.from_data({k: v for k, v in again.colliders[0].to_data().items() if k != "also"})
    assert not Shot.from_json(older).goals[0].by_place and data.also == []


def test_other_parts_grow_with_the_thing() -> None:
    big = scaled(collider(SOFA, [WING]), 2.0)
    assert isinstance(big.also[0], Seat) and big.also[0].place == pytest.approx([-2.4, -2.0, 0.9])
