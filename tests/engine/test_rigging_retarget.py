# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion onto rigs of any rest pose, roll, proportion and scale, and back."""

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.errors import RigError
from nsm_blender.evaluation import rig_figures
from nsm_blender.evaluation.rig_figures import LIMBS, Sizes
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.root import root_track
from nsm_blender.motion.rotations import (
    conjugate,
    from_axis_angle,
    from_matrix,
    from_yaw,
    multiply,
    normalize,
    rotate,
    slerp,
)
from nsm_blender.motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON
from nsm_blender.rigging.mapping import propose
from nsm_blender.rigging.retarget import Retargeter

from . import rigs
from .synthetic import perform

INDEX = MODEL_SKELETON.index


def motion_of(clip, contacts):
    positions, rotations = clip.world()
    count = len(positions)
    return Motion(
        MODEL_SKELETON.names,
        MODEL_SKELETON.parents,
        positions.astype(np.float32),
        rotations.astype(np.float32),
        root_track(positions, clip.fps).astype(np.float32),
        contacts.astype(np.float32),
        CONTACT_JOINTS,
        np.zeros(count, np.float32),
        np.zeros((count, 0), np.float32),
        (),
        clip.fps,
    )


def performed(*args, **kwargs):
    performance = perform(*args, **kwargs)
    return motion_of(performance.clip, np.repeat(performance.down, 2, axis=1))


@pytest.fixture(scope="module")
def walk():
    """Three seconds on a bend, with the trunk, arms and head turning at random, smoothly."""
    motion = performed(1.0, seconds=3.0, turn=0.3, cycle=1.0, start=(2.0, -1.0, 0.4))
    rng = np.random.default_rng(1)
    local = MODEL_SKELETON.local_rotations(motion.rotations.astype(float))
    t = np.linspace(0, 2 * np.pi, len(motion))
    for joint, name in enumerate(MODEL_SKELETON.names):
        if name in ("Hips",) or "Leg" in name or "Foot" in name or "Toe" in name:
            continue
        axis = normalize(rng.normal(size=3))
        swing = from_axis_angle(np.broadcast_to(axis, (len(t), 3)), 0.35 * np.sin(t + rng.uniform(0, 6)))
        local[:, joint] = multiply(local[:, joint], swing)
    positions, rotations = MODEL_SKELETON.forward(motion.positions[:, 0].astype(float), local)
    return replace(motion, positions=positions.astype(np.float32), rotations=rotations.astype(np.float32))


@pytest.fixture(scope="module")
def holding(walk):
    """The walk with both elbows bent by 70 degrees, so that the hands can go nearer and further."""
    local = MODEL_SKELETON.local_rotations(walk.rotations.astype(float))
    for side, sign in rigs.SIDES:
        local[:, INDEX(side + "ForeArm")] = from_axis_angle(np.array([0.0, 0.0, -sign]), np.asarray(np.radians(70.0)))
    positions, rotations = MODEL_SKELETON.forward(walk.positions[:, 0].astype(float), local)
    return replace(walk, positions=positions.astype(np.float32), rotations=rotations.astype(np.float32))


def retargeter(rig):
    return Retargeter(rig.info, propose(rig.info))


def places_of(rig, out):
    """Joint -> places (T, 3) of its bone's head."""
    return {joint: out.places[:, out.bones.index(bone)] for joint, bone in rig.truth.items()}


def joint_places(motion, joint):
    return motion.positions[:, INDEX(joint)].astype(float)


def degrees(a, b):
    """Between directions [..., 3]."""
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1)))


def rotation_degrees(a, b):
    between = multiply(a, conjugate(b))
    return np.degrees(2 * np.arctan2(np.linalg.norm(between[..., 1:], axis=-1), np.abs(between[..., 0])))


def drift(places, contacts, fps):
    """Mean speed over the ground, cm/s, where both frames are in contact."""
    on = (contacts[1:] > 0.5) & (contacts[:-1] > 0.5)
    return 100 * fps * np.linalg.norm(np.diff(places[:, :2], axis=0), axis=1)[on].mean()


