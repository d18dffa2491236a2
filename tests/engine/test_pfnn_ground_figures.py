# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of made-up ground: its courses are what it says, and what it finds in a bake is there."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender import evaluate
from nsm_blender.errors import UserError
from nsm_blender.evaluation import pfnn_ground
from nsm_blender.evaluation.pfnn_ground import (
    LANDING,
    MISSED,
    ROUGH,
    STEEPEST,
    Course,
    cross,
    drop,
    gap,
    noise,
    ramp,
    stairs,
)
from nsm_blender.geometry.ground import Ground
from nsm_blender.geometry.shapes import block
from nsm_blender.motion.rotations import Array
from nsm_blender.paths import weights_folder

WEIGHTS = weights_folder() / "pfnn.safetensors"


def profile(course: Course, x: Array) -> Array:
    return Ground.of(list(course.meshes)).height(np.stack((x, np.zeros_like(x)), axis=1))


@pytest.mark.parametrize("seed", range(5))
def test_stairs_go_up_by_treads_and_down_again(seed: int) -> None:
    course = stairs(np.random.default_rng(seed))
    heights = profile(course, course.treads.mean(axis=1))
    up, down = heights.reshape(2, -1)
    rise = heights[0]
    assert 0.15 <= rise <= 0.2
    np.testing.assert_allclose(np.diff(up), rise, atol=1e-5)
    np.testing.assert_allclose(down, up, atol=1e-5)
    assert profile(course, np.array([-0.1, course.length + 0.1])).max() == 0.0
    assert profile(course, np.array([course.length / 2]))[0] == pytest.approx(heights.max() + rise, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_ramps_are_no_steeper_than_they_may_be_and_level_on_top(seed: int) -> None:
    course = ramp(np.random.default_rng(seed))
    x = np.linspace(-1, course.length + 1, 400)
    slope = np.abs(np.diff(profile(course, x)) / np.diff(x))
    assert math.tan(math.radians(5)) < slope.max() < math.tan(STEEPEST) * 1.1
    top = course.length / 2 + np.array([-0.45, 0.45]) * LANDING
    assert np.ptp(profile(course, top)) < 1e-5


def test_noise_is_as_rough_as_it_says_and_level_at_its_ends() -> None:
    course = noise(np.random.default_rng(3))
    field = course.meshes[0].vertices
    assert 0.7 * ROUGH < np.ptp(field[:, 2]) <= ROUGH
    assert profile(course, np.array([0.0, course.length])).max() < 1e-6


def test_gaps_and_drops_begin_high() -> None:
    for make in (gap, drop):
        course = make(np.random.default_rng(1))
        heights = profile(course, np.array([-1.0, 0.1]))
        np.testing.assert_allclose(heights, [course.floor, 0.0], atol=1e-5)


def test_a_course_without_anything_on_it_is_crossed_with_the_feet_on_the_floor() -> None:
    level = Course([block((0.0, -1.0, 0.0), (1.0, 1.0, 0.001)).mesh], 1.0, np.zeros((0, 2)))
    found = cross(level, "walk", WEIGHTS)
    assert found.done
    # The foot lock leaves an ankle up to 15 mm below its height in a level stance.
    assert found.depth.max() <= 0.016
    assert np.percentile(np.abs(found.height), 99) < 0.02


def test_a_path_that_is_longer_than_the_time_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pfnn_ground, "_SPARE", 0.3)
    level = Course([block((0.0, -1.0, 0.0), (6.0, 1.0, 0.001)).mesh], 6.0, np.zeros((0, 2)))
    assert not cross(level, "walk", WEIGHTS).done


def test_a_run_off_a_high_edge_takes_no_foot_through_it() -> None:
    heights = np.linspace(0.7, 0.8, 6)
    edges = [block((-10.0, -2.0, 0.0), (0.0, 2.0, height)).mesh for height in heights]
    done = [
        cross(Course([e], 0.0, np.zeros((0, 2)), h), "jog", WEIGHTS).done for e, h in zip(edges, heights, strict=True)
    ]
    assert np.mean(done) > 0.8


def test_a_gap_that_is_too_wide_to_be_crossed_is_not_done() -> None:
    wide = gap(np.random.default_rng(0))
    wide = Course([wide.meshes[0], block((6.0, -1.5, 0.0), (9.0, 1.5, 1.0)).mesh], 6.0, wide.treads, wide.floor)
    assert profile(wide, np.array([3.0]))[0] < wide.floor - MISSED
    assert not cross(wide, "walk", WEIGHTS).done


def test_a_table_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(UserError, match=r"no table of the PFNN's 'water'; choose from path, .*ground"):
        evaluate("pfnn", ["water"])
