# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a key of a shot: when it was done, how exactly, and what was in the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..motion.rotations import wrap_angle

UNFINISHED = "The shot ends before this is done."


@dataclass
class Outcome:
    """What became of one key. set_off, arrived, done: frames of the shot, None for what did not happen.

    late: frames by which the character set off after the key's start, because the key before was not done. asked: frame
    at which it was to arrive, None whenever.

    place, facing: where it was to stand, or to use a thing, meters and radians (facing None: any). error_cm,
    error_deg: how far off it was when done. trouble: why the goal was not reached, empty when it was.
    """

    action: str
    goal: str
    set_off: int | None = None
    arrived: int | None = None
    done: int | None = None
    late: int = 0
    asked: int | None = None
    place: list[float] | None = None
    facing: float | None = None
    error_cm: float | None = None
    error_deg: float | None = None
    trouble: str = ""

    def note(self, error_cm: float | None, turn: float | None) -> None:
        """Keep by how much the character is off: centimeters, radians."""
        self.error_cm = error_cm
        self.error_deg = None if turn is None else math.degrees(abs(float(wrap_angle(np.array(turn)))))
