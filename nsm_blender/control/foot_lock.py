# SPDX-License-Identifier: GPL-3.0-or-later
"""Planted feet stay where they are (PFNN 6): contact labels, one offset curve a foot, two-bone IK.

The whole rollout is known, so a foot needs no release: between two contacts its offset glides from the
end of the one to the start of the next.
"""

from __future__ import annotations

import numpy as np

from ..models.pfnn import FPS, OUTPUT
from ..motion.filters import gaussian, runs, without_short_runs
from ..motion.ik import REACH
from ..motion.rotations import Array, between, from_exponential_map, multiply, to_exponential_map
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from .ducking import sinking
from .locomotion import Record
from .pose import LEGS, decode, hip_joint, joint_places, limit_elbows, reach_ankles, toe_of

_SHORTEST = 3
"""Frames: shorter contacts and gaps are flicker of the label."""
HEEL_LIFTED = 0.015
"""Metres that the ankle of a foot that rolls off is higher above the ball than that of a flat foot."""
TOE_LIFTED = 0.012
"""Metres above its median height in a contact at which the ball of the foot has left the ground."""
_LONGEST_GLIDE = 24
"""Frames over which an offset fades to nothing when the next contact is far away."""
_FOOT_GLIDE = 8
"""The same for the foot's rotation: a heel that was held must catch up with its rise."""


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
    rotations = limit_elbows(rotations)
    places, rotations = plant_feet(hips, rotations, joint_places(hips, rotations), contacts, ground)
    return places, rotations, contacts


def plant_feet(
    hips: Array, rotations: Array, predicted: Array, contacts: Array, ground: float | None
) -> tuple[Array, Array]:
    """Pose the legs so that feet stand still while they are in contact.

    hips: (T, 3). rotations: (T, J, 4) world. predicted: (T, J, 3) joint places that the feet should meet.
    contacts: (T, 4), 0 or 1, of CONTACT_JOINTS. ground: height of a flat floor in metres; None leaves each
    stance at its own height. Returns joint places (T, J, 3) and world rotations (T, J, 4).
    """
    rotations = rotations.copy()
    ankles: dict[str, Array] = {}
    for side in LEGS:
        foot, toe = MODEL_SKELETON.indices([side + "Foot", side + "Toe"])
        heel_on, toe_on = (contacts[:, CONTACT_JOINTS.index(side + part)] > 0.5 for part in ("Foot", "Toe"))
        # The toe's place leads: it is the last to leave and carries the foot's roll.
        bone = toe_of(np.zeros_like(hips), rotations[:, foot], side)
        rotations[:, foot] = _steady(rotations[:, foot], bone, heel_on & toe_on)
        ankle = predicted[:, toe] - toe_of(np.zeros_like(hips), rotations[:, foot], side)
        moved = ankle + _offset(ankle, predicted[:, toe], heel_on, toe_on, ground)
        if ground is not None:
            moved[:, 2] = np.maximum(moved[:, 2], _lowest_ankle(moved, rotations[:, foot], side, ground))
        ankles[side] = moved
    hips = hips.copy()
    hips[:, 2] -= _hips_drop(hips, rotations, ankles, contacts)
    rotations = reach_ankles(hips, rotations, ankles)
    return joint_places(hips, rotations), rotations


def _steady(rotation: Array, bone: Array, flat: Array) -> Array:
    """Foot rotations (T, 4) that do not change the foot's direction `bone` (T, 3) while heel and toe are down."""
    turn = np.zeros_like(bone)
    stances = runs(flat)
    for start, stop in stances:
        mean = np.broadcast_to(bone[start:stop].mean(0), (stop - start, 3))
        turn[start:stop] = to_exponential_map(between(bone[start:stop], mean))
    _glide(turn, stances, _FOOT_GLIDE)
    return multiply(from_exponential_map(turn), rotation)


