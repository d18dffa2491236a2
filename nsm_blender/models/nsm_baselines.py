# SPDX-License-Identifier: GPL-3.0-or-later
"""The networks that the NSM is compared with (NSM 7.1): MLP, PFNN, MANN and LSTM on the same inputs and outputs.

All read X by the NSM's encoders, and have as many numbers in their prediction as the NSM of the same settings; what
differs is how the prediction follows time. MLP, PFNN and MANN are the NSM's prediction (eq. 1, 3) with other weights
omega of the sets that are blended: one set, four blended by the phase, experts gated by the velocities of the feet.
The functions run on NumPy arrays and torch tensors alike, for a batch of N frames.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import array_api_compat

from ..motion.skeleton import MODEL_SKELETON
from . import nsm
from .nsm import ENCODERS, FRAME, GATING_SIZES, OUTPUT, Gating, Inputs, encode, gate, gating_input, predict
from .pfnn import CONTROL_POINTS, catmull_rom

BASELINES = ("mlp", "pfnn", "mann", "lstm", "auto-lstm")
"""The networks of Table 2. Auto-LSTM is the LSTM, trained on some of its own output."""
NETWORKS = ("nsm", *BASELINES)
"""All networks that are trained on the NSM's inputs and outputs."""
RECURRENT = ("lstm", "auto-lstm")
"""Networks with a memory, which is given from frame to frame."""
LSTM_LAYERS = 4
"""Recurrent layers, as in the network of Lee et al. 2018 that the paper compares with (7.1)."""

Condition = Gating | Literal["feet"]
"""What a gating network reads: of the NSM X^ (eq. 5), of the MANN the velocities of the feet."""
_FEET = MODEL_SKELETON.indices(["LeftFoot", "LeftToe", "RightFoot", "RightToe"])
CONDITION_SIZES: Mapping[Condition, int] = {
    "kronecker": GATING_SIZES["kronecker"],
    "concatenation": GATING_SIZES["concatenation"],
    "feet": 3 * len(_FEET),
}
"""Numbers of each condition."""

State = list[tuple[Any, Any]] | None
"""Memory of an LSTM, the outputs (N, h) and cells (N, h) of its layers; None: empty, and of networks without one."""


def condition_of(network: str, gating: Gating) -> Condition | None:
    """What the gating of a network reads; None of one without. gating: the NSM's."""
    if network == "nsm":
        return gating
    return "feet" if network == "mann" else None


def condition(kind: Condition, frame: Any, goal: Any, phase: Any) -> Any:
    """Input (N, CONDITION_SIZES[kind]) of a gating, not normalized, of inputs in natural units and the phase (N,)."""
    if kind != "feet":
        return gating_input(frame, goal, phase, kind)
    xp = array_api_compat.array_namespace(frame)
    first = FRAME.joint_velocity.start
    return xp.concat([frame[:, first + 3 * joint : first + 3 * joint + 3] for joint in _FEET], axis=1)


def forward(
    network: str, weights: Mapping[str, Any], inputs: Inputs, gating: Any, phase: Any, state: State = None
) -> tuple[Any, State]:
    """Y (N, OUTPUT.size), normalized, of any of NETWORKS, and its memory from now on.

    inputs: X by encoder, gating: what `condition` gives, or None of a network without a gating; both normalized. phase:
    (N,) radians.
    """
    if network == "nsm":
        return nsm.forward(weights, inputs, gating), None
    encoded = encode(weights, inputs)  # (N, n)
    if network in RECURRENT:
        return lstm(weights, encoded, state)
    return predict(weights, encoded, omega(network, weights, encoded, gating, phase)), None


def omega(network: str, weights: Mapping[str, Any], encoded: Any, gating: Any, phase: Any) -> Any:
    """Weights (N, K) of the sets of weights that MLP (K = 1), PFNN (K = 4) and MANN blend, which sum to one."""
    xp = array_api_compat.array_namespace(encoded)
    if network == "mann":
        return gate(weights, gating)
    # The spline through the control points is linear in them, so that their outputs can be blended as well.
    return catmull_rom(phase) if network == "pfnn" else xp.ones_like(encoded[:, :1])


