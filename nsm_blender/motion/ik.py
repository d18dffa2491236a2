# SPDX-License-Identifier: GPL-3.0-or-later
"""Two-bone inverse kinematics for legs and arms, vectorised over frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rotations import Array, between, multiply, normalize, rotate
from .skeleton import MODEL_SKELETON, Skeleton

REACH = 0.998
"""A limb is never stretched beyond this share of its length: a straight knee has no bending plane."""


@dataclass(frozen=True)
class Limb:
    """Joint names of a two-bone limb, and the direction in which its middle joint bends.

    pole: the direction in the upper bone's frame towards which the knee (elbow) points.
    """

    upper: str
    middle: str
    end: str
    pole: tuple[float, float, float]


LEFT_LEG = Limb("LeftUpLeg", "LeftLeg", "LeftFoot", (0.0, -1.0, 0.0))
RIGHT_LEG = Limb("RightUpLeg", "RightLeg", "RightFoot", (0.0, -1.0, 0.0))


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
    """Bend a limb so that its end reaches `target`, keeping the plane in which it bends.

    origin: (..., 3) world place of the upper joint. target: (..., 3) world place wanted of the end. upper, middle:
    (..., 4) world rotations of the two bones now. pole: (..., 3) where in the world the middle joint points, in place
    of the limb's own pole. reach: (..., 1) share of its length up to which it is stretched. Returns their new world
    rotations and the place (..., 3) of the end, which differs from the target where that is out of reach.
    """
    upper_bone = skeleton.offsets[skeleton.index(limb.middle)].astype(origin.dtype)
    lower_bone = skeleton.offsets[skeleton.index(limb.end)].astype(origin.dtype)
    a, b = float(np.linalg.norm(upper_bone)), float(np.linalg.norm(lower_bone))
    to_target = target - origin
    distance = np.sqrt(np.sum(to_target * to_target, axis=-1, keepdims=True))
    along = to_target / np.maximum(distance, 1e-6)
    distance = np.clip(distance, abs(a - b) + 1e-3, (a + b) * reach)
    # The bending plane holds the line to the target and the pole as the pose has it.
    if pole is None:
        pole = rotate(upper, np.broadcast_to(np.asarray(limb.pole, dtype=origin.dtype), origin.shape))
    pole = normalize(pole - along * np.sum(pole * along, axis=-1, keepdims=True))
    forward = (a * a - b * b + distance * distance) / (2 * distance)
    aside = np.sqrt(np.maximum(a * a - forward * forward, 0))
    knee = along * forward + pole * aside
    end = along * distance
    new_upper = _turn(upper, upper_bone, knee)
    new_middle = _turn(middle, lower_bone, end - knee)
    return new_upper, new_middle, origin + end


def _turn(rotation: Array, bone: Array, direction: Array) -> Array:
    """Turn `rotation` the shortest way so that `bone` (3,) points along `direction` (..., 3)."""
    now = rotate(rotation, np.broadcast_to(bone, direction.shape))
    return multiply(between(now, direction), rotation)
