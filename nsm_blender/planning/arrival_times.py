# SPDX-License-Identifier: GPL-3.0-or-later
"""What the keys of a shot will come to, before anything is baked: ways, and about when."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from ..errors import RouteError
from ..geometry.colliders import Collider, Surroundings
from ..geometry.roles import Carryable, Door, Surface
from ..geometry.scene_state import Scenery, pose_at, turned_about
from ..motion.rotations import Array, wrap_angle
from ..shot.goals import LOCOMOTION, ActionKey
from ..shot.shot import Shot
from ..tasks.interaction_targets import open_aim, put_down_aim
from ..tasks.task_machine import FACING, SETTLED, TURN_FIRST, TURNED_ENOUGH
from .path_planner import Leg, Planner
from .path_search import Route
from .placement_fit import misfit
from .scene_planner import through_door
from .trajectory import TURN_RATE

BEGINNING = 0.3
"""Seconds until one who stands begins to turn towards his way."""
SETTLING = 1.1
"""Seconds from the end of the way until one has come to rest there and stood still for a while;"""
TURNING_AT_END = 1.7
"""rad/s of turning to the facing that is asked for there, which begins while one still comes to rest."""
TURNING = 0.6
"""Seconds that turning on the spot takes whatever the angle, and"""
TURNING_RATE = 1.6
"""rad/s of the angle."""
DOUBT = 0.6
"""Seconds by which nine of ten walks are done at most sooner or later than foreseen, and"""
UNSTEADY_DOUBT = 1.0
"""those that crouch or go sideways through gaps."""


_AWAY = np.array([0.0, 0.0, 1e3, 0.0, 0.0, 0.0, 0.0])
"""What is carried is out of everyone's way: so far up."""

DOING = {"sit": 2.5, "open": 3.0, "pick_up": 3.0, "put_down": 3.0, "climb": 2.5}
"""Seconds that what is done with a thing takes, about."""


@dataclass(frozen=True)
class Foreseen:
    """One key: its way (None where it goes nowhere, or cannot), why it has none, and the frames of the shot at which
    one will be free for it, set off, and be done, about. free_early, early: when one may be free, and done, already.
    idle: whether there is nothing left to do, as a key before has opened the door or led up there."""

    leg: Leg | None
    trouble: str
    free: float
    free_early: float
    set_off: float
    done: float
    early: float
    idle: bool = False


def foresee(shot: Shot, able: Collection[str] = LOCOMOTION) -> list[Foreseen]:
    """The keys of a valid shot, each from where the one before ends. What is not among the actions that can be done,
    `able`, takes no time."""
    planner = Planner(shot)
    x, y, _, facing = shot.start if shot.start is not None else (0.0, 0.0, 0.0, 0.0)
    place, free, doubt = np.array([x, y]), 0.0, 0.0
    held: _Held | None = None
    out, opened, up = [], set[str](), ""
    for key in shot.keys:
        set_off = free if key.start is None else max(free, float(key.start))
        leg, trouble, seconds, end, own = None, "", key.hold, facing, 0.0
        idle = key.action == "open" and key.goal in opened
        idle |= key.action == "climb" and up != "" and _thing(shot, key) == up
        if key.action == "idle":
            asked = planner.facing(key, place, set_off)
            end = facing if asked is None else asked
            seconds += SETTLED + _turning(end - facing)
        elif not idle and key.action in able:
            seconds += DOING.get(key.action, 0.0)
            try:
                leg = planner.leg(key, place, set_off)
            except RouteError as error:
                trouble = str(error)
        if leg is not None:
            walking, end = _walking(planner, key, leg, facing)
            seconds += walking
            unsteady = key.gait == "crouch" or leg.route.crouch.any() or leg.route.sideways.any()
            own = UNSTEADY_DOUBT if unsteady else DOUBT
            place = leg.place
            up = _thing(shot, key) if key.action == "climb" else ""
        if leg is not None and key.action == "open":
            shot, place = _through(shot, key, place, set_off)
            planner = Planner(shot)
            name = _thing(shot, key)
            opened |= {goal.name for goal in shot.goals if name and goal.collider == name}
        if leg is not None and key.action in ("pick_up", "put_down"):
            trouble = _too_large(planner, shot, key, leg, set_off, held)
            shot, held = _carried(shot, key, leg, set_off, held)
            planner = Planner(shot)
        done = set_off + seconds * shot.fps
        # One who has to wait for the start of the key makes good what was lost before.
        before = max(doubt - (set_off - free), 0.0)
        after = math.hypot(before, own * shot.fps)
        out.append(Foreseen(leg, trouble, free, free - doubt, set_off, done, done - after, idle))
        free, doubt, facing = done, after, end
    return out


