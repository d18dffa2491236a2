# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingers of any rig: which bones they are, about which axis they close, and relaxed, flat and gripping hands."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..motion.bone_names import is_end_of_bone
from ..motion.filters import gaussian
from ..motion.motion import Motion
from ..motion.rotations import Array, from_axis_angle
from .joints import RigInfo

FingerPose = Literal["RELAXED", "FLAT", "GRIP"]

_FINGERS = (
    ("thumb", r"thumb"),
    ("index", r"index|pointer|forefinger"),
    ("middle", r"middle|mid(?![a-z])"),
    ("ring", r"ring"),
    ("pinky", r"pinky|pinkie|little"),
)
"""Fingers, from the thumb on, and how conventions call them."""
_NUMBERED = re.compile(r"finger_?([0-4])", re.IGNORECASE)
"""Names that count the fingers from the thumb on (3ds Max Biped)."""
_NONE = re.compile(
    r"carpal|palm|master|toe|foot|\.\d{3}$|(^|[^a-z])(mch|org|vis|drv|tweak|ik)([^a-z]|$)", re.IGNORECASE
)
"""Names of bones in the palm, and of helpers that have a finger's name."""
_PHALANGES = 3
"""Bones of a finger that bend; a fourth marks the tip."""
_NEAR = 1e-3
"""Share of the rig's height within which two bones begin at the same place, as a hand's control and its copies do."""
_OPPOSED = 0.6
"""How far before the palm the thumb closes, as a share of the way from the wrist to the knuckles."""
_SETTLING = 0.1
"""Seconds: standard deviation of the time in which a hand closes about what it takes."""
_MOST_BENT = np.radians(100)
"""Radians of a joint in the rest pose that are believed; more is no finger's."""


@dataclass(frozen=True, eq=False)
class _Hand:
    """Degrees by which the phalanges are bent, from the knuckle on. thumb: more than in the rest pose. first, last: of
    the index finger and of the little finger; those between lie between."""

    thumb: tuple[float, ...]
    first: tuple[float, ...]
    last: tuple[float, ...]


