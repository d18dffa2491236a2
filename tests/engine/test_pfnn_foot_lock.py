# SPDX-License-Identifier: GPL-3.0-or-later
"""From network outputs to poses: exact where the outputs are, and with feet that stay where they stand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.cleanup.pfnn_foot_lock import contacts_of, lock_feet
from nsm_blender.models.pfnn import OUTPUT
from nsm_blender.motion.contacts import firm_contacts
from nsm_blender.motion.filters import gaussian, runs
from nsm_blender.motion.rotations import Array, from_yaw, rotate
from nsm_blender.motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.naturalness.metrics import bone_length_error, hinge_angles
from nsm_blender.rollout.pose import decode, joint_places, limit_elbows, limit_feet

from .synthetic import FPS, Performance, Rollout, perform, ramp, rollout, run, stand


def stop_and_go() -> Performance:
    return perform(ramp(9, (2, 0), (2.4, 1), (4.6, 1), (5, 0)), 9, stepping=(2, 5.3))


PERFORMANCES = {
    "walk": lambda: perform(1.0, turn=0.3, seconds=6.0, start=(1, 2, 0.5)),
    "run": lambda: run(seconds=6.0),
    "backward": lambda: perform(0.7, toward=np.pi, seconds=6.0),
    "stand": lambda: stand(5.0),
    "stop and go": stop_and_go,
}


@pytest.fixture(scope="module", params=list(PERFORMANCES))
def performance(request: pytest.FixtureRequest) -> Performance:
    return PERFORMANCES[request.param]()


def sliding(performance: Performance) -> Rollout:
    """A rollout whose feet slide as a network's do: the root drifts by some cm/s, the pose trembles."""
    made = rollout(performance)
    t = np.arange(len(made.record.root)) / FPS
    root = made.record.root.copy()
    root[:, 0] += 0.03 * np.sin(2.0 * t)
    root[:, 1] += 0.03 * np.sin(1.3 * t)
    y = made.record.y.copy()
    rng = np.random.default_rng(0)
    y[:, OUTPUT.joint_position] += gaussian(rng.normal(0, 0.01, (len(t), y[:, OUTPUT.joint_position].shape[1])), 4)
    return replace(made, record=replace(made.record, root=root, y=y))


def slide(positions: Array, contacts: Array) -> float:
    """Largest speed in m/s over the ground of a joint in contact that was in contact before."""
    worst = 0.0
    for column, name in enumerate(CONTACT_JOINTS):
        on = (contacts[1:, column] > 0.5) & (contacts[:-1, column] > 0.5)
        speed = np.linalg.norm(np.diff(positions[:, MODEL_SKELETON.index(name), :2], axis=0), axis=1) * FPS
        worst = max(worst, float(speed[on].max(initial=0)))
    return worst


def test_perfect_outputs_decode_to_the_performance(performance: Performance) -> None:
    made = rollout(performance)
    hips, rotations, places = decode(made.record, made.reference)
    expected_places, expected_rotations = (a[made.frames] for a in performance.clip.world())
    np.testing.assert_allclose(joint_places(hips, rotations), expected_places, atol=2e-3)
    np.testing.assert_allclose(places, expected_places, atol=2e-3)
    same = np.abs(np.sum(rotations * expected_rotations, axis=-1))
    assert same.min() > np.cos(0.5 * np.radians(1.0))


def test_feet_that_do_not_slide_are_left_where_they_are(performance: Performance) -> None:
    made = rollout(performance)
    positions, _, _ = lock_feet(made.record, made.reference, ground=0.0)
    moved = np.linalg.norm(positions - performance.clip.world()[0][made.frames], axis=-1)
    assert moved.max() < 0.02


def test_sliding_feet_are_held(performance: Performance) -> None:
    made = sliding(performance)
    hips, rotations, _ = decode(made.record, made.reference)
    free = joint_places(hips, rotations)
    before = slide(free, contacts_of(made.record, free))
    positions, _, contacts = lock_feet(made.record, made.reference, ground=0.0)
    assert before > 0.05
    assert slide(positions, contacts) < 0.03


def test_locked_bones_are_rigid_and_knees_and_elbows_bend_their_way(performance: Performance) -> None:
    made = sliding(performance)
    positions, rotations, _ = lock_feet(made.record, made.reference, ground=0.0)
    assert bone_length_error(positions) < 1e-6
    for name, angle in hinge_angles(rotations).items():
        assert angle.min() > -1e-6, name


