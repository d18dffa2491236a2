# SPDX-License-Identifier: GPL-3.0-or-later
"""What goals ask of the root: where it is to be, how fast it may go, and what it keeps off."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.models.nsm import FPS, GOAL_ACTIONS, SAMPLE_FRAMES, SAMPLES
from nsm_blender.motion.root import direction
from nsm_blender.motion.rotations import Array
from nsm_blender.rollout.goal_spec import RUNNING_SPEED, WALKING_SPEED, GoalSpec, Reach, Stay, Steer
from nsm_blender.rollout.nsm_features import WINDOW

from .test_speed_profile import in_a_gap, walker

BOX = Reach(np.array([1.0, -3.0, 0.6]), 0.7, "carry", "box")
SEAT = Reach(np.array([1.0, -3.0, 0.45]), 0.7, "sit", "chair", standoff=0.0, speed=0.2)


BEHIND = np.array([0.0, 3.0])
"""Meters from the box to a root whose way there is along -Y."""


def root_at(place: Array, facing: float = 0.0) -> Array:
    return np.array([*place[:2], 0.0, facing])


def test_a_thing_is_used_from_a_stand_before_it_and_a_seat_from_its_own_place() -> None:
    np.testing.assert_allclose(BOX.stand + BOX.standoff * direction(np.array(BOX.facing)), BOX.place[:2])
    np.testing.assert_allclose(SEAT.stand, SEAT.place[:2])


@pytest.mark.parametrize("goal", [BOX, SEAT], ids=["box", "seat"])
def test_the_root_may_walk_far_from_a_thing_and_slows_down_toward_it(goal: Reach) -> None:
    back = np.linspace(0, 5, 60)
    speeds = [goal.speed_limit(root_at(goal.stand - away * direction(np.array(goal.facing)))) for away in back]
    assert speeds[0] == pytest.approx(goal.speed, abs=1e-6) and speeds[-1] == WALKING_SPEED
    assert (np.diff(speeds) >= 0).all()


def test_a_root_is_near_to_using_a_thing_only_at_it() -> None:
    assert BOX.nearness(BOX.stand) == pytest.approx(1)
    assert BOX.nearness(BOX.stand - 2.0) == 0
    assert Stay(np.zeros(3)).nearness(np.zeros(2)) == Steer(walker()).nearness(np.zeros(2)) == 0


@pytest.mark.parametrize(("action", "top"), [("walk", WALKING_SPEED), ("run", RUNNING_SPEED)])
def test_a_way_is_gone_at_its_gaits_speed(action: str, top: float) -> None:
    assert Steer(walker(30.0), action).speed_limit(np.zeros(4)) == top


def test_the_root_keeps_off_all_but_what_it_uses_holds_or_leaves() -> None:
    assert BOX.ignored == {"box"} and Stay(np.zeros(3), None, "carry", "box").ignored == {"box"}
    assert Stay(np.zeros(3)).ignored == set()
    steer = Steer(walker(), "carry", "box", seat=SEAT, door="door")
    assert steer.ignored == {"box", "chair", "door"}
    steer.walker.along = 2.0
    assert steer.ignored == {"box", "door"}


def test_the_root_comes_nearer_to_things_in_a_gap() -> None:
    usual, steer = Stay(np.zeros(3)).clearance, Steer(in_a_gap())
    assert steer.clearance == usual > 0
    steer.walker.along = 4.25
    assert 0 < steer.clearance < usual


def test_a_body_faces_its_way_to_a_thing_while_it_is_far_and_the_thing_once_it_is_there() -> None:
    """The root faces a right angle to the left of its way."""
    far = root_at(BOX.place[:2] + BEHIND, math.pi / 2)
    way, share = BOX.heading(far)
    assert way == pytest.approx(-math.pi / 2) and 0 < share <= 1
    assert BOX.heading(root_at(BOX.place[:2] + BEHIND))[1] == pytest.approx(1)
    assert BOX.heading(root_at(BOX.stand))[1] == 0


@pytest.mark.parametrize("goal", [BOX, SEAT, Stay(np.zeros(3), 0.3), Steer(walker()), Steer(walker(), "run")])
def test_a_goal_has_a_place_a_facing_and_an_action_at_each_sample(goal: GoalSpec) -> None:
    samples = goal.samples(np.zeros(4), 0.0)
    assert samples.place.shape == (SAMPLES, 3) and samples.facing.shape == (SAMPLES,)
    assert samples.action.shape == (SAMPLES, len(GOAL_ACTIONS))
    np.testing.assert_allclose(samples.action.sum(axis=1), 1)
    assert goal.route(np.zeros(4)).shape[1:] == (2,)


def test_a_character_that_is_to_stand_turns_as_it_is_asked_or_not_at_all() -> None:
    root = np.array([0.0, 0.0, 0.0, 1.2])
    np.testing.assert_allclose(Stay(np.zeros(3)).samples(root, 0.0).facing, 1.2)
    np.testing.assert_allclose(Stay(np.zeros(3), 0.3).samples(root, 0.0).facing, 0.3)


def test_a_way_ends_in_standing_and_what_is_carried_stays_in_the_hands() -> None:
    idle, carry = GOAL_ACTIONS.index("idle"), GOAL_ACTIONS.index("carry")
    for action, last in (("walk", idle), ("run", idle), ("carry", carry)):
        steer = Steer(walker(), action)
        steer.walker.along = 7.9
        assert steer.samples(np.array([0.0, -8.0, 0.0, 0.0]), 0.0).action[-1, last] == 1
        begin = Steer(walker(), action).samples(np.zeros(4), 0.0).action
        assert begin[0, GOAL_ACTIONS.index(action)] == 1


def test_a_character_that_leaves_its_seat_is_asked_to_get_up_and_only_then_to_walk() -> None:
    """As in the episodes from which the network learned to get up: the root comes forward over its feet meanwhile."""
    asked = Steer(walker(), seat=SEAT, rest=1.5).samples(np.zeros(4), 0.0)
    seconds = (WINDOW - WINDOW[0]) / FPS
    rises, forward = seconds < 1.5, -asked.place[:, 1]
    actions = [GOAL_ACTIONS[action] for action in asked.action.argmax(axis=1)]
    sits = actions.count("sit")
    assert actions == ["sit"] * sits + ["walk"] * (SAMPLES - sits) and 0 < sits < sum(rises)
    assert (np.diff(forward) >= 0).all() and 0.3 < forward[rises].max() < 0.5 < forward[-1]


def test_a_character_that_gets_up_is_asked_for_a_steady_way_to_walking() -> None:
    """Where the goal jumps, the body does: the root follows what it is asked for."""
    steer, root, asked = Steer(walker(), seat=SEAT, rest=1.5), np.zeros(4), []
    for frame in range(150):
        samples = steer.samples(root, frame / FPS)
        root = root + np.append((samples.place[1] - samples.place[0]) / SAMPLE_FRAMES, 0.0)
        asked.append(samples.place[-1, :2])
    steps = np.linalg.norm(np.diff(asked, axis=0), axis=1)
    assert steps.max() < 0.06
    assert np.linalg.norm(root[:2]) > 0.6
