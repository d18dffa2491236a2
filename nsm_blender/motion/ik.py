# SPDX-License-Identifier: GPL-3.0-or-later
"""Two-bone inverse kinematics for legs and arms, vectorized over frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rotations import Array, between, conjugate, multiply, normalize, rotate, wrap_angle
from .skeleton import MODEL_SKELETON, Skeleton

REACH = 0.998
"""Largest share of its length to which a limb is stretched: a straight knee has no bending plane."""
_UNSURE, _SURE = np.sin(np.radians(10.0)), np.sin(np.radians(25.0))
"""Sines of a limb's bend: below the first the pose does not determine the bending plane, and a knee may even be
overstretched by an error of that size; above the second the pose determines the plane."""
_OPPOSITE, _DOUBT = np.radians(120.0), np.radians(30.0)
"""Angles in radians about the upper bone from the limb's pole: a middle joint beyond the first bends the wrong way, and
its plane counts less and less over the second before that."""
_FOLD = np.radians(165.0)
"""Largest bend in radians of a limb: recorded knees and elbows stay below 162 degrees in 9,999 of 10,000 frames, and a
limb that is folded wholly has no bending plane either."""
_FOLDING, _FOLDED = np.cos(np.radians(120.0)), np.cos(np.radians(155.0))
"""Cosines of a limb's bend as solved: from the first on the middle joint tends to stay where it is instead of in the
bending plane, and from the second on it stays."""


@dataclass(frozen=True)
class Limb:
    """Joint names of a two-bone limb, and the direction in which its middle joint bends.

    pole: the direction in the upper bone's frame toward which the knee (elbow) points.
    """

    upper: str
    middle: str
    end: str
    pole: tuple[float, float, float]


LEFT_LEG = Limb("LeftUpLeg", "LeftLeg", "LeftFoot", (0.0, -1.0, 0.0))
"""The left leg; the knee points forward."""
RIGHT_LEG = Limb("RightUpLeg", "RightLeg", "RightFoot", (0.0, -1.0, 0.0))
"""The right leg; the knee points forward."""
LEGS: dict[str, Limb] = {"Left": LEFT_LEG, "Right": RIGHT_LEG}
"""Legs by side."""
ARMS: dict[str, Limb] = {
    # In the T-pose the forearms bend forward, so that the elbows point back.
    "Left": Limb("LeftArm", "LeftForeArm", "LeftHand", (0.0, 1.0, 0.0)),
    "Right": Limb("RightArm", "RightForeArm", "RightHand", (0.0, 1.0, 0.0)),
}
"""Arms by side."""


def solve_limb(
    limb: Limb,
    origin: Array,
    target: Array,
    upper: Array,
    middle: Array,
    skeleton: Skeleton = MODEL_SKELETON,
    pole: Array | None = None,
    reach: Array | float = REACH,
) -> tuple[Array, Array, Array]:
    """Bend a limb so that its end reaches `target`, keeping its bending plane.

    origin: (..., 3) world place of the upper joint. target: (..., 3) world place for the end. upper, middle: (..., 4)
    current world rotations of the two bones; the axis before the last is time where there is one. pole: (..., 3) world
    direction for the middle joint, in place of its present one. reach: (..., 1) largest share of its length to which
    the limb is stretched. Returns the new world rotations of both bones and the place (..., 3) of the end, which
    differs from the target where that is out of reach.

    Where the limb is bent, its present plane is kept. Where it is nearly straight, the plane is interpolated, relative
    to the upper bone, between the frames before and after in which it is bent, or is the limb's own if there are none.
    Where the target folds the limb, the middle joint stays where it is instead.
    """
    upper_bone = skeleton.offsets[skeleton.index(limb.middle)].astype(origin.dtype)
    lower_bone = skeleton.offsets[skeleton.index(limb.end)].astype(origin.dtype)
    a, b = float(np.linalg.norm(upper_bone)), float(np.linalg.norm(lower_bone))
    to_target = target - origin
    distance = np.sqrt(np.sum(to_target * to_target, axis=-1, keepdims=True))
    along = to_target / np.maximum(distance, 1e-6)
    distance = np.clip(distance, float(np.sqrt(a * a + b * b + 2 * a * b * np.cos(_FOLD))), (a + b) * reach)
    if pole is None:
        pole = _bend(limb, upper, middle, upper_bone / a, lower_bone / b, along)
        # A folded limb keeps the direction of its upper bone: the line between its ends turns by any angle.
        folded = np.clip((_FOLDING - (distance * distance - a * a - b * b) / (2 * a * b)) / (_FOLDING - _FOLDED), 0, 1)
        pole = (1 - folded) * pole + folded * normalize(rotate(upper, np.broadcast_to(upper_bone, along.shape)))
    pole = normalize(pole - along * np.sum(pole * along, axis=-1, keepdims=True))
    forward = (a * a - b * b + distance * distance) / (2 * distance)
    aside = np.sqrt(np.maximum(a * a - forward * forward, 0))
    knee = along * forward + pole * aside
    end = along * distance
    new_upper = _turn(upper, upper_bone, knee)
    new_middle = _turn(middle, lower_bone, end - knee)
    return new_upper, new_middle, origin + end


def _bend(limb: Limb, upper: Array, middle: Array, bone: Array, lower: Array, along: Array) -> Array:
    """Direction (..., 3) of the middle joint when the limb's ends lie in the directions `along` (..., 3).

    upper, middle: (..., 4) world rotations. bone, lower: (3,) directions of the two bones in their own frames. The limb
    turns about its present axis, as far as that is at right angles to `along`.
    """
    ahead = np.asarray(limb.pole, dtype=bone.dtype)
    ahead = normalize(ahead - bone * (bone @ ahead))
    left = np.cross(bone, ahead)
    seen = rotate(conjugate(upper), rotate(middle, np.broadcast_to(lower, along.shape)))
    # The lower bone leaves the upper bone's line on the side opposite to the middle joint's direction.
    angle = np.arctan2(-(seen @ left), -(seen @ ahead))
    straight = seen @ bone
    bent = np.sqrt(np.maximum(1 - straight * straight, 0))
    sure = np.clip((bent - _UNSURE) / (_SURE - _UNSURE), 0, 1) * np.clip((_OPPOSITE - np.abs(angle)) / _DOUBT, 0, 1)
    angle = interpolate_unsure(angle, sure)[..., None]
    aside = rotate(upper, np.cos(angle) * ahead + np.sin(angle) * left)
    thigh = rotate(upper, np.broadcast_to(bone, along.shape))
    onward = np.sum(along * thigh, axis=-1, keepdims=True)
    out: Array = aside * onward - thigh * np.sum(along * aside, axis=-1, keepdims=True)
    return out


def interpolate_unsure(angle: Array, sure: Array) -> Array:
    """Angles (..., T) in radians where `sure` (..., T) is 1, interpolated on the short way where it is less.

    A partly sure angle counts by that part. Without any sure frame the angles are 0.
    """
    if not angle.ndim:
        return np.asarray(angle * sure)
    frame = np.arange(angle.shape[-1])
    known = sure >= 1
    before = np.maximum.accumulate(np.where(known, frame, -1), axis=-1)
    after = np.minimum.accumulate(np.where(known, frame, len(frame))[..., ::-1], axis=-1)[..., ::-1]
    first, last = np.where(before < 0, after, before), np.where(after == len(frame), before, after)
    none = last < 0
    first, last = np.where(none, 0, first), np.where(none, 0, last)
    start, stop = np.take_along_axis(angle, first, -1), np.take_along_axis(angle, last, -1)
    share = np.clip((frame - first) / np.maximum(last - first, 1), 0, 1)
    filled = np.where(none, 0.0, start + share * wrap_angle(stop - start))
    out: Array = filled + sure * wrap_angle(angle - filled)
    return out


def _turn(rotation: Array, bone: Array, direction: Array) -> Array:
    """Turn `rotation` the shortest way so that `bone` (3,) points along `direction` (..., 3)."""
    now = rotate(rotation, np.broadcast_to(bone, direction.shape))
    return multiply(between(now, direction), rotation)
