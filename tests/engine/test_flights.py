# SPDX-License-Identifier: GPL-3.0-or-later
"""Flights of stairs along a path: they are found, and a walk takes each of their treads."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.geometry.ground import Ground, GroundMesh
from nsm_blender.geometry.shapes import block
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from nsm_blender.planning.flights import Flight, TreadPacing, flights_along
from nsm_blender.planning.path import GroundPath
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import PathFollow, Shot

START, LANDING = 2.0, 1.5
"""Meters of floor before stairs, and of landing on top of them."""


WALKED = 16.6, 51.1
"""99th percentiles of the accelerations of hips and feet in recorded walks on level ground, in m/s^2."""


def stairs(rise: float, run: float, count: int) -> list[GroundMesh]:
    """Up one flight from x = START on, over a landing, and down the same."""
    end = START + 2 * count * run + LANDING
    solids = [block((START + i * run, -1, 0), (end - i * run, 1, (i + 1) * rise)).mesh for i in range(count)]
    return [GroundMesh(f"Step {i}", one.vertices.tolist(), one.triangles.tolist()) for i, one in enumerate(solids)]


def found(meshes: list[GroundMesh], end: float) -> list[Flight]:
    ground, path = Ground.of([mesh.mesh() for mesh in meshes]), GroundPath(np.array([[0.0, 0.0], [end, 0.0]]))
    heights = ground.height(path.position(np.linspace(0, path.length, 200)))
    return flights_along(path, ground, heights)


def test_flights_are_found_up_and_down_with_their_risers() -> None:
    up, down = found(stairs(0.17, 0.28, 6), 9.0)
    np.testing.assert_allclose(up.edges, START + 0.28 * np.arange(6), atol=0.03)
    top = START + 6 * 0.28 + LANDING
    np.testing.assert_allclose(down.edges, top + 0.28 * np.arange(1, 7), atol=0.03)


@pytest.mark.parametrize("meshes", [stairs(0.17, 0.28, 1), stairs(0.4, 0.28, 3), stairs(0.17, 1.0, 3)])
def test_a_single_step_blocks_and_broad_platforms_are_no_flight(meshes: list[GroundMesh]) -> None:
    assert found(meshes, 9.0) == []


def test_a_step_that_came_down_late_is_followed_by_a_shorter_one() -> None:
    path = GroundPath(np.array([[0.0, 0.0], [9.0, 0.0]]))
    flight = Flight(3.0 + 0.3 * np.arange(5))
    pacing = TreadPacing(path, [flight], brake=0.9)
    assert pacing.step(3.4, (3.4 + 0.1, 0.0)) < 1 < pacing.step(3.4, (3.4 - 0.05, 0.0))
    assert pacing.step(3.4, (3.45, 0.0)) == pytest.approx(1, abs=0.05)
    assert pacing.step(7.0, (7.1, 0.0)) == 1 and pacing.allowed(7.0) == np.inf
    slowing = [pacing.allowed(s) for s in (0.0, 1.0, 2.0, 3.0)]
    assert slowing == sorted(slowing, reverse=True) and slowing[-1] == pytest.approx(flight.pace)


def used(motion: Motion, edges: Array) -> Array:
    """Whether a foot stands on each of the treads between edges (E,)."""
    places = motion.positions[:, MODEL_SKELETON.indices(CONTACT_JOINTS), 0]
    on = (places[..., None] > edges[:-1]) & (places[..., None] < edges[1:]) & (motion.contacts > 0.5)[..., None]
    return np.asarray(on.any(axis=(0, 1)))


def test_a_walk_stands_on_nearly_every_tread_of_many_stairs() -> None:
    rng = np.random.default_rng(5)
    treads: list[bool] = []
    hips, feet = list[Array](), list[Array]()
    for number in range(6):
        rise, run, count = rng.uniform(0.15, 0.2), rng.uniform(0.26, 0.34), int(rng.integers(5, 9))
        end = START + 2 * count * run + LANDING + 1.5
        frames = int(60 * end / 0.45)
        follow = PathFollow([[0.0, 0.0, 0.0], [end, 0.0, 0.0]], [1.1] * frames, ["walk"] * frames, [0.0] * frames)
        motion = Bake(Shot("stairs", 60, frames, path=follow, ground=stairs(rise, run, count), seed=number)).motion()
        up = START + run * np.arange(count)
        treads += [*used(motion, up), *used(motion, up[-1] + LANDING + run * np.arange(2, count + 2))]
        assert any("tread by tread" in note for note in motion.meta["notes"])
        acceleration = np.linalg.norm(np.diff(motion.positions.astype(float), 2, axis=0), axis=-1) * 60**2
        hips.append(acceleration[:, 0])
        feet.append(acceleration[:, MODEL_SKELETON.indices(["LeftFoot", "RightFoot"])].ravel())
    assert np.mean(treads) >= 0.9
    assert np.percentile(np.concatenate(hips), 99) < WALKED[0]
    assert np.percentile(np.concatenate(feet), 99) < WALKED[1]


def test_a_key_up_the_stairs_takes_tread_by_tread() -> None:
    shot = Shot(
        "stairs",
        60,
        900,
        keys=[ActionKey("walk", "Top")],
        goals=[Goal("Top", [START + 8 * 0.28 + 0.7, 0.0, 8 * 0.17])],
        start=[0.0, 0.0, 0.0, np.pi / 2],
        ground=stairs(0.17, 0.28, 8),
    )
    motion = Bake(shot).motion()
    assert motion.meta["keys"][0]["trouble"] == ""
    assert used(motion, START + 0.28 * np.arange(8)).mean() >= 0.7
