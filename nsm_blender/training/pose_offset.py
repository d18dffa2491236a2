# SPDX-License-Identifier: GPL-3.0-or-later
"""Sequences that begin in the pose of another sequence, and so show transitions that were never recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..motion.easing import critically_damped

ASTRAY = 0.5
"""Share of the sequences that begin in another pose than the recorded one."""
RECOVERY = 8.0
"""Rate in 1/s at which such a pose comes to the recorded one, critically damped: after 0.6 s a twentieth is left."""


@dataclass(frozen=True, eq=False)
class PoseOffset:
    """Offsets (S, n) of poses from recorded ones, as arrays or tensors, which fade as in a critically damped spring: as
    after each command that changes what the character does.

    place: meters of the joints' positions. turn: of their rotations, as a network predicts them. rate, turn_rate:
    changes of these per second.
    """

    place: Any
    rate: Any
    turn: Any
    turn_rate: Any

    def after(self, seconds: float) -> PoseOffset:
        """What is left of them after some time."""
        place, rate = critically_damped(self.place, self.rate, RECOVERY, seconds)
        turn, turn_rate = critically_damped(self.turn, self.turn_rate, RECOVERY, seconds)
        return PoseOffset(place, rate, turn, turn_rate)
