# SPDX-License-Identifier: GPL-3.0-or-later
"""Planted feet stay where they are (PFNN 6): contact labels, one offset curve a foot, two-bone IK.

The whole rollout is known, so a foot needs no release: between two contacts its offset glides from the
end of the one to the start of the next.
"""

from __future__ import annotations

import numpy as np

from ..models.pfnn import FPS, OUTPUT
from ..motion.contacts import firm_contacts, firming_contacts
from ..motion.foot_lock import planting_feet
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..rollout.handover import without_jumps
from ..rollout.pfnn import Record
from ..rollout.pose import decoding, joint_places, limit_elbows, limit_feet
from ..stepwise import Stepwise, by_frames, finished
from .overhead_clearance import sinking


def lock_feet(
    record: Record, rotation_reference: Array, ground: float, undersides: Array | None = None
) -> tuple[Array, Array, Array]:
    """Pose a rollout with planted feet.

    ground: height of the floor in meters. undersides: heights (T,) of what it goes under, see
    `sinking`. Returns joint places (T, J, 3), world rotations (T, J, 4) and contacts (T, 4).
    """
    return finished(locking_feet(record, rotation_reference, ground, undersides))


def locking_feet(
    record: Record, rotation_reference: Array, ground: float, undersides: Array | None = None
) -> Stepwise[tuple[Array, Array, Array]]:
    """`lock_feet` in pieces."""
    hips, rotations, contacts, predicted = yield from posing(record, rotation_reference)
    if undersides is not None:
        hips[:, 2] -= sinking(predicted[:, MODEL_SKELETON.index("Head"), 2], undersides)
    floor = np.array([0.0, 0.0, ground])
    places, planted = yield from planting_feet((hips - floor)[None], rotations[None], contacts[None])
    return places[0] + floor, planted[0], contacts


def posing(record: Record, rotation_reference: Array) -> Stepwise[tuple[Array, Array, Array, Array]]:
    """A rollout's pose before its feet are planted, in pieces: hips (T, 3), world rotations (T, J, 4) with limited
    elbows and feet, contacts (T, 4), and the joint places (T, J, 3) that the network predicted."""
    hips, rotations, predicted = yield from decoding(record, rotation_reference)
    if record.seams:
        yield
        places, rotations = without_jumps(record.root, joint_places(hips, rotations), rotations, record.seams)
        hips = places[:, 0]
    rotations = yield from by_frames(limit_elbows, rotations)
    yield
    rotations = limit_feet(rotations, FPS)
    yield
    posed = yield from by_frames(joint_places, hips, rotations)
    contacts = yield from firming_contacts(record.y[:, OUTPUT.contact], posed, FPS)
    return hips, rotations, contacts, predicted


def contacts_of(record: Record, places: Array) -> Array:
    """Contacts (T, 4), 0 or 1, of CONTACT_JOINTS for the rollout's joint places (T, J, 3)."""
    return firm_contacts(record.y[:, OUTPUT.contact], places, FPS)
