# SPDX-License-Identifier: GPL-3.0-or-later
"""Phase-Functioned Neural Networks for Character Control (Holden et al. 2017), the network.

Inputs and outputs (4.3) are declared as layouts, then each equation has a function, and `forward` is the whole network.
All run on NumPy arrays and torch tensors alike. Features are in the root frame: origin at the root on the ground, x to
the character's left, y backward (the character faces -y), z up; meters, seconds. Bakes use `pfnn_kernels.PFNN`, which
computes the same quicker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import array_api_compat

from ..motion.gait import GAITS
from ..motion.proportions import PROPORTIONS
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from .layout import Layout

JOINTS = len(MODEL_SKELETON)
"""Joints of the model skeleton, j of the paper."""
SAMPLES = 12
"""Trajectory samples, t of the paper (4.3): every tenth frame at 60 fps from -1 s to +0.83 s."""
CURRENT = 6
"""Index of the sample at the current frame."""
SAMPLE_FRAMES = 10
"""Frames from one sample to the next."""
FPS = 60.0
"""Frames a second of the rollout."""
FUTURE = SAMPLES - CURRENT
"""Samples from the current frame on; the output predicts these only, as the past is known."""
ASIDE = 0.25
"""Meters to the right and left of the trajectory at which the ground is felt, too (4.1)."""
LEVEL = slice(CURRENT - 2, CURRENT + 3)
"""Samples whose mean height of the ground is the root's: a third of a second back and on, about a step, so that the
root glides up a flight of stairs instead of jumping from tread to tread."""
CONTROL_POINTS = 4
"""Sets of weights that the spline over the phase goes through (eq. 7)."""
LAYERS = 3
"""Layers of the network (eq. 5)."""

INPUT = Layout(
    trajectory_position=(SAMPLES, 2),
    trajectory_direction=(SAMPLES, 2),
    terrain_height=(SAMPLES, 3),  # right, center, left; ASIDE apart, relative to the root
    gait=(SAMPLES, len(GAITS)),
    joint_position=(JOINTS, 3),
    joint_velocity=(JOINTS, 3),
)
"""x_i of 4.3; the joints are those of the previous frame in the previous root frame, but above the present root's
height: where the ground rises, feet and terrain so stay beside each other in the input."""

CHARACTER_INPUT = Layout(**INPUT.shapes, character=(len(PROPORTIONS),))
"""The inputs of weights that know several performers: those of `INPUT`, in their places, and the character value."""

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
"""Factor on joint inputs after normalizing, so that the trajectory leads (5.3)."""


def catmull_rom(phase: Any) -> Any:
    """Cyclic cubic Catmull-Rom coefficients of the four control points (eq. 7).

    phase: (...) radians. Returns (..., 4), summing to one.
    """
    xp = array_api_compat.array_namespace(phase)
    position = phase * (CONTROL_POINTS / (2 * math.pi))
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
        index = xp.zeros_like(near) + xp.arange(4, dtype=near.dtype, device=array_api_compat.device(near))
        out = out + xp.where(index == point, near[..., n : n + 1], xp.zeros_like(near))
    return out


def elu(x: Any) -> Any:
    """Exponential linear unit (eq. 6)."""
    xp = array_api_compat.array_namespace(x)
    if hasattr(xp, "celu"):
        # torch's own, the same for alpha = 1: one kernel where the formula takes a dozen, a third of a training step.
        return xp.celu(x)
    zero = xp.zeros_like(x)
    return xp.where(x > 0, x, zero) + xp.exp(xp.where(x < 0, x, zero)) - 1


def forward(weights: Mapping[str, Any], x: Any, phase: Any, drop: Callable[[Any], Any] | None = None) -> Any:
    """Phi(x; alpha), alpha = Theta(p; beta) (eq. 5 to 7): the network, for training and for checks at run time.

    weights: the control points beta, w0 (4, h, n), b0 (4, h), w1 (4, h, h), b1 (4, h), w2 (4, m, h), b2 (4, m).
    x: (B, S, n) normalized and scaled, B blocks of S samples. phase: (B,) radians, of all samples of a block.
    drop: dropout of each layer's input (5.3), in training. Returns (B, S, m), normalized.
    """
    xp = array_api_compat.array_namespace(x)
    c = catmull_rom(phase)  # (B, 4)
    h = x
    for layer in range(LAYERS):
        beta = weights[f"w{layer}"]  # (4, out, in)
        alpha = xp.reshape(c @ xp.reshape(beta, (CONTROL_POINTS, -1)), (-1, *beta.shape[1:]))  # (B, out, in)
        bias = c @ weights[f"b{layer}"]  # (B, out)
        h = (h if drop is None else drop(h)) @ xp.matrix_transpose(alpha) + bias[:, None]  # (B, S, out)
        if layer < LAYERS - 1:
            h = elu(h)
    return h


def forward_each(weights: Mapping[str, Any], x: Any, phase: Any) -> Any:
    """`forward` of samples that each have a phase of their own.

    x: (N, n). phase: (N,) radians. Returns (N, m). Layers are linear in the weights, so that the control points' own
    outputs are blended in place of the weights: four products for one, but no weights of each sample.
    """
    xp = array_api_compat.array_namespace(x)
    c = catmull_rom(phase)  # (N, 4)
    h = x
    for layer in range(LAYERS):
        each = xp.stack([h @ xp.matrix_transpose(weights[f"w{layer}"][k]) for k in range(CONTROL_POINTS)], axis=-1)
        h = xp.sum(each * c[:, None, :], axis=-1) + c @ weights[f"b{layer}"]
        if layer < LAYERS - 1:
            h = elu(h)
    return h


def shapes(layout: Layout) -> dict[str, tuple[int | str, ...]]:
    """Tensors of a weights file whose inputs are `layout`: control points, normalization, mean joint rotations."""
    return {
        "w0": (CONTROL_POINTS, "h", layout.size),
        "b0": (CONTROL_POINTS, "h"),
        "w1": (CONTROL_POINTS, "h", "h"),
        "b1": (CONTROL_POINTS, "h"),
        "w2": (CONTROL_POINTS, OUTPUT.size, "h"),
        "b2": (CONTROL_POINTS, OUTPUT.size),
        "x_mean": (layout.size,),
        "x_scale": (layout.size,),
        "y_mean": (OUTPUT.size,),
        "y_scale": (OUTPUT.size,),
        "rotation_reference": (JOINTS, 4),
    }


SHAPES: Mapping[str, tuple[int | str, ...]] = shapes(INPUT)
"""Tensors of a weights file of one performer."""


def input_layout(inputs: int) -> Layout:
    """The layout of weights with so many inputs; `INPUT` where the number fits none, for the shapes to be refused."""
    return CHARACTER_INPUT if inputs == CHARACTER_INPUT.size else INPUT
