# SPDX-License-Identifier: GPL-3.0-or-later
"""Two-bone legs reach their targets, keep their plane, and never bend the knee backward."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.motion.ik import LEFT_LEG, REACH, RIGHT_LEG, Limb, solve_limb
from nsm_blender.motion.rotations import Array, from_exponential_map, multiply, normalize, rotate
from nsm_blender.motion.skeleton import MODEL_SKELETON

THIGH = float(np.linalg.norm(MODEL_SKELETON.offsets[MODEL_SKELETON.index("LeftLeg")]))
SHIN = float(np.linalg.norm(MODEL_SKELETON.offsets[MODEL_SKELETON.index("LeftFoot")]))
IDENTITY = np.array([1.0, 0, 0, 0])


def targets(count: int = 300) -> tuple[Array, Array]:
    """Hip joints, and ankles within reach and below the hip, in a walker's range."""
    rng = np.random.default_rng(0)
    way = normalize(rng.uniform([-0.4, -0.8, -1], [0.4, 0.8, -0.7], (count, 3)))
    origin = rng.uniform(-2, 2, (count, 3))
    return origin, origin + way * rng.uniform(0.45, 0.99 * (THIGH + SHIN), (count, 1))


def leg(limb: Limb, origin: Array, target: Array, upper: Array, middle: Array) -> tuple[Array, Array, Array]:
    """Knee and ankle places of the solved limb, by its rotations, and the end it says."""
    new_upper, new_middle, end = solve_limb(limb, origin, target, upper, middle)
    thigh = MODEL_SKELETON.offsets[MODEL_SKELETON.index(limb.middle)]
    shin = MODEL_SKELETON.offsets[MODEL_SKELETON.index(limb.end)]
    knee = origin + rotate(new_upper, np.broadcast_to(thigh, origin.shape))
    return knee, knee + rotate(new_middle, np.broadcast_to(shin, origin.shape)), end


@pytest.mark.parametrize("limb", [LEFT_LEG, RIGHT_LEG])
def test_the_ankle_reaches_its_target(limb: Limb) -> None:
    origin, target = targets()
    pose = np.tile(IDENTITY, (len(origin), 1))
    _, ankle, end = leg(limb, origin, target, pose, pose)
    np.testing.assert_allclose(ankle, target, atol=1e-6)
    np.testing.assert_allclose(end, target, atol=1e-6)


def test_the_knee_points_to_the_front_of_the_thigh() -> None:
    origin, target = targets()
    pose = np.tile(IDENTITY, (len(origin), 1))
    knee, _, _ = leg(LEFT_LEG, origin, target, pose, pose)
    along = normalize(target - origin)
    aside = knee - origin - along * np.sum((knee - origin) * along, axis=-1, keepdims=True)
    assert (aside[:, 1] < 0).all()  # the figure faces -y


def test_a_straight_leg_bends_about_the_axis_of_its_own_knee() -> None:
    origin, target = targets()
    turned = from_exponential_map(np.random.default_rng(1).normal(0, 0.3, (len(origin), 3)))
    knee, _, _ = leg(LEFT_LEG, origin, target, turned, turned)
    along = normalize(target - origin)
    hinge = rotate(turned, np.broadcast_to([1.0, 0.0, 0.0], origin.shape))
    across = hinge - along * np.sum(hinge * along, axis=-1, keepdims=True)
    np.testing.assert_allclose(np.sum((knee - origin) * across, axis=-1), 0, atol=1e-7)


def bent(upper: Array, radians: Array, twist: Array) -> tuple[Array, Array, Array]:
    """Thighs twisted by `twist` (T,) under shins that bend backward by `radians` (T,) all the same; and the ankles."""
    middle = multiply(upper, from_exponential_map(radians[:, None] * [1.0, 0.0, 0.0]))
    ankle = rotate(upper, np.tile([0, 0, -THIGH], (len(upper), 1)))
    ankle = ankle + rotate(middle, np.tile([0, 0, -SHIN], (len(upper), 1)))
    return multiply(upper, from_exponential_map(twist[:, None] * [0.0, 0.0, 1.0])), middle, ankle


