# SPDX-License-Identifier: GPL-3.0-or-later
"""The root's limits: no lunge, no jerk, no turn to the side that is not asked for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Surroundings
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.models.nsm import DT, FPS, FUTURE
from nsm_blender.motion.rotations import Array, wrap_angle
from nsm_blender.rollout.goal_input import GoalInput
from nsm_blender.rollout.goal_spec import RUNNING_SPEED, WALKING_SPEED, GoalSpec, Reach, Stay, Steer
from nsm_blender.rollout.nsm import ROOT_FILTERS
from nsm_blender.rollout.root_filter import RootMotion
from nsm_blender.rollout.root_limits import LIMITS, RootLimits, root_within

from .obstacles import box
from .root_filters import FilteredRoot
from .test_speed_profile import in_a_gap, walker

GOALS: dict[str, Callable[[], GoalSpec]] = {
    "stands": lambda: Stay(np.zeros(3)),
    "walks": lambda: Steer(walker()),
    "runs": lambda: Steer(walker(), "run"),
    "leaves a seat": lambda: Steer(walker(), seat=Reach(np.zeros(3), 0.0, "sit", "seat", standoff=0.0), rest=1.6),
    "goes sideways": lambda: Steer(in_a_gap()),
    "takes a box": lambda: Reach(np.array([0.5, -1.5, 0.5]), 0.3, "carry"),
    "sits down": lambda: Reach(np.array([0.5, -1.5, 0.4]), 3.0, "sit", standoff=0.0, speed=0.2),
}


SEAT = box("seat", (30.0, 0.0, 0.2), (0.4, 0.4, 0.4))
"""Far off: what is in the way may hold the root back faster."""


def rolled(step: Array, frames: int, top: float, band: tuple[float, float], toward: float = 0.0) -> Array:
    """Roots (frames + 1, 4) of a root that is to go by `step` (4,) in each frame."""
    motion, roots = RootMotion(np.zeros(2)), [np.zeros(4)]
    for _ in range(frames):
        roots.append(root_within(motion, roots[-1], roots[-1] + step, top, band, toward))
        motion = RootMotion.between(roots[-2], roots[-1])
    return np.array(roots)


def assert_smooth(track: Array) -> None:
    """The root's acceleration and its turning are recorded people's."""
    velocity = np.diff(track[:, :2], axis=0, prepend=track[:1, :2]) * FPS
    turning = np.diff(track[:, 3], prepend=track[:1, 3]) * FPS
    assert np.linalg.norm(np.diff(velocity, axis=0), axis=1).max() * FPS <= LIMITS.acceleration + 1e-6
    assert np.abs(np.diff(turning)).max() * FPS <= LIMITS.turn_acceleration + 1e-6
    assert np.abs(turning).max() <= LIMITS.turn + 1e-6


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", GOALS)
def test_a_wild_network_neither_exceeds_the_goals_speed_nor_jerks(name: str, seed: int) -> None:
    """With all filters, in the open. A root that is faster than its goal has just become slows down in steps."""
    goal, rng = GOALS[name](), np.random.default_rng(seed)
    root = FilteredRoot(goal, [make() for make in ROOT_FILTERS.values()], things=[SEAT])
    for frame in range(round(6 * FPS)):
        if frame % 15 == 0:
            (x, y, a, b), (turning, pull_turn) = rng.normal(scale=3.0, size=4), rng.normal(scale=4.0, size=2)
        top = goal.speed_limit(root.roots[-1])
        root.go(1 / FPS, (x, y), turning=turning, pull=(a, b), pull_turn=pull_turn)
        assert root.speeds[-1] <= top + LIMITS.acceleration * DT + 1e-6
    assert_smooth(root.track)


def test_a_pull_of_any_size_neither_jerks_nor_lunges() -> None:
    roots = rolled(np.array([0.3, 0.4, 0.0, 0.0]), 60, 1.2, (0.0, 0.0))
    assert np.linalg.norm(np.diff(roots[:, :2], axis=0), axis=1).max() * FPS == pytest.approx(1.2)
    assert_smooth(roots)
    assert roots[-1, 1] / roots[-1, 0] == pytest.approx(4 / 3)


@pytest.mark.parametrize(("action", "top"), [("walk", WALKING_SPEED), ("run", RUNNING_SPEED)])
def test_a_gait_has_its_own_speed(action: str, top: float) -> None:
    root = FilteredRoot(Steer(walker(), action), [RootLimits()]).go(1.5, (0.0, -9.0))
    assert root.speeds[-1] == pytest.approx(top)


def test_a_root_slows_down_to_where_a_thing_is_used() -> None:
    thing = Reach(np.array([0.0, -3.0, 0.5]), 0.0, "carry")
    root = FilteredRoot(thing, [RootLimits()]).go(6.0, (0.0, -9.0))
    there = int(np.argmax(-root.track[1:, 1] >= 3.0 - thing.standoff))
    assert root.speeds.max() > 1.2 and there > 0
    assert root.speeds[there] == pytest.approx(thing.speed, abs=0.1)
    assert_smooth(root.track)


def test_a_network_that_spins_turns_to_no_side_that_is_not_asked_for() -> None:
    yaw = rolled(np.array([0.0, 0.0, 0.0, 0.08]), 120, 1.2, (-0.1, 0.0))[:, 3]
    assert yaw[-1] <= 0


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_network_that_hesitates_is_turned_to_the_side_that_is_asked_for(side: float) -> None:
    root = FilteredRoot(Stay(np.zeros(3), side * 2.5), [RootLimits()]).go(6.0)
    assert (root.track[:, 3] * side >= 0).all()
    assert root.track[-1, 3] == pytest.approx(side * 2.5, abs=0.3)


def test_a_root_that_is_still_far_from_a_thing_faces_its_way_and_turns_to_the_thing_there() -> None:
    """The thing is used facing +Y, and lies along -Y."""
    thing = Reach(np.array([0.0, -4.0, 0.5]), 3.0, "carry")
    far = FilteredRoot(thing, [RootLimits()]).go(1.5, (0.0, -1.0))
    assert abs(far.track[-1, 3]) < 0.2
    near = FilteredRoot(thing, [RootLimits()], (0.0, -3.6, 0.0, 0.0)).go(4.0)
    assert near.track[-1, 3] == pytest.approx(3.0, abs=0.75)


def test_the_future_moves_with_a_root_that_is_held_back() -> None:
    root = FilteredRoot(Stay(np.zeros(3), 0.4), [RootLimits()]).go(1 / FPS, (6.0, 0.0), turning=3.0)
    held = 6.0 / FPS - root.roots[-1][0]
    assert held > 0.09
    places = root.proposal.places - root.roots[-1][:2]
    apart = np.linalg.norm(np.diff(places, axis=0), axis=1)
    np.testing.assert_allclose(apart, 6.0 / FUTURE, rtol=1e-6)
    assert np.linalg.norm(places[0]) == pytest.approx(6.0 / FUTURE - 6.0 / FPS)


def turns_asked(goal: GoalSpec, yaws: Array) -> Array:
    """Radians that a goal asks a root with these facings to turn by, frame after frame."""
    asked = GoalInput(goal, Scenery(Surroundings([])))
    out = [asked.samples(np.array([0.0, 0.0, 0.0, yaw]), frame).facing[-1] - yaw for frame, yaw in enumerate(yaws)]
    return np.array(out)


@pytest.mark.parametrize("goal", [Stay(np.zeros(3), math.pi), Reach(np.ones(3), math.pi, "sit")])
def test_a_goal_behind_is_turned_to_by_one_side(goal: GoalSpec) -> None:
    """The facing sways over the border at which the other side gets the shorter one."""
    asked = turns_asked(goal, 0.2 * np.sin(np.linspace(0.1, 20.0, 200)))
    assert (asked > 0).all()


def test_the_other_side_is_taken_when_it_is_much_shorter() -> None:
    asked = turns_asked(Reach(np.ones(3), math.pi, "sit"), np.linspace(0.1, -2.0, 100))
    assert asked[0] > 0 > asked[-1]
    np.testing.assert_allclose(wrap_angle(asked + np.linspace(0.1, -2.0, 100) - math.pi), 0, atol=1e-9)
