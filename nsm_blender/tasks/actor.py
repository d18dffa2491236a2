# SPDX-License-Identifier: GPL-3.0-or-later
"""What the task machine asks of a network's character."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from ..geometry.ground import Ground
from ..geometry.scene_state import Scenery
from ..motion.rotations import Array
from ..planning.scene_planner import Load
from ..planning.speed_limits import SpeedLimits
from ..planning.speed_profile import Walker
from ..rollout.goal_spec import Reach
from ..rollout.held_objects import Hands
from ..rollout.nsm import SceneCharacter
from ..shot.goals import ActionKey
from .protocol import Posture


class Actor(ABC):
    """A character that stands and walks; one with hands also uses things.

    scenery: the things around, as it has moved them. near_end: meters of way left at which it stops. nearly_there:
    the same where it gets no nearer. turned: radians of a turn that count as made. limits: how slowly and fast it goes.
    terrain: the ground that it walks on, None for a level floor.
    """

    scenery: Scenery
    limits: SpeedLimits
    near_end: float
    nearly_there: float
    turned: float
    terrain: Ground | None = None

    @property
    @abstractmethod
    def frame(self) -> int:
        """Frames of the rollout so far, at 60 fps."""

    @property
    @abstractmethod
    def root(self) -> Array:
        """Place x, y, z and facing angle (4,)."""

    @property
    @abstractmethod
    def is_still(self) -> bool:
        """Whether it stands still."""

    @property
    @abstractmethod
    def walker(self) -> Walker:
        """The one that leads it now, or led it last."""

    def turn_first(self, walker: Walker) -> bool:
        """Whether it is to turn on the spot before it goes; then it begins to."""
        return False

    def has_turned(self) -> bool:
        """Whether it looks along its way as far as it needs to set off."""
        return True

    @abstractmethod
    def stand(self, place: Array, facing: float | None) -> None:
        """Stand at a place (2,), turned to an angle or as it is."""

    @abstractmethod
    def face(self, facing: float | None) -> None:
        """Stand where it does, turned to an angle or as it is."""

    @abstractmethod
    def walk(self, walker: Walker, runs: bool, left: Posture | None, door: str) -> None:
        """Follow a walker. left: what it has just left. door: name of the one that the way leads through, ""."""

    def jump(self, target: Array | None, facing: float | None) -> None:
        """Jump with both feet to a place (3,), or on the spot, and stand there turned to an angle or as it is."""
        raise NotImplementedError

    def begin(self, key: ActionKey) -> None:  # noqa: B027 most have nothing to do
        """A key begins."""

    def waits(self) -> bool:
        """Whether it stands before something that moves."""
        return False

    # With hands

    hands: Hands | None = None
    character: SceneCharacter | None = None

    @property
    def load(self) -> Load | None:
        """What it carries."""
        return None

    @property
    def is_high(self) -> bool:
        """Whether it is up on something."""
        return False

    def use(self, aim: Reach) -> None:
        """Use a thing."""
        raise NotImplementedError

    def rest(self) -> None:  # noqa: B027 nothing was used
        """Want no more of a thing that was used."""

    def wait(self) -> None:  # noqa: B027 at the end of a way it stands
        """Stand, where the way ended if the character has come by one: the next key begins later, or there is none."""

    def looks_ahead(self) -> bool:
        """Whether it looks along its way, and has no gap before it."""
        return True

    def fork(self) -> Self:
        """A copy of the actor that goes on from here on its own."""
        raise NotImplementedError
