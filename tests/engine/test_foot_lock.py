# SPDX-License-Identifier: GPL-3.0-or-later
"""Planted feet from frame to frame: how a contact begins and ends, and how a foot swings."""

import numpy as np
import pytest

from nsm_blender.models.nsm import FPS
from nsm_blender.motion.foot_lock import plant_feet
from nsm_blender.motion.rotations import from_axis_angle, multiply, rotate
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.motion.stances import Stances
from nsm_blender.naturalness.metrics import hinge_angles

from .synthetic import perform

RAISED = np.array([0.0, 0.0, 0.1])
HEEL, TOE = (CONTACT_JOINTS.index(name) for name in ("LeftFoot", "LeftToe"))


@pytest.fixture(scope="module")
def walk():
    """Hips (1, T, 3), rotations (1, T, J, 4) and contacts (1, T, 4) of a walk, heels leaving 5 frames before toes."""
    walk = perform(1.3, 4.0)
    places, rotations = walk.clip.world()
    down = np.repeat(walk.down, 2, axis=1)
    for heel in (0, 2):
        leaving = down[:, heel] & ~np.roll(down[:, heel], -5)
        down[:, heel] &= ~leaving
    return places[None, :, 0], rotations[None].astype(float), down[None].astype(float)


def mask(*runs, count=60):
    out = np.zeros((1, count), dtype=bool)
    for start, stop in runs:
        out[0, start:stop] = True
    return out


def test_a_value_leaves_a_stance_and_comes_to_the_next_without_a_kink():
    stances = Stances(mask((0, 20), (45, 60)))
    values = np.zeros((60, 1))
    values[:20, 0] = 0.1 * np.arange(20)
    values[45:, 0] = 3 - 0.2 * np.arange(15)
    stances.glide(values)
    bends = np.abs(np.diff(values[:, 0], 2))
    assert bends.max() < 0.1, "half of the slope inside the second stance"


def test_stances_of_a_single_frame_are_glided_between_as_well():
    stances = Stances(mask((10, 11), (30, 31)))
    values = np.zeros((60, 2))
    values[10], values[30] = 1.0, 2.0
    stances.glide(values)
    assert (np.diff(values[10:31], axis=0) >= 0).all()


def test_between_two_stances_the_higher_ground_counts_and_beyond_them_what_lies_under_the_foot():
    heights = np.linspace(0.8, 0.0, 60)
    out = Stances(mask((10, 20), (45, 50))).larger(heights)
    assert (out[20:45] == heights[19]).all()
    for part in (slice(0, 20), slice(45, 60)):
        np.testing.assert_array_equal(out[part], heights[part])


def test_a_heel_that_lands_before_its_toe_does_not_slip_when_the_toe_comes_down(walk):
    hips, rotations, contacts = walk
    heel_first = contacts.copy()
    landing = (np.diff(contacts[0, :, TOE], prepend=1) > 0).nonzero()[0]
    rolling = rotations.copy()
    for frame in landing:
        heel_first[0, frame : frame + 3, TOE] = 0
        # The foot comes down on its heel with the toe up, and rolls.
        for i, angle in enumerate((0.4, 0.3, 0.2, 0.1)):
            foot = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
            up = from_axis_angle(np.array([1.0, 0.0, 0.0]), np.array(-angle))
            rolling[0, frame + i, foot] = multiply(np.broadcast_to(up, (2, 4)), rolling[0, frame + i, foot])
    places = plant_feet(hips, rolling, heel_first)[0][0]
    heel = places[:, MODEL_SKELETON.index("LeftFoot"), :2]
    standing = (heel_first[0, 1:, HEEL] > 0) & (heel_first[0, :-1, HEEL] > 0)
    speed = np.linalg.norm(np.diff(heel, axis=0), axis=1)[standing] * 60
    assert len(landing) > 2
    assert speed.max() < 0.01


def test_a_foot_that_is_lifted_while_it_is_labeled_as_down_is_not_held_until_the_knee_snaps(walk):
    """Labels end by speed and height: a foot that is lifted slowly is five centimeters up by then."""
    hips, rotations, _ = walk
    count = 120
    standing, hips = np.repeat(rotations[:, -1:], count, axis=1), np.repeat(hips[:, -1:], count, axis=1)
    bend = 0.6 * (1 - np.cos(np.pi * np.clip((np.arange(count) - 30) / 60, 0, 1))) / 2
    for name, share in (("LeftUpLeg", -1.0), ("LeftLeg", 1.0), ("LeftFoot", 1.5), ("LeftToe", 1.5)):
        joint = MODEL_SKELETON.index(name)
        turn = from_axis_angle(np.tile([1.0, 0.0, 0.0], (count, 1)), share * bend)
        standing[0, :, joint] = multiply(turn, standing[0, :, joint])
    toe = MODEL_SKELETON.positions(hips[0], standing[0])[:, MODEL_SKELETON.index("LeftToe"), 2]
    contacts = np.ones((1, count, 4))
    contacts[0, toe > toe[0] + 0.05, :2] = 0
    assert 0 < contacts[0, :, 0].sum() < count

    _, planted = plant_feet(hips, standing, contacts)
    speed = np.degrees(np.diff(hinge_angles(planted[0])["LeftLeg"])) * FPS
    people = 88  # deg/s by which a knee's speed changes in two frames of people's rises, 99th percentile
    assert np.abs(speed[2:] - speed[:-2]).max() < people


