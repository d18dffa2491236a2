# SPDX-License-Identifier: GPL-3.0-or-later
"""Maps bones to joints by names: those of the usual rigs and, through the importers' tables, of any other.

Control rigs (Rigify's generated rig, Auto-Rig Pro) contain each limb several times; their controls are known by name.
All other rigs are left with a single bone for each part of the body once twist, finger, face and helper bones are set
aside, and are then read as a motion file's skeleton is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..motion.bone_names import SIDES, find_bones, is_end_of_bone
from .joints import RigInfo

CARRIER = "Root"
"""Key of the bone that moves the whole body where that is not the hips bone (Rigify's torso); not a joint."""


@dataclass(frozen=True)
class Named:
    """A mapping by names. bones: joint -> bone's name. convention: the naming convention, "" for none in particular."""

    bones: dict[str, str]
    convention: str


_SIGNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Mixamo", ("leftupleg", "lefttoebase", "lefthandindex1")),
    ("Unreal", ("spine01", "clavicleL", "upperarml", "balll")),
    ("Character Creator", ("ccbasehip", "ccbasewaist")),
    ("Daz Genesis 9", ("lmetatarsals", "lupperarm")),
    ("Daz", ("lthighbend", "lshldrbend")),
    ("MakeHuman", ("upperleg01l", "lowerleg01l")),
    ("VRM", ("jbipchips", "jbiplupperleg")),
    ("Unity humanoid", ("leftupperleg", "leftlowerleg", "upperchest")),
    ("Auto-Rig Pro", ("thighstretchl", "legstretchl")),
    ("Rigify", ("thighl", "shinl", "upperarml", "spine001")),
    ("SMPL", ("lhip", "lknee", "spine3")),
    ("CMU as BVH", ("lhipjoint", "leftupleg", "lowerback")),
    ("CMU", ("lhipjoint", "lfemur", "lhumerus")),
    ("LaFAN", ("leftupleg", "lefttoe", "spine2")),
    ("Biped", ("bip01lthigh",)),
)
"""Each naming convention and the bones that tell it apart, in names without prefix, case and punctuation."""

_ASIDE = re.compile(
    r"twist|roll|(^|[^a-z])(ik|pole|vis|mch|org|wgt|ctrl|tweak|target|socket|helper|corrective)([^a-z]|$)|sharebone"
    r"|finger|thumb|index|middle|ring\d|pinky|pinkie|metatarsal|metacarpal|carpal|palm|bigtoe|jaw|eye|brow|breast|pectoral"
    r"|muscle|weapon|attach|stretch_?twist|hipjoint",
    re.IGNORECASE,
)
"""Names of twist, finger, face and helper bones."""
_NECK = re.compile(r"neck", re.IGNORECASE)
_HALF = re.compile(
    r"(thigh|shin|upper_?arm|forearm|upperleg|lowerleg|upperarm|lowerarm).*?(\.\d{3}|0[2-9]([._-]\w)?)$", re.I
)
"""Names of the second half of a limb's bone."""


def by_names(rig: RigInfo) -> Named | None:
    """Map joints by the names of `rig` as far as these tell; None where they tell nothing."""
    for convention, controls in (
        ("Rigify controls", _rigify_controls(rig)),
        ("Auto-Rig Pro controls", _arp_controls(rig)),
    ):
        if controls is not None:
            return Named(controls, convention)
    kept = [i for i, name in enumerate(rig.names) if not is_helper(name)]
    names = [rig.names[i] for i in kept]
    parents = _parents_among(rig, kept)
    found = find_bones(names, parents)
    if not found:
        return None
    bones = {joint: rig.names[kept[i]] for joint, i in found.items()}
    if "Head" not in bones:
        bones |= _crown(rig, bones)
    return Named(bones, convention_of(rig))


def convention_of(rig: RigInfo) -> str:
    """The bones' naming convention, "" for an unknown one."""
    plain = {re.sub(r"[^a-z0-9]", "", re.split(r"[:|]", name)[-1].lower()) for name in rig.names}
    plain |= {re.sub(r"^(mixamorig\d*|def)", "", name) for name in plain}
    return next((convention for convention, signs in _SIGNS if all(sign.lower() in plain for sign in signs)), "")


