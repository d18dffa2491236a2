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

    evasion: float = 12.0
    """Acceleration in m/s^2 with which the root is led off what is in its way, no less than it is held back there."""

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

    @staticmethod
    def between(before: Array, root: Array) -> RootMotion:
        """The motion of a root (4,) that was at `before` (4,) in the last frame."""
        return RootMotion((root[:2] - before[:2]) * FPS, float(root[3] - before[3]) * FPS)

    def limited(self, before: Array, root: Array, top: float, band: tuple[float, float], towards: float) -> Array:
        """Where a root (4,) comes that moved like this until `before` (4,) and is to go to `root` (4,) in a frame.

        top: greatest speed in m/s. band: radians, none above and none below 0, from the present facing to the farthest
        of those that are asked for to the right and to the left. towards: radians to the one that is asked for now.
        """
        wanted = RootMotion.between(before, root)
        velocity = wanted.velocity * min(top / max(float(np.linalg.norm(wanted.velocity)), 1e-9), 1.0)
        turn, limits = wanted.turn, LIMITS
        asked = math.copysign(min(limits.turn_gain * abs(towards), limits.asked_turn), towards)
        if (asked - turn) * towards > 0:
            turn += limits.follow * (asked - turn)
        turn = min(max(turn, -_allowed_turn(-band[0])), _allowed_turn(band[1]))
        most = limits.turn_acceleration * _DT
        out = np.array(root)
        out[:2] = before[:2] + self._ramped(velocity, limits.acceleration) * _DT
        out[3] = before[3] + (self.turn + min(max(turn - self.turn, -most), most)) * _DT
        return out

    def diverted(self, before: Array, free: Array, root: Array, top: float) -> Array:
        """Place (2,) of a root that is led from `free` (4,), to which it would come, to `root` (4,) by what is in its
        way: what leads it so comes first where both together were faster than `top` m/s."""
        aside, own = (root[:2] - free[:2]) * FPS, (free[:2] - before[:2]) * FPS
        squared, along = float(own @ own), float(aside @ own)
        spare = top**2 - float(aside @ aside)
        share = (math.sqrt(max(along**2 + squared * spare, 0.0)) - along) / max(squared, 1e-9)
        velocity = aside + min(max(share, 0.0), 1.0) * own
        out: Array = before[:2] + self._ramped(velocity, LIMITS.evasion) * _DT
        return out

    def _ramped(self, velocity: Array, acceleration: float) -> Array:
        """The velocity (2,) a frame later of a root that is to have another one."""
        change = velocity - self.velocity
        most = acceleration * _DT
        out: Array = self.velocity + change * min(most / max(float(np.linalg.norm(change)), 1e-9), 1.0)
        return out


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
