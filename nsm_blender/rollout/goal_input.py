# SPDX-License-Identifier: GPL-3.0-or-later
"""The goal input of the NSM (4.1): a place and an action, or a way to go, ramped from one to the next."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..geometry.roles import Carryable, Seat
from ..geometry.scene_state import Scenery
from ..geometry.sensors import Interaction
from ..models.nsm import FPS, GOAL, GOAL_ACTIONS, INTERACTION, OCCUPANCY, SAMPLES
from ..motion.root import direction
from ..motion.rotations import Array, wrap_angle
from ..planning.speed_profile import Walker
from ..planning.trajectory import ARRIVED, LAST
from .nsm_features import WINDOW, points_to_root

RAMP = 0.35
"""Seconds over which a new goal takes the place of the old one (8)."""

INSISTENCE = 1.0
"""The way is asked for by this much further over than one is beside it, as the network cuts and overshoots bends;"""
FARTHEST_OVER = 0.4
"""metres at most,"""
COMING = 0.8
"""and less from so many metres before the end."""
NOTICED = 0.12
"""Share of a frame's speed in what one takes for one's pace."""
SOON = 0.3
"""Metres ahead that the way leads where one ought to look:"""
ALONG, LOST = math.radians(60), math.radians(120)
"""who looks away from there by less goes on as usual, by more turns before he goes,"""
TURNING = 0.2
"""with this share of the way asked for (without this, runs begin with a loop of 3 m)."""
SLOWING = 0.4
"""Metres over which one who runs comes to a walk, which he does LAST before the end of his way."""
TURN_RATE = 1.5
"""rad/s at which one turns on the spot,"""
TURN_AND_GO = 2.0
"""and at which one looks round who then goes: of whom half a turn is asked at once stands for seconds, undecided."""

SAME_SIDE = 0.5
"""Radians over half a turn that are turned to the side that was chosen, before the other one is taken: a goal behind
the character is else asked for to the left and to the right by turns."""

STANDOFF = {"sit": 0.0, "carry": 0.45, "open": 0.45, "idle": 0.45}
"""Metres from the goal at which one is who uses it, by the goal's action ("idle" is putting down)."""
_WALKING, _IDLE = (np.eye(len(GOAL_ACTIONS))[GOAL_ACTIONS.index(name)] for name in ("walk", "idle"))


@dataclass(frozen=True, eq=False)
class Samples:
    """A goal at the SAMPLES trajectory samples, in the world. place: (13, 3). facing: (13,). action: (13, 6).

    turn_rate: rad/s at which the facings lead from the present one to those that are asked for. turned: the facing that
    is asked for now; it is farther from the present one than half a turn where the character turns the other way round.
    """

    place: Array
    facing: Array
    action: Array
    turn_rate: float = math.inf
    turned: float = 0.0


class Wish(Protocol):
    """What is wanted of a character."""

    @property
    def thing(self) -> str:
        """Name of the collider that is used, or ""."""

    @property
    def pose(self) -> Array | None:
        """Pose (7,) at which the interaction sensor is to see the thing; None where it is."""

    def samples(self, root: Array, seconds: float) -> Samples:
        """The goal for a character whose root (4,) is here, `seconds` after the wish was made."""


@dataclass(frozen=True, eq=False)
class Reach:
    """Be at a place (3,), facing an angle, and do something there.

    pose: (7,) of the thing as it is to be in the end, for what is put down. grasp: by which a thing is taken. top: on
    which it is put down: the collider's name and the height in the world. seat: that is sat on, in the thing's frame.
    """

    place: Array
    facing: float
    action: str
    thing: str = ""
    pose: Array | None = None
    grasp: Carryable | None = None
    top: tuple[str, float] | None = None
    seat: Seat | None = None

    def samples(self, root: Array, seconds: float) -> Samples:
        """The same for all samples."""
        action = np.zeros((SAMPLES, len(GOAL_ACTIONS)))
        action[:, GOAL_ACTIONS.index(self.action)] = 1
        return Samples(
            np.tile(np.asarray(self.place, dtype=float), (SAMPLES, 1)), np.full(SAMPLES, self.facing), action
        )


