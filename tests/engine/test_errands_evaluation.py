# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures about errands see what they should: arrivals, refusals, and bodies in things."""

from __future__ import annotations

import math

import pytest

from nsm_blender.evaluation.errands import BODY, FPS, Case, carry_out, cases, rooms
from nsm_blender.geometry.colliders import Collider
from nsm_blender.geometry.furniture import held_out
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot

from .obstacles import box, pen

START = [-1.5, 0.0, 0.0, math.pi / 2]
POST = box("Post", (0.0, 0.1, 0.5), (0.1, 0.1, 1.0), angle=0.6)


def case(things: list[Collider], end: tuple[float, float] = (1.5, 0.0), route: list[list[float]] | None = None) -> Case:
    goals = [Goal("goal", [*end, 0.0], facing=0.0)]
    key = ActionKey("walk", "goal", route=route or [])
    return Case("case", Shot("errand", FPS, 2, keys=[key], goals=goals, colliders=things, start=START), "yes")


def test_a_walk_round_a_post_arrives_without_touching_it() -> None:
    result = carry_out(case([POST]))
    assert result.reached
    assert (result.depth_cm, result.joints_inside) == (0, 0)
    assert abs(result.early_s) < 1
    assert result.in_doubt


def test_a_walk_through_a_post_is_seen() -> None:
    result = carry_out(case([POST], route=[START[:3], [1.5, 0.0, 0.0]]))
    assert result.depth_cm == pytest.approx(100 * (BODY - 0.04), abs=8)  # its corner is 4 cm beside the way


def test_a_refusal_is_told_with_its_reason() -> None:
    result = carry_out(case(pen(), end=(5.0, 0.0)))
    assert not result.reached
    assert "cannot reach the goal" in result.refused


def test_figures_are_of_rooms_that_are_held_out() -> None:
    assert len(set(rooms(20))) == 20
    assert all(held_out(seed) for seed in rooms(20))


def test_goals_inside_things_and_behind_walls_are_among_the_cases_and_known_as_such() -> None:
    known = [c.reachable for c in cases(1)]
    assert {"yes", "no"} <= set(known)
    assert [c.reachable for c in cases(1)] == known
