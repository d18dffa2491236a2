# SPDX-License-Identifier: GPL-3.0-or-later
"""Says before the bake what in a shot's action keys cannot work, key by key, in words."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ..errors import ShotError
from ..geometry.colliders import QUATERNION
from ..geometry.roles import Climbable, Surface
from ..geometry.scene_state import pose_at, to_world
from ..geometry.stairs import is_flight, stairs_text
from ..motion.rotations import conjugate, normalize, rotate
from ..rollout import nsm_network
from ..shot.goals import LOCOMOTION, ActionKey, Goal
from ..shot.shot import Shot
from .approach_poses import used_handles
from .arrival_times import Foreseen, foresee
from .occupancy_grid import ANKLE, TOLERANCE, Footprints
from .path_planner import Planner

USES = {"sit": "seat", "open": "door", "pick_up": "carryable", "put_down": "surface", "climb": "climbable"}
"""The role that a thing must have for each action that uses one."""
DOES = {
    "sit": "sitting down",
    "open": "opening a door",
    "pick_up": "picking things up",
    "put_down": "putting things down",
    "climb": "climbing",
}
HIGHEST, STEEPEST = 1.0, 0.7
"""Metres of a top that is climbed at most, and up to which one step up looks right: higher, without hands, thighs and
shins pass through the edge."""
LADEN = 0.4
"""Metres up to which one who carries something climbs at once: 0.25 m are climbed, on 0.5 m one comes to a stop."""
LIFTED = 1.05
"""Metres of a surface up to which things are put on it: of 1 m they are, on 1.1 m they end up 20 cm off."""
RUN_UP = 1.0
"""Metres before the edge that is climbed over, on which lower steps may lie."""
UPSTAIRS = 0.3
"""Metres: a goal that is further above or below the ground than this is not on it."""


@dataclass(frozen=True)
class Problem:
    """Something wrong with one key. key: its number, counted from 0. fatal: the bake is refused for it."""

    key: int
    text: str
    fatal: bool


def check(shot: Shot, able: Collection[str] | None = None) -> list[Problem]:
    """What cannot work in the keys of a shot, in their order; none when all is well. Raises ShotError when the shot's
    data themselves make no sense, and WeightsError when a model card cannot be read.

    able: actions that can be done; None for all that the installed networks can do.
    """
    shot.validate()
    able = nsm_network.able() if able is None else able
    planner = Planner(shot)
    out: list[Problem] = []
    full = _hands_full(shot)
    for number, (key, seen) in enumerate(zip(shot.keys, foresee(shot, able), strict=True)):
        out += [Problem(number, text, True) for text in _impossible(shot, key, seen, able)]
        out += [Problem(number, text, True) for text in _beyond_the_hands(key, full[number])]
        out += [Problem(number, text, False) for text in _doubtful(shot, planner, key, seen)]
        out += [Problem(number, text, fatal) for text, fatal in _too_high(shot, planner, key, seen, full[number])]
        out += [Problem(number, text, False) for text in _out_of_reach(shot, planner, key, seen)]
    return out


def refuse(shot: Shot, able: Collection[str] | None = None) -> None:
    """Raise ShotError when a key of the shot cannot work, with the reason. able: as for `check`."""
    for problem in check(shot, able):
        if problem.fatal:
            raise ShotError(f"Action key {problem.key + 1} ({shot.keys[problem.key].action}): {problem.text}")


def _hands_full(shot: Shot) -> list[str]:
    """What is in the hands before each key: the goal at which it was picked up, or ""."""
    out, held = [], ""
    for key in shot.keys:
        out.append(held)
        if key.action in ("pick_up", "put_down"):
            held = key.goal if key.action == "pick_up" else ""
    return out


def _beyond_the_hands(key: ActionKey, held: str) -> list[str]:
    if key.action == "put_down" and not held:
        return ["The hands of the character are empty by then. Add a key before it that picks something up."]
    if key.action in ("pick_up", "open") and held:
        return [f"The character still holds the thing of '{held}'. Add a key before it that puts the thing down."]
    return []


def _impossible(shot: Shot, key: ActionKey, seen: Foreseen, able: Collection[str]) -> list[str]:
    out = []
    if key.action in USES:
        collider = next((c for c in shot.colliders if c.name == _goal(shot, key).collider), None)
        if collider is None or collider.role != USES[key.action]:
            out.append(
                f"{DOES[key.action].capitalize()} needs a {USES[key.action]}. Attach the goal '{key.goal}' to one."
            )
        elif collider.handles is None:
            out.append(f"The {USES[key.action]} '{collider.name}' has no handles yet. Press Propose Handles.")
    if key.action not in able:
        network = "the networks that are installed" if set(able) - set(LOCOMOTION) else "the locomotion network"
        out.append(f"{DOES[key.action].capitalize()} is beyond {network}. Use {', '.join(able)}.")
    return [*out, seen.trouble] if seen.trouble else out


def _doubtful(shot: Shot, planner: Planner, key: ActionKey, seen: Foreseen) -> list[str]:
    out = []
    if key.start is not None and key.start >= shot.frames:
        out.append(f"It sets off at frame {key.start}, after the end of the shot.")
    elif key.start is not None and key.start < seen.free_early - 1:
        late = math.ceil(seen.free - key.start)
        out.append(f"It sets off about {late} frames late, as the key before is not done at frame {key.start}.")
    if seen.set_off < shot.frames <= seen.early:
        lacking = math.ceil(seen.done - shot.frames + 1)
        out.append(f"Too few frames: the shot ends about {lacking} frames before it is done.")
    if seen.idle:
        if key.action == "open":
            out.append("The door is open by then: nothing is done. Remove the key; walk keys lead through the doorway.")
        else:
            out.append("The character is up there by then: nothing is done. Remove the key.")
    if key.action in LOCOMOTION and key.goal and not _goal(shot, key).collider:
        above = _goal(shot, key).at(seen.set_off).place[2] - planner.ground
        if abs(above) > UPSTAIRS:
            where = "above" if above > 0 else "below"
            out.append(f"The goal is {abs(above):.1f} m {where} the ground. The character walks to the ground there.")
    return [*out, *_in_the_way(shot, planner, key, seen)]


def _too_high(shot: Shot, planner: Planner, key: ActionKey, seen: Foreseen, held: str) -> list[tuple[str, bool]]:
    """What is climbed too far at once, or at all, or with something in the hands, and whether that is fatal."""
    thing = next((c for c in shot.colliders if c.name == _goal(shot, key).collider), None) if key.goal else None
    if key.action != "climb" or thing is None or not isinstance(thing.handles, Climbable):
        return []
    pose = pose_at(thing, seen.set_off)
    climb = used_handles(_goal(shot, key).at(seen.set_off), thing, pose)
    assert isinstance(climb, Climbable)
    edge, landing = (to_world(np.array(part), pose) for part in (climb.edge, climb.landing))
    if is_flight(climb, rotate(conjugate(pose[QUATERNION]), np.array([0.0, 0.0, 1.0]))):
        return [(f"'{thing.name}': {stairs_text(float(landing[2]) - planner.ground)}", True)]
    edge, landing = edge[:2], landing[:2]
    before = edge - RUN_UP * normalize(landing - edge)
    steps = Footprints.of(planner.surroundings.at(seen.set_off).of([thing.name]))
    under = steps.distances(np.linspace(before, landing, 100)) <= 0
    tops = np.where(under, steps.high, planner.ground).max(axis=1) - planner.ground
    high, once = float(tops.max()), float(np.diff(tops).max())
    if high > HIGHEST:
        return [(f"'{thing.name}' is {high:.2f} m high. The character climbs no more than {HIGHEST:.0f} m.", True)]
    if held and once > LADEN:
        much = f"'{thing.name}' goes up {once:.2f} m at once, and the hands are full"
        return [(f"{much}. Put the thing down before, or give it a step in between.", False)]
    if once > STEEPEST:
        much = f"'{thing.name}' goes up {once:.2f} m at once, more than the {STEEPEST:.1f} m up to which it looks right"
        return [(f"{much}. Give it a step in between.", False)]
    return []


def _out_of_reach(shot: Shot, planner: Planner, key: ActionKey, seen: Foreseen) -> list[str]:
    """What things are put on higher than the network lifts them."""
    thing = next((c for c in shot.colliders if c.name == _goal(shot, key).collider), None) if key.goal else None
    if key.action != "put_down" or thing is None or not isinstance(thing.handles, Surface):
        return []
    pose = pose_at(thing, seen.set_off)
    top = used_handles(_goal(shot, key).at(seen.set_off), thing, pose)
    assert isinstance(top, Surface)
    high = float(to_world(np.array(top.place), pose)[2]) - planner.ground
    if high <= LIFTED:
        return []
    return [f"'{thing.name}' is {high:.2f} m high. The character lifts things to {LIFTED:.2f} m: choose a lower place."]


def _in_the_way(shot: Shot, planner: Planner, key: ActionKey, seen: Foreseen) -> list[str]:
    """What the animator's own route leads too near to."""
    if not key.route or seen.leg is None:
        return []
    options = shot.route_options
    things = Footprints.of(planner.surroundings.at(seen.set_off))
    near = things.between(planner.ground + ANKLE, planner.ground + options.height)
    points = seen.leg.route.points[:, :2]
    clear = near.distance(points)
    need = np.where(seen.leg.route.sideways, options.slim, options.radius)
    worst = int((clear - need).argmin())
    if clear[worst] >= need[worst] - TOLERANCE:
        return []
    owner = near.nearest(points[worst])
    name = "" if owner is None else planner.surroundings.names[owner]
    how = "through" if clear[worst] == 0 else f"{100 * clear[worst]:.0f} cm past"
    return [f"Its route leads {how} '{name}'. The body needs {100 * need[worst]:.0f} cm."]


def _goal(shot: Shot, key: ActionKey) -> Goal:
    return next(goal for goal in shot.goals if goal.name == key.goal)
