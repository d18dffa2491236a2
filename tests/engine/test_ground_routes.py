# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways of action keys over ground: storeys that stairs and ramps lead to are reached, others are refused in words."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.errors import RouteError
from nsm_blender.evaluation.pfnn_routes import FIRST, REACHABLE, UNREACHABLE, carry_out, shot_of
from nsm_blender.geometry.ground import Ground, GroundMesh, mesh_at
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.geometry.shapes import block
from nsm_blender.paths import weights_folder
from nsm_blender.planning.ground_search import Ends, GroundFinder
from nsm_blender.planning.occupancy_grid import ObstacleOutlines
from nsm_blender.planning.path_search import Route
from nsm_blender.planning.walkable_surface import LIMITS
from nsm_blender.shot.goals import ActionKey, Goal, RouteOptions
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.arrival_times import foresee
from nsm_blender.tasks.validation import check

ROOMS = 3
"""Rooms of each kind."""
STOREY = 14 * 0.18
"""Meters of the upper storey."""


def mesh(name: str, *boxes: tuple[tuple[float, float, float], tuple[float, float, float]]) -> GroundMesh:
    joined = TriangleMesh.joined([block(low, high).mesh for low, high in boxes])
    return GroundMesh(name, joined.vertices.tolist(), joined.triangles.tolist())


def balcony() -> GroundMesh:
    return mesh("Balcony", ((2, -2, STOREY - 0.2), (6, 2, STOREY)))


def flight() -> GroundMesh:
    return mesh("Stairs", *(((2 - (14 - n) * 0.28, -0.6, 0), (2, 0.6, (n + 1) * 0.18)) for n in range(14)))


def way(
    meshes: list[GroundMesh],
    start: tuple[float, float, float],
    end: tuple[float, float, float],
    things: ObstacleOutlines | None = None,
    options: RouteOptions | None = None,
) -> Route:
    ground, ends = Ground.of([one.mesh() for one in meshes]), Ends(start[2], end[2], "Goal")
    finder = GroundFinder(things or ObstacleOutlines.none(), ["Crate"], options or RouteOptions(), ground, meshes, ends)
    return finder.route(np.array(start[:2]), np.array([end[:2]]))


def crate(low: tuple[float, float, float], high: tuple[float, float, float]) -> ObstacleOutlines:
    low_, high_ = np.array(low), np.array(high)
    middle, half = 0.5 * (low_ + high_), 0.5 * (high_ - low_)
    one = np.zeros(1)
    return ObstacleOutlines(
        middle[None, :2], half[None, :2], np.array([[1.0, 0.0]]), one + low_[2], one + high_[2], one.astype(int)
    )


def test_a_way_up_leads_over_the_middle_of_the_stairs_tread_by_tread() -> None:
    found = way([balcony(), flight()], (-5.0, 2.0, 0.0), (5.0, 1.0, STOREY)).points
    on = (found[:, 2] > 0.01) & (found[:, 2] < STOREY - 0.01)
    assert np.abs(found[on, 1]).max() < 0.6 - LIMITS.ledge + 0.05
    assert np.diff(found[:, 2]).max() < 0.19
    np.testing.assert_allclose(found[[0, -1]], [[-5, 2, 0], [5, 1, STOREY]], atol=1e-5)
    assert found[on, 0].min() > -2.1


def test_of_two_goals_one_over_the_other_each_is_on_its_own_storey() -> None:
    below = way([balcony(), flight()], (-5.0, 2.0, 0.0), (5.0, 1.0, 0.0)).points
    assert below[:, 2].max() == 0.0
    assert np.linalg.norm(np.diff(below[:, :2], axis=0), axis=1).sum() < 1.03 * math.hypot(10, 1)


def test_a_way_that_starts_upstairs_comes_down_by_the_stairs() -> None:
    down = way([balcony(), flight()], (5.0, 1.0, STOREY), (5.0, 1.0, 0.0)).points
    assert down[0, 2] == pytest.approx(STOREY)
    assert down[-1, 2] == 0.0
    assert np.diff(down[:, 2]).min() > -0.19


