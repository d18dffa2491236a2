# SPDX-License-Identifier: GPL-3.0-or-later
"""The root keeps out of the way of a leaf that it opens, and between the posts of the door that it goes through."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..geometry.roles import Door
from ..models.nsm import DT
from .doorway import Doorway, doorway
from .root_filter import Proposal, RootMotion, RootState, limited


@dataclass(frozen=True)
class Passage:
    """How the root is led."""

    speed: float = 0.7
    """Greatest speed in m/s at which the root is led round the leaf and off the posts, that of a quick step back."""

    acceleration: float = 4.0
    """Acceleration in m/s^2 of that: the leaf waits for a body that is in its way."""

    ajar: float = 0.05
    """Radians from which on a leaf is open, so that the root keeps out of its way."""

    around: float = 1.0
    """Meters beyond the door's width in which things beside it are looked for."""


PASSAGE = Passage()


class DoorPassage:
    """Leads the root of a character that opens a door or goes through it."""

    def __init__(self) -> None:
        self._beside = dict[str, float]()

    def fork(self) -> Self:
        """A copy that goes on from here on its own."""
        return copy.copy(self)

    def apply(self, state: RootState, proposal: Proposal) -> Proposal:
        """The proposal, led round the leaf and between the posts."""
        name = state.goal.door
        if not name or not isinstance(state.scenery.collider(name).handles, Door):
            return proposal
        door = doorway(state.scenery.collider(name), state.scenery.pose(name, state.frame))
        points = np.concatenate((proposal.root[None, :2], proposal.places))
        lack = np.zeros_like(points)
        if not state.goal.is_place or door.turned > PASSAGE.ajar:
            lack += door.round_leaf(points, self._room_beside(state, door)) + door.off_wall(points)
        if not state.goal.is_place:
            lack += door.in_lane(points)
        root = np.array(proposal.root)
        root[:2] += limited(lack[0], PASSAGE.speed * DT)
        if lack[0].any():
            velocity = limited(
                RootMotion.between(state.root, root).velocity, max(PASSAGE.speed, state.goal.speed_limit(state.root))
            )
            change = limited(velocity - state.motion.velocity, PASSAGE.acceleration * DT)
            root[:2] = state.root[:2] + (state.motion.velocity + change) * DT
        return Proposal(root, proposal.places + lack[1:], proposal.facings)

    def _room_beside(self, state: RootState, door: Doorway) -> float:
        """As `Doorway.beside` tells it."""
        name, floor = state.goal.door, float(state.root[2])
        if name not in self._beside:
            middle = np.append(door.hinge, floor + 1)
            things = state.scenery.near(state.frame, middle, 2 * door.width + PASSAGE.around).without([name])
            self._beside = self._beside | {name: door.beside(things, floor)}
        return self._beside[name]
