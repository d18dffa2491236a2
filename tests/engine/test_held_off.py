# SPDX-License-Identifier: GPL-3.0-or-later
"""What is carried does not pass through the thighs, and stays where it is when it does not touch them."""

import numpy as np
import pytest

from nsm_blender.control.held_off import FARTHEST, held_off
from nsm_blender.geometry.colliders import Cuboids
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON

FRAMES, HALF = 60, 0.15


def _squatting() -> Array:
    """Joints (T, J, 3) of one whose thighs point straight ahead (-Y) from hips at the origin, 0.6 m up."""
    places = np.zeros((FRAMES, len(MODEL_SKELETON), 3))
    places[..., 2] = 0.6
    places[:, MODEL_SKELETON.index("Spine2"), 2] = 1.0
    for side, x in (("Left", 0.1), ("Right", -0.1)):
        for joint, at in (("UpLeg", (x, 0.0, 0.6)), ("Leg", (x, -0.42, 0.6)), ("Foot", (x, -0.42, 0.1))):
            places[:, MODEL_SKELETON.index(side + joint)] = at
    return places


def _poses(ahead: float, up: float) -> Array:
    return np.tile([0.0, -ahead, up, 1.0, 0.0, 0.0, 0.0], (FRAMES, 1))


BOX = Cuboids(np.zeros((1, 3)), np.full((1, 3), HALF))


def test_a_box_in_the_knees_is_moved_ahead_until_it_is_out_of_them() -> None:
    moved = held_off(_poses(0.5, 0.6), BOX, _squatting(), np.zeros(FRAMES))
    assert (moved[:, 1] < 0).all() and not moved[:, [0, 2]].any()
    # The thigh ends, with its radius, 0.42 + 0.07 m ahead; a touch is let pass.
    assert 0.5 - moved[:, 1] - HALF == pytest.approx(0.49, abs=0.03)


def test_a_box_before_the_knees_stays() -> None:
    assert not held_off(_poses(0.8, 0.6), BOX, _squatting(), np.zeros(FRAMES)).any()


def test_a_box_that_cannot_come_free_is_not_pushed_off_the_hands() -> None:
    moved = held_off(_poses(0.1, 0.6), BOX, _squatting(), np.zeros(FRAMES))
    assert np.linalg.norm(moved, axis=1).max() <= FARTHEST + 1e-9


def test_it_comes_and_goes_smoothly() -> None:
    poses = _poses(0.8, 0.6)
    poses[30:40, 1] = -0.5
    moved = held_off(poses, BOX, _squatting(), np.zeros(FRAMES))[:, 1]
    assert moved.min() < -0.1
    assert np.abs(np.diff(moved)).max() < 0.02


def test_a_box_that_arms_let_hang_into_the_hips_is_held_before_them() -> None:
    standing = np.tile(MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT]), (FRAMES, 1, 1))
    moved = held_off(_poses(0.05, 0.8), BOX, standing, np.zeros(FRAMES))
    # The pelvis begins 0.11 m before the hips, thighs 0.07 m before the joints.
    assert (0.05 - moved[:, 1] - HALF >= 0.1).all()
