# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion onto rigs of any rest pose, roll, proportion and scale, and back."""

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.errors import RigError
from nsm_blender.evaluation import rig_figures
from nsm_blender.evaluation.rig_figures import LIMBS, Sizes
from nsm_blender.motion.rotations import (
    conjugate,
    from_matrix,
    multiply,
    rotate,
    slerp,
)
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from nsm_blender.rigging.mapping import propose
from nsm_blender.rigging.retarget import Retargeter

from . import rigs
from .retargets import (
    INDEX,
    degrees,
    drift,
    joint_places,
    limb_errors,
    places_of,
    retargeter,
    rotation_degrees,
    sole_heights,
    walking,
)


@pytest.fixture(scope="module")
def walk():
    return walking()


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


@pytest.mark.parametrize("name", [*rigs.ODD, "Mixamo", "child", "VRM"])
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


@pytest.mark.parametrize("name", ["child", "Unreal 5", "Rigify metarig"])
def test_feet_that_stand_are_where_the_rig_says_they_belong(name, walk):
    rig = rigs.rig(name)
    target = retargeter(rig)
    world = rig.info.world
    rest = rig.info.heads @ world[:3, :3].T + world[:3, 3]
    sizes = Sizes.of({joint: rest[rig.info.numbers[bone]] for joint, bone in rig.truth.items()})
    figures = rig_figures.feet(places_of(rig, target.to_rig(walk)), walk, sizes)
    assert figures["feet_cm_max"] < 1.0


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
