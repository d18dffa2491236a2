# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaves that turn beside bodies, and how the root gets round them."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.roles import Door
from nsm_blender.geometry.scene_state import turned_about
from nsm_blender.motion.rotations import Array
from nsm_blender.rollout.doorway import BESIDE, LEAVES, SHOULDERS, WALL, doorway

WIDTH, RADIUS = 0.8, 0.1


def leaf(angle: float) -> Collider:
    """Its hinge is at -X of the doorway's middle; it swings toward +Y where the angle is positive."""
    handles = Door([-0.4, 0.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.0, 1.0], WIDTH, 2.0, angle)
    return Collider("leaf", Cuboids(np.array([[0.0, 0.0, 1.0]]), np.array([[0.4, 0.02, 1.0]])), handles=handles)


def opened(door: Collider, angle: float) -> Array:
    assert isinstance(door.handles, Door)
    return turned_about(np.array([0.0, 0, 0, 1, 0, 0, 0]), np.array(door.handles.hinge), np.array([0, 0, 1.0]), angle)


def away(door: Collider, angle: float, point: Array) -> float:
    """Meters from a point of the ground to the leaf when it stands open by an angle."""
    middle, turn = np.array([-0.4, 0.0]), np.array([np.cos(angle), np.sin(angle)])
    along = float(np.clip((point - middle) @ turn, 0, WIDTH))
    return float(np.linalg.norm(point - middle - along * turn)) - 0.02


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("turned", [0.0, 0.4])
def test_a_leaf_stops_just_before_what_it_swings_to(way: float, turned: float) -> None:
    door = leaf(1.5 * way)
    body = np.array([[0.1, 0.55 * way]])
    now = doorway(door, opened(door, turned * way))
    at = now.turned + now.room(body, np.array([RADIUS]))
    assert now.turned == pytest.approx(turned)
    assert RADIUS < away(door, at * way, body[0]) < RADIUS + 2 * LEAVES
    assert now.way(body, np.array([RADIUS])) == 0


def test_a_leaf_gives_way_to_what_comes_from_behind_it_and_to_nothing_beside_it() -> None:
    door = leaf(1.5)
    now, radii = doorway(door, opened(door, 0.4)), np.array([RADIUS])
    body = np.array([[0.1, 0.15]])
    at = now.turned + now.way(body, radii)
    assert away(door, at, body[0]) > RADIUS
    for beside in ([[0.1, -0.5]], [[0.9, 0.3]]):
        assert now.way(np.array(beside), radii) == 0 and now.room(np.array(beside), radii) == np.inf


def test_a_root_is_led_out_of_the_reach_of_a_leaf_that_comes_and_straight_off_one_that_has_passed() -> None:
    door = leaf(1.5)
    before, behind = np.array([[0.25, 0.5]]), np.array([[0.1, 0.4]])
    after = before + doorway(door, opened(door, 0.3)).round_leaf(before)
    assert np.linalg.norm(after[0] - [-0.4, 0]) > WIDTH + 0.5 * WALL and after[0, 1] > 0.4
    after = behind + doorway(door, opened(door, 0.95)).round_leaf(behind)
    assert away(door, 0.95, after[0]) > BESIDE - 0.05 and after[0, 0] > behind[0, 0]


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_root_beside_a_wall_is_led_back_from_a_leaf_instead_of_into_the_wall(way: float) -> None:
    door, at = leaf(1.5 * way), 0.6
    wall = Collider("wall", Cuboids(np.array([[at + 0.05, 1.0 * way, 1.0]]), np.array([[0.05, 0.95, 1.0]])))
    now = doorway(door, opened(door, 0.3 * way))
    room = now.beside(Surroundings([wall]).at(0), 0.0)
    assert room == pytest.approx(at + 0.4 - SHOULDERS, abs=0.05)
    before = np.array([[0.25, 0.5 * way]])
    after = before + now.round_leaf(before, room)
    assert np.linalg.norm(after[0] - [-0.4, 0]) > WIDTH + 0.5 * WALL
    assert after[0, 0] <= at - SHOULDERS + 0.05 and after[0, 1] * way > 0.7


def test_a_root_keeps_between_the_posts() -> None:
    door = leaf(1.5)
    now = doorway(door, opened(door, 1.5))
    places = np.array([[0.3, 0.0], [-0.3, -0.1], [0.05, 0.2], [0.9, 0.6], [1.5, -1.0]])
    kept = places + now.in_lane(places)
    assert (np.abs(kept[:2, 0]) <= 0.11).all()
    np.testing.assert_allclose(kept[2:], places[2:], atol=1e-9)


def test_a_root_before_a_post_is_moved_back_from_it_and_a_root_in_the_doorway_is_not() -> None:
    door = leaf(1.5)
    now = doorway(door, opened(door, 1.0))
    places = np.array([[0.55, 0.2], [-0.6, -0.2], [0.0, 0.1], [0.6, 0.9]])
    moved = now.off_wall(places)
    assert moved[0, 1] > 0.15 and moved[1, 1] < -0.15
    np.testing.assert_allclose(moved[:, 0], 0, atol=1e-9)
    np.testing.assert_allclose(moved[2:], 0, atol=1e-9)