@dataclass(eq=False)
class Steer:
    """Walk a route as fast as its bends, its width and its end allow, doing `action`; stand at its end.

    Where one is on the way is kept in the walker. ground: heights (N,) of the ground under places (N, 2); None where
    it is level. pace: m/s of the root. rest: seconds that it takes to get up first. door: name of the one that one
    goes through, "". seat: of the one that one gets up from, "". free: whether nothing is used at the end: who is to
    use a thing turns to its way at once.
    """

    walker: Walker
    action: str = "walk"
    thing: str = ""
    pose: Array | None = None
    ground: Callable[[Array], Array] | None = None
    pace: float = 0.0
    rest: float = 0.0
    door: str = ""
    seat: str = ""
    free: bool = False
    seen: tuple[float, Array] | None = None
    """Seconds and root (4,) of the frame before."""
    mark: tuple[float, float] = (0.0, 0.0)
    """Seconds, and arc length of the way, at which one last got on,"""
    led: float = 0.0
    """m/s at which one is led because he does not,"""
    led_for: float = 0.0
    """and seconds for which one was: see `led_on`."""

    def fork(self) -> Steer:
        """Another one that goes on from here on its own."""
        return replace(self, walker=copy.copy(self.walker))

    def samples(self, root: Array, seconds: float) -> Samples:
        """Where one is to be in 0 to 2 seconds: each goal sample lies a second ahead of its trajectory sample."""
        walker = self.walker
        walker.along = walker.path.project(root[:2], walker.along)
        self._notice(root, seconds)
        along = walker.ahead((WINDOW - WINDOW[0]) / FPS, self.pace, max(self.rest - seconds, 0.0))
        looks = self.looks_along(root)
        along = walker.along + max(looks, TURNING) * (along - walker.along)
        beside = walker.places(np.array([walker.along]))[0] - root[:2]
        beside *= min(walker.left / COMING, FARTHEST_OVER / max(float(np.linalg.norm(beside)), 1e-9), 1.0)
        flat = walker.places(along) + INSISTENCE * beside
        place = np.empty((SAMPLES, 3))
        place[:, :2], place[:, 2] = flat, root[2] if self.ground is None else self.ground(flat)
        action = np.zeros((SAMPLES, len(GOAL_ACTIONS)))
        action[:, GOAL_ACTIONS.index(self.action)] = 1
        if self.action == "run":
            # Little by little: where the network is asked for something else at once, what it foresees jumps.
            runs = looks * np.clip((walker.path.length - along - LAST) / SLOWING, 0, 1)
            action = runs[:, None] * action + (1 - runs)[:, None] * _WALKING
        if self.action != "carry":
            # One who carries goes on carrying where he stops.
            there = along >= walker.path.length - ARRIVED
            action[there] = _IDLE
        return Samples(place, walker.facing(along), action, TURN_AND_GO if self.free and looks < 1 else math.inf)

    def looks_along(self, root: Array) -> float:
        """0..1, how far one looks along the way already."""
        ahead = float(self.walker.facing(np.array([self.walker.along + SOON]))[0])
        return looks_along(float(wrap_angle(np.array(ahead - root[3]))))

    def _notice(self, root: Array, seconds: float) -> None:
        """Keep up with how fast one goes, over some frames."""
        if self.seen is not None and seconds > self.seen[0]:
            speed = float(np.linalg.norm(root[:2] - self.seen[1][:2])) / (seconds - self.seen[0])
            self.pace += NOTICED * (speed - self.pace)
        if self.seen is None or seconds > self.seen[0]:
            self.seen = seconds, root


@dataclass(frozen=True, eq=False)
class Stay:
    """Stand at a place (3,), turned to `facing` or as one is; with `action` "carry", holding `thing`."""

    place: Array
    facing: float | None = None
    action: str = "idle"
    thing: str = ""
    pose: Array | None = None

    def samples(self, root: Array, seconds: float) -> Samples:
        """The same place for all samples; the facing comes within the next two seconds."""
        facing = float(root[3]) if self.facing is None else self.facing
        action = np.zeros((SAMPLES, len(GOAL_ACTIONS)))
        action[:, GOAL_ACTIONS.index(self.action)] = 1
        return Samples(np.tile(self.place, (SAMPLES, 1)), np.full(SAMPLES, facing), action, TURN_RATE)


def looks_along(away: float) -> float:
    """0..1, how far a character whose way leads `away` radians from where it looks, to either side, looks along it."""
    return min(max((LOST - abs(away)) / (LOST - ALONG), 0.0), 1.0)


def _whole_turns(angle: float) -> float:
    """The multiple of a whole turn that is nearest to an angle in radians."""
    return 2 * math.pi * round(angle / (2 * math.pi))


_Volume = tuple[Array, Array]
"""Middles (512, 3) of the interaction sensor's cells in the world, and their occupancies (512,)."""


