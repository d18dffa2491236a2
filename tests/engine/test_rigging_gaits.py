# SPDX-License-Identifier: GPL-3.0-or-later
"""Gaits, kicks, pivots, seats and held things on rigs of other proportions."""

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.evaluation.rig_figures import LIMBS, round_trip
from nsm_blender.evaluation.rig_motions import motions
from nsm_blender.evaluation.rigs import made_anew
from nsm_blender.motion.rotations import (
    conjugate,
    from_axis_angle,
    from_yaw,
    multiply,
    rotate,
)
from nsm_blender.motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON
from nsm_blender.rigging.mapping import Mapping, Match
from nsm_blender.rigging.retarget import Retargeter

from . import rigs
from .retargets import (
    INDEX,
    degrees,
    drift,
    joint_places,
    limb_errors,
    performed,
    pivoting,
    places_of,
    retargeter,
    walking,
)


@pytest.fixture(scope="module")
def walk():
    return walking()


@pytest.fixture(scope="module")
def holding(walk):
    """The walk with both elbows bent by 70 degrees, so that the hands can go nearer and further."""
    local = MODEL_SKELETON.local_rotations(walk.rotations.astype(float))
    for side, sign in rigs.SIDES:
        local[:, INDEX(side + "ForeArm")] = from_axis_angle(np.array([0.0, 0.0, -sign]), np.asarray(np.radians(70.0)))
    positions, rotations = MODEL_SKELETON.forward(walk.positions[:, 0].astype(float), local)
    return replace(walk, positions=positions.astype(np.float32), rotations=rotations.astype(np.float32))


@pytest.mark.parametrize("name", ["Unreal 5", "Rigify metarig", "child", "giant at 0.01"])
@pytest.mark.parametrize(
    "motion",
    [
        {"speed": 2.8, "duty": 0.4, "cycle": 0.7},
        {"speed": 0.8, "toward": np.pi / 2},
        {"speed": 0.6, "hips": 0.75},
        {"speed": 0.0, "stepping": None},
    ],
    ids=["run", "sidestep", "crouch", "stand"],
)
def test_other_gaits_fare_no_worse(name, motion):
    rig, gait = rigs.rig(name), performed(seconds=2.0, **motion)
    target = retargeter(rig)
    out = target.to_rig(gait)
    places = places_of(rig, out)
    errors = [degrees(places[b] - places[a], joint_places(gait, b) - joint_places(gait, a)) for a, b in LIMBS]
    assert np.mean(errors) < 1.0
    assert np.max(errors) < 3.0
    for column, joint in enumerate(CONTACT_JOINTS):
        assert drift(places[joint], gait.contacts[:, column], gait.fps) < 1.0
    back = target.from_rig(out.hips, out.rotations, gait.fps)
    assert np.linalg.norm(back.positions - gait.positions, axis=-1).max() < 0.005


@pytest.mark.parametrize("name", ["Mixamo", "Unreal 5", "Rigify metarig"])
def test_hands_that_hold_something_are_at_the_leg_scaled_place(name, holding):
    rig = rigs.rig(name)
    target = retargeter(rig)
    hands = np.zeros((len(holding), 2))
    hands[60:] = 1.0
    places, free = (places_of(rig, target.to_rig(holding, h)) for h in (hands, None))
    for side, _ in rigs.SIDES:
        chain = [free[side + part][0] for part in ("Arm", "ForeArm", "Hand")]
        goal = target.targets(holding)[:, INDEX(side + "Hand")]
        reach = np.linalg.norm(np.diff(chain, axis=0), axis=1).sum()
        near = np.linalg.norm(goal - free[side + "Arm"], axis=1) < 0.99 * reach
        assert near[60:].mean() > 0.9
        assert np.linalg.norm(places[side + "Hand"] - goal, axis=1)[60:][near[60:]].max() < 0.03
        np.testing.assert_allclose(places[side + "Hand"][:60], free[side + "Hand"][:60], atol=1e-9)


def test_contacts_are_found_on_the_way_back(walk):
    target = retargeter(rigs.rig("Unreal 5"))
    there = target.to_rig(walk)
    back = target.from_rig(there.hips, there.rotations, there.fps)
    assert back.contact_names == CONTACT_JOINTS
    assert (back.contacts == walk.contacts).mean() > 0.9


