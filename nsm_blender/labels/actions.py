# SPDX-License-Identifier: GPL-3.0-or-later
"""The NSM's action labels from gaits, and its goal actions from action labels."""

from __future__ import annotations

import numpy as np

from ..models.nsm import ACTIONS, GOAL_ACTIONS
from ..motion.gait import GAITS
from ..motion.rotations import Array

_ACTION_OF_GAIT = {"stand": "idle", "walk": "walk", "jog": "run", "jump": "walk", "crouch": "walk"}
_GOAL_ORDER = ("carry", "open", "sit", "run", "walk", "idle")
"""Actions by rank in the goal: what is done with the hands counts before the gait."""


def locomotion_actions(gait: Array) -> Array:
    """Action labels (T, len(ACTIONS)) of gaits (T,), indices into GAITS."""
    table = np.zeros((len(GAITS), len(ACTIONS)), dtype=np.float32)
    for i, name in enumerate(GAITS):
        table[i, ACTIONS.index(_ACTION_OF_GAIT[name])] = 1
    return table[gait]


def goal_actions(actions: Array) -> Array:
    """One-hot goal actions (T, len(GOAL_ACTIONS)) of action labels (T, len(ACTIONS))."""
    out = np.zeros((len(actions), len(GOAL_ACTIONS)), dtype=np.float32)
    left = np.ones(len(actions), dtype=bool)
    for name in _GOAL_ORDER:
        on = left & (actions[:, ACTIONS.index(name)] > 0.5)
        out[on, GOAL_ACTIONS.index(name)] = 1
        left &= ~on
    out[left, GOAL_ACTIONS.index("walk")] = 1
    return out
