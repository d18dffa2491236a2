# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways of one who acts: with a box in the hands, and from where there is no room to stand."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.errors import RouteError
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.roles import Carryable, Door, Seat
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.planning.scene_planner import Ways, before_edge, is_pushed, through_door
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.interaction_targets import open_aim, seat_aim

HERE = np.array([0.0, 0.0])
KEY = ActionKey("walk", "there")


def block(name: str, low: tuple[float, float], high: tuple[float, float], top: float = 2.0) -> Collider:
    a, b = np.array([[*low, 0.0]]), np.array([[*high, top]])
    return Collider(name, Cuboids((a + b) / 2, (b - a) / 2))


def box(width: float) -> Collider:
    size = np.array([[width / 2, 0.15, 0.1]])
    handles = Carryable([width / 2, 0, 0], [-width / 2, 0, 0], [0, 1, 0])
    return Collider("box", Cuboids(np.zeros((1, 3)), size), np.array([[0.0, 0.5, 1, 1, 0, 0, 0]]), "carryable", handles)


def ways(*things: Collider) -> tuple[Ways, Scenery]:
    """A wall at y = -2 with a narrow gap ahead and a wide one at the side; the goal is behind it."""
    wall = [block("wall 1", (-3.0, -2.1), (-0.36, -1.9)), block("wall 2", (0.36, -2.1), (2.0, -1.9))]
    everything = [*wall, *things]
    shot = Shot(
        "actor",
        30,
        300,
        keys=[KEY],
        goals=[Goal("there", [0.0, -4.0, 0.0])],
        colliders=everything,
        start=[0.0, 0.0, 0.0, 0.0],
    )
    return Ways(shot), Scenery(Surroundings(everything))


@pytest.mark.parametrize(("width", "aside"), [(0.4, 0.1), (0.6, 2.0)])
def test_one_with_a_wide_box_goes_where_there_is_room_for_it(width: float, aside: float) -> None:
    found, scenery = ways(box(width))
    leg = found.leg(KEY, HERE, 0, scenery, "box", [HERE])
    at_wall = leg.route.points[np.abs(leg.route.points[:, 1] + 2).argmin()]
    assert at_wall[0] == pytest.approx(aside, abs=0.8) and (abs(at_wall[0]) < 0.1) == (aside < 1)


def test_one_with_a_wide_box_squeezes_through_where_there_is_no_other_way() -> None:
    sides = [block("left", (1.9, -2.1), (2.1, 3.0)), block("right", (-3.1, -2.1), (-2.9, 3.0))]
    found, scenery = ways(box(0.6), *sides, block("back", (-3.0, 2.9), (2.0, 3.1)))
    leg = found.leg(KEY, HERE, 0, scenery, "box", [HERE])
    at_wall = leg.route.points[np.abs(leg.route.points[:, 1] + 2).argmin()]
    assert abs(at_wall[0]) < 0.1


def test_one_who_got_into_a_thing_goes_back_the_way_that_led_there() -> None:
    found, scenery = ways(block("shelf", (-0.5, -0.3), (0.5, 0.3)))
    before = np.array([0.0, -0.8])
    with pytest.raises(RouteError, match="inside 'shelf'"):
        found.leg(KEY, HERE, 0, scenery, "", [HERE])
    leg = found.leg(KEY, HERE, 0, scenery, "", [HERE, before])
    np.testing.assert_allclose(leg.route.points[[0, 1], :2], [HERE, before], atol=1e-6)
    np.testing.assert_allclose(leg.place, [0.0, -4.0], atol=1e-6)


LEAF = Collider(
    "leaf",
    Cuboids(np.array([[0.0, 0.0, 1.0]]), np.array([[0.4, 0.02, 1.0]])),
    role="door",
    handles=Door([-0.4, 0.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.0, 1.0], 0.8, 2.0, 1.5),
)
"""It swings towards +Y."""


@pytest.mark.parametrize(("y", "pushed"), [(-1.0, True), (1.0, False)])
def test_a_door_is_pushed_from_one_side_and_pulled_from_the_other(y: float, pushed: bool) -> None:
    aim = open_aim(LEAF, LEAF.poses[0], np.array([0.0, y]))
    assert is_pushed(aim, Scenery(Surroundings([LEAF]))) is pushed


def test_one_who_went_through_a_door_has_room_beside_the_leaf_that_stands_open() -> None:
    aim = open_aim(LEAF, LEAF.poses[0], np.array([0.0, -1.0]))
    behind = through_door(aim, np.array([0.0, -0.5, 0.0, 0.0]), Scenery(Surroundings([LEAF]))).place
    assert behind[1] > 0.5 and behind[0] - LEAF.handles.hinge[0] > 0.45


def test_one_is_before_a_wide_seat_all_along_its_edge_and_not_at_its_side() -> None:
    handles = Seat([0.0, 0.0, 0.45], [0.0, -1.0, 0.0], 1.6, 0.6)
    sofa = Collider(
        "sofa", Cuboids(np.array([[0.0, 0.0, 0.2]]), np.array([[0.8, 0.3, 0.2]])), role="seat", handles=handles
    )
    aim, scenery = seat_aim(sofa, sofa.poses[0]), Scenery(Surroundings([sofa]))
    np.testing.assert_allclose(before_edge(aim, scenery, np.array([0.7, -0.6])), [0.0, -0.3], atol=1e-6)
    np.testing.assert_allclose(before_edge(aim, scenery, np.array([1.3, 0.1])), [0.5, 0.4], atol=1e-6)
