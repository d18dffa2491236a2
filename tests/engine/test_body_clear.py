# SPDX-License-Identifier: GPL-3.0-or-later
"""A body comes out of the things around it: hips aside, trunk leaning, knees turned, arms drawn in; hands stay."""

from __future__ import annotations

import numpy as np
from nsm_blender.cleanup.body_collision import ASIDE, ON_SEAT
from nsm_blender.cleanup.viterbi import viterbi

from nsm_blender.cleanup.cleanup import posed
from nsm_blender.cleanup.seating import HIP_JOINTS, Seating, sitting_place
from nsm_blender.geometry.colliders import Surroundings
from nsm_blender.geometry.roles import Carryable
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.models.nsm import ACTIONS, CONTACTS, FPS
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON
from nsm_blender.rollout.goal_input import Reach
from nsm_blender.rollout.held_objects import Hands, Hold

from .test_clearance import deepest, empty_hands, wall
from .test_scene_motion import COUNT, NO_HANDS, SAT, SEAT, record

FEET = MODEL_SKELETON.indices(["LeftFoot", "LeftToe", "RightFoot", "RightToe"])
WRISTS = MODEL_SKELETON.indices(["LeftHand", "RightHand"])


def acceleration(places: Array) -> float:
    """Largest m/s2 of one joint's places (T, 3)."""
    return float(np.linalg.norm(np.diff(places, 2, axis=0), axis=1).max() * FPS**2)


def strolling() -> Array:
    """Joint places (T, J, 3) of someone who glides 1 m ahead, along -Y, with the feet off the ground."""
    places = record().places.copy()
    places[:, :, 1] -= np.linspace(0, 1.0, COUNT)[:, None]
    return places


def test_hips_that_brush_a_post_pass_beside_it_smoothly_over_planted_feet() -> None:
    places = record().places
    sway = 0.06 * np.sin(np.linspace(0, np.pi, COUNT)) ** 2
    places[:, 0, 0] += sway
    post = wall([places[0, 0, 0] + 0.06 + 0.11 - 0.03 + 0.2, 0.0, 1.05], [0.2, 0.05, 0.07])
    before, after = posed(record(places), [], NO_HANDS, []), posed(record(places), [], empty_hands(post), [post])
    assert deepest(before.places, post) > 0.025
    assert deepest(after.places, post) < 0.01
    moved = np.linalg.norm(after.places[:, 0] - before.places[:, 0], axis=1)
    assert 0.02 < moved.max() <= ASIDE + 1e-6
    np.testing.assert_allclose(after.root[:, :2] - before.root[:, :2], (after.places - before.places)[:, 0, :2])
    assert acceleration(after.places[:, 0]) < 4
    np.testing.assert_allclose(after.places[:, FEET], before.places[:, FEET], atol=2e-3)


def test_the_body_is_as_it_was_before_and_after_a_thing_is_near() -> None:
    places = strolling()
    post = wall([places[0, 0, 0] + 0.26, -0.5, 1.0], [0.2, 0.02, 0.1])
    rolled = record(places, ())
    before, after = posed(rolled, [], NO_HANDS, []), posed(rolled, [], empty_hands(post), [post])
    assert deepest(before.places, post) > 0.03 > 0.02 > deepest(after.places, post)
    same = np.flatnonzero(np.abs(after.places - before.places).max(axis=(1, 2)) == 0)
    assert {0, 1, COUNT - 2, COUNT - 1} <= set(same.tolist())


def test_who_sits_before_a_wall_leans_out_of_it_and_stays_on_the_seat() -> None:
    rest = MODEL_SKELETON.rest_positions()
    aim = Reach(np.array([0.0, 0.0, 0.4]), 0.0, "sit", "seat")
    rolled = record(np.tile(rest - sitting_place(rest[0], rest[HIP_JOINTS]) + aim.place, (COUNT, 1, 1)), ())
    rolled.actions[:, ACTIONS.index("sit")] = 1
    behind = wall([0.0, 0.16, 1.2], [2.0, 0.1, 0.4])
    seating = [Seating(0, aim, SAT - 30, SAT)]
    before, after = posed(rolled, seating, NO_HANDS, [SEAT]), posed(rolled, seating, NO_HANDS, [SEAT, behind])
    sat = slice(SAT, COUNT)
    assert deepest(before.places[sat], behind) > 0.04
    assert deepest(after.places[sat], behind) < 0.012
    hips = np.linalg.norm(after.places[sat, 0] - before.places[sat, 0], axis=1).max()
    assert hips <= ON_SEAT + 1e-6
    # What is told is where one sits in the end.
    off = 100 * np.linalg.norm(sitting_place(after.places[SAT, 0], after.places[SAT, HIP_JOINTS]) - aim.place)
    np.testing.assert_allclose(after.corrections[0].cm, off, atol=1e-3)


