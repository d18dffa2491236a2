# SPDX-License-Identifier: GPL-3.0-or-later
"""Flights of steps: level treads that lead up one after the other, evenly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array
from .form import SIDES, STEP_ROOM, Form, Level
from .reach import CLIMB_HEIGHTS, LANDING
from .roles import Climbable

RISES, RUNS = (0.09, 0.29), (0.16, 0.46)
"""Least and largest rise of a flight's treads in meters, and least and largest run from front edge to front edge."""
_UNEVEN = 0.05
"""Largest difference in meters between the rises of a flight."""
_ABREAST = 0.6
"""Least share of the narrower tread's width that two treads have in common."""
_STEEP = (0.3, 1.4)
"""Least and largest rise over run at which a landing above its edge is reached by stairs."""


@dataclass(frozen=True, eq=False)
class Flight:
    """Treads from the lowest to the highest, and the side of SIDES to which the lowest tread faces."""

    treads: list[Level]
    side: int

    def front(self, number: int) -> Array:
        """Middle (3,) of the front edge of a tread."""
        tread, along = self.treads[number], 1 if self.side % 2 == 0 else 0
        out = tread.middle
        out[along] += SIDES[self.side][along] * tread.extent[along] / 2
        return out

    def climb(self) -> Climbable:
        """The climb from the front edge of the lowest tread to a place on the highest tread."""
        up, along = np.array([*-SIDES[self.side], 0.0]), 1 if self.side % 2 == 0 else 0
        landing = self.front(-1) + min(LANDING, float(self.treads[-1].extent[along]) / 2) * up
        width = min(float(tread.extent[1 - along]) for tread in self.treads)
        return Climbable(self.front(0).tolist(), up.tolist(), landing.tolist(), width)


def flight(form: Form) -> Flight | None:
    """The longest flight of two or more steps of a thing; None where there is none."""
    levels = [level for level in form.levels(STEP_ROOM, area=0.03) if level.extent.min() > 0.5 * RUNS[0]]
    levels.sort(key=lambda level: level.height)
    found = [_from(level, levels, side, form.floor) for side in range(4) for level in levels]
    best = max((stairs for stairs in found if stairs is not None), key=lambda stairs: len(stairs.treads), default=None)
    return best if best is not None and len(best.treads) > 1 else None


def is_flight(climb: Climbable, up: Array) -> bool:
    """Whether stairs lead from a climb's edge to its landing. up: (3,) in the climb's frame."""
    way = np.array(climb.landing) - climb.edge
    ahead, rise = float(way @ np.array(climb.facing)), float(way @ up)
    return rise > RISES[1] and _STEEP[0] * ahead < rise < _STEEP[1] * ahead


def stairs_text(height: float) -> str:
    """Tell what to do with stairs of `height` meters, which no climb key leads up, in one sentence."""
    return (
        f"These are stairs, {height:.2f} m high: climb keys lead up {CLIMB_HEIGHTS[1]:.0f} m at most. "
        "Use them as ground. Draw a curve over the steps and let the character follow it."
    )


def _from(first: Level, levels: list[Level], side: int, floor: float) -> Flight | None:
    """The flight with `first` as its lowest tread, facing a side; None where that tread is too high.

    The lowest rise may be less than the others: treads without a stringer do not tell where the floor is.
    """
    if first.height - floor > RISES[1]:
        return None
    out, rise = Flight([first], side), None
    while True:
        last = out.front(-1)
        after = [level for level in levels if _leads_on(out, level, last, rise)]
        if not after:
            break
        usual = first.height - floor if rise is None else rise
        out.treads.append(min(after, key=lambda level: abs(level.height - last[2] - usual)))
        rise = out.treads[1].height - first.height
    even = rise is not None and abs(first.height - floor - rise) <= _UNEVEN
    return out if even or len(out.treads) > 2 else None


def _leads_on(flight: Flight, level: Level, last: Array, rise: float | None) -> bool:
    """Whether a level is the next tread of a flight with its last front edge at `last` (3,). rise: of its treads, None
    where there is only one tread."""
    before, side = flight.treads[-1], flight.side
    along = 1 if side % 2 == 0 else 0
    edge = Flight([level], side).front(0)
    run = float((last - edge)[:2] @ SIDES[side])
    step = level.height - last[2]
    across = 1 - along
    common = min(before.high[across], level.high[across]) - max(before.low[across], level.low[across])
    narrow = min(before.extent[across], level.extent[across])
    return (
        RISES[0] <= step <= RISES[1]
        and (rise is None or abs(step - rise) <= _UNEVEN)
        and RUNS[0] <= run <= RUNS[1]
        and common >= _ABREAST * narrow
    )
