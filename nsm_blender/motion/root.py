# SPDX-License-Identifier: GPL-3.0-or-later
"""The root: hips projected on the ground, and the facing direction (PFNN 4.1)."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from .filters import gaussian
from .rotations import Array, namespace, normalize, stacked
from .skeleton import MODEL_SKELETON

Numbers = TypeVar("Numbers")
"""An array or a tensor."""
FACING_SMOOTHING = 0.2
"""Standard deviation in seconds of the filter on the facing direction."""


def facing_angle(positions: Array, fps: float, smoothing: float = FACING_SMOOTHING) -> Array:
    """Facing angle (T,) about +Z in radians, continuous, 0 facing -Y.

    positions: (T, J, 3) world, joints of the model skeleton. The mean of the hip axis and the shoulder
    axis (right to left), crossed with up, then smoothed over time.
    """
    index = MODEL_SKELETON.index
    hips = positions[:, index("LeftUpLeg")] - positions[:, index("RightUpLeg")]
    shoulders = positions[:, index("LeftArm")] - positions[:, index("RightArm")]
    across = (normalize(hips) + normalize(shoulders))[:, :2]
    across = normalize(gaussian(across, smoothing * fps))
    # `across` points to the character's left, which is +X at angle 0.
    return np.unwrap(np.arctan2(across[:, 1], across[:, 0]))


def root_track(positions: Array, fps: float) -> Array:
    """Root (T, 4): x, y, z = 0 and the facing angle; see `facing_angle` for the input."""
    out = np.zeros((len(positions), 4), dtype=positions.dtype)
    out[:, :2] = positions[:, 0, :2]
    out[:, 3] = facing_angle(positions, fps)
    return out


def direction(angle: Numbers) -> Numbers:
    """Facing directions [..., 2] in the ground plane for facing angles [...], an array or a tensor."""
    xp = namespace(angle)
    out: Numbers = stacked(xp.sin(angle), -xp.cos(angle))
    return out


def angle_of(d: Numbers) -> Numbers:
    """Facing angles [...] of directions [..., 2] in the ground plane, an array or a tensor."""
    values: Any = d
    out: Numbers = namespace(d).atan2(values[..., 0], -values[..., 1])
    return out


def to_local(v: Numbers, angle: Any) -> Numbers:
    """Turn ground-plane vectors [..., 2] from the world into the frame of a root facing `angle` [...]; arrays or
    tensors."""
    values: Any = v
    x, y = values[..., 0], values[..., 1]
    # Of single numbers the functions of `math` are several times as fast.
    functions = math if isinstance(angle, float) else namespace(angle)
    c, s = functions.cos(angle), functions.sin(angle)
    out: Numbers = stacked(c * x + s * y, -s * x + c * y)
    return out


def to_world(v: Numbers, angle: Any) -> Numbers:
    """Inverse of `to_local`."""
    return to_local(v, -angle)
