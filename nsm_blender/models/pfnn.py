# SPDX-License-Identifier: GPL-3.0-or-later
"""Phase-Functioned Neural Networks for Character Control (Holden et al. 2017), the network.

The same functions run on NumPy arrays and torch tensors. Features are in the root frame: origin at the
root on the ground, x to the character's left, y backward (the character faces -y), z up; metres, seconds.
"""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

from ..motion.gait import GAITS
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from .layout import Layout

JOINTS = len(MODEL_SKELETON)
SAMPLES = 12
"""t = 12 trajectory samples (4.3), every tenth frame at 60 fps from -1 s to +0.83 s."""
CURRENT = 6
"""Index of the sample at the current frame."""
SAMPLE_FRAMES = 10
FPS = 60.0
FUTURE = SAMPLES - CURRENT
"""Samples from the current frame on; the output predicts these only, as the past is known."""
CONTROL_POINTS = 4

INPUT = Layout(
    trajectory_position=(SAMPLES, 2),
    trajectory_direction=(SAMPLES, 2),
    terrain_height=(SAMPLES, 3),  # right, centre, left; 25 cm apart, relative to the root
    gait=(SAMPLES, len(GAITS)),
    joint_position=(JOINTS, 3),
    joint_velocity=(JOINTS, 3),
)
"""x_i of 4.3; the joints are those of the previous frame in the previous root frame."""

OUTPUT = Layout(
    trajectory_position=(FUTURE, 2),
    trajectory_direction=(FUTURE, 2),
    joint_position=(JOINTS, 3),
    joint_velocity=(JOINTS, 3),
    joint_rotation=(JOINTS, 3),  # exponential map, relative to the mean rotation of the joint
    root_velocity=(2,),  # m/s in the root frame
    root_turn=(1,),  # rad/s about +z
    phase_change=(1,),  # rad/s
    contact=(len(CONTACT_JOINTS),),
)
"""y_i of 4.3; the trajectory is that of the next frame in the next root frame."""

JOINT_INPUT_SCALE = 0.1
"""Joint inputs are scaled down after normalising, so that the trajectory leads (5.3)."""


def catmull_rom(phase: Any) -> Any:
    """Cyclic cubic Catmull-Rom coefficients of the four control points (eq. 7).

    phase: (...) radians. Returns (..., 4), summing to one.
    """
    xp = array_api_compat.array_namespace(phase)
    position = phase * (CONTROL_POINTS / (2 * np.pi))
    k1 = xp.floor(position)
    w = position - k1
    # Coefficients of the points k0..k3 in the order of eq. 7, then turned to the points' own numbers.
    near = xp.stack(
        (
            -0.5 * w + w**2 - 0.5 * w**3,
            1 - 2.5 * w**2 + 1.5 * w**3,
            0.5 * w + 2 * w**2 - 1.5 * w**3,
            -0.5 * w**2 + 0.5 * w**3,
        ),
        axis=-1,
    )
    first = k1[..., None] - 1
    out = xp.zeros_like(near)
    for n in range(4):
        point = (first + n) % CONTROL_POINTS
        index = xp.zeros_like(near) + xp.asarray([0.0, 1.0, 2.0, 3.0], dtype=near.dtype)
        out = out + xp.where(index == point, near[..., n : n + 1], xp.zeros_like(near))
    return out


def elu(x: Any) -> Any:
    """Exponential linear unit (eq. 6)."""
    xp = array_api_compat.array_namespace(x)
    zero = xp.zeros_like(x)
    return xp.where(x > 0, x, zero) + xp.exp(xp.where(x < 0, x, zero)) - 1


def forward(weights: dict[str, Any], x: Any, phase: Any) -> Any:
    """The literal network (eq. 5 to 7), batched, with outputs blended instead of weights.

    weights: w0 (4, h, n), b0 (4, h), w1 (4, h, h), b1 (4, h), w2 (4, m, h), b2 (4, m).
    x: (N, n) normalised and scaled. phase: (N,) radians. Returns (N, m), normalised.
    """
    c = catmull_rom(phase)

    def layer(w: Any, b: Any, h: Any) -> Any:
        out = c[:, 0:1] * (h @ w[0].T + b[0])
        for k in range(1, CONTROL_POINTS):
            out = out + c[:, k : k + 1] * (h @ w[k].T + b[k])
        return out

    h = elu(layer(weights["w0"], weights["b0"], x))
    h = elu(layer(weights["w1"], weights["b1"], h))
    return layer(weights["w2"], weights["b2"], h)
