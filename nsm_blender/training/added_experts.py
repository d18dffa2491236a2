# SPDX-License-Identifier: GPL-3.0-or-later
"""Experts that are added to a trained NSM and alone learn an action, so that all else stays as it is.

As the columns of progressive networks (Rusu et al. 2016), but that the gating chooses between old and new: the new
experts begin as copies of those old ones that take part in the action, and so does their part of the gating. Units that
are added to the gating, with weights that are set and not learned, give all to the new experts where the labels of the
trajectory name the action, and nothing where they do not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from ..errors import UserError
from ..models.nsm import ACTIONS, CONDITION_SIZE, FRAME, LAYERS, SAMPLES, gate, gating_input
from ..motion.rotations import Array
from .nsm_data import Packed

LEARNED = (*(f"{kind}{layer}" for kind in "wb" for layer in range(LAYERS)), "gating_w2", "gating_b2")
"""Tensors of a weights file with a row for each expert: these alone are learned."""
_LEAST = 0.05
"""Mean gate of an expert in frames of the action below which it takes no part, and is not copied."""
_FRAMES = 20000
"""Frames, evenly taken, of which the mean gate is that of all."""
_UNITS = 4
"""Units that are added to each hidden layer of the gating: for labels times the sine of the phase and times the cosine,
and for either sign."""
_STEEP = 2.0
"""Factor on the sum of the labels in the first of these layers, with which ELU is about straight from a sum of one."""
_CLEAR = 5.0
"""Logit of the new experts for each unit of what they sum up to."""
_APART = 27.0
"""Logit that the new experts lack where there is no label: their gates are then far below what is read. With labels
that sum up to 2.5 to 3.5, those of the third sample that foresees the action, they make it up, and not with labels of
0.1 in all samples, as noise has them."""

Tensors = Mapping[str, Array]


def check(known: Mapping[str, object], network: str, gating: str) -> None:
    """Raise UserError when there are no experts to add to, or their gating does not tell labels and phase together."""
    if network != "nsm" or gating != "kronecker" or "gating_b2" not in known:
        raise UserError("An action is taught to a trained NSM: name its weights with --from.")


def used(data: Packed, network: Mapping[str, torch.Tensor], scaling: tuple[Array, Array], action: str) -> list[int]:
    """Numbers of the experts that take part where the trajectory's labels name an action. scaling: mean and scale of
    the gating's input. Raises UserError when no frame shows the action."""
    labels = data.frame[:, FRAME.trajectory_action].reshape(len(data), SAMPLES, -1)[..., ACTIONS.index(action)]
    rows = np.flatnonzero(labels.sum(1, dtype=np.float32) > SAMPLES / 2)
    if not len(rows):
        raise UserError(f"No frame of the episodes shows the action that is taught, {action}.")
    rows = rows[:: -(-len(rows) // _FRAMES)]
    frame, goal = data.frame[rows].astype(np.float32), data.goal[rows].astype(np.float32)
    mean, scale = scaling
    x = (gating_input(frame, goal, data.phase[rows]) - mean) / scale
    shares = gate(network, torch.from_numpy(x.astype(np.float32))).mean(0)
    return np.flatnonzero(shares.numpy() >= _LEAST).tolist()


def joined(old: Tensors, new: Tensors, action: str) -> dict[str, Array]:
    """The tensors of a weights file with the experts of two that differ in LEARNED alone: the first one's, and after
    them the second one's, which were taught an action."""
    first, bias = _units(old["gating_mean"], old["gating_scale"], ACTIONS.index(action))
    own, count = len(old["gating_w1"]), len(new["gating_b2"])
    second = np.zeros((own + _UNITS, own + _UNITS), dtype=np.float32)
    second[:own, :own] = old["gating_w1"]
    # ELU adds up to x + exp(-x) - 1 over the two signs of each amount x.
    second[own, own:] = 1.0
    chooses = np.zeros((count, _UNITS), dtype=np.float32)
    chooses[:, 0] = _CLEAR
    out = dict(old) | {name: np.concatenate((old[name], new[name])) for name in LEARNED}
    return out | {
        "gating_w0": np.concatenate((old["gating_w0"], first)),
        "gating_b0": np.concatenate((old["gating_b0"], bias)),
        "gating_w1": second,
        "gating_b1": np.pad(old["gating_b1"], (0, _UNITS)),
        "gating_w2": np.concatenate(
            (np.pad(old["gating_w2"], ((0, 0), (0, _UNITS))), np.concatenate((new["gating_w2"], chooses), axis=1))
        ),
        "gating_b2": np.concatenate((old["gating_b2"], new["gating_b2"] - _APART)),
    }


def _units(mean: Array, scale: Array, action: int) -> tuple[Array, Array]:
    """Weights (_UNITS, n') and biases (_UNITS,) of units for the sum of an action's labels, of normalized input."""
    columns = np.arange(SAMPLES) * len(ACTIONS) + action
    weights, bias = np.zeros((_UNITS, len(mean)), dtype=np.float32), np.zeros(_UNITS, dtype=np.float32)
    for unit, (block, sign) in enumerate((b, s) for b in (0, CONDITION_SIZE) for s in (1.0, -1.0)):
        weights[unit, block + columns] = sign * _STEEP * scale[block + columns]
        bias[unit] = sign * _STEEP * mean[block + columns].sum()
    return weights, bias
