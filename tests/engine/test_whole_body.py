# SPDX-License-Identifier: GPL-3.0-or-later
"""A body comes out of the things around it, and does what is wanted of it, smoothly and no farther than it must."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.cleanup.cleanup import posed
from nsm_blender.cleanup.kinematics import ENDS, HIPS, SIZE
from nsm_blender.cleanup.seating import HIP_JOINTS, Seating, sitting_place
from nsm_blender.cleanup.terms import At, By, Wanted
from nsm_blender.cleanup.whole_body import WholeBody, stood
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.collision import Obstacles
from nsm_blender.models.nsm import ACTIONS, CONTACTS
from nsm_blender.motion.rotations import Array, from_yaw, multiply, rotate
from nsm_blender.motion.skeleton import CONTACT_JOINTS, HIPS_HEIGHT, MODEL_SKELETON
from nsm_blender.rollout.goal_spec import Reach

from .rollouts import (
    COUNT,
    FEET,
    SAT,
    SEAT,
    TOES,
    WRISTS,
    acceleration,
    at,
    block,
    body_in_box,
    bone_lengths,
    box_in,
    deepest,
    empty_hands,
    hands_with,
    holding,
    record,
    rising,
    sits_at,
)

TOUCH = 0.01
"""Meters of depth that are a touch."""
GENTLE, BRISK = 4.0, 40.0
"""Largest added acceleration in m/s^2 of a swaying trunk, and of a foot or hand that is moved aside on its way."""
LEFT_FOOT = MODEL_SKELETON.index("LeftFoot")


def swaying() -> tuple[Array, Collider]:
    """Joint places (T, J, 3) of a character whose hips sway to its left, and a post into which they do."""
    places = record().places
    places[:, 0, 0] += 0.06 * np.sin(np.linspace(0, np.pi, COUNT)) ** 2
    return places, block([0.06 + 0.11 - 0.03 + 0.2, 0.0, 1.05], [0.2, 0.05, 0.07])


def test_hips_that_brush_a_post_pass_beside_it_smoothly_over_planted_feet() -> None:
    places, post = swaying()
    before, after = posed(record(places), [], empty_hands(), []), posed(record(places), [], empty_hands(post), [post])
    assert deepest(before.places, post) > 0.025
    assert deepest(after.places, post, every=1) < TOUCH
    moved = np.linalg.norm(after.places[:, 0] - before.places[:, 0], axis=1)
    assert 0.01 < moved.max() < 0.06
    np.testing.assert_allclose(after.root[:, :2] - before.root[:, :2], (after.places - before.places)[:, 0, :2])
    assert acceleration(after.places[:, 0]).max() < GENTLE
    np.testing.assert_allclose(after.places[:, FEET], before.places[:, FEET], atol=2e-3)


def test_the_body_is_as_it_was_before_and_after_a_thing_is_near() -> None:
    places = record().places
    places[:, :, 1] -= np.linspace(0, 3.0, COUNT)[:, None]
    post = block([0.26, -1.5, 1.0], [0.2, 0.02, 0.1])
    rolled = record(places, ())
    before, after = posed(rolled, [], empty_hands(), []), posed(rolled, [], empty_hands(post), [post])
    assert deepest(before.places, post, 3) > 0.03 > TOUCH > deepest(after.places, post, 1)
    same = np.abs(after.places - before.places).max(axis=(1, 2)) == 0
    assert same[:60].all() and same[-60:].all()


@pytest.mark.parametrize("things", [[], [block([3.0, 0.0, 0.5], [0.5, 0.5, 0.5])]])
def test_nothing_near_changes_nothing(things: list[Collider]) -> None:
    places, _ = swaying()
    before = posed(record(places), [], empty_hands(), [])
    after = posed(record(places), [], empty_hands(*things), things)
    np.testing.assert_array_equal(before.places, after.places)
    np.testing.assert_array_equal(before.rotations, after.rotations)


def test_a_body_that_sits_before_a_wall_leans_out_of_it_and_stays_on_the_seat() -> None:
    rest = MODEL_SKELETON.rest_positions()
    aim = Reach(np.array([0.0, 0.0, 0.4]), 0.0, "sit", "seat")
    rolled = record(np.tile(rest - sitting_place(rest[0], rest[HIP_JOINTS]) + aim.place, (COUNT, 1, 1)), ())
    rolled.actions[:, ACTIONS.index("sit")] = 1
    behind = block([0.0, 0.16, 1.2], [2.0, 0.1, 0.4])
    seating = [Seating(0, aim, SAT - 30, SAT - 20, SAT, lean=False)]
    before, after = posed(rolled, seating, empty_hands(), [SEAT]), posed(rolled, seating, empty_hands(), [SEAT, behind])
    sat = slice(SAT, COUNT)
    assert deepest(before.places[sat], behind) > 0.04
    assert deepest(after.places[sat], behind, 1) < TOUCH
    assert acceleration(after.places[:, 0]).max() < GENTLE
    # It still sits on the seat, and what is told is where it sits in the end.
    off = 100 * np.linalg.norm(sits_at(after.places)[SAT] - aim.place)
    assert off < 5
    np.testing.assert_allclose(after.corrections[0].cm, off, atol=1e-3)


@pytest.mark.parametrize(("underside", "thick"), [(1.3, 0.07), (1.35, 0.11), (1.42, 0.07)])
def test_a_body_that_goes_under_a_beam_ducks_and_does_not_go_through_it(underside: float, thick: float) -> None:
    places = record().places
    places[:, :, 1] += np.linspace(-0.8, 0.8, COUNT)[:, None]
    beam = block([0.0, 0.0, underside + thick], [1.2, thick, thick])
    rolled = record(places, ())
    before, after = posed(rolled, [], empty_hands(), []), posed(rolled, [], empty_hands(beam), [beam])
    assert deepest(before.places, beam) > 0.1
    assert deepest(after.places, beam, 1) < 2 * TOUCH
    # The head is lower under the beam than on either side of it, and ends where it was.
    head = after.places[:, MODEL_SKELETON.index("Head"), 2]
    assert head.min() < underside < head[[0, -1]].min()
    assert acceleration(after.places[:, 0]).max() < BRISK


def test_a_thigh_turns_out_of_the_edge_of_a_thing() -> None:
    rolled = record()
    rolled.places[:, 0, 2] = HIPS_HEIGHT - 0.2
    bent = posed(rolled, [], empty_hands(), [])
    knee = bent.places[0, MODEL_SKELETON.index("LeftLeg")]
    edge = block([knee[0] + 0.1, knee[1] + 0.02, knee[2]], [0.05, 0.05, 0.05])
    after = posed(rolled, [], empty_hands(edge), [edge])
    assert deepest(bent.places, edge) > 0.015
    assert deepest(after.places, edge) < TOUCH
    np.testing.assert_allclose(after.places[:, FEET], bent.places[:, FEET], atol=2e-3)


def test_a_free_arm_is_drawn_in_before_a_wall() -> None:
    shelf = block([0.81, 0.0, 1.4], [0.1, 0.3, 0.3])
    before, after = posed(record(), [], empty_hands(), []), posed(record(), [], empty_hands(shelf), [shelf])
    assert deepest(before.places, shelf) > 0.025
    assert deepest(after.places, shelf) < TOUCH
    assert np.linalg.norm(after.places[:, 0] - before.places[:, 0], axis=1).max() < 0.02


@pytest.mark.parametrize("inside", [0.01, 0.03])
def test_a_foot_that_stands_in_a_thing_stands_beside_it(inside: float) -> None:
    left = record().places[0, LEFT_FOOT]
    box = block([left[0] + 0.1 - inside, left[1], 0.2], [0.1, 0.3, 0.2])
    before, after = posed(record(), [], empty_hands(), []), posed(record(), [], empty_hands(box), [box])
    assert deepest(before.places, box) > 0.03
    assert deepest(after.places, box) < TOUCH
    moved = after.places[:, TOES] - before.places[:, TOES]
    assert 0.03 < np.linalg.norm(moved[:, 0], axis=-1).max() < 0.12
    assert np.ptp(after.places[:, TOES[0]], axis=0).max() < 2e-3
    assert np.linalg.norm(after.places[:, 0] - before.places[:, 0], axis=1).max() < 0.05


def test_a_foot_passes_beside_what_it_would_swing_through() -> None:
    places = record().places
    stride = np.clip((np.arange(COUNT) - 120) / 60, 0, 1)
    left = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
    places[:, left, 1] -= 0.5 * stride[:, None]
    places[:, :, 1] -= 0.1 * stride[:, None]
    rolled = record(places)
    rolled.contacts[(stride > 0) & (stride < 1), CONTACTS.index("LeftFoot")] = 0
    post = block([places[0, left[0], 0] + 0.03, places[0, left[0], 1] - 0.25, 0.15], [0.02, 0.02, 0.15])
    before, after = posed(rolled, [], empty_hands(), []), posed(rolled, [], empty_hands(post), [post])
    assert deepest(before.places[120:180], post, 1) > 0.03
    assert deepest(after.places[120:180], post, 2) < TOUCH
    both = slice(None), TOES[0]
    assert acceleration(after.places[both]).max() < BRISK + acceleration(before.places[both]).max()
    standing = np.r_[0:115, 190:COUNT]
    for foot in FEET:
        for stance in (standing[standing < 115], standing[standing >= 190]):
            assert np.ptp(after.places[stance, foot], axis=0).max() < 2e-3


def test_a_shin_behind_the_front_edge_of_a_plate_comes_out_to_the_front() -> None:
    knee = record().places[0, MODEL_SKELETON.index("LeftLeg")]
    plate = block([knee[0], knee[1] + 0.22, 0.36], [0.1, 0.25, 0.02])
    before, after = posed(record(), [], empty_hands(), []), posed(record(), [], empty_hands(plate), [plate])
    assert deepest(before.places, plate) > 0.015
    assert deepest(after.places, plate) < TOUCH
    shin = MODEL_SKELETON.index("LeftLeg")
    moved = after.places[SAT, shin] - before.places[SAT, shin]
    assert moved[1] < -0.01 and abs(moved[2]) < 0.02


def test_a_door_leaf_that_swings_into_a_body_pushes_it_only_then() -> None:
    poses = np.tile(at(np.array([0.5, 0.0, 1.0])), (COUNT, 1))
    poses[:, 0] -= 0.28 * rising(COUNT, 120, 180)
    leaf = Collider("leaf", Cuboids(np.zeros((1, 3)), np.array([[0.15, 0.02, 0.3]])), poses)
    rolled = record()
    before, after = posed(rolled, [], empty_hands(), []), posed(rolled, [], empty_hands(leaf), [leaf])
    shifted = np.linalg.norm(after.places[:, 0] - before.places[:, 0], axis=1)
    assert shifted[:60].max() < 1e-3 < 0.005 < shifted[180:].max()
    last = Collider("leaf", leaf.cuboids, poses[-1:])
    assert deepest(before.places[-1:], last) > 0.02 > TOUCH > deepest(after.places[190:], last)


def test_feet_in_contact_stay_where_they_are() -> None:
    places = record().places
    places[:, :, 0] += 0.05 * np.arange(COUNT)[:, None] / 60
    body = posed(record(places), [], empty_hands(), [])
    for name in CONTACT_JOINTS:
        assert np.ptp(body.places[:, MODEL_SKELETON.index(name)], axis=0).max() < 2e-3, name
    assert np.ptp(body.places[:, 0, 0]) > 0.1


@pytest.mark.parametrize("things", [[], [block([0.25, 0.0, 0.9], [0.2, 0.05, 0.9])]])
def test_bones_keep_their_lengths(things: list[Collider]) -> None:
    noisy = record().places + np.random.default_rng(1).normal(0, 0.01, (COUNT, len(MODEL_SKELETON), 3))
    places = posed(record(noisy), [], empty_hands(), things).places
    lengths = np.linalg.norm(MODEL_SKELETON.offsets[1:], axis=1)
    np.testing.assert_allclose(bone_lengths(places), np.broadcast_to(lengths, (COUNT, len(lengths))), atol=1e-6)


def test_hands_take_a_box_where_they_did_though_the_body_gives_way() -> None:
    rolled = holding(np.tile([0.0, -0.3, 1.1], (COUNT, 1)))
    lying = at(np.array([0.0, -0.3, 1.1]))
    box, hands = hands_with(rolled, lying, SAT)
    post = block([0.0, 0.15, 1.0], [0.2, 0.07, 0.1], "post")
    free, near = posed(rolled, [], hands, [box]), posed(rolled, [], hands, [box, post])
    assert deepest(free.places, post) > 0.015 and deepest(near.places, post) < TOUCH
    assert np.linalg.norm(near.places[SAT, WRISTS] - free.places[SAT, WRISTS], axis=1).max() < 5e-3
    np.testing.assert_allclose(near.things["box"][: SAT + 1], np.tile(lying, (SAT + 1, 1)), atol=2e-3)


LONG = 240
TAKEN, LEFT = 30, 190


def carried_over(things: list[Collider], low: float, height: float = 1.1) -> tuple[Array, Array, Array]:
    """Poses (T, 7) of a box that is carried 0.8 m ahead and put down there at a height, `low` meters too low on its
    way; before the clean-up and after it. And the places (T, J, 3) of the body."""
    middle = np.tile([0.0, -0.32, height], (LONG, 1))
    middle[:, 2] -= low * (1 - rising(LONG, 140, 160))
    rolled = holding(middle, ahead=0.8 * rising(LONG, 60, 150))
    box, hands = hands_with(rolled, at(middle[TAKEN]), TAKEN, LEFT, at(middle[-1] - [0.0, 0.8, 0.0]))
    after = posed(rolled, [], hands, [box, *things])
    return np.array([moved["box"] for moved in hands.tracks]), after.things["box"], after.places


COUNTER = block([0.0, -1.17, 0.5], [0.5, 0.2, 0.5], "counter")


@pytest.mark.parametrize("low", [0.05, 0.1, 0.2])
def test_a_box_that_is_carried_too_low_is_lifted_over_the_edge_of_what_it_is_put_on(low: float) -> None:
    before, after, places = carried_over([COUNTER], low)
    assert box_in(before, COUNTER).max() > 0.9 * low
    assert box_in(after, COUNTER).max() < TOUCH
    assert deepest(places, COUNTER, 2) < TOUCH
    assert acceleration(after[:, :3]).max() < BRISK / 2
    np.testing.assert_allclose(after[LEFT - 1], before[-1], atol=1e-2)
    np.testing.assert_allclose(after[: TAKEN + 1], before[: TAKEN + 1], atol=2e-3)
    # It goes over the edge, not round the counter's sides, and not much higher than it lies there.
    assert np.abs(after[:, 0]).max() < 0.02
    assert after[:, 2].max() < before[-1, 2] + 0.05


def test_a_box_that_touches_nothing_is_carried_as_it_was() -> None:
    low = block([0.0, -1.27, 0.3], [0.5, 0.2, 0.3], "low")
    _, alone, _ = carried_over([], 0.1)
    _, over, _ = carried_over([low], 0.1)
    np.testing.assert_array_equal(alone, over)


def squatting(height: float, ahead: float) -> tuple[Array, Array, Array]:
    """Poses (T, 7) of a box that is held over bent knees, before the clean-up and after it, and the body's places."""
    down = np.sin(np.clip((np.arange(LONG) - 40) / 160, 0, 1) * np.pi) ** 2
    middle = np.array([0.0, -0.35, 1.1]) + down[:, None] * np.array([0.0, 0.35 - ahead, height - 1.1])
    rolled = holding(middle, hips=HIPS_HEIGHT - 0.01 - 0.2 * down)
    box, hands = hands_with(rolled, at(middle[TAKEN]), TAKEN)
    after = posed(rolled, [], hands, [box])
    return np.array([moved["box"] for moved in hands.tracks]), after.things["box"], after.places


