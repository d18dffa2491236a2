# SPDX-License-Identifier: GPL-3.0-or-later
"""Approach poses: where to stand before a thing that is used, by its handles, in the world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from ..geometry.colliders import Collider
from ..geometry.roles import Handles
from ..geometry.scene_state import pose_at
from ..geometry.spots import at_spot
from ..motion.root import angle_of
from ..motion.rotations import Array, normalize, rotate
from ..shot.goals import Goal
from .occupancy_grid import ObstacleOutlines

BEFORE = 0.05
"""Meters between the body's outline and the thing that it stands before."""
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Stand:
    """A place (2,) to stand, and the facing angle there or None: as the character arrives.

    outward: unit vector (2,) away from the thing that the character stands before; zero where it is none. handles: of
    the thing as it is used from here, in its own frame. sideways: the body comes there sideways, between the thing and
    another.
    """

    place: Array
    facing: float | None
    outward: Array
    handles: Handles | None = None
    sideways: bool = False

    def moved(self, out: float, aside: float) -> Array:
        """The place (2,) so many meters further out from the thing and aside."""
        x, y = self.outward
        return self.place + out * self.outward + aside * np.array([-y, x])


Side = list[Stand]
"""Stands that are as good as each other."""


@dataclass(frozen=True, eq=False)
class Approach:
    """Where a task may be begun, as the task tells the planner.

    sides: those that the character can stand straight before come first. apart: what must not be between a stand and
    the edge of the thing before it; None where that does not matter. onward: places (2,) to which the way leads on
    from there. no_room: a sentence for the animator where there is room to stand on none of the sides, of which it is
    given the first stand. on_hands: whether it leads on hands and knees to the first of them.
    """

    sides: list[Side]
    apart: ObstacleOutlines | None = None
    onward: Sequence[Array] = ()
    no_room: Callable[[Stand], str] = lambda _: "There is no room to stand."
    on_hands: bool = False


@singledispatch
def poses_before(handles: Handles, collider: Collider, distance: float) -> list[tuple[Array, Array]]:
    """Places (3,) to stand and the directions (3,) from the thing to there, in the collider's frame.

    distance: meters from the used part to the middle of the body. Each task registers how its handles are approached.
    """
    raise TypeError(f"No task says how {type(handles).__name__} is approached.")


def free_stand(goal: Goal) -> Stand:
    """Where a body stands that goes to a goal that is on no thing."""
    return Stand(np.array(goal.place[:2], dtype=np.float64), goal.facing, np.zeros(2))


def stands(goal: Goal, collider: Collider, handles: Handles, frame: float, distance: float) -> Side:
    """Where a body may stand before the thing that `goal` is on to use it by `handles`, best first.

    distance: meters from the used part to the middle of the body.
    """
    pose, out = pose_at(collider, frame), []
    for place, outward in poses_before(handles, collider, distance):
        world = rotate(pose[3:], place) + pose[:3]
        away = normalize(rotate(pose[3:], outward)[:2])
        out.append(Stand(world[:2], float(angle_of(-away)) if goal.facing is None else goal.facing, away, handles))
    return out


def used_handles(goal: Goal, collider: Collider, pose: Array) -> Handles | None:
    """The handles by which a thing at a pose (7,) is used for a goal: of the part at which the goal points, else the
    thing's own."""
    if collider.handles is None or not goal.by_place:
        return collider.handles
    back = pose[3:] * [1.0, -1, -1, -1]
    return at_spot(collider.handles, collider.also, rotate(back, np.array(goal.place) - pose[:3]), own_up(pose))


def own_up(pose: Array) -> Array:
    """The world's up (3,) in the frame of a thing at a pose (7,)."""
    return rotate(pose[3:] * [1.0, -1, -1, -1], UP)