@pytest.mark.parametrize("name", rigs.ALL)
def test_limbs_point_where_the_engines_do(name, walk):
    rig = rigs.rig(name)
    places = places_of(rig, retargeter(rig).to_rig(walk))
    errors = np.array(
        [
            degrees(places[lower] - places[upper], joint_places(walk, lower) - joint_places(walk, upper))
            for upper, lower in LIMBS
        ]
    )
    assert errors.mean() < 1.0
    assert errors.max() < 3.0
    assert errors[[i for i, (upper, _) in enumerate(LIMBS) if "Arm" in upper]].max() < 0.1


@pytest.mark.parametrize("name", rigs.ALL)
def test_planted_feet_stand_still_at_the_leg_scaled_place(name, walk):
    rig = rigs.rig(name)
    target = retargeter(rig)
    places = places_of(rig, target.to_rig(walk))
    rest = rig.info.heads * rig.info.size
    ends = [rest[rig.info.numbers[rig.truth[side + "UpLeg"]]] for side, _ in rigs.SIDES]
    model = MODEL_SKELETON.offsets[INDEX("LeftUpLeg"), 0]
    wider = abs(np.linalg.norm(ends[0] - ends[1]) / 2 - target.scale * model)
    for column, joint in enumerate(CONTACT_JOINTS):
        down = walk.contacts[:, column] > 0.5
        own = drift(joint_places(walk, joint), walk.contacts[:, column], walk.fps)
        assert drift(places[joint], walk.contacts[:, column], walk.fps) < target.scale * own + 1.0
        if joint.endswith("Foot"):
            gap = (places[joint] - target.targets(walk)[:, INDEX(joint)])[down]
            # The rig's own hip width and ankle height come on top.
            assert np.abs(gap[:, 2] - target.ankle_lift).max() < 0.01
            assert np.linalg.norm(gap[:, :2], axis=1).max() < 0.01 + wider


@pytest.mark.parametrize("name", rigs.ALL)
def test_the_way_to_a_rig_and_back_changes_nothing(name, walk):
    target = retargeter(rigs.rig(name))
    there = target.to_rig(walk)
    back = target.from_rig(there.hips, there.rotations, there.fps)
    assert np.linalg.norm(back.positions - walk.positions, axis=-1).max() < 0.005
    assert rotation_degrees(back.rotations.astype(float), walk.rotations.astype(float)).max() < 0.5
    np.testing.assert_allclose(back.root[:, :2], walk.root[:, :2], atol=0.005)
    assert back.fps == walk.fps


def limb_errors(rig, places, motion):
    """Degrees (L, T) between the limbs of a rig, as far as it has them, and the engine's."""
    pairs = [pair for pair in LIMBS if set(pair) <= set(rig.truth)]
    return np.array(
        [
            degrees(places[lower] - places[upper], joint_places(motion, lower) - joint_places(motion, upper))
            for upper, lower in pairs
        ]
    )


def sole_heights(rig, out):
    """Joint -> heights (T, N) of the points of its soles, moved as its bone moves."""
    info, world = rig.info, rig.info.world
    rest = {joint: world[:3, :3] @ info.heads[info.numbers[bone]] + world[:3, 3] for joint, bone in rig.truth.items()}
    heights = {}
    for joint, points in rig_figures.sole_points(rest).items():
        bone = info.bones[info.numbers[rig.truth[joint]]]
        axes = world[:3, :3] @ bone.rest / info.size
        number = out.bones.index(bone.name)
        turn = multiply(out.rotations[:, number], conjugate(from_matrix(axes)))
        away = [rotate(turn, np.broadcast_to(point - rest[joint], (len(turn), 3))) for point in points]
        heights[joint] = np.stack([out.places[:, number, 2] + way[:, 2] for way in away], axis=1)
    return heights


USUAL = [name for name in rigs.ODD if "big feet" not in name]
"""Odd rigs but the one whose hips and feet are too large for its legs to point as the engine's do."""