class GoalInput:
    """G and I of a character from frame to frame. A new wish takes the old one's place within RAMP seconds."""

    def __init__(self, wish: Wish, scenery: Scenery) -> None:
        self._scenery = scenery
        self._volumes: dict[str, tuple[Array, float, _Volume]] = {}
        self._wishes: list[tuple[Wish, int]] = [(wish, -round(RAMP * FPS))]
        self._sides = dict[Wish, float]()
        self._known: tuple[int, Array, list[tuple[Wish, Samples, float]]] | None = None

    @property
    def wish(self) -> Wish:
        """The newest."""
        return self._wishes[-1][0]

    def change(self, wish: Wish, frame: int) -> None:
        """Want something else from `frame` on."""
        self._wishes, self._known = [self._wishes[-1], (wish, frame)], None
        self._sides = {one: self._sides[one] for one, _ in self._wishes if one in self._sides}

    def samples(self, root: Array, frame: int) -> Samples:
        """The goal in the world, in whose frames what the network predicts is understood.

        On a way it is the one that the network is given, between two wishes while the newer one comes in: taken to the
        new one at once, a prediction that still follows the old one would drag the body there (at up to 3 m/s). One who
        is to use a thing is drawn to it at once, as far as the rollout lets him: else sits began 0.7 s later, and ended
        0.7 cm farther off (18 sits on development furniture).
        """
        if isinstance(self.wish, Reach):
            return self._asked(root, frame)[-1][1]
        (_, first, share), *newer = self._asked(root, frame)
        if not newer:
            return first
        _, second, part = newer[0]
        return Samples(
            share * first.place + part * second.place,
            share * first.facing + part * second.facing,
            share * first.action + part * second.action,
            turned=second.turned,
        )

    def values(self, root: Array, frame: int) -> tuple[Array, Array]:
        """G (GOAL.size,) and I (INTERACTION.size,) in the root frame (4,)."""
        goal = np.zeros(GOAL.size, dtype=np.float32)
        volume = np.zeros(INTERACTION.size, dtype=np.float32)
        for wish, samples, part in self._asked(root, frame):
            goal[GOAL.position] += part * points_to_root(samples.place, root).ravel()
            goal[GOAL.direction] += part * direction(samples.facing - root[3]).ravel()
            goal[GOAL.action] += part * samples.action.ravel()
            if wish.thing:
                volume += part * self._volume(wish, float(samples.facing[-1]), root, frame)
        return goal, volume

    def _asked(self, root: Array, frame: int) -> list[tuple[Wish, Samples, float]]:
        """The wishes that count in a frame, older first, what they give, and their shares."""
        if self._known is None or self._known[0] != frame or self._known[1] is not root:
            share = min(max((frame - self._wishes[-1][1] + 1) / (RAMP * FPS), 0.0), 1.0)
            shares = [share] if len(self._wishes) == 1 else [1 - share, share]
            asked = [
                (wish, self._unrolled(wish, wish.samples(root, (frame - since) / FPS), float(root[3])), part)
                for (wish, since), part in zip(self._wishes, shares, strict=True)
                if part > 0
            ]
            self._known = frame, root, asked
        return self._known[2]

    def _unrolled(self, wish: Wish, samples: Samples, yaw: float) -> Samples:
        """The samples with facings that lead from a root's present one to those that are asked for by the side that was
        chosen for this wish: the shorter one, and kept to while it is not much longer than the other."""
        facing = np.unwrap(samples.facing)
        before = self._sides.get(wish, yaw)
        facing += _whole_turns(before - facing[0])
        if abs(facing[0] - yaw) > math.pi + SAME_SIDE:
            facing += _whole_turns(yaw - facing[0])
        self._sides[wish] = float(facing[0])
        most = samples.turn_rate * (WINDOW - WINDOW[0]) / FPS if math.isfinite(samples.turn_rate) else math.inf
        return replace(samples, facing=yaw + np.clip(facing - yaw, -most, most), turned=float(facing[0]))

    def fork(self, scenery: Scenery) -> GoalInput:
        """Another one that goes on from here on its own."""
        out = copy.copy(self)
        out._scenery, out._volumes, out._known = scenery, dict(self._volumes), None
        forked = {wish: wish.fork() if isinstance(wish, Steer) else wish for wish, _ in self._wishes}
        out._wishes = [(forked[wish], since) for wish, since in self._wishes]
        out._sides = {forked[wish]: side for wish, side in self._sides.items()}
        return out

    def _volume(self, wish: Wish, facing: float, root: Array, frame: int) -> Array:
        pose = self._scenery.pose(wish.thing, frame) if wish.pose is None else wish.pose
        known = self._volumes.get(wish.thing)
        if known is None or known[1] != facing or not np.array_equal(known[0], pose):
            known = self._volumes[wish.thing] = (pose, facing, self._sensed(wish.thing, pose, facing))
        middles, occupancy = known[2]
        cells = np.empty(INTERACTION.shape("cell"), dtype=np.float32)
        cells[:, :OCCUPANCY] = -points_to_root(middles, root)
        cells[:, OCCUPANCY] = occupancy
        return cells.reshape(-1)

    def _sensed(self, thing: str, pose: Array, facing: float) -> _Volume:
        placed = self._scenery.placed(thing, 0, pose)
        sensor, middle = Interaction.covering(placed, facing)
        return sensor.places(middle), sensor.occupancy(placed, middle)
