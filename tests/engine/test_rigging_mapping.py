# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bone is which joint: proposals on the usual rigs, changes by hand, files, and reasons for refusal."""

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.errors import RigError
from nsm_blender.evaluation.rigs import made_anew
from nsm_blender.motion.rotations import from_axis_angle
from nsm_blender.rigging.geometry_mapping import by_geometry
from nsm_blender.rigging.joints import BoneInfo, RigInfo
from nsm_blender.rigging.mapping import NEEDED, Mapping, Match, propose
from nsm_blender.rigging.rest_pose import is_even

from . import rigs

LIMBS = [side + part for side, _ in rigs.SIDES for part in ("UpLeg", "Leg", "Foot", "Arm", "ForeArm", "Hand")]


def found(mapping):
    return {joint: match.bone for joint, match in mapping.matches.items()}


def with_bones(info, *bones):
    """The rig with some bones replaced by name."""
    new = {bone.name: bone for bone in bones}
    return replace(info, bones=tuple(new.get(bone.name, bone) for bone in info.bones))


def without(info, *names):
    """The rig without bones; what hung on them hangs on what is above."""

    def above(name):
        while name in names:
            name = info.bones[info.numbers[name]].parent
        return name

    return replace(info, bones=tuple(replace(b, parent=above(b.parent)) for b in info.bones if b.name not in names))


@pytest.mark.parametrize("name", rigs.ALL)
def test_every_joint_of_the_usual_rigs_is_found_without_help(name):
    rig = rigs.rig(name)
    mapping = propose(rig.info)
    assert found(mapping) == rig.truth
    assert mapping.missing() == []
    mapping.check(rig.info)


@pytest.mark.parametrize("name", [n for n in rigs.ALL if n != "Rigify generated"])
def test_limbs_hips_and_sides_are_found_from_the_rest_pose_alone(name):
    rig = rigs.rig(name)
    shape = by_geometry(rig.info)
    assert {joint: shape.get(joint) for joint in (*LIMBS, "Hips")} == {j: rig.truth[j] for j in (*LIMBS, "Hips")}


@pytest.mark.parametrize(
    "prefix", ["", "mixamorig:", "mixamorig_", "mixamorig12:", "character1:", "Armature|", "Ch03_"]
)
def test_mixamos_names_are_known_with_any_prefix(prefix):
    plain = rigs.RECIPES["Mixamo without prefix"]
    names = {joint: [prefix + bone for bone in bones] for joint, bones in plain.names.items()}
    rig = rigs.build("prefixed", replace(plain, names=names))
    assert found(propose(rig.info)) == rig.truth


SISTERS = {
    "Unreal 4": rigs.named(
        "pelvis spine_01 spine_02 spine_03 neck_01 head",
        "thigh calf foot ball clavicle upperarm lowerarm hand",
        "{n}_{s}",
    ),
    "Genesis 9": rigs.named(
        "hip spine1+spine2 spine3 spine4 neck1+neck2 head",
        "thigh shin foot toes shoulder upperarm forearm hand",
        "{s}_{n}",
    ),
    "Auto-Rig Pro controls": rigs.named(
        "root.x spine_01.x spine_02.x spine_03.x neck.x head.x",
        "thigh_fk leg_fk foot_fk toes_fk shoulder arm_fk forearm_fk hand_fk",
        "{n}.{s}",
        "c_",
    ),
}


@pytest.mark.parametrize("convention", SISTERS)
def test_sister_conventions_are_known_too(convention):
    rig = rigs.build(convention, rigs.Recipe(SISTERS[convention]))
    info, truth = rig.info, rig.truth
    if convention == "Auto-Rig Pro controls":
        hips = info.bones[0]
        master = replace(hips, name="c_root_master.x", tail=hips.head + 0.2 * rigs.Y)
        info = replace(info, bones=(master, replace(hips, parent=master.name), *info.bones[1:]))
        truth = truth | {"Root": master.name}
    assert found(propose(info)) == truth


def test_a_folded_rest_pose_is_known_by_its_names():
    rig = rigs.folded()
    assert found(propose(rig.info)) == rig.truth


