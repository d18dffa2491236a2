# SPDX-License-Identifier: GPL-3.0-or-later
"""The mapping from model joints to a rig's bones: proposed, corrected by hand, checked, saved and loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping as Table
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import RigError
from ..files import parse_json, read_text, write_whole
from ..motion.skeleton import MODEL_SKELETON
from .four_legs import four_feet, on_all_fours
from .geometry_mapping import by_geometry, shows_front
from .joints import RigInfo
from .naming import CARRIER, Named, by_names, is_helper

JOINTS = (*MODEL_SKELETON.names, CARRIER)
"""Keys of a mapping: the model's joints and the bone that carries the whole body."""

NEEDED = ("Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightLeg", "RightFoot")
"""Joints without which a figure cannot walk."""

_VERSION = 1
"""Version of the mapping file's format."""
_MAPPING_FILE = "a mapping file (save one with Save Mapping)"

_COSTS = {
    "Toe": "feet stay flat where they should roll over the ball",
    "Shoulder": "shoulders do not rise or reach",
    "Hand": "wrists do not bend",
    "Arm": "the arms stay as they are",
    "ForeArm": "elbows do not bend",
    "Neck": "the head turns by itself",
    "Head": "the head only follows the body",
    "Spine": "the trunk bends higher up",
    "Spine1": "the trunk bends in fewer places",
    "Spine2": "shoulders turn with the hips",
    CARRIER: "the hips carry the whole body",
}
"""Loss of quality in words for each part of the body without a bone."""


@dataclass(frozen=True)
class Match:
    """A joint's bone, the confidence (0..1), and the reason in a sentence."""

    bone: str
    confidence: float
    why: str


