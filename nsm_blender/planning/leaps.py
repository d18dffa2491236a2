# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaps over gaps that a path crosses: the run-up, and where a jump is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .path_on_ground import LEAST_LANDING, Gap

SPEED = 2.2
"""m/s of a run-up: people jog up to a leap; from slower ones leaps hang in the air, and few are recorded of faster."""
RUN_UP = 2.0
"""Meters before a gap from which the character runs up, where there is as much room."""
_BEHIND = 0.1
"""Meters before the far edge up to which a jump is asked for."""
_BEFORE, _LANDED = 0.8, 0.8
"""Meters before a gap, a step, and behind it between which the network that jumps leads."""
_STANDING = 0.05
"""Speed in m/s that is asked for below which a character stands, also on a run-up."""


@dataclass(frozen=True)
class Leap:
    """A leap over a gap. run_up: arc length in meters at which its run-up begins."""

    gap: Gap
    run_up: float

    def is_near(self, s: float) -> bool:
        """Whether the arc length `s` lies on the run-up or over the gap."""
        return self.run_up <= s < self.gap.end

    def jumps(self, s: float) -> bool:
        """Whether a jump is asked for at the arc length `s`."""
        return self.gap.start <= s < self.gap.end - _BEHIND

    def leads(self, s: float) -> bool:
        """Whether the network that jumps leads at the arc length `s`."""
        return self.gap.start - _BEFORE <= s < self.gap.end + _LANDED


class Leaps:
    """The leaps of a path, in walking order; those of a closed path's next round come when they are needed."""

    def __init__(self, gaps: Sequence[Gap], round_length: float | None = None) -> None:
        """round_length: meters of a closed path, None of an open one."""
        self._gaps = [gap for gap in gaps if gap.is_leapt]
        self._round_length, self._rounds = round_length, 0
        self.leaps: list[Leap] = []
        self._add_round()

    def speed(self, s: float, speed: float) -> float:
        """m/s at the arc length `s` where `speed` is asked for."""
        leap = self._near(s)
        if leap is None or (speed < _STANDING and s < leap.gap.start):
            return speed
        return SPEED

    def runs_up(self, s: float) -> bool:
        """Whether the arc length `s` lies on a run-up or over a gap."""
        return self._near(s) is not None

    def leads(self, s: float) -> bool:
        """Whether the network that jumps leads at the arc length `s`."""
        return any(leap.leads(s) for leap in self.leaps)

    def jumps(self, s: float) -> bool:
        """Whether a jump is asked for at the arc length `s`."""
        leap = self._near(s)
        return leap is not None and leap.jumps(s)

    def _near(self, s: float) -> Leap | None:
        if not self._gaps:
            return None
        while self._round_length is not None and s > (self._rounds - 1) * self._round_length:
            self._add_round()
        return next((one for one in self.leaps if one.is_near(s)), None)

    def _add_round(self) -> None:
        for gap in self._gaps:
            on = self._rounds * (self._round_length or 0.0)
            gap = replace(gap, start=gap.start + on, end=gap.end + on)
            landed = self.leaps[-1].gap.end + LEAST_LANDING if self.leaps else 0.0
            self.leaps.append(Leap(gap, max(gap.start - RUN_UP, landed)))
        self._rounds += 1
