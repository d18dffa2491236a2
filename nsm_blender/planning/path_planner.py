# SPDX-License-Identifier: GPL-3.0-or-later
"""The way that one action key asks for: from where one stands to where the goal is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from ..errors import RouteError
from ..geometry.colliders import Collider, Placed, Surroundings
from ..geometry.roles import Carryable, Handles, Surface
from ..geometry.scene_state import pose_at
from ..motion.rotations import Array
from ..shot.goals import ActionKey
from ..shot.shot import Shot
from ..tasks.interaction_targets import put_down_aim
from .approach_poses import BEFORE, Stand, other_stands, seat_stands, stands
from .narrow_passages import TURNED, gaps_on
from .occupancy_grid import ANKLE, CROUCHED, TOLERANCE, Footprints
from .path_search import SPACING, Finder, Route, finder, led_out, resampled, wider
from .placement_fit import misfit
from .speed_profile import Walker
from .stand_clearance import hindrance, no_room_to_sit
from .velocity_constraints import Berth

_OUT, _ASIDE = (0.0, 0.1, 0.2, 0.3), (0.0, -0.2, 0.2, -0.4, 0.4, -0.6, 0.6)
BESIDE = sorted(((out, aside) for out in _OUT for aside in _ASIDE), key=lambda by: math.hypot(*by))
"""Metres further out and aside from where its handles say that one stands before a thing, the nearest first: the thing
may be wider than they tell, or others stand close by."""
USED = {"sit": "to sit down on", "pick_up": "to take", "put_down": "to put things on"}
"""Actions for which a body needs room where the thing is used."""
MOVES = 1e-3
"""A collider whose poses differ by more than this, in metres or in the quaternion, moves."""
_STEPS = 12
"""Points that are looked at between a seat and where a body stands before it, 3 to 8 cm apart."""
_KNOWN = 0.25
"""Metres: points of an animator's route that are nearer to its ends than this are taken for those."""


@dataclass(frozen=True, eq=False)
class Leg:
    """A route, and the facing angle at its end or None: as one arrives. handles: of the thing that it leads to, as it
    is used from there."""

    route: Route
    facing: float | None
    handles: Handles | None = None

    @property
    def place(self) -> Array:
        """Where it ends, (2,)."""
        return np.asarray(self.route.points[-1, :2])


def movers(colliders: list[Collider]) -> list[str]:
    """Names of the colliders that are animated."""
    return [c.name for c in colliders if len(c.poses) > 1 and np.ptp(np.asarray(c.poses), axis=0).max() > MOVES]


class _NoRoomError(RouteError):
    """There is nowhere to stand before a thing."""


