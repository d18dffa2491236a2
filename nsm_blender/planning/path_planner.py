# SPDX-License-Identifier: GPL-3.0-or-later
"""The way that one action key asks for: from where the character stands to where the goal is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import RouteError
from ..geometry.colliders import Collider, Placed, Surroundings
from ..geometry.ground import STEP, Ground
from ..geometry.roles import Handles
from ..motion.rotations import Array
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot
from .approach_poses import BEFORE, Approach, Side, Stand
from .ground_search import Ends, GroundFinder
from .narrow_passages import TURNED, gaps_on
from .occupancy_grid import ANKLE, CROUCHED, TOLERANCE, ObstacleOutlines
from .path_search import SPACING, Finder, Route, finder, led_out, resampled, wider
from .speed_profile import Walker
from .velocity_constraints import Berth

_ASIDE = sorted(range(-3, 4), key=abs)
"""Steps of 20 cm to either side that are tried, the smallest first."""
BESIDE = sorted(((out / 10, aside / 5) for out in range(4) for aside in _ASIDE), key=lambda by: math.hypot(*by))
"""Meters further out and aside from where its handles say that the character stands before a thing, the nearest first:
the thing may be wider than they tell, or others stand close by."""
MOVES = 1e-3
"""A collider whose poses differ by more than this, in meters or in the quaternion, moves."""
_STEPS = 12
"""Points that are tested between a thing and where a body stands before it, 3 to 8 cm apart."""
SUNK = 0.05
"""Meters by which a thing may be sunk in the floor that it stands on."""
SAME_PLACE = 0.25
"""Meters within which a place is taken for where the character is, or is to be: a point of an animator's route at its
ends, and a goal that says where to look."""


@dataclass(frozen=True, eq=False)
class Leg:
    """A route, and the facing angle at its end or None: as the character arrives. handles: of the thing that it leads
    to, as it is used from there. foot: (2,) where the character comes down again from what the route leads up on.
    door: name of the one that the route leads through, ""."""

    route: Route
    facing: float | None
    handles: Handles | None = None
    foot: Array | None = None
    door: str = ""

    @property
    def place(self) -> Array:
        """Where it ends, (2,)."""
        return np.asarray(self.route.points[-1, :2])

    @property
    def height(self) -> float:
        """Height in meters at which it ends."""
        return float(self.route.points[-1, 2])


def movers(colliders: list[Collider]) -> list[str]:
    """Names of the colliders that are animated."""
    return [c.name for c in colliders if len(c.poses) > 1 and np.ptp(np.asarray(c.poses), axis=0).max() > MOVES]


class _NoRoomError(RouteError):
    """There is nowhere to stand before a thing."""


class Planner:
    """Finds the legs of one shot, whose things are where they are.

    terrain: the shot's ground, where that is made already. ground: height of the level floor of a shot without.
    """

    def __init__(self, shot: Shot, terrain: Ground | None = None) -> None:
        self.shot = shot
        self.surroundings = Surroundings(shot.colliders)
        self.movers = movers(shot.colliders)
        self._goals = {goal.name: goal for goal in shot.goals}
        self._colliders = {collider.name: collider for collider in shot.colliders}
        self.ground = shot.start[2] if shot.start is not None else 0.0
        self.terrain = terrain
        if terrain is None and shot.ground:
            self.terrain = Ground.of([mesh.mesh() for mesh in shot.ground])
        walked_on = (collider.name for collider in shot.colliders if collider.role == "ground")
        self._walked_on = frozenset(walked_on if self.terrain is not None else ())

    def goal(self, key: ActionKey, frame: float) -> Goal | None:
        """The goal of a key as it is at a frame; None for a key without any."""
        return self._goals[key.goal].at(frame) if key.goal in self._goals else None

    def thing(self, key: ActionKey) -> Collider | None:
        """The thing that the goal of a key is on; None where it is on none."""
        return self._colliders.get(self._goals[key.goal].collider) if key.goal in self._goals else None

    @property
    def before(self) -> float:
        """Meters from a thing to the middle of a body that stands before it."""
        return self.shot.route_options.radius + BEFORE

    def leg(self, key: ActionKey, approach: Approach, start: Array, frame: float, height: float = 0.0) -> Leg:
        """The leg of a key that sets off at `start` (2,) at a frame. height: of the character in meters, which tells
        the storey of a shot with ground. Raises RouteError."""
        if key.route:
            return self._given(key, start, approach.sides[0][0], frame, height)
        errors = list[RouteError]()
        # What moves may be elsewhere by then; the character waits before it.
        for passable in ((), self.movers) if self.movers else ((),):
            for places in approach.sides:
                try:
                    return self._found(key, approach, places, self._ways(key, frame, passable, height), start)
                except RouteError as reason:
                    errors.append(reason)
        # Where there is room to stand, what hinders the way there is the reason.
        errors = [reason for reason in errors if not isinstance(reason, _NoRoomError)] or errors
        raise errors[-1] if self.movers else errors[0]

    def straight_first(
        self, tiers: Sequence[list[Side]], frame: float, fits: Callable[[Handles | None], bool], floor: float
    ) -> list[Side]:
        """The sides tier by tier: of each those whose handles fit, and that the character can stand straight before,
        come first. floor: height in meters of the floor there."""
        ways = self._finder(frame, (*self.movers, *self._walked_on), floor)
        return [
            side
            for tier in tiers
            for side in sorted(tier, key=lambda side: (not fits(side[0].handles), _off_straight(side, ways)))
        ]

    def walker(self, route: Route, gait: str, speed: float | None, facing: float | None = None) -> Walker:
        """The walker of a route. facing: angle of the body as it sets off."""
        route = replace(route, facings=(facing, route.facings[1]))
        return Walker(route, gait, speed, self._clearance(route), self.terrain)

    def led_out(self, place: Array, points: Array) -> int:
        """Index of the point of a way (N, 3) to which a body goes straight from a place (2,) beside it."""
        things, low = self._still, float(points[0, 2])
        if self.terrain is not None:
            things = things.between(low + ANKLE, low + self.shot.route_options.height)
        return led_out(things, place, points[:, :2])

    def berth(self, height: float | None = None) -> Berth:
        """What the character keeps off wherever it goes: all that stands still, and that it meets at a height in meters
        of a shot with ground."""
        options, ground, things = self.shot.route_options, self.ground, self._still
        if height is not None:
            ground, things = height, things.between(height + ANKLE, height + options.height)
        crouching = things.between(ground + ANKLE, ground + min(CROUCHED, options.height))
        return Berth(things, crouching if options.crouch else things, options.radius)

    def undersides(self, places: Array) -> Array:
        """Heights (T,) of the lowest of what stands still and is crouched under at places (T, 2), else infinity."""
        things = self._still[self._still.low >= self.ground + CROUCHED]
        near = things.distances(places) < self.shot.route_options.radius
        out: Array = np.where(near, things.low, np.inf).min(axis=1, initial=np.inf)
        return out

    @cached_property
    def _still(self) -> ObstacleOutlines:
        """What stands still and is in a body's way, from above."""
        return self.in_the_way(0)

    def _clearance(self, route: Route) -> Array:
        """Meters (N,) from the points of a route to the nearest thing that stands still, less the body's radius."""
        away = self.away(self._still, route.points).min(axis=1, initial=math.inf)
        out: Array = away - self.shot.route_options.radius
        return out

    def away(self, things: ObstacleOutlines, points: Array) -> Array:
        """Meters (P, N) from points (P, 3) of a way to things; infinite to those that a body there does not meet."""
        met = things.met(points[:, 2], ANKLE, self.shot.route_options.height)
        return np.where(met, things.distances(points[:, :2]), np.inf)

    def storey(self, key: ActionKey, frame: float) -> float:
        """Height in meters near which the goal of a key is: its own, or that of the floor under the thing it is on."""
        goal, thing = self.goal(key, frame), self.thing(key)
        if thing is not None:
            return self.floor_under(thing, frame)
        return 0.0 if goal is None else float(goal.place[2])

    def floor_under(self, thing: Collider, frame: float) -> float:
        """Height in meters of the floor on which a thing stands at a frame, or over which it lies: of a shot with
        ground the highest surface below the thing."""
        if self.terrain is None:
            return self.ground
        placed = self.surroundings.at(frame).of([thing.name])
        low = float(ObstacleOutlines.of(placed).low.min())
        return float(self.terrain.height(placed.center[:, :2].mean(axis=0), low + SUNK - STEP))

    def around(self, frame: float) -> Placed:
        """The things that do not move, at a frame."""
        return self.surroundings.at(frame).without(self.movers)

    def in_the_way(self, frame: float, without: Collection[str] = ()) -> ObstacleOutlines:
        """What does not move and is in a body's way at a frame, from above, but the things of these names; on ground at
        any height."""
        things = ObstacleOutlines.of(self.around(frame).without({*without, *self._walked_on}))
        if self.terrain is not None:
            return things
        return things.between(self.ground + ANKLE, self.ground + self.shot.route_options.height)

    def _finder(self, frame: float, passable: Collection[str], floor: float) -> Finder:
        """Finds routes between things where they are at the frame, on a floor at a height in meters."""
        return finder(self.surroundings, self.shot.route_options, frame, floor, passable)

    def _ways(self, key: ActionKey, frame: float, passable: Collection[str], height: float) -> Finder | GroundFinder:
        """Finds routes to the goal of a key from a height in meters."""
        if self.terrain is None:
            return self._finder(frame, passable, self.ground)
        placed = self.surroundings.at(frame).without({*passable, *self._walked_on})
        ends = Ends(height, self.storey(key, frame), key.goal)
        things, options = ObstacleOutlines.of(placed), self.shot.route_options
        return GroundFinder(things, self.surroundings.names, options, self.terrain, self.shot.ground, ends)

    def _found(
        self, key: ActionKey, approach: Approach, places: Side, ways: Finder | GroundFinder, start: Array
    ) -> Leg:
        """The leg to one of `places`, or to the nearest place beside them that has room. Raises RouteError."""
        sideways = places[0].sideways
        if sideways:
            # In an aisle only the distance to the thing's edge differs.
            places = [max(places, key=lambda stand: ways.room_beside(stand.place))]
        for out, aside in BESIDE[:1] if sideways else BESIDE:
            ends = np.array([stand.moved(out, aside) for stand in places])
            joined = np.array([self._joined(stand, end, approach) for stand, end in zip(places, ends, strict=True)])
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
        raise _NoRoomError(approach.no_room(places[0]))

    def _joined(self, stand: Stand, end: Array, approach: Approach) -> bool:
        """Whether nothing that must not be there is between a place (2,) to stand and the edge of the thing that is
        used from there. What reaches over that edge is no matter of the way there."""
        things = approach.apart
        if things is None:
            return True
        edge = stand.place - self.before * stand.outward
        steps = edge + np.linspace(0.0, 1.0, _STEPS)[:, None] * (end - edge)
        touches = things.distances(steps) <= 0
        return not (touches.any(0) & ~touches[0]).any()

    def _given(self, key: ActionKey, start: Array, stand: Stand, frame: float, height: float) -> Leg:
        """The animator's own way, from where the character is to where the goal is."""
        between = np.array(key.route, dtype=np.float64)
        ends = np.array([[*start, height], [*stand.place, self.storey(key, frame)]])
        away = np.linalg.norm(between[:, None, :2] - ends[:, :2], axis=2).min(axis=1)
        points = resampled(np.vstack((ends[:1], between[away > SAME_PLACE], ends[1:])), SPACING)
        over = self.terrain
        points[:, 2] = self.ground if over is None else over.nearest(points[:, :2], points[:, 2])
        crouch = np.full(len(points), key.gait == "crouch")
        sideways = self._sideways(points[:, :2]) if over is None else np.zeros(len(points), dtype=bool)
        facing = stand.facing if key.facing is None else key.facing
        return Leg(Route(points, crouch, sideways), facing, stand.handles)

    def _sideways(self, points: Array) -> Array:
        """Where (N,) the animator's own way (N, 2) leads through gaps that are gone through sideways."""
        options, out = self.shot.route_options, np.zeros(len(points), dtype=bool)
        tight = self._still.distance(points) < options.radius - TOLERANCE
        for first, last, gap in gaps_on(self._still, points, tight, options.radius):
            out[first:last] |= options.sideways and gap.passes(options.slim)
        return wider(points, out, TURNED)


def _off_straight(side: list[Stand], ways: Finder) -> float:
    """Meters aside at which there is first room to stand on a side of a thing; infinite where there is none."""
    for out, aside in BESIDE:
        if not all(ways.trouble_at(stand.moved(out, aside), stand.sideways) for stand in side):
            return abs(aside)
    return math.inf
