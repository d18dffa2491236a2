# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells animals on four legs from figures that walk upright, by their rest pose."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..motion.rotations import Array, normalize
from .joints import RigInfo

_LEVEL_TRUNK = 0.6
"""Cosine of the angle between trunk and legs below which the trunk does not go on where the legs end."""
_ALONG_LEGS = 0.7
"""Cosine of the angle between arms and legs above which the arms stand as the legs do."""
_LOW, _HIGH = 0.12, 0.35
"""Heights over the ground, as shares of the figure's, below which a limb's end stands on it and above which the limb
begins at the body."""
_AWAY, _ASIDE = 0.15, 0.02
"""Shares of the height by which each foot of four is before or behind, and beside, the middle of all."""


def on_all_fours(rig: RigInfo, joints: Mapping[str, Array]) -> bool:
    """Whether a rig stands on four legs. joints: joint -> place (3,) of its bone's head, both legs among them."""
    hips = (joints["LeftUpLeg"] + joints["RightUpLeg"]) / 2
    feet = (joints["LeftFoot"] + joints["RightFoot"]) / 2
    up = normalize(hips - feet)
    arms = [[joints.get(side + part) for part in ("Arm", "ForeArm", "Hand")] for side in ("Left", "Right")]
    places = [[place for place in arm if place is not None] for arm in arms]
    if any(len(arm) < 2 for arm in places):
        return four_feet(rig)
    shoulders = np.mean([arm[0] for arm in places], axis=0)
    reach = np.mean([arm[-1] - arm[0] for arm in places], axis=0)
    level = abs(float(normalize(shoulders - hips) @ up)) < _LEVEL_TRUNK
    return level and float(normalize(reach) @ -up) > _ALONG_LEGS


def four_feet(rig: RigInfo) -> bool:
    """Whether limbs end on the ground on both sides, before and behind."""
    up = normalize(np.asarray(rig.world, dtype=np.float64)[:3, :3].T @ np.array([0.0, 0.0, 1.0]))
    heights = rig.heads @ up
    low, tall = float(heights.min()), float(np.ptp(heights))
    down = heights < low + _LOW * tall
    body = [any(heights[rig.numbers[o]] > low + _HIGH * tall for o in rig.path(name)[1:]) for name in rig.names]
    feet = rig.heads[down & np.array(body)]
    if len(feet) < len(_CORNERS):
        return False
    flat: Array = feet - np.outer(feet @ up, up)
    flat = flat - (flat.max(axis=0) + flat.min(axis=0)) / 2
    axes = np.linalg.eigh(flat.T @ flat)[1]
    along, aside = flat @ axes[:, -1], flat @ axes[:, -2]
    return all(
        bool(np.any((along * ahead > _AWAY * tall) & (aside * left > _ASIDE * tall))) for ahead, left in _CORNERS
    )


_CORNERS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
"""Signs of the places of four feet along and across the body."""