def lstm(weights: Mapping[str, Any], encoded: Any, state: State) -> tuple[Any, State]:
    """LSTM_LAYERS layers of long short-term memory over the encoded input (N, n), and a linear decoder.

    weights: of each layer lstm_w (4 h, in), lstm_u (4 h, h), lstm_b (4 h,) for the gates of input, forgetting, cell and
    output; decoder_w (m, h), decoder_b (m,). Returns (N, m), normalized, and the memory after this frame.
    """
    xp = array_api_compat.array_namespace(encoded)
    x, after = encoded, []
    for layer in range(LSTM_LAYERS):
        w, u, b = (weights[f"lstm_{name}{layer}"] for name in "wub")
        size = u.shape[1]
        z = x @ w.T + b  # (N, 4 h)
        before = xp.zeros_like(z[:, :size])
        if state is not None:
            z, before = z + state[layer][0] @ u.T, state[layer][1]
        entry, keep, new, out = (z[:, i * size : (i + 1) * size] for i in range(4))
        cell = _sigmoid(keep) * before + _sigmoid(entry) * xp.tanh(new)
        # In training the products may be of half precision, and the cells, which add up, are not.
        x = xp.astype(_sigmoid(out) * xp.tanh(cell), x.dtype)
        after.append((x, cell))
    return x @ weights["decoder_w"].T + weights["decoder_b"], after


def _sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), which does not overflow."""
    return 0.5 * (1 + array_api_compat.array_namespace(x).tanh(0.5 * x))


def width(network: str, encoded: int, hidden: int, experts: int) -> int:
    """Hidden units for a prediction with as many numbers as that of an NSM with `hidden` units and `experts`, which
    reads `encoded` numbers (7.1: models of similar complexity). Biases are not counted."""
    ends = encoded + OUTPUT.size
    numbers = experts * (hidden * ends + hidden**2)
    # Numbers of weights are squares * h^2 + singles * h.
    squares, singles = float(sets(network, experts)), float(sets(network, experts) * ends)
    if network in RECURRENT:
        squares, singles = 4.0 * (2 * LSTM_LAYERS - 1), 4.0 * encoded + OUTPUT.size
    return max(round((math.sqrt(singles**2 + 4 * squares * numbers) - singles) / (2 * squares)), 1)


def sets(network: str, experts: int) -> int:
    """Sets of weights that a network blends: K. experts: of NSM and MANN."""
    return {"mlp": 1, "pfnn": CONTROL_POINTS}.get(network, experts)


def shapes(network: str, gating: Gating = "kronecker") -> dict[str, tuple[int | str, ...]]:
    """Tensors of a weights file, see `models.nsm.shapes`."""
    out = nsm.shapes(gating)
    kind = condition_of(network, gating)
    if kind is None:
        out = {name: shape for name, shape in out.items() if not name.startswith("gating")}
    else:
        size = CONDITION_SIZES[kind]
        out |= {"gating_w0": ("h'", size), "gating_mean": (size,), "gating_scale": (size,)}
    if network in RECURRENT:
        out = {name: shape for name, shape in out.items() if name[0] not in "wb"}
        for layer in range(LSTM_LAYERS):
            out[f"lstm_w{layer}"] = ("4 h", "h" if layer else "n")
            out[f"lstm_u{layer}"], out[f"lstm_b{layer}"] = ("4 h", "h"), ("4 h",)
        out |= {"decoder_w": (OUTPUT.size, "h"), "decoder_b": (OUTPUT.size,)}
    elif network in ("mlp", "pfnn"):
        out |= {name: (sets(network, 0), *out[name][1:]) for name in ("w0", "b0", "w1", "b1", "w2", "b2")}
    return out


def encoders_of(tensors: Mapping[str, Any]) -> int:
    """n: numbers that the encoders of a weights file give."""
    return sum(len(tensors[f"{name}_b0"]) for name in ENCODERS)