def _thing(shot: Shot, key: ActionKey) -> str:
    """Name of the collider that a key's goal is on, or ""."""
    return next(goal.collider for goal in shot.goals if goal.name == key.goal)


def _through(shot: Shot, key: ActionKey, place: Array, frame: float) -> tuple[Shot, Array]:
    """The shot with the door of a key open, and where one is behind it (2,) who opened it from `place` (2,)."""
    name = _thing(shot, key)
    leaf = next((collider for collider in shot.colliders if collider.name == name), None)
    if leaf is None or not isinstance(leaf.handles, Door):
        return shot, place
    pose, door = pose_at(leaf, frame), leaf.handles
    opened = replace(leaf, poses=turned_about(pose, np.array(door.hinge), np.array(door.axis), door.angle)[None])
    root = np.array([*place, 0.0, 0.0])
    behind = through_door(open_aim(leaf, pose, place), root, Scenery(Surroundings([leaf]), shot.fps)).place
    return replace(shot, colliders=[opened if c is leaf else c for c in shot.colliders]), behind


@dataclass(frozen=True, eq=False)
class _Held:
    """A box in the hands, which lay at `lying` (7,) and was taken by a grasp."""

    box: Collider
    grasp: Carryable
    lying: Array


def _carried(shot: Shot, key: ActionKey, leg: Leg, frame: float, held: _Held | None) -> tuple[Shot, _Held | None]:
    """The shot without the box that a key picks up at the end of a leg, or with it where it puts it down, and what is
    in the hands then."""
    name = _thing(shot, key)
    thing = next((collider for collider in shot.colliders if collider.name == name), None)
    if thing is None or held is None:
        if thing is None or not isinstance(leg.handles, Carryable):
            return shot, held
        away = replace(thing, poses=pose_at(thing, frame)[None] + _AWAY)
        taken = _Held(thing, leg.handles, pose_at(thing, frame))
        return replace(shot, colliders=[away if c is thing else c for c in shot.colliders]), taken
    if not isinstance(leg.handles, Surface):
        return shot, held
    put = put_down_aim(leg.handles, pose_at(thing, frame), held.box, held.grasp, held.lying).pose
    assert put is not None
    there = replace(held.box, poses=put[None])
    return replace(shot, colliders=[there if c.name == there.name else c for c in shot.colliders]), None


def _too_large(planner: Planner, shot: Shot, key: ActionKey, leg: Leg, frame: float, held: _Held | None) -> str:
    """A sentence about what is in the hands and does not fit where a key puts it down; "" where it fits."""
    thing = next((collider for collider in shot.colliders if collider.name == _thing(shot, key)), None)
    if thing is None or held is None or not isinstance(leg.handles, Surface):
        return ""
    pose = pose_at(thing, frame)
    put = put_down_aim(leg.handles, pose, held.box, held.grasp, held.lying).pose
    assert put is not None
    loose = [one.name for one in shot.colliders if one.role == "carryable"]
    return misfit(held.box, put, thing, pose, leg.handles, planner.around(frame).without(loose))


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


def _walking(planner: Planner, key: ActionKey, leg: Leg, facing: float) -> tuple[float, float]:
    """Seconds from setting off with a facing angle until one stands at the end of the leg, and the facing there."""
    if leg.route.length == 0:
        end = facing if leg.facing is None else leg.facing
        return SETTLED + _turning(end - facing), end
    walker = planner.walker(key, leg.route)
    away, last = _angle(walker.heading(), facing), float(walker.path.heading(np.array(walker.path.length)))
    turning = BEGINNING + (away - TURNED_ENOUGH) / TURN_RATE if away > TURN_FIRST else 0.0
    end = last if leg.facing is None else leg.facing
    return turning + walker.seconds + SETTLING + _angle(end, last) / TURNING_AT_END, end


def _angle(a: float, b: float) -> float:
    """The angle between two facings, radians, 0..pi."""
    return abs(float(wrap_angle(np.array(a - b))))


def _turning(angle: float) -> float:
    """Seconds to turn on the spot by an angle in radians."""
    turn = _angle(angle, 0.0)
    return 0.0 if turn < FACING else TURNING + turn / TURNING_RATE
