# SPDX-License-Identifier: GPL-3.0-or-later
"""Neural State Machine for Character-Scene Interactions (Starke et al. 2019), the network.

Inputs and outputs (3.1) are declared as layouts, then each equation has a function, and `forward` is the whole network.
All run on NumPy arrays and torch tensors alike, for a batch of N frames. Features are in the root frame: origin at the
root on the ground, x to the character's left, y backward (the character faces -y), z up; meters, seconds. Bakes use
`nsm_kernels.NSM`, which computes the same quicker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import array_api_compat

from ..motion.skeleton import MODEL_SKELETON
from .layout import Layout
from .pfnn import elu

JOINTS = len(MODEL_SKELETON)
"""Joints of the model skeleton, j of the paper."""
SAMPLES = 13
"""Trajectory samples, t of the paper (3.1): every tenth frame at 60 fps from -1 s to +1 s."""
CURRENT = 6
"""Index of the sample at the current frame."""
FUTURE = SAMPLES - CURRENT - 1
"""Samples after the current one, t' of the paper."""
SAMPLE_FRAMES = 10
"""Frames from one sample to the next."""
FPS = 60.0
"""Frames a second of the rollout."""
DT = 1.0 / FPS
"""Seconds of a frame of the rollout."""

ACTIONS = ("idle", "walk", "run", "sit", "open", "carry", "climb")
"""Action labels; several may hold at once (carry and walk)."""
GOAL_ACTIONS = ACTIONS[:6]
"""What a goal may ask for: climbing is launched by the geometry (3.1)."""
CONTACTS = ("LeftFoot", "RightFoot", "LeftHand", "RightHand", "Hips")
"""Key joints with a contact label."""

CELLS = 8
"""Cells of the interaction volume along each axis (4.3)."""
ENVIRONMENT_SPHERES = (4, 22, 16)
"""Spheres along the radius, the arc and the height: R / r = 7, H / r = 16 (4.3)."""

FRAME = Layout(
    joint_position=(JOINTS, 3),
    joint_rotation=(JOINTS, 2, 3),  # forward and up axis
    joint_velocity=(JOINTS, 3),
    trajectory_position=(SAMPLES, 2),
    trajectory_direction=(SAMPLES, 2),
    trajectory_action=(SAMPLES, len(ACTIONS)),
)
"""F_i: the character in the previous frame, in the previous root frame."""

GOAL = Layout(position=(SAMPLES, 3), direction=(SAMPLES, 2), action=(SAMPLES, len(GOAL_ACTIONS)))
"""G_i: where to be and what to do there, in the previous root frame."""

INTERACTION = Layout(cell=(CELLS**3, 4))
"""I_i: of each cell the vector from its center to the body's root, in the root frame, and its occupancy. The paper
calls it 512-dimensional and each cell a vector of four; all 2048 numbers are fed."""
TO_ROOT, OCCUPANCY = slice(0, 3), 3
"""Places, in a cell's vector, of the vector to the root and of the occupancy."""

ENVIRONMENT = Layout(occupancy=ENVIRONMENT_SPHERES)
"""E_i: the spheres of the cylinder about the root."""

OUTPUT = Layout(
    joint_position=(JOINTS, 3),
    joint_rotation=(JOINTS, 2, 3),
    joint_velocity=(JOINTS, 3),
    future_joint_position=(JOINTS, 3),  # in the root frame predicted for one second ahead
    trajectory_position=(FUTURE, 2),
    trajectory_direction=(FUTURE, 2),
    trajectory_action=(FUTURE + 1, len(ACTIONS)),  # the current sample too, which nothing else gives
    goal_trajectory_position=(FUTURE, 2),  # the same trajectory in each sample's goal frame
    goal_trajectory_direction=(FUTURE, 2),
    goal_position=(SAMPLES, 3),
    goal_direction=(SAMPLES, 2),
    goal_action=(SAMPLES, len(GOAL_ACTIONS)),
    contact=(len(CONTACTS),),
    phase_change=(1,),  # rad/s
    root_velocity=(2,),  # m/s in the previous root frame; the texts do not say how the root goes on
    root_turn=(1,),  # rad/s about +z
)
"""Y_i, in the root frame of the frame that it describes."""

