# SPDX-License-Identifier: GPL-3.0-or-later
"""Experts that are added to a trained NSM and alone learn an action, so that all else stays as it is.

As the columns of progressive networks (Rusu et al. 2016), but that the gating chooses between old and new: the new
experts begin as copies of those old ones that take part in the action, and so does their part of the gating. Units that
are added to the gating, with weights that are set and not learned, give all to the new experts where the labels of the
trajectory name the action, and those of the goal name another one, if one was said, and nothing where they do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from ..errors import UserError
from ..models.nsm import (
    ACTIONS,
    CONDITION_SIZE,
    FRAME,
    GOAL,
    GOAL_ACTIONS,
    LAYERS,
    SAMPLES,
    gate,
    gating_input,
)
from ..motion.rotations import Array
from .nsm_data import Packed

LEARNED = (*(f"{kind}{layer}" for kind in "wb" for layer in range(LAYERS)), "gating_w2", "gating_b2")
"""Tensors of a weights file with a row for each expert: these alone are learned."""
_LEAST = 0.05
"""Mean gate of an expert in frames of what is taught below which it takes no part, and is not copied."""
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
_APART_TOWARD = 215.0
"""The same where labels of trajectory and goal are summed up: those of all samples of the one, 13, do not make it up,
and 15 to 21 do."""

Tensors = Mapping[str, Array]


@dataclass(frozen=True)
class Taught:
    """What is taught: an action, which the labels of the trajectory name. goal: action that the goal names meanwhile,
    "" for any: with a box in the hands and a goal that asks to idle, it is put down."""

    action: str
    goal: str = ""

    @property
    def apart(self) -> float:
        """Logit that the new experts lack where nothing of it is named."""
        return _APART_TOWARD if self.goal else _APART

    @property
    def columns(self) -> Array:
        """Numbers of the gating's condition X' that name it."""
        samples = np.arange(SAMPLES)
        out = samples * len(ACTIONS) + ACTIONS.index(self.action)
        if self.goal:
            asked = SAMPLES * len(ACTIONS) + samples * len(GOAL_ACTIONS) + GOAL_ACTIONS.index(self.goal)
            out = np.concatenate((out, asked))
        return out


def check(known: Mapping[str, object], network: str, gating: str) -> None:
    """Raise UserError when there are no experts to add to, or their gating does not tell labels and phase together."""
    if network != "nsm" or gating != "kronecker" or "gating_b2" not in known:
        raise UserError("An action is taught to a trained NSM: name its weights with --from.")


def active(data: Packed, taught: Taught) -> Array:
    """Which frames (N,) of the data the new experts have."""
    condition = np.concatenate((data.frame[:, FRAME.trajectory_action], data.goal[:, GOAL.action]), axis=1)
    named = _STEEP * condition[:, taught.columns].sum(axis=1, dtype=np.float32)
    amounts = np.stack((named * np.sin(data.phase), named * np.cos(data.phase)))
    # ELU adds up to x + exp(-x) - 1 over the two signs of each amount x.
    summed = (np.abs(amounts) + np.exp(-np.abs(amounts)) - 1).sum(axis=0)
    out: Array = _CLEAR * summed > taught.apart
    return out


def used(data: Packed, network: Mapping[str, torch.Tensor], scaling: tuple[Array, Array], taught: Taught) -> list[int]:
    """Numbers of the experts that take part in what is taught. scaling: mean and scale of the gating's input. Raises
    UserError when no frame shows it."""
    rows = np.flatnonzero(active(data, taught))
    if not len(rows):
        toward = f" toward {taught.goal}" if taught.goal else ""
        raise UserError(f"No frame of the episodes shows what is taught, {taught.action}{toward}.")
    rows = rows[:: -(-len(rows) // _FRAMES)]
    frame, goal = data.frame[rows].astype(np.float32), data.goal[rows].astype(np.float32)
    mean, scale = scaling
    x = (gating_input(frame, goal, data.phase[rows]) - mean) / scale
    shares = gate(network, torch.from_numpy(x.astype(np.float32))).mean(0)
    return np.flatnonzero(shares.numpy() >= _LEAST).tolist()


def joined(old: Tensors, new: Tensors, taught: Taught) -> dict[str, Array]:
    """The tensors of a weights file with the experts of two that differ in LEARNED alone: the first one's, and after
    them the second one's, which were taught something."""
    first, bias = _units(old["gating_mean"], old["gating_scale"], taught.columns)
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
        "gating_b2": np.concatenate((old["gating_b2"], new["gating_b2"] - taught.apart)),
    }


def _units(mean: Array, scale: Array, columns: Array) -> tuple[Array, Array]:
    """Weights (_UNITS, n') and biases (_UNITS,) of units for the sum of some columns of X', of normalized input."""
    weights, bias = np.zeros((_UNITS, len(mean)), dtype=np.float32), np.zeros(_UNITS, dtype=np.float32)
    for unit, (block, sign) in enumerate((b, s) for b in (0, CONDITION_SIZE) for s in (1.0, -1.0)):
        weights[unit, block + columns] = sign * _STEEP * scale[block + columns]
        bias[unit] = sign * _STEEP * mean[block + columns].sum()
    return weights, bias
