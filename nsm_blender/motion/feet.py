# SPDX-License-Identifier: GPL-3.0-or-later
"""Leveling of feet whose rest pose does not define their roll, from the frames in which they stand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .clip import Clip
from .rotations import Array, conjugate, from_axis_angle, make_continuous, multiply, normalize, rotate
from .skeleton import ANKLE_HEIGHT, TOE_HEIGHT

_SLOW = 0.25
"""Speed in m/s below which the toe stands."""
_ABOVE = 0.04
"""Height in meters of heel and toe above their standing height up to which the foot stands flat and not on its tip."""
_LEAST_SECONDS = 0.2
"""Least time in seconds that a foot must stand in a clip to be leveled."""
_MOST_ROLL = np.radians(50)
"""Largest roll in radians that is believed."""


def level_feet(clip: Clip) -> Clip:
    """Roll each foot about the line from ankle to toe so that it is level, on average, in stance.

    No joint moves; only the meaning of "not rolled" changes. Recordings whose rest pose has the legs apart come with
    feet that stand on their edges by as much (20 degrees in CMU's). A foot that hardly stands in the clip is left
    alone. The clip's joints carry the model's names; the floor is at z = 0.
    """
    positions, rotations = clip.world()
    skeleton = clip.skeleton
    out = rotations.copy()
    for side in ("Left", "Right"):
        foot, toe = skeleton.indices((side + "Foot", side + "Toe"))
        stance = _stance(positions[:, foot], positions[:, toe], -skeleton.offsets[toe, 2], clip.fps)
        if np.count_nonzero(stance) < _LEAST_SECONDS * clip.fps:
            continue
        turns = rotations[stance, foot]
        up = rotate(conjugate(turns), np.broadcast_to(np.array([0, 0, 1], turns.dtype), (len(turns), 3))).mean(0)
        roll = _angle_about(normalize(skeleton.offsets[toe]), np.array([0.0, 0.0, 1.0]), up)
        if abs(roll) > _MOST_ROLL:
            continue
        turn = from_axis_angle(normalize(skeleton.offsets[toe]), np.asarray(roll)).astype(rotations.dtype)
        for joint in (foot, toe):
            out[:, joint] = multiply(rotations[:, joint], np.broadcast_to(turn, rotations[:, joint].shape))
    return replace(clip, rotations=make_continuous(skeleton.local_rotations(out)))


def _stance(ankle: Array, toe: Array, rise: float, fps: float) -> Array:
    """Mask (T,) of the frames in which a foot stands flat. rise: of the ankle above the toe in the rest pose, in
    meters."""
    if len(toe) < 2:
        return np.zeros(len(toe), dtype=bool)
    speed = np.linalg.norm(np.gradient(toe, axis=0), axis=-1) * fps
    highest = max(TOE_HEIGHT + rise, ANKLE_HEIGHT) + _ABOVE
    out: Array = (speed < _SLOW) & (toe[:, 2] < TOE_HEIGHT + _ABOVE) & (ankle[:, 2] < highest)
    return out


def _angle_about(axis: Array, a: Array, b: Array) -> float:
    """Angle in radians about the unit `axis` that turns `a` nearest to `b`."""
    a, b = a - axis * (axis @ a), b - axis * (axis @ b)
    return float(np.arctan2(axis @ np.cross(a, b), a @ b))