@dataclass(frozen=True)
class Mapping:
    """The bones of the model's joints. matches: joint's name (see JOINTS) -> Match, in the order of JOINTS."""

    matches: dict[str, Match]

    def bone(self, joint: str) -> str | None:
        """The joint's bone, or None."""
        match = self.matches.get(joint)
        return match.bone if match else None

    def with_bone(self, joint: str, bone: str | None) -> Mapping:
        """The mapping with a joint's bone chosen by hand, or with none."""
        if joint not in JOINTS:
            raise RigError(f"'{joint}' is not a joint of the model; its joints are {', '.join(JOINTS)}.")
        chosen = {joint: Match(bone, 1.0, "Chosen by hand.")} if bone else {}
        kept = {name: match for name, match in self.matches.items() if name != joint}
        return _in_order(kept | chosen)

    def with_chosen(self, chosen: Table[str, str | None]) -> Mapping:
        """The mapping with joints' bones chosen by hand, or none; proposals of a chosen bone for another joint are
        dropped."""
        taken = {bone for bone in chosen.values() if bone}
        out = Mapping({j: match for j, match in self.matches.items() if j in chosen or match.bone not in taken})
        for joint, bone in chosen.items():
            out = out.with_bone(joint, bone)
        return out

    def missing(self) -> list[str]:
        """List the joints without a bone and the loss that this causes, a sentence each; needed joints first."""
        lacking = [joint for joint in MODEL_SKELETON.names if joint not in self.matches]
        out = [without(joint) for joint in NEEDED if joint in lacking]
        listed: set[str] = set()
        for joint in lacking:
            part = _part(joint)
            if joint in NEEDED or part in listed:
                continue
            listed.add(part)
            out.append(without(*(other for other in lacking if _part(other) == part)))
        return out

    def check(self, rig: RigInfo) -> None:
        """Raise RigError with the reason why a rig cannot be animated by this mapping."""
        rig.check()
        gone = [match.bone for match in self.matches.values() if match.bone not in rig.numbers]
        if gone:
            raise RigError(f"'{rig.name}' has no bone '{gone[0]}'; bind the rig again or correct the row.")
        lacking = [joint for joint in NEEDED if joint not in self.matches]
        self.check_upright(rig)
        if lacking:
            legs = "legs" if any("Leg" in joint or "Foot" in joint for joint in lacking) else "hips"
            raise RigError(
                f"'{rig.name}' has no {legs} that can be recognized ({', '.join(lacking)}); "
                "choose their bones in the list."
            )
        self._check_shared(rig)
        bones = {match.bone for match in self.matches.values()}
        empty = rig.without_length(bones)
        if empty:
            raise RigError(f"The bone '{empty[0]}' of '{rig.name}' has no length; give it one or choose another.")
        self._check_tree(rig)
        self._check_limbs(rig)

    def check_upright(self, rig: RigInfo) -> None:
        """Raise RigError for an animal on four legs, which would be made to walk upright."""
        joints = {joint: rig.heads[rig.numbers[match.bone]] for joint, match in self.matches.items()}
        four = on_all_fours(rig, joints) if set(NEEDED) <= set(joints) else four_feet(rig)
        if four:
            raise RigError(
                f"'{rig.name}' stands on four legs; only figures that walk upright on two legs can be animated."
            )

    def _check_shared(self, rig: RigInfo) -> None:
        used: dict[str, str] = {}
        for joint, match in self.matches.items():
            if match.bone in used:
                raise RigError(
                    f"The bone '{match.bone}' of '{rig.name}' is chosen for {used[match.bone]} and for {joint}; "
                    "each joint needs a bone of its own."
                )
            used[match.bone] = joint

    def _check_tree(self, rig: RigInfo) -> None:
        top = self.bone(CARRIER) or self.bone("Hips")
        for joint, match in self.matches.items():
            if match.bone != top and top not in rig.path(match.bone):
                raise RigError(
                    f"The bone '{match.bone}' ({joint}) of '{rig.name}' is not below '{top}'; choose another."
                )
        left, right = self.matches["LeftUpLeg"].bone, self.matches["RightUpLeg"].bone
        if left in rig.path(right) or right in rig.path(left):
            raise RigError(f"One of the legs '{left}' and '{right}' of '{rig.name}' is below the other; choose others.")
        for side in ("Left", "Right"):
            for upper, lower in _BELOW:
                above, below = self.bone(side + upper), self.bone(side + lower)
                if above is not None and below is not None and above not in rig.path(below):
                    raise RigError(
                        f"The bone '{below}' ({side}{lower}) of '{rig.name}' is not below '{above}' "
                        f"({side}{upper}); choose another."
                    )

    def _check_limbs(self, rig: RigInfo) -> None:
        for side in ("Left", "Right"):
            for upper, lower in _BELOW:
                above, below = self.bone(side + upper), self.bone(side + lower)
                if above is None or below is None:
                    continue
                gap = rig.heads[rig.numbers[below]] - rig.heads[rig.numbers[above]]
                if float(np.linalg.norm(gap)) <= 1e-4 * rig.height:
                    raise RigError(
                        f"The bones '{above}' and '{below}' of '{rig.name}' begin at the same place, so the limb has "
                        "no length; choose other bones."
                    )

    def to_text(self) -> str:
        """The mapping as JSON."""
        joints = {
            joint: {"bone": match.bone, "confidence": round(match.confidence, 3), "why": match.why}
            for joint, match in self.matches.items()
        }
        return json.dumps({"version": _VERSION, "joints": joints}, indent=1, ensure_ascii=False)

    @staticmethod
    def from_text(text: str, source: str = "the mapping") -> Mapping:
        """Read what `to_text` wrote. Raises RigError that names `source`."""
        data = parse_json(text, dict, _MAPPING_FILE, source, RigError)
        joints = data.get("joints") if data.get("version") == _VERSION else None
        if not isinstance(joints, dict):
            raise RigError(f"{source}: not a mapping file of version {_VERSION}; save one with Save Mapping.")
        return _in_order({joint: _match(joint, entry, source) for joint, entry in joints.items()})

    def save(self, path: Path | str) -> None:
        """Write the mapping as a JSON file. Raises UserError when it cannot be written."""
        write_whole(path, self.to_text() + "\n")

    @staticmethod
    def load(path: Path | str) -> Mapping:
        """Read a mapping from a JSON file. Raises RigError."""
        return Mapping.from_text(read_text(path, _MAPPING_FILE, RigError), str(path))


