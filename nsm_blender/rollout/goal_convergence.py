# SPDX-License-Identifier: GPL-3.0-or-later
"""The root converges to a goal that is a place: it follows the goal-centric prediction, the faster the nearer (4.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from ..models.nsm import DT
from ..motion.rotations import wrap_angle
from .root_filter import Proposal, RootState, limited, moved


@dataclass(frozen=True)
class Convergence:
    """How fast the root follows the goal-centric prediction."""

    rate: float = 3.0
    """Rate in 1/s where a thing is used, elsewhere 1. Chosen on development furniture: with 1 there too, 12 sits ended
    4.2 cm off instead of 2.8, and 8 grasps 8.2 instead of 4.4."""

    speed: float = 0.5
    """Greatest speed in m/s far from things: a goal that changes must not drag a body that stands."""

    speed_near: float = 2.5
    """Greatest speed in m/s where a thing is used, before the root's limits: with 0.5 there too, 24 grasps on
    development furniture ended 4.6 cm off instead of 3.1, and 3 of 36 sits took longer than 12 s."""

    place_rate: float = 1.5
    """Rate in 1/s at which the root comes to the very place where it is to be: the middle of a gap, or where the
    character is to stand."""

    place_speed: float = 0.2
    """Greatest speed in m/s of that, a slow sidestep."""

    turn_rate: float = 2.0
    """Rate in 1/s at which the root turns to the goal's facing where a thing is used: the goal-centric prediction alone
    leaves 2 to 3 degrees."""

    turned: float = 0.35
    """Radians from the goal's facing beyond which turning is left to the network, which is busy with it."""


CONVERGENCE = Convergence()


class GoalConvergence:
    """Moves the root by what the goal-centric prediction moves its future by."""

    def apply(self, state: RootState, proposal: Proposal) -> Proposal:
        """The proposal, moved toward the goal."""
        near, c = state.goal.nearness(proposal.places[-1]), CONVERGENCE
        # On a way the prediction lags behind: it would hold the root back in bends.
        rate = 1 + (c.rate - 1) * near if state.goal.is_place else 0.0
        velocity = limited(rate * state.pull, c.speed + (c.speed_near - c.speed) * near)
        offset, share = state.goal.offset(state.root)
        velocity = velocity + share * limited(c.place_rate * offset, c.place_speed)
        left = float(wrap_angle(state.samples.facing[-1] - proposal.root[3]))
        square = c.turn_rate * near * left * math.exp(-((left / c.turned) ** 2))
        return moved(proposal, velocity * DT, (rate * state.pull_turn + square) * DT)

    def fork(self) -> Self:
        """Itself: it keeps nothing."""
        return self