def test_a_box_in_the_knees_is_held_out_of_them() -> None:
    before, after, places = squatting(0.7, 0.24)
    assert body_in_box(places, before).max() > 0.03
    assert body_in_box(places, after).max() < TOUCH
    assert acceleration(after[:, :3]).max() < acceleration(before[:, :3]).max() + GENTLE


def test_a_box_that_arms_let_hang_into_the_trunk_is_held_before_it() -> None:
    near = np.sin(np.clip((np.arange(LONG) - 60) / 120, 0, 1) * np.pi) ** 2
    middle = np.tile([0.0, -0.3, 1.1], (LONG, 1))
    middle[:, 1] += 0.17 * near
    rolled = holding(middle)
    box, hands = hands_with(rolled, at(middle[TAKEN]), TAKEN)
    after = posed(rolled, [], hands, [box])
    before = np.array([moved["box"] for moved in hands.tracks])
    assert body_in_box(rolled.places, before).max() > 0.05
    assert body_in_box(after.places, after.things["box"]).max() < TOUCH
    assert acceleration(after.things["box"][:, :3]).max() < acceleration(before[:, :3]).max() + GENTLE


def test_a_box_that_is_lifted_over_an_edge_is_kept_out_of_the_face() -> None:
    high = block([0.0, -1.17, 0.7], [0.5, 0.2, 0.7], "high")
    before, after, places = carried_over([high], 0.1, height=1.5)
    assert box_in(before, high).max() > 0.08
    # Where both cannot be, head and edge share the depth.
    assert box_in(after, high).max() < 0.035
    assert body_in_box(places, after).max() < TOUCH


