# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to what keys ask for, things being where the character has moved them, and from where it sits or stands on."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..errors import RouteError
from ..geometry.colliders import Collider
from ..geometry.roles import Carryable, Climbable, Door, Handles, Seat
from ..geometry.scene_state import Scenery, to_world
from ..models.nsm import FPS
from ..motion.root import direction
from ..motion.rotations import Array, normalize
from ..rollout.goal_input import Reach
from ..shot.goals import ActionKey
from ..shot.shot import Shot
from .occupancy_grid import ANKLE, TOLERANCE, Footprints
from .path_planner import Leg, Planner
from .path_search import Route

IN_FRONT = 0.35
"""Metres before the seat's edge at which one stands who got up."""
BEHIND = 0.8
"""Metres behind a door at which one has gone through,"""
BEFORE = 0.3
"""before it at which one goes straight on."""
ASIDE = 0.06
"""Metres from the middle towards the handle, away from a leaf that stands open there."""
HAND = 0.1
"""Metres that a hand and its elbow need beside a box."""
CLEAR = 0.25
"""Metres from the root to things beside a body that goes straight to where it uses one."""
SECTOR = {"sit": math.radians(80), "carry": math.radians(60), "idle": math.radians(40), "open": math.radians(60)}
"""Angles from straight before a thing, within which approaches lie that the network was trained on, by the goal's
action ("idle" is putting down: with a box before one, one gets stuck at a corner)."""
_HEIGHT, _STEPS = 1.75, 9


class Ways:
    """Finds the legs of one shot."""

    def __init__(self, shot: Shot) -> None:
        self._shot = shot
        self.still = Planner(shot)
        self._goals = {goal.name: goal for goal in shot.goals}

    def leg(self, key: ActionKey, place: Array, frame: int, scenery: Scenery, held: str, starts: list[Array]) -> Leg:
        """The leg from `place` (2,) to the key's goal at a frame of the rollout: to a seat's front where that can be
        reached, over the edge of what is climbed. Raises RouteError with what hinders the first of the starts.

        held: name of what is carried, "". starts: where the way may begin, best first: where one is, or where one
        first goes from there, as before a seat, down from a height, or back from where there is no room.
        """
        errors = list[RouteError]()
        for planner in self.planners(key, frame, scenery, held):
            for start in starts:
                try:
                    leg = planner.leg(key, start, frame / FPS * self._shot.fps)
                except RouteError as reason:
                    errors.append(reason)
                    continue
                if start is not place:
                    leg = _prolonged(_without(leg, planner.led_out(place, leg.route.points[:, :2])), [place], [])
                return leg if key.action != "climb" else self._climbed(leg, key, frame, scenery)
        raise errors[0]

    def handles(self, key: ActionKey, frame: int, scenery: Scenery, held: str) -> Handles | None:
        """Those by which the thing of a key is best used from where there is room. Raises RouteError."""
        return self.planners(key, frame, scenery, held)[-1].sides(key, frame / FPS * self._shot.fps)[0][0].handles

    def planners(self, key: ActionKey, frame: int, scenery: Scenery, held: str) -> list[Planner]:
        """Planners that know where things are now, the one with the better approaches, or with room for what is
        carried, first."""
        now = [_moved(c, scenery, frame) for c in self._shot.colliders if c.name != held]
        there = {c.name for c in now}
        goals = [goal for goal in self._shot.goals if goal.collider in there or not goal.collider]
        shot = replace(self._shot, colliders=now, goals=goals)
        if held:
            # What is carried is before the body, where one who goes sideways has a wall.
            upright = replace(shot.route_options, sideways=False)
            wide = replace(upright, radius=max(_half_width(scenery.collider(held)), upright.radius))
            return [Planner(replace(shot, route_options=options)) for options in (wide, upright)]
        return [Planner(shot) if scenery.moved else self.still]

    def _climbed(self, leg: Leg, key: ActionKey, frame: int, scenery: Scenery) -> Leg:
        """The leg that goes on over the edge to the landing."""
        name = self._goals[key.goal].collider
        handles, pose = leg.handles, scenery.pose(name, frame)
        assert isinstance(handles, Climbable)
        return _prolonged(leg, [], [to_world(np.array(part), pose)[:2] for part in (handles.edge, handles.landing)])


def is_free(root: Array, end: Array, scenery: Scenery, frame: int, thing: str) -> bool:
    """Whether a body at a root (4,) goes straight to a place (2,) without touching anything but the thing it uses."""
    way = np.linspace(root[:2], end, _STEPS)
    reach = float(np.linalg.norm(end - root[:2])) / 2 + CLEAR
    near = scenery.near(frame, np.append(way.mean(0), root[2] + _HEIGHT / 2), math.hypot(reach, _HEIGHT / 2))
    things = Footprints.of(near.without([thing] if thing else [])).between(root[2] + ANKLE, root[2] + _HEIGHT)
    # What is near already, at either end, does not get in the way.
    allowed = np.minimum(things.distances(way[[0, -1]]).min(0, initial=np.inf), CLEAR)
    return bool((things.distances(way) >= allowed - TOLERANCE).all())


