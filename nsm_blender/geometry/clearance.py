# SPDX-License-Identifier: GPL-3.0-or-later
"""Clearance: distances from places, and from a standing body, to the nearest collider."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from .colliders import Placed

FAR = 2.0
"""Largest clearance in meters that is told apart: free space beyond it makes no difference to a proposal."""

_STANDING = np.array([0.3, 0.7, 1.1, 1.5])
"""Heights in meters over the ground at which a standing body's clearance is sampled, from knee to head."""


def distance(around: Placed | None, places: Array) -> Array:
    """Distances (N,) in meters from places (N, 3) to the nearest collider, at most FAR; FAR without any colliders."""
    if around is None or len(around.center) == 0:
        return np.full(len(places), FAR)
    return np.minimum(around.distance(places), FAR)


def standing_room(around: Placed | None, place: Array) -> float:
    """Distance in meters from the axis of a body that stands on `place` (3,) to the nearest collider, at most FAR."""
    body = np.repeat(place[None], len(_STANDING), axis=0)
    body[:, 2] += _STANDING
    return float(distance(around, body).min())
