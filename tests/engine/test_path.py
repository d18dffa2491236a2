# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths on the ground, measured by the meters walked along them."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.errors import ShotError
from nsm_blender.motion.rotations import Array
from nsm_blender.planning.path import GroundPath

CORNER = np.array([[0.0, 0, 0], [0, -2, 1], [3, -2, 5]])


def circle(radius: float = 2.0, count: int = 100) -> Array:
    a = np.arange(count) * (2 * np.pi / count)
    return np.stack((radius * np.cos(a), radius * np.sin(a)), axis=1)


def test_arc_length_is_meters_over_the_ground() -> None:
    path = GroundPath(CORNER)
    assert path.length == pytest.approx(5)
    np.testing.assert_allclose(path.position(np.array([0, 1, 2, 4, 5])), [[0, 0], [0, -1], [0, -2], [2, -2], [3, -2]])


def test_an_open_path_ends() -> None:
    path = GroundPath(CORNER)
    np.testing.assert_allclose(path.position(np.array([-1.0, 9.0])), [[0, 0], [3, -2]], atol=1e-12)
    assert path.heading(np.array(9.0)) == pytest.approx(np.pi / 2)


def test_the_heading_is_the_facing_angle_of_the_way() -> None:
    path = GroundPath(CORNER)
    np.testing.assert_allclose(path.heading(np.array([0.0, 1.0, 3.0, 5.0])), [0, 0, np.pi / 2, np.pi / 2], atol=1e-9)


def test_the_heading_turns_through_a_corner_without_a_leap() -> None:
    heading = GroundPath(CORNER).heading(np.linspace(1.8, 2.2, 200))
    assert np.abs(np.diff(heading)).max() < 0.1
    assert (np.diff(heading) >= -1e-9).all()


def test_a_closed_path_goes_round_and_round() -> None:
    path = GroundPath(circle(), closed=True)
    assert path.length == pytest.approx(4 * np.pi, rel=1e-3)
    s = np.array([0.3, 5.0, 12.0])
    np.testing.assert_allclose(path.position(s + 2 * path.length), path.position(s), atol=1e-9)
    np.testing.assert_allclose(path.position(np.array(0.0)), [2, 0], atol=1e-9)
    np.testing.assert_allclose(path.position(np.array(path.length / 2)), [-2, 0], atol=0.01)


def test_a_closed_curve_whose_last_point_repeats_the_first_is_no_longer() -> None:
    once = circle()
    assert GroundPath(np.vstack((once, once[:1])), closed=True).length == pytest.approx(
        GroundPath(once, closed=True).length
    )


def test_the_nearest_point_is_found_near_where_the_character_was() -> None:
    path = GroundPath(CORNER)
    assert path.project(np.array([0.3, -1.0]), near=0.8) == pytest.approx(1.0, abs=0.02)
    assert path.project(np.array([1.0, -2.4]), near=2.8) == pytest.approx(3.0, abs=0.02)


def test_a_path_that_crosses_itself_is_followed_in_order() -> None:
    t = np.linspace(0, 2 * np.pi, 400)
    path = GroundPath(np.stack((2 * np.sin(t), np.sin(2 * t)), axis=1))
    along = 0.0
    for s in np.arange(0, path.length, 0.05):
        along = path.project(path.position(s), along)
        assert along == pytest.approx(s, abs=0.03)


def test_rounds_are_counted_on_a_closed_path() -> None:
    path = GroundPath(circle(), closed=True)
    along = 0.0
    for s in np.arange(0, 2.5 * path.length, 0.1):
        along = path.project(path.position(s), along)
    assert along == pytest.approx(2.5 * path.length, abs=0.15)


def test_a_place_beside_the_end_is_at_the_end() -> None:
    path = GroundPath(CORNER)
    assert path.project(np.array([3.5, -2.1]), near=5.0) == pytest.approx(5.0)


def test_factors_are_carried_along_the_curve() -> None:
    path = GroundPath(CORNER, factors=np.array([1.0, 0.5, 2.0]))
    assert path.factor(0.0) == pytest.approx(1.0)
    assert path.factor(1.0) == pytest.approx(0.75, abs=0.01)
    assert path.factor(99.0) == pytest.approx(2.0)
    assert GroundPath(CORNER).factor(1.0) == 1.0


def test_distances_are_to_the_nearest_point_of_the_whole_path() -> None:
    places = np.array([[0.5, -1.0], [1.0, -2.0], [3.0, -3.0]])
    np.testing.assert_allclose(GroundPath(CORNER).distance(places), [0.5, 0, 1.0], atol=0.011)


def test_points_that_repeat_change_nothing() -> None:
    doubled = GroundPath(np.repeat(CORNER, 2, axis=0), factors=np.repeat([1.0, 0.5, 2.0], 2))
    plain = GroundPath(CORNER, factors=np.array([1.0, 0.5, 2.0]))
    s = np.linspace(0, 5, 30)
    np.testing.assert_allclose(doubled.position(s), plain.position(s))
    assert doubled.factor(1.3) == pytest.approx(plain.factor(1.3))


def test_a_path_without_length_over_the_ground_is_refused() -> None:
    with pytest.raises(ShotError, match="seen from above has no length"):
        GroundPath(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 2.0]]))
