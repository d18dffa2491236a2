# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses that were read from a file or a rig as a motion: what it lacks is found from the feet."""

from __future__ import annotations

import numpy as np

from ..stepwise import Stepwise, by_frames, finished
from .clip import Clip
from .contacts import foot_contacts
from .feet import level_feet
from .motion import Motion
from .retarget import is_model, to_model_skeleton
from .root import root_track
from .rotations import Array, make_continuous
from .skeleton import CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT

FLAT = 0.05
"""Meters: feet that stand this near to z = 0 stand on it, as shoes and calibration move a floor by that much."""


def recorded(hips: Array, rotations: Array, fps: float, name: str) -> Motion:
    """`recording` at once."""
    return finished(recording(hips, rotations, fps, name))


def motion_of(clip: Clip, name: str) -> Motion:
    """A clip of the 22 joints as a motion of the model skeleton, at the clip's rate."""
    if not is_model(clip.skeleton):  # what a character on the model did needs no other feet
        clip = to_model_skeleton(level_feet(clip))
    return recorded(clip.root, clip.world()[1], clip.fps, name)


def recording(hips: Array, rotations: Array, fps: float, name: str) -> Stepwise[Motion]:
    """A motion of the model from the place of Hips (F, 3) in meters and world rotations (F, J, 4), in pieces of work.

    Contacts are detected, on the floor that the feet tell.
    """
    yield
    rotations = make_continuous(rotations)
    positions = yield from by_frames(MODEL_SKELETON.positions, hips, rotations)
    yield
    floor = floor_of(positions)
    root = root_track(positions, fps)
    root[:, 2] = floor
    count = len(positions)
    yield
    return Motion(
        names=MODEL_SKELETON.names,
        parents=MODEL_SKELETON.parents,
        positions=positions.astype(np.float32),
        rotations=rotations.astype(np.float32),
        root=root.astype(np.float32),
        contacts=foot_contacts(positions - [0.0, 0.0, floor], fps),
        contact_names=CONTACT_JOINTS,
        phase=np.zeros(count, dtype=np.float32),
        actions=np.zeros((count, 0), dtype=np.float32),
        action_names=(),
        fps=fps,
        meta={"name": name},
    )


def floor_of(positions: Array) -> float:
    """Height of the flat floor in meters under joint places (T, J, 3)."""
    toes = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
    lowest = float(np.percentile(positions[:, toes, 2].min(axis=1), 10)) - TOE_HEIGHT
    return 0.0 if abs(lowest) < FLAT else lowest
