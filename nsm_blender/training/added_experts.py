# SPDX-License-Identifier: GPL-3.0-or-later
"""Experts that are added to a trained NSM and alone learn an action, so that all else stays as it is.

As the columns of progressive networks (Rusu et al. 2016), but that the gating chooses between old and new: the
encoders, the old experts and the old part of the gating are fixed, and the new experts' share is taught: one where
the action is done or near, else none.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ..errors import UserError
from ..models.nsm import ACTIONS, FRAME, LAYERS, gate

BY_EXPERT = (*(f"{kind}{layer}" for kind in "wb" for layer in range(LAYERS)), "gating_w2", "gating_b2")
"""Tensors of a weights file with a row for each expert."""

_LEAST = 1e-6
"""Least share that is told apart from none."""

Tensors = Mapping[str, torch.Tensor]


class AddedExperts:
    """The last `count` experts of a network, which alone learn an action.

    initial: tensors of the network by the names of `models.nsm.shapes`, whose last experts' are any; they begin as
    random mixtures of the others, drawn with `seed`. fixed: what does not learn, without rows for the added experts.
    learned: the added experts' rows.
    """

    def __init__(self, initial: Tensors, count: int, action: str, seed: int, device: str) -> None:
        self._count, self._action = count, ACTIONS.index(action)
        generator = torch.Generator().manual_seed(seed)
        old = len(initial["gating_b2"]) - count
        mixture = torch.rand(count, old, generator=generator)
        mixture = mixture / mixture.sum(1, keepdim=True)
        self.fixed, self.learned = dict[str, torch.Tensor](), dict[str, torch.Tensor]()
        for name, value in initial.items():
            if name not in BY_EXPERT:
                self.fixed[name] = value.to(device)
                continue
            self.fixed[name] = value[:old].to(device)
            self.learned[name] = torch.einsum("ck,k...->c...", mixture, value[:old])

    def network(self, learned: Tensors) -> dict[str, torch.Tensor]:
        """All tensors of the network with the added experts' rows as they are now."""
        return self.fixed | {name: torch.cat((self.fixed[name], value)) for name, value in learned.items()}

    def mistaken(self, network: Tensors, frame: torch.Tensor, gating: torch.Tensor) -> torch.Tensor:
        """Mean cross entropy () between the share of the added experts in frames and the largest label of the action on
        their trajectories, a second back and ahead. frame: (N, FRAME.size) in natural units, gating: (N, n')
        normalized."""
        share = gate(network, gating)[:, -self._count :].sum(1).clamp(_LEAST, 1 - _LEAST)
        labels = frame[:, FRAME.trajectory_action].reshape(len(frame), *FRAME.shape("trajectory_action"))
        return torch.nn.functional.binary_cross_entropy(share, labels[..., self._action].amax(1).clamp(0, 1))


def check(known: Mapping[str, object], network: str) -> None:
    """Raise UserError when there are no experts to add to."""
    if network != "nsm" or not known:
        raise UserError("An action is taught to a trained NSM: name its weights with --from.")