def test_locked_feet_do_not_pop_when_they_are_released(performance: Performance) -> None:
    made = sliding(performance)
    positions, _, _ = lock_feet(made.record, made.reference, ground=0.0)
    free = performance.clip.world()[0][made.frames]
    feet = MODEL_SKELETON.indices(CONTACT_JOINTS)
    correction = (positions - free)[:, feet]
    correction[:, :, :2] -= (made.record.root - performance.root[made.frames])[:, None, :2]
    # The correction may grow, but not from one frame to the next.
    assert np.abs(np.diff(correction, axis=0)).max() < 0.02


def test_feet_stand_on_the_ground_and_never_below_it(performance: Performance) -> None:
    made = sliding(performance)
    positions, _, contacts = lock_feet(made.record, made.reference, ground=0.0)
    for column, name in enumerate(CONTACT_JOINTS):
        height = positions[:, MODEL_SKELETON.index(name), 2]
        rest = TOE_HEIGHT if name.endswith("Toe") else ANKLE_HEIGHT
        assert height.min() > rest - 0.02
        assert np.abs(height[contacts[:, column] > 0.5] - rest).max() < 0.03


def test_the_floor_may_be_at_any_height(performance: Performance) -> None:
    made = sliding(performance)
    low, low_rotations, _ = lock_feet(made.record, made.reference, ground=0.0)
    raised = made.record.root + np.array([0, 0, 0.7, 0])
    high, high_rotations, _ = lock_feet(replace(made.record, root=raised), made.reference, ground=0.7)
    np.testing.assert_allclose(high - [0, 0, 0.7], low, atol=1e-6)
    np.testing.assert_allclose(high_rotations, low_rotations, atol=1e-6)


def test_hips_that_are_too_high_come_down_to_the_legs() -> None:
    made = rollout(stand())
    y = made.record.y.copy()
    y[:, OUTPUT.joint_position.start + 2] += 0.06
    positions, _, _ = lock_feet(replace(made.record, y=y), made.reference, ground=0.0)
    ankles = positions[:, MODEL_SKELETON.indices(["LeftFoot", "RightFoot"]), 2]
    np.testing.assert_allclose(ankles, ANKLE_HEIGHT, atol=0.003)


def test_a_foot_that_trembles_while_it_stands_is_held_at_heel_and_toe() -> None:
    made = rollout(stand())
    y = made.record.y.copy()
    foot = OUTPUT.joint_rotation.start + 3 * MODEL_SKELETON.index("LeftFoot")
    y[:, foot + 2] += 0.1 * np.sin(np.arange(len(y)) / 5)  # about the upright axis
    positions, rotations, contacts = lock_feet(replace(made.record, y=y), made.reference, ground=0.0)
    assert slide(positions, contacts) < 0.01
    assert slide(joint_places(positions[:, 0], rotations), contacts) < 0.01


def test_a_contact_that_flickers_for_a_frame_is_no_contact() -> None:
    made = rollout(stand())
    y = made.record.y.copy()
    y[50, OUTPUT.contact] = 0
    y[60:, OUTPUT.contact.start] = 0
    y[80, OUTPUT.contact.start] = 1
    record = replace(made.record, y=y)
    hips, rotations, _ = decode(record, made.reference)
    labels = contacts_of(record, joint_places(hips, rotations))
    np.testing.assert_array_equal(labels[50], 1)
    np.testing.assert_array_equal(labels[60:, 0], 0)


@pytest.mark.parametrize(("side", "sign"), [("Left", 1.0), ("Right", -1.0)])
def test_elbows_bent_backward_are_straightened_and_others_left_alone(side: str, sign: float) -> None:
    rotations = np.tile([1.0, 0, 0, 0], (3, len(MODEL_SKELETON), 1))
    forearm, hand = MODEL_SKELETON.indices([side + "ForeArm", side + "Hand"])
    bends = np.array([-0.5, 0.0, 0.7])  # backward, straight, forward
    rotations[:, [forearm, hand]] = from_yaw(-sign * bends)[:, None]
    limited = limit_elbows(rotations)
    np.testing.assert_allclose(hinge_angles(limited)[side + "ForeArm"], [0, 0, 0.7], atol=1e-6)
    np.testing.assert_allclose(limited[1:], rotations[1:], atol=1e-6)
    np.testing.assert_allclose(limited[0, hand], limited[0, forearm], atol=1e-6)


def standing_feet() -> Array:
    """Joint places (T, J, 3) of a second of standing still."""
    return np.repeat(MODEL_SKELETON.rest_positions()[None], 60, axis=0).astype(np.float64)


