# SPDX-License-Identifier: GPL-3.0-or-later
"""Jumps with both feet, from where the character stands to where it lands: the trajectory asked for (PFNN 6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..motion.gait import GAITS
from ..motion.root import direction
from ..motion.rotations import Array
from .trajectory import AHEAD, Airborne, Future, Standing, State

_PHASE = 2.9
"""Radians of the cycle from which the character jumps: of twelve phases this is where it bends its knees most before
and hangs least in the air, 0.03 s longer than a body falls, against 0.6 s at the worst."""
_TURNED = 0.3
"""Seconds in which a standing character comes to that phase."""
_ASKED, _LASTS = 1.3, 0.6
"""Seconds from the beginning until the gait is a jump, which the network sees come and bends the knees for, and for
which it is one."""
_FLIES, _FLIGHT = 1.15, 0.48
"""Seconds from the beginning until the feet leave the ground, and for which they are in the air, of the shipped
weights."""
_PUSH = 0.12
"""Seconds before the flight in which the body gains its speed over standing feet, and after it in which it loses it."""
_CATCH = 0.1
"""Seconds within which the root makes up for what it is beside its course."""
_LANDS = 0.3
"""Seconds after the gait was a jump until the character has landed and stands up."""
_NOW_AND_AHEAD = np.concatenate(([0.0], AHEAD))
_JUMP = np.eye(len(GAITS))[GAITS.index("jump")]


@dataclass(frozen=True, eq=False)
class Hop:
    """A jump from a place x, y, z in meters to another or to itself. begun: seconds of the rollout. facing: angle in
    radians that is kept in it.

    The network jumps on level ground. In the air the body is carried evenly along and up or down besides, as a body
    that has pushed off farther or higher falls by the same parabola.
    """

    start: Array
    end: Array
    begun: float
    facing: float

    def is_over(self, time: float) -> bool:
        """Whether the character has landed at a time of the rollout in seconds."""
        return time >= self.begun + _ASKED + _LASTS + _LANDS

    def future(self, state: State) -> Future:
        """The trajectory asked for: stand, fly, and stand."""
        passed = state.time - self.begun
        asked = passed + _NOW_AND_AHEAD
        stands = self.start if passed < _FLIES else self.end
        standing = Standing(stands[:2]).future(state, self.facing)
        gait = standing.gait.copy()
        gait[(asked >= _ASKED) & (asked < _ASKED + _LASTS)] = _JUMP
        shares, rates = _course(asked)
        places = self.start + shares[:, None] * (self.end - self.start)
        moving = rates[:, None] * (self.end - self.start)
        velocity = moving[0, :2] + (places[0, :2] - (state.x, state.y)) / _CATCH
        led = min(max((passed - _FLIES) / _PUSH + 1, 0.0), 1.0)
        return replace(
            standing,
            position=places[1:, :2],
            velocity=moving[1:, :2],
            direction=np.tile(direction(np.array(self.facing)), (len(AHEAD), 1)),
            gait=gait,
            airborne=Airborne(self.start, self.end, float(places[0, 2]), velocity, led),
            phase=_PHASE if passed < _TURNED else None,
        )


def _course(seconds: Array) -> tuple[Array, Array]:
    """Shares (...) of the way that a jump has covered so many seconds from its beginning, and their rates in 1/s."""
    whole = _FLIGHT + 2 * _PUSH
    t, top = np.clip(seconds - (_FLIES - _PUSH), 0, whole), 1 / (_FLIGHT + _PUSH)
    rate = top * np.minimum(np.minimum(t, whole - t) / _PUSH, 1)
    gained, lost = 0.5 * top * np.minimum(t, _PUSH) ** 2 / _PUSH, 0.5 * top * np.minimum(whole - t, _PUSH) ** 2 / _PUSH
    share = gained + top * np.clip(t - _PUSH, 0, _FLIGHT) + np.where(t > _FLIGHT + _PUSH, 0.5 * top * _PUSH - lost, 0)
    return share, rate
