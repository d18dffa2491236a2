# SPDX-License-Identifier: GPL-3.0-or-later
"""Carrying out action keys: one sets off in time, goes round things to the goal, stops there, turns, and stays.

An idle key stands where one is, turned as the key or its goal says, or towards its goal.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from enum import Enum, auto
from typing import Any

import numpy as np

from ..errors import RouteError
from ..geometry.colliders import Surroundings
from ..models.pfnn import FPS
from ..motion.rotations import Array, wrap_angle
from ..planning.occupancy_grid import ANKLE, Footprints
from ..planning.path_planner import Leg, Planner
from ..planning.speed_profile import ARRIVED, Walker
from ..planning.trajectory import CAME_TO_REST, Future, Standing, State
from ..planning.velocity_constraints import Berth
from ..shot.goals import ActionKey
from ..shot.shot import Shot

TURN_FIRST = math.radians(40)
"""One who stands and has to go elsewhere than this from where he looks turns first; within"""
TURNED_ENOUGH = math.radians(15)
"""he goes."""
FACING = math.radians(3)
"""How exactly one turns to the facing that is asked for."""
SETTLED = 0.4
"""Seconds of standing still that make a stop."""
PATIENCE = 4.0
"""Seconds after which a stop is as good as it gets."""
WAITING = 1.5
"""Seconds that one waits before something that moves until looking for another way."""
LOOK_AHEAD = np.arange(0.0, 4.01, 0.25)
"""Seconds from now for which the ways of moving things are foreseen;"""
FORESEEN = 3.0
"""one's own for so many of them."""
EARLY, LATE = 1, 2
"""Steps of LOOK_AHEAD before and after one's own time at a place, in which it must be free,"""
SPARE = 0.1
"""metres beyond the body's radius."""
_ALONG = np.arange(0.0, 4.01, 0.2)
_LOOKS = 6
"""Frames between two such looks."""
UNFINISHED = "The shot ends before this is done."


class Stage(Enum):
    """What one is doing about the present key."""

    WAIT = auto()
    TURN = auto()
    WALK = auto()
    SETTLE = auto()
    HOLD = auto()


@dataclass
class Outcome:
    """What became of one key. set_off, arrived, done: frames of the shot, None for what did not happen.

    late: frames by which one set off after the key's start, because the key before was not done.

    place, facing: where one was to stand, metres and radians (facing None: any). error_cm, error_deg: how far off one
    was when done. trouble: why the goal was not reached, empty when it was.
    """

    action: str
    goal: str
    set_off: int | None = None
    arrived: int | None = None
    done: int | None = None
    late: int = 0
    place: list[float] | None = None
    facing: float | None = None
    error_cm: float | None = None
    error_deg: float | None = None
    trouble: str = ""


