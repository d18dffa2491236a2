# SPDX-License-Identifier: GPL-3.0-or-later
"""A rig's rest pose brought to the model's: facing -Y, arms to the sides, legs down, feet ahead.

The result is constant for a rig: the keyed bones and the joints that drive them, the orientation of each bone's own
axes in the T-pose, and the bones' skeleton in meters. Trunk, neck and collar bones keep their rest pose; arms and legs
are turned the shortest way, feet about the vertical so that a flat foot stays flat.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..errors import RigError
from ..motion.retarget import leg_length
from ..motion.rotations import (
    Array,
    between,
    from_axis_angle,
    from_matrix,
    from_yaw,
    multiply,
    normalize,
    rotate,
    snapped_to_axes,
)
from ..motion.skeleton import MODEL_SKELETON, TOE_HEIGHT, Skeleton
from .joints import RigInfo
from .mapping import Mapping
from .naming import CARRIER

SIDES = (("Left", 1.0), ("Right", -1.0))
"""Sides of the body and their signs along X."""

_DOWN, _AHEAD = np.array([0.0, 0.0, -1.0]), np.array([0.0, -1.0, 0.0])
_NONE = np.array([1.0, 0.0, 0.0, 0.0])
"""The quaternion without rotation."""
_LEAST_BEND, _MOST_TWIST = 0.1, np.radians(35)
"""Sine of a limb's bend from which it determines the bending plane, and largest twist in radians by which that plane is
followed."""
_BACKWARD = -np.cos(np.radians(30))
"""Cosine of the angle to its goal from which a bone counts as opposite, so that it turns about the front axis."""
_LEVEL_FOOT = 0.4
"""Length over the ground of a foot's direction from which the foot counts as level and not as hanging down."""
_LEAST_BONE = 1e-3
"""Share of the rig's height by which a bone below is away from a bone's head to show where that bone leads."""
_EVEN = np.cos(np.radians(1))
"""Cosine of the angle up to which limbs rest mirrored: drawn rest poses do, a figure that stands comes to within 5
degrees."""


@dataclass(frozen=True, eq=False)
class Source:
    """The rotation that drives a bone: between joints `a` and `b` (indices of the model) by `share`."""

    a: int
    b: int
    share: float


@dataclass(frozen=True, eq=False)
class RestPose:
    """The rig in the model's T-pose.

    bones: the keyed bones, parents first. sources: the rotation that drives each. bone_of: joint's name -> index in
    `bones`. axes: (B, 4) world orientation of each bone's own axes in the T-pose. skeleton: the keyed bones in meters,
    T-pose, facing -Y. ankle_height: meters above the sole's ground. floating: thighs, as indices of `bones`, that hang
    on the spine (3ds Max Biped) but stay with the hips; their places are to be keyed as well.
    """

    bones: tuple[str, ...]
    sources: tuple[Source, ...]
    bone_of: dict[str, int]
    axes: Array
    skeleton: Skeleton
    ankle_height: float
    floating: tuple[int, ...] = ()

    def offset(self, joint: str) -> Array:
        """Place (3,) of a joint's bone relative to the keyed bone above it, meters in the T-pose."""
        return self.skeleton.offsets[self.bone_of[joint]]

    @property
    def leg_length(self) -> float:
        """Length in meters from hip joint to ankle along the bones, mean of both sides."""
        parts = [side + part for side, _ in SIDES for part in ("Leg", "Foot")]
        return float(sum(np.linalg.norm(self.offset(part)) for part in parts)) / 2


