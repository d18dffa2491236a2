# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures of a motion, as the papers define them."""

from __future__ import annotations

import numpy as np

from ..motion.motion import Motion
from ..motion.rotations import Array, conjugate, rotate
from ..motion.skeleton import MODEL_SKELETON

LOW = 0.025
"""Height in meters below which the NSM paper measures the drift of feet."""


def foot_slide(motion: Motion) -> float:
    """Mean speed in cm/s at which heels and toes drift over the ground while their contact label is on."""
    total, frames = 0.0, 0
    for column, name in enumerate(motion.contact_names):
        place = motion.positions[:, motion.names.index(name), :2].astype(np.float64)
        speed = np.linalg.norm(np.diff(place, axis=0), axis=1) * motion.fps
        on = (motion.contacts[1:, column] > 0.5) & (motion.contacts[:-1, column] > 0.5)
        total += float(speed[on].sum())
        frames += int(on.sum())
    return 100 * total / max(frames, 1)


def low_foot_slide(motion: Motion, ground: float = 0.0) -> float:
    """Mean drift in cm/s of the toe joints while they are less than 2.5 cm above the ground (NSM's measure).

    It needs no contact label. A planted toe joint is 2 cm high, a swinging toe passes at 3 to 4 cm.
    """
    total, frames = 0.0, 0
    for name in ("LeftToe", "RightToe"):
        place = motion.positions[:, motion.names.index(name)].astype(np.float64)
        speed = np.linalg.norm(np.diff(place[:, :2], axis=0), axis=1) * motion.fps
        low = place[1:, 2] < ground + LOW
        total += float(speed[low].sum())
        frames += int(low.sum())
    return 100 * total / max(frames, 1)


def acceleration(places: Array, fps: float) -> Array:
    """Accelerations (F - 2, J) in m/s^2 of joints at places (F, J, 3)."""
    out: Array = np.linalg.norm(np.diff(places, n=2, axis=0), axis=-1) * fps**2
    return out


def hinge_angles(rotations: Array) -> dict[str, Array]:
    """Flexion of knees and elbows in radians (T,) by name; below zero bends backward.

    rotations: (T, J, 4) world, model skeleton. A knee bends the shin back, an elbow the forearm forward,
    seen from the bone above.
    """
    out: dict[str, Array] = {}
    for upper, lower, sign in (
        ("LeftUpLeg", "LeftLeg", 1),
        ("RightUpLeg", "RightLeg", 1),
        ("LeftArm", "LeftForeArm", -1),
        ("RightArm", "RightForeArm", -1),
    ):
        u, low = MODEL_SKELETON.indices([upper, lower])
        bone = MODEL_SKELETON.offsets[MODEL_SKELETON.children(low)[0]]
        above = MODEL_SKELETON.offsets[low]
        shape = (len(rotations), 3)
        seen = rotate(conjugate(rotations[:, u]), rotate(rotations[:, low], np.broadcast_to(bone, shape)))
        along = seen @ (above / np.linalg.norm(above))
        out[lower] = np.arctan2(sign * seen[:, 1], along)
    return out


def bone_length_error(positions: Array) -> float:
    """Largest deviation in meters of any bone of positions (T, J, 3) from the model skeleton's."""
    worst = 0.0
    for j, p in enumerate(MODEL_SKELETON.parents):
        if p >= 0:
            length = np.linalg.norm(positions[:, j] - positions[:, p], axis=1)
            worst = max(worst, float(np.abs(length - np.linalg.norm(MODEL_SKELETON.offsets[j])).max()))
    return worst


def settled_speed(root: Array, fps: float, window: float = 0.25) -> Array:
    """Speed (T,) in m/s of a root track (T, 2+), the mean over a centered window of `window` seconds."""
    half = max(int(window * fps / 2), 1)
    index = np.arange(len(root))
    ahead, behind = np.minimum(index + half, len(root) - 1), np.maximum(index - half, 0)
    distance = np.linalg.norm(root[ahead, :2] - root[behind, :2], axis=1)
    out: Array = distance / ((ahead - behind) / fps)
    return out
