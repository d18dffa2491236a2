# SPDX-License-Identifier: GPL-3.0-or-later
"""A body that sits keeps its feet on the ground, and leans on a backrest within reach, by choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.cleanup.cleanup import Posed, posed
from nsm_blender.cleanup.seating import Seating
from nsm_blender.geometry.body import depth
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.roles import Seat
from nsm_blender.models.nsm import ACTIONS, CONTACTS
from nsm_blender.motion.rotations import Array, between
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS, TOE_HEIGHT
from nsm_blender.rollout.goal_spec import Reach
from nsm_blender.rollout.nsm import SceneRecord

from .rollouts import COUNT, FEET, SAT, SEAT, TOES, acceleration, bone_lengths, deepest, empty_hands, record

SETTLED, LEFT = 60, 240
HEIGHT = 0.45
LEANS = 9.9
"""m/s2 of the heads of people that sit, at the recorded 99th percentile."""
NECK = MODEL_SKELETON.index("Neck")
SEATING = Seating(0, Reach(np.array([0.0, 0.0, HEIGHT]), 0.0, "sit", "seat"), 20, SETTLED, SETTLED, LEFT, rises=60)


def sitting() -> SceneRecord:
    """A character that sits upright on the front of a seat and faces -Y, its shins hanging before it."""
    rolled = record()
    forward = between(np.array([0.0, 0.0, -1.0]), np.array([0.0, -1.0, 0.0]))
    rolled.rotations[:, MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])] = forward
    joints = float(MODEL_SKELETON.offsets[MODEL_SKELETON.index("LeftUpLeg")][2])
    hips = np.tile([0.0, 0.0, HEIGHT + SEAT_BELOW_HIP_JOINTS - joints], (COUNT, 1))
    rolled.places[:] = MODEL_SKELETON.positions(hips, rolled.rotations)
    rolled.actions[SETTLED:LEFT, ACTIONS.index("sit")] = 1
    rolled.contacts[SETTLED:LEFT, CONTACTS.index("Hips")] = 1
    return rolled


def seat(behind: float) -> Collider:
    """A seat with a backrest, `behind` meters behind the middle of the hips."""
    center = np.array([[0.0, 0.0, HEIGHT / 2], [0.0, behind + 0.05, 0.8]])
    half = np.array([[0.4, 0.25, HEIGHT / 2], [0.4, 0.05, 0.4]])
    return Collider("seat", Cuboids(center, half), role="seat", handles=Seat([0, 0, HEIGHT], [0, -1, 0], 0.4, 0.4))


def sits(behind: float, seating: Seating = SEATING) -> Posed:
    thing = seat(behind)
    return posed(sitting(), [seating], empty_hands(thing), [thing])


@pytest.mark.parametrize("behind", [0.2, 0.27, 0.34])
def test_the_back_comes_to_a_backrest_and_not_into_it(behind: float) -> None:
    upright, leaning = sits(behind, replace(SEATING, lean=False)).places, sits(behind).places
    middle = (SETTLED + LEFT) // 2 + 30
    assert leaning[middle, NECK, 1] - upright[middle, NECK, 1] > 0.05
    spine = leaning[middle, MODEL_SKELETON.indices(["Hips", "Spine1", "Spine2"]), 1]
    assert (spine + 0.11 < behind + 0.04).all()
    np.testing.assert_allclose(leaning[:, TOES], upright[:, TOES], atol=0.01)
    assert acceleration(leaning).max() < LEANS


def test_it_leans_only_while_it_sits_and_comes_and_goes_smoothly() -> None:
    upright, leaning = sits(0.27, replace(SEATING, lean=False)).places, sits(0.27).places
    apart = np.linalg.norm(leaning - upright, axis=-1).max(axis=1)
    assert apart[: SETTLED - 40].max() < 0.01 and apart[-20:].max() < 0.01 and apart[LEFT - 30] > 0.05
    assert np.abs(np.diff(leaning[:, NECK, 1])).max() < 0.02


@pytest.mark.parametrize(("behind", "seating"), [(1.0, SEATING), (1.0, replace(SEATING, left=None))])
def test_without_a_backrest_within_reach_the_body_sits_upright(behind: float, seating: Seating) -> None:
    upright, same = sits(behind, replace(seating, lean=False)).places, sits(behind, seating).places
    np.testing.assert_allclose(same, upright, atol=0.01)


def test_thighs_lie_on_the_seat_and_shins_hang_before_it() -> None:
    thing = seat(0.3)
    body = sits(0.3, replace(SEATING, lean=False))
    hips = body.places[SETTLED:LEFT, 0]
    assert np.linalg.norm(hips - sitting().places[SETTLED:LEFT, 0], axis=1).max() < 0.03
    # Flesh and upholstery give way by 5 cm.
    assert deepest(body.places[SETTLED:LEFT], thing, 3) < 0.05 + 0.01
    assert np.ptp(body.places[SETTLED + 20 : LEFT, FEET], axis=0).max() < 5e-3


@pytest.mark.parametrize("front", [0.02, 0.04])
def test_shins_come_out_of_a_deep_seat_and_the_head_out_of_a_tall_backrest(front: float) -> None:
    """Thighs and back may sink in, and the hips give way before anything else is in the seat."""
    knees = sitting().places[0, MODEL_SKELETON.index("LeftLeg"), 1]
    depth_half = (0.4 - (knees - front)) / 2
    center = np.array([[0.0, knees - front + depth_half, HEIGHT / 2], [0.0, 0.28, 1.1]])
    half = np.array([[0.4, depth_half, HEIGHT / 2], [0.4, 0.05, 0.7]])
    chair = Collider("seat", Cuboids(center, half), role="seat", handles=Seat([0, 0, HEIGHT], [0, -1, 0], 0.4, 0.4))
    around = Surroundings([chair])
    sat = posed(sitting(), [SEATING], empty_hands(chair), [chair]).places[SETTLED + 60 : LEFT - 30]

    def deep(places: Array) -> float:
        return depth(places, 0.0, around, ["seat"], sits=True, handles=False)

    assert deep(sitting().places[0]) > 0.015
    assert max(deep(places) for places in sat[::10]) < 0.015


def test_a_body_that_sits_keeps_both_feet_where_they_stood() -> None:
    rolled = record()
    down = slice(SAT - 20, None)
    rolled.actions[down, ACTIONS.index("sit")] = 1
    rolled.contacts[down, CONTACTS.index("Hips")] = 1
    # The left foot is lifted and taken aside, as by a character that crosses its legs.
    lifted = slice(SAT, SAT + 100)
    rolled.contacts[lifted, CONTACTS.index("LeftFoot")] = 0
    legs = MODEL_SKELETON.indices(["LeftLeg", "LeftFoot", "LeftToe"])
    rolled.places[lifted, legs[0] : legs[-1] + 1] += [0.2, -0.1, 0.2]
    aim = Reach(np.array([0.0, 0.0, 0.4]), 0.0, "sit", "seat")
    far = replace(SEAT, poses=np.array([[9.0, 0, 0, 1, 0, 0, 0]]))
    body = posed(rolled, [Seating(0, aim, SAT - 30, SAT - 20, SAT)], empty_hands(far), [far])
    assert body.contacts[SAT:, [CONTACT_JOINTS.index(name) for name in ("LeftToe", "RightToe")]].all()
    assert np.ptp(body.places[SAT:, TOES], axis=0).max() < 5e-3
    np.testing.assert_allclose(body.places[SAT:, TOES, 2], TOE_HEIGHT, atol=0.01)


@pytest.mark.parametrize("degrees", [-30, -15, 15, 30])
@pytest.mark.parametrize("behind", [0.15, 0.25])
def test_a_body_that_sits_upright_comes_out_of_a_backrest_at_any_angle(degrees: float, behind: float) -> None:
    slant = np.array([np.cos(np.radians(degrees) / 2), np.sin(np.radians(degrees) / 2), 0.0, 0.0])
    board = Cuboids(np.zeros((1, 3)), np.array([[0.4, 0.03, 0.4]]))
    back = Collider("back", board, np.array([[0.0, behind, 0.9, *slant]]))
    whole = seat(0.0)
    plate = replace(whole, cuboids=Cuboids(whole.cuboids.center[:1], whole.cuboids.half[:1]))
    body = posed(sitting(), [replace(SEATING, lean=False)], empty_hands(plate, back), [plate, back])
    sat = body.places[SETTLED + 30 : LEFT - 30]
    assert deepest(sat, back, 5) < 0.01
    assert np.linalg.norm(sat[:, 0] - sitting().places[0, 0], axis=1).max() < 0.2
    lengths = np.linalg.norm(MODEL_SKELETON.offsets[1:], axis=1)
    np.testing.assert_allclose(bone_lengths(body.places), np.broadcast_to(lengths, (COUNT, len(lengths))), atol=1e-6)