def rest_pose(rig: RigInfo, mapping: Mapping) -> RestPose:
    """Determine the T-pose of a rig. Raises RigError when the rest pose is no figure or the mapping does not fit the
    rig."""
    mapping.check(rig)
    joints = {joint: rig.numbers[match.bone] for joint, match in mapping.matches.items()}
    align = _alignment(rig, joints)
    heads, tails = rig.heads @ align.T * rig.size, rig.tails @ align.T * rig.size
    turns = _turns(rig, joints, heads, tails)
    sources = _sources(rig, mapping)
    order = sorted(sources, key=lambda bone: rig.numbers[bone])
    index = {bone: i for i, bone in enumerate(order)}
    corrections = {bone: turns.get(_NAMES[sources[bone].a], _NONE) for bone in order}
    parents, offsets, axes = [], np.zeros((len(order), 3)), np.zeros((len(order), 4))
    floating = []
    thighs = {mapping.matches[side + "UpLeg"].bone for side, _ in SIDES}
    trunk = {match.bone for joint, match in mapping.matches.items() if joint in _SPINE}
    for i, bone in enumerate(order):
        above = rig.above(bone, index)
        if bone in thighs and above in trunk and not rig.bones[rig.numbers[bone]].connected:
            above = mapping.matches["Hips"].bone
            floating.append(i)
        parents.append(-1 if above is None else index[above])
        if above is not None:
            gap = heads[rig.numbers[bone]] - heads[rig.numbers[above]]
            offsets[i] = rotate(corrections[above], gap)
        rest = from_matrix(align @ rig.bones[rig.numbers[bone]].rest)
        axes[i] = multiply(corrections[bone], rest)
    skeleton = Skeleton(tuple(order), tuple(parents), offsets)
    bone_of = {joint: index[match.bone] for joint, match in mapping.matches.items()}
    pose = RestPose(tuple(order), tuple(sources[b] for b in order), bone_of, axes, skeleton, 0.0)
    height = _ankle_height(pose, heads, joints)
    return replace(pose, ankle_height=height, floating=tuple(floating))


def is_even(rig: RigInfo, mapping: Mapping) -> bool:
    """Whether both sides' limbs rest mirrored; in a pose from a motion they do not."""
    joints = {joint: rig.numbers[match.bone] for joint, match in mapping.matches.items()}
    heads = rig.heads @ _alignment(rig, joints).T
    for upper, lower in (("UpLeg", "Leg"), ("Leg", "Foot"), ("Arm", "ForeArm"), ("ForeArm", "Hand")):
        pairs = [(side + upper, side + lower) for side, _ in SIDES]
        if all(joint in joints for pair in pairs for joint in pair):
            left, right = (normalize(heads[joints[b]] - heads[joints[a]]) for a, b in pairs)
            if left @ (right * [-1.0, 1.0, 1.0]) < _EVEN:
                return False
    return True


_NAMES = MODEL_SKELETON.names
_INDEX = {name: i for i, name in enumerate(_NAMES)}
_SPINE = ("Spine", "Spine1", "Spine2")
"""Joints of the spine, from the hips up."""


# Which bones are keyed


def _sources(rig: RigInfo, mapping: Mapping) -> dict[str, Source]:
    """The rotations that drive mapped bones and the bones that share the bend of spine and neck."""
    out = {}
    for joint, match in mapping.matches.items():
        number = _INDEX["Hips" if joint == CARRIER else joint]
        out[match.bone] = Source(number, number, 0.0)
    trunk = [joint for joint in ("Hips", "Spine", "Spine1", "Spine2") if joint in mapping.matches]
    crown = [joint for joint in ("Neck", "Head") if joint in mapping.matches]
    for upper, lower in (*pairwise(trunk), *pairwise(crown)):
        path = rig.path(mapping.matches[lower].bone)
        if mapping.matches[upper].bone not in path:
            continue
        between_them = path[1 : path.index(mapping.matches[upper].bone)][::-1]
        shared = [bone for bone in between_them if _shares(bone, mapping, lower)]
        for i, bone in enumerate(shared, 1):
            out.setdefault(bone, Source(_INDEX[upper], _INDEX[lower], i / (len(shared) + 1)))
    for side, _ in SIDES:
        toe = mapping.bone(side + "Toe")
        for sibling in [] if toe is None else rig.children(rig.bones[rig.numbers[toe]].parent or ""):
            if sibling != toe and _stem(sibling) == _stem(toe or ""):
                out.setdefault(sibling, out[toe or ""])
    return out