def test_a_rig_that_faces_the_other_way_has_its_left_on_the_other_side():
    rig = rigs.rig("nonsense names")
    turn = np.diag([-1.0, -1.0, 1.0])
    turned = replace(
        rig.info,
        bones=tuple(replace(b, head=turn @ b.head, tail=turn @ b.tail, x_axis=turn @ b.x_axis) for b in rig.info.bones),
    )
    assert found(propose(turned)) == rig.truth


def test_names_for_the_wrong_side_give_way_to_where_the_toes_point():
    rig = rigs.rig("Mixamo without prefix")

    def swapped(name):
        return None if name is None else name.replace("Left", "#").replace("Right", "Left").replace("#", "Right")

    crossed = replace(
        rig.info, bones=tuple(replace(b, name=swapped(b.name), parent=swapped(b.parent)) for b in rig.info.bones)
    )
    mapping = propose(crossed)
    assert mapping.bone("LeftUpLeg") == "RightUpLeg"
    assert mapping.matches["LeftUpLeg"].confidence <= 0.5 < propose(rig.info).matches["LeftUpLeg"].confidence


def test_names_count_for_more_than_places_and_both_for_most():
    named = propose(rigs.rig("Unreal 5").info).matches["LeftUpLeg"]
    placed = propose(rigs.rig("nonsense names").info).matches["LeftUpLeg"]
    assert placed.confidence < named.confidence == 1.0
    assert "Unreal" in named.why
    assert named.why.endswith(".") and placed.why.endswith(".")


@pytest.mark.parametrize("name", rigs.ODD)
def test_every_joint_of_odd_rigs_is_found_and_none_is_doubted(name):
    rig = rigs.rig(name)
    mapping = propose(rig.info)
    assert found(mapping) == rig.truth
    assert min(match.confidence for match in mapping.matches.values()) >= 0.8
    mapping.check(rig.info)


@pytest.mark.parametrize("seed", range(100_001, 100_006))
def test_on_rigs_of_any_proportions_and_tails_no_joint_is_wrong_unless_it_is_doubted(seed):
    for name, recipe in made_anew(20, seed).items():
        rig = rigs.build(name, recipe)
        mapping = propose(rig.info)
        mapping.check(rig.info)
        for joint, bone in rig.truth.items():
            match = mapping.matches.get(joint)
            assert match is not None, (name, joint)
            assert match.bone == bone or match.confidence < 0.8, (name, joint)


def renamed(info, names):
    """The rig with bones under other names."""

    def new(name):
        return None if name is None else names.get(name, name)

    return replace(info, bones=tuple(replace(b, name=new(b.name), parent=new(b.parent)) for b in info.bones))


@pytest.mark.parametrize(("one", "other"), [("Leg", "UpLeg"), ("Hand", "ForeArm"), ("Foot", "Arm")])
def test_a_joint_whose_name_and_place_disagree_is_doubted(one, other):
    """Names are swapped between two bones on both sides, so wherever the names lead, it is wrong."""
    info = rigs.build("swapped", rigs.RECIPES["the model"]).info
    names = {side + a: side + b for side, _ in rigs.SIDES for a, b in ((one, other), (other, one))}
    for joint, match in propose(renamed(info, names)).matches.items():
        if match.bone != names.get(joint, joint):
            assert match.confidence < 0.8, joint


def test_a_figure_with_one_arm_and_one_collar_bone_keeps_its_other_limbs():
    rig = rigs.build("pirate", rigs.RECIPES["the model"])
    info = without(rig.info, "RightHand", "RightForeArm", "RightArm", "RightShoulder")
    mapping = propose(info)
    assert found(mapping) == {joint: bone for joint, bone in rig.truth.items() if bone in info.numbers}
    mapping.check(info)


def test_the_limbs_of_a_figure_with_one_leg_are_listed_though_it_cannot_walk():
    rig = rigs.build("pirate", rigs.RECIPES["the model"])
    info = without(rig.info, "RightToe", "RightFoot", "RightLeg", "RightUpLeg")
    mapping = propose(info)
    assert found(mapping) == {joint: bone for joint, bone in rig.truth.items() if bone in info.numbers}
    with pytest.raises(RigError, match="RightUpLeg"):
        mapping.check(info)


