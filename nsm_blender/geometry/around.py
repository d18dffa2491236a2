# SPDX-License-Identifier: GPL-3.0-or-later
"""Room for a body about a thing: what stands near it."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from .colliders import Placed

FAR = 2.0
"""Metres: free space beyond this makes no difference."""

_STANDING = np.array([0.3, 0.7, 1.1, 1.5])


def distance(around: Placed | None, places: Array) -> Array:
    """Metres (N,), at most FAR, from places (N, 3) to the nearest thing; FAR where nothing is known."""
    if around is None or len(around.centre) == 0:
        return np.full(len(places), FAR)
    return np.minimum(around.distance(places), FAR)


def standing_room(around: Placed | None, place: Array) -> float:
    """Metres from the middle of a body that stands on `place` (3,) to the nearest thing, at most FAR."""
    body = np.repeat(place[None], len(_STANDING), axis=0)
    body[:, 2] += _STANDING
    return float(distance(around, body).min())
