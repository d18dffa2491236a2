# SPDX-License-Identifier: GPL-3.0-or-later
"""Who has come to where a thing is used and treads on the spot, as one who still walks, comes to stand and uses it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..models.nsm import ACTIONS, FPS
from ..motion.rotations import Array, wrap_angle
from .scene_goals import Reach, Wish

SINCE = round(2.5 * FPS)
"""Frames for which one who treads"""
WITHIN = 0.12
"""has been within so many metres of where he is,"""
TURNED = 0.35
"""no more than these radians turned away from the facing that is asked for:"""
FADES = 0.94
"""his label of walking falls by this factor a frame, and that of idling rises: left to his labels he treads on, until
he is given up."""
_WALK, _IDLE = ACTIONS.index("walk"), ACTIONS.index("idle")
_LOOKS = SINCE // 10


def stood(actions: Array, before: Array, wish: Wish, history: Sequence[Array]) -> Array:
    """Labels (N, 7) of now and later, less of walking in them if one treads. before: (7,) labels of the frame before;
    history: roots (4,) of the frames until then."""
    if not isinstance(wish, Reach) or len(history) <= SINCE:
        return actions
    root = history[-1]
    away = max(float(np.linalg.norm(was[:2] - root[:2])) for was in history[-1 - SINCE :: _LOOKS])
    if away > WITHIN or abs(float(wrap_angle(np.array(wish.facing - root[3])))) > TURNED:
        return actions
    out: Array = actions.copy()
    out[:, _WALK] = np.minimum(actions[:, _WALK], FADES * before[_WALK])
    out[:, _IDLE] += actions[:, _WALK] - out[:, _WALK]
    return out
