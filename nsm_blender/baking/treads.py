# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps on stairs: the feet of a walk stand on one tread after the other, and none is left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..cleanup.ground_footholds import SHIFTS, Foothold
from ..geometry.ground import Ground
from ..motion.gait import GAITS
from ..motion.root import direction
from ..motion.rotations import Array
from ..planning.flights import Flight, flights_along
from ..planning.path import GroundPath
from ..rollout.pfnn import Record

_SKIPPED = 0.5
"""Meters of moved feet that a tread is worth which no foot stands on."""
_FARTHEST = 0.1
"""Meters of way of a rollout that goes anywhere at all."""
_JOG = GAITS.index("jog")


class StepsOnTreads:
    """Chooses footholds on the stairs that a rollout walks over."""

    def __init__(self, record: Record, ground: Ground) -> None:
        root = record.root.astype(np.float64)
        walked = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(root[:, :2], axis=0), axis=1))))
        self._walks = record.gait[:, _JOG] < 0.5
        self._flights: list[Flight] = []
        if np.ptp(root[:, :2], axis=0).max() > _FARTHEST:
            self._way = GroundPath(root[:, :2])
            self._along = walked * self._way.length / walked[-1]
            evenly = np.linspace(0, self._way.length, len(root))
            self._flights = flights_along(self._way, ground, np.interp(evenly, self._along, root[:, 2]))

    def choose(self, footholds: Sequence[Foothold]) -> None:
        """Move the footholds on each flight so that the cheapest choice of treads results."""
        if not self._flights:
            return
        steps = [one for one in footholds if self._walks[one.start : one.stop].all()]
        frames = [(one.start + one.stop) // 2 for one in steps]
        s = np.array([self._way.project(one.ball, self._along[at]) for one, at in zip(steps, frames, strict=True)])
        for flight in self._flights:
            near = np.flatnonzero((s > flight.edges[0] - flight.run) & (s < flight.edges[-1] + flight.run))
            if len(near):
                here = [steps[number] for number in near]
                ahead = self._way.heading(s[near])
                _choose(flight, here, s[near], direction(ahead))


def _choose(flight: Flight, steps: Sequence[Foothold], s: Array, ahead: Array) -> None:
    """Set the shifts of steps at arc lengths s (N,), with the way's directions (N, 2) there: feet are moved little, and
    few treads are left out."""
    # Tread k lies between edges k - 1 and k: 0 is before the flight, the last one behind it.
    edges = np.concatenate(([-np.inf], flight.edges, [np.inf]))
    along = np.array([one.along for one in steps])
    places = s[:, None] + (along * ahead).sum(axis=1)[:, None] * SHIFTS
    inside = (places[..., None] > edges[:-1]) & (places[..., None] < edges[1:])
    costs = np.where(inside, np.array([one.costs for one in steps])[..., None], np.inf)
    shifts, cost = costs.argmin(axis=1), costs.min(axis=1)
    number = np.arange(cost.shape[1])
    step = number - number[:, None]
    between = np.where(step > 1, _SKIPPED * (step - 1), 0.0)
    between[step < 0] = np.inf
    best, came = cost[0], np.zeros(cost.shape, dtype=int)
    for i in range(1, len(steps)):
        total = best[:, None] + between
        came[i], best = total.argmin(axis=0), total.min(axis=0) + cost[i]
    if not np.isfinite(best).any():
        return
    tread = int(best.argmin())
    for i in range(len(steps) - 1, -1, -1):
        steps[i].shift = float(SHIFTS[shifts[i, tread]])
        tread = int(came[i, tread])