class ErrandCommands:
    """The commands for a shot with action keys; `outcomes` tells, key by key, what became of them."""

    def __init__(self, shot: Shot) -> None:
        start = (0.0, 0.0, 0.0, 0.0) if shot.start is None else shot.start
        self._shot = shot
        self._fps = shot.fps
        self._planner = Planner(shot)
        self._moving = Surroundings([c for c in shot.colliders if c.name in self._planner.movers])
        self.outcomes = [Outcome(key.action, key.goal) for key in shot.keys]
        self._number = 0
        self._stage = Stage.WAIT
        self._standing = Standing(np.array(start[:2]))
        self._facing = start[3]
        self._walker: Walker | None = None
        self._leg: Leg | None = None
        self._berth: Berth | None = None
        self._since = 0.0
        self._still = 0.0
        self._stop = math.inf
        self._blocked = 0.0
        self._looked = -1

    def future(self, state: State) -> Future:
        """The trajectory asked for, and on to the next stage or key when it is time."""
        while self._number < len(self.outcomes) and self._advance(state):
            pass
        if self._stage is Stage.WALK:
            assert self._walker is not None
            future = self._walker.future(state, self._stop)
        else:
            future = self._standing.future(state, self._facing)
        return replace(future, berth=self._berth)

    @property
    def _key(self) -> ActionKey:
        return self._shot.keys[self._number]

    @property
    def _outcome(self) -> Outcome:
        return self.outcomes[self._number]

    def _advance(self, state: State) -> bool:
        """Whether the present stage ended at `state`."""
        if self._stage is Stage.WAIT:
            return self._set_off(state)
        if self._stage is Stage.TURN:
            return abs(self._turn(state)) < TURNED_ENOUGH and self._enter(Stage.WALK, state)
        if self._stage is Stage.WALK:
            return self._walk(state)
        if self._stage is Stage.SETTLE:
            return self._settle(state)
        return state.time - self._since >= self._key.hold and self._finish(state)

    def _enter(self, stage: Stage, state: State) -> bool:
        self._stage, self._since, self._still = stage, state.time, state.time
        return True

    def _frame(self, state: State) -> int:
        return math.ceil(state.time * self._fps - 1e-6)

    def _set_off(self, state: State) -> bool:
        key = self._key
        if key.start is not None and state.time * self._fps < key.start - 1e-6:
            return False
        self._outcome.set_off = self._frame(state)
        # An animator's own way is gone wherever it leads.
        self._berth = None if key.route else self._planner.berth()
        self._outcome.late = 0 if key.start is None else self._outcome.set_off - key.start
        place = np.array([state.x, state.y])
        if key.action == "idle":
            facing = self._planner.facing(key, place, state.time * self._fps)
            self._outcome.facing = facing
            self._facing = self._facing if facing is None else facing
            return self._enter(Stage.SETTLE, state)
        try:
            return self._go(self._planner.leg(key, place, state.time * self._fps), state)
        except RouteError as error:
            self._outcome.trouble = str(error)
            return self._finish(state)

    def _go_round(self, state: State) -> bool:
        """Look for another way from where one waits; without any one waits on."""
        try:
            leg = self._planner.leg(self._key, np.array([state.x, state.y]), state.time * self._fps)
        except RouteError:
            self._blocked = state.time
            return False
        return self._go(leg, state)

    def _go(self, leg: Leg, state: State) -> bool:
        """Begin to walk a leg, or to turn towards it."""
        self._leg = leg
        self._outcome.place, self._outcome.facing = leg.place.tolist(), leg.facing
        self._stop, self._blocked, self._looked = math.inf, state.time, -1
        if leg.route.length < ARRIVED:
            self._stand_at_end(state)
            return self._enter(Stage.SETTLE, state)
        self._walker = self._planner.walker(self._key, leg.route)
        if abs(float(wrap_angle(np.array(self._walker.heading() - state.angle)))) > TURN_FIRST:
            self._stand(np.array([state.x, state.y]), self._walker.heading())
            return self._enter(Stage.TURN, state)
        return self._enter(Stage.WALK, state)

    def _stand(self, place: Array, facing: float) -> None:
        self._standing, self._facing = Standing(place), facing

    def _turn(self, state: State) -> float:
        """Radians to turn by to the facing that is asked for, counter-clockwise from above."""
        return float(wrap_angle(np.array(self._facing - state.angle)))

    def _stand_at_end(self, state: State) -> None:
        assert self._leg is not None
        facing = self._leg.facing
        if facing is None:
            facing = state.angle if self._walker is None else self._walker.heading()
        self._stand(self._leg.place, facing)

    def _walk(self, state: State) -> bool:
        walker = self._walker
        assert walker is not None
        if walker.left <= ARRIVED:
            self._outcome.arrived = self._frame(state)
            self._stand_at_end(state)
            return self._enter(Stage.SETTLE, state)
        self._look(state)
        if math.hypot(*state.velocity) > CAME_TO_REST or self._stop == math.inf:
            self._blocked = state.time
        if state.time - self._blocked > WAITING and not self._key.route:
            return self._go_round(state)
        return False

    def _settle(self, state: State) -> bool:
        """Standing still, turned as asked, or out of patience."""
        moving = math.hypot(*state.velocity) > CAME_TO_REST or abs(self._turn(state)) > FACING
        if moving:
            self._still = state.time
        if state.time - self._still < SETTLED and state.time - self._since < PATIENCE:
            return False
        if self._outcome.arrived is None:
            self._outcome.arrived = self._frame(state)
        self._measure(state)
        return self._enter(Stage.HOLD, state)

    def _measure(self, state: State) -> None:
        out = self._outcome
        if out.place is not None:
            out.error_cm = 100 * math.hypot(state.x - out.place[0], state.y - out.place[1])
        if out.facing is not None:
            out.error_deg = math.degrees(abs(float(wrap_angle(np.array(out.facing - state.angle)))))

    def _finish(self, state: State) -> bool:
        self._outcome.done = self._frame(state)
        self._number += 1
        return self._enter(Stage.WAIT, state)

    def _look(self, state: State) -> None:
        """Where on the way something that moves will be at the time, so that one stops before it (PFNN 6)."""
        frame = round(state.time * FPS)
        if not len(self._moving) or (self._looked >= 0 and frame - self._looked < _LOOKS):
            return
        self._looked = frame
        walker = self._walker
        assert walker is not None
        along = np.minimum(walker.along + _ALONG, walker.path.length)
        places = walker.path.position(along)
        times = (state.time + LOOK_AHEAD) * self._fps
        away = np.stack([self._things_at(time).distance(places) for time in times])
        radius = self._shot.route_options.radius
        near = away < radius + SPARE
        mine = np.searchsorted(along[:-1], walker.ahead(LOOK_AHEAD[LOOK_AHEAD <= FORESEEN]))
        met = any(near[max(n - EARLY, 0) : n + LATE + 1, place].any() for n, place in enumerate(mine))
        # Who is in its way already does best to go on.
        in_its_way = away[:, 0].min() < radius - SPARE
        swept = near.any(axis=0)
        self._stop = float(along[max(int(swept.argmax()) - 1, 0)]) if met and not in_its_way else math.inf

    def _things_at(self, frame: float) -> Footprints:
        """What moves and is in a body's way, from above."""
        options = self._shot.route_options
        things = Footprints.of(self._moving.at(frame))
        return things.between(self._planner.ground + ANKLE, self._planner.ground + options.height)

    def undersides(self, places: Array) -> Array:
        """Heights (T,) of the lowest of what one crouches under at places (T, 2); infinite where there is nothing."""
        return self._planner.undersides(places)

    def report(self, state: State) -> list[dict[str, Any]]:
        """The outcomes as JSON's plain data, for a shot that ends at `state`."""
        for outcome in self.outcomes[self._number :]:
            outcome.trouble = outcome.trouble or UNFINISHED
        if self._number < len(self.outcomes) and self._outcome.set_off is not None and self._outcome.error_cm is None:
            self._measure(state)
        return [asdict(outcome) for outcome in self.outcomes]