def test_one_frame_is_enough(walk):
    target = retargeter(rigs.rig("Mixamo"))
    still = replace(
        walk,
        **{
            part: getattr(walk, part)[:1] for part in ("positions", "rotations", "root", "contacts", "phase", "actions")
        },
    )
    out = target.to_rig(still)
    back = target.from_rig(out.hips, out.rotations, out.fps)
    np.testing.assert_allclose(back.positions, still.positions, atol=0.005)


def test_rotations_are_continuous(walk):
    """Keys flip nowhere, however far the figure turns."""
    spin = from_yaw(np.linspace(0, 4 * np.pi, len(walk)))[:, None]
    spun = replace(
        walk,
        positions=rotate(np.broadcast_to(spin, walk.rotations.shape), walk.positions.astype(float)),
        rotations=multiply(np.broadcast_to(spin, walk.rotations.shape), walk.rotations.astype(float)),
    )
    out = retargeter(rigs.rig("Unreal 5")).to_rig(spun)
    assert np.sum(out.rotations[1:] * out.rotations[:-1], axis=-1).min() > 0.9


@pytest.mark.parametrize("name", ["child", "Rigify metarig"])
def test_a_kick_turns_where_the_engine_has_it(name):
    """At its highest the foot is slow for a moment; it stands nowhere there."""
    standing = performed(0.0, seconds=1.2, stepping=None)
    count = len(standing)
    local = MODEL_SKELETON.local_rotations(standing.rotations.astype(float))
    raised = np.radians(95) * np.exp(-(((np.arange(count) - count / 2) / standing.fps / 0.12) ** 2))
    axis = np.broadcast_to(np.array([1.0, 0.0, 0.0]), (count, 3))
    local[:, INDEX("RightUpLeg")] = multiply(from_axis_angle(axis, -raised), local[:, INDEX("RightUpLeg")])
    local[:, INDEX("RightLeg")] = multiply(from_axis_angle(axis, 0.6 * raised), local[:, INDEX("RightLeg")])
    positions, rotations = MODEL_SKELETON.forward(standing.positions[:, 0].astype(float), local)
    kick = replace(standing, positions=positions.astype(np.float32), rotations=rotations.astype(np.float32))
    rig = rigs.rig(name)
    target = retargeter(rig)
    out = target.to_rig(kick)
    places = places_of(rig, out)
    for upper, lower in (("RightUpLeg", "RightLeg"), ("RightLeg", "RightFoot")):
        away = degrees(places[lower] - places[upper], joint_places(kick, lower) - joint_places(kick, upper))
        assert away.max() < 3.0
    back = target.from_rig(out.hips, out.rotations, out.fps)
    assert np.linalg.norm(back.positions - kick.positions, axis=-1).max() < 0.005


@pytest.mark.parametrize("name", ["child", "Rigify metarig", "VRM with long legs", "Mixamo with long feet"])
@pytest.mark.parametrize(("turn", "seconds"), [(30, 0.4), (90, 1.5), (180, 0.6)])
def test_a_character_that_pivots_on_one_foot_stands_where_the_engine_does(name, turn, seconds):
    rig, pivot = rigs.rig(name), pivoting(turn, seconds)
    target = retargeter(rig)
    out = target.to_rig(pivot)
    places = places_of(rig, out)
    errors = [degrees(places[b] - places[a], joint_places(pivot, b) - joint_places(pivot, a)) for a, b in LIMBS]
    assert np.mean(errors) < 1.0
    assert np.max(errors) < 3.0
    rest = rig.info.heads * rig.info.size
    apart = rest[rig.info.numbers[rig.truth["LeftUpLeg"]]] - rest[rig.info.numbers[rig.truth["RightUpLeg"]]]
    wider = abs(np.linalg.norm(apart) / 2 - target.scale * MODEL_SKELETON.offsets[INDEX("LeftUpLeg"), 0])
    gap = (places["RightFoot"] - target.targets(pivot)[:, INDEX("RightFoot")])[:, :2]
    assert np.linalg.norm(gap, axis=1).max() < 0.01 + wider
    back = target.from_rig(out.hips, out.rotations, out.fps)
    assert np.linalg.norm(back.positions - pivot.positions, axis=-1).max() < 0.005


