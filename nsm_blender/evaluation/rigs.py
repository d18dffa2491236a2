# SPDX-License-Identifier: GPL-3.0-or-later
"""Test rigs as plain data, in the conventions that animators meet: names, rest pose, rolls, units, proportions.

They are built on the model skeleton by rule, so which bone is which joint is known. Rigify's own rigs are not built
here: of them only the truth is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from ..motion.rotations import Array, from_axis_angle, rotate, to_matrix
from ..motion.skeleton import MODEL_SKELETON, Skeleton
from ..rigging.joints import BoneInfo, RigInfo

NAMES = MODEL_SKELETON.names
SIDES = (("Left", 1.0), ("Right", -1.0))
LIMBS = ("UpLeg", "Leg", "Foot", "Toe", "Shoulder", "Arm", "ForeArm", "Hand")
TRUNK = ("Hips", "Spine", "Spine1", "Spine2", "Neck", "Head")
X, Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
_CHILD = {"Hips": "Spine1", "Spine": "Spine1", "Spine1": "Spine2", "Spine2": "Neck", "Neck": "Head"} | {
    side + upper: side + lower
    for side, _ in SIDES
    for upper, lower in (("UpLeg", "Leg"), ("Leg", "Foot"), ("Foot", "Toe"), ("Shoulder", "Arm"), ("Arm", "ForeArm"),
                         ("ForeArm", "Hand"))
}  # fmt: skip
_TIP = {"Head": [0, 0, 0.18], "Toe": [0, -0.07, 0], "Hand": [0.09, 0, 0]}
Y_UP = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
"""World matrix of an armature whose own up axis is y, as most FBX files have it."""


Extra: TypeAlias = tuple[str, str | None, tuple[float, float, float], float]
"""A bone that is no joint: its name, the bone above, its place from that one's head, its length."""


