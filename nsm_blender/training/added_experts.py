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
from ..models.nsm_kernels import NEGLIGIBLE
from ..motion.rotations import Array
from .nsm_data import Packed

LEARNED = (*(f"{kind}{layer}" for kind in "wb" for layer in range(LAYERS)), "gating_w2", "gating_b2")
"""Tensors of a weights file with a row for each expert: these alone are learned."""
_LEAST = 0.05
"""Mean gate of an expert in frames of what is taught below which it takes no part, and is not copied: without those of
0.06, 20 boxes were put down 11 cm off their places in the mean, with them 8."""
_FRAMES = 20000
"""Frames, evenly taken, of which the mean gate is that of all."""
_DIRECTIONS = 4
"""Directions in the plane of sine and cosine of the phase along which labels are summed up, so that the sum hardly
depends on the phase."""
_UNITS = 2 * _DIRECTIONS
"""Units that are added to each hidden layer of the gating: for either sign of each of these sums."""
_STEEP = 2.0
"""Factor on the sum of the labels in the first of these layers, with which ELU is about straight from a sum of one."""


@dataclass(frozen=True)
class Switch:
    """How the new experts are chosen. clear: logit for each unit of what the added units sum up to, with which old and
    new blend over a tenth of a second or more: where they took turns in a frame, hands jerked. apart: logit that the
    new experts lack where there is no label, so that their gates are far below what is read."""

    clear: float
    apart: float


_ALONE = Switch(1.15, 16.0)
"""Half of the gates with labels that sum up to 3.5, and none with labels of 0.1 in all samples, as noise has them."""
_TOWARD = Switch(0.23, 22.0)
"""The same for labels of trajectory and goal: half with 19.5 of 26, and nothing where all samples of the one, 13, name
it and none of the other. They blend over as much of the change of a goal as that leaves: over half of it, the head's
jerk in put-downs was half as large again."""

Tensors = Mapping[str, Array]


@dataclass(frozen=True)
class Taught:
    """What is taught: an action, which the labels of the trajectory name. goal: action that the goal names meanwhile,
    "" for any: with a box in the hands and a goal that asks to idle, it is put down."""

    action: str
    goal: str = ""

    @property
    def switch(self) -> Switch:
        """How its experts are chosen."""
        return _TOWARD if self.goal else _ALONE

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
    """In which frames (N,) of the data the new experts are read."""
    condition = np.concatenate((data.frame[:, FRAME.trajectory_action], data.goal[:, GOAL.action]), axis=1)
    named = _STEEP * condition[:, taught.columns].sum(axis=1, dtype=np.float32)
    amounts = named * np.stack([np.cos(data.phase - direction) for direction in _directions()])
    # ELU adds up to x + exp(-x) - 1 over the two signs of each amount x.
    summed = (np.abs(amounts) + np.exp(-np.abs(amounts)) - 1).sum(axis=0)
    out: Array = taught.switch.clear * summed - taught.switch.apart > np.log(NEGLIGIBLE)
    return out


def learned_from(data: Packed, taught: Taught) -> Array:
    """From which frames (N,) of the data the new experts learn: those of the action, whatever the goal asks for. From
    those alone in which they are read, 2 of 40 boxes were not put down and 38 7.8 cm off; from all, 40 and 5.9 cm."""
    return active(data, Taught(taught.action))


def used(data: Packed, network: Mapping[str, torch.Tensor], scaling: tuple[Array, Array], taught: Taught) -> list[int]:
    """Numbers of the experts that take part in what is taught. scaling: mean and scale of the gating's input. Raises
    UserError when no frame shows it."""
    rows = np.flatnonzero(learned_from(data, taught))
    if not active(data, taught).any():
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
    chooses[:, 0] = taught.switch.clear
    out = dict(old) | {name: np.concatenate((old[name], new[name])) for name in LEARNED}
    return out | {
        "gating_w0": np.concatenate((old["gating_w0"], first)),
        "gating_b0": np.concatenate((old["gating_b0"], bias)),
        "gating_w1": second,
        "gating_b1": np.pad(old["gating_b1"], (0, _UNITS)),
        "gating_w2": np.concatenate(
            (np.pad(old["gating_w2"], ((0, 0), (0, _UNITS))), np.concatenate((new["gating_w2"], chooses), axis=1))
        ),
        "gating_b2": np.concatenate((old["gating_b2"], new["gating_b2"] - taught.switch.apart)),
    }


def _units(mean: Array, scale: Array, columns: Array) -> tuple[Array, Array]:
    """Weights (_UNITS, n') and biases (_UNITS,) of units for the sum of some columns of X', of normalized input."""
    weights, bias = np.zeros((_UNITS, len(mean)), dtype=np.float32), np.zeros(_UNITS, dtype=np.float32)
    for unit, (direction, sign) in enumerate((d, s) for d in _directions() for s in (1.0, -1.0)):
        for block, along in ((0, np.sin(direction)), (CONDITION_SIZE, np.cos(direction))):
            weights[unit, block + columns] = sign * _STEEP * along * scale[block + columns]
            bias[unit] += sign * _STEEP * along * mean[block + columns].sum()
    return weights, bias


def _directions() -> Array:
    """Angles (_DIRECTIONS,) over half a turn."""
    return np.arange(_DIRECTIONS) * np.pi / _DIRECTIONS
