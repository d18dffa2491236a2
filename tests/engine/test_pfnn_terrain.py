# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rollout feels of the ground: which side is which, a root that glides, levels, low ceilings."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.ground import LOW, Ground
from nsm_blender.models.pfnn import ASIDE, CURRENT, SAMPLES
from nsm_blender.motion.root import direction
from nsm_blender.motion.rotations import Array
from nsm_blender.rollout.terrain import Terrain

from .test_ground import box, quad

AHEAD = np.tile([0.0, -1.0], (SAMPLES, 1))
"""Facing -y at every sample."""


def along(place: float, spacing: float = 0.2) -> Array:
    """Samples of a straight way in -y, of which the present one is at y = -place."""
    y = -(place + spacing * (np.arange(SAMPLES) - CURRENT))
    return np.stack((np.zeros(SAMPLES), y), axis=1)


def flight(treads: int = 12, rise: float = 0.17, depth: float = 0.3) -> Ground:
    """Solid stairs that go up toward -y from y = 0, with a landing."""
    end = -depth * treads - 5.0
    return Ground.of([box((-1.0, end, 0.0), (1.0, -depth * i, rise * (i + 1))) for i in range(treads)])


@pytest.mark.parametrize(("angle", "right_to_left"), [(0.0, (-1, 0, 1)), (np.pi, (1, 0, -1)), (np.pi / 2, (0, 0, 0))])
def test_left_and_right_are_the_characters(angle: float, right_to_left: tuple[int, ...]) -> None:
    ramp = Ground.of([quad((-5, -5, 0), (5, -5, 5), (5, 5, 5), (-5, 5, 0))])
    terrain = Terrain(ramp, (0.0, 0.0), 2.5)
    felt = terrain.feel(np.zeros((SAMPLES, 2)), np.tile(direction(np.array(angle)), (SAMPLES, 1)))
    np.testing.assert_allclose(felt - 2.5, np.tile(0.5 * ASIDE * np.array(right_to_left), (SAMPLES, 1)), atol=1e-5)


def test_the_root_glides_up_stairs() -> None:
    terrain = Terrain(flight(), (0.0, 2.0), 0.0)
    heights = []
    for place in np.arange(-2.0, 7.0, 0.02):
        terrain.feel(along(place), AHEAD)
        heights.append(terrain.height)
    # In a frame of a walk no faster than twice as steep as the flight.
    assert np.diff(heights).max() < 2 * 0.02 * 0.17 / 0.3
    assert np.diff(heights).min() > -1e-6
    assert heights[0] == 0.0
    assert heights[-1] == pytest.approx(12 * 0.17, abs=1e-5)


def test_stairs_a_second_ahead_are_felt_though_no_foot_could_step_so_high() -> None:
    terrain = Terrain(flight(), (0.0, 0.1), 0.0)
    felt = terrain.feel(along(-0.1, spacing=0.3), AHEAD)
    assert felt[-1, 1] == pytest.approx(5 * 0.17, abs=0.5 * 0.17)


def test_a_way_under_a_gallery_stays_on_the_floor() -> None:
    gallery = Ground.of([box((-1.0, -5.0, 2.3), (1.0, -1.0, 2.5))])
    terrain = Terrain(gallery, (0.0, 0.0), 0.0)
    for place in np.arange(0.0, 4.0, 0.05):
        assert not terrain.feel(along(place), AHEAD).any()
        assert not terrain.is_low


@pytest.mark.parametrize(("height", "low"), [(LOW - 0.1, True), (LOW + 0.1, False)])
def test_a_beam_is_low_when_a_walk_does_not_fit_below_it(height: float, low: bool) -> None:
    beam = Ground.of([box((-1.0, -1.2, height), (1.0, -1.0, height + 0.2))])
    terrain = Terrain(beam, (0.0, 0.0), 0.0)
    terrain.feel(along(0.7), AHEAD)
    assert terrain.is_low == low
    terrain.feel(along(-9.0), AHEAD)
    assert not terrain.is_low
