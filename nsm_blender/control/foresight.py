# SPDX-License-Identifier: GPL-3.0-or-later
"""What the keys of a shot will come to, before anything is baked: ways, and about when."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ..errors import RouteError
from ..motion.rotations import wrap_angle
from .errands import SETTLED, TURN_FIRST, TURN_RATE
from .goals import LOCOMOTION
from .legs import Leg, Planner
from .routes import Route
from .shot import Shot

STARTING = 0.4
"""Seconds until one who stands is on the way."""
STOPPING = 0.6
"""Seconds until one who is there stands still."""


DOING = {"sit": 2.5, "open": 3.0, "pick_up": 3.0, "put_down": 3.0, "climb": 2.5}
"""Seconds that what is done with a thing takes, about."""


@dataclass(frozen=True)
class Foreseen:
    """One key: its way (None where it goes nowhere, or cannot), why it has none, and the frames of the shot at which
    one will be free for it, set off, and be done, about."""

    leg: Leg | None
    trouble: str
    free: float
    set_off: float
    done: float


def foresee(shot: Shot, able: Collection[str] = LOCOMOTION) -> list[Foreseen]:
    """The keys of a valid shot, each from where the one before ends. What is not among the actions that can be done,
    `able`, takes no time."""
    planner = Planner(shot)
    x, y, _, facing = shot.start if shot.start is not None else (0.0, 0.0, 0.0, 0.0)
    place, free = np.array([x, y]), 0.0
    out = []
    for key in shot.keys:
        set_off = free if key.start is None else max(free, float(key.start))
        leg, trouble, seconds, end = None, "", key.hold, facing
        if key.action == "idle":
            asked = planner.facing(key, place)
            end = facing if asked is None else asked
            seconds += SETTLED + _turning(end - facing)
        elif key.action in able:
            seconds += DOING.get(key.action, 0.0)
            try:
                leg = planner.leg(key, place, set_off)
            except RouteError as error:
                trouble = str(error)
        if leg is not None:
            seconds += SETTLED + STOPPING
            if leg.route.length > 0:
                walker = planner.walker(key, leg.route)
                first, last = walker.heading(), float(walker.path.heading(np.array(walker.path.length)))
                early = _turning(first - facing) if abs(_wrapped(first - facing)) > TURN_FIRST else 0.0
                end = last if leg.facing is None else leg.facing
                seconds += early + STARTING + walker.seconds + _turning(end - last)
            place = leg.place
        free_before, free, facing = free, set_off + seconds * shot.fps, end
        out.append(Foreseen(leg, trouble, free_before, set_off, free))
    return out


def plan(shot: Shot) -> list[Route | None]:
    """The routes that the keys of a shot ask for, one per key, each from the end of the one before.

    Things are taken where they are when a key sets off, about. None for a key that goes nowhere. Raises ShotError, and
    RouteError for the first goal that cannot be reached.
    """
    shot.validate()
    seen = foresee(shot)
    for one in seen:
        if one.trouble:
            raise RouteError(one.trouble)
    return [None if one.leg is None else one.leg.route for one in seen]


def _wrapped(angle: float) -> float:
    return float(wrap_angle(np.array(angle)))


def _turning(angle: float) -> float:
    """Seconds to turn on the spot by an angle in radians."""
    turn = abs(_wrapped(angle))
    return 0.0 if turn < math.radians(5) else 0.3 + turn / TURN_RATE
