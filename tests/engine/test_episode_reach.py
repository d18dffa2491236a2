# SPDX-License-Identifier: GPL-3.0-or-later
"""Hands that are brought to things in composed episodes."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.models.nsm import FPS
from nsm_blender.motion.easing import eased
from nsm_blender.naturalness.metrics import hinge_angles
from nsm_blender.training.episodes.reach import Target, palm, reaching
from nsm_blender.training.episodes.track import Track, from_clip

from .synthetic import perform

PALM = 0.09
SECONDS = 0.9
TOUCH, LEAVE = 120, 180
"""Frames between which the hand is at its place."""


@pytest.fixture(scope="module")
def standing() -> Track:
    still = from_clip(perform(1.0, 2.0).clip).cut(0, 1)
    return Track(**{name: np.repeat(value, 300, axis=0) for name, value in vars(still).items()})


@pytest.mark.parametrize("far", [0.45, 0.75])
def test_a_hand_comes_to_its_place_and_leaves_it_as_smoothly_as_its_weight(standing: Track, far: float) -> None:
    blend = SECONDS * FPS
    weight = eased(len(standing), TOUCH - blend, TOUCH, LEAVE, LEAVE + blend)
    place = standing.hips + np.array([0.15, -far, 0.1])
    reached = reaching(standing, np.zeros_like(place), {"Left": Target(place, weight, PALM)})
    hand = palm(reached, "Left", PALM)
    np.testing.assert_allclose(hand[TOUCH:LEAVE], place[TOUCH:LEAVE], atol=0.01)
    np.testing.assert_allclose(hand[0], palm(standing, "Left", PALM)[0], atol=1e-4)
    acceleration = np.linalg.norm(np.diff(hand, 2, axis=0), axis=1).max() * FPS**2
    straight = np.linalg.norm(place[0] - hand[0]) * 5.77 / SECONDS**2  # of the least jerk along a line
    assert acceleration < 2 * straight


def test_the_arm_of_a_hand_that_is_wanted_nowhere_bends_as_it_did(standing: Track) -> None:
    place = standing.hips + np.array([0.15, -0.75, 0.1])
    left = {"Left": Target(place, np.ones(len(standing)), PALM)}
    reached = reaching(standing, np.zeros_like(place), left)
    assert hinge_angles(reached.rotations)["RightForeArm"] == pytest.approx(
        hinge_angles(standing.rotations)["RightForeArm"], abs=1e-6
    )
