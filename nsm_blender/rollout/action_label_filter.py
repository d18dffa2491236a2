# SPDX-License-Identifier: GPL-3.0-or-later
"""Action labels that were not asked for do not rise. Fed its own labels, the network would let a standing character
begin to use what is near, or tread on the spot, and a character that comes to a seat stand idle before it."""

from __future__ import annotations

import numpy as np

from ..models.nsm import ACTIONS
from ..motion.rotations import Array
from .goal_spec import GoalSpec, Reach, Stay, Steer

_NAMES = np.array(ACTIONS)
_GAITS, _IDLES, _CLIMBS = np.isin(_NAMES, ("walk", "run")), _NAMES == "idle", _NAMES == "climb"


def only_asked(actions: Array, before: Array, goal: GoalSpec, root: Array) -> Array:
    """Labels (N, 7) of now and later, of which those that are not asked for are no higher than they were, (7,): what
    was done fades, and nothing else is begun.

    Where a character is to go onto a thing, and not to use it from where it stands, that is idling; where nothing but
    standing is asked for, all else. There a root (4,) that is not at its place, or not turned as asked, may begin to
    step. On level ways it is climbing: in a doorway, or before a low table, knees would be lifted as to a step. A way
    up on hands and knees says itself when it is climbed.
    """
    match goal:
        case Reach(standoff=0.0):
            unasked = _IDLES
        case Stay():
            unasked = ~_IDLES & (goal.action != _NAMES)
            if not goal.is_met(root):
                unasked &= ~_GAITS
        case Steer(climbs=climbs) if climbs is not None:
            return np.where(_CLIMBS, climbs[:, None], actions)
        case Reach() | Steer(rises=False):
            unasked = _CLIMBS
        case _:
            return actions
    return np.where(unasked, np.minimum(actions, before), actions)
