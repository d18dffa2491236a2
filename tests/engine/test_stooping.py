# SPDX-License-Identifier: GPL-3.0-or-later
"""Who takes a box from lower than the network's hands go stoops for it: the box does not come to the hands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from nsm_blender.cleanup.reach_crouch import LOWEST, MOST, stooped

from nsm_blender.cleanup.cleanup import posed
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.roles import Carryable
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.motion.rotations import Array
from nsm_blender.rollout.held_objects import PALM_THICKNESS, Hands, Hold, between_palms, palm

from .test_scene_motion import COUNT, record

TAKEN = 150


def barbell(metres: float) -> tuple[Collider, Hands]:
    """Two weights, so many metres under the palms of someone in the T-pose, who takes them at frame TAKEN."""
    body = record()
    places, rotations = body.places[0], body.rotations[0]
    left, right = (palm(places, rotations, side) for side in ("Left", "Right"))
    half = np.linalg.norm(left - right) / 2 - PALM_THICKNESS
    lying = np.array([*((left + right) / 2 - [0.0, 0.0, metres]), 1.0, 0.0, 0.0, 0.0])
    ends = Cuboids(np.array([[half - 0.05, 0, 0], [0.05 - half, 0, 0]]), np.full((2, 3), 0.05))
    handles = Carryable([half, 0, 0], [-half, 0, 0], [0, -1, 0])
    thing = Collider("weights", ends, lying[None], "carryable", handles)
    hands = Hands(Scenery(Surroundings([thing])))
    middle, _ = between_palms(body.places, body.rotations)
    hands.tracks = [
        {"weights": lying if frame < TAKEN else np.array([*middle[frame], 1.0, 0.0, 0.0, 0.0])}
        for frame in range(COUNT)
    ]
    hands.holds = [Hold("weights", handles, lying, TAKEN, 0)]
    return thing, hands


def hips(metres: float) -> Array:
    thing, hands = barbell(metres)
    return posed(record(), [], hands, [thing]).places[:, 0, 2]


@pytest.mark.parametrize("metres", [0.05, 0.12])
def test_both_palms_meet_a_low_box_that_lies_still_until_then(metres: float) -> None:
    thing, hands = barbell(metres)
    after = posed(record(), [], hands, [thing])
    middle, _ = between_palms(after.places[TAKEN], after.rotations[TAKEN])
    assert np.linalg.norm(middle - thing.poses[0][:3]) < 0.01
    box = after.things["weights"]
    np.testing.assert_allclose(box[: TAKEN + 1, :3], np.tile(thing.poses[0][:3], (TAKEN + 1, 1)), atol=1e-6)
    assert np.linalg.norm(np.diff(box[:, :3], axis=0), axis=1).max() < 0.01


def test_what_is_told_is_how_far_the_network_was_off_and_what_three_centimetres_leave() -> None:
    thing, hands = barbell(0.12)
    told = posed(record(), [], hands, [thing]).corrections[0]
    assert told.raw_cm == pytest.approx(12, abs=0.5) and told.cm >= told.raw_cm - 3 - 1e-6


def test_nobody_stoops_for_what_his_arms_reach_nor_lower_than_he_may() -> None:
    there, too_low = hips(0.0), hips(0.6)
    np.testing.assert_allclose(there, there[0], atol=2e-3)
    assert 0.5 * MOST < there[0] - too_low.min() < MOST + 0.01


def test_who_squats_as_low_as_one_may_already_goes_no_lower() -> None:
    _, hands = barbell(0.6)
    body = record()
    body.places[..., 2] += LOWEST - 0.05 - body.places[:, :1, 2]
    np.testing.assert_allclose(stooped(body, hands.holds), 0)


def test_one_stoops_to_put_down_what_he_holds_above_its_place() -> None:
    thing, hands = barbell(0.0)
    put = hands.holds[0].lying.copy()
    put[2] -= 0.12
    hands.holds[0] = replace(hands.holds[0], left=TAKEN + 60, goal=put, key_left=1)
    after = posed(record(), [], hands, [thing])
    middle, _ = between_palms(after.places[TAKEN + 59], after.rotations[TAKEN + 59])
    assert np.linalg.norm(middle - put[:3]) < 0.01