@dataclass(frozen=True, eq=False)
class Rig:
    """A rig and the truth about it. truth: joint -> bone."""

    info: RigInfo
    truth: dict[str, str]


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a rig differs from the model.

    names: joint -> its bones from head to child, the first is the joint's. turns: joint -> world rotation (4,) of the
    bone in the rest pose. sizes: joint -> factor on the way from its parent. unit: meters per armature unit.
    size: factor on the whole. extra: bones that are no joints. hangs: joint -> the joint whose bone carries its bone.
    top: a bone on the ground above all. tails: "chain" ends bones where the next begin; "up" points them all up and
    "random" anywhere, as importers do with files that have no tails.
    """

    names: dict[str, list[str]]
    turns: dict[str, Array] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    unit: float = 1.0
    y_up: bool = False
    roll_seed: int | None = None
    extra: tuple[Extra, ...] = ()
    size: float = 1.0
    hangs: dict[str, str] = field(default_factory=dict)
    top: str = ""
    tails: str = "chain"


def named(trunk: str, limbs: str, limb: str, prefix: str = "") -> dict[str, list[str]]:
    """Bones of each joint, from words in the order of TRUNK and LIMBS: a plus is between a joint's bones.

    limb: how a limb's name is made of its word {n}, of {side} and its first letter, {S} or {s}. prefix: of all names.
    """

    def bones(words: str, form: str) -> list[str]:
        return [prefix + form.format(n=word) for word in words.split("+")]

    out = {joint: bones(words, "{n}") for joint, words in zip(TRUNK, trunk.split(), strict=True)}
    for side, _ in SIDES:
        form = limb.format(n="{n}", side=side, S=side[0], s=side[0].lower())
        out |= {side + part: bones(words, form) for part, words in zip(LIMBS, limbs.split(), strict=True)}
    return out


def arms_down(degrees: float) -> dict[str, Array]:
    """Turns of arms that hang so far below the horizontal."""
    return {
        side + part: from_axis_angle(Y, -sign * np.radians(degrees))
        for side, sign in SIDES
        for part in ("Arm", "ForeArm", "Hand")
    }


def legs_apart(degrees: float) -> dict[str, Array]:
    """Turns of legs that stand so far aside."""
    return {
        side + part: from_axis_angle(Y, -sign * np.radians(degrees))
        for side, sign in SIDES
        for part in ("UpLeg", "Leg")
    }


def build(name: str, recipe: Recipe) -> Rig:
    """The rig of a recipe, standing on the floor at the armature's origin."""
    sizes = np.array([recipe.sizes.get(j, 1.0) for j in NAMES])[:, None]
    skeleton = Skeleton(NAMES, MODEL_SKELETON.parents, MODEL_SKELETON.offsets * sizes)
    turns = np.array([recipe.turns.get(j, [1.0, 0.0, 0.0, 0.0]) for j in NAMES])
    places = skeleton.positions(np.zeros(3), turns)
    floor = min(places[NAMES.index(f"{s}Toe"), 2] for s, _ in SIDES) - 0.02
    places = (places - [0, 0, floor]) * recipe.size
    rng = np.random.default_rng(recipe.roll_seed or 0)
    bones: dict[str, BoneInfo] = {}
    if recipe.top:
        bones[recipe.top] = BoneInfo(recipe.top, None, np.zeros(3), np.array([0.0, -0.1, 0.0]), X)
    for joint, parent in zip(NAMES, MODEL_SKELETON.parents, strict=True):
        if joint not in recipe.names:
            continue
        above = NAMES[parent] if parent >= 0 else None
        while above is not None and above not in recipe.names:
            above = NAMES[MODEL_SKELETON.parents[NAMES.index(above)]] if above != "Hips" else None
        above = recipe.hangs.get(joint, above)
        head = places[NAMES.index(joint)]
        tail = places[NAMES.index(_CHILD[joint])] if joint in _CHILD else head + _tip(joint, turns) * recipe.size
        links = recipe.names[joint]
        before = recipe.top or None if above is None else recipe.names[above][-1]
        for i, link in enumerate(links):
            a, b = (head + (tail - head) * (i + step) / len(links) for step in (0, 1))
            roll = rng.uniform(-np.pi, np.pi) if recipe.roll_seed is not None else 0.0
            if recipe.tails != "chain":
                way = np.array([0.0, 0.0, 1.0]) if recipe.tails == "up" else rng.normal(size=3)
                b = a + 0.1 * recipe.size * way / np.linalg.norm(way)
            bones[link] = BoneInfo(link, before, a, b, _x_axis(b - a, roll))
            before = link
    for extra, above, place, length in recipe.extra:
        base = bones[above].head if above else np.zeros(3)
        head = base + np.array(place)
        bones[extra] = BoneInfo(extra, above, head, head + np.array([0.0, 0.0, length]), X, deform=False)
    world = np.diag([recipe.unit] * 3 + [1.0])
    turn = np.eye(3)
    if recipe.y_up:
        world, turn = Y_UP @ world, Y_UP[:3, :3].T
    placed = [
        BoneInfo(b.name, b.parent, turn @ b.head / recipe.unit, turn @ b.tail / recipe.unit, turn @ b.x_axis)
        for b in _parents_first(bones)
    ]
    return Rig(RigInfo(name, tuple(placed), world), {joint: links[0] for joint, links in recipe.names.items()})


def _tip(joint: str, turns: Array) -> Array:
    part = joint.removeprefix("Left").removeprefix("Right")
    tip = np.array(_TIP.get(part, [0, 0, 0.05]), dtype=float)
    if joint.startswith("Right") and part == "Hand":
        tip[0] *= -1
    return rotate(turns[NAMES.index(joint)], tip)


def _x_axis(along: Array, roll: float) -> Array:
    y = along / np.linalg.norm(along)
    x = np.cross(y, [0.0, 1.0, 0.0]) if abs(y[1]) < 0.9 else np.cross(y, [0.0, 0.0, 1.0])
    x /= np.linalg.norm(x)
    return to_matrix(from_axis_angle(y, np.asarray(roll))) @ x


def _parents_first(bones: dict[str, BoneInfo]) -> list[BoneInfo]:
    out: list[BoneInfo] = []
    waiting = list(bones.values())
    while waiting:
        placed = {b.name for b in out}
        ready = [b for b in waiting if b.parent is None or b.parent in placed]
        out += ready
        waiting = [b for b in waiting if b not in ready]
    return out


