# SPDX-License-Identifier: GPL-3.0-or-later
"""Walkers of a crowd that keep their distance, and ground that a synthesis refuses."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.errors import ShotError
from nsm_blender.manifold.ground import WALKABLE, check_ground
from nsm_blender.manifold.spacing import SPACING, kept_apart, passes_between
from nsm_blender.manifold.synthesis_trajectory import Course, course_of
from nsm_blender.models.manifold import FPS
from nsm_blender.shot.shot import PathFollow, per_frame
from nsm_blender.stepwise import finished

FRAMES = round(10 * FPS)


def along(*points: tuple[float, float], speed: float = 1.4) -> Course:
    follow = PathFollow(
        [[*p, 0.0] for p in points], per_frame(speed, FRAMES), ["walk"] * FRAMES, per_frame(0.0, FRAMES)
    )
    return course_of(follow, FPS, FRAMES)


def near(courses: list[Course]) -> float:
    return passes_between([course.track[:, :2] for course in courses]).closest


def test_walkers_whose_ways_cross_let_each_other_pass() -> None:
    courses = [along((-7, 0), (7, 0)), along((0, -7), (0, 7)), along((-5, -5), (5, 5))]
    assert near(courses) < 0.1
    apart = finished(kept_apart(courses))
    assert passes_between([course.track[:, :2] for course in apart]).under == 0
    assert apart[0] is courses[0]


def test_each_stays_on_its_curve_and_goes_no_faster_than_it_may() -> None:
    courses = [along((-7, 0), (7, 0)), along((0, -7), (0, 7))]
    moved = finished(kept_apart(courses))[1]
    assert np.abs(moved.track[:, 0]).max() < 1e-6
    assert np.linalg.norm(moved.track[0] - courses[1].track[0]) < 0.05
    assert moved.speed.max() <= 1.05 * SPACING.hurry * 1.4 and moved.speed.min() >= -1e-9


def test_a_faster_walker_stays_behind_a_slower_one_on_the_same_curve() -> None:
    courses = [along((-6, 0), (9, 0), speed=0.9), along((-7, 0), (9, 0), speed=1.6)]
    assert near(courses) < 0.1
    assert near(finished(kept_apart(courses))) > 0.9 * SPACING.apart


def test_walkers_that_never_meet_keep_their_pace() -> None:
    courses = [along((-7, y), (7, y)) for y in range(4)]
    assert all(a is b for a, b in zip(finished(kept_apart(courses)), courses, strict=True))


@pytest.mark.parametrize(
    "ground",
    [
        lambda p: 0.17 * np.floor(p[..., 0] / 0.3),
        lambda p: np.where(p[..., 0] > 3, -2.0, 0.0),
        lambda p: 2 * WALKABLE.slope * p[..., 0],
        lambda p: 2 * WALKABLE.slope * p[..., 1],
        lambda p: np.where(p[..., 0] > 3, np.nan, 0.0),
    ],
    ids=["stairs", "cliff", "steep", "leaning", "no_number"],
)
def test_ground_beyond_what_it_can_walk_on_is_refused_in_words(ground) -> None:
    with pytest.raises(ShotError, match="The ground under 'walker'"):
        finished(check_ground("walker", along((0, 0), (8, 0)).track, ground))


@pytest.mark.parametrize(
    "ground",
    [
        lambda p: np.zeros(p.shape[:-1]),
        lambda p: 0.5 * p[..., 0],
        lambda p: 0.04 * np.floor(p[..., 0] / 0.3),
        lambda p: 0.1 * np.sin(p[..., 0]),
    ],
)
def test_gentle_ground_is_walked_on(ground) -> None:
    finished(check_ground("walker", along((0, 0), (8, 0)).track, ground))
