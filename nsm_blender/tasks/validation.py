# SPDX-License-Identifier: GPL-3.0-or-later
"""Says before the bake what in a shot's action keys cannot work, key by key, in words."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ..errors import ShotError
from ..planning.occupancy_grid import TOLERANCE, ObstacleOutlines
from ..planning.path_planner import Planner
from ..planning.speed_limits import SpeedLimits
from ..rollout import nsm_network
from ..shot.goals import LOCOMOTION, ActionKey
from ..shot.shot import Shot
from ..stepwise import Stepwise, finished
from .arrival_times import Foreseen, foreseeing
from .level_ground import trouble, without_flat_ground
from .registry import task_of

UPSTAIRS = 0.3
"""Meters: a goal that is further above or below the ground than this is not on it."""


@dataclass(frozen=True)
class Problem:
    """Something wrong with one key. key: its number, counted from 0. fatal: the bake is refused for it."""

    key: int
    text: str
    fatal: bool


def check(shot: Shot, able: Collection[str] | None = None, limits: SpeedLimits | None = None) -> list[Problem]:
    """What cannot work in the keys of a shot, in their order; none when all is well. Raises ShotError when the shot's
    data themselves make no sense, and WeightsError when a model card cannot be read.

    able: actions that can be done; None for all that the installed networks can do. limits: speeds of the network that
    carries them out; None for the shipped one that suits the keys.
    """
    return finished(checking(shot, able, limits))


def checking(
    shot: Shot, able: Collection[str] | None = None, limits: SpeedLimits | None = None
) -> Stepwise[list[Problem]]:
    """`check` in pieces."""
    shot.validate()
    shot = without_flat_ground(shot)
    able = nsm_network.able() if able is None else able
    planner, held = Planner(shot), ""
    out: list[Problem] = []
    foreseen = yield from foreseeing(shot, able, limits, planner)
    for number, (key, seen) in enumerate(zip(shot.keys, foreseen, strict=True)):
        yield
        task, thing = task_of(key), planner.thing(key)
        out += [Problem(number, text, True) for text in _impossible(planner, key, seen, able)]
        off_level = trouble(planner, key, seen.leg, seen.set_off, held)
        out += [Problem(number, text, True) for text in (off_level, task.hands_trouble(held)) if text]
        out += [Problem(number, text, False) for text in _doubtful(shot, planner, key, seen)]
        out += [Problem(number, text, fatal) for text, fatal in task.problems(planner, key, seen.set_off, held)]
        held = task.held_after(held, "" if thing is None else thing.name)
    return out


def refuse(
    shot: Shot,
    able: Collection[str] | None = None,
    found: Collection[Problem] | None = None,
    limits: SpeedLimits | None = None,
) -> None:
    """Raise ShotError when a key of the shot cannot work, with the reason. able, limits: as for `check`. found: what
    `check` found already."""
    for problem in check(shot, able, limits) if found is None else found:
        if problem.fatal:
            raise ShotError(f"Action key {problem.key + 1} ({shot.keys[problem.key].action}): {problem.text}")


def _impossible(planner: Planner, key: ActionKey, seen: Foreseen, able: Collection[str]) -> list[str]:
    out, task, thing = [], task_of(key), planner.thing(key)
    what = task.doing.capitalize()
    if task.role and (thing is None or thing.role != task.role):
        out.append(f"{what} needs a {task.role}. Attach the goal '{key.goal}' to one.")
    elif task.role and thing is not None and thing.handles is None:
        out.append(f"The {task.role} '{thing.name}' has no handles yet. Press Propose Handles.")
    if key.action not in able:
        network = "the networks that are installed" if set(able) - set(LOCOMOTION) else "the locomotion network"
        out.append(f"{what} is beyond {network}. Use {', '.join(able)}.")
    return [*out, seen.trouble] if seen.trouble else out


def _doubtful(shot: Shot, planner: Planner, key: ActionKey, seen: Foreseen) -> list[str]:
    out = []
    if key.start is not None and key.start >= shot.frames:
        out.append(f"It sets off at frame {key.start}, after the end of the shot.")
    elif key.start is not None and key.start < seen.free_early - 1:
        late = math.ceil(seen.free - key.start)
        out.append(f"It sets off about {late} frames late, as the key before is not done at frame {key.start}.")
    if seen.tight and not seen.trouble:
        out.append(f"It may arrive late: {seen.tight}")
    if key.arrive is not None and key.arrive >= shot.frames:
        out.append(f"It arrives at frame {key.arrive}, after the end of the shot.")
    elif seen.set_off < shot.frames <= seen.early:
        lacking = math.ceil(seen.done - shot.frames + 1)
        out.append(f"Too few frames: the shot ends about {lacking} frames before it is done.")
    if seen.idle:
        out.append(task_of(key).nothing_left)
    goal = planner.goal(key, seen.set_off)
    if goal is not None and not goal.collider and not task_of(key).role:
        place, over = np.array(goal.place), planner.terrain
        above = place[2] - (planner.ground if over is None else float(over.nearest(place[:2], place[2])))
        if abs(above) > UPSTAIRS:
            where = "above" if above > 0 else "below"
            out.append(f"The goal is {abs(above):.1f} m {where} the ground. The character walks to the ground there.")
    return [*out, *_in_the_way(shot, planner, key, seen)]


def _in_the_way(shot: Shot, planner: Planner, key: ActionKey, seen: Foreseen) -> list[str]:
    """What the animator's own route leads too near to."""
    if not key.route or seen.leg is None:
        return []
    options = shot.route_options
    things, points = ObstacleOutlines.of(planner.surroundings.at(seen.set_off)), seen.leg.route.points
    away = planner.away(things, points)
    clear = away.min(axis=1, initial=math.inf)
    need = np.where(seen.leg.route.sideways, options.slim, options.radius)
    worst = int((clear - need).argmin())
    if clear[worst] >= need[worst] - TOLERANCE:
        return []
    name = planner.surroundings.names[int(things.owner[int(away[worst].argmin())])]
    how = "through" if clear[worst] == 0 else f"{100 * clear[worst]:.0f} cm past"
    return [f"Its route leads {how} '{name}'. The body needs {100 * need[worst]:.0f} cm."]
