# SPDX-License-Identifier: GPL-3.0-or-later
"""Says before the bake what in a shot's action keys cannot work, key by key, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import ShotError
from .floor import ANKLE, Footprints
from .foresight import Foreseen, foresee
from .goals import LOCOMOTION, ActionKey, Goal
from .legs import Planner
from .routes import TOLERANCE
from .shot import Shot

USES = {"sit": "seat", "open": "door", "pick_up": "carryable", "put_down": "surface", "climb": "climbable"}
"""The role that a thing must have for each action that uses one."""
DOES = {
    "sit": "sitting down",
    "open": "opening a door",
    "pick_up": "picking things up",
    "put_down": "putting things down",
    "climb": "climbing",
}
UPSTAIRS = 0.3
"""Metres: a goal that is further above or below the ground than this is not on it."""


@dataclass(frozen=True)
class Problem:
    """Something wrong with one key. key: its number, counted from 0. fatal: the bake is refused for it."""

    key: int
    text: str
    fatal: bool


def check(shot: Shot) -> list[Problem]:
    """What cannot work in the keys of a shot, in their order; none when all is well. Raises ShotError when the shot's
    data themselves make no sense."""
    shot.validate()
    planner = Planner(shot)
    out: list[Problem] = []
    for number, (key, seen) in enumerate(zip(shot.keys, foresee(shot), strict=True)):
        out += [Problem(number, text, True) for text in _impossible(shot, key, seen)]
        out += [Problem(number, text, False) for text in _doubtful(shot, planner, key, seen)]
    return out


def refuse(shot: Shot) -> None:
    """Raise ShotError when a key of the shot cannot work, with the reason."""
    for problem in check(shot):
        if problem.fatal:
            raise ShotError(f"Action key {problem.key + 1} ({shot.keys[problem.key].action}): {problem.text}")


def _impossible(shot: Shot, key: ActionKey, seen: Foreseen) -> list[str]:
    out = []
    if key.action in USES:
        collider = next((c for c in shot.colliders if c.name == _goal(shot, key).collider), None)
        if collider is None or collider.role != USES[key.action]:
            out.append(f"{DOES[key.action]} needs a {USES[key.action]}; attach the goal '{key.goal}' to one.")
        elif collider.handles is None:
            out.append(f"the {USES[key.action]} '{collider.name}' has no handles yet; let them be proposed.")
    if key.action not in LOCOMOTION:
        able = ", ".join(LOCOMOTION)
        out.append(f"{DOES[key.action]} is beyond the locomotion network, which this version bakes with; use {able}.")
    return [*out, seen.trouble] if seen.trouble else out


def _doubtful(shot: Shot, planner: Planner, key: ActionKey, seen: Foreseen) -> list[str]:
    out = []
    if key.start is not None and key.start >= shot.frames:
        out.append(f"sets off at frame {key.start}, after the end of the shot.")
    elif key.start is not None and key.start < seen.free - 1:
        late = math.ceil(seen.free - key.start)
        out.append(f"sets off about {late} frames late, as the key before is not done at frame {key.start}.")
    if seen.set_off < shot.frames <= seen.done:
        lacking = math.ceil(seen.done - shot.frames + 1)
        out.append(f"too few frames: the shot ends about {lacking} frames before it is done.")
    if key.action in LOCOMOTION and key.goal and not _goal(shot, key).collider:
        above = _goal(shot, key).place[2] - planner.ground
        if abs(above) > UPSTAIRS:
            where = "above" if above > 0 else "below"
            out.append(f"the goal is {abs(above):.1f} m {where} the ground, where one walks; its place there is taken.")
    return [*out, *_in_the_way(shot, planner, key, seen)]


def _in_the_way(shot: Shot, planner: Planner, key: ActionKey, seen: Foreseen) -> list[str]:
    """What the animator's own route leads too near to."""
    if not key.route or seen.leg is None:
        return []
    options = shot.route_options
    things = Footprints.of(planner.surroundings.at(seen.set_off))
    near = things.between(planner.ground + ANKLE, planner.ground + options.height)
    points = seen.leg.route.points[:, :2]
    clear = near.distance(points)
    worst = int(clear.argmin())
    if clear[worst] >= options.radius - TOLERANCE:
        return []
    owner = near.nearest(points[worst])
    name = "" if owner is None else planner.surroundings.names[owner]
    how = "through" if clear[worst] == 0 else f"{100 * clear[worst]:.0f} cm past"
    return [f"its route leads {how} '{name}'; the body needs {100 * options.radius:.0f} cm."]


def _goal(shot: Shot, key: ActionKey) -> Goal:
    return next(goal for goal in shot.goals if goal.name == key.goal)