def free(count: int, stands: bool = False) -> Wanted:
    """Nothing around, and nothing wanted yet."""
    on = {end: np.full(count, stands) for end in ("LeftFoot", "RightFoot")}

    def nothing_given(balls: Array, _frames: Array, _thing: int, _normals: Array) -> Array:
        return np.zeros(len(balls))

    return Wanted(on, Obstacles([], [], np.ones((count, 0), dtype=bool), 0.0), nothing_given)


def standing(count: int) -> tuple[Array, Array]:
    """Joints (T, J, 3) and world rotations (T, J, 4) of a body that stands with bent arms."""
    rolled = holding(np.tile([0.0, -0.3, 1.1], (count, 1)), hips=np.full(count, HIPS_HEIGHT - 0.05))
    body = posed(rolled, [], empty_hands(), [])
    return body.places, body.rotations


def test_a_joint_comes_to_where_it_is_wanted_for_as_long_as_it_is() -> None:
    places, rotations = standing(LONG)
    wanted, joint = free(LONG, stands=True), MODEL_SKELETON.index("RightHand")
    goal = places[:, joint] + [-0.05, -0.1, -0.15]
    weight = np.zeros(LONG)
    weight[100:120] = 1.0
    wanted.at.append(At("RightHand", goal, weight))
    body = WholeBody(places, rotations, wanted)
    x = stood(body.displacements(), body.stands)
    after, _ = body.posed(x)
    assert np.linalg.norm((after - goal[:, None])[100:120, joint], axis=1).max() < 0.01
    np.testing.assert_array_equal(x[:40], 0)
    np.testing.assert_array_equal(x[-60:], 0)
    np.testing.assert_allclose(after[:, FEET], places[:, FEET], atol=2e-3)
    assert acceleration(after).max() < BRISK


