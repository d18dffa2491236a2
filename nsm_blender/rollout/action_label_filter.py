# SPDX-License-Identifier: GPL-3.0-or-later
"""Action labels by what is asked for: the network, fed its own labels, begins no use of a thing that is not asked for."""

from __future__ import annotations

import numpy as np

from ..models.nsm import ACTIONS
from ..motion.rotations import Array
from .goal_spec import GoalSpec

_USES = np.array([name not in ("idle", "walk", "run") for name in ACTIONS])


def only_asked(actions: Array, before: Array, goal: GoalSpec) -> Array:
    """Labels (N, 7) of now and later, of which those of using a thing that is not asked for are no higher than they
    were, (7,): what was done fades, and nothing else is begun."""
    return np.where(_USES & ~goal.uses, np.minimum(actions, before), actions)
