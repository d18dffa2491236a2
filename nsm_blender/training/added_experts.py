# SPDX-License-Identifier: GPL-3.0-or-later
"""Experts that are added to a trained NSM and alone learn an action, so that all else stays as it is.

As the columns of progressive networks (Rusu et al. 2016), but that the gating chooses between old and new: encoders
and old experts are fixed, and units that are added to the gating, with weights that are set and not learned, give all
to the new experts where the labels of the trajectory name the action, and nothing where they do not.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ..errors import UserError
from ..models.nsm import ACTIONS, CONDITION_SIZE, LAYERS, SAMPLES
from ..motion.rotations import Array

EXPERTS = tuple(f"{kind}{layer}" for kind in "wb" for layer in range(LAYERS))
"""Tensors of a weights file that hold the experts, one after the other."""
UNITS = 4
"""Units that are added to each hidden layer of the gating: for labels times the sine of the phase and times the cosine,
and for either sign."""
_STEEP = 10.0
"""Factor on the sum of the labels in the first of these layers, beyond which ELU is about straight."""
_CLEAR = 5.0
"""Logit of the new experts for each unit of what they sum up to."""
_APART = 20.0
"""Logit that the new experts lack where there is no label: their gates are then far below what is read. With labels
that sum up to a half, such as those of the first tenth of a second in which the action is foreseen, they make it
up."""

Tensors = Mapping[str, torch.Tensor]


class AddedExperts:
    """The last `count` experts of a network, which alone learn an action.

    initial: tensors of the network by the names of `models.nsm.shapes`, whose last experts' are any; they begin as
    random mixtures of the others, drawn with `seed`. scaling: mean and scale of the gating's input. fixed: what does
    not learn, without rows for the added experts. learned: their rows, those of the gating without the added units.
    """

    def __init__(
        self, initial: Tensors, scaling: tuple[Array, Array], count: int, action: str, seed: int, device: str
    ) -> None:
        generator = torch.Generator().manual_seed(seed)
        old = len(initial["gating_b2"]) - count
        mixture = torch.rand(count, old, generator=generator)
        mixture = mixture / mixture.sum(1, keepdim=True)
        self.learned = {name: torch.einsum("ck,k...->c...", mixture, initial[name][:old]) for name in EXPERTS}
        self.learned |= {name: torch.zeros_like(initial[name][old:]) for name in ("gating_w2", "gating_b2")}
        fixed = {name: initial[name][:old] if name in self.learned else initial[name] for name in initial}
        fixed |= _with_units(fixed, scaling, ACTIONS.index(action))
        self.fixed = {name: value.to(device) for name, value in fixed.items()}
        self._chooses = torch.tensor([[_CLEAR] + [0.0] * (UNITS - 1)] * count, device=device)

    def network(self, learned: Tensors) -> dict[str, torch.Tensor]:
        """All tensors of the network with the added experts' rows as they are now."""
        more = dict(learned)
        more["gating_w2"] = torch.cat((learned["gating_w2"], self._chooses), dim=1)
        more["gating_b2"] = learned["gating_b2"] - _APART
        return self.fixed | {name: torch.cat((self.fixed[name], value)) for name, value in more.items()}


def _with_units(fixed: Tensors, scaling: tuple[Array, Array], action: int) -> dict[str, torch.Tensor]:
    """The gating's layers (h', ...) with UNITS more in each hidden one, of which the first of the second layer is zero
    without labels of the action and rises with their sum."""
    mean, scale = (torch.from_numpy(part) for part in scaling)
    columns = torch.arange(SAMPLES) * len(ACTIONS) + action
    first, bias = torch.zeros(UNITS, len(mean)), torch.zeros(UNITS)
    for unit, (block, sign) in enumerate((b, s) for b in (0, CONDITION_SIZE) for s in (1.0, -1.0)):
        first[unit, block + columns] = sign * _STEEP * scale[block + columns]
        bias[unit] = sign * _STEEP * mean[block + columns].sum()
    w1, own = fixed["gating_w1"], len(fixed["gating_w1"])
    second = torch.zeros(own + UNITS, own + UNITS)
    second[:own, :own] = w1
    # x + exp(-x) - 1 of the amounts, which the two signs of each add up to.
    second[own, own:] = 1.0
    return {
        "gating_w0": torch.cat((fixed["gating_w0"], first)),
        "gating_b0": torch.cat((fixed["gating_b0"], bias)),
        "gating_w1": second,
        "gating_b1": torch.cat((fixed["gating_b1"], torch.zeros(UNITS))),
        "gating_w2": torch.nn.functional.pad(fixed["gating_w2"], (0, UNITS)),
    }


def check(known: Mapping[str, object], network: str, gating: str) -> None:
    """Raise UserError when there are no experts to add to, or their gating does not tell labels and phase together."""
    if network != "nsm" or gating != "kronecker" or "gating_b2" not in known:
        raise UserError("An action is taught to a trained NSM: name its weights with --from.")
