# SPDX-License-Identifier: GPL-3.0-or-later
"""Idling: the character stays where it is, seated or standing, turned as asked."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from ..planning.path_planner import SAME_PLACE, Planner
from ..shot.goals import ActionKey
from .protocol import Task


class Idle(Task):
    """Stay, and turn as the key or its goal says, or toward its goal."""

    name, doing = "idle", "standing still"
    goes = False
    training = ("standing",)

    def facing(self, planner: Planner, key: ActionKey, place: Array, frame: float) -> float | None:
        """The key's, its goal's, or toward its goal."""
        goal = planner.goal(key, frame)
        if key.facing is not None or goal is None:
            return key.facing
        if goal.facing is not None:
            return goal.facing
        away = np.array(goal.place[:2]) - place
        return float(np.arctan2(away[0], -away[1])) if np.linalg.norm(away) > SAME_PLACE else None
