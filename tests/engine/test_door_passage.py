# SPDX-License-Identifier: GPL-3.0-or-later
"""The root keeps out of the way of a leaf that is opened, and between the posts of the door that is gone through."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider
from nsm_blender.models.nsm import DT
from nsm_blender.planning.path_search import Route
from nsm_blender.planning.speed_profile import Walker
from nsm_blender.rollout.door_passage import PASSAGE, DoorPassage
from nsm_blender.rollout.goal_spec import GoalSpec, Reach, Stay, Steer
from nsm_blender.rollout.held_objects import SWINGING
from nsm_blender.rollout.root_limits import LIMITS, RootLimits

from .root_filters import FilteredRoot
from .test_doorway import away, leaf, opened

OPENING = Reach(np.array([0.3, 0.0, 1.0]), math.pi, "open", "leaf", door="leaf")
"""By a character that stands where a leaf with a positive angle swings to."""


def through() -> Steer:
    """A way through the middle of the doorway, along -Y."""
    points = np.stack((np.zeros(61), np.linspace(3, -3, 61), np.zeros(61)), axis=1)
    return Steer(Walker(Route(points, *np.zeros((2, 61), dtype=bool)), "walk", None, np.full(61, 9.0)), door="leaf")


def beside(
    goal: GoalSpec, place: tuple[float, float], angle: float, *more: Collider, then: float | None = None
) -> FilteredRoot:
    """A root at a place, which the network leaves there within the limits of its motion, while a leaf swings on from
    one angle to another, and then stands."""
    door = leaf(1.5)
    root = FilteredRoot(goal, [RootLimits(), DoorPassage()], (*place, 0.0, 0.0), [door, *more])
    for turned in swung(angle, angle if then is None else then):
        root.scenery.moved["leaf"] = opened(door, turned)
        root.go(DT)
    return root


def swung(angle: float, then: float) -> list[float]:
    """Angles of a leaf that swings from one to another, frame by frame for two seconds."""
    return [min(angle + frame * DT * SWINGING.speed, then) for frame in range(120)]


@pytest.mark.parametrize("place", [(0.25, 0.5), (0.1, 0.6), (0.3, 0.3)])
def test_a_root_where_the_leaf_comes_is_led_out_of_its_way(place: tuple[float, float]) -> None:
    root = beside(OPENING, place, 0.1, then=1.2)
    apart = [away(leaf(1.5), angle, at[:2]) for angle, at in zip(swung(0.1, 1.2), root.roots[1:], strict=True)]
    assert min(apart) > 0.1
    assert root.speeds.max() <= max(PASSAGE.speed, *map(OPENING.speed_limit, root.roots)) + 1e-6


def test_a_root_is_not_led_before_the_leaf_is_ajar_nor_far_from_it() -> None:
    np.testing.assert_allclose(beside(OPENING, (0.25, 0.5), 0.0).speeds, 0, atol=1e-9)
    np.testing.assert_allclose(beside(OPENING, (0.25, 2.5), 0.1, then=1.2).speeds, 0, atol=1e-9)


@pytest.mark.parametrize("aside", [-0.3, 0.3])
def test_a_root_that_goes_through_keeps_between_the_posts(aside: float) -> None:
    root = beside(through(), (aside, 0.0), 1.5)
    assert abs(root.track[-1, 0]) < 0.13
    assert root.speeds.max() <= 1.7


def test_a_root_in_the_middle_of_the_doorway_is_left_alone() -> None:
    np.testing.assert_allclose(beside(through(), (0.0, 0.0), 1.5).speeds, 0, atol=1e-9)


@pytest.mark.parametrize("goal", [Stay(np.array([0.25, 0.5, 0.0])), Reach(np.zeros(3), 0.0, "carry", "")])
def test_a_root_that_does_not_use_the_door_is_left_alone(goal: GoalSpec) -> None:
    np.testing.assert_allclose(beside(goal, (0.25, 0.5), 0.1, then=1.2).speeds, 0, atol=1e-9)


def test_a_root_is_led_out_of_the_way_as_evenly_as_people_move() -> None:
    track = beside(OPENING, (0.25, 0.5), 0.1, then=1.2).track[:, :2]
    change = np.linalg.norm(np.diff(track, n=2, axis=0), axis=1) / DT**2
    assert change.max() <= 1.01 * max(PASSAGE.acceleration, LIMITS.acceleration)


def test_the_future_is_led_with_the_root() -> None:
    root = beside(through(), (0.3, 0.0), 1.5)
    places = root.proposal.places
    assert (np.abs(places[:, 0]) < 0.13).all()
