# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways of a character that acts: with a box in the hands, and from where there is no room to stand."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.errors import RouteError
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.roles import Carryable
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.motion.rotations import Array
from nsm_blender.planning.path_planner import Leg
from nsm_blender.planning.scene_planner import Load, ScenePlanner, leg_from
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.registry import task_of

HERE = np.array([0.0, 0.0])
KEY = ActionKey("walk", "there")


def block(name: str, low: tuple[float, float], high: tuple[float, float], top: float = 2.0) -> Collider:
    a, b = np.array([[*low, 0.0]]), np.array([[*high, top]])
    return Collider(name, Cuboids((a + b) / 2, (b - a) / 2))


def box(width: float) -> Collider:
    size = np.array([[width / 2, 0.15, 0.1]])
    handles = Carryable([width / 2, 0, 0], [-width / 2, 0, 0], [0, 1, 0])
    return Collider("box", Cuboids(np.zeros((1, 3)), size), np.array([[0.0, 0.5, 1, 1, 0, 0, 0]]), "carryable", handles)


def ways(*things: Collider) -> tuple[ScenePlanner, Scenery]:
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
    return ScenePlanner(shot), Scenery(Surroundings(everything))


def found(load: Load | None, starts: list[Array], *things: Collider) -> Leg:
    """The leg past the wall, with something in the hands."""
    planner, scenery = ways(*things)
    task = task_of(KEY)
    planners = planner.planners(scenery, 0, load)
    return leg_from(HERE, starts, planners, lambda one: task.approach(one, KEY, 0), KEY, 0)


@pytest.mark.parametrize(("width", "aside"), [(0.4, 0.1), (0.6, 2.0)])
def test_a_character_with_a_wide_box_goes_where_there_is_room_for_it(width: float, aside: float) -> None:
    leg = found(Load("box", width / 2 + 0.1), [HERE], box(width))
    at_wall = leg.route.points[np.abs(leg.route.points[:, 1] + 2).argmin()]
    assert at_wall[0] == pytest.approx(aside, abs=0.8) and (abs(at_wall[0]) < 0.1) == (aside < 1)


def test_a_character_with_a_wide_box_goes_sideways_through_where_there_is_no_other_way() -> None:
    sides = [block("left", (1.9, -2.1), (2.1, 3.0)), block("right", (-3.1, -2.1), (-2.9, 3.0))]
    leg = found(Load("box", 0.4), [HERE], box(0.6), *sides, block("back", (-3.0, 2.9), (2.0, 3.1)))
    at_wall = leg.route.points[np.abs(leg.route.points[:, 1] + 2).argmin()]
    assert abs(at_wall[0]) < 0.1


def test_a_character_in_a_thing_goes_back_the_way_that_led_there() -> None:
    shelf, before = block("shelf", (-0.5, -0.3), (0.5, 0.3)), np.array([0.0, -0.8])
    with pytest.raises(RouteError, match="inside 'shelf'"):
        found(None, [HERE], shelf)
    leg = found(None, [HERE, before], shelf)
    np.testing.assert_allclose(leg.route.points[[0, 1], :2], [HERE, before], atol=1e-6)
    np.testing.assert_allclose(leg.place, [0.0, -4.0], atol=1e-6)
