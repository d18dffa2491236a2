# SPDX-License-Identifier: GPL-3.0-or-later
"""A root on its way gets on: it makes up for a part of the speed that it lacks for where the network foresees it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..models.nsm import CURRENT
from .goal_spec import Steer
from .root_filter import DT, Proposal, RootState, moved


@dataclass(frozen=True)
class Assist:
    """How much of the lacking speed is made up for."""

    share: float = 0.5
    """Share of the lacking speed: a network that stands foresees a walk long before it dares a step, and stops last up
    to 5 s without this. With 1, starts are a third of a second quicker and feet slide more."""

    most: float = 0.6
    """Lacking speed in m/s that counts at most."""

    end: float = 0.4
    """Meters before the end of a way from which nothing is added: the character comes to a stop there."""

    fades: float = 0.6
    """Meters over which it fades before that."""


ASSIST = Assist()


class ProgressAssist:
    """Speeds up a root that follows a way."""

    def apply(self, state: RootState, proposal: Proposal) -> Proposal:
        """The proposal, moved towards where the root will be in a second by the network's own prediction."""
        if not isinstance(state.goal, Steer):
            return proposal
        here = state.root
        left = float(np.linalg.norm(state.samples.place[-1, :2] - here[:2]))
        share = min(max((left - ASSIST.end) / ASSIST.fades, 0.0), 1.0)
        # A character that looks elsewhere is to turn first.
        share *= max(math.cos(state.samples.facing[CURRENT] - here[3]), 0.0)
        ahead = proposal.places[-1] - here[:2]
        far = math.hypot(*ahead)
        speed = math.hypot(*(proposal.root[:2] - here[:2])) / DT
        lacking = min(max(far - speed, 0.0), ASSIST.most)
        return moved(proposal, ASSIST.share * share * lacking * DT / max(far, 1e-9) * ahead)

    def fork(self) -> Self:
        """Itself: it keeps nothing."""
        return self
