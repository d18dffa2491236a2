# SPDX-License-Identifier: GPL-3.0-or-later
"""Action labels of a character that stands: fed its own labels, the network would begin to use what is near unasked."""

from __future__ import annotations

import numpy as np

from ..models.nsm import ACTIONS
from ..motion.rotations import Array
from .goal_spec import GoalSpec, Stay

_OTHERS = np.array([name not in ("idle", "walk", "run") for name in ACTIONS])


def only_asked(actions: Array, before: Array, goal: GoalSpec) -> Array:
    """Labels (N, 7) of now and later, of which those of using a thing are no higher than they were, (7,), where nothing
    but standing is asked for: what was done fades, and nothing else is begun."""
    if not isinstance(goal, Stay):
        return actions
    unasked = _OTHERS & (np.array(ACTIONS) != goal.action)
    return np.where(unasked, np.minimum(actions, before), actions)