def is_helper(name: str) -> bool:
    """Whether the bone is a twist, finger, face or helper bone, or the second half of a limb's bone."""
    bare = re.split(r"[:|]", name)[-1]
    return bool((_ASIDE.search(bare) and not _NECK.search(bare)) or _HALF.search(bare) or is_end_of_bone(bare))


def _parents_among(rig: RigInfo, kept: Sequence[int]) -> list[int]:
    """Index, among the kept bones, of the nearest kept ancestor of each kept bone."""
    position = {bone: i for i, bone in enumerate(kept)}
    out = []
    for bone in kept:
        above = rig.parents[bone]
        while above >= 0 and above not in position:
            above = rig.parents[above]
        out.append(position.get(above, -1))
    return out


def _crown(rig: RigInfo, bones: Mapping[str, str]) -> dict[str, str]:
    """Neck and head where they are named as the spine is (Rigify): the chain that continues from the chest."""
    chest = bones.get("Spine2", "")
    stem = re.sub(r"[\d._]+$", "", chest)
    chain, bone = [], chest
    while bone and stem:
        bone = next((c for c in rig.children(bone) if re.sub(r"[\d._]+$", "", c) == stem), "")
        chain += [bone] if bone else []
    if not chain:
        return {}
    return {"Head": chain[-1]} | ({"Neck": chain[0]} if len(chain) > 1 else {})


# Control rigs


def _rigify_controls(rig: RigInfo) -> dict[str, str] | None:
    """The forward-kinematic controls of a rig that Rigify generated; DEF, ORG and MCH bones are never keyed."""
    spine = sorted(name for name in rig.names if re.fullmatch(r"spine_fk(\.\d{3})?", name))
    if "torso" not in rig.numbers or not spine or not any(name.startswith("ORG-") for name in rig.names):
        return None
    wanted = {CARRIER: "torso", "Hips": spine[0], "Neck": "neck", "Head": "head"} | spread(spine[1:])
    limbs = {
        "UpLeg": "thigh_fk",
        "Leg": "shin_fk",
        "Foot": "foot_fk",
        "Toe": "toe_fk",
        "Shoulder": "shoulder",
        "Arm": "upper_arm_fk",
        "ForeArm": "forearm_fk",
        "Hand": "hand_fk",
    }
    if "toe_fk.L" not in rig.numbers:
        limbs["Toe"] = "toe"  # older versions' rigs have a single toe control
    wanted |= {side + part: f"{stem}.{side[0]}" for side in SIDES for part, stem in limbs.items()}
    return {joint: bone for joint, bone in wanted.items() if bone in rig.numbers}


def _arp_controls(rig: RigInfo) -> dict[str, str] | None:
    """The forward-kinematic controls of an Auto-Rig Pro rig."""
    if "c_root_master.x" not in rig.numbers or "c_thigh_fk.l" not in rig.numbers:
        return None
    spine = sorted(name for name in rig.names if re.fullmatch(r"c_spine_\d\d\.x", name))
    wanted = {CARRIER: "c_root_master.x", "Hips": "c_root.x", "Neck": "c_neck.x", "Head": "c_head.x"} | spread(spine)
    limbs = {
        "UpLeg": "c_thigh_fk",
        "Leg": "c_leg_fk",
        "Foot": "c_foot_fk",
        "Toe": "c_toes_fk",
        "Shoulder": "c_shoulder",
        "Arm": "c_arm_fk",
        "ForeArm": "c_forearm_fk",
        "Hand": "c_hand_fk",
    }
    wanted |= {side + part: f"{stem}.{side[0].lower()}" for side in SIDES for part, stem in limbs.items()}
    return {joint: bone for joint, bone in wanted.items() if bone in rig.numbers}


def spread(chain: Sequence[str]) -> dict[str, str]:
    """Map the model's spine joints to a chain of spine bones from the hips up; the last bone carries the shoulders."""
    if not chain:
        return {}
    if len(chain) == 1:
        return {"Spine2": chain[0]}
    if len(chain) == 2:
        return {"Spine": chain[0], "Spine2": chain[1]}
    return {"Spine": chain[0], "Spine1": chain[round((len(chain) - 1) / 2 + 0.1)], "Spine2": chain[-1]}
