# SPDX-License-Identifier: GPL-3.0-or-later
"""Mirroring in the plane x = 0, which exchanges left and right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .clip import Clip
from .rotations import Array
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
