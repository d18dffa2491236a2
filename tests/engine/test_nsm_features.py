# SPDX-License-Identifier: GPL-3.0-or-later
"""Root and goal frames of the NSM, its phase, and goals that are ramped in."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.geometry.sensors import Interaction
from nsm_blender.labels.scene_phase import phase_of
from nsm_blender.models.nsm import CURRENT, FPS, GOAL, GOAL_ACTIONS, INTERACTION, TO_ROOT
from nsm_blender.motion.root import direction
from nsm_blender.motion.rotations import Array, from_axis_angle, normalize
from nsm_blender.rollout.goal_input import RAMP, GoalInput
from nsm_blender.rollout.goal_spec import Reach, Stay
from nsm_blender.rollout.nsm_features import (
    axes_of,
    corner_vectors,
    places_from_goal,
    places_to_goal,
    points_to_root,
    points_to_world,
    rotations_of,
    rotations_to_root,
    rotations_to_world,
)

ROOT = np.array([2.0, -1.0, 0.5, 0.8])


def random_rotations(count: int) -> Array:
    return normalize(np.random.default_rng(0).standard_normal((count, 4)))


def test_root_frame_and_back() -> None:
    points = np.random.default_rng(0).standard_normal((7, 3))
    np.testing.assert_allclose(points_to_world(points_to_root(points, ROOT), ROOT), points, atol=1e-12)
    ahead = ROOT[:3] + np.append(direction(np.array(ROOT[3])), 0.0)
    np.testing.assert_allclose(points_to_root(ahead[None], ROOT), [[0, -1, 0]], atol=1e-12)
    rotations = random_rotations(5)
    back = rotations_to_world(rotations_to_root(rotations, ROOT), ROOT)
    np.testing.assert_allclose(np.abs(np.sum(back * rotations, axis=1)), 1)


def test_goal_frame_and_back() -> None:
    places = np.random.default_rng(0).standard_normal((6, 2))
    goal, facing = np.array([1.0, 2.0]), np.full(6, 0.6)
    np.testing.assert_allclose(places_from_goal(places_to_goal(places, goal, facing), goal, facing), places)


def test_two_axes_are_a_rotation() -> None:
    rotations = random_rotations(20)
    axes = axes_of(rotations)
    noisy = axes * 1.3 + 1e-9
    np.testing.assert_allclose(np.abs(np.sum(rotations_of(noisy) * rotations, axis=1)), 1, atol=1e-6)
    rest = axes_of(np.array([[1.0, 0, 0, 0]]))[0]
    np.testing.assert_allclose(rest, [[0, -1, 0], [0, 0, 1]], atol=1e-12)
    turned = axes_of(from_axis_angle(np.array([0.0, 0, 1]), np.array(np.pi / 2)))
    np.testing.assert_allclose(turned, [[1, 0, 0], [0, 0, 1]], atol=1e-12)


def test_the_phase_is_that_of_the_left_foot_and_whole_over_a_transition() -> None:
    contacts = np.ones((300, 4), dtype=np.float32)
    for start in (30, 90):  # the left foot swings and strikes at 50 and 110, the right one between at 80
        contacts[start : start + 20, :2] = 0
    contacts[60:80, 2:] = 0
    phase = phase_of(contacts, [(150, 210)])
    assert (np.diff(phase) >= 0).all()
    whole = 2 * np.pi
    assert phase[50] % whole == pytest.approx(0, abs=1e-6)
    assert phase[80] - phase[50] == pytest.approx(np.pi)
    assert phase[110] - phase[80] == pytest.approx(np.pi)
    assert phase[150] % whole == pytest.approx(0, abs=1e-6) or phase[150] % whole == pytest.approx(whole)
    assert phase[210] - phase[150] == pytest.approx(whole)


def seat() -> Scenery:
    cuboids = Cuboids(np.array([[0.0, 0.0, 0.25]]), np.array([[0.25, 0.25, 0.25]]))
    return Scenery(Surroundings([Collider("seat", cuboids, np.array([[3.0, 0.0, 0.0, 1.0, 0, 0, 0]]))]))


def test_a_new_goal_takes_over_smoothly() -> None:
    first = Reach(np.array([1.0, 0.0, 0.0]), 0.0, "idle")
    second = Reach(np.array([3.0, 0.0, 0.5]), 0.0, "sit", "seat")
    goals = GoalInput(first, seat())
    root = np.zeros(4)
    start, _ = goals.values(root, 0)
    np.testing.assert_allclose(start[GOAL.position].reshape(-1, 3)[CURRENT], [1, 0, 0], atol=1e-6)
    goals.change(second, 10)
    sit = [goals.values(root, frame)[0][GOAL.action][GOAL_ACTIONS.index("sit")] for frame in range(10, 60)]
    assert (np.diff(sit) >= 0).all() and sit[0] < 0.1 and max(np.diff(sit)) < 0.1
    assert sit[round(RAMP * FPS)] == pytest.approx(1)
    end, volume = goals.values(root, 60)
    np.testing.assert_allclose(end[GOAL.position].reshape(-1, 3)[CURRENT], [3, 0, 0.5], atol=1e-6)
    assert volume.any()


def test_a_thing_to_use_takes_the_place_of_another_goal_without_a_jump() -> None:
    """Predictions are understood in the frames of `samples`: they would jump with them."""
    first, second = Stay(np.array([0.0, -2.0, 0.0]), 0.5), Reach(np.array([3.0, 0.0, 0.5]), 1.3, "sit", "seat")
    goals = GoalInput(first, seat())
    frames = [goals.samples(np.zeros(4), 9)]
    goals.change(second, 10)
    frames += [goals.samples(np.zeros(4), frame) for frame in range(10, 60)]
    places = np.array([samples.place[-1] for samples in frames])
    facings = np.array([samples.facing[-1] for samples in frames])
    each = 1.01 / (RAMP * FPS)
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).max() < each * np.linalg.norm(second.place - first.place)
    assert np.abs(np.diff(facings)).max() < each * 0.8
    np.testing.assert_allclose(places[-1], second.place)


def test_the_volume_is_the_sensors_own() -> None:
    """What the rollout feeds is what the interaction sensor says, and four corners determine its vectors."""
    scenery, root = seat(), np.array([0.5, 0.4, 0.0, 0.7])
    goals = GoalInput(Reach(np.array([3.0, 0.0, 0.5]), 0.3, "sit", "seat"), scenery)
    placed = scenery.surroundings.at(0)
    _, volume = goals.values(root, 0)
    sensor, frame = Interaction.covering(placed, 0.3)
    np.testing.assert_allclose(volume, sensor.values(placed, frame, root), atol=1e-5)
    corners = corner_vectors(volume)
    vectors = volume.reshape(INTERACTION.shape("cell"))[:, TO_ROOT].reshape(8, 8, 8, 3)
    edges = (corners[1:] - corners[0]) / 7
    np.testing.assert_allclose(vectors[2, 5, 6], corners[0] + 2 * edges[0] + 5 * edges[1] + 6 * edges[2], atol=1e-5)
