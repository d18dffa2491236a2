# SPDX-License-Identifier: GPL-3.0-or-later
"""How well a rig shows a motion: what is seen of its bones, held against the engine's motion.

Nothing here asks the retargeting what it meant to do: sizes come from the rig's rest pose, places from where Blender
shows the bones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ..motion.motion import Motion
from ..motion.rotations import Array, conjugate, multiply, rotate
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON
from .rigs import SIDES

LIMBS = tuple(
    (side + upper, side + lower)
    for side, _ in SIDES
    for upper, lower in (("UpLeg", "Leg"), ("Leg", "Foot"), ("Arm", "ForeArm"), ("ForeArm", "Hand"))
)
"""Joints at both ends of the bones whose directions count."""
SURE_OF = (
    "Hips",
    "Head",
    *(side + part for side, _ in SIDES for part in ("UpLeg", "Leg", "Foot", "Arm", "ForeArm", "Hand")),
)
"""Joints that are found from the geometry alone, whatever the bones are called."""

BARS = {
    "joints_wrong": 0.0,
    "limb_deg_mean": 1.0,
    "limb_deg_max": 3.0,
    "feet_cm_max": 1.0,
    "hands_cm_max": 3.0,
    "soles_cm_max": 1.0,
    "imported_hips_cm_max": 2.0,
    "slide_added_cm_per_s": 1.0,
    "round_trip_cm_max": 0.5,
    "round_trip_deg_max": 0.5,
    "applied_cm_max": 0.5,
    "imported_limb_deg_max": 3.0,
    "imported_trunk_deg_max": 5.0,
    "seconds_600": 0.5,
}
"""Largest allowed value of a figure, by the end of its name."""

_REACH = 0.99
"""Share of an arm's length up to which a hand can be asked for."""
_HOLDS = 0.99
"""Contact label above which a hand holds something; below it the hand is on its way there."""
_FLAT = 0.9
"""Contact labels of heel and ball above which a foot stands flat."""
_TOUCHES = 0.5
"""Contact label above which a foot touches the ground."""

Figures = dict[str, float]
Places = Mapping[str, Array]
"""Joint -> places (T, 3) in world meters of the head of its bone."""


@dataclass(frozen=True)
class Sizes:
    """What a figure's rest pose tells, in meters.

    scale: leg length over the model's. lift: by how much the ankle is higher over the ground than the model's at that
    scale. wider: by how much a hip joint is further out (or, below zero, in). arm: shoulder to wrist.
    """

    scale: float
    lift: float
    wider: float
    arm: float

    @staticmethod
    def of(rest: Mapping[str, Array]) -> Sizes:
        """From where the joints (3,) are in the rest pose, of a figure that stands on z = 0."""

        def length(side: str, *joints: str) -> float:
            places = np.array([rest[side + joint] for joint in joints])
            return float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())

        model = MODEL_SKELETON.offsets
        sides = [side for side, _ in SIDES]
        own = sum(np.linalg.norm(model[MODEL_SKELETON.index(joint)]) for joint in ("LeftLeg", "LeftFoot"))
        scale = float(np.mean([length(side, "UpLeg", "Leg", "Foot") for side in sides]) / own)
        lift = float(np.mean([rest[f"{side}Foot"][2] for side in sides])) - scale * ANKLE_HEIGHT
        half = float(np.linalg.norm(rest["LeftUpLeg"] - rest["RightUpLeg"])) / 2
        wider = half - scale * abs(float(model[MODEL_SKELETON.index("LeftUpLeg"), 0]))
        return Sizes(scale, lift, wider, float(np.mean([length(side, "Arm", "ForeArm", "Hand") for side in sides])))


def wrong(found: Mapping[str, str], truth: Mapping[str, str], *, named: bool) -> list[str]:
    """The joints whose bone was not found. named: the bones' names tell what they are; else SURE_OF have to do."""
    return [joint for joint, bone in truth.items() if found.get(joint) != bone and (named or joint in SURE_OF)]