def _lowest_ankle(ankle: Array, foot_rotation: Array, side: str, ground: float) -> Array:
    """Height (T,) below which heel or toe would be under the floor."""
    toe = toe_of(ankle, foot_rotation, side)
    below = ground + TOE_HEIGHT - 0.005 - toe[:, 2]
    return np.maximum(ankle[:, 2] + below, ground + ANKLE_HEIGHT - 0.015)


def _offset(heel: Array, toe: Array, heel_on: Array, toe_on: Array, ground: float | None) -> Array:
    """Offset (T, 3) that keeps the supporting point of one foot still and, where it is known, on the ground."""
    count = len(heel)
    offset = np.zeros((count, 3))
    stances = runs(heel_on | toe_on)
    for start, stop in stances:
        frames = slice(start, stop)
        # Follow the drift of whichever point carries the foot; it is continuous when the point changes.
        drift = np.zeros((stop - start, 3))
        for t in range(start + 1, stop):
            point = toe if toe_on[t] else heel
            drift[t - start] = drift[t - start - 1] + point[t] - point[t - 1]
        drift[:, 2] = 0
        offset[frames] = drift.mean(0) - drift
        if toe_on[frames].any():
            height = float(toe[frames, 2][toe_on[frames]].mean()) if ground is None else ground + TOE_HEIGHT
            lift = np.where(toe_on[frames], height - toe[frames, 2], np.nan)
            known = np.flatnonzero(~np.isnan(lift))
            offset[frames, 2] = np.interp(np.arange(stop - start), known, lift[known])
    _glide(offset, stances)
    return offset


def _glide(offset: Array, stances: list[tuple[int, int]], longest: int = _LONGEST_GLIDE) -> None:
    """Fill `offset` (T, 3) between stances: smoothly from the end of one to the start of the next.

    Where they lie more than two times `longest` frames apart, and before the first and after the last, by way
    of nothing.
    """
    count = len(offset)
    gaps = zip([0, *(stop for _, stop in stances)], [*(start for start, _ in stances), count], strict=True)
    for a, b in gaps:
        n = b - a
        if n <= 0:
            continue
        before = offset[a - 1] if a > 0 else np.zeros(3)
        after = offset[b] if b < count else np.zeros(3)
        if n > 2 * longest or a == 0 or b == count:
            fade_out = _ease(np.clip(1 - (np.arange(n) + 1) / longest, 0, 1))[:, None]
            fade_in = _ease(np.clip(1 - (n - np.arange(n)) / longest, 0, 1))[:, None]
            offset[a:b] = fade_out * before + fade_in * after
        else:
            e = _ease((np.arange(n) + 1) / (n + 1))[:, None]
            offset[a:b] = (1 - e) * before + e * after


def _ease(t: Array) -> Array:
    """Smooth step from 0 to 1 without speed at both ends."""
    out: Array = t * t * (3 - 2 * t)
    return out


def _hips_drop(hips: Array, rotations: Array, ankles: dict[str, Array], contacts: Array) -> Array:
    """How far (T,) the hips must sink, smoothly, so that planted feet stay within reach of the legs."""
    need = np.zeros(len(hips))
    for side in LEGS:
        joints = MODEL_SKELETON.indices([side + "Leg", side + "Foot"])
        length = float(np.linalg.norm(MODEL_SKELETON.offsets[joints], axis=1).sum()) * (REACH - 0.002)
        v = ankles[side] - hip_joint(hips, rotations, side)
        flat = np.minimum(np.sqrt(v[:, 0] ** 2 + v[:, 1] ** 2), length * 0.95)
        lack = -v[:, 2] - np.sqrt(length * length - flat * flat)
        columns = [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]
        need = np.maximum(need, np.where(contacts[:, columns].max(1) > 0.5, lack, 0))
    need = np.clip(need, 0, 0.12)
    radius = int(0.06 * FPS)
    padded = np.pad(need, radius, mode="edge")
    widest = np.stack([padded[i : i + len(need)] for i in range(2 * radius + 1)]).max(0)
    return gaussian(widest, radius / 2)
