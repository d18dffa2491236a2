# SPDX-License-Identifier: GPL-3.0-or-later
"""The model skeleton's rest pose, and forward kinematics."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.motion.rotations import Array, from_yaw, normalize, rotate
from nsm_blender.motion.skeleton import (
    ANKLE_HEIGHT,
    CONTACT_JOINTS,
    HIPS_HEIGHT,
    MODEL_SKELETON,
    TOE_HEIGHT,
    Skeleton,
    mirror_indices,
)


@pytest.fixture
def poses() -> Array:
    """Random local rotations (20, J, 4)."""
    return normalize(np.random.default_rng(0).standard_normal((20, len(MODEL_SKELETON), 4)))


def rest(name: str) -> Array:
    return MODEL_SKELETON.rest_positions()[MODEL_SKELETON.index(name)] + [0, 0, HIPS_HEIGHT]


def test_the_model_stands_on_the_ground_with_its_toes_and_ankles_at_their_heights() -> None:
    assert 1.5 < rest("Head")[2] < 1.6
    assert rest("LeftToe")[2] == pytest.approx(TOE_HEIGHT)
    assert rest("RightFoot")[2] == pytest.approx(ANKLE_HEIGHT)


def test_the_rest_pose_is_a_t_pose_that_faces_minus_y() -> None:
    assert rest("LeftToe")[1] < rest("LeftFoot")[1] - 0.1
    arm = rest("LeftHand") - rest("LeftArm")
    assert arm[0] > 0.5
    np.testing.assert_allclose(arm[1:], 0, atol=1e-9)
    np.testing.assert_allclose(rest("LeftLeg")[:2], rest("LeftUpLeg")[:2], atol=1e-9)


def test_the_rest_pose_is_its_own_mirror_image() -> None:
    order = mirror_indices(MODEL_SKELETON.names)
    places = MODEL_SKELETON.rest_positions()
    np.testing.assert_allclose(places[order] * [-1, 1, 1], places, atol=1e-12)


def test_mirroring_twice_is_the_old_order() -> None:
    order = mirror_indices(MODEL_SKELETON.names)
    assert [order[i] for i in order] == list(range(len(MODEL_SKELETON)))
    assert MODEL_SKELETON.names[order[MODEL_SKELETON.index("LeftHand")]] == "RightHand"
    assert order[MODEL_SKELETON.index("Spine")] == MODEL_SKELETON.index("Spine")


def test_parents_come_before_children_and_contacts_are_joints() -> None:
    assert all(parent < joint for joint, parent in enumerate(MODEL_SKELETON.parents))
    assert set(CONTACT_JOINTS) <= set(MODEL_SKELETON.names)


def test_no_rotation_is_the_rest_pose() -> None:
    identity = np.tile([1.0, 0, 0, 0], (len(MODEL_SKELETON), 1))
    places, rotations = MODEL_SKELETON.forward(np.array([1.0, 2, 3]), identity)
    np.testing.assert_allclose(places, MODEL_SKELETON.rest_positions() + np.array([1, 2, 3]), atol=1e-12)
    np.testing.assert_array_equal(rotations, identity)


def test_turning_the_hips_turns_the_whole_figure() -> None:
    local = np.tile([1.0, 0, 0, 0], (len(MODEL_SKELETON), 1))
    local[0] = from_yaw(np.array(0.7))
    places, _ = MODEL_SKELETON.forward(np.zeros(3), local)
    np.testing.assert_allclose(places, rotate(local[0], MODEL_SKELETON.rest_positions()), atol=1e-12)


def test_bending_an_elbow_moves_the_hand_and_nothing_else() -> None:
    local = np.tile([1.0, 0, 0, 0], (len(MODEL_SKELETON), 1))
    local[MODEL_SKELETON.index("LeftForeArm")] = from_yaw(np.array(-np.pi / 2))
    places, _ = MODEL_SKELETON.forward(np.zeros(3), local)
    moved = np.linalg.norm(places - MODEL_SKELETON.rest_positions(), axis=-1) > 1e-9
    assert [MODEL_SKELETON.names[j] for j in np.flatnonzero(moved)] == ["LeftHand"]
    forearm = places[MODEL_SKELETON.index("LeftHand")] - places[MODEL_SKELETON.index("LeftForeArm")]
    assert forearm[1] < -0.2  # a left forearm turned clockwise, seen from above, points forward


def test_bones_keep_their_lengths_in_every_pose(poses: Array) -> None:
    places, _ = MODEL_SKELETON.forward(np.zeros((20, 3)), poses)
    lengths = np.linalg.norm(places[:, 1:] - places[:, list(MODEL_SKELETON.parents[1:])], axis=-1)
    np.testing.assert_allclose(
        lengths, np.broadcast_to(np.linalg.norm(MODEL_SKELETON.offsets[1:], axis=-1), lengths.shape), atol=1e-9
    )


def test_local_rotations_give_the_world_rotations_back(poses: Array) -> None:
    _, world = MODEL_SKELETON.forward(np.zeros((20, 3)), poses)
    np.testing.assert_allclose(MODEL_SKELETON.local_rotations(world), poses, atol=1e-9)


def test_a_frame_of_float32_stays_float32(poses: Array) -> None:
    places, world = MODEL_SKELETON.forward(np.zeros(3, np.float32), poses[0].astype(np.float32))
    assert places.dtype == world.dtype == np.float32


def test_a_joint_that_does_not_exist_is_not_found() -> None:
    one = Skeleton(("Root",), (-1,), np.zeros((1, 3)))
    with pytest.raises(ValueError):
        one.index("Tail")
