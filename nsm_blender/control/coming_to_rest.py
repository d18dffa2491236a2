# SPDX-License-Identifier: GPL-3.0-or-later
"""Who runs walks the last metre: a network that is left to its own labels jogs on the spot where it is to stand."""

from __future__ import annotations

import numpy as np

from ..models.nsm import ACTIONS
from ..motion.rotations import Array
from .scene_goals import SLOWING
from .walker import LAST

_RUN, _WALK = ACTIONS.index("run"), ACTIONS.index("walk")


def slowed(actions: Array, left: float) -> Array:
    """Labels (N, 7) of now and later of one who has so many metres of way left."""
    share = min(max((LAST + SLOWING - left) / SLOWING, 0.0), 1.0)
    out: Array = np.array(actions)
    out[:, _WALK] += share * out[:, _RUN]
    out[:, _RUN] *= 1 - share
    return out
