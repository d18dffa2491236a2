# SPDX-License-Identifier: GPL-3.0-or-later
"""Who stands before a thing with hands that think they hold it, or its place, but are beside it, steps there."""

from __future__ import annotations

import numpy as np

from ..motion.root import direction
from ..motion.rotations import Array
from .goal_input import Reach, Wish
from .held_objects import TOUCHES, between_palms

RATE = 1.0
"""1/s at which the root comes by what the palms are off,"""
FASTEST = 0.2
"""m/s at most,"""
CLOSE = 0.3
"""where they are off by no more than so many metres: else they are still on their way."""
UPRIGHT, BENT = 0.1, 0.3
"""Metres by which hands are over the place of one who stands before it upright, and so many more of one who bends,"""
FORWARD = 0.14
"""which brings them forward by so many."""


def stepped(wish: Wish, places: Array, rotations: Array, hands: Array) -> Array:
    """m/s (2,) by which the root is to move besides: level, in the world.

    places: (J, 3) joints and rotations: (J, 4), in the world. hands: (2,) labels of their contacts.
    """
    if not isinstance(wish, Reach) or wish.action not in ("carry", "idle") or not wish.thing:
        return np.zeros(2)
    off = wish.place - between_palms(places, rotations)[0]
    bends = min(max(-float(off[2]) - UPRIGHT, 0.0) / BENT, 1.0)
    off = off[:2] - bends * FORWARD * direction(np.array(wish.facing))
    away = float(np.linalg.norm(off))
    if away > CLOSE or (hands < TOUCHES).any():
        return np.zeros(2)
    out: Array = RATE * off * min(FASTEST / max(RATE * away, 1e-9), 1.0)
    return out
