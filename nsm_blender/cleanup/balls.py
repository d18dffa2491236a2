# SPDX-License-Identifier: GPL-3.0-or-later
"""The body as balls on its bones: what collides, and how it moves with displacements."""

from __future__ import annotations

import numpy as np

from ..geometry.body import CAPSULES, SHARES
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from .overhead_clearance import CROWN

_FOOT = 0.03
"""Radius in meters of a foot."""
_SKULL = CROWN / 2
"""Radius in meters of the ball at the top of the head."""
_BONES = (*CAPSULES, ("LeftFoot", "LeftToe", _FOOT), ("RightFoot", "RightToe", _FOOT))
_BALLS = [(bone, share) for bone in _BONES for share in np.unique(SHARES)]
_NECK = float(np.linalg.norm(MODEL_SKELETON.offsets[MODEL_SKELETON.index("Head")]))
_BALLS.append((("Neck", "Head", _SKULL), 1 + _SKULL / _NECK))
"""Bone (joints at both ends, radius in meters), and share of its length, of each ball of the body; the last is the top
of the head."""
_FIRST = np.array(MODEL_SKELETON.indices([first for (first, _, _), _ in _BALLS]))
_LAST = np.array(MODEL_SKELETON.indices([last for (_, last, _), _ in _BALLS]))
SHARE = np.array([share for _, share in _BALLS])
"""Shares (P,) of its bone's length at which each ball of the body lies,"""
RADII = np.array([radius for (_, _, radius), _ in _BALLS])
"""its radius (P,) in meters,"""
BONES = np.array([first for (first, _, _), _ in _BALLS])
"""and the joint (P,) at which its bone begins."""
HANDS = np.char.endswith(BONES, "ForeArm") & (SHARE == 1)
"""Which balls (P,) may touch what the hands hold: those at the wrists."""
PARTS = np.unique(np.where(np.isin(BONES, ["Hips", "Neck"]), "Trunk", BONES), return_inverse=True)[1]
"""The number (P,) of the part of the body that each ball belongs to: its bone, or the trunk."""


def ball_points(places: Array) -> Array:
    """Middles (F, P, 3) of the balls of a body with joints at places (F, J, 3)."""
    return np.asarray(places[:, _FIRST] + SHARE[:, None] * (places[:, _LAST] - places[:, _FIRST]))


def ball_moves(moves: Array, frames: Array, balls: Array) -> Array:
    """How balls (N,) at frames (N,) move: (N, 3, SIZE)."""
    first, last = moves[frames, _FIRST[balls]], moves[frames, _LAST[balls]]
    return np.asarray(first + SHARE[balls, None, None] * (last - first))