def rigify_truth(kind: str) -> dict[str, str]:
    """Joint -> bone of Rigify's human "metarig" or of the rig "generated" from it."""
    if kind == "metarig":
        trunk = "spine spine.001 spine.002 spine.003 spine.004 spine.006"
        limbs, carrier = "thigh shin foot toe shoulder upper_arm forearm hand", {}
    else:
        trunk = "spine_fk spine_fk.001 spine_fk.002 spine_fk.003 neck head"
        limbs = "thigh_fk shin_fk foot_fk toe_fk shoulder upper_arm_fk forearm_fk hand_fk"
        carrier = {"Root": "torso"}
    return carrier | {joint: bone for joint, (bone,) in named(trunk, limbs, "{n}.{S}").items()}


def _fingers(hand: str, names: list[str], outward: float) -> tuple[Extra, ...]:
    return tuple((n, hand, (0.08 * outward, 0.02 * (i - 1.5), 0.0), 0.03) for i, n in enumerate(names))


_SAME = " ".join(LIMBS)
_MIXAMO_LIMBS = _SAME.replace("Toe", "ToeBase")
_MIXAMO = named(" ".join(TRUNK), _MIXAMO_LIMBS, "{side}{n}")
_UE = named(
    "pelvis spine_01+spine_02 spine_03+spine_04 spine_05 neck_01+neck_02 head",
    "thigh calf foot ball clavicle upperarm lowerarm hand",
    "{n}_{s}",
)
_UE_EXTRA = tuple(
    extra
    for s, sign in (("l", 1.0), ("r", -1.0))
    for extra in (
        (f"thigh_twist_01_{s}", f"thigh_{s}", (0, 0, -0.2), 0.05),
        (f"upperarm_twist_01_{s}", f"upperarm_{s}", (0.1 * sign, 0, -0.1), 0.05),
        (f"lowerarm_twist_01_{s}", f"lowerarm_{s}", (0.1 * sign, 0, -0.1), 0.05),
        *_fingers(f"hand_{s}", [f"{f}_01_{s}" for f in ("thumb", "index", "middle", "pinky")], sign),
    )
)
_UE_IK = (("ik_foot_root", None, (0, 0, 0), 0.1), ("ik_hand_root", None, (0, 0, 0), 0.1))
_MPFB = named(
    "root spine05+spine04 spine03+spine02 spine01 neck01+neck02+neck03 head",
    "upperleg01+upperleg02 lowerleg01+lowerleg02 foot toe1-1 clavicle+shoulder01 upperarm01+upperarm02 "
    "lowerarm01+lowerarm02 wrist",
    "{n}.{S}",
)
_UNITY_TRUNK = "Hips Spine Chest UpperChest Neck Head"
_VRM = named(
    " ".join(f"C_{n}" for n in _UNITY_TRUNK.split()),
    "UpperLeg LowerLeg Foot ToeBase Shoulder UpperArm LowerArm Hand",
    "{S}_{n}",
    "J_Bip_",
)
_UNITY = named(_UNITY_TRUNK, "UpperLeg LowerLeg Foot Toes Shoulder UpperArm LowerArm Hand", "{side}{n}")
_CC = named(
    "Hip Waist Spine01 Spine02 NeckTwist01+NeckTwist02 Head",
    "Thigh Calf Foot ToeBase Clavicle Upperarm Forearm Hand",
    "{S}_{n}",
    "CC_Base_",
)
_CC_EXTRA = tuple(
    (f"CC_Base_{s[0]}_{part}Twist0{i}", f"CC_Base_{s[0]}_{part}", (0.0, 0.0, -0.05 * i), 0.05)
    for s, _ in SIDES
    for part in ("Thigh", "Calf", "Upperarm", "Forearm")
    for i in (1, 2)
)
_DAZ = named(
    "hip abdomenLower+abdomenUpper chestLower chestUpper neckLower+neckUpper head",
    "ThighBend+ThighTwist Shin Foot+Metatarsals Toe Collar ShldrBend+ShldrTwist ForearmBend+ForearmTwist Hand",
    "{s}{n}",
)
_SMPL = named("Pelvis Spine1 Spine2 Spine3 Neck Head", "Hip Knee Ankle Foot Collar Shoulder Elbow Wrist", "{S}_{n}")
_CMU = named(
    "root lowerback upperback thorax lowerneck+upperneck head",
    "femur tibia foot toes clavicle humerus radius wrist",
    "{s}{n}",
)
_CGSPEED = named("Hips LowerBack Spine Spine1 Neck+Neck1 Head", _MIXAMO_LIMBS, "{side}{n}")
_LAFAN = named(" ".join(TRUNK), _SAME, "{side}{n}")
_ARP = named(
    "root.x spine_01.x spine_02.x spine_03.x neck.x head.x",
    "thigh_stretch leg_stretch foot toes_01 shoulder arm_stretch forearm_stretch hand",
    "{n}.{s}",
)
_BIPED = named(
    "Pelvis Spine Spine1 Spine2 Neck Head",
    "Thigh Calf Foot Toe0 Clavicle UpperArm Forearm Hand",
    "{S} {n}",
    "Bip01 ",
)