def test_a_ramp_is_taken_rather_than_steps_of_40_cm_and_stairs_rather_than_a_long_ramp() -> None:
    low = mesh("Stage", ((0, -2, 0), (4, 2, 0.76)))
    high_step = mesh("Step", ((-0.8, -2, 0), (0, -1, 0.38)))
    slope = GroundMesh("Ramp", [[-4, 0.9, 0], [0, 0.9, 0.76], [0, 2, 0.76], [-4, 2, 0]], [[0, 1, 2], [0, 2, 3]])
    by_ramp = way([low, high_step, slope], (-5.0, 0.5, 0.0), (2.0, 0.5, 0.76)).points
    assert np.abs(np.diff(by_ramp[:, 2])).max() < 0.1
    assert np.abs(np.diff(way([low, high_step], (-5.0, 0.5, 0.0), (2.0, 0.5, 0.76)).points[:, 2])).max() > 0.3


@pytest.mark.parametrize(
    ("meshes", "end", "things", "reason"),
    [
        ([balcony()], (5.0, 1.0, STOREY), None, r"'Goal' on 'Balcony': no stairs or ramp leads there\."),
        (
            [balcony(), flight()],
            (5.0, 1.0, STOREY),
            crate((-0.3, -0.7, 0.5), (0.3, 0.7, 2.5)),
            r"'Goal' on 'Balcony': 'Crate' is in the way\.",
        ),
        (
            [
                mesh("Floor", ((-6, -2, -0.2), (-1, 2, 0.0))),
                mesh("Far", ((1, -2, -0.2), (6, 2, 0.0))),
                mesh("Pit", ((-7, -3, -3.1), (7, 3, -3.0))),
            ],
            (5.0, 1.0, 0.0),
            None,
            r"'Goal' on 'Far': the ground between is interrupted",
        ),
        ([balcony(), flight()], (5.0, 1.95, STOREY), None, r"goal on 'Balcony' is nearer than 20 cm to an edge"),
    ],
)
def test_what_cannot_be_reached_is_told_with_the_reason(
    meshes: list[GroundMesh], end: tuple[float, float, float], things: ObstacleOutlines | None, reason: str
) -> None:
    with pytest.raises(RouteError, match=reason):
        way(meshes, (-5.0, 1.5, 0.0), end, things)


