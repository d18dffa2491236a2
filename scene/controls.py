# SPDX-License-Identifier: GPL-3.0-or-later
"""Control rigs as Rigify generates them: their switches, and the controls of their inverse kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import bpy
import numpy as np

from ..nsm_blender.motion.rotations import Array, between, multiply, rotate, slerp

_SIDES = (".L", ".R")
Switches: TypeAlias = dict[tuple[str, str], Any]
"""Bone and custom property -> value."""
_FOLLOW = {"neck_follow": 1.0, "head_follow": 1.0}
"""Neck and head go with the chest: a share of the turn would leave their keys without a meaning of their own."""
_ORIGINAL, _STRETCH = "ORG-", "IK_Stretch"
_LIMBS = ("thigh_fk", "shin_fk", "foot_fk", "toe_fk", "upper_arm_fk", "forearm_fk", "hand_fk")
_STRAIGHT = 0.008
"""Share of a limb's length by which its knee or elbow must lie off the straight line for the bend to give the pole's
direction; a straighter limb takes the direction from its upper bone."""

_SAME, _OTHER = np.radians(3), np.radians(12)
"""Radians between a limb as shown and as its other controls are keyed, below which both are the same pose, and above
which they are different poses."""


@dataclass(frozen=True)
class Limb:
    """A leg or an arm of a control rig. bones: upper, lower, end, and toe where there is one. switch: the bone that
    holds its switches. controls: for the end, for the toe or None, and the pole.
    """

    bones: tuple[str, ...]
    switch: str
    end: str
    toe: str | None
    pole: str


def is_generated(obj: bpy.types.Object) -> bool:
    """Whether Rigify generated the rig."""
    return "torso" in obj.pose.bones and any(bone.get("IK_FK") is not None for bone in _parents(obj))


def root_bone(obj: bpy.types.Object) -> str | None:
    """The bone that moves everything."""
    return "root" if is_generated(obj) and "root" in obj.pose.bones else None


def limbs(obj: bpy.types.Object, bones: Sequence[str], *, legs: bool, arms: bool) -> list[Limb]:
    """The limbs among the mapped `bones` that are to be keyed by their controls for inverse kinematics."""
    if not is_generated(obj):
        return []
    found = []
    if legs:
        found += [_limb("thigh", ("thigh_fk", "shin_fk", "foot_fk", "toe_fk"), "foot_ik", "toe_ik", s) for s in _SIDES]
    if arms:
        found += [_limb("upper_arm", ("upper_arm_fk", "forearm_fk", "hand_fk"), "hand_ik", None, s) for s in _SIDES]
    there = obj.pose.bones
    return [
        limb
        for limb in found
        if set(limb.bones[:3]) <= set(bones) and all(name in there for name in (limb.switch, limb.end, limb.pole))
    ]


def with_roll(shown: Array, keyed: Array) -> Array:
    """Rotations (L, 3, 4) of L limbs' bones: they point as they are `shown`, and roll as their controls of forward
    kinematics are `keyed`, where these lie along them.

    Inverse kinematics bends a knee or an elbow about one axis and so decides the roll of both bones. Where the
    controls of the other kind hold the same pose, they know what it was; where they do not, they know nothing.
    """
    along, own = (rotate(q, np.broadcast_to([0.0, 1.0, 0.0], (*q.shape[:-1], 3))) for q in (shown, keyed))
    away = np.arctan2(np.linalg.norm(np.cross(along, own), axis=-1), np.sum(along * own, axis=-1))
    away[:, -1] = 2 * np.arccos(np.minimum(np.abs(np.sum(shown[:, -1] * keyed[:, -1], axis=-1)), 1.0))
    alike = np.clip((_OTHER - away.max(axis=1)) / (_OTHER - _SAME), 0.0, 1.0)
    return slerp(shown, multiply(between(own, along), keyed), np.repeat(alike[:, None], shown.shape[1], axis=1))


def switches(obj: bpy.types.Object, inverse: Sequence[Limb]) -> Switches:
    """Bone and custom property -> the value under which the keyed controls move the rig."""
    if not is_generated(obj):
        return {}
    inverted = {limb.switch for limb in inverse}
    out: Switches = {}
    for bone in _parents(obj):
        if bone.get("IK_FK") is not None:
            out[bone.name, "IK_FK"] = 0.0 if bone.name in inverted else 1.0
        if bone.name in inverted and bone.get("pole_vector") is not None:
            out[bone.name, "pole_vector"] = type(bone["pole_vector"])(1)
    for name, value in _FOLLOW.items():
        if obj.pose.bones["torso"].get(name) is not None:
            out["torso", name] = value
    return out


def stretching(obj: bpy.types.Object, inverse: Sequence[Limb]) -> Switches:
    """Switches with which limbs reach their controls wherever these are, as it takes to see what follows what."""
    found = [obj.pose.bones[limb.switch] for limb in inverse]
    return {(bone.name, _STRETCH): type(bone[_STRETCH])(1) for bone in found if bone.get(_STRETCH) is not None}


def stretched(obj: bpy.types.Object, inverse: Sequence[Limb]) -> list[str]:
    """Bones that the solver of a limb's inverse kinematics makes longer and shorter, even where the end is in reach.

    Their `ik_stretch` has to be 0 for a knee or an elbow to be where a limb of constant length has it.
    """
    poles = {limb.pole for limb in inverse}
    out: list[str] = []
    for bone in obj.pose.bones:
        for constraint in bone.constraints:
            if constraint.type == "IK" and constraint.pole_subtarget in poles:
                chain = [bone, *bone.parent_recursive][: constraint.chain_count or None]
                out += [link.name for link in chain if link.ik_stretch > 0 and link.name not in out]
    return out


def moved_by(obj: bpy.types.Object, name: str) -> str:
    """The bone that shows what the control `name` did: the mesh follows it whatever the switches say."""
    original = _ORIGINAL + name.replace("_fk", "")
    if name.startswith(_LIMBS) and original in obj.data.bones and _alike(obj, name, original):
        return original
    return name


def parent_of(bone: bpy.types.Bone) -> str | None:
    """The bone on which another hangs; where that is Rigify's copy of a bone that a control moves, the control."""
    parent = bone.parent
    if parent is None:
        return None
    plain = parent.name.removeprefix(_ORIGINAL)
    stem, dot, end = plain.partition(".")
    for name in (plain, f"{stem}_fk{dot}{end}"):
        control = bone.id_data.bones.get(name)
        if plain != parent.name and control is not None and parent not in control.parent_recursive:
            return str(name)
    return str(parent.name)


