# SPDX-License-Identifier: GPL-3.0-or-later
"""The root's limits: no lunge, no jerk, no turn to the side that is not asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Surroundings
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.models.nsm import FPS, FUTURE
from nsm_blender.motion.rotations import Array, wrap_angle
from nsm_blender.rollout.goal_input import GoalInput, Reach, Stay
from nsm_blender.rollout.root_limits import LIMITS, RootMotion, moved_along


def rolled(step: Array, frames: int, top: float, band: tuple[float, float], towards: float = 0.0) -> Array:
    """Roots (frames + 1, 4) of a root that is to go by `step` (4,) in each frame."""
    motion, roots = RootMotion(np.zeros(2)), [np.zeros(4)]
    for _ in range(frames):
        roots.append(motion.limited(roots[-1], roots[-1] + step, top, band, towards))
        motion = RootMotion.between(roots[-2], roots[-1])
    return np.array(roots)


def test_a_pull_of_any_size_neither_jerks_nor_lunges() -> None:
    roots = rolled(np.array([0.3, 0.4, 0.0, 0.0]), 60, 1.2, (0.0, 0.0))
    velocity = np.diff(roots[:, :2], axis=0, prepend=0 * roots[:1, :2]) * FPS
    assert np.linalg.norm(velocity, axis=1).max() == pytest.approx(1.2)
    assert np.linalg.norm(np.diff(velocity, axis=0), axis=1).max() * FPS <= LIMITS.acceleration + 1e-6
    assert roots[-1, 1] / roots[-1, 0] == pytest.approx(4 / 3)


def test_a_network_that_spins_is_left_nothing_but_its_sway() -> None:
    yaw = rolled(np.array([0.0, 0.0, 0.0, 0.08]), 120, 1.2, (-0.1, 0.0))[:, 3]
    assert yaw[-1] <= LIMITS.sway * 120 / FPS


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_network_that_hesitates_is_turned_to_the_side_that_is_asked_for(side: float) -> None:
    motion, root, asked = RootMotion(np.zeros(2)), np.zeros(4), side * 2.5
    for _ in range(round(6 * FPS)):
        left = asked - float(root[3])
        before, root = root, motion.limited(root, root, 1.2, (min(left, 0.0), max(left, 0.0)), left)
        motion = RootMotion.between(before, root)
        assert abs(motion.turn) <= LIMITS.turn
        assert root[3] * side >= 0
    assert root[3] == pytest.approx(asked, abs=0.3)


def test_what_is_in_the_way_leads_the_root_before_its_own_speed_does() -> None:
    before, free, root = np.zeros(4), np.array([0.02, 0.0, 0.0, 0.0]), np.array([0.02, 0.015, 0.0, 0.0])
    place = RootMotion(np.array([0.45, 0.9])).diverted(before, free, root, 1.0)
    assert place[1] == pytest.approx(0.015, rel=0.05) and 0 < place[0] < free[0]
    assert np.linalg.norm(place) * FPS <= 1.0 + 1e-6


def test_the_future_moves_with_a_root_that_is_held_back() -> None:
    place = np.stack((np.linspace(0.2, 1.2, FUTURE), np.zeros(FUTURE)), axis=1)
    proposed, root = np.array([0.1, 0.0, 0.0, 0.0]), np.array([0.02, 0.0, 0.0, 0.0])
    places, facing = moved_along(place, np.linspace(0.5, 3.0, FUTURE), proposed, root, (0.0, 0.4))
    np.testing.assert_allclose(places, place - [0.08, 0.0], atol=1e-12)
    assert facing.max() == pytest.approx(0.4 + LIMITS.overshoot)


def turns_asked(wish: Stay | Reach, yaws: Array) -> Array:
    """Radians that a goal asks a root with these facings to turn by, frame after frame."""
    goal = GoalInput(wish, Scenery(Surroundings([])))
    out = [goal.samples(np.array([0.0, 0.0, 0.0, yaw]), frame).facing[-1] - yaw for frame, yaw in enumerate(yaws)]
    return np.array(out)


@pytest.mark.parametrize("wish", [Stay(np.zeros(3), math.pi), Reach(np.ones(3), math.pi, "sit")])
def test_a_goal_behind_is_turned_to_by_one_side(wish: Stay | Reach) -> None:
    """The facing sways over the border at which the other side gets the shorter one."""
    asked = turns_asked(wish, 0.2 * np.sin(np.linspace(0.1, 20.0, 200)))
    assert (asked > 0).all()


def test_the_other_side_is_taken_when_it_is_much_shorter() -> None:
    asked = turns_asked(Reach(np.ones(3), math.pi, "sit"), np.linspace(0.1, -2.0, 100))
    assert asked[0] > 0 > asked[-1]
    np.testing.assert_allclose(wrap_angle(asked + np.linspace(0.1, -2.0, 100) - math.pi), 0, atol=1e-9)
