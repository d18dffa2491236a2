# SPDX-License-Identifier: GPL-3.0-or-later
"""One limit for all that moves the root: speed and acceleration of recorded people, and turning to one side only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..models.nsm import DT
from ..motion.root import to_local, to_world
from ..motion.rotations import Array, wrap_angle
from .root_filter import Proposal, RootMotion, RootState, limited


@dataclass(frozen=True)
class Limits:
    """How recorded people move their roots: walking, starting, stopping, turning, sitting down and lifting."""

    acceleration: float = 6.5
    """Acceleration of the root over the ground in m/s^2: the recorded 99th percentile below 1.8 m/s is 3 to 9."""

    turn: float = 3.0
    """Turning of the root in rad/s: the recorded 99th percentile is 2.2 to 3.0."""

    turn_acceleration: float = 10.0
    """Change of the turning in rad/s^2: the recorded 99.9th percentile is 5 to 17."""

    turn_braking: float = 5.0
    """Change of the turning in rad/s^2 with which it ends at the facing that is asked for."""

    asked_turn: float = 1.8
    """Turning in rad/s toward the facing that is asked for: the recorded 95th percentile is 1.4 to 2.3."""

    turn_gain: float = 1.5
    """Rate in 1/s at which the facing comes to the one that is asked for."""

    follow: float = 0.4
    """Share of the turning that the network lacks which is made up for."""


LIMITS = Limits()


class RootLimits:
    """Limits the root's speed, acceleration and turning."""

    def apply(self, state: RootState, proposal: Proposal) -> Proposal:
        """A proposal that goes no faster than the goal allows and turns to no side that is not asked for."""
        band, toward = asked_turns(state)
        root = root_within(state.motion, state.root, proposal.root, state.goal.speed_limit(state.root), band, toward)
        local = to_local(proposal.places - proposal.root[:2], float(proposal.root[3]))
        ahead = np.asarray(wrap_angle(proposal.facings - proposal.root[3]))
        return Proposal(root, to_world(local, float(root[3])) + root[:2], root[3] + ahead)

    def fork(self) -> Self:
        """Itself: it keeps nothing."""
        return self


def root_within(
    motion: RootMotion, before: Array, root: Array, top: float, band: tuple[float, float], toward: float
) -> Array:
    """Where a root (4,) comes that moved like this until `before` (4,) and is to go to `root` (4,) in a frame.

    top: greatest speed in m/s. band: radians, none above and none below 0, from the present facing to the farthest of
    those that are asked for to the right and to the left. toward: radians to the one that is asked for now.
    """
    wanted = RootMotion.between(before, root)
    change = limited(limited(wanted.velocity, top) - motion.velocity, LIMITS.acceleration * DT)
    turn = wanted.turn
    asked = math.copysign(min(LIMITS.turn_gain * abs(toward), LIMITS.asked_turn), toward)
    if (asked - turn) * toward > 0:
        turn += LIMITS.follow * (asked - turn)
    turn = min(max(turn, -_allowed_turn(-band[0])), _allowed_turn(band[1]))
    most = LIMITS.turn_acceleration * DT
    out = np.array(root)
    out[:2] = before[:2] + (motion.velocity + change) * DT
    out[3] = before[3] + (motion.turn + min(max(turn - motion.turn, -most), most)) * DT
    return out


def asked_turns(state: RootState) -> tuple[tuple[float, float], float]:
    """Radians from the root's facing to the farthest facings that are asked for, to the right (0 or less) and to the
    left (0 or more), and to the one that is asked for now."""
    yaw = float(state.root[3])
    turns, now = [0.0, *(state.samples.facing - yaw).tolist()], state.samples.turned - yaw
    way, share = state.goal.heading(state.root)
    turns.append(way)
    return (min(turns), max(turns)), (1 - share) * now + share * way


def _allowed_turn(left: float) -> float:
    """rad/s of turning to a side on which the farthest facing that is asked for is `left` radians away."""
    return min(math.sqrt(2 * LIMITS.turn_braking * left), LIMITS.turn)