def pole_places(places: Array, turned: Array, rest: Array) -> Array:
    """Where a pole belongs, (T, 3).

    places: (T, 3, 3) of a limb's upper, lower and end joint. turned: (T, 3) the direction that the pole has at rest,
    turned with the upper bone. rest: distance of the pole from the middle joint.
    """
    upper, middle, end = places[:, 0], places[:, 1], places[:, 2]
    length = np.linalg.norm(middle - upper, axis=1) + np.linalg.norm(end - middle, axis=1)
    line = end - upper
    line /= np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-9)
    beside = middle - upper
    beside = (beside - line * np.sum(beside * line, axis=1, keepdims=True)) / length[:, None]
    straight = turned - line * np.sum(turned * line, axis=1, keepdims=True)
    bend = np.linalg.norm(beside, axis=1, keepdims=True)
    away = beside + np.maximum(_STRAIGHT - bend, 0.0) * straight
    away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)
    return middle + rest * away


def _parents(obj: bpy.types.Object) -> list[bpy.types.PoseBone]:
    names = [f"{part}_parent{side}" for part in ("upper_arm", "thigh") for side in _SIDES]
    return [obj.pose.bones[name] for name in names if name in obj.pose.bones]


def _alike(obj: bpy.types.Object, name: str, other: str) -> bool:
    """Whether two bones rest alike."""
    own, their = (np.array(obj.data.bones[bone].matrix_local) for bone in (name, other))
    return bool(np.allclose(own, their, atol=1e-4))


def _limb(part: str, bones: tuple[str, ...], end: str, toe: str | None, side: str) -> Limb:
    return Limb(
        tuple(bone + side for bone in bones),
        f"{part}_parent{side}",
        end + side,
        None if toe is None else toe + side,
        f"{part}_ik_target{side}",
    )
