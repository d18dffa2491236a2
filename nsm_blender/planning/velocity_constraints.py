# SPDX-License-Identifier: GPL-3.0-or-later
"""The room that a body needs beside it: a network swings round bends and stops, a body does not go into furniture."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..shot.goals import SLIM
from .occupancy_grid import ObstacleOutlines

SLACK = 0.03
"""Meters by which one may come nearer to things than routes do: bodies are a little narrower than these allow for."""
EASE = 4.0
"""1/s: one comes nearer to a thing at no more than this times what is left of the room."""
HIPS_BACK = 0.03
"""Meters that the hips of one who goes sideways are behind the middle of the body, as knees come forward."""
_AROUND = 2.0
"""Meters around one in which things are looked at,"""
_MOVED = 0.5
"""until one has gone so many along X or Y."""
_PARALLEL, _EXACT = 1e-6, 1e-9

Vector = tuple[float, float]
"""x, y."""


class Berth:
    """Keeps who walks from coming nearer to things than the body's radius.

    things: those that stand still and are in the way of one who stands. low: those in the way of one who crouches.
    Who is nearer already comes no nearer; nobody is pushed away.
    """

    def __init__(self, things: ObstacleOutlines, low: ObstacleOutlines, radius: float) -> None:
        self._all = (things, low)
        self._radius, self._slim = radius - SLACK, SLIM * radius - SLACK - HIPS_BACK
        self._room = 0.0
        self._centre = np.full(2, np.inf)
        self._near: tuple[ObstacleOutlines, ...] = self._all

    def allowed(self, x: float, y: float, velocity: Vector, crouching: bool, sideways: bool = False) -> Vector:
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
