# SPDX-License-Identifier: GPL-3.0-or-later
"""The other characters of a scene, as their bakes move them: colliders to walk round."""

from __future__ import annotations

import bpy
import numpy as np

from ..nsm_blender.errors import RigError, ShotError
from ..nsm_blender.geometry.body import as_colliders
from ..nsm_blender.geometry.colliders import Collider
from ..nsm_blender.geometry.scaling import scaled
from ..nsm_blender.motion.rotations import Array
from . import armatures, lookup, recording

_NEAR = 6.0
"""Meters around the places where a character is going to be; a body that never comes as near is not in its way."""
_EVERY = 12
"""Frames between two looks at where another character is."""


def gather(context: bpy.types.Context, armature: bpy.types.Object, frames: Array, places: Array) -> list[Collider]:
    """The bodies of the other baked characters at scene frames (F,), in world meters. The scene is left as it is.

    places: (N, 3) world meters of where the character is going to be: its start, goals and routes. A character that is
    not baked yet, is hidden, cannot be read any more, or stays far from the box around these places is no obstacle.
    """
    out = []
    some = np.unique(np.append(frames[::_EVERY], frames[-1]))
    for other in lookup.armatures(context.scene):
        if other == armature or lookup.baked(other) is None or not other.visible_get(view_layer=context.view_layer):
            continue
        try:
            rig = armatures.read(context, other)
        except (RigError, ShotError):
            continue
        if not _comes_near(recording.track(context, other, rig, some), places):
            continue
        motion = recording.read(context, other, rig, frames)
        out += [scaled(part, rig.scale) for part in as_colliders(other.name_full, motion.positions)]
    return out


def _comes_near(track: Array, places: Array) -> bool:
    """Whether a track (M, 3) comes near the box around places (N, 3), seen from above."""
    low, high = places[:, :2].min(axis=0) - _NEAR, places[:, :2].max(axis=0) + _NEAR
    return bool(((track[:, :2] >= low) & (track[:, :2] <= high)).all(axis=1).any())
