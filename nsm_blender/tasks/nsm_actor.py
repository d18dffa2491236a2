# SPDX-License-Identifier: GPL-3.0-or-later
"""The NSM's character as the task machine moves it: goals for its network, and hands that move things."""

from __future__ import annotations

import copy
import math
from typing import Self

import numpy as np

from ..motion.rotations import Array
from ..planning.scene_planner import Load
from ..planning.speed_limits import SpeedLimits
from ..planning.speed_profile import Walker
from ..rollout.goal_spec import Reach, Stay, Steer
from ..rollout.held_objects import Hands
from ..rollout.nsm import SceneCharacter
from .actor import Actor
from .carry import load_of
from .protocol import Posture

STILL = 0.12
"""Speed in m/s of the root below which the character stands still."""
AT_END = 0.2
"""Meters of way left at which the character comes to a stop."""
NEARLY = 0.28
"""Meters of way left at which the character also stops that gets no nearer."""
TURNED = math.radians(6)
"""Radians of a turn on the spot that count as made."""
UP = 0.15
"""Meters above the floor from which the character first goes down the way that it came."""


class NsmActor(Actor):
    """An actor with hands. ground: height of the floor."""

    character: SceneCharacter
    hands: Hands

    near_end, nearly_there, turned = AT_END, NEARLY, TURNED

    def __init__(self, character: SceneCharacter, ground: float, limits: SpeedLimits) -> None:
        self.character, self.limits = character, limits
        self.scenery = character.scenery
        self.hands = Hands(character.scenery)
        self._ground = ground
        self._steer: Steer | None = None

    def step(self) -> None:
        """One frame of the body and of what is in its hands."""
        self.character.step()
        self.hands.follow(self.character, self.character.frame - 1)

    def fork(self) -> Self:
        """A copy of the actor that goes on from here on its own."""
        out = copy.copy(self)
        out.character = self.character.fork()
        out.scenery = out.character.scenery
        out.hands = self.hands.fork(out.scenery)
        goal = out.character.goal
        out._steer = goal if isinstance(goal, Steer) else None
        return out

    @property
    def frame(self) -> int:
        """Frames of the rollout so far, at 60 fps."""
        return self.character.frame

    @property
    def root(self) -> Array:
        """Place x, y, z and facing angle (4,)."""
        return self.character.root

    @property
    def is_still(self) -> bool:
        """Whether it stands still."""
        return self.character.speed <= STILL

    @property
    def is_high(self) -> bool:
        """Whether it is up on something."""
        return float(self.root[2]) > self._ground + UP

    @property
    def load(self) -> Load | None:
        """What it carries."""
        return load_of(self.hands.holding, self.scenery)

    @property
    def walker(self) -> Walker:
        """The one that leads it now, or led it last."""
        assert self._steer is not None
        return self._steer.walker

    def stand(self, place: Array, facing: float | None) -> None:
        """Stand at a place (2,), turned to an angle or as it is."""
        hold, facing = self.hands.holding, float(self.root[3]) if facing is None else facing
        at = np.append(place, self.scenery.ground(self.frame, place[None], self._ground))
        self.character.set_goal(Stay(at, facing) if hold is None else Stay(at, facing, "carry", hold.name))

    def face(self, facing: float | None) -> None:
        """Stand where it does, turned to an angle or as it is."""
        self.stand(self.root[:2].copy(), facing)

    def rest(self) -> None:
        """Want no more of a thing that was used."""
        if isinstance(self.character.goal, Reach):
            self.face(None)

    def wait(self) -> None:
        """Stand, at the end of the way if the character has come by one."""
        self.rest()
        if isinstance(self.character.goal, Steer):
            path = self.walker.path
            self.stand(path.position(np.array(path.length)), None)

    def walk(self, walker: Walker, runs: bool, left: Posture | None, door: str) -> None:
        """Follow a walker, with what is in the hands."""
        self._steer = self._steered(walker, runs, left, door)
        self.character.set_goal(self._steer)

    def _steered(self, walker: Walker, runs: bool, left: Posture | None = None, door: str = "") -> Steer:
        """The goal of following a walker."""
        hold, floor, scenery, frame = self.hands.holding, self._ground, self.scenery, self.frame
        return Steer(
            walker,
            "run" if runs and hold is None else "walk" if hold is None else "carry",
            "" if hold is None else hold.name,
            ground=lambda places: scenery.ground(frame, places, floor),
            pace=self.character.speed,
            seat=None if left is None else left.seating.aim,
            rest=0.0 if left is None else left.seconds,
            door=door,
        )

    def use(self, aim: Reach) -> None:
        """Use a thing."""
        self.character.set_goal(aim)

    def looks_ahead(self) -> bool:
        """Whether it looks along its way, and has no gap before it."""
        assert self._steer is not None
        return self._steer.looks_along(self.root) > 0 and not self.walker.goes_sideways
