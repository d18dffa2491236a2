# SPDX-License-Identifier: GPL-3.0-or-later
"""The body as balls on its bones: what collides, and how it moves with displacements."""

from __future__ import annotations

import numpy as np

from ..geometry.body import CAPSULES
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON

_BONES = (*CAPSULES, ("LeftFoot", "LeftToe", 0.03), ("RightFoot", "RightToe", 0.03))
_BALLS = [(bone, share) for bone in _BONES for share in (0.1, 0.4, 0.7, 1.0)]
_BALLS += [(bone, 0.6) for bone in _BONES if bone[0].endswith("ForeArm")] + [(("Neck", "Head", 0.1), 1.65)]
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
CUSHION = 0.05
"""Meters by which a body sinks into what it sits on or leans against, and a hand into what it holds: flesh and
upholstery give way."""
WRIST = 0.65
"""Share of the forearm from which on it may touch what the hand holds."""
HANDS = np.char.endswith(BONES, "ForeArm") & (SHARE >= WRIST)
"""Which balls (P,) may touch what the hands hold."""
PARTS = np.unique(np.where(np.isin(BONES, ["Hips", "Neck"]), "Trunk", BONES), return_inverse=True)[1]
"""The number (P,) of the part of the body that each ball belongs to: its bone, or the trunk."""


def ball_points(places: Array) -> Array:
    """Middles (F, P, 3) of the balls of a body with joints at places (F, J, 3)."""
    return np.asarray(places[:, _FIRST] + SHARE[:, None] * (places[:, _LAST] - places[:, _FIRST]))


def ball_moves(moves: Array, frames: Array, balls: Array) -> Array:
    """How balls (N,) at frames (N,) move: (N, 3, SIZE)."""
    first, last = moves[frames, _FIRST[balls]], moves[frames, _LAST[balls]]
    return np.asarray(first + SHARE[balls, None, None] * (last - first))