@pytest.mark.parametrize("name", [*USUAL, "Mixamo", "child", "VRM"])
def test_odd_rigs_stand_on_their_soles_and_point_as_the_engine_does(name, walk):
    rig = rigs.rig(name)
    out = retargeter(rig).to_rig(walk)
    soles = rig_figures.soles(sole_heights(rig, out), walk, retargeter(rig).scale)
    assert max(soles.values()) < 1.0
    errors = limb_errors(rig, places_of(rig, out), walk)
    assert errors.mean() < 1.0
    assert errors.max() < 3.0


@pytest.mark.parametrize("name", rigs.ODD)
def test_the_way_to_odd_rigs_and_back_changes_nothing(name, walk):
    rig = rigs.rig(name)
    target = retargeter(rig)
    there = target.to_rig(walk)
    back = target.from_rig(there.hips, there.rotations, there.fps)
    own = [i for i, joint in enumerate(MODEL_SKELETON.names) if joint in rig.truth]
    turned = rotation_degrees(back.rotations.astype(float), walk.rotations.astype(float))
    assert turned[:, own].max() < 0.5
    again = target.to_rig(back)
    assert np.linalg.norm(again.places - there.places, axis=-1).max() < 0.005
    assert rotation_degrees(again.rotations, there.rotations).max() < 0.5


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


def test_rolls_make_no_difference_to_how_bones_turn(walk):
    plain = rigs.build("plain", replace(rigs.RECIPES["A-pose with random rolls"], roll_seed=None))
    rolled = rigs.rig("A-pose with random rolls")
    turned = []
    for rig in (plain, rolled):
        out = retargeter(rig).to_rig(walk)
        rest = from_matrix(np.stack([rig.info.bones[rig.info.numbers[bone]].rest for bone in out.bones]))
        turned.append(multiply(out.rotations, conjugate(rest)))
    assert rotation_degrees(*turned).max() < 1e-3


def test_an_armatures_units_axes_and_place_make_no_difference(walk):
    meters = rigs.build("meters", replace(rigs.RECIPES["Mixamo"], unit=1.0, y_up=False))
    centimeters = rigs.rig("Mixamo")
    moved = centimeters.info.world.copy()
    moved[:3, 3] = 5.0, -3.0, 1.0
    expected = retargeter(meters).to_rig(walk)
    for world in (centimeters.info.world, moved):
        info = replace(centimeters.info, world=world)
        out = Retargeter(info, propose(info)).to_rig(walk)
        np.testing.assert_allclose(out.places, expected.places, atol=1e-6)


def test_places_are_where_the_rotations_put_them(walk):
    """Blender builds the pose from the hips' place and the rotations; both have to tell the same."""
    for name in ("Unreal 5", "Rigify generated"):
        rig = rigs.rig(name)
        out = retargeter(rig).to_rig(walk)
        heads = rig.info.heads * rig.info.size
        for i, bone in enumerate(out.bones[1:], 1):
            above = rig.info.above(bone, out.bones)
            j = out.bones.index(above)
            number, over = rig.info.numbers[bone], rig.info.numbers[above]
            rest = conjugate(from_matrix(rig.info.bones[over].rest))
            gap = rotate(
                multiply(out.rotations[:, j], rest), np.broadcast_to(heads[number] - heads[over], (len(walk), 3))
            )
            np.testing.assert_allclose(out.places[:, j] + gap, out.places[:, i], atol=1e-6)


def test_more_spine_bones_share_the_bend(walk):
    rig = rigs.rig("Unreal 5")
    out = retargeter(rig).to_rig(walk)

    def turn(bone):
        rest = from_matrix(rig.info.bones[rig.info.numbers[bone]].rest)
        return multiply(out.rotations[:, out.bones.index(bone)], conjugate(rest))

    half = np.full(len(walk), 0.5)
    for lower, between, upper in (("spine_01", "spine_02", "spine_03"), ("neck_01", "neck_02", "head")):
        assert rotation_degrees(turn(between), slerp(turn(lower), turn(upper), half)).max() < 0.01


def test_twist_finger_and_control_bones_are_left_alone():
    assert not [bone for bone in retargeter(rigs.rig("Unreal 5")).bones if "twist" in bone or bone.startswith("ik_")]
    assert not [b for b in retargeter(rigs.rig("Rigify generated")).bones if b.startswith(("DEF-", "ORG-", "MCH-"))]
    assert "upperleg02.L" not in retargeter(rigs.rig("MakeHuman")).bones