_BELOW = (("UpLeg", "Leg"), ("Leg", "Foot"), ("Foot", "Toe"), ("Arm", "ForeArm"), ("ForeArm", "Hand"))


def without(*joints: str) -> str:
    """Describe in a sentence the loss when there is no bone for a joint, or for the same joint on both sides."""
    cost = "without it the rig cannot be animated" if joints[0] in NEEDED else _COSTS[_part(joints[0])]
    return f"No bone for {' and '.join(joints)}: {cost}."


def _part(joint: str) -> str:
    """A joint's name without its side."""
    return joint.removeprefix("Left").removeprefix("Right")


def propose(rig: RigInfo) -> Mapping:
    """Propose bones of `rig` for the model's joints: from names, and from the rest pose where names say nothing.

    Never raises: joints without a bone are left out (see Mapping.missing and Mapping.check).
    """
    shape = by_geometry(rig)
    named = by_names(rig) or Named({}, "")
    enough = all(joint in named.bones for joint in NEEDED)
    crossed = enough and shows_front(rig, shape) and _sides_crossed(named.bones, shape)
    matches: dict[str, Match] = {}
    if enough or not shape:
        for joint, bone in named.bones.items():
            matches[_other_side(joint) if crossed else joint] = _by_name(rig, joint, bone, named, shape, crossed)
    used = set(named.bones.values()) if enough else set()
    for joint, bone in shape.items():
        helper = enough and is_helper(bone)
        if joint not in matches and bone not in used and not helper and _hangs_right(rig, joint, bone, matches):
            matches[joint] = _by_place(joint, bone, named)
    if not enough and shape:
        taken = {match.bone for match in matches.values()}
        for joint, bone in named.bones.items():
            if joint not in matches and bone not in taken and _hangs_right(rig, joint, bone, matches):
                matches[joint] = _by_name(rig, joint, bone, named, shape, False)
    carrier = _carrier(rig, matches)
    if carrier is not None:
        matches[CARRIER] = Match(carrier, 0.9, "The hips are connected to it, so that it has to carry the body.")
    return _in_order(matches)


def _carrier(rig: RigInfo, matches: Table[str, Match]) -> str | None:
    """The bone that can move the whole body where the hips cannot, as they are connected to the bone above."""
    if CARRIER in matches or "Hips" not in matches:
        return None
    hips = matches["Hips"].bone
    free = (name for name in rig.path(hips) if not rig.bones[rig.numbers[name]].connected)
    carrier = next(free, hips)
    return None if carrier == hips else carrier


_RELIABLE = ("Hips", *(side + part for side in ("Left", "Right")
                       for part in ("UpLeg", "Leg", "Foot", "Arm", "ForeArm", "Hand")))  # fmt: skip
"""Joints that the rest pose alone shows."""
_TRUNK = ("Spine", "Spine1", "Spine2", "Neck")
"""Joints that names and rest pose may count differently along the same bones."""
_SAME_PLACE = 1e-3
"""Share of the height within which two bones begin at one place: a control, and the bone that it moves."""
_NEAR_HIPS = 0.1
"""Share of the height within which a bone above the legs' carrier is the hips as well."""