def _prefixed(names: dict[str, list[str]], prefix: str) -> dict[str, list[str]]:
    return {joint: [prefix + n for n in links] for joint, links in names.items()}


def _nonsense() -> dict[str, list[str]]:
    order = np.random.default_rng(3).permutation(len(NAMES))
    return {joint: [f"Bone.{100 + int(i):03d}"] for joint, i in zip(NAMES, order, strict=True)}


_SHORT_LEGS = {side + part: f for side, _ in SIDES for part, f in (("Leg", 0.6), ("Foot", 0.6), ("Toe", 0.7))}
_LONG_THIGHS = {
    s + p: f for s, _ in SIDES for p, f in (("Leg", 1.06), ("Foot", 0.96), ("Toe", 1.15), ("ForeArm", 0.95))
}

RECIPES: dict[str, Recipe] = {
    "the model": Recipe(_LAFAN),
    "Mixamo": Recipe(_prefixed(_MIXAMO, "mixamorig:"), unit=0.01, y_up=True),
    "Mixamo, numbered prefix, arms at 30 degrees": Recipe(_prefixed(_MIXAMO, "mixamorig7:"), turns=arms_down(30)),
    "Mixamo without prefix": Recipe(_MIXAMO, sizes=_LONG_THIGHS),
    "Unreal 5": Recipe(
        _UE, turns=arms_down(48) | legs_apart(6), unit=0.01, extra=_UE_EXTRA + _UE_IK, sizes=_LONG_THIGHS
    ),
    "MakeHuman": Recipe(_MPFB, turns=arms_down(40) | legs_apart(4), sizes={"Neck": 1.1}),
    "VRM": Recipe(_VRM, size=0.9),
    "Unity humanoid": Recipe(_UNITY, size=1.1),
    "Character Creator": Recipe(_CC, turns=arms_down(35), unit=0.01, y_up=True, extra=_CC_EXTRA),
    "Daz": Recipe(_DAZ, turns=arms_down(45), unit=0.01, y_up=True),
    "SMPL": Recipe(_SMPL),
    "CMU": Recipe(_CMU, turns=legs_apart(20)),
    "cgspeed": Recipe(_CGSPEED, unit=0.0254 / 0.45),
    "LaFAN": Recipe(_LAFAN, unit=0.01, turns=arms_down(80)),
    "Auto-Rig Pro": Recipe(_ARP, turns=arms_down(50)),
    "Biped": Recipe(_BIPED, turns=arms_down(20)),
    "A-pose with random rolls": Recipe(_MIXAMO, turns=arms_down(55) | legs_apart(10), roll_seed=5),
    "child": Recipe(_UE, sizes=_SHORT_LEGS, turns=arms_down(45)),
    "giant at 0.01": Recipe(_prefixed(_MIXAMO, "mixamorig:"), unit=0.01, size=3.0, y_up=True),
    "nonsense names": Recipe(_nonsense(), turns=arms_down(40), roll_seed=9),
}


def _sized(**parts: float) -> dict[str, float]:
    """Factors for both sides' limbs."""
    return {side + part: factor for side, _ in SIDES for part, factor in parts.items()}


def _without(names: dict[str, list[str]], *parts: str) -> dict[str, list[str]]:
    """The names without these parts of both sides' limbs, or of the trunk."""
    return {joint: links for joint, links in names.items() if not joint.endswith(parts)}


