# SPDX-License-Identifier: GPL-3.0-or-later
"""A character that is to stand begins to use nothing, and one that is to sit does not stand idle before its seat."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.models.nsm import ACTIONS, FPS
from nsm_blender.motion.rotations import Array
from nsm_blender.planning.path_search import Route
from nsm_blender.planning.speed_profile import Walker
from nsm_blender.rollout.action_label_filter import only_asked
from nsm_blender.rollout.goal_spec import GoalSpec, Reach, Stay, Steer

from .test_speed_profile import walker

HERE, ROOT = np.zeros(3), np.zeros(4)
SIT, CARRY, OPEN, WALK, IDLE, CLIMB = (ACTIONS.index(n) for n in ("sit", "carry", "open", "walk", "idle", "climb"))


def labels(index: int, value: float) -> Array:
    out = np.zeros(len(ACTIONS))
    out[index] = value
    return out


@pytest.mark.parametrize("index", [SIT, CARRY, OPEN])
def test_a_character_that_is_to_stand_never_begins_to_use_a_thing(index: int) -> None:
    before = np.zeros(len(ACTIONS))
    for _ in range(60):
        before = only_asked(np.minimum(before + labels(index, 0.1), 1)[None], before, Stay(HERE), ROOT)[0]
    assert before.max() == 0


def test_a_character_that_stands_with_a_box_holds_it_and_begins_nothing_else() -> None:
    stay, both = Stay(HERE, None, "carry", "box"), labels(CARRY, 0.9) + labels(SIT, 0.5)
    np.testing.assert_array_equal(only_asked(both[None], labels(CARRY, 0.4), stay, ROOT)[0], labels(CARRY, 0.9))


@pytest.mark.parametrize(
    ("index", "goal"),
    [
        (SIT, Reach(HERE, 0.0, "sit", "chair", standoff=0.0, speed=0.2)),
        (CARRY, Reach(HERE, 0.0, "carry", "box")),
        (CARRY, Reach(HERE, 0.0, "idle", "box")),
        (OPEN, Reach(HERE, 0.0, "open", "door")),
        (CARRY, Steer(walker(), "carry", "box")),
        (WALK, Stay(np.array([1.0, 0.0, 0.0]))),
        (WALK, Stay(HERE, 1.0)),
        (IDLE, Stay(HERE)),
        (CLIMB, Reach(HERE, 0.0, "climb", "platform", standoff=0.0)),
        (CLIMB, Steer(walker(), rises=True)),
    ],
)
def test_what_is_asked_for_may_begin_and_so_may_steps_to_a_place_or_a_facing(index: int, goal: GoalSpec) -> None:
    assert only_asked(labels(index, 0.7)[None], np.zeros(len(ACTIONS)), goal, ROOT)[0, index] == 0.7


def test_a_character_that_is_to_sit_down_does_not_begin_to_idle() -> None:
    goal = Reach(HERE, 0.0, "sit", "chair", standoff=0.0)
    assert only_asked(labels(IDLE, 0.7)[None], labels(IDLE, 0.1), goal, ROOT)[0, IDLE] == 0.1


@pytest.mark.parametrize("goal", [Steer(walker()), Steer(walker(), "carry", "box"), Reach(HERE, 0.0, "open", "door")])
def test_a_character_that_climbs_nothing_does_not_lift_its_knees_as_to_a_step(goal: GoalSpec) -> None:
    assert only_asked(labels(CLIMB, 0.7)[None], labels(CLIMB, 0.1), goal, ROOT)[0, CLIMB] == 0.1


@pytest.mark.parametrize("action", ["carry", "idle", "open"])
def test_a_character_that_uses_a_thing_where_it_stands_may_idle(action: str) -> None:
    goal = Reach(HERE, 0.0, action, "thing")
    assert only_asked(labels(IDLE, 0.7)[None], labels(CARRY, 1.0), goal, ROOT)[0, IDLE] == 0.7


def test_a_character_that_gets_up_sits_less_and_less() -> None:
    assert only_asked(labels(SIT, 0.6)[None], labels(SIT, 0.9), Stay(HERE), ROOT)[0, SIT] == 0.6


def test_a_use_that_is_not_asked_for_is_foreseen_no_higher_than_it_is() -> None:
    foreseen = np.stack([labels(SIT, value) for value in (0.4, 0.6, 0.8)])
    np.testing.assert_array_equal(only_asked(foreseen, labels(SIT, 0.5), Stay(HERE), ROOT)[:, SIT], [0.4, 0.5, 0.5])


@pytest.mark.parametrize("gait", [WALK, ACTIONS.index("run")])
def test_a_character_that_stands_where_and_as_it_should_does_not_begin_to_tread(gait: int) -> None:
    assert only_asked(labels(gait, 0.7)[None], labels(gait, 0.1), Stay(HERE, 0.0), ROOT)[0, gait] == 0.1


@pytest.mark.parametrize(("high", "rises"), [(0.0, False), (0.02, False), (0.3, True), (-0.3, True)])
def test_climbing_is_asked_for_on_a_way_that_goes_up_or_down(high: float, rises: bool) -> None:
    way = walker()
    there = way.path.position(np.array(1.0))
    goal = Steer(way, ground=lambda places: high * (np.linalg.norm(places - there, axis=1) < 0.5))
    goal.samples(np.append(way.path.position(np.array(0.0)), [0.0, 0.0]), 0.0)
    assert goal.rises == rises
    assert (only_asked(labels(CLIMB, 0.7)[None], labels(CLIMB, 0.1), goal, ROOT)[0, CLIMB] == 0.7) == rises


def test_a_climb_on_hands_is_foreseen_before_it_is_done_and_its_label_is_as_the_way_asks() -> None:
    before = np.array([[0.0, -y, 0.0] for y in np.linspace(0, 1, 11)])
    points = np.vstack((before, [[0.0, -1.3, 0.0], [0.0, -1.65, 0.0]]))
    way = Walker(
        Route(points, *np.zeros((2, 13), dtype=bool), on_hands=np.arange(13) == 11), "walk", None, np.full(13, 9.0)
    )
    goal, root, seen = Steer(way), np.zeros(4), []
    for frame in range(900):
        goal.samples(root, frame / FPS)
        seen.append(only_asked(np.tile(labels(CLIMB, 0.5), (7, 1)), labels(CLIMB, 0.5), goal, root)[:, CLIMB])
        root = root - np.array([0.0, 0.6 if -root[1] < 0.95 else 0.1, 0.0, 0.0]) / FPS
    found = np.array(seen)
    assert found[0].max() == 0 and found.max() > 0.99 and found[-1].max() < 0.01
    first = (found > 0.5).argmax(0)
    assert (np.diff(first[::-1]) > 5).all() and 0.8 < (first[0] - first[-1]) / FPS < 1.2
    assert np.abs(np.diff(found, axis=0)).max() < 0.1
    leans = found[:, 0] > 0.5
    assert 2.0 < leans.sum() / FPS < 4.5
