# SPDX-License-Identifier: GPL-3.0-or-later
"""Who acts comes no nearer to things than a body has room, but gets where he is to be; who runs comes to rest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.baking.nsm import SceneBake
from nsm_blender.geometry.body import depth
from nsm_blender.geometry.colliders import Collider, Surroundings
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.models.nsm import FPS
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array
from nsm_blender.planning.occupancy_grid import ObstacleOutlines
from nsm_blender.rollout.collision_avoidance import BRAKES, ROOM, SceneBerth
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot

from .obstacles import box, pen, wall

WALL = wall("Wall", (1.0, -9.0), (1.0, 9.0))
FREE = np.zeros((0, 2))
AHEAD = np.arange(1, 7)[:, None] / 6


def pushed(
    things: list[Collider], velocity: tuple[float, float], way: Array = FREE, used: frozenset[str] = frozenset()
) -> tuple[Array, Array]:
    """Places (F, 2) of one who starts in the middle and would go on evenly for two seconds, and where he is foreseen
    in the end (6, 2)."""
    berth, scenery, root, out = SceneBerth(), Scenery(Surroundings(things)), np.zeros(4), []
    for frame in range(120):
        before, root = root, root + np.array([*velocity, 0.0, 0.0]) / FPS
        place = root[:2] + AHEAD * velocity
        place = berth.kept_off(scenery, frame, before, root, place, way, used)
        out.append(root[:2].copy())
    return np.array(out), place


def away(things: list[Collider], places: Array) -> Array:
    return ObstacleOutlines.of(Surroundings(things).at(0)).distance(places)


@pytest.mark.parametrize("velocity", [(0.7, 0.0), (1.3, 0.4), (3.0, -1.0)])
def test_one_is_held_back_before_a_wall_and_foresees_it(velocity: tuple[float, float]) -> None:
    places, foreseen = pushed([WALL], velocity)
    assert away([WALL], places).min() > ROOM - 0.06
    assert (foreseen[:, 0] < 1.0).all() and away([WALL], foreseen).min() > ROOM - 0.06
    assert places[-1, 1] == pytest.approx(2 * velocity[1], abs=0.05)
    steps = np.diff(places, axis=0) * FPS
    assert np.linalg.norm(np.diff(steps, axis=0), axis=1).max() * FPS < 1.01 * BRAKES


def test_one_goes_through_what_is_used_or_carried() -> None:
    places, foreseen = pushed([WALL], (1.3, 0.0), used=frozenset({"Wall"}))
    assert places[-1, 0] == pytest.approx(2.6)
    assert foreseen[-1, 0] == pytest.approx(3.9)


def test_one_comes_as_near_to_a_thing_as_the_place_is_where_one_is_to_be() -> None:
    way = np.array([[0.8, 0.0]])
    places, _ = pushed([WALL], (0.7, 0.0), way)
    assert places[:, 0].max() > 0.78
    assert pushed([WALL], (0.7, 0.0))[0][:, 0].max() < 1.0 - 0.05 - ROOM + 0.02


def test_what_one_has_moved_counts_where_it_is() -> None:
    crate = box("Crate", (5.0, 0.0, 0.5), (0.3, 0.3, 0.5))
    berth, scenery = SceneBerth(), Scenery(Surroundings([crate]))
    scenery.moved["Crate"] = np.array([1.1, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0])
    root = np.zeros(4)
    for frame in range(120):
        before, root = root, root + np.array([1.0, 0.0, 0.0, 0.0]) / FPS
        berth.kept_off(scenery, frame, before, root, root[:2] + AHEAD * (1.0, 0.0), FREE, frozenset())
    assert root[0] < 1.1 - 0.15 - ROOM + 0.02


def run_in_a_pen(facing: float) -> tuple[Shot, Motion]:
    """A run along a wall that is half a metre aside and ahead of one who looks elsewhere first."""
    goals = [Goal("g", [0.5, 1.4, 0.0])]
    keys, start = [ActionKey("run", "g")], [1.4, -1.4, 0.0, facing]
    shot = Shot("Runner", 30.0, 240, keys=keys, goals=goals, colliders=pen(), start=start)
    return shot, SceneBake(shot).motion()


@pytest.mark.parametrize("facing", [0.0, math.pi / 2])
def test_one_who_looks_at_a_wall_turns_and_runs_and_ends_at_the_goal(facing: float) -> None:
    shot, motion = run_in_a_pen(facing)
    around = Surroundings(shot.colliders)
    assert max(depth(places.astype(float), 0, around, (), False, False) for places in motion.positions) < 0.02
    key = motion.meta["keys"][0]
    assert key["trouble"] == "" and key["error_cm"] < 10
    assert np.linalg.norm(motion.root[-30:, :2] - shot.goals[0].place[:2], axis=1).max() < 0.2
