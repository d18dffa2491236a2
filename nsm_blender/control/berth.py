# SPDX-License-Identifier: GPL-3.0-or-later
"""The room that a body needs beside it: a network swings round bends and stops, a body does not go into furniture."""

from __future__ import annotations

import math

import numpy as np

from ..motion.rotations import Array
from .floor import Footprints
from .goals import SLIM

SLACK = 0.03
"""Metres by which one may come nearer to things than routes do: bodies are a little narrower than these allow for."""
EASE = 4.0
"""1/s: one comes nearer to a thing at no more than this times what is left of the room."""
HIPS_BACK = 0.03
"""Metres that the hips of one who goes sideways are behind the middle of the body, as knees come forward."""
_AROUND = 2.0
"""Metres around one in which things are looked at,"""
_MOVED = 0.5
"""until one has gone so many along X or Y."""
_PARALLEL, _EXACT = 1e-6, 1e-9


class Berth:
    """Keeps who walks from coming nearer to things than the body's radius.

    things: those that stand still and are in the way of one who stands. low: those in the way of one who crouches.
    Who is nearer already comes no nearer; nobody is pushed away.
    """

    def __init__(self, things: Footprints, low: Footprints, radius: float) -> None:
        self._all = (things, low)
        self._radius, self._slim = radius - SLACK, SLIM * radius - SLACK - HIPS_BACK
        self._room = 0.0
        self._centre = np.full(2, np.inf)
        self._near: tuple[Footprints, ...] = self._all

    def allowed(
        self, x: float, y: float, velocity: tuple[float, float], crouching: bool, sideways: bool = False
    ) -> tuple[float, float]:
        """What is left at a place of a velocity in m/s, so that it leads no nearer to a thing than one may be, who
        needs less room where he goes sideways."""
        place = np.array([x, y])
        if not np.abs(place - self._centre).max() < _MOVED:
            self._centre = place
            self._near = tuple(each[each.distances(place[None])[0] < _AROUND] for each in self._all)
        things = self._near[crouching]
        away = things.outward(place)
        distance = np.hypot(*away.T)
        radius = self._slim if sideways else self._radius
        self._room = min(radius, max(self._room, float(distance.min(initial=math.inf))))
        # What is farther than this hinders nobody, and what one is in has no outside to go to.
        met = (distance > 0) & (distance < self._room + math.hypot(*velocity) / EASE)
        out = away[met] / distance[met, None]
        vx, vy = nearest_velocity(np.array(velocity), out, -EASE * np.maximum(distance[met] - self._room, 0.0)).tolist()
        return vx, vy


def nearest_velocity(velocity: Array, out: Array, least: Array) -> Array:
    """The velocity (2,) nearest to the one asked for of which the parts along unit vectors `out` (N, 2) are no less
    than `least` (N,), each of which is 0 or less."""
    lack: Array = least - out @ velocity
    if (lack <= 0).all():
        return velocity
    # It lies on the border of one of these half planes, or where two of them cross.
    i, j = np.triu_indices(len(out), 1)
    turn = out[i, 0] * out[j, 1] - out[i, 1] * out[j, 0]
    crossing = np.abs(turn) > _PARALLEL
    i, j, turn = i[crossing], j[crossing], turn[crossing]
    x = (least[i] * out[j, 1] - least[j] * out[i, 1]) / turn
    y = (least[j] * out[i, 0] - least[i] * out[j, 0]) / turn
    found = np.concatenate((np.zeros((1, 2)), velocity + lack[:, None] * out, np.stack((x, y), axis=1)))
    found = found[(found @ out.T >= least - _EXACT).all(1)]
    best: Array = found[((found - velocity) ** 2).sum(1).argmin()]
    return best
