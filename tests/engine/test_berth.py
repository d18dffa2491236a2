# SPDX-License-Identifier: GPL-3.0-or-later
"""Who walks comes no nearer to things than the body is wide, however the network swings."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Surroundings
from nsm_blender.motion.rotations import Array
from nsm_blender.planning.occupancy_grid import ObstacleOutlines
from nsm_blender.planning.velocity_constraints import SLACK, Berth

from .obstacles import box, wall

RADIUS = 0.3
CLOSEST = RADIUS - SLACK
STEP = 1 / 60
WALL = wall("Wall", (1.0, -9.0), (1.0, 9.0))


def footprints(things: list[Collider]) -> ObstacleOutlines:
    return ObstacleOutlines.of(Surroundings(things).at(0))


def gone(things: list[Collider], start: tuple[float, float], velocity: tuple[float, float], frames: int = 120) -> Array:
    """Places (F, 2) of one who would go on evenly for ever."""
    berth, here, out = Berth(footprints(things), footprints([]), RADIUS), np.array(start), []
    for _ in range(frames):
        here = here + STEP * np.array(berth.allowed(*here.tolist(), velocity, False))
        out.append(here)
    return np.array(out)


@pytest.mark.parametrize("turn", np.linspace(0, 3, 7))
@pytest.mark.parametrize("speed", [0.5, 1.3, 3.0])
def test_nobody_comes_nearer_than_the_body_is_wide(turn: float, speed: float) -> None:
    post = box("Post", (0.0, 0.0, 0.5), (0.5, 0.3, 1.0), angle=turn)
    places = gone([post, WALL], (-1.5, 0.1), (speed, 0.0), 400)
    assert footprints([post, WALL]).distance(places).min() >= CLOSEST - 1e-6
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).max() <= 1.001 * speed * STEP


@pytest.mark.parametrize("height", [-0.5, 0.0, 0.3])
def test_one_who_walks_into_a_corner_stays_out_of_both_walls(height: float) -> None:
    corner = [wall("Low", (-2.0, -1.0), (1.0, 0.0)), wall("High", (-2.0, 1.0), (1.0, 0.0))]
    places = gone(corner, (-1.8, 0.1), (1.3, height), 400)
    assert footprints(corner).distance(places).min() >= CLOSEST - 1e-3


def test_one_slows_down_evenly_before_a_thing() -> None:
    speed = np.linalg.norm(np.diff(gone([WALL], (-1.0, 0.0), (1.3, 0.0)), axis=0), axis=1) / STEP
    assert (np.diff(speed) < 1e-9).all()
    assert np.abs(np.diff(speed)).max() / STEP < 6.0
    assert speed[-1] < 0.05


def test_one_goes_along_a_wall_and_away_from_it_as_one_likes() -> None:
    along = gone([WALL], (1.0 - 0.05 - CLOSEST, 0.0), (0.0, 1.3))
    np.testing.assert_allclose(along[-1], [1.0 - 0.05 - CLOSEST, 1.3 * 120 * STEP], atol=1e-6)
    away = gone([WALL], (1.0 - 0.05 - CLOSEST, 0.0), (-1.3, 0.0))
    assert away[-1, 0] == pytest.approx(1.0 - 0.05 - CLOSEST - 1.3 * 120 * STEP)


def test_one_who_stands_too_near_is_not_pushed_but_comes_no_nearer_again() -> None:
    close = 1.0 - 0.05 - 0.1
    np.testing.assert_allclose(gone([WALL], (close, 0.0), (0.0, 0.0))[-1], [close, 0.0])
    assert gone([WALL], (close, 0.0), (0.5, 0.0))[-1, 0] == pytest.approx(close)
    berth = Berth(footprints([WALL]), footprints([]), RADIUS)
    for x in (close, 0.5, 0.95 - CLOSEST):
        berth.allowed(x, 0.0, (0.0, 0.0), False)
    assert berth.allowed(0.95 - CLOSEST, 0.0, (1.0, 0.0), False)[0] == pytest.approx(0.0, abs=1e-9)


def test_one_who_crouches_goes_where_others_cannot() -> None:
    berth = Berth(footprints([WALL]), footprints([]), RADIUS)
    assert berth.allowed(0.5, 0.0, (1.0, 0.0), True) == (1.0, 0.0)
    assert math.hypot(*berth.allowed(0.9, 0.0, (1.0, 0.0), False)) < 1


def test_one_who_goes_sideways_gets_through_a_gap_that_stops_others() -> None:
    gap = [wall("Low", (0.0, -2.0), (0.0, -0.225)), wall("High", (0.0, 0.225), (0.0, 2.0))]
    for sideways in (False, True):
        berth, x = Berth(footprints(gap), footprints([]), RADIUS), -1.0
        for _ in range(240):
            x += STEP * berth.allowed(x, 0.0, (0.7, 0.0), False, sideways)[0]
        assert (x > 1.0) == sideways