class Planner:
    """Finds the legs of one shot."""

    def __init__(self, shot: Shot) -> None:
        self._shot = shot
        self.surroundings = Surroundings(shot.colliders)
        self.movers = movers(shot.colliders)
        self._goals = {goal.name: goal for goal in shot.goals}
        self._colliders = {collider.name: collider for collider in shot.colliders}
        self.ground = shot.start[2] if shot.start is not None else 0.0

    def leg(self, key: ActionKey, start: Array, frame: float) -> Leg:
        """The leg of a walk or run key that sets off at `start` (2,) at a frame. Raises RouteError."""
        sides = self.sides(key, frame)
        if key.route:
            return self._given(key, start, sides[0][0])
        errors = list[RouteError]()
        # What moves may be elsewhere by then; one waits before it.
        for passable in ((), self.movers) if self.movers else ((),):
            for places in sides:
                try:
                    return self._found(key, places, self._finder(frame, passable), start, frame)
                except RouteError as reason:
                    errors.append(reason)
        # Where there is room to stand, what hinders the way there is the reason.
        errors = [reason for reason in errors if not isinstance(reason, _NoRoomError)] or errors
        raise errors[-1] if self.movers else errors[0]

    def sides(self, key: ActionKey, frame: float) -> list[list[Stand]]:
        """Where one may stand for a key at a frame: places that are as good, then others, from which the thing is used
        from another side than its handles say. Sides that one can stand straight before come first, in this order.
        Raises RouteError where there is no room to use it."""
        goal = self._goals[key.goal].at(frame)
        thing, far = self._colliders.get(goal.collider), self._shot.route_options.radius + BEFORE
        if key.action not in USED or thing is None or thing.handles is None:
            return [stands(goal, thing, frame, far)]
        if key.action == "sit":
            tiers = seat_stands(goal, thing, frame, far)
        else:
            tiers = [[[one] for one in chain(stands(goal, thing, frame, far), *other_stands(goal, thing, frame, far))]]
        things, pose = self.around(frame), pose_at(thing, frame)
        sides = [side for tier in tiers for side in tier]
        found = {id(side): hindrance(side[0], thing, pose, things, self.ground) for side in sides}
        if any(one is None for one in found.values()):
            ways = self._finder(frame, self.movers)
            free = [[side for side in tier if found[id(side)] is None] for tier in tiers]
            fits = self._fits_next(key, thing, pose, frame)
            return [
                side
                for tier in free
                for side in sorted(tier, key=lambda side: (not fits(side[0].handles), _off_straight(side, ways)))
            ]
        if key.action == "sit":
            raise RouteError(no_room_to_sit(sides[0][0], thing, pose, things, self.ground))
        least = min((one for one in found.values() if one is not None), key=lambda one: one.lacking)
        raise RouteError(
            f"There is no room {USED[key.action]} '{thing.name}': '{least.name}' leaves {100 * least.metres:.0f} cm "
            f"where the body needs {100 * least.needed:.0f} cm. Move one of them away from the other."
        )

    def _fits_next(self, key: ActionKey, box: Collider, pose: Array, frame: float) -> Callable[[Handles | None], bool]:
        """Tells of the grasps of a box at a pose (7,), which a key takes, whether the box, held so, fits where the next
        key puts it down; of any other handles, and where that cannot be told, that it does."""
        keys = self._shot.keys
        number = next((number for number, other in enumerate(keys) if other is key), len(keys))
        put = next((other for other in keys[number + 1 :] if other.action in ("pick_up", "put_down")), None)
        goal = None if put is None else self._goals[put.goal].at(frame)
        thing = None if goal is None else self._colliders.get(goal.collider)
        if key.action != "pick_up" or put is None or put.action != "put_down" or goal is None or thing is None:
            return lambda grasp: True
        try:
            top = self.sides(put, frame)[0][0].handles
        except RouteError:
            top = None
        under = pose_at(thing, frame)
        loose = [one.name for one in self._shot.colliders if one.role == "carryable"]
        around = self.around(frame).without(loose)

        def fits(grasp: Handles | None) -> bool:
            if not isinstance(grasp, Carryable) or not isinstance(top, Surface):
                return True
            there = put_down_aim(top, under, box, grasp, pose).pose
            assert there is not None
            return not misfit(box, there, thing, under, top, around)

        return fits

    def walker(self, key: ActionKey, route: Route, facing: float | None = None) -> Walker:
        """The walker of a route as the key says. facing: angle of the body as it sets off."""
        gait = "jog" if key.action == "run" and key.gait == "walk" else key.gait
        route = replace(route, facings=(facing, route.facings[1]))
        return Walker(route, gait, key.speed, self._clearance(route))

    def facing(self, key: ActionKey, place: Array, frame: float) -> float | None:
        """The facing angle that an idle key asks for that begins at `place` (2,) at a frame: its own, its goal's, or
        towards its goal."""
        if key.facing is not None or key.goal not in self._goals:
            return key.facing
        goal = self._goals[key.goal].at(frame)
        if goal.facing is not None:
            return goal.facing
        away = np.array(goal.place[:2]) - place
        return float(np.arctan2(away[0], -away[1])) if np.linalg.norm(away) > _KNOWN else None

    def led_out(self, place: Array, points: Array) -> int:
        """Index of the point of a way (N, 2) to which a body goes straight from a place (2,) beside it."""
        return led_out(self._still, place, points)

    def berth(self) -> Berth:
        """What one keeps off wherever one goes: all that stands still."""
        options, low = self._shot.route_options, self.ground + ANKLE
        crouching = self._still.between(low, self.ground + min(CROUCHED, options.height))
        return Berth(self._still, crouching if options.crouch else self._still, options.radius)

    def undersides(self, places: Array) -> Array:
        """Heights (T,) of the lowest of what stands still and is crouched under at places (T, 2), else infinity."""
        things = self._still[self._still.low >= self.ground + CROUCHED]
        near = things.distances(places) < self._shot.route_options.radius
        out: Array = np.where(near, things.low, np.inf).min(axis=1, initial=np.inf)
        return out

    @cached_property
    def _still(self) -> Footprints:
        """What stands still and is in a body's way, from above."""
        things = Footprints.of(self.surroundings.at(0).without(self.movers))
        return things.between(self.ground + ANKLE, self.ground + self._shot.route_options.height)

    def _clearance(self, route: Route) -> Array:
        """Metres (N,) from the points of a route to the nearest thing that stands still, less the body's radius."""
        return self._still.distance(route.points[:, :2]) - self._shot.route_options.radius

    def around(self, frame: float) -> Placed:
        """The things that do not move, at a frame."""
        return self.surroundings.at(frame).without(self.movers)

    def _finder(self, frame: float, passable: Collection[str]) -> Finder:
        """Finds routes between things where they are at the frame."""
        return finder(self.surroundings, self._shot.route_options, frame, self.ground, passable)

    def _found(self, key: ActionKey, places: list[Stand], ways: Finder, start: Array, frame: float) -> Leg:
        """The leg to one of `places`, or to the nearest place beside them that has room. Raises RouteError."""
        sideways = places[0].sideways
        if sideways:
            # In an aisle only the distance to the seat's edge differs.
            places = [max(places, key=lambda stand: ways.room_beside(stand.place))]
        things = self._between(key, frame)
        for out, aside in BESIDE[:1] if sideways else BESIDE:
            if abs(aside) > places[0].aside:
                continue
            ends = np.array([stand.moved(out, aside) for stand in places])
            joined = np.array([self._joined(stand, end, things) for stand, end in zip(places, ends, strict=True)])
            if not joined.any():
                continue
            ends, places = ends[joined], [places[i] for i in np.flatnonzero(joined)]
            if all(ways.trouble_at(end, sideways) for end in ends):
                if not any(stand.outward.any() for stand in places):
                    raise RouteError(ways.trouble_at(ends[0]))
                continue
            route = ways.route(start, ends, sideways)
            chosen = places[route.end]
            if sideways:
                route = replace(route, facings=(None, chosen.facing))
            return Leg(route, chosen.facing if key.facing is None else key.facing, chosen.handles)
        name = self._goals[key.goal].collider
        if key.action == "sit":
            thing = self._colliders[name]
            raise _NoRoomError(no_room_to_sit(places[0], thing, pose_at(thing, frame), self.around(frame), self.ground))
        raise _NoRoomError(f"There is no room to stand before '{name}'. Free the floor on one of its sides.")

    def _between(self, key: ActionKey, frame: float) -> Footprints | None:
        """What may stand between a seat that a key asks for and a body before it; None for other keys."""
        if key.action != "sit":
            return None
        seat = self._goals[key.goal].collider
        things = Footprints.of(self.around(frame).without([seat] if seat else []))
        return things.between(self.ground + ANKLE, self.ground + self._shot.route_options.height)

    def _joined(self, stand: Stand, end: Array, things: Footprints | None) -> bool:
        """Whether none of `things` is between a place (2,) to stand and the edge of the seat that is used from there.

        What reaches over that edge is no matter of the way there: see `hindrance`.
        """
        if things is None:
            return True
        edge = stand.place - (self._shot.route_options.radius + BEFORE) * stand.outward
        steps = edge + np.linspace(0.0, 1.0, _STEPS)[:, None] * (end - edge)
        touches = things.distances(steps) <= 0
        return not (touches.any(0) & ~touches[0]).any()

    def _given(self, key: ActionKey, start: Array, stand: Stand) -> Leg:
        """The animator's own way, from where one is to where the goal is."""
        between = np.array(key.route, dtype=np.float64)[:, :2]
        away = np.minimum(np.linalg.norm(between - start, axis=1), np.linalg.norm(between - stand.place, axis=1))
        points = resampled(np.vstack((start, between[away > _KNOWN], stand.place)), SPACING)
        flat = np.hstack((points, np.full((len(points), 1), self.ground)))
        crouch = np.full(len(points), key.gait == "crouch")
        facing = stand.facing if key.facing is None else key.facing
        return Leg(Route(flat, crouch, self._sideways(points)), facing, stand.handles)

    def _sideways(self, points: Array) -> Array:
        """Where (N,) the animator's own way (N, 2) leads through gaps that are gone through sideways."""
        options, out = self._shot.route_options, np.zeros(len(points), dtype=bool)
        tight = self._still.distance(points) < options.radius - TOLERANCE
        for first, last, gap in gaps_on(self._still, points, tight, options.radius):
            out[first:last] |= options.sideways and gap.passes(options.slim)
        return wider(points, out, TURNED)


def _off_straight(side: list[Stand], ways: Finder) -> float:
    """Metres aside at which there is first room to stand on a side of a thing; infinite where there is none."""
    for out, aside in BESIDE:
        if not all(ways.trouble_at(stand.moved(out, aside), stand.sideways) for stand in side):
            return abs(aside)
    return math.inf
