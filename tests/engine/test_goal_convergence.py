# SPDX-License-Identifier: GPL-3.0-or-later
"""The root follows the goal-centric prediction to where a thing is used, and comes to the very place where it is to
be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.models.nsm import FPS
from nsm_blender.rollout.goal_convergence import CONVERGENCE, GoalConvergence
from nsm_blender.rollout.goal_spec import GoalSpec, Reach, Stay, Steer

from .root_filters import FilteredRoot
from .test_speed_profile import in_a_gap, walker

BOX = Reach(np.array([0.0, -0.45, 0.5]), 0.0, "carry", "")
"""Before a root in the middle that faces -Y."""
FAR = Reach(np.array([0.0, -5.0, 0.5]), 0.0, "carry", "")


def led(
    goal: GoalSpec, off: float = 0.0, seconds: float = 3.0, facing: float = 0.0, pull_turn: float = 0.0
) -> FilteredRoot:
    """A root that stands `off` m beside the middle, and is led for a while."""
    return FilteredRoot(goal, [GoalConvergence()], (off, 0.0, 0.0, facing)).go(seconds, pull_turn=pull_turn)


def pulled(goal: GoalSpec, meters: float = 0.1) -> float:
    """m/s of a root that the goal-centric prediction sees elsewhere in a second."""
    return float(FilteredRoot(goal, [GoalConvergence()]).go(1 / FPS, pull=(meters, 0.0)).speeds[0])


@pytest.mark.parametrize(("action", "thing"), [("idle", ""), ("carry", "box")], ids=["empty hands", "with a box"])
@pytest.mark.parametrize("off", [0.05, 0.25, -0.35])
def test_a_root_nearly_where_it_is_to_stand_comes_to_the_very_place_with_slow_steps(
    off: float, action: str, thing: str
) -> None:
    root = led(Stay(np.zeros(3), None, action, thing), off, 4.0)
    assert np.linalg.norm(root.track[-1, :2]) < 0.02
    assert root.speeds.max() <= CONVERGENCE.place_speed + 1e-6


def test_a_root_that_is_still_on_its_way_to_where_it_is_to_stand_is_left_to_the_network() -> None:
    np.testing.assert_allclose(led(Stay(np.zeros(3)), 0.8).speeds, 0, atol=1e-9)


@pytest.mark.parametrize("off", [0.1, -0.1])
def test_a_root_in_a_gap_comes_to_its_middle(off: float) -> None:
    steer = Steer(in_a_gap())
    steer.walker.along = 4.25
    middle = steer.walker.places(np.array([4.25]))[0]
    facing = float(steer.walker.facing(np.array([4.25]))[0])
    root = FilteredRoot(steer, [GoalConvergence()], (middle[0] + off, -4.25, 0.0, facing)).go(3.0)
    assert root.track[-1, 0] == pytest.approx(middle[0], abs=0.01)
    assert root.speeds.max() <= CONVERGENCE.place_speed + 1e-6


def test_a_root_before_and_behind_the_gap_may_leave_the_middle_of_the_way() -> None:
    steer = Steer(in_a_gap())
    np.testing.assert_allclose(FilteredRoot(steer, [GoalConvergence()], (0.1, -1.0, 0.0, 0.0)).go(1.0).speeds, 0)


def test_the_goal_centric_prediction_is_followed_faster_where_a_thing_is_used_and_not_at_all_on_a_way() -> None:
    near, far, way = pulled(BOX), pulled(FAR), pulled(Steer(walker()))
    assert near == pytest.approx(0.1 * CONVERGENCE.rate) and far == pytest.approx(0.1)
    assert way == 0


def test_a_prediction_that_is_far_off_does_not_drag_a_root_that_is_far_from_its_goal() -> None:
    assert pulled(FAR, 4.0) == pytest.approx(CONVERGENCE.speed)
    assert pulled(Stay(np.zeros(3)), 4.0) == pytest.approx(CONVERGENCE.speed)


@pytest.mark.parametrize("askew", [0.2, -0.2])
def test_a_root_where_a_thing_is_used_turns_square_to_it(askew: float) -> None:
    assert led(BOX, facing=askew, seconds=2.0).track[-1, 3] == pytest.approx(0, abs=0.02)
    assert led(FAR, facing=askew, seconds=2.0).track[-1, 3] == pytest.approx(askew)


def test_a_root_turns_with_the_goal_centric_prediction() -> None:
    turned = led(FAR, seconds=0.5, pull_turn=0.3).track[-1, 3]
    assert turned == pytest.approx(0.15)
    assert led(BOX, facing=math.pi, seconds=1 / FPS).track[-1, 3] == pytest.approx(math.pi, abs=0.01)