def test_a_thigh_turns_out_of_the_edge_of_a_thing() -> None:
    rolled = record()
    knee = rolled.places[0, MODEL_SKELETON.index("LeftLeg")]
    hip_height = HIPS_HEIGHT - 0.2
    rolled.places[:, 0, 2] = hip_height
    bent = posed(rolled, [], NO_HANDS, [])
    knee = bent.places[0, MODEL_SKELETON.index("LeftLeg")]
    edge = wall([knee[0] + 0.1, knee[1] + 0.02, knee[2]], [0.05, 0.05, 0.05])
    after = posed(rolled, [], empty_hands(edge), [edge])
    assert deepest(bent.places, edge) > 0.015
    assert deepest(after.places, edge) < 0.01
    np.testing.assert_allclose(after.places[:, FEET], bent.places[:, FEET], atol=2e-3)


def test_a_free_arm_is_drawn_in_before_a_wall() -> None:
    rolled = record()
    shelf = wall([0.81, 0.0, 1.4], [0.1, 0.3, 0.3])
    before, after = posed(rolled, [], NO_HANDS, []), posed(rolled, [], empty_hands(shelf), [shelf])
    assert deepest(before.places, shelf) > 0.025
    assert deepest(after.places, shelf) < 0.015
    np.testing.assert_array_equal(after.places[:, WRISTS[1]], before.places[:, WRISTS[1]])


def test_hands_take_a_box_where_they_did_though_the_hips_go_aside() -> None:
    rolled = record()
    rolled.actions[:, ACTIONS.index("carry")] = 1
    rolled.contacts[:, [CONTACTS.index(side + "Hand") for side in ("Left", "Right")]] = 1
    reach = 0.95
    left, right = rolled.places[0, WRISTS]
    handles = Carryable([reach * left[0], 0, 0], [reach * right[0], 0, 0], [0, -1, 0])
    box = wall([0.0, left[1], left[2]], [reach * left[0], 0.02, 0.02])
    lying = np.array([0.0, left[1], left[2], 1.0, 0, 0, 0])
    hands = Hands(Scenery(Surroundings([box])))
    hands.holds.append(Hold("wall", handles, lying, SAT, 0))
    hands.tracks += [{"wall": lying} for _ in range(COUNT)]
    post = wall([0.0, 0.16, 1.0], [0.2, 0.07, 0.1])
    stands = post.__class__("post", post.cuboids, post.poses)
    free, near = posed(rolled, [], hands, [box]), posed(rolled, [], hands, [box, stands])
    assert deepest(free.places[:SAT], stands) > 0.01 > deepest(near.places[:SAT], stands)
    moved = np.linalg.norm(near.places[:, 0] - free.places[:, 0], axis=1)
    assert moved[SAT] > 0.01
    np.testing.assert_allclose(near.corrections[0].raw_cm, free.corrections[0].raw_cm, atol=0.05)


def test_the_cheapest_way_leads_from_nothing_to_nothing_and_changes_slowly() -> None:
    moves = np.linspace(0, 1, 11)
    costs = np.zeros((41, 11)) + 0.1 * moves
    costs[20, :10] += 100.0
    changes = 10 * (moves[:, None] - moves) ** 2
    way = moves[viterbi(costs, changes)]
    assert way[0] == way[-1] == 0 and way[20] == 1
    assert np.abs(np.diff(way)).max() <= 0.3
    assert moves[viterbi(costs[15:21], changes, ends=False)][-1] == 1
    np.testing.assert_allclose(moves[viterbi(costs[20:], changes, starts=False)][0], 1)
