# SPDX-License-Identifier: GPL-3.0-or-later
"""The character value of a performer: the proportions of the body, measured on its bones.

A network that learns from many performers must know whose motion it sees, or it learns their mean. A code of one
number a performer would keep them apart as well, but says nothing about a performer that was held out, has nothing
between two performers, and cannot be read off an animator's own rig. Proportions can do all three: they are measured
in the same way on recordings and rigs, a blend of two bodies is a body, and they are what makes a stride long or an
arm swing wide. What they cannot do is tell two performers of the same build apart, nor the clips of those sources
that put everybody on the same bones.
"""

from __future__ import annotations

import numpy as np

from .rotations import Array
from .skeleton import MODEL_SKELETON, Skeleton

PROPORTIONS = ("leg", "thigh", "foot", "hips", "trunk", "shoulders", "arm")
"""Names of the numbers: leg length in meters, all others as shares of it."""


def proportions(skeleton: Skeleton) -> Array:
    """Proportions (7,) float32 of a skeleton with the model's joints, in the order of PROPORTIONS."""
    rest = skeleton.rest_positions()[skeleton.indices(MODEL_SKELETON.names)]

    def length(first: str, second: str) -> float:
        return float(np.linalg.norm(rest[MODEL_SKELETON.index(first)] - rest[MODEL_SKELETON.index(second)]))

    def both(first: str, second: str) -> float:
        return 0.5 * (length("Left" + first, "Left" + second) + length("Right" + first, "Right" + second))

    thigh = both("UpLeg", "Leg")
    leg = thigh + both("Leg", "Foot")
    hip_joints = MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])
    shares = (
        thigh,
        both("Foot", "Toe"),
        length("LeftUpLeg", "RightUpLeg"),
        # From the hip joints, as sources place Hips at different heights above them.
        float(np.linalg.norm(rest[MODEL_SKELETON.index("Neck")] - rest[hip_joints].mean(axis=0))),
        length("LeftArm", "RightArm"),
        both("Arm", "ForeArm") + both("ForeArm", "Hand"),
    )
    return np.array([leg, *(share / leg for share in shares)], dtype=np.float32)


MODEL_PROPORTIONS = proportions(MODEL_SKELETON)
"""Proportions (7,) of the model skeleton."""
