# SPDX-License-Identifier: GPL-3.0-or-later
"""The goal input of the NSM (4.1): a place and an action, or a way to go, ramped from one to the next."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np

from ..geometry.scene_state import Scenery
from ..geometry.sensors import Interaction
from ..models.nsm import FPS, GOAL, INTERACTION, OCCUPANCY
from ..motion.root import direction
from ..motion.rotations import Array
from .goal_spec import GoalSpec, Samples
from .nsm_features import WINDOW, points_to_root

RAMP = 0.35
"""Seconds over which a new goal takes the place of the old one (8)."""

SAME_SIDE = 0.5
"""Radians over half a turn that are turned to the side that was chosen, before the other one is taken: a goal behind
the character is else asked for to the left and to the right by turns."""


def _whole_turns(angle: float) -> float:
    """The multiple of a whole turn that is nearest to an angle in radians."""
    return 2 * math.pi * round(angle / (2 * math.pi))


_Volume = tuple[Array, Array]
"""Middles (512, 3) of the interaction sensor's cells in the world, and their occupancies (512,)."""


class GoalInput:
    """G and I of a character from frame to frame. A new goal takes the old one's place within RAMP seconds."""

    def __init__(self, goal: GoalSpec, scenery: Scenery) -> None:
        self._scenery = scenery
        self._volumes: dict[str, tuple[Array, float, _Volume]] = {}
        self._goals: list[tuple[GoalSpec, int]] = [(goal, -round(RAMP * FPS))]
        self._sides = dict[GoalSpec, float]()
        self._known: tuple[int, Array, list[tuple[GoalSpec, Samples, float]]] | None = None

    @property
    def goal(self) -> GoalSpec:
        """The newest goal."""
        return self._goals[-1][0]

    def change(self, goal: GoalSpec, frame: int) -> None:
        """Set another goal from `frame` on."""
        self._goals, self._known = [self._goals[-1], (goal, frame)], None
        self._sides = {one: self._sides[one] for one, _ in self._goals if one in self._sides}

    def samples(self, root: Array, frame: int) -> Samples:
        """The goal in the world, in whose frames what the network predicts is understood: the one that it is given,
        between two goals while the newer one comes in (8). Understood in the new one's frame at once, a prediction that
        still follows the old one moves the future by meters in a frame, and the body jumps."""
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
        values = np.zeros(GOAL.size, dtype=np.float32)
        volume = np.zeros(INTERACTION.size, dtype=np.float32)
        for goal, samples, part in self._asked(root, frame):
            values[GOAL.position] += part * points_to_root(samples.place, root).ravel()
            values[GOAL.direction] += part * direction(samples.facing - root[3]).ravel()
            values[GOAL.action] += part * samples.action.ravel()
            if goal.thing:
                volume += part * self._volume(goal, float(samples.facing[-1]), root, frame)
        return values, volume

    def shares(self, frame: int) -> list[tuple[GoalSpec, int, float]]:
        """The goals that count in a frame, older first, since when they do, and their shares, which are 1 in all."""
        share = min(max((frame - self._goals[-1][1] + 1) / (RAMP * FPS), 0.0), 1.0)
        shares = [share] if len(self._goals) == 1 else [1 - share, share]
        return [(goal, since, part) for (goal, since), part in zip(self._goals, shares, strict=True) if part > 0]

    def _asked(self, root: Array, frame: int) -> list[tuple[GoalSpec, Samples, float]]:
        """The goals that count in a frame, older first, what they give, and their shares."""
        if self._known is None or self._known[0] != frame or self._known[1] is not root:
            asked = [
                (goal, self._unrolled(goal, goal.samples(root, (frame - since) / FPS), float(root[3])), part)
                for goal, since, part in self.shares(frame)
            ]
            self._known = frame, root, asked
        return self._known[2]

    def _unrolled(self, goal: GoalSpec, samples: Samples, yaw: float) -> Samples:
        """The samples with facings that lead from a root's present one to those that are asked for by the side that was
        chosen for this goal: the shorter one, and kept to while it is not much longer than the other."""
        facing = np.unwrap(samples.facing)
        before = self._sides.get(goal, yaw)
        facing += _whole_turns(before - facing[0])
        if abs(facing[0] - yaw) > math.pi + SAME_SIDE:
            facing += _whole_turns(yaw - facing[0])
        self._sides[goal] = float(facing[0])
        most = samples.turn_rate * (WINDOW - WINDOW[0]) / FPS if math.isfinite(samples.turn_rate) else math.inf
        return replace(samples, facing=yaw + np.clip(facing - yaw, -most, most), turned=float(facing[0]))

    def fork(self, scenery: Scenery) -> GoalInput:
        """A copy that goes on from here on its own."""
        out = copy.copy(self)
        out._scenery, out._volumes, out._known = scenery, dict(self._volumes), None
        forked = {goal: goal.fork() for goal, _ in self._goals}
        out._goals = [(forked[goal], since) for goal, since in self._goals]
        out._sides = {forked[goal]: side for goal, side in self._sides.items()}
        return out

    def _volume(self, goal: GoalSpec, facing: float, root: Array, frame: int) -> Array:
        pose = self._scenery.pose(goal.thing, frame) if goal.pose is None else goal.pose
        known = self._volumes.get(goal.thing)
        if known is None or known[1] != facing or not np.array_equal(known[0], pose):
            known = self._volumes[goal.thing] = (pose, facing, self._sensed(goal.thing, pose, facing))
        middles, occupancy = known[2]
        cells = np.empty(INTERACTION.shape("cell"), dtype=np.float32)
        cells[:, :OCCUPANCY] = -points_to_root(middles, root)
        cells[:, OCCUPANCY] = occupancy
        return cells.reshape(-1)

    def _sensed(self, thing: str, pose: Array, facing: float) -> _Volume:
        placed = self._scenery.placed(thing, 0, pose)
        sensor, middle = Interaction.covering(placed, facing)
        return sensor.places(middle), sensor.occupancy(placed, middle)