def _shares(bone: str, mapping: Mapping, lower: str) -> bool:
    """Whether a bone between two spine bones bends with them; bones between a control rig's controls are its
    mechanism."""
    return CARRIER not in mapping.matches or _stem(bone) == _stem(mapping.matches[lower].bone)


def _stem(name: str) -> str:
    return re.sub(r"\d+", "#", name)


# Which way the figure stands


def _alignment(rig: RigInfo, joints: Table[str, int]) -> Array:
    """Rotation (3, 3) from the armature's space to the model's frame: left to +x, up to +z; near right angles are
    kept."""
    place = {joint: rig.heads[number] for joint, number in joints.items()}
    hips = (place["LeftUpLeg"] + place["RightUpLeg"]) / 2
    if "LeftArm" in place and "RightArm" in place:
        up = (place["LeftArm"] + place["RightArm"]) / 2 - hips
    elif "Head" in place:
        up = place["Head"] - hips
    else:
        up = hips - (place["LeftFoot"] + place["RightFoot"]) / 2
    left = place["LeftUpLeg"] - place["RightUpLeg"]
    axes = np.zeros((3, 3))
    axes[2] = normalize(up)
    axes[0] = normalize(left - axes[2] * (axes[2] @ left))
    axes[1] = np.cross(axes[2], axes[0])
    if abs(np.linalg.det(axes) - 1) > 1e-6 or float(np.linalg.norm(left)) < 1e-4 * rig.height:
        raise RigError(f"The rest pose of '{rig.name}' is not a figure with two legs and a trunk; correct it.")
    return snapped_to_axes(axes)


# The T-pose


def _turns(rig: RigInfo, joints: Table[str, int], heads: Array, tails: Array) -> dict[str, Array]:
    """Rotation (4,) of each limb's joint from the aligned rest pose to the T-pose; the other joints stay as they
    are."""
    out: dict[str, Array] = {}
    for side, sign in SIDES:
        leg = [joints[side + part] for part in ("UpLeg", "Leg", "Foot")]
        out |= _limb(side, ("UpLeg", "Leg"), [heads[i] for i in leg], _DOWN, np.array([1.0, 0.0, 0.0]))
        out |= _foot(rig, side, joints, heads, tails, out[side + "Leg"])
        if side + "Arm" not in joints:
            continue
        outward = np.array([sign, 0.0, 0.0])
        arm = [joints[side + part] for part in ("Arm", "ForeArm", "Hand") if side + part in joints]
        places = [heads[i] for i in arm]
        end = None if side + "Hand" in joints else _tip(rig, arm[-1], heads, tails)
        if end is not None:
            places.append(end)
        if len(places) < 2:
            continue
        out |= _limb(side, ("Arm", "ForeArm"), places, outward, np.array([0.0, 0.0, -sign]))
        if side + "Hand" in joints and len(places) > 2:
            straight = _aimed(_aimed(_NONE, places[1] - places[0], outward), places[2] - places[1], outward)
            out[side + "Hand"] = _hand(rig, joints[side + "Hand"], heads, tails, straight, outward)
    return out


def _limb(side: str, parts: tuple[str, str], places: list[Array], along: Array, hinge: Array) -> dict[str, Array]:
    """Turns of the two bones of a limb so that both point `along` and bend about `hinge`."""
    upper = _aimed(_NONE, places[1] - places[0], along)
    if len(places) < 3:
        return {side + parts[0]: upper, side + parts[1]: upper}
    lower = _aimed(upper, places[2] - places[1], along)
    # In a rest pose that is a little bent the bend tells about which axis; it lies across the limb already.
    normal = np.cross(normalize(places[1] - places[0]), normalize(places[2] - places[1]))
    if np.linalg.norm(normal) > _LEAST_BEND:
        axis = rotate(upper, normal)
        angle = float(np.arctan2(along @ np.cross(axis, hinge), axis @ hinge))
        if abs(angle) < _MOST_TWIST:
            twist = from_axis_angle(along, np.asarray(angle))
            upper, lower = multiply(twist, upper), multiply(twist, lower)
    return {side + parts[0]: upper, side + parts[1]: lower}


