# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches of the NSM's training: packed frames as tensors, normalized."""

from __future__ import annotations

import numpy as np
import torch

from ..models.layout import Layout
from ..models.nsm import (
    CELLS,
    ENVIRONMENT,
    FRAME,
    GOAL,
    INTERACTION,
    OCCUPANCY,
    OUTPUT,
    TO_ROOT,
)
from ..models.nsm_baselines import CONDITION_SIZES, Condition, condition
from ..motion.rotations import Array
from ..rollout.nsm_features import CORNERS
from .anchored_hands import weights
from .nsm_data import OCCUPANCY_STEPS, Packed

_CORNER_CELLS = np.array([0, (CELLS - 1) * CELLS * CELLS, (CELLS - 1) * CELLS, CELLS - 1])
"""Cells whose vectors are those of `nsm_features.corner_vectors`."""
INTERACTION_USED = np.concatenate(
    (
        np.arange(CELLS**3) * INTERACTION.shape("cell")[1] + OCCUPANCY,
        (_CORNER_CELLS[:, None] * INTERACTION.shape("cell")[1] + np.arange(3)[TO_ROOT]).ravel(),
    )
)
"""The numbers of the interaction input that training reads: all occupancies, and the vectors from which those of all
cells follow, so that what is learned is as general as with all 2048 at a quarter of the cost."""
_STATISTICS = 20000
"""Frames, evenly taken, of which the statistics of the normalization are those of all."""


Raw = dict[str, torch.Tensor]


class Batches:
    """Rows of packed data, which lies on a device as it is packed. scaling: mean and scale of each input, of the gating
    and of the output. gating: what it reads; None of a network without one."""

    def __init__(
        self, data: Packed, scaling: dict[str, tuple[Array, Array]], gating: Condition | None, device: str
    ) -> None:
        # Arrays that are mapped from a file are copied.
        self._data = {
            name: torch.from_numpy(np.require(value, requirements="W")).to(device) for name, value in vars(data).items()
        }
        self._gating, self._last = gating, len(data) - 1
        self._anchored = [torch.from_numpy(one).to(device) for one in weights(data)]
        self._scaling = {
            name: (torch.from_numpy(mean).to(device), torch.from_numpy(scale).to(device))
            for name, (mean, scale) in scaling.items()
        }

    def raw(self, rows: torch.Tensor) -> tuple[Raw, torch.Tensor, torch.Tensor]:
        """Inputs by encoder, phase and outputs of rows (N,) on the device, all in natural units; past the end those of
        the last row."""
        rows = rows.clamp(max=self._last)
        frame, goal, occupied, corners, around, phase, output = (
            self._data[name][rows].float()
            for name in ("frame", "goal", "occupied", "corners", "around", "phase", "output")
        )
        raw = {
            "frame": frame,
            "goal": goal,
            "interaction": torch.cat((occupied / OCCUPANCY_STEPS, corners), dim=1),
            "environment": around / OCCUPANCY_STEPS,
        }
        return raw, phase, output

    def kind(self, rows: torch.Tensor) -> torch.Tensor:
        """Numbers (N,) of the kinds of episodes of rows (N,) on the device."""
        return self._data["kind"][rows].long()

    def anchored(self, rows: torch.Tensor, later: bool = False) -> torch.Tensor:
        """How far the hands are with what they touch, (N, 2) 0 to 1, in the frames that are predicted from rows (N,) on
        the device, or a second after them; see `anchored_hands`."""
        return self._anchored[later][rows.clamp(max=self._last)]

    def normalized(
        self, raw: Raw, phase: torch.Tensor, without: list[str], half: bool
    ) -> tuple[Raw, torch.Tensor | None]:
        """Inputs of the network, in bfloat16 if `half`, and of its gating. without: encoders that get zeros."""
        inputs = {name: self.normal(name, value) for name, value in raw.items()}
        for name in without:
            inputs[name] = torch.zeros_like(inputs[name])
        if half:
            inputs = {name: value.to(torch.bfloat16) for name, value in inputs.items()}
        if self._gating is None:
            return inputs, None
        return inputs, self.normal("gating", condition(self._gating, raw["frame"], raw["goal"], phase))

    def natural(self, name: str, value: torch.Tensor) -> torch.Tensor:
        """A normalized value in natural units."""
        mean, scale = self._scaling[name]
        return value * scale + mean

    def normal(self, name: str, value: torch.Tensor) -> torch.Tensor:
        """A value in natural units, normalized."""
        mean, scale = self._scaling[name]
        return (value - mean) / scale

    def scale(self, name: str) -> torch.Tensor:
        """Natural units of one normalized unit."""
        return self._scaling[name][1]


def statistics(data: Packed, gating: Condition | None) -> dict[str, tuple[Array, Array]]:
    """Mean and scale by input, of the gating, where there is one, and of the output; one deviation for all numbers of a
    piece, so that small ones carry no noise."""
    rows = np.linspace(0, len(data) - 1, min(_STATISTICS, len(data))).astype(int)
    frame, goal = data.frame[rows].astype(np.float64), data.goal[rows].astype(np.float64)
    occupied = data.occupied[rows] / OCCUPANCY_STEPS
    interaction = Layout(occupied=(CELLS**3,), corners=(CORNERS, 3))
    values = {
        "frame": (frame, FRAME),
        "goal": (goal, GOAL),
        "interaction": (np.concatenate((occupied, data.corners[rows]), axis=1), interaction),
        "environment": (data.around[rows] / OCCUPANCY_STEPS, ENVIRONMENT),
        "output": (data.output[rows].astype(np.float64), OUTPUT),
    }
    if gating is not None:
        read = condition(gating, frame, goal, data.phase[rows].astype(np.float64))
        values["gating"] = (read, Layout(condition=(CONDITION_SIZES[gating],)))
    out = {}
    for name, (value, layout) in values.items():
        scale = np.ones(layout.size)
        for piece in layout.shapes:
            part = getattr(layout, piece)
            scale[part] = float(value[:, part].std(0).mean()) or 1.0
        out[name] = (value.mean(0).astype(np.float32), scale.astype(np.float32))
    return out
