# SPDX-License-Identifier: GPL-3.0-or-later
"""What a root filter is: it changes where the network proposes that the root goes in a frame, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from ..geometry.scene_state import Scenery
from ..models.nsm import FPS
from ..motion.rotations import Array
from .goal_spec import GoalSpec, Samples


@dataclass(frozen=True, eq=False)
class RootMotion:
    """Velocity (2,) of the root in m/s in the world, and its turning in rad/s."""

    velocity: Array
    turn: float = 0.0

    @staticmethod
    def between(before: Array, root: Array) -> RootMotion:
        """The motion of a root (4,) that was at `before` (4,) in the last frame."""
        return RootMotion((root[:2] - before[:2]) * FPS, float(root[3] - before[3]) * FPS)


@dataclass(frozen=True, eq=False)
class Proposal:
    """Where the root comes in this frame, (4,) x, y, z and facing angle, and its future places (6, 2) and facing angles
    (6,), all in the world."""

    root: Array
    places: Array
    facings: Array


@dataclass(frozen=True, eq=False)
class RootState:
    """A frame of the rollout as root filters see it.

    frame: its number, at 60 fps. root: (4,) in the frame before. motion: of the root until then. goal: what is asked of
    the character. samples: of the goal, in the world. scenery: the things around. pull, pull_turn: by how much the
    goal-centric prediction moves the last future place, (2,) meters, and facing, radians (4.2).
    """

    frame: int
    root: Array
    motion: RootMotion
    goal: GoalSpec
    samples: Samples
    scenery: Scenery
    pull: Array
    pull_turn: float


class RootFilter(Protocol):
    """Changes a proposal. A filter may keep what it needs from frame to frame."""

    def apply(self, state: RootState, proposal: Proposal) -> Proposal:
        """The proposal as far as the filter lets it be."""

    def fork(self) -> Self:
        """A copy that goes on from here on its own."""


def limited(vector: Array, most: float) -> Array:
    """A vector (2,) no longer than `most`."""
    out: Array = vector * min(most / max(math.hypot(float(vector[0]), float(vector[1])), 1e-9), 1.0)
    return out


def moved(proposal: Proposal, step: Array, turn: float = 0.0) -> Proposal:
    """A proposal whose root goes on by a step (2,) in meters and turns by radians."""
    root = np.array(proposal.root)
    root[:2] += step
    root[3] += turn
    return Proposal(root, proposal.places, proposal.facings)