@pytest.mark.parametrize("name", ["child", "Rigify metarig"])
def test_knees_that_bend_beside_the_thighs_own_axis_keep_their_plane(name, walk):
    """Thighs of recorded motion are twisted against the knee; a leg that is solved again must not swing for that."""
    local = MODEL_SKELETON.local_rotations(walk.rotations.astype(float))
    for side, sign in rigs.SIDES:
        twist = from_axis_angle(np.array([0.0, 0.0, 1.0]), np.asarray(0.3 * sign))
        local[:, INDEX(side + "UpLeg")] = multiply(local[:, INDEX(side + "UpLeg")], twist)
        local[:, INDEX(side + "Leg")] = multiply(conjugate(twist), local[:, INDEX(side + "Leg")])
    positions, rotations = MODEL_SKELETON.forward(walk.positions[:, 0].astype(float), local)
    twisted = replace(walk, positions=positions.astype(np.float32), rotations=rotations.astype(np.float32))
    rig = rigs.rig(name)
    target = retargeter(rig)
    out = target.to_rig(twisted)
    places = places_of(rig, out)
    for upper, lower in (pair for pair in LIMBS if "Leg" in pair[0]):
        away = degrees(places[lower] - places[upper], joint_places(twisted, lower) - joint_places(twisted, upper))
        assert away.max() < 3.0
    back = target.from_rig(out.hips, out.rotations, out.fps)
    assert np.linalg.norm(back.positions - twisted.positions, axis=-1).max() < 0.005


@pytest.mark.parametrize("name", ["Rigify metarig", "Unreal 5", "child"])
def test_a_sitters_hips_stay_on_the_seat_and_the_feet_on_the_floor(name):
    """A seat is at the scene's height, whatever the shin's share of the leg is."""
    rest = performed(0.0, seconds=1.0, stepping=None)
    turns = np.zeros((len(rest), 22, 4))
    turns[..., 0] = 1.0
    for side, _ in rigs.SIDES:
        turns[:, INDEX(side + "UpLeg")] = from_axis_angle(np.array([1.0, 0.0, 0.0]), np.asarray(np.radians(-85.0)))
    ankle = MODEL_SKELETON.positions(np.zeros((1, 3)), turns[:1])[0, INDEX("LeftFoot"), 2]
    hips = np.tile([0.0, 0.0, ANKLE_HEIGHT - ankle], (len(rest), 1))
    places = MODEL_SKELETON.positions(hips, turns).astype(np.float32)
    sitting = replace(rest, positions=places, rotations=turns.astype(np.float32))
    rig = rigs.rig(name)
    target = retargeter(rig)
    found = places_of(rig, target.to_rig(sitting))
    seat = (found["LeftUpLeg"] + found["RightUpLeg"]) / 2
    wanted = target.targets(sitting)[:, [INDEX("LeftUpLeg"), INDEX("RightUpLeg")]].mean(axis=1)
    assert np.linalg.norm(seat - wanted, axis=1).max() < 0.01
    for side, _ in rigs.SIDES:
        low = found[side + "Foot"][:, 2] - target.targets(sitting)[:, INDEX(side + "Foot"), 2]
        assert np.abs(low - target.ankle_lift).max() < 0.01


@pytest.fixture(scope="module")
def moves():
    """Standing, walking, turning, crouching and jogging by the PFNN, with gestures."""
    return motions()["moves"]


@pytest.mark.parametrize("name", made_anew(12, 17_000))
def test_feet_that_leave_the_ground_slowly_come_back_from_rigs_of_any_proportions(moves, name):
    """A foot's stance is told from its motion alone, on the way there as on the way back."""
    rig = rigs.build(name, made_anew(12, 17_000)[name])
    truth = Mapping({joint: Match(bone, 1.0, "") for joint, bone in rig.truth.items()})
    target = Retargeter(rig.info, truth)
    out = target.to_rig(moves)
    assert limb_errors(rig, places_of(rig, out), moves).max() < 3.0
    back = target.from_rig(out.hips, out.rotations, out.fps)
    found = round_trip(back, moves, rig.truth)
    assert found["round_trip_cm_max"] < 0.5
    assert found["round_trip_deg_max"] < 0.5
