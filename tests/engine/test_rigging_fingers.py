# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingers found on rigs of several conventions, and hands that close toward the palm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender import BoneInfo, Motion, RigInfo, find_fingers, finger_rotations
from nsm_blender.motion.recorded import recorded
from nsm_blender.motion.rotations import from_axis_angle, to_matrix
from nsm_blender.motion.skeleton import MODEL_SKELETON

FINGERS = ("thumb", "index", "middle", "ring", "pinky")
NAMES = {
    "Mixamo": ("mixamorig:{Side}Hand", "mixamorig:{Side}Hand{Finger}{n}", 1),
    "Unreal": ("hand_{s}", "{finger}_0{n}_{s}", 1),
    "Rigify": ("hand.{S}", "{rigify}.0{n}.{S}", 1),
    "Biped": ("Bip01 {S} Hand", "Bip01 {S} Finger{i}{b}", 0),
    "VRM": ("J_Bip_{S}_Hand", "J_Bip_{S}_{Vrm}{n}", 1),
}
"""Name of a hand and of a finger's bones in a convention."""


def hand_rig(convention: str, turn: np.ndarray, fingers: tuple[str, ...] = FINGERS, roll: float = 0.7) -> RigInfo:
    """Two hands of a T-pose, palms down, fingers bent a little, in an armature that is turned by `turn` (3, 3)."""
    hand_name, finger_name, first = NAMES[convention]
    bones: list[BoneInfo] = []

    def add(name, parent, head, tail):
        head, tail = turn @ np.array(head), turn @ np.array(tail)
        along = (tail - head) / np.linalg.norm(tail - head)
        x = np.cross(along, turn @ np.array([0.3, 0.5, 0.8]))
        x = to_matrix(from_axis_angle(along, np.asarray(roll))) @ (x / np.linalg.norm(x))
        bones.append(BoneInfo(name, parent, head, tail, x))

    add("root", None, (0, 0, 0), (0, 0, 1.7))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        words = {"Side": side, "S": side[0], "s": side[0].lower()}
        hand = hand_name.format(**words)
        add(hand, "root", (sign * 0.7, 0, 1.4), (sign * 0.78, 0, 1.4))
        for i, finger in enumerate(FINGERS):
            if finger not in fingers:
                continue
            parent = hand
            at = np.array([sign * (0.72 if i == 0 else 0.79), -0.04 + 0.02 * i, 1.4])
            way = np.array([sign * 0.7, -0.7, -0.1]) if i == 0 else np.array([sign, 0, 0.0])
            for n in range(3):
                name = finger_name.format(
                    **words, Finger=finger.capitalize(), finger=finger, n=n + first, i=i, b="" if n == 0 else n,
                    rigify=finger if i == 0 else f"f_{finger}", Vrm="Little" if i == 4 else finger.capitalize(),
                )  # fmt: skip
                way = way + np.array([0, 0, -0.15]) if i else way
                tip = at + 0.03 * way / np.linalg.norm(way)
                add(name, parent, at, tip)
                parent, at = name, tip
    return RigInfo("Hands", tuple(bones), np.eye(4))


def hands(convention: str) -> dict[str, str]:
    name = NAMES[convention][0]
    return {f"{side}Hand": name.format(Side=side, S=side[0], s=side[0].lower()) for side in ("Left", "Right")}


def still(frames: int = 3) -> Motion:
    rotations = np.tile([1.0, 0, 0, 0], (frames, len(MODEL_SKELETON), 1))
    return recorded(np.zeros((frames, 3)), rotations, 30.0, "still")


def tips(rig: RigInfo, rotations: dict[str, np.ndarray], frame: int = 0) -> dict[str, np.ndarray]:
    """Direction (3,) of each bone when each finger's bone is turned about its own axes."""
    posed: dict[str, np.ndarray] = {}
    for bone in rig.bones:
        above = np.eye(3) if bone.parent is None else posed[bone.parent]
        own = to_matrix(rotations[bone.name][frame]) if bone.name in rotations else np.eye(3)
        posed[bone.name] = above @ (bone.rest @ own @ bone.rest.T)
    return {bone.name: posed[bone.name] @ bone.rest[:, 1] for bone in rig.bones}