def test_a_twisted_thigh_does_not_move_the_knee() -> None:
    rng = np.random.default_rng(3)
    upper = from_exponential_map(rng.normal(0, 0.3, (200, 3)))
    twisted, middle, ankle = bent(upper, rng.uniform(0.5, 2.0, 200), rng.uniform(-1.4, 1.4, 200))
    origin = np.zeros((200, 3))
    knee, _, _ = leg(LEFT_LEG, origin, ankle + rng.normal(0, 0.02, (200, 3)), twisted, middle)
    before = rotate(upper, np.tile([0, 0, -THIGH], (200, 1)))
    assert np.linalg.norm(knee - before, axis=-1).max() < 0.15


def test_a_knee_that_goes_through_straight_keeps_its_side() -> None:
    """The leg straightens and bends again while its thigh is twisted by 70 degrees; noise of the pose must not show."""
    rng = np.random.default_rng(4)
    bend = 0.7 * np.abs(np.cos(np.linspace(0, np.pi, 120))) + rng.normal(0, 0.03, 120)
    upper = np.tile(IDENTITY, (120, 1))
    twisted, middle, ankle = bent(upper, bend, np.full(120, 1.2))
    knee, _, _ = leg(LEFT_LEG, np.zeros((120, 3)), ankle * 0.97, twisted, middle)
    assert (knee[:, 1] < 0).all()
    assert np.abs(np.diff(np.arctan2(knee[:, 0], -knee[:, 1]))).max() < 0.3


def test_a_knee_stays_in_front_while_the_ankle_passes_the_hip() -> None:
    """No leg folds so far; the knee must not be thrown about by where the ankle is to be."""
    count = 60
    upper = np.tile(from_exponential_map(np.array([-0.8, 0.0, 0.0])), (count, 1))
    twisted, middle, _ = bent(upper, np.full(count, 2.6), np.zeros(count))
    target = np.linspace([-0.12, 0.03, -0.05], [0.12, 0.05, -0.02], count)
    knee, _, _ = leg(LEFT_LEG, np.zeros((count, 3)), target, twisted, middle)
    assert np.linalg.norm(np.diff(knee, axis=0), axis=-1).max() < 0.05


def test_a_target_out_of_reach_straightens_the_leg_toward_it() -> None:
    origin = np.zeros((1, 3))
    target = np.array([[0.3, -0.2, -2.0]])
    pose = np.tile(IDENTITY, (1, 1))
    _, ankle, end = leg(LEFT_LEG, origin, target, pose, pose)
    np.testing.assert_allclose(end, normalize(target) * (THIGH + SHIN) * REACH, atol=1e-6)
    np.testing.assert_allclose(ankle, end, atol=1e-6)


def test_a_target_at_the_hip_folds_the_leg_without_breaking_it() -> None:
    origin = np.zeros((1, 3))
    pose = np.tile(IDENTITY, (1, 1))
    knee, ankle, _ = leg(LEFT_LEG, origin, np.array([[0, 0, -1e-5]]), pose, pose)
    assert np.isfinite(ankle).all()
    assert np.linalg.norm(knee) == pytest.approx(THIGH)
    assert np.linalg.norm(ankle - knee) == pytest.approx(SHIN)


def test_a_pose_that_meets_its_target_is_left_alone() -> None:
    rng = np.random.default_rng(2)
    upper = from_exponential_map(rng.normal(0, 0.4, (50, 3)))
    bend = from_exponential_map(rng.uniform(0.2, 1.8, (50, 1)) * [1, 0, 0])
    middle = multiply(upper, bend)
    origin = np.zeros((50, 3))
    ankle = rotate(upper, np.tile([0, 0, -THIGH], (50, 1))) + rotate(middle, np.tile([0, 0, -SHIN], (50, 1)))
    new_upper, new_middle, _ = solve_limb(LEFT_LEG, origin, ankle, upper, middle)
    np.testing.assert_allclose(new_upper, upper, atol=1e-6)
    np.testing.assert_allclose(new_middle, middle, atol=1e-6)