def limbs(seen: Places, motion: Motion) -> Figures:
    """Angles in degrees between the limbs' bones, from joint to joint, and the engine's."""
    pairs = [pair for pair in LIMBS if set(pair) <= set(seen)]
    angles = np.array([_degrees(seen[b] - seen[a], _joint(motion, b) - _joint(motion, a)) for a, b in pairs])
    arms = np.array(["Arm" in upper for upper, _ in pairs])
    return {
        "limb_deg_mean": float(angles.mean()),
        "limb_deg_max": float(angles.max()),
        "leg_deg_max": float(angles[~arms].max()),
        "arm_deg_max": float(angles[arms].max()),
    }


def feet(seen: Places, motion: Motion, sizes: Sizes) -> Figures:
    """Where ankles are that touch the ground, and how fast heels and toes slide meanwhile.

    feet_cm_max: to the engine's place at the legs' scale, the ankle's height being the rig's own, and to the side
    being allowed by as much as the rig's hip joints are further apart. feet_cm_plain: the same without either.
    slide_cm_per_s: mean speed over the ground between frames that both touch; slide_added_cm_per_s: above the
    engine's own, which is not scaled.
    """
    out = {"feet_cm_max": 0.0, "feet_cm_plain": 0.0}
    speeds, own = [], []
    for joint in CONTACT_JOINTS:
        if joint not in seen:
            continue
        touches = motion.contacts[:, motion.contact_names.index(joint)] > _TOUCHES
        both = touches[1:] & touches[:-1]
        speeds.append(_speeds(seen[joint], motion.fps)[both])
        own.append(_speeds(_joint(motion, joint), motion.fps)[both])
        if not joint.endswith("Foot") or not touches.any():
            continue
        gap = (seen[joint] - sizes.scale * _joint(motion, joint))[touches]
        aside = np.maximum(np.hypot(gap[:, 0], gap[:, 1]) - abs(sizes.wider), 0.0)
        out["feet_cm_max"] = max(out["feet_cm_max"], 100 * float(np.hypot(aside, gap[:, 2] - sizes.lift).max()))
        out["feet_cm_plain"] = max(out["feet_cm_plain"], 100 * float(np.linalg.norm(gap, axis=1).max()))
    slide, engine = (100 * float(np.concatenate(every).mean()) for every in (speeds, own))
    return out | {"slide_cm_per_s": slide, "slide_added_cm_per_s": slide - engine}


def sole_points(rest: Mapping[str, Array]) -> dict[str, Array]:
    """Points (3, 3) of a flat sole's bottom below each foot in the rest pose: heel, ball and tip, in world meters.

    rest: places (3,) of the joints of a figure that stands on z = 0 and faces -Y. The keys say which joint's bone
    carries the points; the tip hangs on the toes where the figure has these.
    """
    model = MODEL_SKELETON.offsets
    out: dict[str, Array] = {}
    for side, _ in SIDES:
        hip, knee, ankle = (rest[side + part] for part in ("UpLeg", "Leg", "Foot"))
        leg = float(np.linalg.norm(knee - hip) + np.linalg.norm(ankle - knee))
        own = sum(float(np.linalg.norm(model[MODEL_SKELETON.index("Left" + part)])) for part in ("Leg", "Foot"))
        toe = rest.get(side + "Toe", ankle + leg / own * model[MODEL_SKELETON.index(side + "Toe")])
        ahead = (toe - ankle) * [1.0, 1.0, 0.0]
        heel, ball, tip = (ankle + share * ahead for share in (-0.3, 1.0, 1.6))
        flat = np.array([1.0, 1.0, 0.0])
        if side + "Toe" in rest:
            out |= {side + "Foot": np.array([heel, ball]) * flat, side + "Toe": np.array([tip]) * flat}
        else:
            out[side + "Foot"] = np.array([heel, ball, tip]) * flat
    return out


def soles(heights: Mapping[str, Array], motion: Motion, scale: float) -> Figures:
    """Heights of the lowest points of soles while heel and ball of the foot touch the floor, in cm.

    heights: joint -> (T, N) meters of the points that `sole_points` has below its bone. scale: the rig's leg length
    over the model's. soles_floor_cm: largest distance from the floor. soles_cm_max: the same from where the sole of the
    engine's own foot is, at the rig's size: what the rig adds to the motion.
    """
    own = _own_soles(motion)
    from_floor, added = 0.0, 0.0
    for side, _ in SIDES:
        labels = [motion.contacts[:, motion.contact_names.index(side + part)] for part in ("Foot", "Toe")]
        flat = np.minimum(*labels) > _FLAT
        if flat.any():
            seen, meant = (_lowest(side, points)[flat] for points in (heights, own))
            from_floor = max(from_floor, float(np.abs(seen).max()))
            added = max(added, float(np.abs(seen - scale * meant).max()))
    return {"soles_floor_cm": 100 * from_floor, "soles_cm_max": 100 * added}


