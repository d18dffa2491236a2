# SPDX-License-Identifier: GPL-3.0-or-later
"""One stoops lower for a box, and to put it down, than the network does, as far as the arms are too short for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..geometry.roles import Carryable
from ..geometry.scene_state import to_world
from ..models.nsm import FPS
from ..motion.easing import eased
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..rollout.held_objects import ARMS, PALM_THICKNESS, Hold, grasp_of, palm
from ..rollout.nsm import SceneRecord

LOWEST = 0.5
"""Metres over the ground to which hips go down,"""
MOST = 0.2
"""and by which, at most;"""
COMES, GOES = 0.8, 1.0
"""seconds over which they do, and over which one rises again."""
STRETCH = 0.97
"""Share of its length to which an arm stretches for a box."""
_STEP = 0.01


def stooped(record: SceneRecord, holds: Sequence[Hold]) -> Array:
    """Metres (T,) by which the hips go lower than recorded, so that hands reach the boxes that they take, and the
    places where they put them."""
    out: Array = np.zeros(len(record.root))
    for hold in holds:
        reached = [(hold.taken, hold.lying)]
        if hold.left is not None and hold.goal is not None:
            reached.append((hold.left - 1, hold.goal))
        for frame, pose in reached:
            frame = min(frame, len(out) - 1)
            weight = eased(len(out), frame - COMES * FPS, frame, frame, frame + GOES * FPS)
            out = np.maximum(out, weight * _lower(record, hold.handles, pose, frame))
    return out


def _lower(record: SceneRecord, handles: Carryable, pose: Array, frame: int) -> float:
    """Metres that are enough for palms at the faces of a box at a pose (7,) in a frame, or the most."""
    places, rotations = record.places[frame], record.rotations[frame]
    sides = {
        "Left": to_world(np.array(handles.left), pose),
        "Right": to_world(np.array(handles.right), pose),
    }
    middle = grasp_of(handles, pose)[0]
    most = min(MOST, max(float(places[0, 2] - record.root[frame, 2]) - LOWEST, 0.0))
    enough = 0.0
    for side, face in sides.items():
        limb = ARMS[side]
        upper, elbow, wrist = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
        length = STRETCH * np.linalg.norm(MODEL_SKELETON.offsets[[elbow, wrist]], axis=1).sum()
        out = (face - middle) / np.linalg.norm(face - middle)
        target = face + PALM_THICKNESS * out + places[wrist] - palm(places, rotations, side)
        downs = np.arange(0.0, most + _STEP, _STEP)
        far = np.linalg.norm(target - places[upper] + downs[:, None] * [0.0, 0.0, 1.0], axis=1)
        reached = np.flatnonzero(far <= length)
        enough = max(enough, float(downs[reached[0] if len(reached) else far.argmin()]))
    return enough
