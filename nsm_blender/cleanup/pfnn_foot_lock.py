# SPDX-License-Identifier: GPL-3.0-or-later
"""Planted feet stay where they are (PFNN 6): contact labels, one offset curve a foot, two-bone IK.

The whole rollout is known, so a foot needs no release: between two contacts its offset glides from the
end of the one to the start of the next.
"""

from __future__ import annotations

import numpy as np

from ..models.pfnn import FPS, OUTPUT
from ..motion.contacts import firm_contacts
from ..motion.foot_lock import plant_feet
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..rollout.pfnn import Record
from ..rollout.pose import decode, joint_places, limit_elbows, limit_feet
from .overhead_clearance import sinking


def lock_feet(
    record: Record, rotation_reference: Array, ground: float, undersides: Array | None = None
) -> tuple[Array, Array, Array]:
    """Pose a rollout with planted feet.

    ground: height of the floor in metres. undersides: heights (T,) of what one goes under; see `sinking`. Returns
    joint places (T, J, 3), world rotations (T, J, 4) and contacts (T, 4).
    """
    hips, rotations, predicted = decode(record, rotation_reference)
    rotations = limit_feet(limit_elbows(rotations), FPS)
    contacts = contacts_of(record, joint_places(hips, rotations))
    if undersides is not None:
        hips[:, 2] -= sinking(predicted[:, MODEL_SKELETON.index("Head"), 2], undersides)
    floor = np.array([0.0, 0.0, ground])
    places, planted = plant_feet((hips - floor)[None], rotations[None], contacts[None])
    return places[0] + floor, planted[0], contacts


def contacts_of(record: Record, places: Array) -> Array:
    """Contacts (T, 4), 0 or 1, of CONTACT_JOINTS for the rollout's joint places (T, J, 3)."""
    return firm_contacts(record.y[:, OUTPUT.contact], places, FPS)
