# SPDX-License-Identifier: GPL-3.0-or-later
"""Action labels of a character that stands: fed its own labels, the network would begin to use what is near unasked, or
tread on the spot for as long as the character stands."""

from __future__ import annotations

import numpy as np

from ..models.nsm import ACTIONS
from ..motion.rotations import Array
from .goal_spec import GoalSpec, Stay

_GAITS = np.isin(ACTIONS, ("walk", "run"))
_IDLES = np.array(ACTIONS) == "idle"


def only_asked(actions: Array, before: Array, goal: GoalSpec, root: Array) -> Array:
    """Labels (N, 7) of now and later, of which those that are not asked for are no higher than they were, (7,), where
    nothing but standing is asked for: what was done fades, and nothing else is begun.

    A root (4,) that is not at its place, or not turned as asked, may begin to step.
    """
    if not isinstance(goal, Stay):
        return actions
    unasked = ~_IDLES & (np.array(ACTIONS) != goal.action)
    if not goal.is_met(root):
        unasked &= ~_GAITS
    return np.where(unasked, np.minimum(actions, before), actions)