def test_displacements_that_are_known_are_taken_over() -> None:
    places, rotations = standing(LONG)
    wanted = free(LONG, stands=True)
    lower = np.tile([0.0, 0.0, -0.06], (LONG, 1))
    weight = np.zeros(LONG)
    weight[80:160] = 1.0
    wanted.by.append(By(HIPS, lower, weight))
    after, _ = (body := WholeBody(places, rotations, wanted)).posed(stood(body.displacements(), body.stands))
    np.testing.assert_allclose((after - places)[90:150, 0], lower[90:150], atol=3e-3)
    np.testing.assert_allclose(after[:, FEET], places[:, FEET], atol=2e-3)


def test_a_body_of_which_nothing_is_wanted_is_not_displaced() -> None:
    places, rotations = standing(LONG)
    assert not WholeBody(places, rotations, free(LONG)).displacements().any()


def test_displacements_of_feet_that_stand_are_constant_and_the_rest_continuous() -> None:
    rng = np.random.default_rng(2)
    x = np.cumsum(rng.normal(0, 1e-3, (COUNT, SIZE)), axis=0)
    stands = {"LeftFoot": np.zeros(COUNT, dtype=bool), "RightFoot": np.zeros(COUNT, dtype=bool)}
    for start, stop in ((30, 80), (110, 111), (150, 220)):
        stands["LeftFoot"][start:stop] = True
    stands["RightFoot"][200:] = True
    out = stood(x, stands)
    for start, stop in ((30, 80), (150, 220)):
        assert np.ptp(out[start:stop, ENDS["LeftFoot"]], axis=0).max() < 1e-12
        np.testing.assert_allclose(out[start, ENDS["LeftFoot"]], x[start:stop, ENDS["LeftFoot"]].mean(axis=0))
    assert np.ptp(out[200:, ENDS["RightFoot"]], axis=0).max() < 1e-12
    assert np.abs(np.diff(out, axis=0)).max() < 0.01
    others = [column for column in range(SIZE) if not any(s.start <= column < s.stop for s in
              (ENDS["LeftFoot"], ENDS["RightFoot"]))]  # fmt: skip
    np.testing.assert_array_equal(out[:, others], x[:, others])
    assert not stood(np.zeros((COUNT, SIZE)), stands).any()


def test_the_same_room_turned_gives_the_same_motion_turned() -> None:
    places, post = swaying()
    after = posed(record(places), [], empty_hands(post), [post])
    turn = from_yaw(np.array(0.7))
    turned = record(rotate(np.broadcast_to(turn, (*places.shape[:2], 4)), places))
    turned.rotations[:] = turn
    turned.root[:, 3] += 0.7
    pose = np.concatenate((rotate(turn, np.asarray(post.poses)[0, :3]), multiply(turn, np.asarray(post.poses)[0, 3:])))
    there = Collider("post", post.cuboids, pose[None])
    again = posed(turned, [], empty_hands(there), [there])
    np.testing.assert_allclose(again.places, rotate(np.broadcast_to(turn, (*places.shape[:2], 4)), after.places),
                               atol=2e-3)  # fmt: skip
