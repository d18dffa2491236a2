# SPDX-License-Identifier: GPL-3.0-or-later
"""Maps bones of an imported skeleton to joints of the model skeleton by names and hierarchy."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import RigError
from .imported import shared_prefix

SIDES = ("Left", "Right")

# Names of a limb's bones without side, prefix, case and punctuation, the likeliest first. The parts are
# sought in this order and a bone is taken once, which settles the names that mean different bones in
# different dialects: "LeftShoulder" is the collar bone beside "LeftArm" and the upper arm beside
# "LeftCollar"; "LeftFoot" is the ball of the foot beside "LeftAnkle".
_PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Leg", ("lowerleg", "lowleg", "loleg", "shin", "calf", "tibia", "knee", "leg")),
    ("UpLeg", ("upleg", "upperleg", "thigh", "thighbend", "femur", "hip", "leg")),
    ("Foot", ("ankle", "foot")),
    ("Toe", ("toebase", "toes", "toe", "toe0", "ball", "foot")),
    ("ForeArm", ("forearm", "forearmbend", "lowerarm", "lowarm", "loarm", "radius", "elbow")),
    ("Arm", ("upperarm", "uparm", "humerus", "shldr", "shldrbend", "arm", "shoulder")),
    ("Shoulder", ("collar", "clavicle", "collarbone", "scapula", "shoulder")),
    ("Hand", ("wrist", "hand")),
)
_CHAINS = (("UpLeg", "Leg"), ("Leg", "Foot"), ("Arm", "ForeArm"), ("ForeArm", "Hand"))
"""Parts of a limb of which the second hangs on the first."""
_HIPS = ("pelvis", "hips", "hip")
"""Names of the bone that carries the body; it may be above the bone that carries the legs (3ds Max Biped)."""
_NEEDED = ("UpLeg", "Leg", "Foot", "Arm", "ForeArm")
_PREFIXES = re.compile(r"^(mixamorig\d*|(valvebiped)?bip\d*|jbipc?|ccbase|def|[mf]avg)")
_END = re.compile(r"((?<!b)end|nub|site|effector)\d*$")  # Daz bones called ThighBend are no ends
_END_ASIDE = re.compile(r"(End|_end|Nub|Tip)([._-][LRMlrm])$")
"""Names of ends of bones with the side behind."""
_TYPE = re.compile(r"(?<=[a-z])[._-]?(jnt|joint|bind|bone|skn|skin|def)$", re.IGNORECASE)
"""What a name's end tells about the kind of bone and not about the body."""
_MIDDLE = re.compile(r"[._-][mcx]$", re.IGNORECASE)
"""A name's end that says that the bone belongs to neither side."""
_MIDDLE_FIRST = re.compile(r"(^|_)C_")
"""The same before the part's name."""
_SIDE_FORMS = {"Left": ("left", "l"), "Right": ("right", "r")}


def map_bones(names: Sequence[str], parents: Sequence[int], is_end: Sequence[bool], source: str) -> dict[str, int]:
    """Find the indices of the bones that are joints of the model skeleton.

    Hips, both legs to the ankle and both arms to the elbow are always found; Spine, Spine1, Spine2, Neck, Head, collar
    bones, hands and toes where the skeleton has them. Of a longer spine three bones are chosen, the last at the
    shoulders; of several neck bones the lowest. Raises RigError that names `source` and what is missing.
    """
    plain = _plain_names(names, is_end)
    found = _limbs(plain)
    missing = [side + part for side in SIDES for part in _NEEDED if side + part not in found]
    if missing:
        raise RigError(f"{source}: no bone was recognized as {_listed(missing)}; the skeleton has {_sample(names)}")
    tree = _Tree(parents)
    for upper, lower in _loose(found, tree):
        raise RigError(f"{source}: {names[found[lower]]} is not a descendant of {names[found[upper]]}")
    _drop_misplaced(found, tree)
    _add_trunk(found, tree, plain)
    if "Hips" not in found:
        raise RigError(f"{source}: there is no bone for the hips above {names[found['LeftUpLeg']]}")
    return found


def find_bones(names: Sequence[str], parents: Sequence[int]) -> dict[str, int]:
    """As `map_bones`, but what is missing is left out: a figure with one arm keeps its other limbs."""
    plain = _plain_names(names, [False] * len(names))
    found = _limbs(plain)
    tree = _Tree(parents)
    for _, lower in _loose(found, tree):
        found.pop(lower, None)
    _drop_misplaced(found, tree)
    _add_trunk(found, tree, plain)
    return found


def is_end_of_bone(name: str) -> bool:
    """Whether a name says that the bone only marks where another one ends."""
    bare = re.sub(r"[^a-z0-9]", "", re.split(r"[:|]", name)[-1].lower())
    return bool(_END.search(bare) or _END_ASIDE.search(name))


def _loose(found: dict[str, int], tree: _Tree) -> list[tuple[str, str]]:
    """Pairs of joints of a limb of which the lower does not hang on the upper."""
    pairs = ((side + upper, side + lower) for side in SIDES for upper, lower in _CHAINS)
    return [
        (upper, lower)
        for upper, lower in pairs
        if upper in found and lower in found and found[upper] not in tree.path(found[lower])
    ]


