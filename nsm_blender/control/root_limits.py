# SPDX-License-Identifier: GPL-3.0-or-later
"""One limit for all that moves the root: speed and acceleration of recorded people, and turning to one side only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..models.nsm import FPS
from ..motion.root import to_local, to_world
from ..motion.rotations import Array, wrap_angle

_DT = 1.0 / FPS


@dataclass(frozen=True)
class RootLimits:
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
    """Turning in rad/s towards the facing that is asked for: the recorded 95th percentile is 1.4 to 2.3."""

    turn_gain: float = 1.5
    """Rate in 1/s at which the facing comes to the one that is asked for."""

    follow: float = 0.4
    """Share of the turning that the network lacks which is made up for."""

    sway: float = 0.5
    """Turning in rad/s that is left to the gait in either direction whatever is asked for."""

    overshoot: float = 0.25
    """Radians by which the facing that is foreseen may lie beyond the facings that are asked for."""


LIMITS = RootLimits()


@dataclass(frozen=True, eq=False)
class RootMotion:
    """Velocity (2,) of the root in m/s in the world, and its turning in rad/s."""

    velocity: Array
    turn: float = 0.0

    def limited(
        self, before: Array, root: Array, top: float, band: tuple[float, float], towards: float
    ) -> tuple[RootMotion, Array]:
        """The motion a frame later and the root (4,) that it leads to, for a root that is to go from `before` to
        `root` (4,).

        top: greatest speed in m/s. band: radians, none above and none below 0, from the present facing to the farthest
        of those that are asked for to the right and to the left. towards: radians to the one that is asked for now.
        """
        limits = LIMITS
        wanted = (root[:2] - before[:2]) * FPS
        wanted = wanted * min(top / max(float(np.linalg.norm(wanted)), 1e-9), 1.0)
        change = wanted - self.velocity
        most = limits.acceleration * _DT
        velocity = self.velocity + change * min(most / max(float(np.linalg.norm(change)), 1e-9), 1.0)
        turn = float(root[3] - before[3]) * FPS
        asked = math.copysign(min(limits.turn_gain * abs(towards), limits.asked_turn), towards)
        if (asked - turn) * towards > 0:
            turn += limits.follow * (asked - turn)
        turn = min(max(turn, -_allowed_turn(-band[0])), _allowed_turn(band[1]))
        most = limits.turn_acceleration * _DT
        turn = self.turn + min(max(turn - self.turn, -most), most)
        out = np.array(root)
        out[:2] = before[:2] + velocity * _DT
        out[3] = before[3] + turn * _DT
        return RootMotion(velocity, turn), out


def _allowed_turn(left: float) -> float:
    """rad/s of turning to a side on which the farthest facing that is asked for is `left` radians away."""
    return min(LIMITS.sway + math.sqrt(2 * LIMITS.turn_braking * left), LIMITS.turn)


def moved_along(
    place: Array, facing: Array, proposed: Array, root: Array, band: tuple[float, float]
) -> tuple[Array, Array]:
    """Future places (6, 2) and facings (6,) of a root that came to `root` (4,) in place of `proposed` (4,): the same as
    seen from the root, with facings inside the band of those that are asked for, see `RootMotion.limited`."""
    local = to_local(place - proposed[:2], float(proposed[3]))
    out = to_world(local, float(root[3])) + root[:2]
    ahead = np.asarray(wrap_angle(facing - proposed[3]))
    ahead = np.clip(ahead, band[0] - LIMITS.overshoot, band[1] + LIMITS.overshoot)
    return out, root[3] + ahead
