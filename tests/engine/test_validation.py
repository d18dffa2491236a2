# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said before the bake about keys that cannot work."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Climbable, Door, Seat
from nsm_blender.shot.goals import LOCOMOTION, ActionKey, Goal, RouteOptions
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.arrival_times import foresee
from nsm_blender.tasks.validation import Problem, check

from .obstacles import box, pen, wall

CHAIR = box(
    "Chair", (1.0, 0.0, 0.25), (0.5, 0.5, 0.5), role="seat", handles=Seat([0, 0, 0.25], [0.0, -1.0, 0.0], 0.5, 0.5)
)
BARE = box("Stool", (1.0, 0.0, 0.25), (0.5, 0.5, 0.5), role="seat")
GOALS = [
    Goal("near", [0.0, 0.0, 0.0]),
    Goal("inside", [1.0, 0.0, 0.0]),
    Goal("outside", [0.0, 9.0, 0.0]),
    Goal("above", [0.0, 0.0, 1.2]),
]


def problems(*keys: ActionKey, things: list[Collider] | None = None, frames: int = 600, **more: Any) -> list[Problem]:
    around = [*pen(), CHAIR] if things is None else things
    goals = [*GOALS, *(Goal(f"on {thing.name}", [1.0, 0.0, 0.0], collider=thing.name) for thing in around)]
    start = [-2.0, 0.0, 0.0, 0.0]
    return check(Shot("Walker", 30.0, frames, keys=list(keys), goals=goals, colliders=around, start=start, **more))


def test_keys_that_work_have_no_problems() -> None:
    assert problems(ActionKey("walk", "near"), ActionKey("run", "on Chair"), ActionKey("idle", hold=1.0)) == []


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        (ActionKey("walk", "inside"), "The goal lies inside 'Chair'. Move it out."),
        (ActionKey("walk", "outside"), "The character cannot reach the goal: 'Side"),
        (ActionKey("sit", "near"), "Sitting down needs a seat. Attach the goal 'near' to one."),
        (ActionKey("open", "on Chair"), "Opening a door needs a door. Attach the goal 'on Chair' to one."),
    ],
)
def test_what_cannot_work_is_fatal(key: ActionKey, sentence: str) -> None:
    found = problems(ActionKey("idle"), key)
    assert any(p.text.startswith(sentence) for p in found)
    assert {(p.key, p.fatal) for p in found} == {(1, True)}


