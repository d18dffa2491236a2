# SPDX-License-Identifier: GPL-3.0-or-later
"""Feet and shins keep out of things; who sits keeps the feet on the ground; who comes from the side goes round."""

from __future__ import annotations

import numpy as np
from nsm_blender.cleanup.leg_collision import FARTHEST

from nsm_blender.cleanup.cleanup import posed
from nsm_blender.cleanup.seating import Seating
from nsm_blender.geometry.body import depth
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.roles import Seat
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.models.nsm import ACTIONS, CONTACTS
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.rollout.goal_input import Reach
from nsm_blender.rollout.held_objects import Hands
from nsm_blender.rollout.seat_corner_avoidance import round_corner

from .test_scene_motion import COUNT, NO_HANDS, SAT, SEAT, record

TOES = MODEL_SKELETON.indices(["LeftToe", "RightToe"])


def wall(middle: list[float], half: list[float]) -> Collider:
    return Collider("wall", Cuboids(np.zeros((1, 3)), np.array([half])), np.array([[*middle, 1.0, 0, 0, 0]]))


def empty_hands(*things: Collider) -> Hands:
    return Hands(Scenery(Surroundings(list(things))))


def deepest(places: Array, thing: Collider) -> float:
    around = Surroundings([thing])
    return max(depth(frame, 0.0, around, [], sits=False, handles=False) for frame in places[::10])


def test_a_foot_that_stands_in_a_thing_stands_beside_it() -> None:
    left = record().places[0, MODEL_SKELETON.index("LeftFoot")]
    box = wall([left[0] + 0.1, left[1], 0.2], [0.1, 0.3, 0.2])
    before, after = posed(record(), [], NO_HANDS, []), posed(record(), [], empty_hands(box), [box])
    assert deepest(before.places, box) > 0.03
    assert deepest(after.places, box) < 0.01
    moved = after.places[:, TOES] - before.places[:, TOES]
    assert 0.03 < np.linalg.norm(moved[:, 0], axis=-1).max() <= FARTHEST + 1e-6
    assert np.ptp(after.places[:, TOES[0]], axis=0).max() < 2e-3
    np.testing.assert_allclose(moved[:, 1], 0, atol=1e-3)
    np.testing.assert_allclose(after.places[:, 0], before.places[:, 0], atol=0.02)


def test_a_foot_passes_beside_what_it_would_swing_through() -> None:
    places = record().places.copy()
    stride = np.clip((np.arange(COUNT) - 120) / 60, 0, 1)
    left = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
    places[:, left, 1] -= 0.5 * stride[:, None]
    places[:, :, 1] -= 0.1 * stride[:, None]
    rolled = record(places)
    swinging = (stride > 0) & (stride < 1)
    rolled.contacts[swinging, CONTACTS.index("LeftFoot")] = 0
    post = wall([places[0, left[0], 0] + 0.03, places[0, left[0], 1] - 0.25, 0.15], [0.02, 0.02, 0.15])
    before, after = posed(rolled, [], NO_HANDS, []), posed(rolled, [], empty_hands(post), [post])
    assert deepest(before.places[120:180], post) > 0.03
    assert deepest(after.places[120:180], post) < 0.02
    change = np.linalg.norm(np.diff(after.places[:, TOES[0]], 2, axis=0), axis=1).max() * 3600
    assert change < 40 + np.linalg.norm(np.diff(before.places[:, TOES[0]], 2, axis=0), axis=1).max() * 3600


def test_nothing_near_changes_nothing() -> None:
    far = wall([3.0, 0.0, 0.5], [0.5, 0.5, 0.5])
    before, after = posed(record(), [], NO_HANDS, []), posed(record(), [], empty_hands(far), [far])
    np.testing.assert_array_equal(before.places, after.places)


def test_who_sits_keeps_both_feet_where_they_stood() -> None:
    rolled = record()
    sits = slice(SAT - 20, None)
    rolled.actions[sits, ACTIONS.index("sit")] = 1
    rolled.contacts[sits, CONTACTS.index("Hips")] = 1
    # The left foot is lifted and taken aside, as who crosses his legs does.
    lifted = slice(SAT, SAT + 100)
    rolled.contacts[lifted, CONTACTS.index("LeftFoot")] = 0
    left = MODEL_SKELETON.indices(["LeftLeg", "LeftFoot", "LeftToe"])
    rolled.places[lifted, left[0] :][:, [0, 1, 2]] += [0.2, -0.1, 0.2]
    aim = Reach(np.array([0.0, 0.0, 0.4]), 0.0, "sit", "seat")
    far = Collider("seat", SEAT.cuboids, np.array([[9.0, 0, 0, 1, 0, 0, 0]]), "seat", SEAT.handles)
    body = posed(rolled, [Seating(0, aim, SAT - 30, SAT)], empty_hands(far), [far])
    on = body.contacts[SAT:, [CONTACT_JOINTS.index(name) for name in ("LeftToe", "RightToe")]]
    assert on.all()
    assert np.ptp(body.places[SAT:, TOES], axis=0).max() < 5e-3
    np.testing.assert_allclose(body.places[SAT:, TOES, 2], TOE_HEIGHT, atol=0.01)


def test_one_who_comes_from_the_side_is_led_round_the_corner_of_a_seat() -> None:
    sofa = Seat([0.0, 0.0, 0.42], [0.0, -1.0, 0.0], 1.5, 0.5)
    place = np.array(sofa.place)
    front = -place[1] - 0.25
    over, before, middle, far = round_corner(
        sofa, place, 0.0, np.array([[0.6, -0.1], [0.6, -0.7], [0.05, -0.1], [3.0, 0.0]])
    )
    assert over[1] < front and abs(over[0]) < 1e-9
    np.testing.assert_allclose([before, middle, far], 0, atol=1e-9)
    behind = round_corner(sofa, place, 0.0, np.array([[0.3, 2.0]]))
    np.testing.assert_allclose(behind, 0, atol=1e-9)
