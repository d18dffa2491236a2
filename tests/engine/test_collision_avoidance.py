# SPDX-License-Identifier: GPL-3.0-or-later
"""The root keeps off things, and gets where it is to be."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from nsm_blender.baking.nsm import SceneBake
from nsm_blender.geometry.body import depth
from nsm_blender.geometry.colliders import Collider, Surroundings
from nsm_blender.models.nsm import DT, FPS
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array
from nsm_blender.planning.occupancy_grid import ObstacleOutlines
from nsm_blender.rollout.collision_avoidance import AVOIDANCE, CollisionAvoidance
from nsm_blender.rollout.goal_spec import GoalSpec, Reach, Stay, Steer
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot

from .obstacles import box, pen, sliding, wall
from .root_filters import STILL, FilteredRoot
from .test_speed_profile import walker

WALL = wall("Wall", (1.0, -9.0), (1.0, 9.0))
AWAY = Stay(np.array([9.0, 0.0, 0.0]))
"""Stand somewhere behind the wall: nothing is used on the way there."""
LEFT = Reach(np.array([9.0, 0.0, 0.5]), math.pi / 2, "sit", "Wall", standoff=0.0, speed=0.2)
CLEAR = AWAY.clearance
NEARLY = 0.06
"""Meters by which the root may come nearer while it is being held back."""


def pushed(
    things: Sequence[Collider], velocity: tuple[float, float], goal: GoalSpec = AWAY, seconds: float = 2.0
) -> FilteredRoot:
    """A root that starts in the middle and would go on evenly."""
    return FilteredRoot(goal, [CollisionAvoidance()], things=things).go(seconds, velocity)


def away(thing: Collider, root: FilteredRoot) -> Array:
    """Meters (F,) from a thing to the root, frame by frame."""
    frames = range(len(root.roots))
    around = Surroundings([thing])
    return np.array([ObstacleOutlines.of(around.at(n)).distance(root.roots[n][None, :2])[0] for n in frames])


@pytest.mark.parametrize("velocity", [(0.7, 0.0), (1.3, 0.4), (3.0, -1.0)])
def test_a_root_is_held_back_before_a_wall_evenly_and_slides_along_it(velocity: tuple[float, float]) -> None:
    root = pushed([WALL], velocity)
    assert away(WALL, root).min() > CLEAR - NEARLY
    assert root.track[-1, 1] == pytest.approx(2 * velocity[1], abs=0.05)
    steps = np.diff(root.track[:, :2], axis=0) * FPS
    assert np.linalg.norm(np.diff(steps, axis=0), axis=1).max() * FPS < 1.01 * AVOIDANCE.braking


@pytest.mark.parametrize("velocity", [(0.7, 0.0), (1.3, 0.4), (3.0, -1.0)])
def test_the_future_of_a_root_does_not_lead_through_a_wall(velocity: tuple[float, float]) -> None:
    foreseen = pushed([WALL], velocity).proposal.places
    assert (foreseen[:, 0] < 1.0 - CLEAR).all()
    assert (np.diff(foreseen[:, 1]) * velocity[1] >= 0).all()


def test_a_root_in_the_open_goes_as_the_network_proposes() -> None:
    root = pushed([wall("Far", (0.0, 3.0), (9.0, 3.0))], (1.3, 0.0))
    assert root.track[-1, 0] == pytest.approx(2.6)
    assert root.proposal.places[-1, 0] == pytest.approx(2.6 - 1.3 * DT + 1.3)


@pytest.mark.parametrize(
    "goal",
    [
        LEFT,
        Stay(np.array([9.0, 0.0, 0.0]), None, "carry", "Wall"),
        Steer(walker(), door="Wall"),
        Steer(walker(), seat=LEFT),
    ],
    ids=["used", "carried", "door", "seat that is left"],
)
def test_a_root_may_go_through_what_it_uses_or_carries_or_leaves(goal: GoalSpec) -> None:
    root = pushed([WALL], (1.3, 0.0), goal, 1.0)
    assert root.track[-1, 0] == pytest.approx(1.3)
    assert root.proposal.places[-1, 0] == pytest.approx(2.6 - 1.3 * DT)


def test_a_seat_is_kept_off_once_it_is_left_behind() -> None:
    steer = Steer(walker(), seat=LEFT)
    steer.walker.along = 2.0
    root = FilteredRoot(steer, [CollisionAvoidance()], (0.0, -2.0, 0.0, 0.0), [WALL]).go(2.0, (1.3, 0.0))
    assert away(WALL, root).min() > CLEAR - NEARLY


def test_a_root_comes_as_near_to_a_thing_as_the_place_is_where_it_is_to_be() -> None:
    """The stand is 15 cm from the wall, which is no part of what is used."""
    shelf = Reach(np.array([1.25, 0.0, 0.5]), math.pi / 2, "carry")
    assert away(WALL, pushed([WALL], (0.7, 0.0), shelf)).min() < 0.16
    assert away(WALL, pushed([WALL], (0.7, 0.0))).min() > CLEAR - NEARLY


def test_what_the_character_has_moved_counts_where_it_is() -> None:
    crate = box("Crate", (5.0, 0.0, 0.5), (0.3, 0.3, 0.5))
    root = FilteredRoot(AWAY, [CollisionAvoidance()], things=[crate])
    root.scenery.moved["Crate"] = np.array([1.1, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0])
    assert root.go(2.0, (1.0, 0.0)).track[-1, 0] < 1.1 - 0.15 - CLEAR + NEARLY


def test_what_is_above_the_body_or_carries_it_is_not_in_the_way() -> None:
    lintel = box("Lintel", (1.0, 0.0, 2.3), (0.1, 9.0, 0.2))
    steps = box("Steps", (1.0, 0.0, 0.2), (0.4, 9.0, 0.4), role="climbable")
    assert pushed([lintel, steps], (1.3, 0.0)).track[-1, 0] == pytest.approx(2.6)


def test_what_moves_counts_where_it_is_now() -> None:
    """A crate slides out of the way, and another into it."""
    sideways = np.minimum(np.arange(181) / FPS, 1.5)[:, None] * np.array([0.0, 1.0, 0.0])
    leaves = sliding(box("Leaves", (1.2, 0.0, 0.5), (0.3, 0.6, 1.0)), np.array([1.2, 0.0, 0.5]) + sideways)
    comes = sliding(box("Comes", (1.2, -1.5, 0.5), (0.3, 0.6, 1.0)), np.array([1.2, -1.5, 0.5]) + sideways)
    assert pushed([leaves], (0.7, 0.0), seconds=3.0).track[-1, 0] > 1.6
    stopped = pushed([comes], (0.45, 0.0), seconds=3.0)
    assert away(comes, stopped).min() > CLEAR - NEARLY and stopped.track[-1, 0] < 0.85


def test_a_root_is_not_pushed_away_by_what_stands_near_it() -> None:
    near = wall("Near", (0.1, -9.0), (0.1, 9.0))
    np.testing.assert_allclose(pushed([near], STILL).speeds, 0, atol=1e-9)
    assert pushed([near], (-1.0, 0.0)).track[-1, 0] == pytest.approx(-2.0)


def test_a_fork_is_held_back_on_its_own() -> None:
    """It goes on as the root that it is forked from, which another goal of the fork leaves as it is."""
    alone, root = pushed([WALL], (1.3, 0.4), seconds=0.6), pushed([WALL], (1.3, 0.4), seconds=0.3)
    fork = FilteredRoot(Steer(walker(), door="Wall"), [each.fork() for each in root.filters], things=[WALL])
    fork.roots = list(root.roots)
    fork.go(1.0, (1.3, 0.4))
    assert fork.track[-1, 0] > 1.0
    np.testing.assert_array_equal(root.go(0.3, (1.3, 0.4)).track, alone.track)


def run_in_a_pen(facing: float) -> tuple[Shot, Motion]:
    """A run along a wall that is half a meter aside and ahead of a character that looks elsewhere first."""
    goals = [Goal("g", [0.5, 1.4, 0.0])]
    keys, start = [ActionKey("run", "g")], [1.4, -1.4, 0.0, facing]
    shot = Shot("Runner", 30.0, 240, keys=keys, goals=goals, colliders=pen(), start=start)
    return shot, SceneBake(shot).motion()


@pytest.mark.parametrize("facing", [0.0, math.pi / 2])
def test_a_character_that_looks_at_a_wall_turns_and_runs_and_ends_at_the_goal(facing: float) -> None:
    shot, motion = run_in_a_pen(facing)
    around = Surroundings(shot.colliders)
    assert max(depth(places.astype(float), 0, around, (), False, False) for places in motion.positions) < 0.02
    key = motion.meta["keys"][0]
    assert key["trouble"] == "" and key["error_cm"] < 10
    assert np.linalg.norm(motion.root[-30:, :2] - shot.goals[0].place[:2], axis=1).max() < 0.2