def test_a_ramp_that_is_too_steep_is_the_reason() -> None:
    slope = GroundMesh("Ramp", [[0, -1, 0], [2, -1, STOREY], [2, 1, STOREY], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    with pytest.raises(RouteError, match="steeper than 35 degrees"):
        way([balcony(), slope], (-5.0, 1.5, 0.0), (5.0, 1.0, STOREY))


def test_a_low_beam_of_the_ground_is_gone_under_crouching_or_round() -> None:
    beam = mesh("Beam", ((-0.2, -2, 1.45), (0.2, 2, 1.7)))
    assert way([beam], (-1.5, 0.0, 0.0), (1.5, 0.0, 0.0)).crouch.any()
    upright = way([beam], (-1.5, 0.0, 0.0), (1.5, 0.0, 0.0), options=RouteOptions(crouch=False))
    assert not upright.crouch.any()
    assert np.abs(upright.points[:, 1]).max() > 2.0


def test_a_thing_blocks_on_its_own_storey_alone() -> None:
    above = crate((3.0, -2.0, STOREY), (3.4, 1.0, STOREY + 1.0))
    meshes = [balcony(), flight()]
    below = way(meshes, (0.0, 1.5, 0.0), (5.0, 0.5, 0.0), above).points
    assert np.abs(below[:, 1]).max() < 1.6
    over = way(meshes, (-5.0, 0.0, 0.0), (5.0, 0.5, STOREY), above).points
    beside = over[(over[:, 0] > 3.0) & (over[:, 0] < 3.4), 1]
    assert beside.min() > 1.0 + 0.28


def test_the_mesh_under_a_place_is_known_by_its_height() -> None:
    meshes = [balcony(), flight()]
    assert mesh_at(meshes, np.array([5.0, 0.3, STOREY]), 0.1) == "Balcony"
    assert mesh_at(meshes, np.array([-1.9, 0.3, 0.18]), 0.1) == "Stairs"
    assert not mesh_at(meshes, np.array([9.0, 0.0, 0.0]), 0.1)


def errand(*keys: ActionKey, **more: object) -> Shot:
    goals = [Goal("Up", [5.0, 1.0, STOREY], facing=0.0), Goal("Far", [5.0, 1.0, STOREY + 1.0])]
    start = [-3.0, 1.0, 0.0, math.pi / 2]
    return Shot("A", 30.0, 600, keys=list(keys), goals=goals, ground=[balcony(), flight()], start=start, **more)  # type: ignore[arg-type]


def test_a_key_walks_up_the_stairs_and_stands_on_the_storey_of_its_goal() -> None:
    motion = Bake(errand(ActionKey("walk", "Up"))).motion()
    (key,) = motion.meta["keys"]
    assert not key["trouble"]
    assert key["error_cm"] < 10
    assert motion.root[-1, 2] == pytest.approx(STOREY, abs=0.01)
    assert np.abs(np.diff(motion.root[:, 2])).max() < 0.1


def test_a_drawn_route_over_ground_follows_its_storeys() -> None:
    drawn = [[-2.5, 0.0, 0.0], [2.5, 0.0, STOREY], [4.0, 1.5, STOREY]]
    (seen,) = foresee(errand(ActionKey("walk", "Up", route=drawn)))
    assert seen.leg is not None
    assert seen.leg.route.points[:, 2].max() == pytest.approx(STOREY, abs=1e-5)
    assert seen.leg.height == pytest.approx(STOREY, abs=1e-5)


def test_a_goal_in_the_air_stands_on_the_storey_nearest_to_it_and_that_is_told() -> None:
    (problem,) = check(errand(ActionKey("walk", "Far")))
    assert "The goal is 1.0 m above the ground" in problem.text
    assert not problem.fatal


@pytest.mark.parametrize("kind", REACHABLE)
def test_upper_storeys_are_found_in_random_rooms(kind: str) -> None:
    found = 0
    for seed in range(ROOMS):
        up, down = foresee(shot_of(kind, seed))
        found += up.leg is not None and down.leg is not None and down.leg.height == 0.0
    assert found >= ROOMS - 1


@pytest.mark.parametrize("kind", UNREACHABLE)
def test_what_leads_nowhere_is_refused_in_random_rooms(kind: str) -> None:
    refused = [foresee(shot_of(kind, seed))[0].trouble for seed in range(ROOMS)]
    assert sum(map(bool, refused)) >= ROOMS - 1


def test_the_table_of_routes_bakes_what_it_finds() -> None:
    errand = carry_out(shot_of("ramp", FIRST - 1), weights_folder() / "pfnn.safetensors")
    assert errand.reached or errand.refused
    assert carry_out(shot_of("nothing", FIRST - 1), weights_folder() / "pfnn.safetensors").refused


@pytest.mark.parametrize(("kind", "seed"), [("stairs", FIRST - 2), ("winding", FIRST - 3)])
def test_arrivals_up_stairs_are_kept_between_the_fastest_walk_and_the_slowest_run(kind: str, seed: int) -> None:
    """A run takes stairs several times as fast as a walk: one that has more time sets off later."""
    shot = shot_of(kind, seed)
    shot = replace(shot, keys=[replace(shot.keys[0], action="walk", gait="walk")], frames=1500)
    (walked,) = Bake(shot).motion().meta["keys"]
    for share in (0.7, 0.9):
        timed = replace(shot.keys[0], arrive=round(share * walked["arrived"]))
        (key,) = Bake(replace(shot, keys=[timed])).motion().meta["keys"]
        assert not key["trouble"]
        assert abs(key["arrived"] - timed.arrive) <= 1