TURNS = {"Z up": np.eye(3), "Y up": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("convention", NAMES)
def test_fingers_are_found_and_close_toward_the_palm(convention, turn):
    rig, down = hand_rig(convention, TURNS[turn]), TURNS[turn] @ np.array([0.0, 0, -1])
    found = find_fingers(rig, hands(convention))
    assert len(found) == 30
    assert sorted({(bone.finger, bone.phalanx) for bone in found}) == [(f, p) for f in range(5) for p in range(3)]
    relaxed, grip = (tips(rig, finger_rotations(found, pose, still())) for pose in ("RELAXED", "GRIP"))
    for bone in found:
        if bone.finger and bone.phalanx == 0:
            assert 0.15 < relaxed[bone.name] @ down < 0.7 < grip[bone.name] @ down
    ends = [bone for bone in found if bone.finger and bone.phalanx == 2]
    back = {"LeftHand": TURNS[turn] @ np.array([1.0, 0, 0]), "RightHand": TURNS[turn] @ np.array([-1.0, 0, 0])}
    assert all(grip[bone.name] @ back[bone.hand] < -0.5 for bone in ends), "a fist's fingertips point to the wrist"


@pytest.mark.parametrize("convention", NAMES)
def test_a_flat_hand_is_straight_whatever_the_rest_pose(convention):
    rig = hand_rig(convention, np.eye(3))
    found = find_fingers(rig, hands(convention))
    flat = tips(rig, finger_rotations(found, "FLAT", still()))
    out = {"LeftHand": np.array([1.0, 0, 0]), "RightHand": np.array([-1.0, 0, 0])}
    for bone in found:
        if bone.finger:
            assert flat[bone.name] @ out[bone.hand] > 0.99, bone.name


def test_the_thumb_closes_over_the_palm():
    rig = hand_rig("Mixamo", np.eye(3))
    found = find_fingers(rig, hands("Mixamo"))
    flat, grip = (tips(rig, finger_rotations(found, pose, still())) for pose in ("FLAT", "GRIP"))
    for bone in found:
        if bone.finger == 0 and bone.phalanx == 2:
            assert grip[bone.name][2] < flat[bone.name][2] - 0.3, "down, to the palm's side"
            assert grip[bone.name][1] > flat[bone.name][1] + 0.3, "toward the other fingers"


def test_a_hand_grips_while_it_holds_something_and_only_then():
    rig = hand_rig("Mixamo", np.eye(3))
    found = find_fingers(rig, hands("Mixamo"))
    motion = still(90)
    contacts = np.zeros((90, 1), dtype=np.float32)
    contacts[30:60] = 1
    motion = replace(motion, contacts=contacts, contact_names=("RightHand",))
    turned = finger_rotations(found, "RELAXED", motion)
    index = {bone.hand: bone for bone in found if (bone.finger, bone.phalanx) == (1, 0)}
    angles = {hand: 2 * np.arctan2(turned[b.name][:, 1:] @ b.axis, turned[b.name][:, 0]) for hand, b in index.items()}
    right, left = angles["RightHand"], angles["LeftHand"]
    assert np.ptp(left) < 1e-9
    assert right[[0, 89]] == pytest.approx(index["RightHand"].angle("RELAXED"), abs=1e-6)
    assert right[45] == pytest.approx(index["RightHand"].angle("GRIP"), abs=1e-3)
    assert np.abs(np.diff(right)).max() < 0.15, "it closes over some frames"


def test_a_hand_of_three_fingers_and_one_without_any():
    rig = hand_rig("Unreal", np.eye(3), ("thumb", "index", "pinky"))
    assert len(find_fingers(rig, hands("Unreal"))) == 18
    assert find_fingers(hand_rig("Unreal", np.eye(3), ()), hands("Unreal")) == ()
    assert find_fingers(hand_rig("Unreal", np.eye(3), ("middle",)), hands("Unreal")) == ()


def test_what_cannot_be_turned_and_what_only_sounds_like_a_finger_is_left_alone():
    rig = hand_rig("Unreal", np.eye(3))
    found = find_fingers(rig, hands("Unreal"), leave=["ring_01_l", "ring_02_l", "ring_03_l"])
    assert len(found) == 27
    extra = [
        BoneInfo(name, "root", np.array([0, 0, 1.0]), np.array([0, 0, 1.1]), np.array([1.0, 0, 0]))
        for name in ("ring_01_chain", "index_finger_prop", "middle_spine")
    ]
    other = RigInfo("Hands", (*rig.bones, *extra), np.eye(4))
    assert {bone.name for bone in find_fingers(other, hands("Unreal"))} == {
        bone.name for bone in find_fingers(rig, hands("Unreal"))
    }
