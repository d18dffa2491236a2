# SPDX-License-Identifier: GPL-3.0-or-later
"""Foot contacts from the speed and height of heel and toe (PFNN 4.1)."""

from __future__ import annotations

import numpy as np

from .filters import gaussian, velocity, without_short_runs
from .rotations import Array
from .skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT

SPEED_LIMIT = 0.4
"""m/s below which a foot joint counts as planted; a swinging toe moves at 2 m/s and more."""
HEIGHT_LIMIT = {"Foot": ANKLE_HEIGHT + 0.03, "Toe": TOE_HEIGHT + 0.025}
"""Metres above which a joint is not on flat ground, however slow it is."""
_SHORTEST = 0.05


def foot_contacts(positions: Array, fps: float) -> Array:
    """Contact labels (T, 4), 0 or 1, of CONTACT_JOINTS on flat ground at z = 0.

    positions: (T, J, 3) world, joints of the model skeleton.
    """
    out = np.zeros((len(positions), len(CONTACT_JOINTS)), dtype=np.float32)
    shortest = max(round(_SHORTEST * fps), 2)
    for column, name in enumerate(CONTACT_JOINTS):
        place = gaussian(positions[:, MODEL_SKELETON.index(name)], 0.01 * fps)
        speed = np.linalg.norm(velocity(place, fps), axis=-1)
        low = place[:, 2] < HEIGHT_LIMIT[name.removeprefix("Left").removeprefix("Right")]
        out[:, column] = without_short_runs((speed < SPEED_LIMIT) & low, shortest, shortest)
    return out
