# SPDX-License-Identifier: GPL-3.0-or-later
"""Which parts of which feet stand, from the labels that the network predicts."""

from __future__ import annotations

import numpy as np

from ..models.nsm import CONTACTS, FPS
from ..motion.filters import velocity, without_short_runs
from ..motion.rotations import Array
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from ..rollout.held_objects import TOUCHES
from ..rollout.nsm import SceneRecord

SHORTEST = 3
"""Frames of a contact, or of a gap in it, less than which the label flickers."""
_DOWN = 0.045
"""Meters above its height in stance below which a heel or toe is on the ground."""
_SLOW = 0.6
"""Meters per second at which a heel or toe on the ground may move."""
_FEET = ("LeftFoot", "RightFoot")


def foot_contacts(record: SceneRecord) -> Array:
    """Contacts (T, 4) of CONTACT_JOINTS, 0 or 1, from the two labels of the feet: heel or toe, whichever is low and
    slow; the toe when neither is."""
    out = np.zeros((len(record.root), len(CONTACT_JOINTS)), dtype=np.float32)
    ground = record.root[:, 2]
    for foot in _FEET:
        on = without_short_runs(record.contacts[:, CONTACTS.index(foot)] > TOUCHES, SHORTEST, SHORTEST)
        parts = []
        for joint, height in ((foot, ANKLE_HEIGHT), (foot.replace("Foot", "Toe"), TOE_HEIGHT)):
            place = record.places[:, MODEL_SKELETON.index(joint)]
            slow = np.linalg.norm(velocity(place[:, :2], FPS), axis=1) < _SLOW
            parts.append(slow & (place[:, 2] - ground < height + _DOWN))
        heel, toe = parts
        toe = toe | ~heel
        for joint, part in ((foot, heel), (foot.replace("Foot", "Toe"), toe)):
            out[:, CONTACT_JOINTS.index(joint)] = on & without_short_runs(part & on, SHORTEST, SHORTEST)
    return out
