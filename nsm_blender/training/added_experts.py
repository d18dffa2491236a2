# SPDX-License-Identifier: GPL-3.0-or-later
"""Experts that are added to a trained NSM and alone learn an action, so that all else stays as it is.

As the columns of progressive networks (Rusu et al. 2016), but that the gating chooses between old and new: the
encoders, the old experts and the old part of the gating are fixed, and the new experts' share is kept near zero
wherever the action is neither done nor near.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ..errors import UserError
from ..models.nsm import ACTIONS, FRAME, LAYERS, gate

BY_EXPERT = (*(f"{kind}{layer}" for kind in "wb" for layer in range(LAYERS)), "gating_w2", "gating_b2")
"""Tensors of a weights file with a row for each expert."""

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

    def intrusion(self, network: Tensors, frame: torch.Tensor, gating: torch.Tensor) -> torch.Tensor:
        """Mean cost () of the share that the added experts have in frames whose trajectory, a second back and ahead,
        bears no label of the action: minus the logarithm of what is left to the others. frame: (N, FRAME.size) in
        natural units, gating: (N, n') normalized."""
        share = gate(network, gating)[:, -self._count :].sum(1)
        labels = frame[:, FRAME.trajectory_action].reshape(len(frame), *FRAME.shape("trajectory_action"))
        away = 1 - labels[..., self._action].amax(1).clamp(0, 1)
        return (away * -torch.log1p(-share.clamp(max=1 - 1e-6))).mean()


def check(known: Mapping[str, object], network: str) -> None:
    """Raise UserError when there are no experts to add to."""
    if network != "nsm" or not known:
        raise UserError("An action is taught to a trained NSM: name its weights with --from.")
