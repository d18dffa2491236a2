# SPDX-License-Identifier: GPL-3.0-or-later
"""What the keys of a shot will come to, before anything is baked: ways, and about when."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from ..errors import RouteError
from ..motion.rotations import wrap_angle
from ..planning.path_planner import Leg, Planner
from ..planning.scene_planner import led_onward
from ..planning.speed_limits import SpeedLimits, shipped
from ..planning.trajectory import TURN_RATE
from ..shot.goals import LOCOMOTION, ActionKey
from ..shot.shot import Shot
from ..stepwise import Stepwise, finished
from .pfnn_actor import FACING
from .protocol import SETTLED, Prospect
from .registry import task_of
from .timing import BEGINNING, TURN_FIRST, TURNED_ENOUGH, plan

SETTLING = 1.1
"""Seconds from the end of the way until the character has come to rest there and stood still for a while."""
TURNING, TURNING_RATE = 0.6, 1.6
"""Seconds that turning on the spot takes whatever the angle, and rad/s of the angle; at the end of a way the turn
begins while the character still comes to rest."""
DOUBT, UNSTEADY_DOUBT = 0.6, 1.0
"""Seconds by which nine of ten walks are done at most sooner or later than foreseen, and those that crouch or go
sideways through gaps."""


@dataclass(frozen=True)
class Foreseen:
    """One key: its way (None where it goes nowhere, or cannot), why it has none, and the frames of the shot at which
    the character will be free for it, set off, and be done, about. free_early, early: when it may be free, and done,
    already. idle: whether there is nothing left to do, as a key before has done it. tight: why it may arrive later than
    it says."""

    leg: Leg | None
    trouble: str
    free: float
    free_early: float
    set_off: float
    done: float
    early: float
    idle: bool = False
    tight: str = ""


def foresee(shot: Shot, able: Collection[str] = LOCOMOTION, limits: SpeedLimits | None = None) -> list[Foreseen]:
    """The keys of a valid shot, each from where the one before ends. What is not among the actions that can be done,
    `able`, takes no time. limits: of the network that carries them out; None for the shipped one that suits them."""
    return finished(foreseeing(shot, able, limits))


def foreseeing(
    shot: Shot,
    able: Collection[str] = LOCOMOTION,
    limits: SpeedLimits | None = None,
    planner: Planner | None = None,
) -> Stepwise[list[Foreseen]]:
    """`foresee` in pieces. planner: of the shot, where it is made already."""
    if limits is None:
        uses = any(key.action not in LOCOMOTION for key in shot.keys)
        limits = shipped("nsm" if uses and not shot.ground else "pfnn")
    x, y, z, facing = shot.start if shot.start is not None else (0.0, 0.0, 0.0, 0.0)
    planner = Planner(shot) if planner is None else planner
    now, free, doubt, out = Prospect(planner, np.array([x, y]), facing, height=z), 0.0, 0.0, list[Foreseen]()
    rising = 0.0
    for key in shot.keys:
        yield
        set_off = free if key.start is None else max(free, float(key.start))
        task, planner, thing = task_of(key), now.planner, now.planner.thing(key)
        leg, trouble, tight, seconds, own = None, "", "", key.hold, 0.0
        idle = thing is not None and bool(task.nothing_left) and (thing.name in now.done_with or thing.name == now.on)
        if not task.has_way(key):
            asked = task.facing(planner, key, now.place, set_off)
            end = now.facing if asked is None else asked
            seconds += task.seconds + SETTLED + _turning(end - now.facing)
            now = replace(now, facing=end)
        elif not idle and key.action in able:
            seconds += task.seconds
            try:
                approach = task.approach(planner, key, set_off)
                yield
                leg = planner.leg(key, approach, now.place, set_off, now.height)
            except RouteError as error:
                trouble = str(error)
        if leg is not None:
            # What a step by the legs takes is the task's own time.
            way = led_onward(leg, approach) if approach.on_hands else leg
            walking, end = _walking(planner, key, way, now.facing)
            if key.is_timed:
                early, planned = (
                    plan(planner, task, key, way, now.facing, at, limits, rising) for at in (free - doubt, free)
                )
                trouble, tight = early.trouble, planned.trouble
                set_off, walking = planned.set_off, SETTLED - task.seconds
                seconds += (planned.arrive - set_off) / shot.fps
            seconds += walking
            unsteady = key.gait == "crouch" or leg.route.crouch.any() or leg.route.sideways.any()
            own = UNSTEADY_DOUBT if unsteady else DOUBT
            there = replace(now, place=leg.place, facing=end, on="", height=leg.height)
            now, other = task.foreseen(there, key, leg, set_off)
            trouble = other or trouble
        done = set_off + seconds * shot.fps
        # A character that has to wait for the start of the key makes good what was lost before.
        before = max(doubt - (set_off - free), 0.0)
        after = math.hypot(before, own * shot.fps)
        out.append(Foreseen(leg, trouble, free, free - doubt, set_off, done, done - after, idle, tight))
        free, doubt, rising = done, after, task.leaving
    return out


def _walking(planner: Planner, key: ActionKey, leg: Leg, facing: float) -> tuple[float, float]:
    """Seconds from setting off with a facing angle until the character stands at the end of the leg, and the facing
    there."""
    if leg.route.length == 0:
        end = facing if leg.facing is None else leg.facing
        return SETTLED + _turning(end - facing), end
    walker = planner.walker(leg.route, task_of(key).gait(key), key.speed)
    away, last = _angle(walker.heading(), facing), float(walker.path.heading(np.array(walker.path.length)))
    turning = BEGINNING + (away - TURNED_ENOUGH) / TURN_RATE if away > TURN_FIRST else 0.0
    end = last if leg.facing is None else leg.facing
    return turning + walker.seconds + SETTLING + _angle(end, last) / TURNING_RATE, end


def _angle(a: float, b: float) -> float:
    """The angle between two facings, radians, 0..pi."""
    return abs(float(wrap_angle(np.array(a - b))))


def _turning(angle: float) -> float:
    """Seconds to turn on the spot by an angle in radians."""
    turn = _angle(angle, 0.0)
    return 0.0 if turn < FACING else TURNING + turn / TURNING_RATE