ENCODERS: Mapping[str, Layout] = {
    "frame": FRAME,
    "goal": GOAL,
    "interaction": INTERACTION,
    "environment": ENVIRONMENT,
}
"""The inputs X = {F, G, I, E} in the order in which their encodings are joined."""

Gating = Literal["kronecker", "concatenation"]
"""How the phase enters the gating network: eq. 5, or side by side as in the ablation of Fig. 12."""

CONDITION_SIZE = len(ACTIONS) * SAMPLES + 3 * GOAL.shape("action")[1] * SAMPLES
"""n' / 2: numbers of X' (eq. 7), the action labels and three times the goal's over all samples."""
GATING_SIZES: Mapping[Gating, int] = {"kronecker": 2 * CONDITION_SIZE, "concatenation": 2 + CONDITION_SIZE}
"""n': numbers of the gating network's input."""
LAYERS = 3
"""Layers of each encoder, of the gating network and of the prediction."""

Inputs = Mapping[str, Any]
"""Name of an encoder -> its input, normalized, (N, size)."""


def forward(weights: Mapping[str, Any], inputs: Inputs, gating: Any) -> Any:
    """Y = Theta(X; alpha, beta) with alpha blended by omega = Omega(X^; mu) (3.1, 3.2): the whole network.

    inputs: X by encoder. gating: X^ (N, n'). Both are normalized, and so is the result (N, OUTPUT.size).
    """
    return predict(weights, encode(weights, inputs), gate(weights, gating))


def encode(weights: Mapping[str, Any], inputs: Inputs) -> Any:
    """H(X; beta) = {F(F_i), G(G_i), I(I_i), E(E_i)} (eq. 2), (N, n): what the four encoders give, side by side."""
    xp = array_api_compat.array_namespace(inputs["frame"])
    return xp.concat([encoder(weights, name, inputs[name]) for name in ENCODERS], axis=1)


def encoder(weights: Mapping[str, Any], name: str, x: Any) -> Any:
    """One of the encoders (3.1): three fully connected layers, each with ELU; x (N, size) -> (N, own)."""
    h = x
    for layer in range(LAYERS):
        h = elu(h @ weights[f"{name}_w{layer}"].T + weights[f"{name}_b{layer}"])  # (N, own)
    return h


def predict(weights: Mapping[str, Any], encoded: Any, omega: Any) -> Any:
    """W2 ELU(W1 ELU(W0 H + b0) + b1) + b2 (eq. 1), with alpha = sum_k omega_k alpha_k (eq. 3).

    weights: the experts' w0 (K, h, n), b0 (K, h), w1 (K, h, h), b1 (K, h), w2 (K, m, h), b2 (K, m). encoded: (N, n).
    omega: (N, K). Returns (N, m), normalized.
    """
    h = elu(blended(weights["w0"], weights["b0"], encoded, omega))  # (N, h)
    h = elu(blended(weights["w1"], weights["b1"], h, omega))  # (N, h)
    return blended(weights["w2"], weights["b2"], h, omega)  # (N, m)


def blended(w: Any, b: Any, h: Any, omega: Any) -> Any:
    """(sum_k omega_k W_k) h + sum_k omega_k b_k (eq. 3): w (K, out, in), b (K, out), h (N, in) -> (N, out).

    The outputs of the experts are blended, which gives the same sum as blended weights without a matrix for each frame.
    """
    xp = array_api_compat.array_namespace(h)
    experts, rows, columns = w.shape
    omega = xp.astype(omega, h.dtype)
    outputs = xp.reshape(h @ xp.reshape(w, (experts * rows, columns)).T, (h.shape[0], experts, rows))  # (N, K, out)
    return (omega[:, None, :] @ outputs)[:, 0] + omega @ b


