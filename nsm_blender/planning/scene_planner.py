# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to what keys ask for, things being where the character has moved them, and from where it sits or stands on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import RouteError
from ..geometry.body import BODY
from ..geometry.colliders import Collider
from ..geometry.ground import Ground
from ..geometry.scene_state import Scenery
from ..motion.rotations import Array
from ..shot.goals import ActionKey
from ..shot.shot import Shot
from .approach_poses import Approach
from .occupancy_grid import ANKLE, TOLERANCE, ObstacleOutlines
from .path_planner import Leg, Planner

_STEPS = 9
"""Places on the straight way to a thing at which there must be room."""


@dataclass(frozen=True)
class Load:
    """What is carried. name: of the collider. half_width: meters to either side that the body needs with it."""

    name: str
    half_width: float


class ScenePlanner:
    """The planners of one shot while it is played, in which things are moved. terrain: see `Planner`."""

    def __init__(self, shot: Shot, terrain: Ground | None = None) -> None:
        self._shot = shot
        self.still = Planner(shot, terrain)

    def planners(self, scenery: Scenery, frame: int, load: Load | None) -> list[Planner]:
        """Planners that know where things are now, the one with the better approaches, or with room for what is
        carried, first."""
        if load is None and not scenery.moved:
            return [self.still]
        now = [_moved(c, scenery, frame) for c in self._shot.colliders if load is None or c.name != load.name]
        there = {c.name for c in now}
        goals = [goal for goal in self._shot.goals if goal.collider in there or not goal.collider]
        shot = replace(self._shot, colliders=now, goals=goals)
        if load is None:
            return [Planner(shot, self.still.terrain)]
        # What is carried is before the body, where a body that goes sideways has a wall.
        upright = replace(shot.route_options, sideways=False)
        wide = replace(upright, radius=max(load.half_width, upright.radius))
        return [Planner(replace(shot, route_options=options), self.still.terrain) for options in (wide, upright)]


def leg_from(
    place: Array,
    starts: Sequence[Array],
    planners: Sequence[Planner],
    approach: Callable[[Planner], Approach],
    key: ActionKey,
    at: float,
    height: float = 0.0,
) -> Leg:
    """The leg of a key from a place (2,) at a height and a frame of the shot, by the first of the planners that finds
    one. Raises RouteError with what hinders the first of the starts.

    starts: where the way may begin, best first: where the character is, or where it first goes from there, as before a
    seat, down from a height, or back from where there is no room. approach: where the task is begun, by a planner.
    """
    errors = list[RouteError]()
    for planner in planners:
        for start in starts:
            try:
                asked = approach(planner)
                leg = planner.leg(key, asked, start, at, height)
            except RouteError as reason:
                errors.append(reason)
                continue
            if start is not place:
                leg = _prolonged(_without(leg, planner.led_out(place, leg.route.points)), [place], [])
            return led_onward(leg, asked)
    raise errors[0]


def led_onward(leg: Leg, approach: Approach) -> Leg:
    """A leg to where a task is begun, and on from there as its approach says."""
    if not approach.onward:
        return leg
    out = _prolonged(leg, [], approach.onward)
    on_hands = np.arange(len(out.route.points)) == len(leg.route.points) if approach.on_hands else None
    return replace(out, foot=leg.place, route=replace(out.route, on_hands=on_hands))


def is_free(root: Array, end: Array, scenery: Scenery, frame: int, thing: str) -> bool:
    """Whether a body at a root (4,) goes straight to a place (2,) without touching anything but the thing it uses."""
    way = np.linspace(root[:2], end, _STEPS)
    reach = float(np.linalg.norm(end - root[:2])) / 2 + BODY.half_width
    near = scenery.near(frame, np.append(way.mean(0), root[2] + BODY.height / 2), math.hypot(reach, BODY.height / 2))
    things = ObstacleOutlines.of(near.without([thing] if thing else [])).between(root[2] + ANKLE, root[2] + BODY.height)
    # What is near already, at either end, does not get in the way.
    allowed = np.minimum(things.distances(way[[0, -1]]).min(0, initial=np.inf), BODY.half_width)
    return bool((things.distances(way) >= allowed - TOLERANCE).all())


def _moved(collider: Collider, scenery: Scenery, frame: int) -> Collider:
    if collider.name not in scenery.moved:
        return collider
    return replace(collider, poses=scenery.pose(collider.name, frame)[None])


def _without(leg: Leg, count: int) -> Leg:
    """The leg without its first points."""
    route = leg.route
    parts = route.points[count:], route.crouch[count:], route.sideways[count:]
    return replace(leg, route=replace(route, points=parts[0], crouch=parts[1], sideways=parts[2]))


def _prolonged(leg: Leg, before: Sequence[Array], after: Sequence[Array]) -> Leg:
    """The leg with more places (2,) before its first and after its last point."""
    route, points = leg.route, leg.route.points
    first = [np.append(place, points[0, 2]) for place in before]
    last = [np.append(place, points[-1, 2]) for place in after]
    plain = np.zeros(len(before), dtype=bool), np.zeros(len(after), dtype=bool)
    crouch, sideways = (np.hstack((plain[0], flags, plain[1])) for flags in (route.crouch, route.sideways))
    points = np.array([*first, *points, *last])
    return replace(leg, route=replace(route, points=points, crouch=crouch, sideways=sideways))
