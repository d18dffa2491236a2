# SPDX-License-Identifier: GPL-3.0-or-later
"""Seats are reached from where there is room: the front, the sides, the aisle before a coffee table."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.errors import RouteError
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Seat
from nsm_blender.planning.path_planner import Leg
from nsm_blender.shot.goals import LOCOMOTION, ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.validation import check

from .legs import leg
from .obstacles import box, wall

ABLE = (*LOCOMOTION, "sit")
SIT = ActionKey("sit", "seat")
EDGE = -0.45
"""Y of the sofa's front."""


def sofa(*approaches: str, arms: bool = True) -> Collider:
    """1.8 m wide and 0.9 m deep, its seat at 0.42 m, its sitter looking along -Y."""
    parts = [[-0.9, EDGE, 0.08, 0.9, 0.45, 0.42], [-0.9, 0.2, 0.42, 0.9, 0.45, 0.85]]
    if arms:
        parts += [[x, EDGE, 0.42, x + 0.15, 0.45, 0.6] for x in (-0.9, 0.75)]
    low, high = np.array(parts)[:, :3], np.array(parts)[:, 3:]
    seat = Seat([0.0, -0.125, 0.42], [0.0, -1.0, 0.0], 1.5 if arms else 1.8, 0.65, approaches=list(approaches))
    return Collider("Sofa", Cuboids((low + high) / 2, (high - low) / 2), role="seat", handles=seat)


def before(gap: float, height: float = 0.4) -> Collider:
    """A solid table so many meters before the sofa."""
    return box("Table", (0.0, EDGE - gap - 0.3, height / 2), (1.1, 0.6, height))


def shot(*things: Collider, start: tuple[float, float] = (-1.5, -2.0)) -> Shot:
    goals = [Goal("seat", [0.0, 0.0, 0.0], collider=things[0].name), Goal("away", [2.5, 1.5, 0.0])]
    return Shot("Guest", 30.0, 600, keys=[SIT], goals=goals, colliders=list(things), start=[*start, 0.0, 0.0])


def leg_to(*things: Collider, start: tuple[float, float] = (-1.5, -2.0)) -> Leg:
    return leg(shot(*things, start=start), SIT, start)


@pytest.mark.parametrize("gap", [0.25, 0.35, 0.45, 0.55])
@pytest.mark.parametrize("start", [(-1.5, -2.0), (2.0, 0.0), (0.2, -2.5)])
def test_the_way_to_a_sofa_behind_a_coffee_table_leads_sideways_along_its_edge(
    gap: float, start: tuple[float, float]
) -> None:
    way = leg_to(sofa(), before(gap), start=start)
    assert EDGE - gap + 0.1 < way.place[1] < EDGE - 0.1 and abs(way.place[0]) < 0.35
    assert way.route.sideways[-1]
    assert way.facing == pytest.approx(0.0) and way.route.facings[1] == pytest.approx(0.0)


@pytest.mark.parametrize("gap", [0.2, 0.3, 0.5])
def test_no_stand_is_behind_a_wall_to_sit_down_before_it(gap: float) -> None:
    y = EDGE - gap - 0.05
    things = sofa(), wall("Wall", (-4.0, y), (4.0, y))
    try:
        way = leg_to(*things, start=(0.2, y - 1.5))
    except RouteError as error:
        assert "Wall" in str(error)
    else:
        assert way.place[1] > y


def test_a_seat_without_named_sides_is_approached_from_its_front_where_that_is_free() -> None:
    way = leg_to(sofa())
    assert way.place[1] < EDGE - 0.2 and not way.route.sideways.any()


def test_a_walk_to_a_seat_without_named_sides_ends_beside_it() -> None:
    way = leg(shot(sofa(), before(0.35)), ActionKey("walk", "seat"), (-1.5, -2.0))
    assert np.abs(way.place - [0.0, 0.0]).max() > 0.6


@pytest.mark.parametrize(("gap", "height", "advice"), [(0.05, 0.4, "40 cm"), (0.2, 0.4, "25 cm"), (0.25, 1.2, "20 cm")])
def test_a_seat_without_room_before_it_is_refused_with_what_stands_there_and_by_how_much_to_move_it(
    gap: float, height: float, advice: str
) -> None:
    found = [one.text for one in check(shot(sofa("front"), before(gap, height)), ABLE) if one.fatal]
    assert len(found) == 1
    assert f"'Table' stands {100 * gap:.0f} cm before it" in found[0] and f"by about {advice}" in found[0]


def test_a_chair_pushed_under_a_table_is_to_be_moved_back() -> None:
    seat = Seat([0.0, 0.0, 0.45], [0.0, -1.0, 0.0], 0.42, 0.42)
    parts = np.array([[-0.21, -0.21, 0.4, 0.21, 0.21, 0.45], [-0.21, 0.21, 0.4, 0.21, 0.25, 0.9]])
    half = (parts[:, 3:] - parts[:, :3]) / 2
    chair = Collider("Chair", Cuboids(parts[:, :3] + half, half), role="seat", handles=seat)
    table = box("Table", (0.0, -0.45, 0.72), (1.4, 0.8, 0.04))
    with pytest.raises(RouteError, match="'Table' reaches over it"):
        leg(shot(chair, table), SIT, (-1.5, -2.0))


def test_a_sofa_without_arm_rests_is_sat_on_whatever_sides_are_named() -> None:
    for sides in ((), ("front",), ("left", "right")):
        assert leg_to(sofa(*sides, arms=False), before(0.35)).route.length > 0.5


def test_the_way_from_between_sofa_and_table_leads_out_sideways() -> None:
    way = leg(shot(sofa(), before(0.35)), ActionKey("walk", "away"), (0.0, EDGE - 0.2))
    assert way.route.sideways[0] and not way.route.sideways[-1]
    assert math.dist(way.place, (2.5, 1.5)) < 1e-6


def test_a_stool_without_named_sides_is_sat_on_looking_away_from_what_stands_before_it() -> None:
    seat = Seat([0.0, 0.0, 0.2], [0.0, -1.0, 0.0], 0.4, 0.4, approaches=[])
    stool = box("Stool", (0.0, 0.0, 0.2), (0.4, 0.4, 0.4), role="seat", handles=seat)
    way = leg_to(stool, box("Table", (0.0, -0.55, 0.2), (1.4, 0.6, 0.4)))
    assert isinstance(way.handles, Seat) and way.handles.facing[1] > -0.5
