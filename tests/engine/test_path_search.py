# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways between things: free of them, short, and refused with the reason where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.errors import RouteError
from nsm_blender.geometry.colliders import Collider, Surroundings
from nsm_blender.motion.rotations import Array, from_yaw, rotate
from nsm_blender.planning.path_search import SPACING, Route, find_route
from nsm_blender.shot.goals import RouteOptions

from .obstacles import box, pen, sliding, wall

OPTIONS = RouteOptions()
FORWARD = RouteOptions(sideways=False)
LEFT, RIGHT = (-2.0, 0.0), (2.0, 0.0)


def way(things: list[Collider], start: tuple[float, float] = LEFT, end: tuple[float, float] = RIGHT, **more) -> Route:
    options = more.pop("options", OPTIONS)
    return find_route(Surroundings(things), start, end, options, **more)


def clearance(route: Route, things: list[Collider], heights: tuple[float, ...] = (0.2, 0.6, 1.0, 1.2)) -> float:
    placed = Surroundings(things).at(0)
    return min(
        float(placed.distance(np.hstack((route.points[:, :2], 0 * route.points[:, 2:] + z))).min()) for z in heights
    )


def parted(gap: float) -> list[Collider]:
    """A pen parted by a wall at x = 0 with a gap about y = 0."""
    return [*pen(), wall("Low", (0.0, -2.0), (0.0, -gap / 2)), wall("High", (0.0, gap / 2), (0.0, 2.0))]


def turned(things: list[Collider], angle: float) -> list[Collider]:
    """The things turned about the origin by an angle in radians."""
    turn = from_yaw(np.array(angle))
    return [
        Collider(c.name, c.cuboids, np.array([[*rotate(turn, c.poses[0, :3]), *from_yaw(np.array(a + angle))]]))
        for c, a in ((c, 2 * math.atan2(c.poses[0, 6], c.poses[0, 3])) for c in things)
    ]


def about(place: tuple[float, float], angle: float) -> Array:
    """A place turned about the origin by an angle in radians."""
    out: Array = rotate(from_yaw(np.array(angle)), np.array([*place, 0.0]))[:2]
    return out


def test_on_a_free_floor_the_way_is_straight() -> None:
    route = way([])
    np.testing.assert_allclose(route.points[[0, -1]], [[-2, 0, 0], [2, 0, 0]], atol=1e-9)
    np.testing.assert_allclose(route.points[:, 1:], 0, atol=1e-6)
    assert np.linalg.norm(np.diff(route.points, axis=0), axis=1).max() < 1.5 * SPACING
    assert not route.crouch.any()


def test_a_way_leads_round_a_wall_and_keeps_off_it() -> None:
    things = [wall("Wall", (0.0, -1.5), (0.0, 1.0))]
    route = way(things)
    assert clearance(route, things) >= OPTIONS.radius - 0.01
    shortest = 2 * math.hypot(2.0, 1.0 + OPTIONS.radius)
    assert route.length < 1.1 * shortest
    turns = np.diff(np.unwrap(np.arctan2(*np.diff(route.points[:, :2], axis=0).T)))
    assert np.abs(turns).max() < math.radians(25)


@pytest.mark.parametrize("angle", [0.0, 0.3, 0.785, 2.0])
def test_a_gap_that_is_wide_enough_is_taken_however_it_lies(angle: float) -> None:
    things = turned(parted(0.1 + 2 * OPTIONS.radius), angle)
    route = find_route(Surroundings(things), about(LEFT, angle), about(RIGHT, angle), OPTIONS)
    assert route.length < 4.3
    assert not route.sideways.any()
    assert clearance(route, things) >= OPTIONS.radius - 0.01


def test_a_gap_that_is_too_narrow_is_refused_and_the_wall_named() -> None:
    with pytest.raises(RouteError, match=r"cannot reach the goal: '(Low|High)' is in the way"):
        way(parted(2 * OPTIONS.radius - 0.05), options=FORWARD)