def before_seat(aim: Reach, scenery: Scenery) -> Array:
    """Where one stands (2,) who got up from the seat of an aim."""
    seat = aim.seat or scenery.collider(aim.thing).handles
    assert isinstance(seat, Seat)
    out: Array = aim.place[:2] + direction(np.array(aim.facing)) * (seat.depth / 2 + IN_FRONT)
    return out


def before_edge(aim: Reach, scenery: Scenery, place: Array) -> Array:
    """From the part of the front edge of an aim's seat that is nearest to a place (2,), to that place, (2,)."""
    seat = aim.seat or scenery.collider(aim.thing).handles
    assert isinstance(seat, Seat)
    front = direction(np.array(aim.facing))
    left = np.array([-front[1], front[0]])
    away = place - aim.place[:2] - seat.depth / 2 * front
    out: Array = away - float(np.clip(away @ left, -seat.width / 2, seat.width / 2)) * left
    return out


def in_sector(aim: Reach, scenery: Scenery, place: Array) -> bool:
    """Whether a place (2,) is where those come from who use a thing: before a seat's edge, behind the facing of
    others."""
    front = direction(np.array(aim.facing))
    away, front = (before_edge(aim, scenery, place), front) if aim.action == "sit" else (place - aim.place[:2], -front)
    return float(away @ front) > math.cos(SECTOR[aim.action]) * float(np.linalg.norm(away))


def is_pushed(aim: Reach, scenery: Scenery) -> bool:
    """Whether the door of an aim swings away from the one who opens it."""
    leaf = scenery.collider(aim.thing)
    handles, shut = leaf.handles, np.asarray(leaf.poses[0], dtype=float)
    assert isinstance(handles, Door)
    hinge, handle, above = (
        to_world(part, shut)
        for part in (np.array(handles.hinge), np.array(handles.handle), np.array(handles.hinge) + handles.axis)
    )
    swings = np.sign(handles.angle) * np.cross(above - hinge, handle - hinge)[:2]
    return float(swings @ direction(np.array(aim.facing))) > 0


def through_door(aim: Reach, root: Array, scenery: Scenery) -> Leg:
    """From the root (4,) straight over the threshold of the door of an aim."""
    leaf = scenery.collider(aim.thing)
    handles, shut = leaf.handles, np.asarray(leaf.poses[0], dtype=float)
    assert isinstance(handles, Door)
    hinge, handle = (to_world(np.array(part), shut)[:2] for part in (handles.hinge, handles.handle))
    # Straight over the threshold, also where the leaf stood open already as the character came.
    along = normalize(handle - hinge)
    through = np.array([along[1], -along[0]])
    through *= np.sign(through @ direction(np.array(aim.facing)))
    middle = hinge + (handles.width / 2 + ASIDE) * along
    points = [root[:2], middle + BEHIND * through]
    if (root[:2] - middle) @ through < -BEFORE:
        points.insert(1, middle - BEFORE * through)
    flat = np.hstack((np.array(points), np.full((len(points), 1), root[2])))
    return Leg(Route(flat, *np.zeros((2, len(points)), dtype=bool)), None)


def _half_width(box: Collider) -> float:
    """Metres to either side that one needs who carries a box."""
    assert isinstance(box.handles, Carryable)
    across = np.array(box.handles.left) - np.array(box.handles.right)
    return float(np.linalg.norm(across)) / 2 + HAND


def _moved(collider: Collider, scenery: Scenery, frame: int) -> Collider:
    if collider.name not in scenery.moved:
        return collider
    return replace(collider, poses=scenery.pose(collider.name, frame)[None])


def _without(leg: Leg, count: int) -> Leg:
    """The leg without its first points."""
    route = leg.route
    parts = route.points[count:], route.crouch[count:], route.sideways[count:]
    return replace(leg, route=replace(route, points=parts[0], crouch=parts[1], sideways=parts[2]))


def _prolonged(leg: Leg, before: list[Array], after: list[Array]) -> Leg:
    """The leg with more places (2,) before its first and after its last point."""
    route, points = leg.route, leg.route.points
    first = [np.append(place, points[0, 2]) for place in before]
    last = [np.append(place, points[-1, 2]) for place in after]
    plain = np.zeros(len(before), dtype=bool), np.zeros(len(after), dtype=bool)
    crouch, sideways = (np.hstack((plain[0], flags, plain[1])) for flags in (route.crouch, route.sideways))
    points = np.array([*first, *points, *last])
    return replace(leg, route=replace(route, points=points, crouch=crouch, sideways=sideways))
