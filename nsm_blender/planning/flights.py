# SPDX-License-Identifier: GPL-3.0-or-later
"""Flights of stairs along a way: where their risers are, and how fast a walk goes so that each tread takes a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..geometry.ground import CELL, Ground
from ..geometry.stairs import RISES, RUNS
from ..motion.filters import runs
from ..motion.rotations import Array
from .path import GroundPath

CADENCE = 1.7
"""Steps a second from tread to tread: people take 1.6 up and 1.9 down."""
_BEFORE = 3
"""Treads that are imagined before a flight: the last steps on the level are made to fit the first tread."""
GAIN = 0.8
"""Share of what the last foot stood beside the middle of its tread that the next step makes up for, nearly all of
it: without, 3 of 56 flights have a tread that no foot stands on."""
_RISING = 0.5
"""Rise over run from which ground belongs to a riser."""


@dataclass(frozen=True, eq=False)
class Flight:
    """Two or more risers that follow each other evenly. edges: (E,) meters along the way, in walking order."""

    edges: Array

    @property
    def run(self) -> float:
        """Mean meters from riser to riser."""
        return float(self.edges[-1] - self.edges[0]) / (len(self.edges) - 1)

    @property
    def pace(self) -> float:
        """m/s at which a walk takes a tread a step."""
        return CADENCE * self.run

    @property
    def start(self) -> float:
        """Meters along the way from which steps are made to fit."""
        return float(self.edges[0]) - _BEFORE * self.run

    @property
    def end(self) -> float:
        """Meters along the way up to which steps are made to fit."""
        return float(self.edges[-1])

    def tread(self, s: float) -> float:
        """Number of the tread at arc length `s`: whole at a riser, 0 at the first; treads go on evenly before it and
        after the last."""
        e = self.edges
        if s < e[0]:
            return (s - float(e[0])) / self.run
        if s > e[-1]:
            return len(e) - 1 + (s - float(e[-1])) / self.run
        return float(np.interp(s, e, np.arange(len(e))))


def flights_along(path: GroundPath, ground: Ground, heights: Array) -> list[Flight]:
    """The flights of stairs that a path leads over. heights: (N,) meters of the surface that is walked on, at places
    evenly spaced along the path, which tell the level."""
    s = np.linspace(0, path.length, max(math.ceil(path.length / CELL), 1) + 1)
    near = np.interp(s, np.linspace(0, path.length, len(heights)), heights)
    z = ground.height(path.position(s), near)
    rise = np.diff(z) / s[1]
    risers: list[tuple[float, float]] = []
    for steep in (rise > _RISING, rise < -_RISING):
        for first, last in runs(steep):
            height = float(z[last] - z[first])
            if RISES[0] <= abs(height) <= RISES[1]:
                risers.append((float(s[first] + s[last]) / 2, math.copysign(1.0, height)))
    risers.sort()
    found: list[list[tuple[float, float]]] = []
    for riser in risers:
        goes_on = found and found[-1][-1][1] == riser[1] and RUNS[0] <= riser[0] - found[-1][-1][0] <= RUNS[1]
        if goes_on:
            found[-1].append(riser)
        else:
            found.append([riser])
    return [Flight(np.array([edge for edge, _ in one])) for one in found if len(one) > 1]


class TreadPacing:
    """Speeds at which a walk along a path takes flights of stairs tread by tread."""

    def __init__(self, path: GroundPath, flights: Sequence[Flight], brake: float) -> None:
        """brake: comfortable deceleration in m/s^2 before a flight."""
        self._path, self._flights, self._brake = path, flights, brake

    def allowed(self, s: float) -> float:
        """m/s at most at the arc length `s`: on a flight a tread a step, and before it no more than can be slowed
        down from."""
        s = self._inside(s)
        ahead = (one for one in self._flights if s < one.end)
        return min(
            (math.sqrt(one.pace**2 + 2 * self._brake * max(one.start - s, 0.0)) for one in ahead), default=math.inf
        )

    def step(self, s: float, ball: tuple[float, float] | None) -> float:
        """Treads that the next step is to be long, to come down in the middle of one; 1 off flights. s: arc length of
        the root. ball: x, y of the ball of the foot that came down last."""
        flight = self._flight(s)
        if flight is None or ball is None:
            return 1.0
        at = flight.tread(self._inside(self._path.project(np.array(ball), s)))
        return 1.0 + GAIN * (math.floor(at) + 0.5 - at)

    def is_on(self, s: float) -> bool:
        """Whether steps are made to fit treads at the arc length `s`."""
        return self._flight(s) is not None

    def speed(self, s: float, speed: float, step: float) -> float:
        """m/s at the arc length `s` where `speed` is asked for, for a next step of so many treads."""
        speed = min(speed, self.allowed(s))
        return speed if self._flight(s) is None else step * speed

    def _flight(self, s: float) -> Flight | None:
        """The flight on which, or just before which, the arc length `s` lies."""
        s = self._inside(s)
        return next((one for one in self._flights if one.start <= s < one.end), None)

    def _inside(self, s: float) -> float:
        """The arc length on the first round of a closed path."""
        return s % self._path.length if self._path.closed else s
