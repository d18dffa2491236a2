# SPDX-License-Identifier: GPL-3.0-or-later
"""The PFNN's character as the task machine moves it: it walks, stands, and stops before what moves."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any, Self

import numpy as np

from ..geometry.colliders import Surroundings
from ..geometry.ground import Ground
from ..geometry.scene_state import Scenery
from ..models.pfnn import FPS
from ..motion.root import angle_of
from ..motion.rotations import Array, wrap_angle
from ..planning.hop import Hop
from ..planning.occupancy_grid import ANKLE, ObstacleOutlines
from ..planning.path_planner import Planner
from ..planning.speed_limits import SpeedLimits
from ..planning.speed_profile import Walker
from ..planning.trajectory import ARRIVED, CAME_TO_REST, Future, Standing, State
from ..planning.velocity_constraints import Berth
from ..shot.goals import ActionKey
from ..shot.shot import Shot
from .actor import Actor
from .machine import TaskMachine
from .protocol import Posture
from .timing import TURN_FIRST, TURNED_ENOUGH

FACING = math.radians(3)
"""Radians of a turn on the spot that count as made."""
LOOK_AHEAD = np.arange(0.0, 4.01, 0.25)
"""Seconds from now for which the ways of moving things are foreseen."""
FORESEEN = 3.0
"""Seconds from now for which the character's own way is foreseen."""
EARLY, LATE = 1, 2
"""Steps of LOOK_AHEAD before and after the character's own time at a place, in which it must be free."""
RISEN = 0.1
"""Meters of height after which it is looked anew what is in the way there."""
SPARE = 0.1
"""Meters beyond the body's radius that must be free of what moves."""
_ALONG = np.arange(0.0, 4.01, 0.2)
"""Meters along the way at which it is looked."""
_LOOKS = 6
"""Frames between two such looks."""


