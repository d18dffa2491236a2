# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of what nobody asks for, which a network that stands in a corner may feed to itself until it acts on them."""

from __future__ import annotations

import numpy as np

from ..models.nsm import ACTIONS
from ..motion.rotations import Array
from .scene_goals import Reach, Steer, Wish

_SIT, _OPEN, _CARRY = (ACTIONS.index(name) for name in ("sit", "open", "carry"))


def only_asked(actions: Array, before: Array, wish: Wish) -> Array:
    """Labels (N, 7) of now and later, of which those of acting with a thing that is not asked for are no higher than
    they were (7,): what was done fades, and nothing else is begun."""
    does = wish.action if isinstance(wish, Reach) else ""
    asked = np.ones(len(ACTIONS), dtype=bool)
    asked[_SIT] = does == "sit"
    asked[_OPEN] = does == "open" or (isinstance(wish, Steer) and bool(wish.door))
    asked[_CARRY] = bool(wish.thing) and does not in ("sit", "open")
    return np.where(asked, actions, np.minimum(actions, before))