def _drop_misplaced(found: dict[str, int], tree: _Tree) -> None:
    """Count a bone with a fitting name in the wrong place (a helper, a twist bone) as none."""
    for side in SIDES:
        for upper, lower, doubtful in (("Shoulder", "Arm", "Shoulder"), ("Foot", "Toe", "Toe")):
            below = found.get(side + lower)
            if below is not None and found.get(side + upper) not in tree.path(below):
                found.pop(side + doubtful, None)


def _plain_names(names: Sequence[str], is_end: Sequence[bool]) -> list[str]:
    """Names in lower case without name space, punctuation and the rig's prefix; ends of bones become empty."""
    bare = [_plain_spelling(n) for n in names]
    plain = [re.sub(r"[^a-z0-9]", "", n.lower()) for n in bare]
    plain = ["" if end or is_end_of_bone(b) else n for n, b, end in zip(plain, bare, is_end, strict=True)]
    prefix = shared_prefix([n for n in plain[1:] if n])
    if len(prefix) > 2:
        plain = [n.removeprefix(prefix) for n in plain]
    return [_PREFIXES.sub("", n) for n in plain]


def _plain_spelling(name: str) -> str:
    """The name as spelled in the tables: without name space, numbers on limbs and marks of its kind and side."""
    bare = re.split(r"[:|]", name)[-1]
    bare = re.sub(r"^(CC_Base_|DEF-|c_)", "", bare)
    bare = re.sub(r"_(stretch|fk)(?=[._]|$)", "", bare)
    bare = re.sub(r"^((?:upper|lower)(?:leg|arm))01", r"\1", bare)
    bare = re.sub(r"^toe1-1", "toe", bare)
    bare = re.sub(r"^toes_01(?=\.)", "toes", bare)
    return _MIDDLE_FIRST.sub(r"\1", _MIDDLE.sub("", _TYPE.sub("", bare)))


def _limbs(plain: Sequence[str]) -> dict[str, int]:
    first: dict[str, int] = {}
    for index, name in enumerate(plain):
        first.setdefault(name, index)
    found: dict[str, int] = {}
    for side in SIDES:
        taken: set[int] = set()
        for part, words in _PARTS:
            forms = [f for word in words for s in _SIDE_FORMS[side] for f in (s + word, word + s)]
            bone = next((first[f] for f in forms if f in first and first[f] not in taken), None)
            if bone is not None:
                found[side + part] = bone
                taken.add(bone)
    return found


def _add_trunk(found: dict[str, int], tree: _Tree, plain: Sequence[str]) -> None:
    """Add hips, spine, neck and head from the branches of the tree, because their names vary too much."""
    legs = [found[side + "UpLeg"] for side in SIDES if side + "UpLeg" in found]
    if not legs:
        return
    hips = tree.common(legs[0], legs[-1]) if len(legs) > 1 else tree.parents[legs[0]]
    chest = _chest(found, tree, plain, hips)
    if hips not in tree.path(chest):
        hips = tree.common(hips, chest)
    if hips < 0 or hips in legs:
        return
    if plain[hips] not in _HIPS:
        hips = next((bone for bone in tree.path(hips)[1:] if plain[bone] in _HIPS), hips)
    found["Hips"] = hips
    spine = tree.between(hips, chest)
    if len(spine) > 2:
        spine = [spine[0], spine[round((len(spine) - 1) / 2 + 0.1)], spine[-1]]
    for name, index in zip(
        {1: ("Spine2",), 2: ("Spine", "Spine2")}.get(len(spine), ("Spine", "Spine1", "Spine2")), spine, strict=False
    ):
        found[name] = index
    head = next((i for i, n in enumerate(plain) if n == "head" and chest in tree.path(i)), None)
    if head is not None:
        found["Head"] = head
        neck = tree.between(chest, head)[:-1]
    else:
        neck = [i for i, n in enumerate(plain) if n.startswith("neck") and chest in tree.path(i)]
    if neck:
        found["Neck"] = neck[0]


def _chest(found: dict[str, int], tree: _Tree, plain: Sequence[str], hips: int) -> int:
    """The bone that carries both shoulders, or the one that there is; `hips` where there is none."""
    shoulders = [
        found[name]
        for name in (next((n for n in (s + "Shoulder", s + "Arm") if n in found), "") for s in SIDES)
        if name
    ]
    if not shoulders:
        return hips
    chest = tree.common(shoulders[0], shoulders[-1]) if len(shoulders) > 1 else tree.parents[shoulders[0]]
    while chest >= 0 and plain[chest].startswith("neck") and chest != hips:  # collar bones that hang on the neck
        chest = tree.parents[chest]
    return chest if chest >= 0 else hips


class _Tree:
    """Ancestors in a joint tree."""

    def __init__(self, parents: Sequence[int]) -> None:
        self.parents = parents

    def path(self, joint: int) -> list[int]:
        """`joint` and its ancestors, upwards."""
        out: list[int] = []
        while joint >= 0:
            out.append(joint)
            joint = self.parents[joint]
        return out

    def common(self, a: int, b: int) -> int:
        """The lowest joint above (or equal to) both, -1 when there is none."""
        above = set(self.path(b))
        return next((j for j in self.path(a) if j in above), -1)

    def between(self, top: int, bottom: int) -> list[int]:
        """The joints below `top` down to and with `bottom`."""
        path = self.path(bottom)
        return path[: path.index(top)][::-1]


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _sample(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