def _leaves(names: dict[str, list[str]], prefix: str = "") -> tuple[Extra, ...]:
    """Bones that only mark where head and toes end, as many files have them."""
    toes = tuple((f"{prefix}{side}Toe_End", names[f"{side}Toe"][-1], (0.0, -0.07, 0.0), 0.05) for side, _ in SIDES)
    return ((f"{prefix}HeadTop_End", names["Head"][-1], (0.0, 0.0, 0.2), 0.2), *toes)


_ADVANCED = named(
    "Root Spine1 Spine2 Chest Neck Head",
    "Hip Knee Ankle Toes Scapula Shoulder Elbow Wrist",
    "{n}_{S}",
)
_ADVANCED = {joint: [f"{n}_M" for n in links] if joint in TRUNK else links for joint, links in _ADVANCED.items()}
_JOINTS = named(
    "hips_jnt spine_01_jnt spine_02_jnt chest_jnt neck_jnt head_jnt",
    "upLeg leg foot toe clavicle arm foreArm hand",
    "{s}_{n}_jnt",
)
_READY = named(
    "Hips Spine Spine1 Spine2 Neck Head",
    "UpLeg Leg Foot ToeBase Shoulder Arm ForeArm Hand",
    "{side}{n}",
)
_TOY = {
    side + part: factor
    for side, _ in SIDES
    for part, factor in (
        ("UpLeg", 0.6), ("Leg", 0.4), ("Foot", 0.4), ("Toe", 0.55), ("Arm", 0.7), ("ForeArm", 0.6), ("Hand", 0.6)
    )
}  # fmt: skip
"""A toy: legs of less than half the length, short arms, large feet for such legs."""
_BIG_FEET = {side + part: factor for side, _ in SIDES for part, factor in (("UpLeg", 1.0), ("Toe", 0.9))}
"""Hips as broad as a person's and feet nearly as long, on a toy's legs."""
_BIPED_TREE = {"LeftUpLeg": "Spine", "RightUpLeg": "Spine", "LeftShoulder": "Neck", "RightShoulder": "Neck"}
"""What carries legs and collar bones in 3ds Max's Biped."""
_SWORD: tuple[Extra, ...] = (
    ("sword", "RightHand", (-0.9, 0.0, 0.3), 0.3),
    ("sword_tip", "sword", (-0.6, 0.0, 0.3), 0.3),
)

ODD: dict[str, Recipe] = {
    "Biped with thighs on the spine": Recipe(_BIPED, turns=arms_down(20), hangs=_BIPED_TREE, top="Bip01"),
    "glTF without toes": Recipe(_without(_UNITY, "Toe"), tails="up"),
    "VRM without toes": Recipe(_without(_VRM, "Toe"), tails="up", size=0.9, turns=arms_down(5)),
    "glTF with tails anywhere": Recipe(_MIXAMO, tails="random", roll_seed=4, turns=arms_down(40)),
    "glTF without toes, tails anywhere": Recipe(_without(_UE, "Toe"), tails="random", roll_seed=8, turns=arms_down(45)),
    "toy": Recipe(_READY, sizes=_TOY | {"Neck": 0.8, "Head": 1.3}, turns=arms_down(30)),
    "toy with broad hips and big feet": Recipe(_READY, sizes=_TOY | _BIG_FEET, turns=arms_down(30)),
    "toy without toes as glTF": Recipe(_without(_UNITY, "Toe"), sizes=_TOY, tails="up", size=0.4, turns=arms_down(60)),
    "marked ends": Recipe(
        _prefixed(_MIXAMO, "mixamorig:"), extra=_leaves(_prefixed(_MIXAMO, "mixamorig:"), "mixamorig:")
    ),
    "Advanced Skeleton": Recipe(_ADVANCED, turns=arms_down(35), top="Main"),
    "joints of Maya": Recipe(_JOINTS, turns=arms_down(45), unit=0.01, y_up=True),
    "sword in a hand": Recipe(_READY, extra=_SWORD, turns=arms_down(10)),
    "no collar bones, no neck": Recipe(_without(_UNITY, "Shoulder", "Neck", "Spine1")),
    "pelvis above hips": Recipe(_MIXAMO, top="root", size=1.2, turns=legs_apart(8)),
}
"""Rigs that were bound or posed wrongly once, by what is odd about them."""