def test_a_foot_that_stands_is_firm() -> None:
    places = standing_feet()
    places[:, :, 2] += TOE_HEIGHT - places[0, MODEL_SKELETON.index("LeftToe"), 2]
    np.testing.assert_array_equal(firm_contacts(np.ones((60, 4)), places, FPS), 1)


def test_a_foot_that_is_moved_is_not_firm_whatever_its_label() -> None:
    places = standing_feet()
    left = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
    places[:, left, 1] -= np.clip(np.arange(60) - 25, 0, 12)[:, None] * 1.2 / FPS
    firm = firm_contacts(np.ones((60, 4)), places, FPS)
    assert not firm[27:37, :2].any()
    assert firm[:, 2:].all() and firm[:24].all() and firm[40:].all()


def test_two_steps_that_follow_each_other_leave_no_contact_of_a_frame_between_them() -> None:
    labels = np.ones((60, 4))
    labels[20:24, :2] = labels[33:37, :2] = 0
    stands = firm_contacts(labels, standing_feet(), FPS)[:, :2].any(axis=1)
    lengths = [stop - start for start, stop in runs(stands)]
    assert len(lengths) >= 2 and not stands[20:37].all()
    assert min(lengths) >= 3


def test_a_frame_between_the_contacts_of_heel_and_ball_is_no_step() -> None:
    labels = np.zeros((60, 4))
    labels[20:26, 0] = labels[27:32, 1] = labels[:, 2:] = 1
    places = standing_feet()
    toe = MODEL_SKELETON.index("LeftToe")
    places[:27, toe, 2] += 0.02
    stands = firm_contacts(labels, places, FPS)[:, :2].any(axis=1)
    assert stands[20:32].all()
    assert not stands[:20].any() and not stands[32:].any()


def test_a_foot_that_turns_in_its_contact_pivots_on_its_ball() -> None:
    places = standing_feet()
    foot, toe = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
    yaw = from_yaw(np.linspace(-0.5, 0.5, 60))
    places[:, foot] = places[:, toe] + rotate(yaw, places[:, foot] - places[:, toe])
    firm = firm_contacts(np.ones((60, 4)), places, FPS)
    assert firm[:, 1].all()
    assert firm[30, 0] and not firm[:10, 0].any() and not firm[50:, 0].any()


def test_feet_that_point_far_aside_pivot_and_others_stay() -> None:
    yaw = np.radians([0.0, 15.0, 60.0, 100.0, -80.0])
    turned = np.tile([1.0, 0.0, 0.0, 0.0], (40 * len(yaw), len(MODEL_SKELETON), 1))
    foot = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
    turned[:, foot] = from_yaw(np.repeat(yaw, 40))[:, None]
    limited = limit_feet(turned, 60.0)
    toe = MODEL_SKELETON.index("LeftToe")
    bone = rotate(limited[:, foot[0]], np.broadcast_to(MODEL_SKELETON.offsets[toe].astype(float), (len(turned), 3)))
    pointing = np.arctan2(bone[:, 0], -bone[:, 1])[20::40]
    assert np.all(np.abs(pointing) < np.radians(45))
    np.testing.assert_allclose(limited[20], turned[20], atol=1e-6)
    np.testing.assert_allclose(limited[:, 0], turned[:, 0])


def test_one_of_two_resting_feet_labeled_as_lifted_bears_the_body() -> None:
    places = np.zeros((60, len(MODEL_SKELETON), 3))
    places[:, MODEL_SKELETON.index("LeftToe"), 2] = 0.06
    places[:, MODEL_SKELETON.index("RightToe"), 0] = np.linspace(0.0, 2.0, 60)
    contacts = firm_contacts(np.zeros((60, 4)), places, 60.0)
    assert contacts[:, CONTACT_JOINTS.index("LeftToe")].all()
    assert not contacts[:, CONTACT_JOINTS.index("RightToe")].any()


def test_feet_hang_while_hands_or_knees_bear_the_body() -> None:
    places, borne = np.zeros((60, len(MODEL_SKELETON), 3)), np.arange(60) < 30
    places[:, MODEL_SKELETON.index("LeftToe"), 2] = 0.06
    contacts = firm_contacts(np.zeros((60, 4)), places, 60.0, borne)
    assert not contacts[:30].any() and contacts[30:].any(axis=1).all()
    labeled = firm_contacts(np.ones((60, 4)), places, 60.0, borne)
    np.testing.assert_array_equal(labeled, firm_contacts(np.ones((60, 4)), places, 60.0))