def test_a_swinging_toe_clears_the_floor_in_the_middle_of_a_step(walk):
    hips, rotations, contacts = walk
    dragged = MODEL_SKELETON.positions(hips[0], rotations[0])[None]
    dragged[..., MODEL_SKELETON.indices(["LeftToe", "RightToe"]), 2] = TOE_HEIGHT
    places = plant_feet(hips, rotations, contacts, targets=dragged)[0][0]
    for side, toe in (("Left", 1), ("Right", 3)):
        height = places[:, MODEL_SKELETON.index(side + "Toe"), 2]
        up = np.flatnonzero(np.diff(contacts[0, :, toe], prepend=0) < 0)
        down = np.flatnonzero(np.diff(contacts[0, :, toe], prepend=0) > 0)
        steps = [(a, b) for a in up for b in down[down > a][:1]]
        assert len(steps) > 2
        assert min(height[(a + b) // 2] for a, b in steps) > TOE_HEIGHT + 0.008


def test_a_foot_that_hardly_moves_between_two_contacts_is_not_lifted(walk):
    hips, rotations, _ = walk
    still = np.repeat(hips[:, :1], 120, axis=1), np.repeat(rotations[:, :1], 120, axis=1)
    contacts = np.ones((1, 120, 4))
    contacts[0, 50:70] = 0
    toe = plant_feet(*still, contacts)[0][0, :, MODEL_SKELETON.index("LeftToe"), 2]
    assert np.ptp(toe) < 0.004


def test_feet_meet_wanted_places_at_their_own_heights(walk):
    hips, rotations, contacts = walk
    wanted = MODEL_SKELETON.positions(hips[0], rotations[0])[None] + RAISED
    places = plant_feet(hips + RAISED, rotations, contacts, targets=wanted, own_heights=True)[0]
    toes = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
    standing = contacts[0][:, [1, 3]] > 0
    off = np.linalg.norm(places[0][:, toes] - wanted[0][:, toes], axis=-1)[standing]
    assert off.max() < 0.03
    assert np.abs(np.diff(places[0][:, toes, 2], axis=0)[standing[1:] & standing[:-1]]).max() < 1e-6


def test_toes_lie_on_the_ground_while_the_heel_rises_and_are_straight_elsewhere(walk):
    hips, rotations, contacts = walk
    rolled = rotations.copy()
    foot = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
    heel_up = np.flatnonzero((contacts[0, :, TOE] > 0) & (contacts[0, :, HEEL] == 0))
    steep = from_axis_angle(np.array([1.0, 0.0, 0.0]), np.array(0.5))
    rolled[0, heel_up[:, None], foot] = multiply(np.broadcast_to(steep, (2, 4)), rolled[0, heel_up[:, None], foot])
    for ground in (None, lambda at: np.zeros(at.shape[:-1])):
        places, turned = plant_feet(hips, rolled, contacts, ground)
        tips = {}
        for joint in ("LeftFoot", "LeftToe"):
            turn = turned[0, :, MODEL_SKELETON.index(joint)]
            away = rotate(turn, np.broadcast_to([0.0, -0.07, -TOE_HEIGHT], (len(turn), 3)))
            tips[joint] = (places[0, :, MODEL_SKELETON.index("LeftToe")] + away)[:, 2]
        assert tips["LeftFoot"].min() < -0.02, "unbent, the toes would be in the ground"
        assert tips["LeftToe"].min() > -0.002
        high = places[0, :, MODEL_SKELETON.index("LeftToe"), 2] > 0.12
        np.testing.assert_allclose(turned[0, high, foot[1]], turned[0, high, foot[0]], atol=1e-6)


@pytest.mark.parametrize("slope", [0.5, -0.5])
def test_the_last_step_ends_on_the_ground_of_a_long_slope(walk, slope):
    hips, rotations, contacts = walk

    def ground(places):
        return 20 * slope + slope * -places[..., 1]

    climbing = hips.copy()
    climbing[..., 2] += ground(hips[..., :2])
    swings = contacts.copy()
    swings[0, -15:, :2] = 0
    for options in ({"ground": ground}, {"own_heights": True}):
        wanted = MODEL_SKELETON.positions(climbing[0], rotations[0])[None]
        places = plant_feet(climbing, rotations, swings, targets=wanted, **options)[0][0]
        toe = places[-15:, MODEL_SKELETON.index("LeftToe")]
        assert (toe[:, 2] - wanted[0, -15:, MODEL_SKELETON.index("LeftToe"), 2]).max() < 0.3
        if "ground" in options:
            assert (toe[:, 2] - ground(toe[:, :2]) - TOE_HEIGHT).min() > -0.015