def test_a_folded_rest_pose_stands_up(walk):
    rig = rigs.folded()
    places = places_of(rig, retargeter(rig).to_rig(walk))
    for upper, lower in LIMBS:
        away = degrees(places[lower] - places[upper], joint_places(walk, lower) - joint_places(walk, upper))
        assert away.max() < 3.0


def test_a_rig_with_little_more_than_legs_still_walks(walk):
    rig = rigs.rig("the model")
    mapping = propose(rig.info)
    for joint in mapping.matches:
        if not any(part in joint for part in ("Hips", "UpLeg", "LeftLeg", "RightLeg", "Foot")):
            mapping = mapping.with_bone(joint, None)
    target = Retargeter(rig.info, mapping)
    assert set(target.bones) == {"Hips", *(s + p for s, _ in rigs.SIDES for p in ("UpLeg", "Leg", "Foot"))}
    out = target.to_rig(walk)
    back = target.from_rig(out.hips, out.rotations, walk.fps)
    legs = [INDEX(bone) for bone in target.bones]
    assert np.linalg.norm(back.positions[:, legs] - walk.positions[:, legs], axis=-1).max() < 0.005


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


def pivoting(degrees_, seconds):
    """A character that stands on the right foot, the left one raised, and turns on the ball of it by so much."""
    standing = performed(0.0, seconds=seconds + 2.0, stepping=None)
    t = np.arange(len(standing)) / standing.fps
    local = MODEL_SKELETON.local_rotations(standing.rotations.astype(float))
    raised = eased(np.minimum(t - 0.5, t[-1] - 0.5 - t) / 0.3)
    axis = np.broadcast_to(np.array([1.0, 0.0, 0.0]), (len(t), 3))
    for part, angle in (("UpLeg", -0.8), ("Leg", 1.2)):
        bent = from_axis_angle(axis, angle * raised)
        local[:, INDEX("Left" + part)] = multiply(bent, local[:, INDEX("Left" + part)])
    places, turns = MODEL_SKELETON.forward(standing.positions[:, 0].astype(float), local)
    yaw = from_yaw(np.radians(degrees_) * eased((t - 1.0) / seconds))[:, None]
    ball = places[:, [INDEX("RightToe")]]
    contacts = standing.contacts * np.array(["Left" not in joint for joint in CONTACT_JOINTS], np.float32)
    return replace(
        standing,
        positions=(rotate(np.broadcast_to(yaw, turns.shape), places - ball) + ball).astype(np.float32),
        rotations=multiply(np.broadcast_to(yaw, turns.shape), turns).astype(np.float32),
        contacts=contacts,
    )


def eased(t):
    t = np.clip(t, 0.0, 1.0)
    return t * t * (3 - 2 * t)


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


@pytest.mark.parametrize("name", ["child", "Unreal 5", "Rigify metarig"])
def test_feet_that_stand_are_where_the_rig_says_they_belong(name, walk):
    rig = rigs.rig(name)
    target = retargeter(rig)
    world = rig.info.world
    rest = rig.info.heads @ world[:3, :3].T + world[:3, 3]
    sizes = Sizes.of({joint: rest[rig.info.numbers[bone]] for joint, bone in rig.truth.items()})
    figures = rig_figures.feet(places_of(rig, target.to_rig(walk)), walk, sizes)
    assert figures["feet_cm_max"] < 1.0


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


def test_a_motion_of_another_skeleton_is_refused(walk):
    with pytest.raises(RigError, match="skeleton"):
        retargeter(rigs.rig("Mixamo")).to_rig(replace(walk, names=("Hips",)))


def test_a_rest_pose_without_extent_is_refused():
    info = rigs.rig("the model").info
    flat = np.diag([0.0, 1.0, 1.0])
    squashed = replace(info, bones=tuple(replace(b, head=flat @ b.head, tail=flat @ b.tail) for b in info.bones))
    mapping = propose(info)
    with pytest.raises(RigError):
        Retargeter(squashed, mapping)


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
