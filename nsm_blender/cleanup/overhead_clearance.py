# SPDX-License-Identifier: GPL-3.0-or-later
"""Going under something: as low as it asks for, where the network's crouch is one height for all."""

from __future__ import annotations

import numpy as np

from ..models.pfnn import FPS
from ..motion.filters import gaussian, highest_around
from ..motion.rotations import Array

CROWN = 0.2
"""Meters from the head's joint to the crown."""
SPARE = 0.03
"""Meters from the crown to what it passes under."""
DEEPEST = 0.25
"""Meters by which the hips sink at most: routes lead under nothing that asks for more."""
_BEFORE = int(0.4 * FPS)
"""Frames before and after something low in which the hips go down and come up again."""


def sinking(heads: Array, undersides: Array) -> Array:
    """How far (T,) the hips must sink, smoothly, for heads (T,) to pass under what is above them.

    heads: heights of the head's joint at 60 fps. undersides: heights (T,) of the lowest thing above, infinite without.
    """
    need = np.clip(heads + CROWN + SPARE - undersides, 0, DEEPEST)
    return gaussian(highest_around(need, _BEFORE), _BEFORE / 3)