@pytest.mark.parametrize("angle", [0.0, 0.3, 0.785, 2.0])
@pytest.mark.parametrize("gap", [0.42, 0.45, 0.58])
def test_a_narrow_gap_is_gone_through_sideways_and_through_its_middle(angle: float, gap: float) -> None:
    things, start, end = turned(parted(gap), angle), about(LEFT, angle), about((2.0, 1.0), angle)
    route = find_route(Surroundings(things), start, end, OPTIONS)
    along = route.points[:, :2] @ about((1.0, 0.0), angle)
    aside = route.points[:, :2] @ about((0.0, 1.0), angle)
    within = np.abs(along) < 0.2
    assert route.sideways[within].all()
    assert np.abs(aside[within]).max() < 0.01
    assert not route.sideways[np.abs(along) > 0.8].any()
    assert clearance(route, things) == pytest.approx(gap / 2, abs=0.01)
    assert route.length < 4.5


@pytest.mark.parametrize(("low", "high"), [(0.1, 1.0), (0.6, 0.1), (0.3, 0.6)])
def test_a_gap_between_things_of_unlike_depth_is_gone_through(low: float, high: float) -> None:
    things = [
        *pen(),
        box("Low", (0.06, -1.12, 0.5), (low, 1.76, 1.0)),
        box("High", (-0.03, 1.12, 0.5), (high, 1.76, 1.0)),
    ]
    for y in (-1.2, 0.1, 1.2):
        route = way(things, start=(-2.0, y), end=(2.0, 0.5))
        assert clearance(route, things) == pytest.approx(0.24, abs=0.015)


def test_a_gap_that_is_too_narrow_for_any_body_is_refused_with_its_width() -> None:
    sentence = "'Low' and 'High' there are 30 cm, but the character needs 42 cm to go sideways"
    with pytest.raises(RouteError, match=sentence):
        way(parted(0.3))
    with pytest.raises(RouteError, match="there are 45 cm, but the body needs 60 cm"):
        way(parted(0.45), options=FORWARD)


def test_a_passage_beside_a_table_is_gone_through_sideways_if_it_is_short() -> None:
    def passage(length: float) -> list[Collider]:
        return [*pen(), box("Table", (0.0, -0.25, 0.4), (length, 3.5, 0.8))]  # 45 cm to the wall

    route = way(passage(1.2), start=(-2.0, 1.0), end=(2.0, 1.0))
    assert route.sideways[np.abs(route.points[:, 0]) < 0.6].all()
    assert clearance(route, passage(1.2), heights=(0.2, 0.6)) == pytest.approx(0.225, abs=0.01)
    with pytest.raises(RouteError, match=r"there are 45 cm for more than 1\.9 m, too far to go sideways"):
        way(passage(2.5), start=(-2.0, 1.0), end=(2.0, 1.0))


def test_a_way_does_not_lead_sideways_where_a_way_round_is_little_longer() -> None:
    low, high = wall("Low", (0.0, -2.0), (0.0, -0.225)), wall("High", (0.0, 0.225), (0.0, 1.6))
    route = way([low, high])  # round the end of 'High' it is 1.5 m longer
    assert route.length > 5
    assert not route.sideways.any()
    far = wall("High", (0.0, 0.225), (0.0, 5.0)), wall("Low", (0.0, -5.0), (0.0, -0.225))
    assert way([*far]).sideways.any()


def test_a_way_is_not_crouched_and_sideways_at_once() -> None:
    beam = box("Beam", (0.0, 0.0, 1.9), (0.3, 0.6, 1.0))  # 1.4 m above the floor, in the gap
    with pytest.raises(RouteError, match="cannot reach the goal"):
        way([*parted(0.45), beam])


def test_a_longer_way_is_taken_where_the_short_one_is_too_narrow() -> None:
    things = [*parted(2 * OPTIONS.radius - 0.05)[4:]]
    route = way(things, options=FORWARD)
    assert route.length > 5
    assert clearance(route, things) >= OPTIONS.radius - 0.01


def test_a_closed_door_is_no_way_until_it_is_opened() -> None:
    things = [*parted(0.9), wall("Door", (0.0, -0.45), (0.0, 0.45))]
    with pytest.raises(RouteError, match="'Door' is in the way"):
        way(things)
    assert way(things, passable=["Door", "Window"]).length < 4.3


def test_the_character_goes_crouching_beneath_a_beam_where_there_is_no_other_way() -> None:
    things = [*pen(), wall("Beam", (0.0, -2.0), (0.0, 2.0), low=1.45)]
    route = way(things)
    beneath = np.abs(route.points[:, 0]) < 0.3
    assert route.crouch[beneath].all()
    assert not route.crouch[np.abs(route.points[:, 0]) > 1.5].any()
    with pytest.raises(RouteError, match="'Beam' is in the way"):
        way(things, options=RouteOptions(crouch=False))


