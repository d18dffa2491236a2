# SPDX-License-Identifier: GPL-3.0-or-later
"""The volumetric sensors give the values of NSM 4.3, whatever stands around them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Cuboids, Placed, Surroundings
from nsm_blender.geometry.sensors import ENVIRONMENT, INTERACTION, Environment, Interaction
from nsm_blender.motion.rotations import Array, from_yaw, multiply, normalize

TURNED = normalize(np.array([1.0, 1.0, 0.0, 0.0]))
"""A quarter turn about X, as things from programs with Y up have."""
NOTHING = Surroundings([]).at(0)


def clutter(seed: int, things: int = 8) -> Placed:
    """Things of several cuboids within two meters: upright, lying, leaning, and rounded to float32 as in Blender."""
    rng = np.random.default_rng(seed)
    colliders = []
    for number in range(things):
        rotation = from_yaw(rng.uniform(-np.pi, np.pi))
        if number % 4 == 1:
            rotation = multiply(rotation, TURNED).astype(np.float32)
        elif number % 4 == 3:
            rotation = normalize(rng.normal(size=4))
        place = np.append(rng.uniform(-1.5, 1.5, 2), rng.uniform(-0.2, 1.5))
        count = int(rng.integers(1, 5))
        cuboids = Cuboids(rng.uniform(-0.4, 0.4, (count, 3)), rng.uniform(0.02, 0.3, (count, 3)))
        colliders.append(Collider(f"thing {number}", cuboids, np.append(place, rotation)[None]))
    return Surroundings(colliders).at(0)


def distances(placed: Placed, points: Array) -> Array:
    """Meters (P,) to the nearest cuboid, as the definition says: all cuboids, all points."""
    local = np.einsum("pni,nij->pnj", points[:, None] - placed.center, placed.rotation)
    gaps = np.maximum(np.abs(local) - placed.half, 0)
    return np.linalg.norm(gaps, axis=2).min(1)


def touching(placed: Placed, center: Array, rotation: Array, half: Array) -> Array:
    """Which boxes of one kind (P, 3) touch any cuboid: by the fifteen axes that may separate two boxes."""
    out = np.zeros(len(center), dtype=bool)
    for other, axes, edges in zip(placed.center, placed.rotation, placed.half, strict=True):
        crossed = [np.cross(a, b) for a, b in itertools.product(rotation.T, axes.T)]
        apart = np.zeros(len(center), dtype=bool)
        for axis in (*rotation.T, *axes.T, *(c for c in crossed if np.linalg.norm(c) > 1e-6)):
            width = np.abs(axis @ rotation) @ half + np.abs(axis @ axes) @ edges
            apart |= np.abs((center - other) @ axis) > width
        out |= ~apart
    return out


def roots(seed: int, count: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.column_stack((rng.uniform(-1, 1, (count, 3)) * [1, 1, 0.3], rng.uniform(-4, 4, count)))


@pytest.mark.parametrize("seed", range(5))
def test_environment_is_the_papers_formula(seed: int) -> None:
    placed, sensor = clutter(seed), Environment()
    for root in roots(seed, 20):
        expected = np.maximum(1 - distances(placed, sensor.places(root)) / sensor.sphere, 0)
        assert np.abs(sensor.values(placed, root) - expected).max() < 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_interaction_is_the_papers_formula(seed: int) -> None:
    placed, sensor = clutter(seed), Interaction((1.2, 0.8, 1.6))
    for frame in roots(seed, 10):
        c, s = np.cos(frame[3]), np.sin(frame[3])
        rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        places = sensor.places(frame)
        expected = 1 - distances(placed, places) / np.linalg.norm(sensor.cell)
        expected[~touching(placed, places, rotation, sensor.cell / 2)] = 0
        assert np.abs(sensor.occupancy(placed, frame) - expected).max() < 1e-6


def test_the_first_spheres_lie_ahead_and_the_next_to_the_left() -> None:
    # Facing -Y, the character's left is +X.
    ahead, left = (Environment().places([2.0, 3.0, 0.5, 0.0]).reshape(*ENVIRONMENT, 3)[3, i, 0] for i in (0, 5))
    assert ahead[0] == pytest.approx(2.0)
    assert ahead[1] < 3.0 - 0.9
    assert left[0] > 2.0 + 0.9
    assert ahead[2] == left[2] == pytest.approx(0.5 + 2.4 / 32)


def test_a_sensor_that_turns_with_its_surroundings_keeps_its_values() -> None:
    rng = np.random.default_rng(4)
    cuboids = Cuboids(rng.uniform(-0.6, 0.6, (6, 3)), rng.uniform(0.05, 0.3, (6, 3)))
    environment, interaction = Environment(), Interaction()
    seen = []
    for angle in (0.0, 2.0):
        pose = np.append([1.0, -2.0, 0.7], from_yaw(np.float64(angle)))[None]
        placed = Surroundings([Collider("thing", cuboids, pose)]).at(0)
        frame = np.array([1.0, -2.0, 0.7, angle])
        seen.append(np.append(environment.values(placed, frame), interaction.values(placed, frame, frame)))
    assert np.abs(seen[0] - seen[1]).max() < 1e-6


def test_the_interaction_vectors_lead_to_the_body_as_the_body_sees_them() -> None:
    sensor = Interaction((0.8, 0.8, 0.8))
    # The body stands 3 m before the volume and looks at it: each cell sees the body behind, that is along +Y.
    values = sensor.values(NOTHING, [5.0, 0.0, 0.4, 1.0], [2.0, 0.0, 0.0, np.pi / 2]).reshape(*INTERACTION, 4)
    assert values[..., :3].mean((0, 1, 2)) == pytest.approx([0.0, 3.0, -0.4], abs=1e-5)
    assert not values[..., 3].any()
    away = sensor.places([5.0, 0.0, 0.4, 1.0]) - [2.0, 0.0, 0.0]
    assert np.linalg.norm(values[..., :3].reshape(-1, 3), axis=1) == pytest.approx(
        np.linalg.norm(away, axis=1), abs=1e-5
    )


def test_without_anything_around_nothing_is_sensed() -> None:
    assert not Environment().values(NOTHING, np.zeros(4)).any()
    assert not Interaction().occupancy(NOTHING, np.zeros(4)).any()


def test_a_sensor_inside_a_thing_is_full() -> None:
    thing = Collider("rock", Cuboids(np.zeros((1, 3)), np.full((1, 3), 9.0)))
    placed = Surroundings([thing]).at(0)
    assert (Environment().values(placed, np.zeros(4)) == 1).all()
    assert (Interaction().occupancy(placed, np.zeros(4)) == 1).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_covering_sensor_holds_the_whole_thing(seed: int) -> None:
    placed = clutter(seed, 2)
    sensor, frame = Interaction.covering(placed, facing=0.6)
    signs = np.array(list(itertools.product((-1, 1), repeat=3)))
    corners = (placed.center[:, None] + np.einsum("nij,cj,nj->nci", placed.rotation, signs, placed.half)).reshape(-1, 3)
    c, s = np.cos(0.6), np.sin(0.6)
    local = (corners - frame[:3]) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    reach = np.abs(local).max(0)
    assert (reach <= np.array(sensor.extent) / 2 + 1e-9).all()
    assert reach.max() == pytest.approx(sensor.extent[0] / 2)