PROPORTIONED: dict[str, Recipe] = {
    "VRM with long legs": replace(
        RECIPES["VRM"],
        sizes=_sized(UpLeg=0.8, Leg=1.12, Foot=1.08, Toe=0.8, Arm=0.8, ForeArm=0.92, Hand=0.95)
        | {"Spine1": 0.9, "Spine2": 0.9},
    ),
    "Mixamo with long feet": replace(
        RECIPES["Mixamo"], sizes=_sized(UpLeg=0.97, Foot=1.04, Toe=1.3, ForeArm=0.95, Hand=1.05)
    ),
    "cgspeed with broad hips": replace(
        RECIPES["cgspeed"], sizes=_sized(UpLeg=1.1, Foot=0.95, Toe=1.25, ForeArm=1.05, Hand=0.9)
    ),
}
"""More rigs: most of RECIPES have the model's proportions, which hardly any real character has."""


_CONVENTIONS: tuple[tuple[str, dict[str, list[str]]], ...] = (
    ("Mixamo", _prefixed(_MIXAMO, "mixamorig:")),
    ("Unreal", _UE),
    ("MakeHuman", _MPFB),
    ("VRM", _VRM),
    ("Unity", _UNITY),
    ("Character Creator", _CC),
    ("Daz", _DAZ),
    ("SMPL", _SMPL),
    ("CMU", _CMU),
    ("Auto-Rig Pro", _ARP),
    ("Biped", _BIPED),
    ("Advanced Skeleton", _ADVANCED),
    ("Maya", _JOINTS),
    ("cgspeed", _CGSPEED),
)
"""Naming conventions that made-up rigs take in turn."""
_SPREAD = {
    "UpLeg": (0.8, 1.4),
    "Leg": (0.4, 1.2),
    "Foot": (0.4, 1.2),
    "Toe": (0.8, 1.4),
    "Shoulder": (0.8, 1.2),
    "Arm": (0.7, 1.2),
    "ForeArm": (0.6, 1.2),
    "Hand": (0.6, 1.2),
}
"""Least and largest factor on the way to each part of a limb in made-up rigs; hips and feet of short legs are small."""


def made_anew(count: int, seed: int) -> dict[str, Recipe]:
    """Rigs of random proportions, poses, sizes and tails, in the naming conventions in turn; the same for a seed."""
    rng = np.random.default_rng(seed)
    out = {}
    for number in range(count):
        convention, names = _CONVENTIONS[number % len(_CONVENTIONS)]
        leg = rng.uniform(*_SPREAD["Leg"])
        factors = {part: rng.uniform(least, most) for part, (least, most) in _SPREAD.items()}
        factors |= {part: leg * rng.uniform(0.9, 1.1) for part in ("Leg", "Foot")}
        factors |= {part: leg * factors[part] for part in ("UpLeg", "Toe")}
        sizes = {side + part: factor for side, _ in SIDES for part, factor in factors.items()}
        sizes |= {joint: rng.uniform(0.8, 1.2) for joint in ("Spine1", "Spine2", "Neck")}
        tails = ("chain", "chain", "up", "random")[number % 4]
        without_toes = rng.random() < _TOELESS
        out[f"made anew {number + 1}: {convention}{', no toes' if without_toes else ''}, tails {tails}"] = Recipe(
            _without(names, "Toe") if without_toes else names,
            turns=arms_down(rng.uniform(0, 75)) | legs_apart(rng.uniform(0, 10)),
            sizes=sizes,
            unit=float(rng.choice([1.0, 0.01])),
            y_up=bool(rng.random() < _UPRIGHT_Y),
            roll_seed=number,
            size=float(rng.uniform(0.3, 2.0)),
            hangs=_BIPED_TREE if convention == "Biped" else {},
            top=str(rng.choice(["", "Main"])),
            tails=tails,
        )
    return out


_TOELESS, _UPRIGHT_Y = 0.3, 0.4
"""Shares of made-up rigs without toes, and of those whose own up axis is y."""
ANEW = made_anew(20, 100_000)
"""The made-up rigs of the table."""