class Walking(Actor):
    """An actor without hands, and what it asks of the locomotion network."""

    near_end, nearly_there, turned = ARRIVED, ARRIVED, FACING

    def __init__(self, shot: Shot, limits: SpeedLimits, terrain: Ground | None = None) -> None:
        self.limits, self.terrain = limits, terrain
        x, y, z, angle = (0.0, 0.0, 0.0, 0.0) if shot.start is None else shot.start
        self._shot, self._planner = shot, Planner(shot, terrain)
        self._moving = Surroundings([c for c in shot.colliders if c.name in self._planner.movers])
        self.scenery = Scenery(Surroundings(shot.colliders), shot.fps)
        self._state = State(x, y, angle, 0.0, z=z)
        self._standing, self._facing = Standing(np.array([x, y])), angle
        self._walker: Walker | None = None
        self._walks = False
        self._berth: Berth | None = None
        self._berth_height = z
        self._stop, self._looked = math.inf, -1
        self._hop: Hop | None = None

    def see(self, state: State) -> None:
        """Know where the character is now."""
        self._state = state

    def wanted(self) -> Future:
        """The trajectory asked for from where the character is."""
        state = self._state
        if self._hop is not None and self.is_jumping:
            return self._hop.future(state)
        if self.terrain is not None and self._berth is not None and abs(state.z - self._berth_height) > RISEN:
            self._keep_off()
        walks = self._walks
        future = self.walker.future(state, self._stop) if walks else self._standing.future(state, self._facing)
        return replace(future, berth=self._berth)

    def fork(self) -> Self:
        """A copy of the actor that goes on from here on its own."""
        out = copy.copy(self)
        out.scenery, out._standing = self.scenery.fork(), copy.copy(self._standing)
        out._walker = copy.copy(self._walker)
        return out

    def undersides(self, places: Array) -> Array:
        """Heights (T,) of the lowest of what is crouched under at places (T, 2); infinite where there is nothing."""
        return self._planner.undersides(places)

    @property
    def frame(self) -> int:
        """Frames of the rollout so far, at 60 fps."""
        return round(self._state.time * FPS)

    @property
    def root(self) -> Array:
        """Place x, y, z and facing angle (4,)."""
        return np.array([self._state.x, self._state.y, self._height, self._state.angle])

    @property
    def _height(self) -> float:
        """Height in meters of what it stands on."""
        return self._planner.ground if self.terrain is None else self._state.z

    @property
    def is_still(self) -> bool:
        """Whether it stands still."""
        return math.hypot(*self._state.velocity) <= CAME_TO_REST and not self.is_jumping

    @property
    def is_jumping(self) -> bool:
        """Whether it jumps, from bending its knees to standing up again."""
        return self._hop is not None and not self._hop.is_over(self._state.time)

    @property
    def is_walking(self) -> bool:
        """Whether it follows a walker."""
        return self._walks

    @property
    def walker(self) -> Walker:
        """The one that leads it now, or led it last."""
        assert self._walker is not None
        return self._walker

    def begin(self, key: ActionKey) -> None:
        """A key begins."""
        # An animator's own way is gone wherever it leads.
        self._berth = None
        if not key.route:
            self._keep_off()

    def _keep_off(self) -> None:
        """Keep off what stands still and is met at the present height."""
        self._berth_height = self._state.z
        self._berth = self._planner.berth(None if self.terrain is None else self._berth_height)

    def turn_first(self, walker: Walker) -> bool:
        """Whether it is to turn on the spot before it goes; then it begins to."""
        heading = walker.heading()
        if abs(float(wrap_angle(np.array(heading - self._state.angle)))) <= TURN_FIRST:
            return False
        self.stand(self.root[:2], heading)
        return True

    def has_turned(self) -> bool:
        """Whether it looks along its way as far as it needs to set off."""
        return abs(float(wrap_angle(np.array(self._facing - self._state.angle)))) < TURNED_ENOUGH

    def stand(self, place: Array, facing: float | None) -> None:
        """Stand at a place (2,), turned to an angle or as it is."""
        if facing is None:
            facing = self.walker.heading() if self._walks else self._state.angle
        self._standing, self._facing, self._walks = Standing(place), facing, False

    def jump(self, target: Array | None, facing: float | None) -> None:
        """Jump with both feet to a place (3,), or on the spot, and stand there turned to an angle or as it is."""
        start, ahead = self.root[:3], float(self.root[3])
        end = start
        if target is not None:
            end, ahead = target, float(angle_of(target[:2] - start[:2]))
        self._hop = Hop(start, end, self._state.time, ahead)
        self.stand(end[:2], self._facing if facing is None else facing)

    def face(self, facing: float | None) -> None:
        """Stand where it does, turned to an angle or as it is."""
        self._facing = self._facing if facing is None else facing

    def walk(self, walker: Walker, runs: bool, left: Posture | None, door: str) -> None:
        """Follow a walker, with what is in the hands."""
        self._walker, self._walks = walker, True
        self._stop, self._looked = math.inf, -1

    def waits(self) -> bool:
        """Whether it stands before something that moves."""
        self._look()
        return self._stop < math.inf and self.is_still

    def _look(self) -> None:
        """Where on the way something that moves will be at the time, so that the character stops before it (PFNN 6)."""
        if not len(self._moving) or (self._looked >= 0 and self.frame - self._looked < _LOOKS):
            return
        self._looked = self.frame
        walker = self.walker
        along = np.minimum(walker.along + _ALONG, walker.path.length)
        places = walker.path.position(along)
        shifted = (self.scenery.warp.time(self.frame) - self.frame) / FPS
        times = (self._state.time + shifted + LOOK_AHEAD) * self._shot.fps
        away = np.stack([self._things_at(time).distance(places) for time in times])
        radius = self._shot.route_options.radius
        near = away < radius + SPARE
        mine = np.searchsorted(along[:-1], walker.ahead(LOOK_AHEAD[LOOK_AHEAD <= FORESEEN]))
        met = any(near[max(n - EARLY, 0) : n + LATE + 1, place].any() for n, place in enumerate(mine))
        # A character that is in the way of something already does best to go on.
        in_its_way = away[:, 0].min() < radius - SPARE
        swept = near.any(axis=0)
        self._stop = float(along[max(int(swept.argmax()) - 1, 0)]) if met and not in_its_way else math.inf

    def _things_at(self, frame: float) -> ObstacleOutlines:
        """What moves and is in a body's way, from above."""
        options = self._shot.route_options
        things = ObstacleOutlines.of(self._moving.at(frame))
        return things.between(self._height + ANKLE, self._height + options.height)


class PfnnActor(Walking):
    """The commands of a shot with action keys, all of which the locomotion network carries out."""

    def __init__(self, shot: Shot, limits: SpeedLimits, terrain: Ground | None = None) -> None:
        super().__init__(shot, limits, terrain)
        self.machine = TaskMachine(shot, self)

    def future(self, state: State) -> Future:
        """The trajectory asked for, and on to the next stage or key when it is time."""
        self.see(state)
        self.machine.advance()
        return self.wanted()

    def report(self, state: State) -> list[dict[str, Any]]:
        """The outcomes of the keys, for a shot that ends at `state`."""
        self.see(state)
        return self.machine.report()

    def fork(self) -> Self:
        """A copy of the actor that goes on from here on its own, driven by a copy of its machine."""
        out = super().fork()
        out.machine = self.machine.fork(out)
        return out
