# SPDX-License-Identifier: GPL-3.0-or-later
"""Velocity constraints that keep the walking root a body's radius away from things, as linear half planes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..shot.goals import SLIM
from .occupancy_grid import ObstacleOutlines

SLACK = 0.03
"""Meters by which the root may come nearer to things than routes do, which allow for a slightly wider body."""
EASE = 4.0
"""1/s: the root approaches a thing at no more than this rate times the distance that is left."""
HIPS_BACK = 0.03
"""Meters by which the hips are behind the middle of a body that goes sideways, as its knees come forward."""
_AROUND = 2.0
"""Meters around the root within which things are taken into account."""
_MOVED = 0.5
"""Meters along X or Y that the root moves before the things around it are collected anew."""
_PARALLEL, _EXACT = 1e-6, 1e-9
"""Sine of an angle below which two borders count as parallel, and m/s by which a limit may be missed."""

Vector = tuple[float, float]
"""Velocity x, y in m/s on the ground."""


class Berth:
    """Keeps the walking character from coming nearer to things than the body's radius.

    things: the static things in the way of a standing body. low: those in the way of a crouching body. A character
    that is nearer already comes no nearer, and is not pushed away.
    """

    def __init__(self, things: ObstacleOutlines, low: ObstacleOutlines, radius: float) -> None:
        self._all = (things, low)
        self._radius, self._slim = radius - SLACK, SLIM * radius - SLACK - HIPS_BACK
        self._room = 0.0
        self._center = np.full(2, np.inf)
        self._near: tuple[ObstacleOutlines, ...] = self._all

    def allowed(self, x: float, y: float, velocity: Vector, crouching: bool, sideways: bool = False) -> Vector:
        """The velocity nearest to the one asked for (m/s) that brings the root at x, y (meters) no nearer to a thing
        than the body's radius, or than its smaller half width when it goes sideways."""
        place = np.array([x, y])
        if not np.abs(place - self._center).max() < _MOVED:
            self._center = place
            self._near = tuple(each[each.distances(place[None])[0] < _AROUND] for each in self._all)
        things = self._near[crouching]
        away = things.outward(place)
        distance = np.hypot(*away.T)
        radius = self._slim if sideways else self._radius
        self._room = min(radius, max(self._room, float(distance.min(initial=math.inf))))
        # Farther things are no constraint, and a thing that contains the root has no outward direction.
        met = (distance > 0) & (distance < self._room + math.hypot(*velocity) / EASE)
        least = -EASE * np.maximum(distance[met] - self._room, 0.0)
        return nearest_velocity(velocity, [*zip(*away[met].T / distance[met], least, strict=True)])


def nearest_velocity(velocity: Vector, limits: Sequence[tuple[float, float, float]]) -> Vector:
    """The velocity nearest to the one asked for within limits: each a unit vector x, y, and the least that the
    velocity's part along it may be, which is 0 or less.

    In plain numbers, as the limits are few.
    """
    vx, vy = velocity
    most, wx, wy = 0.0, vx, vy
    for x, y, least in limits:
        lack = least - (x * vx + y * vy)
        if lack > most:
            most, wx, wy = lack, vx + lack * x, vy + lack * y
    # It lies on the border of the half plane that is farthest away, or where the borders of two of them cross.
    if most == 0.0 or _within(wx, wy, limits):
        return wx, wy
    best, nearest = (0.0, 0.0), vx * vx + vy * vy
    for number, (ax, ay, a) in enumerate(limits):
        for bx, by, b in limits[:number]:
            turn = ax * by - ay * bx
            if abs(turn) > _PARALLEL:
                wx, wy = (a * by - b * ay) / turn, (b * ax - a * bx) / turn
                away = (wx - vx) ** 2 + (wy - vy) ** 2
                if away < nearest and _within(wx, wy, limits):
                    best, nearest = (wx, wy), away
    return best


def _within(x: float, y: float, limits: Sequence[tuple[float, float, float]]) -> bool:
    return all(ax * x + ay * y >= least - _EXACT for ax, ay, least in limits)