def _lowest(side: str, heights: Mapping[str, Array]) -> Array:
    """Height (T,) of the lowest point of a foot's sole."""
    parts = [heights[side + part] for part in ("Foot", "Toe") if side + part in heights]
    return np.asarray(np.concatenate(parts, axis=1).min(axis=1))


def _own_soles(motion: Motion) -> dict[str, Array]:
    """Joint -> heights (T, N) of the points of the soles that the model itself has."""
    rest = MODEL_SKELETON.rest_positions()
    rest[:, 2] += ANKLE_HEIGHT - rest[MODEL_SKELETON.index("LeftFoot"), 2]
    places = dict(zip(MODEL_SKELETON.names, rest, strict=True))
    out = {}
    for joint, points in sole_points(places).items():
        turns = motion.rotations[:, MODEL_SKELETON.index(joint)].astype(np.float64)
        away = [rotate(turns, np.broadcast_to(point - places[joint], (len(turns), 3)))[:, 2] for point in points]
        out[joint] = _joint(motion, joint)[:, 2:] + np.stack(away, axis=1)
    return out


def hands(seen: Places, motion: Motion, sizes: Sizes) -> Figures:
    """How far wrists are from the engine's place at the legs' scale.

    hands_cm_max: while they hold something that the arm reaches. hands_reached: share of the frames in which they
    hold something that it does. hands_free_cm: mean while they hold nothing; there the arms point where the engine's
    do, so this tells how trunk and arms differ in proportion to the legs.
    """
    held, free, reached = [], [], []
    for side, _ in SIDES:
        hand, goal = seen[f"{side}Hand"], sizes.scale * _joint(motion, f"{side}Hand")
        label = motion.contacts[:, motion.contact_names.index(f"{side}Hand")]
        away = np.linalg.norm(hand - goal, axis=1)
        near = np.linalg.norm(goal - seen[f"{side}Arm"], axis=1) < _REACH * sizes.arm
        holds = label > _HOLDS
        held.append(away[holds & near])
        reached.append(near[holds])
        free.append(away[label == 0])
    apart = np.concatenate(held)
    return {
        "hands_cm_max": 100 * float(apart.max()) if len(apart) else 0.0,
        "hands_reached": float(np.concatenate(reached).mean()),
        "hands_free_cm": 100 * float(np.concatenate(free).mean()),
    }


def round_trip(read: Motion, made: Motion, joints: Collection[str] = MODEL_SKELETON.names) -> Figures:
    """What is lost on the way to the rig and back: places in cm at the model's size, world rotations in degrees.

    joints: that the rig has; what the others do it cannot tell, nor where they carry what hangs on them.
    """
    own: list[int] = []
    for number, (name, parent) in enumerate(zip(MODEL_SKELETON.names, MODEL_SKELETON.parents, strict=True)):
        if name in joints and (parent < 0 or parent in own):
            own.append(number)
    turn = multiply(read.rotations[:, own].astype(np.float64), conjugate(made.rotations[:, own].astype(np.float64)))
    angles = np.degrees(2 * np.arctan2(np.linalg.norm(turn[..., 1:], axis=-1), np.abs(turn[..., 0])))
    apart = 100 * np.linalg.norm(read.positions[:, own].astype(np.float64) - made.positions[:, own], axis=-1)
    return {
        "round_trip_cm_max": float(apart.max()),
        "round_trip_cm_mean": float(apart.mean()),
        "round_trip_deg_max": float(angles.max()),
        "round_trip_deg_mean": float(angles.mean()),
    }


def _joint(motion: Motion, joint: str) -> Array:
    return motion.positions[:, MODEL_SKELETON.index(joint)].astype(np.float64)


def _degrees(a: Array, b: Array) -> Array:
    """Between directions (T, 3)."""
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1)))


def _speeds(places: Array, fps: float) -> Array:
    """Over the ground, (T - 1,) meters per second."""
    return np.linalg.norm(np.diff(places[:, :2], axis=0), axis=1) * fps
