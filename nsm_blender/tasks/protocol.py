# SPDX-License-Identifier: GPL-3.0-or-later
"""What the machine, the planner, the validation and the clean-up ask of an action: one `Task`, one file an action."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from ..cleanup.seating import Seating
from ..errors import RouteError
from ..geometry.colliders import Collider
from ..geometry.roles import KINDS, Carryable, Handles
from ..geometry.scene_state import Scenery, pose_at
from ..motion.root import angle_of, direction
from ..motion.rotations import Array, rotate
from ..planning.approach_poses import Approach, Side, Stand, free_stand, stands, used_handles
from ..planning.occupancy_grid import ObstacleOutlines
from ..planning.path_planner import Leg, Planner
from ..planning.stand_clearance import BodyPart, Hindrance, hindrance, others_around
from ..rollout.goal_spec import Reach
from ..rollout.held_objects import Hands, Hold
from ..rollout.nsm import SceneCharacter
from ..shot.goals import ActionKey

SETTLED = 0.4
"""Seconds of stillness that make a stop, or a seat taken."""


@dataclass(frozen=True, eq=False)
class Posture:
    """What the character stays in when a key is done, until it is told to leave: it sits.

    seating: what the clean-up is told. exit: (2,) where the character stands first that leaves. seconds: that leaving
    takes before it walks.
    """

    seating: Seating
    exit: Array
    seconds: float


class Completion:
    """What the key of a number does with a thing from frame `since` of the rollout on.

    off: by how much the body missed its place on the thing, meters and radians; None until it is there. released:
    whether the character wants no more of the thing, though it is not done. reached: frame of the rollout at which it
    sat, or the hands took or left the thing; None until then.
    """

    def __init__(self, number: int, aim: Reach, since: int) -> None:
        self.number, self.aim, self.since = number, aim, since
        self.off: tuple[float, float] | None = None
        self.released = False
        self.reached: int | None = None

    def done(self, character: SceneCharacter, hands: Hands) -> bool:
        """Whether it is done; to be asked once a frame, as hands take and leave things meanwhile."""
        raise NotImplementedError

    def posture(self, character: SceneCharacter, key: ActionKey) -> Posture | None:
        """What the character stays in that has done it."""
        return None


@dataclass(frozen=True, eq=False)
class Held:
    """A box in the hands, which lay at `lying` (7,) and was taken by a grasp."""

    box: Collider
    grasp: Carryable
    lying: Array

    @staticmethod
    def of(hold: Hold | None, scenery: Scenery) -> Held | None:
        """What the hands hold."""
        return None if hold is None else Held(scenery.collider(hold.name), hold.handles, hold.lying)


@dataclass(frozen=True, eq=False)
class Prospect:
    """The scene as a key will find it. planner: of the shot with its things where they are by then. place: (2,) and
    facing of the character. held: in its hands. done_with: names of the things with which nothing is left to do. on: of
    the one that the character is up on, "". height: of the ground under it in meters, which tells the storey."""

    planner: Planner
    place: Array
    facing: float
    held: Held | None = None
    done_with: frozenset[str] = field(default_factory=frozenset)
    on: str = ""
    height: float = 0.0

    def with_thing(self, thing: Collider) -> Prospect:
        """The same with a thing elsewhere."""
        shot = self.planner.shot
        colliders = [thing if one.name == thing.name else one for one in shot.colliders]
        return replace(self, planner=Planner(replace(shot, colliders=colliders), self.planner.terrain))


class Task:
    """One action. By itself it goes to its goal, stands there, turned as asked, and stays.

    name: of the action, out of shot.goals.ACTIONS. doing, verb: in sentences, as "sitting down", "sit down on". role:
    that the goal's thing must have, "" where it may be any or none. nothing_left: a sentence for the animator about a
    key with nothing to do. goes: whether it has a way. jumps: whether the character jumps once it stands.
    interacts: whether the network is given the thing itself for a goal, see `aim`. hands: what they must be. at_once:
    whether it may begin without a way where the thing is at hand.
    stops: whether the character comes to a stop at the end of its way. turns: whether it turns there to the goal's
    facing, if the key asks for none. sector: radians from straight before the thing within which the network was
    trained to begin. seconds: that what is done with the thing takes, about. reaching: seconds of
    these until the character has arrived: sits, has taken the thing or put it down. leaving: seconds until it stands
    again before the next key. on_ground: whether it can be done in a shot with ground, over which locomotion leads.
    training: the modules of training.episodes that compose what the network learns it from.
    """

    name: ClassVar[str]
    doing: ClassVar[str]
    verb: ClassVar[str] = ""
    role: ClassVar[str] = ""
    nothing_left: ClassVar[str] = ""
    goes: ClassVar[bool] = True
    jumps: ClassVar[bool] = False
    interacts: ClassVar[bool] = False
    hands: ClassVar[Literal["any", "free", "full"]] = "any"
    at_once: ClassVar[bool] = True
    stops: ClassVar[bool] = True
    turns: ClassVar[bool] = True
    sector: ClassVar[float] = math.pi
    seconds: ClassVar[float] = 0.0
    reaching: ClassVar[float] = 0.0
    leaving: ClassVar[float] = 0.0
    on_ground: ClassVar[bool] = True
    training: ClassVar[tuple[str, ...]] = ()

    # Where the character goes

    def has_way(self, key: ActionKey) -> bool:
        """Whether a key has a way."""
        return self.goes

    def landing(self, planner: Planner, key: ActionKey, frame: float) -> tuple[Array, float | None] | None:
        """The place (3,) to which a jump leads, and the facing angle there or None: as the character comes. None for a
        jump on the spot."""
        return None

    def gait(self, key: ActionKey) -> str:
        """The gait on the way: "walk", "jog" or "crouch"."""
        return key.gait

    def runs(self, key: ActionKey) -> bool:
        """Whether the network is told to run on the way."""
        return key.gait == "jog"

    def facing(self, planner: Planner, key: ActionKey, place: Array, frame: float) -> float | None:
        """The facing angle for which a key without a way asks that begins at `place` (2,); None as the character is."""
        return key.facing

    def approach(self, planner: Planner, key: ActionKey, frame: float) -> Approach:
        """Where the character may stand for a key at a frame. Raises RouteError where there is no room to use the
        thing."""
        goal, thing = planner.goal(key, frame), planner.thing(key)
        assert goal is not None
        if thing is None or thing.handles is None:
            return Approach([[free_stand(goal)]])
        pose = pose_at(thing, frame)
        used = used_handles(goal, thing, pose)
        assert used is not None
        no_room = f"There is no room to stand before '{thing.name}'. Free the floor on one of its sides."
        side = stands(goal, thing, used, frame, planner.before)
        return Approach([side], onward=self.onward(used, pose), no_room=lambda _: no_room)

    def onward(self, handles: Handles, pose: Array) -> Sequence[Array]:
        """Places (2,) to which the way leads on from before a thing at a pose (7,)."""
        return ()

    # What is done with the thing

    def is_done(self, hands: Hands | None, thing: str, root: Array, scenery: Scenery, frame: int) -> bool:
        """Whether what is asked for is so already, for a character with a root (4,) that sets off."""
        return False

    def aim(
        self,
        key: ActionKey,
        thing: Collider,
        pose: Array,
        handles: Handles | None,
        root: Array,
        held: Held | None,
        from_stand: bool = False,
    ) -> Reach:
        """What to ask the network for near a thing at a pose (7,), of a character that comes from a root (4,) and uses
        it by these handles. from_stand: the root is where the way to the thing ends."""
        raise NotImplementedError

    def begin(self, number: int, aim: Reach, frame: int) -> Completion:
        """What the key of a number does with the thing from a frame of the rollout on."""
        raise NotImplementedError

    def stand_before(self, aim: Reach) -> Array:
        """Place (2,) of the root of a body that begins to use the thing of an aim."""
        return aim.stand

    def in_sector(self, aim: Reach, place: Array) -> bool:
        """Whether a place (2,) lies within the sector behind the facing of an aim, from which its thing is used."""
        away, front = place - aim.place[:2], -direction(np.array(aim.facing))
        return float(away @ front) > math.cos(self.sector) * float(np.linalg.norm(away))

    def exit(self, aim: Reach, root: Array, scenery: Scenery) -> Leg | None:
        """The way on that belongs to the task once it is done, as through a door; None where there is none."""
        return None

    # What is said before the bake

    def hands_trouble(self, held: str) -> str:
        """A sentence about hands that hold a thing of this name, or nothing, and cannot do this; "" where they can."""
        if self.hands == "full" and not held:
            return "The hands of the character are empty by then. Add a key before it that picks something up."
        if self.hands == "free" and held:
            return f"The character still holds '{held}'. Add a key before it that puts the thing down."
        return ""

    def held_after(self, held: str, thing: str) -> str:
        """Name of what is in the hands after a key with a thing."""
        return held

    def foreseen(self, before: Prospect, key: ActionKey, leg: Leg, frame: float) -> tuple[Prospect, str]:
        """The scene after a key that went a leg, whose end is the prospect's place, and a sentence about why it cannot
        be done, ""."""
        return before, ""

    def problems(self, planner: Planner, key: ActionKey, frame: float, held: str) -> list[tuple[str, bool]]:
        """Sentences about what cannot work, or hardly, in a key with a thing, and whether that is fatal. held: name of
        what is in the hands, ""."""
        return []


class ThingTask(Task):
    """A task for which a body needs room where the thing is used: the planner chooses the side."""

    interacts = True

    def tiers(self, planner: Planner, key: ActionKey, frame: float) -> list[list[Side]]:
        """Where a body may stand to use the thing, the best tier first."""
        raise NotImplementedError

    def parts(self, stand: Stand, pose: Array, ground: float) -> list[BodyPart]:
        """The parts of a body that uses the thing, at a pose (7,), from a stand."""
        raise NotImplementedError

    def suits(self, planner: Planner, key: ActionKey, frame: float) -> Callable[[Handles | None], bool]:
        """Tells of handles of the thing whether they also suit what the keys after this one ask for."""
        return lambda _: True

    def apart(self, planner: Planner, thing: Collider, frame: float) -> ObstacleOutlines | None:
        """What must not be between the thing and a body before it."""
        return None

    def no_room(self, planner: Planner, thing: Collider, frame: float, stand: Stand) -> str:
        """A sentence about a thing before which there is no room to stand, not even as on a stand."""
        return f"There is no room to stand before '{thing.name}'. Free the floor on one of its sides."

    def hindered(self, planner: Planner, thing: Collider, frame: float, stand: Stand, found: list[Hindrance]) -> str:
        """A sentence about a thing that cannot be used from any side for what was found there; stand: on the best."""
        least = min(found, key=lambda one: one.lacking)
        return (
            f"There is no room to {self.verb} '{thing.name}': '{least.name}' leaves {100 * least.meters:.0f} cm "
            f"where the body needs {100 * least.needed:.0f} cm. Move one of them away from the other."
        )

    def approach(self, planner: Planner, key: ActionKey, frame: float) -> Approach:
        """The sides with room for the body, those that can be stood straight before first."""
        thing = planner.thing(key)
        if thing is None or not isinstance(thing.handles, KINDS[self.role]):
            return super().approach(planner, key, frame)
        tiers, pose = self.tiers(planner, key, frame), pose_at(thing, frame)
        around, floor = others_around(thing, pose, planner.around(frame)), planner.floor_under(thing, frame)
        found = [[hindrance(self.parts(side[0], pose, floor), around) for side in tier] for tier in tiers]
        free = [
            [side for side, hinders in zip(*both, strict=True) if hinders is None]
            for both in zip(tiers, found, strict=True)
        ]
        if not any(free):
            first = next(side[0] for tier in tiers for side in tier)
            hinders = [one for tier in found for one in tier if one is not None]
            raise RouteError(self.hindered(planner, thing, frame, first, hinders))
        return Approach(
            planner.straight_first(free, frame, self.suits(planner, key, frame), floor),
            self.apart(planner, thing, frame),
            no_room=lambda stand: self.no_room(planner, thing, frame, stand),
        )


def facing_of(way: Sequence[float], pose: Array) -> float:
    """Facing angle of a direction (3,) of the frame of a thing at a pose (7,)."""
    return float(angle_of(rotate(pose[3:], np.array(way))[:2]))