def test_several_topmost_bones_are_no_reason_to_stop():
    info = rigs.build("loose", rigs.RECIPES["the model"]).info
    loose = [replace(b, parent=None) if b.name in ("RightUpLeg", "LeftShoulder") else b for b in info.bones]
    with pytest.raises(RigError):
        mapping = propose(replace(info, bones=tuple(sorted(loose, key=lambda b: b.parent is not None))))
        mapping.check(info)


def test_an_animal_on_four_legs_is_refused():
    wolf = rigs.wolf()
    with pytest.raises(RigError, match="stands on four legs"):
        propose(wolf).check(wolf)


def test_what_one_side_holds_does_not_move_the_middle_nor_end_the_head():
    armed = rigs.rig("sword in a hand")
    nameless = renamed(armed.info, {name: f"b{i}" for i, name in enumerate(armed.info.names)})
    truth = {joint: f"b{armed.info.numbers[bone]}" for joint, bone in armed.truth.items()}
    shape = by_geometry(nameless)
    assert {joint: shape.get(joint) for joint in (*LIMBS, "Hips", "Head")} == {
        joint: truth[joint] for joint in (*LIMBS, "Hips", "Head")
    }


def test_rigifys_generated_rig_is_animated_by_its_controls():
    mapping = propose(rigs.rig("Rigify generated").info)
    assert not [bone for bone in found(mapping).values() if bone.startswith(("DEF-", "ORG-", "MCH-"))]


def test_a_missing_bone_is_reported_with_the_loss_it_causes():
    info = rigs.rig("Mixamo").info
    lame = propose(without(info, "mixamorig:LeftToeBase", "mixamorig:RightToeBase", "mixamorig:Neck"))
    assert lame.missing() == [
        "No bone for LeftToe and RightToe: feet stay flat where they should roll over the ball.",
        "No bone for Neck: the head turns by itself.",
    ]
    lame.check(info)


def test_a_box_is_no_figure():
    bone = BoneInfo("Bone", None, np.zeros(3), np.array([0.0, 0.0, 1.0]), rigs.X)
    info = RigInfo("Box", (bone,), np.eye(4))
    mapping = propose(info)
    assert mapping.matches == {}
    assert len([line for line in mapping.missing() if "cannot be animated" in line]) == len(NEEDED)
    with pytest.raises(RigError, match="no legs"):
        mapping.check(info)


def test_a_bone_chosen_by_hand_is_kept_and_can_be_taken_away():
    mapping = propose(rigs.rig("Mixamo").info)
    chosen = mapping.with_bone("LeftToe", "Left Shoe")
    assert chosen.matches["LeftToe"] == Match("Left Shoe", 1.0, "Chosen by hand.")
    assert list(chosen.matches) == list(mapping.matches)
    assert chosen.with_bone("LeftToe", None).bone("LeftToe") is None
    with pytest.raises(RigError, match="Tail"):
        mapping.with_bone("Tail", "Bone")


@pytest.mark.parametrize("name", ["Rigify generated", "nonsense names"])
def test_mappings_survive_a_file(name, tmp_path):
    mapping = propose(rigs.rig(name).info)
    mapping.save(tmp_path / "rig.json")
    assert Mapping.load(tmp_path / "rig.json") == mapping


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "joints": {}}',
        '{"version": 1, "joints": []}',
        '{"version": 1, "joints": {"Tail": {"bone": "a"}}}',
        '{"version": 1, "joints": {"Hips": {"bone": ""}}}',
        '{"version": 1, "joints": {"Hips": {"bone": 3}}}',
        '{"version": 1, "joints": {"Hips": {"bone": "a", "confidence": 7}}}',
        '{"version": 1, "joints": {"Hips": {"bone": "a", "confidence": NaN}}}',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_no_mapping_is_refused_by_name(text, tmp_path):
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(RigError, match=r"bad\.json"):
        Mapping.load(tmp_path / "bad.json")