_POSES: dict[str, _Hand] = {
    "RELAXED": _Hand((0.0, 6.0, 10.0), (18.0, 26.0, 14.0), (32.0, 36.0, 20.0)),
    "FLAT": _Hand((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "GRIP": _Hand((18.0, 25.0, 25.0), (52.0, 62.0, 38.0), (58.0, 66.0, 40.0)),
}
"""The hands: at rest as a hanging hand shows them, more bent toward the little finger; flat; about a handle."""


@dataclass(frozen=True, eq=False)
class FingerBone:
    """A bone of a finger. hand: LeftHand or RightHand. finger: 0 is the thumb, 1 the index finger, 4 the little
    finger. phalanx: 0 at the knuckle. axis: (3,) in the bone's own rest axes, about which it closes. bent: radians
    that it is bent in the rest pose, by which a flat hand opens it.
    """

    name: str
    hand: str
    finger: int
    phalanx: int
    axis: Array
    bent: float

    def angle(self, pose: FingerPose) -> float:
        """Radians about the axis from the rest pose."""
        hand, share = _POSES[pose], (self.finger - 1) / 3
        if self.finger == 0:
            return float(np.radians(hand.thumb[self.phalanx]))
        wanted = (1 - share) * hand.first[self.phalanx] + share * hand.last[self.phalanx]
        return float(np.radians(wanted)) - self.bent


def find_fingers(rig: RigInfo, hands: Mapping[str, str], leave: Collection[str] = ()) -> tuple[FingerBone, ...]:
    """The bones of a rig's fingers, found by name below its hands, and how each closes, by the shape of the palm.

    hands: LeftHand and RightHand -> bone, as far as there are any. leave: bones that cannot be turned. A hand of which
    the palm cannot be told, as with less than two fingers, has none.
    """
    out: list[FingerBone] = []
    for hand in ("LeftHand", "RightHand"):
        if hand in hands:
            out += _of_hand(rig, hand, hands[hand], leave)
    return tuple(out)


def finger_rotations(bones: Sequence[FingerBone], pose: FingerPose, motion: Motion) -> dict[str, Array]:
    """Bone -> its own rotation (T, 4) from the rest pose, in the bone's axes.

    A hand grips while the motion says that it holds something: by spans of seconds in its meta's "holds", as a bake of
    action keys has them, or by the contacts LeftHand and RightHand.
    """
    out = {}
    for bone in bones:
        angles = np.full(len(motion), bone.angle(pose))
        holds = _holding(motion, bone.hand)
        if holds.any():
            angles += gaussian(holds, _SETTLING * motion.fps) * (bone.angle("GRIP") - angles)
        out[bone.name] = from_axis_angle(np.broadcast_to(bone.axis, (len(motion), 3)), angles)
    return out


def _holding(motion: Motion, hand: str) -> Array:
    """1 in the frames (T,) in which a hand holds something, else 0."""
    out = np.zeros(len(motion))
    if hand in motion.contact_names:
        out[motion.contacts[:, motion.contact_names.index(hand)] > 0.5] = 1.0
    seconds = np.arange(len(motion)) / motion.fps
    for start, end in motion.meta.get("holds", {}).get(hand, []):
        out[(seconds >= start) & (seconds <= end)] = 1.0
    return out


def _of_hand(rig: RigInfo, hand: str, bone: str, leave: Collection[str]) -> list[FingerBone]:
    chains = _chains(rig, bone, leave)
    palm = _palm(rig, hand, bone, chains)
    if palm is None:
        return []
    along, out_of_palm = palm
    found = []
    for finger, chain in chains.items():
        ways = _ways(rig, chain, along)
        axis = (
            _thumb_axis(rig, bone, chains, ways, out_of_palm) if finger == 0 else _unit(np.cross(ways[0], out_of_palm))
        )
        if axis is None:
            continue
        before = along
        for phalanx, name in enumerate(chain[:_PHALANGES]):
            bent = 0.0 if finger == 0 else _bend(before, ways[phalanx], axis)
            own = rig.bones[rig.numbers[name]].rest.T @ axis
            found.append(FingerBone(name, hand, finger, phalanx, own, bent))
            before = ways[phalanx]
    return found


def _finger(name: str) -> int | None:
    """Which finger a bone's name tells."""
    bare = re.split(r"[:|]", name)[-1]
    if _NONE.search(bare):
        return None
    numbered = _NUMBERED.search(bare)
    if numbered:
        return int(numbered[1])
    return next((i for i, (_, words) in enumerate(_FINGERS) if re.search(words, bare, re.IGNORECASE)), None)


def _chains(rig: RigInfo, hand: str, leave: Collection[str]) -> dict[int, list[str]]:
    """Finger -> its bones from the knuckle on, each below the one before; with the bone that marks the tip."""
    place = rig.heads[rig.numbers[hand]]
    near = _NEAR * rig.height
    wrists = {name for name, head in zip(rig.names, rig.heads, strict=True) if np.linalg.norm(head - place) <= near}
    chains: dict[int, list[str]] = {}
    below = [(rig.path(name), name) for name in rig.names if name not in leave and _finger(name) is not None]
    for path, name in sorted(below, key=lambda one: len(one[0])):
        finger = _finger(name)
        if finger is None or name in wrists or not wrists.intersection(path):
            continue
        chain = chains.setdefault(finger, [])
        if len(chain) <= _PHALANGES and (not chain or chain[-1] in path):
            chain.append(name)
    bending = {finger: [n for n in chain if not is_end_of_bone(n)] for finger, chain in chains.items()}
    return {finger: chains[finger] for finger in sorted(chains) if bending[finger]}


def _ways(rig: RigInfo, chain: list[str], along: Array) -> list[Array]:
    """Directions (3,) of a finger's bones: to the next one; of the last one its own, where tails mean something."""
    heads = [rig.heads[rig.numbers[name]] for name in chain]
    out: list[Array] = []
    for number, name in enumerate(chain):
        way = heads[number + 1] - heads[number] if number + 1 < len(chain) else None
        if way is None and rig.tails_tell:
            way = rig.tails[rig.numbers[name]] - heads[number]
        found = None if way is None else _unit(way)
        out.append((out[-1] if out else along) if found is None else found)
    return out


def _palm(rig: RigInfo, hand: str, bone: str, chains: Mapping[int, list[str]]) -> tuple[Array, Array] | None:
    """Directions (3,) along a hand and out of its palm; None where these cannot be told.

    Seen along the fingers with the palm down, the index finger of a left hand is on the right of the little finger.
    """
    knuckles = {finger: rig.heads[rig.numbers[chain[0]]] for finger, chain in chains.items()}
    fingers = [finger for finger in knuckles if finger > 0]
    if not fingers or len(knuckles) < 2:
        return None
    along = _unit(np.mean([knuckles[f] for f in fingers], axis=0) - rig.heads[rig.numbers[bone]])
    if along is None:
        return None
    across = knuckles[min(knuckles if len(fingers) < 2 else fingers)] - knuckles[max(fingers)]
    side = 1.0 if hand == "LeftHand" else -1.0
    out_of_palm = _unit(side * np.cross(along, across))
    return None if out_of_palm is None else (along, out_of_palm)


def _thumb_axis(
    rig: RigInfo, hand: str, chains: Mapping[int, list[str]], ways: list[Array], out_of_palm: Array
) -> Array | None:
    """About which the thumb closes: toward a place before the knuckles of the first two fingers."""
    wrist = rig.heads[rig.numbers[hand]]
    knuckles = np.mean([rig.heads[rig.numbers[chains[f][0]]] for f in sorted(set(chains) - {0})[:2]], axis=0)
    target = knuckles + _OPPOSED * float(np.linalg.norm(knuckles - wrist)) * out_of_palm
    return _unit(np.cross(ways[-1], target - rig.heads[rig.numbers[chains[0][0]]]))


def _bend(before: Array, after: Array, axis: Array) -> float:
    """Radians about the axis from one direction to the next, as far as they lie across it."""
    a: Array = before - axis * (before @ axis)
    b: Array = after - axis * (after @ axis)
    angle = float(np.arctan2(axis @ np.cross(a, b), a @ b))
    return angle if abs(angle) < _MOST_BENT else 0.0


def _unit(way: Array) -> Array | None:
    """The direction of a vector; None where it has no length."""
    length = float(np.linalg.norm(way))
    return None if length < 1e-9 else way / length
