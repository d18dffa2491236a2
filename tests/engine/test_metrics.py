# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures of a motion give the figures that were put into it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.motion.gait import GAITS
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array, from_axis_angle, multiply
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.naturalness.metrics import (
    bone_length_error,
    foot_slide,
    hinge_angles,
    low_foot_slide,
    settled_speed,
)

from .synthetic import FPS, Performance, perform, stand


def motion_of(performance: Performance) -> Motion:
    """The performance with its true contacts."""
    positions, rotations = performance.clip.world()
    count = len(positions)
    return Motion(
        MODEL_SKELETON.names,
        MODEL_SKELETON.parents,
        positions.astype(np.float32),
        rotations.astype(np.float32),
        performance.root.astype(np.float32),
        np.repeat(performance.down, 2, axis=1).astype(np.float32),
        CONTACT_JOINTS,
        np.zeros(count, np.float32),
        np.zeros((count, len(GAITS)), np.float32),
        GAITS,
        FPS,
    )


def drifting(motion: Motion, speed: float) -> Motion:
    """Everything moved sideways at `speed` m/s."""
    drift = np.arange(len(motion), dtype=np.float32)[:, None, None] * np.array([speed / FPS, 0, 0], np.float32)
    return replace(motion, positions=motion.positions + drift)


def test_feet_that_stand_do_not_slide() -> None:
    assert foot_slide(motion_of(perform(1.0, turn=0.5))) < 0.01


@pytest.mark.parametrize("performance", [stand(), perform(1.0)], ids=["stand", "walk"])
def test_a_drift_is_measured_in_centimeters_a_second(performance: Performance) -> None:
    assert foot_slide(drifting(motion_of(performance), 0.05)) == pytest.approx(5.0, abs=0.05)


def test_a_foot_in_the_air_does_not_count() -> None:
    """Both feet swing through at 2 m/s and more; with no contact label there is nothing to measure."""
    motion = motion_of(perform(1.0))
    assert foot_slide(replace(motion, contacts=np.zeros_like(motion.contacts))) == 0
    everything = replace(motion, contacts=np.ones_like(motion.contacts))
    assert foot_slide(everything) > 50


def test_up_and_down_is_no_slide() -> None:
    motion = motion_of(stand())
    wave = np.sin(np.arange(len(motion)) / 3).astype(np.float32)[:, None, None] * np.array([0, 0, 0.02], np.float32)
    assert foot_slide(replace(motion, positions=motion.positions + wave)) < 0.01


def test_the_measure_without_labels_sees_low_feet_only() -> None:
    sliding = drifting(motion_of(stand()), 0.05)
    assert low_foot_slide(sliding) == pytest.approx(5.0, abs=0.05)
    raised = replace(sliding, positions=sliding.positions + np.array([0, 0, 0.4], np.float32))
    assert low_foot_slide(raised) == 0
    assert low_foot_slide(raised, ground=0.4) == pytest.approx(5.0, abs=0.05)
    assert motion_of(stand()).positions[0, MODEL_SKELETON.index("LeftToe"), 2] == pytest.approx(TOE_HEIGHT)


def bent(joint: str, axis: tuple[float, float, float], angle: float) -> Array:
    """World rotations (1, J, 4) of the T-pose with one joint turned about a world axis."""
    local = np.tile([1.0, 0, 0, 0], (1, len(MODEL_SKELETON), 1))
    local[0, MODEL_SKELETON.index(joint)] = from_axis_angle(np.array(axis), np.array(angle))
    return MODEL_SKELETON.forward(np.zeros((1, 3)), local)[1]


@pytest.mark.parametrize(
    ("joint", "axis"),
    [
        ("LeftLeg", (1.0, 0.0, 0.0)),  # the foot goes to the back, +y
        ("RightLeg", (1.0, 0.0, 0.0)),
        ("LeftForeArm", (0.0, 0.0, -1.0)),  # the hand goes to the front, -y
        ("RightForeArm", (0.0, 0.0, 1.0)),
    ],
)
@pytest.mark.parametrize("angle", [-0.4, 0.0, 0.3, 2.0])
def test_a_hinges_angle_is_how_far_it_is_bent_and_negative_backward(
    joint: str, axis: tuple[float, float, float], angle: float
) -> None:
    angles = hinge_angles(bent(joint, axis, angle))
    assert angles.pop(joint)[0] == pytest.approx(angle, abs=1e-6)
    for other in angles.values():
        assert other[0] == pytest.approx(0, abs=1e-6)


def test_hinges_do_not_care_how_the_body_is_turned() -> None:
    rotations = bent("LeftLeg", (1, 0, 0), 0.7)
    turned = multiply(np.array([0.5, 0.5, -0.5, 0.5]), rotations)
    assert hinge_angles(turned)["LeftLeg"][0] == pytest.approx(0.7, abs=1e-6)


def test_the_longest_error_of_a_bone_is_found() -> None:
    positions = stand().clip.world()[0]
    assert bone_length_error(positions) < 1e-9
    positions[7, MODEL_SKELETON.index("LeftHand")] += [0.02, 0, 0]  # along the hanging arm by about a part
    assert 0.001 < bone_length_error(positions) <= 0.02


def test_speed_is_that_over_the_ground_and_reaches_the_ends() -> None:
    root = perform(1.3, turn=0.4).root
    np.testing.assert_allclose(settled_speed(root, FPS), 1.3, rtol=0.01)
    np.testing.assert_allclose(settled_speed(stand().root, FPS), 0, atol=1e-9)
