# SPDX-License-Identifier: GPL-3.0-or-later
"""Planted feet stay where they are (PFNN 6): contact labels, one offset curve a foot, two-bone IK.

The whole rollout is known, so a foot needs no release: between two contacts its offset glides from the
end of the one to the start of the next.
"""

from __future__ import annotations

import numpy as np

from ..models.pfnn import FPS, OUTPUT
from ..models.sway import Sample
from ..motion.contacts import firm_contacts, firming_contacts
from ..motion.foot_lock import planting_feet
from ..motion.gait import GAITS
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..rollout.handover import without_jumps
from ..rollout.pfnn import Record
from ..rollout.pose import decoding, joint_places, limit_elbows, limit_feet
from ..stepwise import Stepwise, by_frames, finished
from .overhead_clearance import sinking
from .postural_sway import standing_weight, swayed


def lock_feet(
    record: Record,
    rotation_reference: Array,
    ground: float,
    undersides: Array | None = None,
    sway: Sample | None = None,
) -> tuple[Array, Array, Array]:
    """Pose a rollout with planted feet.

    ground: height of the floor in meters. undersides: heights (T,) of what it goes under, see `sinking`. sway: of as
    many frames. Returns joint places (T, J, 3), world rotations (T, J, 4) and contacts (T, 4).
    """
    return finished(locking_feet(record, rotation_reference, ground, undersides, sway))


def locking_feet(
    record: Record,
    rotation_reference: Array,
    ground: float,
    undersides: Array | None = None,
    sway: Sample | None = None,
) -> Stepwise[tuple[Array, Array, Array]]:
    """`lock_feet` in pieces."""
    hips, rotations, contacts, predicted = yield from posing(record, rotation_reference)
    floor, wanted = np.array([0.0, 0.0, ground]), None
    steady = hips, rotations
    hips, rotations = yield from swaying(record, *steady, contacts, sway)
    if hips is not steady[0]:
        wanted = (yield from by_frames(joint_places, *steady))[None] - floor
    if undersides is not None:
        hips[:, 2] -= sinking(predicted[:, MODEL_SKELETON.index("Head"), 2], undersides)
    places, planted = yield from planting_feet((hips - floor)[None], rotations[None], contacts[None], targets=wanted)
    return places[0] + floor, planted[0], contacts


def swaying(
    record: Record, hips: Array, rotations: Array, contacts: Array, sway: Sample | None
) -> Stepwise[tuple[Array, Array]]:
    """Hips (T, 3) and world rotations (T, J, 4) of a rollout with a sample of sway where it stands, in pieces; the same
    arrays where it stands nowhere."""
    stands = (record.gait[:, GAITS.index("stand")] > 0.5) & (contacts > 0).reshape(-1, 2, 2).any(axis=2).all(axis=1)
    weight = standing_weight(stands, FPS)
    yield
    if sway is None or not weight.any():
        return hips, rotations
    hips, rotations = swayed(hips, rotations, record.root[:, 3], weight, sway)
    yield
    rotations = yield from by_frames(limit_elbows, rotations)
    return hips, rotations


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
