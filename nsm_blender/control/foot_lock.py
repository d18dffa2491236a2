# SPDX-License-Identifier: GPL-3.0-or-later
"""Planted feet stay where they are (PFNN 6): contact labels, one offset curve a foot, two-bone IK.

The whole rollout is known, so a foot needs no release: between two contacts its offset glides from the
end of the one to the start of the next.
"""

from __future__ import annotations

import numpy as np

from ..models.pfnn import OUTPUT
from ..motion.filters import runs, without_short_runs
from ..motion.rotations import Array
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from .ducking import sinking
from .locomotion import Record
from .planting import plant_feet
from .pose import LEGS, decode, limit_elbows

_SHORTEST = 3
"""Frames: shorter contacts and gaps are flicker of the label."""
HEEL_LIFTED = 0.015
"""Metres that the ankle of a foot that rolls off is higher above the ball than that of a flat foot."""
TOE_LIFTED = 0.012
"""Metres above its median height in a contact at which the ball of the foot has left the ground."""


def contact_labels(record: Record) -> Array:
    """Contacts (T, 4), 0 or 1, of CONTACT_JOINTS: the network's labels without flicker and without what is lifted.

    The labels were found by speed and height, and stay on while a foot slowly rolls off the ground.
    """
    raw = record.y[:, OUTPUT.contact] > 0.5
    heights = record.y[:, OUTPUT.joint_position].reshape(len(raw), -1, 3)[..., 2]
    out = np.empty(raw.shape, dtype=np.float32)
    for side in LEGS:
        heel, toe = heights[:, MODEL_SKELETON.indices([side + "Foot", side + "Toe"])].T
        heel_column, toe_column = (CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe"))
        down = raw[:, heel_column] & (heel - toe < ANKLE_HEIGHT - TOE_HEIGHT + HEEL_LIFTED)
        out[:, heel_column] = without_short_runs(down, _SHORTEST, _SHORTEST)
        down = without_short_runs(raw[:, toe_column], _SHORTEST, _SHORTEST)
        for start, stop in runs(down):
            down[start:stop] = toe[start:stop] < np.median(toe[start:stop]) + TOE_LIFTED
        out[:, toe_column] = without_short_runs(down, _SHORTEST, _SHORTEST)
    return out


def lock_feet(
    record: Record, rotation_reference: Array, ground: float, undersides: Array | None = None
) -> tuple[Array, Array, Array]:
    """Pose a rollout with planted feet.

    ground: height of the floor in metres. undersides: heights (T,) of what one goes under; see `sinking`. Returns
    joint places (T, J, 3), world rotations (T, J, 4) and contacts (T, 4).
    """
    hips, rotations, predicted = decode(record, rotation_reference)
    contacts = contact_labels(record)
    if undersides is not None:
        hips[:, 2] -= sinking(predicted[:, MODEL_SKELETON.index("Head"), 2], undersides)
    floor = np.array([0.0, 0.0, ground])
    places, planted = plant_feet((hips - floor)[None], limit_elbows(rotations)[None], contacts[None])
    return places[0] + floor, planted[0], contacts
