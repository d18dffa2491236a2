# SPDX-License-Identifier: GPL-3.0-or-later
"""Going under something: as low as it asks for, where the network's crouch is one height for all."""

from __future__ import annotations

import numpy as np

from ..geometry.body import BODY
from ..models.pfnn import FPS
from ..motion.filters import gaussian, highest_around
from ..motion.rotations import Array
from ..motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON

CROWN = BODY.height - HIPS_HEIGHT - float(MODEL_SKELETON.rest_positions()[MODEL_SKELETON.index("Head"), 2])
"""Meters from the head's joint to the crown."""
DEEPEST = 0.25
"""Meters by which the hips sink at most: no more are asked for by what routes lead under."""
_BEFORE = int(0.4 * FPS)
"""Frames before and after, in which one goes down and comes up again."""


def sinking(heads: Array, undersides: Array) -> Array:
    """How far (T,) the hips must sink, smoothly, for heads (T,) to pass under what is above them.

    heads: heights of the head's joint at 60 fps. undersides: heights (T,) of the lowest thing above, infinite without.
    """
    need = np.clip(heads + CROWN - undersides, 0, DEEPEST)
    return gaussian(highest_around(need, _BEFORE), _BEFORE / 3)