def gate(weights: Mapping[str, Any], x: Any) -> Any:
    """omega = Omega(X^; mu) = softmax(W2' ELU(W1' ELU(W0' X^ + b0') + b1') + b2') (eq. 8).

    x: X^ (N, n'), normalized. Returns (N, K), each row summing to one.
    """
    xp = array_api_compat.array_namespace(x)
    h = elu(x @ weights["gating_w0"].T + weights["gating_b0"])  # (N, h')
    h = elu(h @ weights["gating_w1"].T + weights["gating_b1"])  # (N, h')
    logits = h @ weights["gating_w2"].T + weights["gating_b2"]  # (N, K)
    powers = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    return powers / xp.sum(powers, axis=1, keepdims=True)


def gating_input(frame: Any, goal: Any, phase: Any, gating: Gating = "kronecker") -> Any:
    """X^ = P (x) X' (eq. 5), not normalized: P = {sin p, cos p} (eq. 6), X' = {t_a, g_a, delta g_a, theta g_a} (eq. 7).

    frame: (N, FRAME.size), goal: (N, GOAL.size) in natural units, phase: (N,) radians. The distance delta and the angle
    theta to the goal are those of each sample. Returns (N, GATING_SIZES[gating]).
    """
    xp = array_api_compat.array_namespace(frame)
    count = frame.shape[0]
    action = xp.reshape(goal[:, GOAL.action], (count, *GOAL.shape("action")))  # g_a (N, t, 6)
    position = xp.reshape(goal[:, GOAL.position], (count, *GOAL.shape("position")))
    direction = xp.reshape(goal[:, GOAL.direction], (count, *GOAL.shape("direction")))
    delta = xp.sqrt(position[..., 0] ** 2 + position[..., 1] ** 2)  # (N, t) meters on the ground
    # The root frame's own facing is (0, -1); the angle of a direction against it, positive to the left.
    theta = xp.atan2(direction[..., 0], -direction[..., 1])  # (N, t) radians
    condition = xp.concat(
        [
            frame[:, FRAME.trajectory_action],
            xp.reshape(action, (count, -1)),
            xp.reshape(action * delta[..., None], (count, -1)),
            xp.reshape(action * theta[..., None], (count, -1)),
        ],
        axis=1,
    )  # X' (N, CONDITION_SIZE)
    sine, cosine = xp.sin(phase)[:, None], xp.cos(phase)[:, None]
    if gating == "concatenation":
        return xp.concat([sine, cosine, condition], axis=1)
    return xp.concat([sine * condition, cosine * condition], axis=1)


def shapes(gating: Gating = "kronecker") -> dict[str, tuple[int | str, ...]]:
    """Tensors of a weights file: encoders, gating network, experts, normalization."""
    out: dict[str, tuple[int | str, ...]] = {}
    for name, layout in ENCODERS.items():
        own = f"h_{name}"
        for layer in range(LAYERS):
            out[f"{name}_w{layer}"] = (own, layout.size if layer == 0 else own)
            out[f"{name}_b{layer}"] = (own,)
        out[f"{name}_mean"] = out[f"{name}_scale"] = (layout.size,)
    size = GATING_SIZES[gating]
    out |= {
        "gating_w0": ("h'", size),
        "gating_b0": ("h'",),
        "gating_w1": ("h'", "h'"),
        "gating_b1": ("h'",),
        "gating_w2": ("K", "h'"),
        "gating_b2": ("K",),
        "gating_mean": (size,),
        "gating_scale": (size,),
        "w0": ("K", "h", "n"),
        "b0": ("K", "h"),
        "w1": ("K", "h", "h"),
        "b1": ("K", "h"),
        "w2": ("K", OUTPUT.size, "h"),
        "b2": ("K", OUTPUT.size),
        "output_mean": (OUTPUT.size,),
        "output_scale": (OUTPUT.size,),
    }
    return out