def test_the_character_walks_a_little_further_rather_than_crouch() -> None:
    assert not way([wall("Beam", (0.0, -0.6), (0.0, 0.6), low=1.45)]).crouch.any()


def test_what_is_overhead_or_underfoot_is_no_hindrance() -> None:
    things = [box("Rug", (0.0, 0.0, 0.01), (2.0, 2.0, 0.02)), box("Lamp", (0.0, 0.0, 2.0), (0.5, 0.5, 0.3))]
    np.testing.assert_allclose(way(things).points[:, 1], 0, atol=1e-6)
    upstairs = [box("Floor", (0.0, 0.0, 2.9), (9.0, 9.0, 0.2)), box("Crate", (0.0, 0.0, 0.4), (0.8, 9.0, 0.8))]
    np.testing.assert_allclose(way(upstairs, ground=3.0).points[:, 1:], [[0, 3.0]] * 41, atol=1e-6)


def test_things_are_where_they_are_at_the_frame() -> None:
    crate = sliding(box("Crate", (0.0, 0.0, 0.5), (0.4, 3.8, 1.0)), np.array([[0.0, 0.0, 0.5], [0.0, 9.0, 0.5]]))
    with pytest.raises(RouteError, match="'Crate' is in the way"):
        way([*pen(), crate], frame=0)
    assert way([*pen(), crate], frame=1).length < 4.1


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        ((0.0, 0.1), "The goal lies inside 'Box'. Move it out"),
        ((0.6, 0.0), "The goal is 10 cm from 'Box'.*needs 30 cm"),
    ],
)
def test_a_goal_without_room_is_refused_with_the_reason(end: tuple[float, float], sentence: str) -> None:
    with pytest.raises(RouteError, match=sentence):
        way([box("Box", (0.0, 0.0, 0.5), (1.0, 1.0, 1.0))], end=end)


def test_a_start_inside_a_thing_is_refused() -> None:
    with pytest.raises(RouteError, match="The start lies inside 'Box'"):
        way([box("Box", (-2.0, 0.0, 0.5), (1.0, 1.0, 1.0))])


def test_a_character_close_to_a_thing_gets_away_from_it() -> None:
    things = [box("Box", (-2.0, 0.7, 0.5), (1.0, 1.0, 1.0))]  # its side is 20 cm away
    route = way(things)
    np.testing.assert_allclose(route.points[0, :2], LEFT, atol=1e-9)
    assert clearance(route, things) >= 0.19


@pytest.mark.parametrize("angle", [0.0, 0.3, 0.7, 1.1])
def test_the_way_from_beside_a_thing_begins_as_it_goes_on(angle: float) -> None:
    goal = about(np.array([1.5, -1.0]), angle)
    things = turned([box("Table", (0.0, 0.65, 0.4), (1.6, 1.0, 0.8))], angle)  # 15 cm from the start
    points = way(things, (0.0, 0.0), tuple(goal)).points[:, :2]
    steps = np.diff(points, axis=0)
    angles = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    assert np.ptp(angles[: int(1 / SPACING)]) < math.radians(35)


def test_of_several_ends_the_nearest_on_foot_is_taken() -> None:
    ends = np.array([[0.5, 0.0], [-1.0, 1.5]])  # the first is nearer through the wall
    route = find_route(Surroundings([*parted(0.0)[4:], *pen()[1:]]), (-0.6, 0.0), ends, OPTIONS)
    assert route.end == 1
    np.testing.assert_allclose(route.points[-1, :2], ends[1], atol=1e-9)


def test_a_far_goal_outside_is_reached_by_the_way_out() -> None:
    east, west = wall("East", (3.0, -2.0), (3.0, 2.0)), wall("West", (-3.0, -2.0), (-3.0, 2.0))
    south, north = wall("South", (-3.0, -2.0), (3.0, -2.0)), wall("North", (-2.0, 2.0), (3.0, 2.0))
    things = [east, west, south, north]
    route = way(things, start=(2.0, 0.0), end=(30.0, 0.0))
    assert route.points[:, 1].max() > 2.0
    assert clearance(route, things) >= OPTIONS.radius - 0.01
