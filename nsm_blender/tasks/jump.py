# SPDX-License-Identifier: GPL-3.0-or-later
"""Jumping with both feet: on the spot, or from before the goal to it, onto something, off something or over a gap."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..errors import RouteError
from ..motion.rotations import Array
from ..planning.approach_poses import Approach, Side, Stand
from ..planning.path_on_ground import DROP
from ..planning.path_planner import Leg, Planner
from ..planning.walkable_surface import LIMITS
from ..shot.goals import ActionKey
from .protocol import Prospect, Task

HIGHEST = 0.4
"""Meters up to which the character jumps onto something, the highest at which jumps are measured."""
REACHES = (0.6, 0.8, 1.0, 1.2)
"""Meters before its goal from which the character jumps: the least at which there is ground to jump from."""
_UNEVEN = 0.02
"""Meters by which heights of ground are off, as they are those of a grid."""
_TOES, _STEP = 0.35, 0.1
"""Meters before the root up to which nothing rises by more than so many meters where the character jumps."""
_DIRECTIONS = np.array([(math.cos(a), math.sin(a)) for a in np.arange(16) * (math.pi / 8)])
"""Directions (16, 2) around a goal from which it is jumped to."""
_STEPS = np.linspace(0, 1, 9)[:, None]
"""Shares of a jump at which it is looked whether there is room."""


class Jump(Task):
    """Without a goal, jump on the spot; else go near the goal, jump to it, and stand there."""

    name, doing = "jump", "jumping"
    jumps, hands = True, "free"
    seconds, reaching = 2.6, 2.0

    def has_way(self, key: ActionKey) -> bool:
        """Whether there is a goal."""
        return bool(key.goal)

    def approach(self, planner: Planner, key: ActionKey, frame: float) -> Approach:
        """Places around the goal from which a straight jump to it is free, turned to it, in each direction the nearest:
        the cheapest way leads to one of them."""
        end = self._end(planner, key, frame)
        found, rises = Side(), list[float]()
        for out in _DIRECTIONS:
            for reach in REACHES:
                start = _on_ground(planner, end[:2] + reach * out, end[2] - 0.5 * HIGHEST)
                rises.append(float(end[2] - start[2]))
                if -DROP - _UNEVEN < rises[-1] < HIGHEST + _UNEVEN and self._is_free(planner, start, end, frame):
                    found.append(Stand(start[:2], math.atan2(-out[0], out[1]), np.zeros(2)))
                    break
        if not found:
            raise RouteError(_trouble(key.goal, min(rises, key=abs)))
        return Approach([found])

    def _is_free(self, planner: Planner, start: Array, end: Array, frame: float) -> bool:
        """Whether a body can stand at a place (3,), and nothing is in the way of its jump to another."""
        radius, way = planner.shot.route_options.radius, start + _STEPS * (end - start)
        ahead = (end - start)[:2] / np.linalg.norm((end - start)[:2])
        around = _heights(planner, start[:2] + radius * _DIRECTIONS, start[2]) - start[2]
        sole, toes = _heights(planner, start[:2] + np.outer((LIMITS.ledge, _TOES), ahead), start[2]) - start[2]
        room = planner.away(planner.in_the_way(frame), way) >= radius
        return bool(room.all() and (around < _STEP).all() and abs(sole) < _STEP and toes < _STEP)

    def landing(self, planner: Planner, key: ActionKey, frame: float) -> tuple[Array, float | None] | None:
        """The goal."""
        goal = planner.goal(key, frame)
        if goal is None or not key.goal:
            return None
        return self._end(planner, key, frame), goal.facing if key.facing is None else key.facing

    def foreseen(self, before: Prospect, key: ActionKey, leg: Leg, frame: float) -> tuple[Prospect, str]:
        """The character is at the goal."""
        place = self._end(before.planner, key, frame)
        return replace(before, place=place[:2], height=float(place[2])), ""

    def _end(self, planner: Planner, key: ActionKey, frame: float) -> Array:
        """Place (3,) of the goal on the ground."""
        goal = planner.goal(key, frame)
        assert goal is not None
        return _on_ground(planner, np.array(goal.place[:2]), goal.place[2])


def _on_ground(planner: Planner, place: Array, near: float) -> Array:
    """The place (3,) on the ground over a place (2,) that is nearest to a height."""
    return np.append(place, _heights(planner, place[None], near))


def _heights(planner: Planner, places: Array, near: float) -> Array:
    """Heights (N,) in meters of the ground at places (N, 2) nearest to a height."""
    return np.full(len(places), planner.ground) if planner.terrain is None else planner.terrain.nearest(places, near)


def _trouble(goal: str, rise: float) -> str:
    """A sentence about a goal to which no jump leads, which is so many meters higher than what is around."""
    if rise > HIGHEST + _UNEVEN:
        return (
            f"'{goal}' lies {rise:.2f} m higher than the ground before it; the character jumps up {HIGHEST} m at most."
        )
    if rise < -DROP - _UNEVEN:
        return (
            f"'{goal}' lies {-rise:.2f} m lower than the ground before it; the character jumps down {DROP} m at most."
        )
    return f"There is no room for a jump to '{goal}'. Free {REACHES[0]} m of floor on one of its sides."
