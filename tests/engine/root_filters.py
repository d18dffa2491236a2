# SPDX-License-Identifier: GPL-3.0-or-later
"""Roots that filters lead frame by frame, where a network proposes an even motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from nsm_blender.geometry.colliders import Collider, Surroundings
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.models.nsm import DT, FPS, FUTURE
from nsm_blender.motion.rotations import Array
from nsm_blender.rollout.goal_input import GoalInput
from nsm_blender.rollout.goal_spec import GoalSpec
from nsm_blender.rollout.root_filter import Proposal, RootFilter, RootMotion, RootState

AHEAD = np.arange(1, FUTURE + 1)[:, None] / FUTURE
"""Seconds (6, 1) from now to each future sample."""
STILL = (0.0, 0.0)


class FilteredRoot:
    """A root (4,), at first at rest, that filters lead to a goal among things.

    roots: (4,) of each frame. proposal: the last, as the filters left it.
    """

    def __init__(
        self,
        goal: GoalSpec,
        filters: Sequence[RootFilter],
        root: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
        things: Sequence[Collider] = (),
    ) -> None:
        self.scenery = Scenery(Surroundings(list(things)))
        self.goal = GoalInput(goal, self.scenery)
        self.filters = list(filters)
        self.roots = [np.array(root, dtype=float)]
        self.motion = RootMotion(np.zeros(2))
        self.proposal = Proposal(self.roots[0], np.tile(self.roots[0][:2], (FUTURE, 1)), np.zeros(FUTURE))

    def go(
        self,
        seconds: float,
        velocity: tuple[float, float] = STILL,
        *,
        turning: float = 0.0,
        foreseen: tuple[float, float] | None = None,
        pull: tuple[float, float] = STILL,
        pull_turn: float = 0.0,
    ) -> Self:
        """Go on while the network proposes this.

        velocity: m/s. turning: rad/s. foreseen: m/s at which it sees the root go in the next second, None: as now.
        pull, pull_turn: meters and radians by which the goal-centric prediction differs after a second.
        """
        later = velocity if foreseen is None else foreseen
        for _ in range(round(seconds * FPS)):
            root, frame = self.roots[-1], len(self.roots) - 1
            new = root + np.array([*velocity, 0.0, turning]) * DT
            proposal = Proposal(new, root[:2] + AHEAD * later, new[3] + turning * AHEAD[:, 0])
            samples, goal = self.goal.samples(root, frame), self.goal.goal
            state = RootState(frame, root, self.motion, goal, samples, self.scenery, np.array(pull), pull_turn)
            for each in self.filters:
                proposal = each.apply(state, proposal)
            self.proposal, self.motion = proposal, RootMotion.between(root, proposal.root)
            self.roots.append(proposal.root)
        return self

    def set_goal(self, goal: GoalSpec) -> Self:
        """Lead it to another goal from now on."""
        self.goal.change(goal, len(self.roots) - 1)
        return self

    @property
    def track(self) -> Array:
        """All roots (F, 4)."""
        return np.array(self.roots)

    @property
    def speeds(self) -> Array:
        """m/s (F - 1,) over the ground."""
        return np.linalg.norm(np.diff(self.track[:, :2], axis=0), axis=1) * FPS
