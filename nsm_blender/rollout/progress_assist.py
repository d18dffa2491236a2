# SPDX-License-Identifier: GPL-3.0-or-later
"""A root on its way gets on: it makes up for a part of the speed that it lacks, and for the distance that it lags."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Self

from ..models.nsm import CURRENT, DT
from ..planning.path import GroundPath
from .goal_spec import Steer
from .root_filter import Proposal, RootState, moved


@dataclass(frozen=True)
class Assist:
    """How the root is sped up on its way, as by a controller with a proportional and an integral part."""

    share: float = 0.5
    """Share of the speed that is added that the root lacks for where the network foresees it in a second: a network
    that stands foresees a walk long before it dares a step. With 1, starts are quicker and feet slide more."""

    most: float = 0.6
    """Lacking speed in m/s that counts at most."""

    least: float = 0.4
    """Speed in m/s on the way below which the root lags behind, or half the way's own speed where that is less."""

    patience: float = 0.4
    """Meters of lag from which the root is moved on: a character that treads on the spot before a bend lags."""

    lag: float = 1.0
    """Meters of lag at most: the speed that is added is that of the meters beyond `patience`, per second."""

    end: float = 0.4
    """Meters before the end of a way from which nothing is added: the character comes to a stop there."""

    fades: float = 0.6
    """Meters over which it fades before that."""


ASSIST = Assist()


class ProgressAssist:
    """Speeds up a root that follows a way."""

    def __init__(self) -> None:
        self._lag = 0.0
        self._path: GroundPath | None = None

    def fork(self) -> Self:
        """A copy that goes on from here on its own."""
        return copy.copy(self)

    def apply(self, state: RootState, proposal: Proposal) -> Proposal:
        """The proposal, moved on along the way."""
        goal, here, a = state.goal, state.root, ASSIST
        if not isinstance(goal, Steer):
            return proposal
        share = min(max((goal.walker.left - a.end) / a.fades, 0.0), 1.0)
        # A character that looks elsewhere is to turn first.
        share *= max(math.cos(state.samples.facing[CURRENT] - here[3]), 0.0)
        if goal.walker.path is not self._path:
            self._path, self._lag = goal.walker.path, 0.0
        asked = state.samples.place[CURRENT, :2] - here[:2]
        way = asked / max(math.hypot(*asked), 1e-9)
        speed = float((proposal.root[:2] - here[:2]) @ way) / DT
        foreseen = float((proposal.places[-1] - here[:2]) @ way)
        lacking = a.share * min(max(foreseen - speed, 0.0), a.most)
        slow = min(a.least, 0.5 * goal.walker.speed) * share - float(state.motion.velocity @ way)
        self._lag = min(max(self._lag + slow * DT, 0.0), a.lag)
        return moved(proposal, share * (lacking + max(self._lag - a.patience, 0.0)) * DT * way)
