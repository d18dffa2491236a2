# SPDX-License-Identifier: GPL-3.0-or-later
"""The body as balls on its bones: what collides, and how it moves with displacements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..geometry.body import BODY, CAPSULES, SHARES
from ..motion.rotations import Array
from ..motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON

_FOOT = 0.03
"""Radius in meters of a foot."""
_SKULL = (BODY.height - HIPS_HEIGHT - float(MODEL_SKELETON.rest_positions()[MODEL_SKELETON.index("Head"), 2])) / 2
"""Radius in meters of the ball between the head's joint and the crown."""
_BONES = (*CAPSULES, ("LeftFoot", "LeftToe", _FOOT), ("RightFoot", "RightToe", _FOOT))
_BALLS = [(bone, share) for bone in _BONES for share in np.unique(SHARES)]
_NECK = float(np.linalg.norm(MODEL_SKELETON.offsets[MODEL_SKELETON.index("Head")]))
_BALLS.append((("Neck", "Head", _SKULL), 1 + _SKULL / _NECK))
"""Bone (joints at both ends, radius in meters), and share of its length, of each ball of the body; the last is the top
of the head."""
_FIRST = np.array(MODEL_SKELETON.indices([first for (first, _, _), _ in _BALLS]))
_LAST = np.array(MODEL_SKELETON.indices([last for (_, last, _), _ in _BALLS]))
SHARE = np.array([share for _, share in _BALLS])
"""Shares (P,) of its bone's length at which each ball of the body lies."""
RADII = np.array([radius for (_, _, radius), _ in _BALLS])
"""Radius (P,) in meters of each ball."""
BONES = np.array([first for (first, _, _), _ in _BALLS])
"""Joint (P,) at which the bone of each ball begins."""
HANDS = np.char.endswith(BONES, "ForeArm") & (SHARE == 1)
"""Which balls (P,) may touch what the hands hold: those at the wrists."""
PARTS = np.where(BONES == "Neck", 0, _FIRST)
"""The number (P,) of the part of the body that each ball belongs to: that of its bone's first joint, or 0, the
trunk."""


def _hangs_on(part: int) -> int:
    above = MODEL_SKELETON.parents[part]
    return above if above in PARTS else _hangs_on(above)


HANGS_ON = {int(part): _hangs_on(int(part)) for part in np.unique(PARTS) if part}
"""The part from which each part hangs, by its number; the trunk hangs from none."""


def ball_radii(capsules: Sequence[float]) -> Array:
    """Radii (P,) in meters of the balls of a body whose capsules have other radii than CAPSULES; none takes the
    model's. Feet and skull keep theirs."""
    own = dict(zip(CAPSULES, capsules, strict=False))
    return np.array([own.get(bone, bone[2]) for bone, _ in _BALLS])


def ball_points(places: Array) -> Array:
    """Middles (F, P, 3) of the balls of a body with joints at places (F, J, 3)."""
    return np.asarray(places[:, _FIRST] + SHARE[:, None] * (places[:, _LAST] - places[:, _FIRST]))


def ball_moves(moves: Array, frames: Array, balls: Array) -> Array:
    """How balls (N,) at frames (N,) move: (N, 3, SIZE)."""
    first, last = moves[frames, _FIRST[balls]], moves[frames, _LAST[balls]]
    return np.asarray(first + SHARE[balls, None, None] * (last - first))