def _by_name(rig: RigInfo, joint: str, bone: str, named: Named, shape: Table[str, str], crossed: bool) -> Match:
    style = f"as in {named.convention}" if named.convention else "as is usual"
    if crossed:
        return Match(bone, 0.5, "Its name says the other side, but the toes point so that it lies on this one.")
    confidence = 0.95 if named.convention else 0.85
    if shape.get(joint) == bone or (joint in shape and _beside(rig, bone, shape[joint], _SAME_PLACE)):
        return Match(bone, 1.0 if named.convention else 0.95, f"Named {style}, and it lies where it should.")
    if joint == "Hips" and _also_hips(rig, bone, shape):
        return Match(bone, confidence, f"Named {style}, and it carries the bone that carries the legs.")
    place = next((other for other, found in shape.items() if found == bone), None)
    if joint in _TRUNK and (place is None or place in (*_TRUNK, "Hips")):
        return Match(bone, confidence, f"Named {style}.")
    if place is not None:
        return Match(bone, 0.5, f"Named {style}, though by its place it could be {place}.")
    if joint in _RELIABLE and joint in shape and not is_helper(shape[joint]):
        return Match(bone, 0.6, f"Named {style}, though '{shape[joint]}' lies where this joint should.")
    return Match(bone, confidence, f"Named {style}.")


def _also_hips(rig: RigInfo, bone: str, shape: Table[str, str]) -> bool:
    """Whether a bone above the one that carries the legs lies beside it."""
    carrier = shape.get("Hips")
    return carrier is not None and bone in rig.path(carrier) and _beside(rig, bone, carrier, _NEAR_HIPS)


def _beside(rig: RigInfo, bone: str, other: str, near: float) -> bool:
    """Whether two bones begin within `near`, a share of the rig's height, of each other."""
    gap = rig.heads[rig.numbers[bone]] - rig.heads[rig.numbers[other]]
    return float(np.linalg.norm(gap)) < near * rig.height


def _by_place(joint: str, bone: str, named: Named) -> Match:
    called = next((other for other, found in named.bones.items() if found == bone), None)
    if called == joint:
        return Match(bone, 0.85, "Its name says so, and it lies where this joint should.")
    if called is not None:
        return Match(bone, 0.3, f"It lies where this joint should, though its name says {called}.")
    return Match(bone, 0.6, "Its name says nothing; it lies where this joint should in the rest pose.")


def _hangs_right(rig: RigInfo, joint: str, bone: str, matches: Table[str, Match]) -> bool:
    """Whether a bone may become a joint beside the joints that were found: it hangs on the hips, and in its limb on
    the bones above and not on those below."""
    hips = matches.get("Hips")
    if joint != "Hips" and hips is not None and hips.bone not in rig.path(bone)[1:]:
        return False
    for upper, lower in _BELOW:
        for side in ("Left", "Right"):
            above, below = matches.get(side + upper), matches.get(side + lower)
            if joint == side + lower and above is not None and above.bone not in rig.path(bone)[1:]:
                return False
            if joint == side + upper and below is not None and bone not in rig.path(below.bone)[1:]:
                return False
    return True


def _sides_crossed(bones: Table[str, str], shape: Table[str, str]) -> bool:
    """Whether both legs are named for the side on which they do not lie."""
    parts = ("UpLeg", "Leg", "Foot")
    return all(
        bones.get("Left" + part) == shape.get("Right" + part, "")
        and bones.get("Right" + part) == shape.get("Left" + part, "")
        for part in parts
    )


def _other_side(joint: str) -> str:
    if joint.startswith("Left"):
        return "Right" + joint.removeprefix("Left")
    return "Left" + joint.removeprefix("Right") if joint.startswith("Right") else joint


def _in_order(matches: Table[str, Match]) -> Mapping:
    return Mapping({joint: matches[joint] for joint in JOINTS if joint in matches})


def _match(joint: str, entry: object, source: str) -> Match:
    if joint not in JOINTS:
        raise RigError(f"{source}: '{joint}' is not a joint of the model.")
    bone = entry.get("bone") if isinstance(entry, dict) else entry
    if not isinstance(bone, str) or not bone:
        raise RigError(f"{source}: {joint} has no bone's name.")
    confidence = entry.get("confidence", 1.0) if isinstance(entry, dict) else 1.0
    why = entry.get("why", "") if isinstance(entry, dict) else ""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise RigError(f"{source}: the confidence of {joint} is no number from 0 to 1.")
    return Match(bone, float(confidence), str(why))
