# SPDX-License-Identifier: GPL-3.0-or-later
"""Mirroring in the plane x = 0 or in a character's sagittal plane, which exchanges left and right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .clip import Clip
from .motion import Motion
from .rotations import Array, from_yaw, make_continuous, multiply, rotate
from .skeleton import mirror_indices

_VECTOR = np.array([-1.0, 1.0, 1.0])
"""Factors of a mirrored vector's components."""
# A rotation mirrored in x = 0 keeps its x component and angle; the axis' y and z change sign.
_QUATERNION = np.array([1.0, 1.0, -1.0, -1.0])
"""Factors of a mirrored quaternion's components."""


def mirror_vectors(v: Array) -> Array:
    """Mirror world or root-local vectors [..., 3]."""
    return v * _VECTOR.astype(v.dtype)


def mirror_rotations(q: Array) -> Array:
    """Mirror rotations [..., 4]; the rest pose is symmetric, so only the joints' order remains to be exchanged."""
    return q * _QUATERNION.astype(q.dtype)


def mirror_clip(clip: Clip) -> Clip:
    """Mirror a clip: left limbs take the motion of right limbs."""
    order = mirror_indices(clip.skeleton.names)
    meta = {**clip.meta, "name": clip.name + "_mirrored", "mirrored": not clip.meta.get("mirrored", False)}
    return replace(
        clip, root=mirror_vectors(clip.root), rotations=mirror_rotations(clip.rotations[:, order]), meta=meta
    )


def mirrored(motion: Motion) -> Motion:
    """Mirror a motion of the model skeleton in the vertical plane through its first root along the first facing.

    Left and right limbs, contacts and the phase exchange, and a way that leads to the left leads to the right. Where
    the character begins, and how it faces there, stays. Mirrored twice, it is the same motion again. What the motion
    did to things is left out: these stand where they stand.
    """
    order = mirror_indices(motion.names)
    start, angle = motion.root[0, :3].astype(np.float64), float(motion.root[0, 3])
    there, back = from_yaw(np.asarray(angle)), from_yaw(np.asarray(-angle))

    def places(v: Array) -> Array:
        own = rotate(np.broadcast_to(back, (*v.shape[:-1], 4)), v.astype(np.float64) - start)
        return rotate(np.broadcast_to(there, (*v.shape[:-1], 4)), mirror_vectors(own)) + start

    rotations = motion.rotations[:, order].astype(np.float64)
    rotations = mirror_rotations(multiply(np.broadcast_to(back, rotations.shape), rotations))
    rotations = multiply(np.broadcast_to(there, rotations.shape), rotations)
    root = np.column_stack((places(motion.root[:, :3]), 2 * angle - motion.root[:, 3].astype(np.float64)))
    return replace(
        motion,
        positions=places(motion.positions[:, order]).astype(np.float32),
        rotations=make_continuous(rotations).astype(np.float32),
        root=root.astype(np.float32),
        contacts=motion.contacts[:, mirror_indices(motion.contact_names)],
        phase=((motion.phase + np.pi) % (2 * np.pi)).astype(np.float32),
        meta={key: value for key, value in motion.meta.items() if key not in ("things", "holds")},
    )