def test_an_animators_route_may_lead_through_a_gap_that_is_gone_through_sideways() -> None:
    things = [*pen(), wall("Low", (-1.0, -2.0), (-1.0, -0.22)), wall("High", (-1.0, 0.22), (-1.0, 2.0))]
    key = ActionKey("walk", "near", route=[[-2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert problems(key, things=things) == []
    (problem,) = problems(key, things=things, route_options=RouteOptions(sideways=False))
    assert problem.text.startswith("Its route leads 22 cm past '") and problem.text.endswith("needs 30 cm.")


def test_a_character_that_opened_a_door_is_behind_it_and_may_come_back() -> None:
    handles = Door([-0.5, 0.0, -1.0], [0.0, 0.0, 1.0], [0.4, 0.0, 0.0], 1.0, 2.0, 1.5)
    door = box("Door", (0.0, 0.0, 1.0), (1.0, 0.05, 2.0), role="door", handles=handles)
    walls = [wall("Left", (-0.5, 0.0), (-3.0, 0.0)), wall("Right", (0.5, 0.0), (3.0, 0.0))]
    goals = [Goal("door", [0.0, 0.0, 0.0], collider="Door"), Goal("in", [1.5, 1.2, 0.0]), Goal("out", [1.5, -1.2, 0.0])]
    keys = [ActionKey("open", "door"), ActionKey("walk", "in"), ActionKey("walk", "out")]
    shot = Shot("Visitor", 30.0, 900, goals=goals, colliders=[*pen(), *walls, door], start=[0.0, -1.2, 0.0, 3.1])
    able = (*LOCOMOTION, "open")
    assert [problem.key for problem in check(replace(shot, keys=keys[1:2]), able) if problem.fatal] == [0]
    assert not any(problem.fatal for problem in check(replace(shot, keys=keys), able))


def test_what_no_network_that_is_there_can_do_is_fatal() -> None:
    chair = Goal("on Chair", [1.0, 0.0, 0.0], collider="Chair")
    keys = [ActionKey("sit", "on Chair")]
    shot = Shot("Walker", 30.0, 600, keys=keys, goals=[chair], colliders=[CHAIR], start=[-2.0, 0.0, 0.0, 0.0])
    (problem,) = check(shot, LOCOMOTION)
    assert problem.fatal and problem.text.startswith("Sitting down is beyond the locomotion network")


def test_a_seat_without_handles_cannot_be_sat_on() -> None:
    texts = [p.text for p in problems(ActionKey("sit", "on Stool"), things=[BARE])]
    assert "The seat 'Stool' has no handles yet. Press Propose Handles." in texts


def test_a_thing_that_is_crowded_in_is_named() -> None:
    things = [CHAIR, box("Pile", (1.0, -1.25, 0.5), (3.0, 1.9, 1.0))]  # before its only free side, the front
    (problem,) = problems(ActionKey("walk", "on Chair"), things=things)
    assert problem.text == "There is no room to stand before 'Chair'. Free the floor on one of its sides."
    assert problem.fatal


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ([ActionKey("walk", "near", start=900)], "It sets off at frame 900, after the end of the shot."),
        ([ActionKey("walk", "near", hold=60.0)], "Too few frames: the shot ends about"),
        ([ActionKey("walk", "above")], "The goal is 1.2 m above the ground. The character"),
        ([ActionKey("idle", hold=5.0), ActionKey("walk", "near", start=30)], "It sets off about"),
        (
            [ActionKey("walk", "near", route=[[-2.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.0]])],
            "Its route leads through 'Chair'. The body needs 30 cm.",
        ),
    ],
)
def test_what_is_doubtful_is_said_but_does_not_hinder(keys: list[ActionKey], sentence: str) -> None:
    (problem,) = problems(*keys)
    assert problem.text.startswith(sentence)
    assert problem.key == len(keys) - 1
    assert not problem.fatal


def test_frames_that_may_suffice_are_not_said_to_be_too_few() -> None:
    key = ActionKey("walk", "near")
    goals = [Goal("near", [0.0, 0.0, 0.0])]
    (seen,) = foresee(Shot("Walker", 30.0, 600, keys=[key], goals=goals, start=[-2.0, 0.0, 0.0, 0.0]))
    assert problems(key, things=[], frames=math.ceil(seen.done)) == []
    assert problems(key, things=[], frames=math.ceil(seen.early) + 1) == []
    (problem,) = problems(key, things=[], frames=math.floor(seen.early))
    assert problem.text.startswith("Too few frames: the shot ends about")


def test_keys_are_checked_from_where_the_ones_before_end() -> None:
    things = [wall("Wall", (0.8, -9.0), (0.8, 9.0), high=2.0)]
    keys = [ActionKey("walk", "near"), ActionKey("walk", "inside"), ActionKey("walk", "near")]
    found = problems(*keys, things=things, frames=900)
    assert [(p.key, p.fatal) for p in found] == [(1, True)]


@pytest.mark.parametrize(
    ("tops", "sentence", "fatal"),
    [
        ([0.55], "", False),
        ([0.85], "", False),
        ([1.2, 0.6], "'Platform' is 1.20 m high. The character climbs no more than 1 m.", True),
    ],
)
def test_what_is_too_high_to_climb_is_said(tops: list[float], sentence: str, fatal: bool) -> None:
    """The first top is landed on; each next one lies before it, 0.4 m deep."""
    low = np.array([[-0.5, -0.6 - 0.4 * i, 0.0] for i in range(len(tops))])
    high = np.array([[0.5, 0.6 if i == 0 else -0.2 - 0.4 * i, top] for i, top in enumerate(tops)])
    way = Climbable([0.0, -0.6, tops[0]], [0.0, 1.0, 0.0], [0.0, -0.25, tops[0]], 1.0)
    platform = Collider("Platform", Cuboids((low + high) / 2, (high - low) / 2), role="climbable", handles=way)
    goals, keys = [Goal("up", [0.0, 0.0, 0.0], collider="Platform")], [ActionKey("climb", "up")]
    shot = Shot("Walker", 30.0, 600, keys=keys, goals=goals, colliders=[platform], start=[0.0, -4.0, 0.0, 0.0])
    found = check(shot, ["idle", "walk", "climb"])
    assert [(p.text[: len(sentence)], p.fatal) for p in found] == ([(sentence, fatal)] if sentence else [])


def test_stairs_are_refused_by_name_with_what_to_do_instead() -> None:
    steps = [((0.0, 0.28 * i, 0.085 * (i + 1)), (0.5, 0.14, 0.085 * (i + 1))) for i in range(12)]
    cuboids = Cuboids(np.array([low for low, _ in steps]), np.array([half for _, half in steps]))
    handles = Climbable([0, -0.14, 0.17], [0, 1, 0], [0, 3.08, 2.04], 1.0)
    stairs = Collider("Stairs", cuboids, role="climbable", handles=handles)
    (problem,) = problems(ActionKey("climb", "on Stairs"), things=[stairs])
    assert problem.fatal and problem.text.startswith("'Stairs': These are stairs, 2.04 m high")
    assert "Draw a curve over the steps" in problem.text
