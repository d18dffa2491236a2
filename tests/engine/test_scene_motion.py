# SPDX-License-Identifier: GPL-3.0-or-later
"""Settled contacts: feet and hands stay, the last correction is small, slow and told."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from nsm_blender.cleanup.cleanup import Posed, posed
from nsm_blender.cleanup.corrections import FARTHEST, TRUNK, allowed
from nsm_blender.cleanup.foot_contacts import foot_contacts
from nsm_blender.cleanup.seating import HIP_JOINTS, Seating, sitting_place
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.roles import Carryable, Seat
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.models.nsm import ACTIONS, CONTACTS, FPS
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import CONTACT_JOINTS, HIPS_HEIGHT, MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from nsm_blender.rollout.goal_input import Reach
from nsm_blender.rollout.held_objects import PALM_THICKNESS, Hands, palm
from nsm_blender.rollout.nsm import SceneRecord

COUNT, SAT = 300, 120
CUBOIDS = Cuboids(np.array([[0.0, 0.0, 0.2]]), np.array([[0.2, 0.2, 0.2]]))
SEAT = Collider("seat", CUBOIDS, role="seat", handles=Seat([0, 0, 0.4], [0, -1, 0], 0.4, 0.4, [[0.7, 0, 0.85]]))
NO_HANDS = Hands(Scenery(Surroundings([SEAT])))


def record(places: Array | None = None, touching: tuple[str, ...] = ("LeftFoot", "RightFoot")) -> SceneRecord:
    """Someone in the T-pose, whose joints are at `places` (T, J, 3); by default he stands over the origin."""
    standing = MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT - 0.01])
    joints = len(MODEL_SKELETON)
    contacts = np.zeros((COUNT, len(CONTACTS)))
    contacts[:, [CONTACTS.index(name) for name in touching]] = 1
    places = np.tile(standing, (COUNT, 1, 1)) if places is None else places
    root = np.concatenate((places[:, 0, :2], np.zeros((COUNT, 2))), axis=1)
    return SceneRecord(
        root,
        places,
        np.tile(np.array([1.0, 0, 0, 0]), (COUNT, joints, 1)),
        np.zeros((COUNT, len(ACTIONS))),
        contacts,
        np.zeros(COUNT),
        np.ones((COUNT, 1)),
    )


def seated(off: Array, askew: float) -> tuple[SceneRecord, Posed]:
    """Someone who sits by `off` (3,) metres and `askew` radians beside where he should."""
    rest = MODEL_SKELETON.rest_positions()
    hips = off - sitting_place(rest[0], rest[HIP_JOINTS])
    aim = Reach(np.array([0.0, 0.0, 0.4]), -askew, "sit", "seat")
    rolled = record(np.tile(rest + hips + aim.place, (COUNT, 1, 1)), ())
    rolled.actions[:, ACTIONS.index("sit")] = 1
    return rolled, posed(rolled, [Seating(0, aim, SAT - 30, SAT)], NO_HANDS, [SEAT])


def sits_at(places: Array) -> Array:
    """Place (T, 3) at which one sits."""
    return np.array([sitting_place(frame[0], frame[HIP_JOINTS]) for frame in places])


@pytest.mark.parametrize("metres", [0.01, 0.029, 0.05, 0.2])
@pytest.mark.parametrize("degrees", [0.0, 2.0, 7.0])
def test_the_last_correction_is_bounded_and_told(metres: float, degrees: float) -> None:
    off = metres * np.array([0.6, 0.0, 0.8])
    before, after = seated(off, math.radians(degrees))
    told = after.corrections[0]
    assert told.raw_cm == pytest.approx(100 * metres, abs=1e-3) and told.raw_deg == pytest.approx(degrees, abs=1e-3)
    assert told.deg == pytest.approx(0.0, abs=1e-3)
    assert told.cm >= 100 * (metres - FARTHEST) - 1e-3
    # Shift and turn together move no part of the trunk farther than a correction may.
    moved = sits_at(after.places) - sits_at(before.places)
    angle = after.root[:, 3]
    side = np.stack((np.cos(angle) - 1, np.sin(angle), np.zeros(COUNT)), axis=1)
    for sign in (-TRUNK, TRUNK):
        assert np.linalg.norm(moved + sign * side, axis=1).max() <= FARTHEST + 1e-6
    assert np.linalg.norm(sits_at(after.places)[SAT] - [0, 0, 0.4]) == pytest.approx(told.cm / 100, abs=1e-5)


@pytest.mark.parametrize("half", [0.1, 0.25])
def test_what_is_corrected_moves_neither_palm_too_far(half: float) -> None:
    rng = np.random.default_rng(4)
    shift, turn, angle = rng.normal(0, 0.05, (200, 3)), rng.normal(0, 0.3, 200), rng.uniform(-4, 4, 200)
    moved, turned = allowed(shift, turn, half, angle)

    def line(at: Array) -> Array:
        return half * np.stack((np.cos(at), np.sin(at), np.zeros(200)), axis=1)

    for sign in (-1, 1):
        off = moved + sign * (line(angle + turned) - line(angle))
        assert np.linalg.norm(off, axis=1).max() <= FARTHEST + 1e-9
    small = (np.linalg.norm(shift, axis=1) + half * np.abs(turn)) < FARTHEST
    assert small.any()
    np.testing.assert_allclose(moved[small], shift[small])
    np.testing.assert_allclose(turned[small], turn[small])


def test_the_correction_takes_a_second() -> None:
    before, after = seated(np.array([0.03, 0.0, 0.0]), 0.0)
    moved = np.linalg.norm(sits_at(after.places) - sits_at(before.places), axis=1)
    assert moved[SAT - round(FPS)] < 1e-6
    assert np.abs(np.diff(moved)).max() < 2 * FARTHEST / FPS


def test_feet_in_contact_stay_where_they_are() -> None:
    drifting = record().places.copy()
    drifting[:, :, 0] += 0.05 * np.arange(COUNT)[:, None] / FPS
    body = posed(record(drifting), [], NO_HANDS, [])
    for name in CONTACT_JOINTS:
        foot = body.places[:, MODEL_SKELETON.index(name)]
        assert np.ptp(foot, axis=0).max() < 2e-3, name
    assert np.ptp(body.places[:, 0, 0]) > 0.1


def test_a_raised_heel_is_no_contact() -> None:
    places = record().places.copy()
    places[:, MODEL_SKELETON.index("LeftFoot"), 2] += 0.12
    contacts = foot_contacts(record(places))
    on = dict(zip(CONTACT_JOINTS, contacts.T, strict=True))
    assert not on["LeftFoot"].any() and on["LeftToe"].all() and on["RightFoot"].all()


def test_bones_keep_their_lengths() -> None:
    noisy = record().places + np.random.default_rng(1).normal(0, 0.01, (COUNT, len(MODEL_SKELETON), 3))
    places = posed(record(noisy), [], NO_HANDS, []).places
    for joint, parent in enumerate(MODEL_SKELETON.parents):
        if parent >= 0:
            lengths = np.linalg.norm(places[:, joint] - places[:, parent], axis=1)
            np.testing.assert_allclose(lengths, np.linalg.norm(MODEL_SKELETON.offsets[joint]), atol=1e-6)


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
    body = posed(rolled, [Seating(0, aim, SAT - 30, SAT)], Hands(Scenery(Surroundings([chair]))), [chair])
    wrist = body.places[SAT:, hand]
    assert np.ptp(wrist, axis=0).max() < 2e-3
    assert wrist[0, 2] == pytest.approx(top[2] + 0.035, abs=2e-3)


def test_palms_lie_on_the_faces_of_a_box_that_is_held() -> None:
    handles = Carryable([0.2, 0, 0.1], [-0.2, 0, 0.1], [0, 1, 0])
    box = Collider("box", CUBOIDS, np.array([[0.02, -0.4, 0.9, 1.0, 0, 0, 0]]), "carryable", handles)
    places = record().places.copy()
    rotations = record().rotations
    hands = Hands(Scenery(Surroundings([box])))
    body_at = SimpleNamespace(places=places[0], rotations=rotations[0], contacts=np.ones(len(CONTACTS)))
    # The network's own bones need not be rigid: the arms' rotations are left as in the T-pose.
    for side, sign in (("Left", 1), ("Right", -1)):
        places[:, MODEL_SKELETON.index(side + "Hand")] = [sign * 0.15, -0.4, 1.0]
    for frame in range(COUNT):
        if frame in (SAT - 1, SAT):
            # They close on it when they come no nearer.
            assert hands.take("box", body_at, frame, 0) == (frame == SAT)
        hands.follow(body_at, frame)
    body = posed(record(places, ("LeftFoot", "RightFoot", "LeftHand", "RightHand")), [], hands, [box])
    pose = body.things["box"]
    assert np.abs(np.diff(pose[:, :3], axis=0)).max() < 0.1
    np.testing.assert_allclose(pose[: SAT - 1], np.tile(box.poses, (SAT - 1, 1)), atol=1e-9)
    width = np.linalg.norm(
        palm(body.places, body.rotations, "Left") - palm(body.places, body.rotations, "Right"), axis=1
    )
    np.testing.assert_allclose(width[SAT + round(FPS) :], 0.4 + 2 * PALM_THICKNESS, atol=5e-3)


def test_one_ducks_under_what_is_a_little_low_and_nowhere_else() -> None:
    rolled = record()
    head = MODEL_SKELETON.index("Head")
    low = float(rolled.places[0, head, 2]) + 0.1
    beam = Collider("beam", Cuboids(np.array([[0.0, 0.0, low + 0.1]]), np.array([[0.5, 0.1, 0.1]])))
    beside = Collider("beside", beam.cuboids, np.array([[0.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0]]))
    upright = posed(rolled, [], NO_HANDS, []).places
    assert posed(rolled, [], Hands(Scenery(Surroundings([beside]))), [beside]).places == pytest.approx(upright)
    ducked = posed(rolled, [], Hands(Scenery(Surroundings([beam]))), [beam]).places
    assert ducked[:, head, 2].max() < low - 0.2
    toes = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
    assert ducked[:, toes] == pytest.approx(upright[:, toes], abs=1e-3)
