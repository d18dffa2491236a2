# SPDX-License-Identifier: GPL-3.0-or-later
"""A root gets on, on its way and to its stand: it makes up for speed that it lacks, and for distance that it lags."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Self

from ..models.nsm import CURRENT, DT
from ..planning.path import GroundPath
from .goal_spec import Reach, Steer
from .root_filter import Proposal, RootState, moved


@dataclass(frozen=True)
class Assist:
    """How the root is sped up, as by a controller with a proportional and an integral part."""

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
    """Meters before the end from which nothing is added: the character comes to a stop there."""

    fades: float = 0.6
    """Meters over which it fades before that."""


WAY = Assist()
"""On a way."""
STAND = Assist(share=0.0, least=0.3, patience=0.1, end=0.05, fades=0.1)
"""To where a thing is used. There the goal-centric prediction may lead back as fast as the network goes on, and the
character treads on the spot for up to 9 s; a character that comes by itself at 0.3 m/s is left alone. Led all the way,
48 grasps on development furniture ended 5.5 cm off instead of 3.0: the last centimeters depend on the thing."""


class ProgressAssist:
    """Speeds up a root that follows a way, or comes to where it uses a thing that it stands before."""

    def __init__(self) -> None:
        self._lag = 0.0
        self._way: GroundPath | Reach | None = None

    def fork(self) -> Self:
        """A copy that goes on from here on its own."""
        return copy.copy(self)

    def apply(self, state: RootState, proposal: Proposal) -> Proposal:
        """The proposal, moved on along the way."""
        goal, here = state.goal, state.root
        if isinstance(goal, Steer):
            a, left, least = WAY, goal.walker.left, min(WAY.least, 0.5 * goal.walker.speed)
            asked, new = state.samples.place[CURRENT, :2] - here[:2], goal.walker.path is not self._way
            self._way = goal.walker.path
        elif isinstance(goal, Reach) and goal.standoff > 0:
            a, left, least = STAND, goal.away(here[:2]), STAND.least
            asked, new = goal.stand - here[:2], goal is not self._way
            self._way = goal
        else:
            return proposal
        if new:
            self._lag = 0.0
        share = min(max((left - a.end) / a.fades, 0.0), 1.0)
        # A character that looks elsewhere is to turn first.
        share *= max(math.cos(state.samples.facing[CURRENT] - here[3]), 0.0)
        way = asked / max(math.hypot(*asked), 1e-9)
        speed = float((proposal.root[:2] - here[:2]) @ way) / DT
        foreseen = float((proposal.places[-1] - here[:2]) @ way)
        lacking = a.share * min(max(foreseen - speed, 0.0), a.most)
        slow = least * share - float(state.motion.velocity @ way)
        self._lag = min(max(self._lag + slow * DT, 0.0), a.lag)
        return moved(proposal, share * (lacking + max(self._lag - a.patience, 0.0)) * DT * way)
