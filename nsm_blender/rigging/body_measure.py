# SPDX-License-Identifier: GPL-3.0-or-later
"""What a posed rig's mesh does: soles in or over what they stand on, hands in the body, any of it in things."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.foot_lock import Heights
from ..motion.rotations import Array, conjugate, rotate
from .rig_body import DIRECTIONS, RigBody

_TOUCHES = 0.5
"""Contact label above which a foot touches what it stands on."""


@dataclass(frozen=True, eq=False)
class BodyMeasure:
    """The mesh of a rig at N frames, in meters.

    soles: (N, 2) heights of the left and the right sole's lowest point over what the foot stands on, not a number where
    it does not stand. hands: (N,) deepest that a hand or forearm is in hips, trunk or thighs. surface:
    (N, P, 3) corners of the flesh, and owners: (P,) the joints that move them.
    """

    soles: Array
    hands: Array
    surface: Array
    owners: Array


def measured(
    body: RigBody, places: Array, turns: Array, levels: Array, contacts: Array, ground: Heights | None = None
) -> BodyMeasure | None:
    """Measure a body whose bones' heads are at places (N, B, 3) and turned by (N, B, 4) from the T-pose; None for a rig
    without flesh. levels: (N, 2) heights in meters of what the left and the right foot stand on. contacts: (N, 2).
    ground: heights under all places of the soles, (N, P, 2) to (N, P), which count in place of the levels."""
    if body.surface is None:
        return None
    soles = np.full((len(places), 2), np.nan)
    for column, side in enumerate(("Left", "Right")):
        if side in body.soles:
            sole = body.soles[side].posed(places, turns)
            under = levels[:, column, None] if ground is None else ground(sole[..., :2])
            low = (sole[..., 2] - under).min(axis=1)
            soles[:, column] = np.where(contacts[:, column] > _TOUCHES, low, np.nan)
    hands = np.zeros(len(places))
    for points in body.arms.values():
        posed = points.posed(places, turns)
        for flesh in body.trunk:
            back = np.broadcast_to(conjugate(turns[:, flesh.bone])[:, None], (*posed.shape[:2], 4))
            local = rotate(back, posed - places[:, flesh.bone, None])
            room: Array = (flesh.heights - local @ DIRECTIONS.T).min(axis=2)
            hands = np.maximum(hands, room.max(axis=1))
    return BodyMeasure(soles, hands, body.surface.posed(places, turns), np.array(body.owners))
