# SPDX-License-Identifier: GPL-3.0-or-later
"""Things are sensed where they are now: where they stand, where they move to, and where they were put."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Surroundings
from nsm_blender.geometry.ground_height import ground_under
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.motion.rotations import Array

from .obstacles import box

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
CRATE = box("Crate", (0.0, 0.0, 0.2), (0.4, 0.4, 0.4), role="carryable")
STEP = box("Step", (5.0, 0.0, 0.1), (1.0, 1.0, 0.2), role="climbable")


def pose(x: float, y: float, z: float = 0.2) -> Array:
    return np.array([x, y, z, *UPRIGHT])


def middles(scenery: Scenery, place: tuple[float, float, float]) -> list[list[float]]:
    """Middles of the cuboids within half a meter of a place."""
    return scenery.near(0, np.array(place), 0.5).center.round(6).tolist()


def test_what_is_moved_is_where_it_was_moved_to_last() -> None:
    scenery = Scenery(Surroundings([CRATE, STEP]))
    assert middles(scenery, (0.0, 0.0, 0.2)) == [[0.0, 0.0, 0.2]]
    scenery.moved["Crate"] = pose(2.0, 1.0)
    assert middles(scenery, (0.0, 0.0, 0.2)) == []
    assert middles(scenery, (2.0, 1.0, 0.2)) == [[2.0, 1.0, 0.2]]
    scenery.moved["Crate"] = pose(3.0, 1.0)
    assert middles(scenery, (2.0, 1.0, 0.2)) == []
    assert middles(scenery, (3.0, 1.0, 0.2)) == [[3.0, 1.0, 0.2]]


def test_what_a_fork_moves_stays_where_it_is_for_the_other() -> None:
    scenery = Scenery(Surroundings([CRATE]))
    scenery.moved["Crate"] = pose(2.0, 1.0)
    assert middles(scenery, (2.0, 1.0, 0.2))
    other = scenery.fork()
    other.moved["Crate"] = pose(-2.0, 1.0)
    assert middles(other, (-2.0, 1.0, 0.2)) and not middles(scenery, (-2.0, 1.0, 0.2))
    assert middles(scenery, (2.0, 1.0, 0.2)) and not middles(other, (2.0, 1.0, 0.2))


def test_the_ground_rises_over_the_edge_of_a_step_and_is_the_floor_elsewhere() -> None:
    scenery = Scenery(Surroundings([CRATE, STEP]))
    places = np.stack((np.linspace(3.0, 7.0, 81), np.zeros(81)), axis=1)
    height = np.array([scenery.ground(0, place[None], 0.0)[0] for place in places])
    np.testing.assert_allclose(height, ground_under(Surroundings([STEP]).at(0), places))
    assert height[40] == pytest.approx(0.2) and height[0] == height[-1] == 0.0
    assert 0 < height[29] < 0.2
    assert scenery.ground(0, np.zeros((1, 2)), 0.0)[0] == 0.0, "a crate carries no character"


def test_the_ground_goes_with_a_step_that_moves_or_is_moved() -> None:
    driven = replace(STEP, poses=np.array([pose(5.0, 0.0, 0.1), pose(2.0, 0.0, 0.1)]))
    there, here = np.array([[5.0, 0.0]]), np.array([[2.0, 0.0]])
    scenery = Scenery(Surroundings([driven]))
    assert scenery.ground(0, there, 0.0)[0] == pytest.approx(0.2) and scenery.ground(0, here, 0.0)[0] == 0.0
    assert scenery.ground(1, there, 0.0)[0] == 0.0 and scenery.ground(1, here, 0.0)[0] == pytest.approx(0.2)
    moved = Scenery(Surroundings([STEP]))
    moved.moved["Step"] = pose(2.0, 0.0, 0.1)
    assert moved.ground(0, there, 0.0)[0] == 0.0 and moved.ground(0, here, 0.0)[0] == pytest.approx(0.2)


@pytest.mark.parametrize("floor", [-1.5, 2.0])
def test_a_floor_at_another_height_is_the_ground_beside_a_step_near_and_far(floor: float) -> None:
    scenery = Scenery(Surroundings([replace(STEP, poses=pose(5.0, 0.0, floor + 0.1)[None])]))
    far, near, on = (scenery.ground(0, np.array([[x, 0.0]]), floor)[0] for x in (0.0, 4.2, 5.0))
    assert (far, near) == (floor, floor) and on == pytest.approx(floor + 0.2)
