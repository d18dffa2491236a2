# SPDX-License-Identifier: GPL-3.0-or-later
"""Walking and running to a goal: a way round things, a stop, a turn."""

from __future__ import annotations

from ..shot.goals import ActionKey
from .protocol import Task


class Walk(Task):
    """Walk to the goal and stand there."""

    name, doing = "walk", "walking"
    training = ("walk_episodes", "avoid_episodes")


class Run(Task):
    """Run to the goal and stand there."""

    name, doing = "run", "running"
    training = ("walk_episodes", "avoid_episodes")

    def gait(self, key: ActionKey) -> str:
        """A jog, unless the key asks for a crouch."""
        return "jog" if key.gait == "walk" else key.gait

    def runs(self, key: ActionKey) -> bool:
        """Always."""
        return True