def test_a_missing_or_binary_file_is_refused(tmp_path):
    with pytest.raises(RigError, match="cannot be read"):
        Mapping.load(tmp_path / "none.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RigError, match="not a mapping"):
        Mapping.load(tmp_path / "b.json")


# Reasons for refusal


def scaled(*factors):
    return np.diag([*factors, 1.0])


SHEARED = np.eye(4)
SHEARED[0, 2] = 0.4


@pytest.mark.parametrize(
    ("world", "reason"),
    [
        (scaled(-1, 1, 1), "mirrored"),
        (scaled(1, 1, -0.01), "not scaled evenly|mirrored"),
        (scaled(-1, -1, -1), "mirrored"),
        (scaled(1, 1, 2), "not scaled evenly"),
        (SHEARED, "sheared"),
        (scaled(0, 1, 1), "scale of zero"),
        (scaled(np.nan, 1, 1), "scale of zero"),
    ],
)
def test_an_armature_that_is_bent_out_of_shape_is_refused(world, reason):
    info = rigs.rig("the model").info
    with pytest.raises(RigError, match=reason):
        propose(info).check(replace(info, world=world))


def test_one_bone_for_two_joints_is_refused():
    info = rigs.rig("the model").info
    with pytest.raises(RigError, match=r"LeftToe.*chosen for|chosen for.*LeftToe"):
        propose(info).with_bone("LeftToe", "LeftFoot").check(info)


def test_a_bone_that_is_gone_is_refused():
    info = rigs.rig("the model").info
    with pytest.raises(RigError, match="no bone 'Gone'"):
        propose(info).with_bone("Head", "Gone").check(info)


def test_a_bone_without_length_is_refused():
    info = rigs.rig("the model").info
    foot = info.bones[info.numbers["LeftFoot"]]
    with pytest.raises(RigError, match=r"'LeftFoot'.*no length"):
        propose(info).check(with_bones(info, replace(foot, tail=foot.head)))


def test_a_limb_without_length_is_refused():
    info = rigs.rig("the model").info
    shin, thigh = (info.bones[info.numbers[name]] for name in ("LeftLeg", "LeftUpLeg"))
    with pytest.raises(RigError, match="begin at the same place"):
        propose(info).check(with_bones(info, replace(shin, head=thigh.head)))


def test_a_rig_without_legs_is_refused():
    info = rigs.rig("the model").info
    legless = propose(info)
    for joint in ("LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToe", "RightUpLeg", "RightLeg", "RightFoot", "RightToe"):
        legless = legless.with_bone(joint, None)
    with pytest.raises(RigError, match="no legs"):
        legless.check(info)


@pytest.mark.parametrize(("joint", "bone"), [("LeftLeg", "RightLeg"), ("LeftForeArm", "RightForeArm")])
def test_a_limb_that_is_put_together_from_two_is_refused(joint, bone):
    info = rigs.rig("the model").info
    other = propose(info).with_bone(bone, joint).with_bone(joint, bone)
    with pytest.raises(RigError, match="is not below"):
        other.check(info)


def test_a_bone_outside_the_body_is_refused():
    info = rigs.rig("Unreal 5").info
    with pytest.raises(RigError, match="is not below 'pelvis'"):
        propose(info).with_bone("LeftHand", "ik_hand_root").check(info)


def test_a_chosen_bone_stays_and_no_other_joint_keeps_it():
    found = propose(rigs.rig("Mixamo").info)
    chosen = found.with_chosen({"Spine1": "mixamorig:Spine2", "LeftToe": None})
    assert chosen.bone("Spine1") == "mixamorig:Spine2"
    assert chosen.bone("Spine2") is None
    assert chosen.bone("LeftToe") is None
    assert chosen.bone("RightToe") == found.bone("RightToe")
    assert chosen.matches["Spine1"].confidence == 1.0


def test_a_pose_out_of_a_motion_is_told_from_a_rest_pose():
    for name in ("Unreal 5", "Mixamo", "Rigify metarig"):
        info = rigs.rig(name).info
        assert is_even(info, propose(info))
    for degrees in (2, 15):  # of one that stands, and of one that walks
        posed = rigs.build("posed", replace(rigs.RECIPES["Mixamo"], turns=legs_apart_ahead(degrees)))
        assert not is_even(posed.info, propose(posed.info))


def legs_apart_ahead(degrees):
    """The left leg ahead, the right one behind."""
    turns = {}
    for side, sign in rigs.SIDES:
        turn = from_axis_angle(np.array([1.0, 0.0, 0.0]), np.asarray(-sign * np.radians(degrees)))
        turns |= {side + part: turn for part in ("UpLeg", "Leg")}
    return turns
