# SPDX-License-Identifier: GPL-3.0-or-later
"""The root: where a character is and which way it faces."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.motion.root import angle_of, direction, root_track, to_local, to_world

from .synthetic import FPS, perform, run, stand


def test_angle_zero_faces_minus_y_and_grows_to_the_left() -> None:
    np.testing.assert_allclose(direction(np.array(0.0)), [0, -1], atol=1e-12)
    np.testing.assert_allclose(direction(np.array(np.pi / 2)), [1, 0], atol=1e-12)


def test_directions_and_angles_are_inverse() -> None:
    angle = np.linspace(-3.1, 3.1, 50)
    np.testing.assert_allclose(angle_of(direction(angle)), angle, atol=1e-12)


def test_ahead_is_minus_y_of_the_root_frame_whichever_way_the_character_faces() -> None:
    angle = np.linspace(-4, 4, 50)
    np.testing.assert_allclose(to_local(direction(angle), angle), np.tile([0.0, -1.0], (50, 1)), atol=1e-12)


def test_the_root_frame_and_back_is_the_world() -> None:
    rng = np.random.default_rng(0)
    v, angle = rng.standard_normal((50, 2)), rng.uniform(-5, 5, 50)
    np.testing.assert_allclose(to_world(to_local(v, angle), angle), v, atol=1e-12)


@pytest.mark.parametrize("toward", [0.0, np.pi / 2, np.pi, -1.0])
def test_the_root_is_found_in_a_walk_in_any_direction(toward: float) -> None:
    walk = perform(0.6, toward=toward, start=(1, -2, 2.0))
    found = root_track(walk.clip.world()[0], FPS)
    np.testing.assert_allclose(found[:, :3], walk.root[:, :3], atol=1e-9)
    np.testing.assert_allclose(found[:, 3], walk.root[:, 3], atol=1e-9)


def test_the_facing_angle_counts_whole_turns() -> None:
    walk = perform(0.8, 20.0, turn=0.7)
    found = root_track(walk.clip.world()[0], FPS)
    assert walk.root[-1, 3] > 2 * np.pi
    inside = slice(60, -60)  # the ends are smoothed toward the held first and last frame
    np.testing.assert_allclose(found[inside, 3], walk.root[inside, 3], atol=1e-6)


def test_standing_and_running_have_a_root_too() -> None:
    for performance in (stand(start=(3, 4, -1)), run(start=(3, 4, -1))):
        found = root_track(performance.clip.world()[0], FPS)
        np.testing.assert_allclose(found, performance.root, atol=1e-9)