def _aimed(turn: Array, bone: Array, goal: Array) -> Array:
    """The turn followed by the shortest turn that points `bone` (3,) along `goal`; about the front axis where
    opposite."""
    direction = normalize(rotate(turn, bone))
    if direction @ goal < _BACKWARD:
        half = from_axis_angle(_AHEAD, np.asarray(np.pi))
        turn, direction = multiply(half, turn), rotate(half, direction)
    return multiply(between(direction, goal), turn)


def _foot(
    rig: RigInfo, side: str, joints: Table[str, int], heads: Array, tails: Array, shin: Array
) -> dict[str, Array]:
    """Turns of foot and toes: about the vertical, or, where the foot hangs straight down, up to where it stands.

    A foot whose direction no bone shows rests as it should: flat and ahead.
    """
    foot = joints[side + "Foot"]
    toe = joints.get(side + "Toe")
    tip = _tip(rig, foot, heads, tails) if toe is None else heads[toe]
    if tip is None:
        return {side + "Foot": _NONE}
    bone = normalize(tip - heads[foot])
    if np.hypot(bone[0], bone[1]) >= _LEVEL_FOOT:
        if toe is None and bone[1] > 0:  # a heel
            return {side + "Foot": _NONE}
        turn = from_yaw(np.asarray(-np.arctan2(bone[0], -bone[1])))
        return {side + "Foot": turn, side + "Toe": turn}
    turn = _aimed(shin, bone, normalize(MODEL_SKELETON.offsets[_INDEX[side + "Toe"]]))
    if toe is None:
        return {side + "Foot": turn}
    end = _tip(rig, toe, heads, tails)
    return {side + "Foot": turn, side + "Toe": turn if end is None else _aimed(turn, end - heads[toe], _AHEAD)}


def _tip(rig: RigInfo, bone: int, heads: Array, tails: Array) -> Array | None:
    """Where a bone ends (3,): at the only bone below it, or at its tail; None where the rig's tails mean nothing."""
    below = [rig.numbers[name] for name in rig.children(rig.names[bone])]
    if len(below) == 1 and np.linalg.norm(heads[below[0]] - heads[bone]) > _LEAST_BONE * rig.height * rig.size:
        return np.asarray(heads[below[0]])
    return np.asarray(tails[bone]) if rig.tails_tell else None


def _hand(rig: RigInfo, hand: int, heads: Array, tails: Array, turn: Array, outward: Array) -> Array:
    """Turn of a hand that is straight along the arm, judged by its fingers or its tail."""
    fingers = [rig.numbers[name] for name in rig.children(rig.names[hand])]
    tip = np.asarray(heads[fingers].mean(0)) if len(fingers) > 2 else _tip(rig, hand, heads, tails)
    if tip is None:
        return turn
    bone = tip - heads[hand]
    if np.linalg.norm(bone) < 1e-6 or normalize(rotate(turn, bone)) @ outward < np.cos(np.radians(45)):
        return turn
    return _aimed(turn, bone, outward)


def _ankle_height(pose: RestPose, heads: Array, joints: Table[str, int]) -> float:
    """Height in meters of the ankle over the ground: the armature's own floor where the feet stand on it, else by the
    toes."""
    leg = pose.leg_length
    ankle = float(np.mean([heads[joints[side + "Foot"], 2] for side, _ in SIDES]))
    balls = [side + "Toe" for side, _ in SIDES if side + "Toe" in joints]
    lowest = min((float(heads[joints[ball], 2]) for ball in balls), default=0.0)
    if 0.03 * leg < ankle < 0.25 * leg and -0.01 * leg < lowest < 0.1 * leg:
        return ankle
    ratio = leg / leg_length(MODEL_SKELETON)
    if balls:
        return TOE_HEIGHT * ratio - float(np.mean([pose.offset(ball)[2] for ball in balls]))
    return ratio * (TOE_HEIGHT - float(MODEL_SKELETON.offsets[_INDEX["LeftToe"], 2]))
