# SPDX-License-Identifier: GPL-3.0-or-later
"""Who comes to a seat from the side goes round its front corner, where the network would walk through it."""

from __future__ import annotations

import numpy as np

from ..geometry.roles import Seat
from ..motion.root import direction
from ..motion.rotations import Array

BEFORE = 0.32
"""Metres before the seat's front, and beside its sides, that the root of one who walks stays."""
MIDDLE, ALONGSIDE = 0.18, 0.15
"""Metres aside of the seat's middle line within which one comes back to sit down, and over which that begins."""
SIDESTEP = 0.8
"""m/s at which the root is led round,"""
WALKS = 0.2, 0.5
"""m/s of its own between which that begins: who stands before the seat is left to sit down."""


def round_corner(seat: Seat, place: Array, facing: float, points: Array) -> Array:
    """How far (N, 2) places (N, 2) of the root lie too far back, over or beside a seat, for one who is to come to its
    front. place: (3,) of the seat, facing: angle."""
    ahead = direction(np.array(facing))
    aside = np.abs((points - place[:2]) @ np.array([-ahead[1], ahead[0]]))
    front = seat.depth / 2 + BEFORE
    # Beyond the sides the line that one may not cross falls back at 45 degrees: one comes round in a bend.
    line = front - np.maximum(aside - seat.width / 2 - BEFORE, 0)
    lack = line - (points - place[:2]) @ ahead
    share = np.clip((aside - MIDDLE) / ALONGSIDE, 0, 1)
    # Behind the seat there is nothing to go round by.
    lack = np.where((lack < 2 * front) & (line > -front), np.maximum(lack, 0), 0)
    return (share * lack)[:, None] * ahead
