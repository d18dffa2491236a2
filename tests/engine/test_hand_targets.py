# SPDX-License-Identifier: GPL-3.0-or-later
"""Hands meet what they take, keep hold of it, and lie still on what they rest on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from nsm_blender.cleanup.cleanup import Posed, posed
from nsm_blender.cleanup.seating import HIP_JOINTS, Seating
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Carryable, Door, Seat
from nsm_blender.geometry.scene_state import to_world
from nsm_blender.models.nsm import ACTIONS, CONTACTS, FPS
from nsm_blender.motion.rotations import Array, from_yaw, multiply
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from nsm_blender.rollout.goal_spec import Reach
from nsm_blender.rollout.held_objects import PALM_THICKNESS, Grip, between_palms, palm

from .rollouts import (
    COUNT,
    CUBOIDS,
    FEET,
    SAT,
    WIDE,
    WRISTS,
    acceleration,
    at,
    block,
    deepest,
    empty_hands,
    hands_with,
    holding,
    record,
    rising,
)

PLACE = np.array([0.0, -0.3, 1.1])
"""Where the palms of a character that holds a box are, over where it stands."""
TAKEN, LEFT = 100, 240
BRISK = 40.0
"""Largest acceleration in m/s^2 of hands that reach for a box within half a second."""


def taken_from(off: Array, left: int | None = None, goal: Array | None = None) -> tuple[Array, Posed]:
    """Where a box lies (3,), by `off` from the palms of a character that takes it and may put it down, and the
    cleaned-up motion."""
    rolled = holding(np.tile(PLACE, (COUNT, 1)))
    box, hands = hands_with(rolled, at(PLACE + off), TAKEN, left, None if goal is None else at(PLACE + goal))
    return PLACE + off, posed(rolled, [], hands, [box])


@pytest.mark.parametrize("off", [(0.0, 0.0, -0.05), (0.0, 0.0, -0.12), (0.05, 0.0, 0.0), (0.0, -0.06, 0.05)])
def test_both_palms_meet_a_box_that_lies_still_until_then(off: tuple[float, ...]) -> None:
    lying, after = taken_from(np.array(off))
    middle, _ = between_palms(after.places[TAKEN], after.rotations[TAKEN])
    assert np.linalg.norm(middle - lying) < 0.01
    box = after.things["box"]
    np.testing.assert_allclose(box[: TAKEN + 1, :3], np.tile(lying, (TAKEN + 1, 1)), atol=1e-6)
    assert np.linalg.norm(np.diff(box[:, :3], axis=0), axis=1).max() < 0.01
    assert acceleration(after.places).max() < BRISK
    assert np.ptp(after.places[:, FEET], axis=0).max() < 2e-3


@pytest.mark.parametrize("down", [0.0, 0.12])
def test_a_box_that_is_held_beside_its_place_comes_to_lie_in_it(down: float) -> None:
    goal = np.array([0.02, -0.03, -down])
    _, after = taken_from(np.zeros(3), LEFT, goal)
    middle, _ = between_palms(after.places[LEFT - 1], after.rotations[LEFT - 1])
    assert np.linalg.norm(middle - (PLACE + goal)) < 0.01
    box = after.things["box"][:, :3]
    np.testing.assert_allclose(box[LEFT - 1 :], np.tile(PLACE + goal, (COUNT - LEFT + 1, 1)), atol=0.01)
    assert np.linalg.norm(np.diff(box, axis=0), axis=1).max() < 0.01


def test_a_box_that_rests_in_the_corner_of_a_seat_is_lifted_out_of_it_straight() -> None:
    # The box is 1 cm in the seat below it and 1.5 cm in the backrest behind it.
    x, y, z = PLACE
    middle = np.array([[x, y, z - WIDE + 0.01 - 0.1], [x, y - WIDE + 0.015 - 0.02, z + 0.2]])
    corner = Collider("bench", Cuboids(middle, np.array([[0.5, 0.15, 0.1], [0.5, 0.02, 0.4]])), role="seat")
    rolled = holding(
        PLACE + [0.0, -0.05, -0.05] + 0.4 * rising(COUNT, TAKEN + 20, TAKEN + 20 + FPS)[:, None] * [0.0, 0.0, 1.0]
    )
    box, hands = hands_with(rolled, at(PLACE), TAKEN)
    after = posed(rolled, [], hands, [box, corner])
    assert acceleration(after.places).max() < BRISK
    assert np.ptp(after.things["box"][:, :2], axis=0).max() < 0.1


def test_a_body_does_not_stoop_for_what_its_arms_reach_and_stoops_for_what_they_do_not() -> None:
    reached, low = (taken_from(np.array([0.0, 0.0, -down]))[1].places for down in (0.03, 0.3))
    assert np.ptp(reached[:, 0, 2]) < 0.01
    assert np.ptp(low[:, 0, 2]) > 0.05 or np.linalg.norm(np.ptp(low[:, MODEL_SKELETON.index("Neck")], axis=0)) > 0.05


def test_palms_lie_on_the_faces_of_a_box_all_the_while_that_it_is_held() -> None:
    sway = 0.05 * np.sin(np.arange(COUNT) / 20)[:, None] * [1.0, 1.0, 0.5]
    rolled = holding(PLACE + sway)
    box, hands = hands_with(rolled, at(PLACE + sway[TAKEN]), TAKEN)
    after = posed(rolled, [], hands, [box])
    for side, sign in (("Left", 1), ("Right", -1)):
        off = palm(after.places, after.rotations, side)[TAKEN:] - after.things["box"][TAKEN:, :3]
        np.testing.assert_allclose(off, np.tile([sign * (WIDE + PALM_THICKNESS), 0, 0], (COUNT - TAKEN, 1)), atol=5e-3)


def test_wrists_are_steadier_than_what_trembling_rotations_add_up_to() -> None:
    rolled = holding(np.tile(PLACE, (COUNT, 1)))
    arms = MODEL_SKELETON.indices(["LeftArm", "RightForeArm"])
    tremble = from_yaw(0.05 * np.random.default_rng(1).normal(size=(COUNT, len(arms))))
    rolled.rotations[:, arms] = multiply(tremble, rolled.rotations[:, arms])
    after, without = (posed(rolled, [], empty_hands(), [], without=names) for names in ((), ("predicted_wrists",)))
    off, left_off = (np.abs(one.places[:, WRISTS] - rolled.places[:, WRISTS]).max() for one in (after, without))
    assert off < 0.5 * left_off
    assert acceleration(after.places[:, WRISTS]).max() < 0.5 * acceleration(without.places[:, WRISTS]).max()


def test_palms_close_on_a_box_that_is_wider_than_between_them() -> None:
    handles = Carryable([0.2, 0, 0.1], [-0.2, 0, 0.1], [0, 1, 0])
    box = Collider("box", CUBOIDS, np.array([[0.02, -0.4, 0.9, 1.0, 0, 0, 0]]), "carryable", handles)
    rolled = record(touching=("LeftFoot", "RightFoot", "LeftHand", "RightHand"))
    hands = empty_hands(box)
    body_at = SimpleNamespace(places=rolled.places[0], rotations=rolled.rotations[0], contacts=np.ones(len(CONTACTS)))
    # The network's own bones need not be rigid: the arms' rotations are left as in the T-pose.
    for side, sign in (("Left", 1), ("Right", -1)):
        rolled.places[:, MODEL_SKELETON.index(side + "Hand")] = [sign * 0.15, -0.4, 1.0]
    for frame in range(COUNT):
        # They close on it when they come no nearer.
        if frame >= SAT and hands.holding is None:
            hands.take("box", body_at, frame, 0)
        hands.follow(body_at, frame)
    body = posed(rolled, [], hands, [box])
    pose = body.things["box"]
    assert np.abs(np.diff(pose[:, :3], axis=0)).max() < 0.1
    np.testing.assert_allclose(pose[: SAT - 1], np.tile(box.poses, (SAT - 1, 1)), atol=1e-9)
    width = np.linalg.norm(
        palm(body.places, body.rotations, "Left") - palm(body.places, body.rotations, "Right"), axis=1
    )
    np.testing.assert_allclose(width[SAT + round(FPS) :], 0.4 + 2 * PALM_THICKNESS, atol=5e-3)


def test_a_hand_on_an_arm_rest_lies_still_on_it() -> None:
    rest = MODEL_SKELETON.rest_positions()
    hips = np.array([0.0, 0.0, 0.4 + SEAT_BELOW_HIP_JOINTS]) - rest[HIP_JOINTS].mean(0)
    places = np.tile(rest + hips, (COUNT, 1, 1))
    hand = MODEL_SKELETON.index("LeftHand")
    top = places[0, hand] - [0.0, 0.0, 0.09]
    chair = Collider("seat", CUBOIDS, role="seat", handles=Seat([0, 0, 0.4], [0, -1, 0], 0.4, 0.4, [top.tolist()]))
    places[:, :, 1] += 0.01 * np.sin(np.arange(COUNT) / 10)[:, None]
    aim = Reach(np.array([0.0, 0.0, 0.4]), 0.0, "sit", "seat")
    rolled = record(places, ("LeftHand",))
    rolled.actions[:, ACTIONS.index("sit")] = 1
    body = posed(rolled, [Seating(0, aim, SAT - 30, SAT - 20, SAT)], empty_hands(chair), [chair])
    wrist = body.places[SAT:, hand]
    assert np.ptp(wrist, axis=0).max() < 2e-3
    assert wrist[0, 2] == pytest.approx(top[2] + 0.035, abs=2e-3)


@pytest.mark.parametrize(("below", "still"), [(0.09, True), (0.3, False)])
def test_a_hand_that_leans_on_what_is_climbed_lies_still_on_its_top(below: float, still: bool) -> None:
    places = np.tile(MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT - 0.01]), (COUNT, 1, 1))
    hand = MODEL_SKELETON.index("LeftHand")
    place = places[0, hand].copy()
    places[:, :, 1] += 0.01 * np.sin(np.arange(COUNT) / 10)[:, None]
    top = place[2] - below
    wall = Collider("wall", Cuboids(np.array([[place[0], 0.0, top / 2]]), np.array([[0.1, 0.3, top / 2]])),
                    role="climbable")  # fmt: skip
    wrist = posed(record(places, ("LeftHand",)), [], empty_hands(wall), [wall]).places[30:-30, hand]
    assert (np.ptp(wrist, axis=0).max() < 2e-3) == still
    assert not still or top + 0.05 < wrist[0, 2] < top + 0.11


def test_a_hand_stays_at_the_handle_of_a_door_while_it_turns() -> None:
    first, last = 100, 160
    hinge, handle = np.array([-0.35, -0.55, 0.0]), np.array([0.5, 0.0, 1.1])
    angle = 0.35 * np.clip((np.arange(COUNT) - first) / (last - first), 0, 1)
    poses = np.concatenate((np.tile(hinge, (COUNT, 1)), from_yaw(angle)), axis=1)
    handles = Door([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], handle.tolist(), 0.8, 2.0, 1.5)
    leaf = Cuboids(np.array([[0.4, 0.0, 1.0]]), np.array([[0.4, 0.02, 1.0]]))
    door = Collider("door", leaf, poses[:1], "door", handles)
    hands = empty_hands(door)
    place = handle + np.array([0.0, 0.09, 0.0])
    hands.grips.append(Grip("door", handles, "Left", place, first, last))
    hands.tracks = [{"door": pose} for pose in poses]
    rolled = holding(np.tile(PLACE, (COUNT, 1)), hips=np.full(COUNT, HIPS_HEIGHT - 0.02))
    rolled.actions[:] = 0
    after = posed(rolled, [], hands, [door])
    there = to_world(place, poses)
    off = np.linalg.norm(palm(after.places, after.rotations, "Left") - there, axis=1)
    assert off[first : last + 1].max() < 0.02
    assert np.linalg.norm(after.places[:15, WRISTS[0]] - after.places[0, WRISTS[0]], axis=1).max() < 2e-3
    assert acceleration(after.places).max() < BRISK


def test_hands_that_let_go_at_a_wall_do_not_go_through_it() -> None:
    wall = block([0.0, -0.72, 1.1], [1.0, 0.1, 1.1], "wall")
    goal = PLACE + np.array([0.0, -0.1, 0.0])
    rolled = holding(np.tile(PLACE, (COUNT, 1)))
    box, hands = hands_with(rolled, at(PLACE), TAKEN, LEFT, at(goal))
    after = posed(rolled, [], hands, [box, wall])
    assert deepest(after.places, wall, 2) < 0.01
    assert np.linalg.norm(after.things["box"][-1, :3] - goal) < 1e-3
