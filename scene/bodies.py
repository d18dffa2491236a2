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
from . import actions, armatures, curves, lookup, recording

_NEAR = 6.0
"""Meters around the places where a character is going to be; a body that never comes as near is not in its way."""
_POSE = 'pose.bones["'
"""What the paths of bones' properties begin with."""
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
        there = _led(context, other, some)
        if there is not None and not _comes_near(there, places):
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


def _led(context: bpy.types.Context, obj: bpy.types.Object, frames: Array) -> Array | None:
    """Places (M, 3) in world meters to which the keys of its topmost moving bones lead a baked character at scene
    frames (F,), without a look at its other bones; None where more than these keys decides.

    Of many characters most are far away, and a description of each would take ten times as long.
    """
    animation = obj.animation_data
    mixed = animation.nla_tracks or animation.action_influence < 1 or animation.action_blend_type != "REPLACE"
    if mixed or animation.drivers or obj.parent is not None or obj.constraints:
        return None
    keyed: dict[str, dict[int, bpy.types.FCurve]] = {}
    for curve in actions.of(obj):
        path = curve.data_path
        if not path.startswith(_POSE) or curve.mute or (curve.group and curve.group.mute):
            return None
        bone, _, attribute = path[len(_POSE) :].rpartition('"].')
        moving = keyed.setdefault(bpy.utils.unescape_identifier(bone), {})
        if attribute == "location":
            moving[curve.array_index] = curve
    out = []
    for name, moving in keyed.items():
        bone = obj.pose.bones.get(name)
        if bone is None or any(above.constraints for above in (bone, *bone.parent_recursive)):
            return None
        if any(above.name in keyed for above in bone.parent_recursive):
            continue
        if not moving or not bone.bone.use_local_location:
            return None
        values = [
            [curve.evaluate(frame) for frame in frames.tolist()] if curve else [bone.location[axis]] * len(frames)
            for axis, curve in ((axis, moving.get(axis)) for axis in range(3))
        ]
        above = np.array(bone.bone.matrix_local)
        if bone.parent is not None:
            above = np.array(bone.parent.matrix @ bone.parent.bone.matrix_local.inverted()) @ above
        whole = np.array(obj.matrix_world) @ above
        out.append(np.array(values).T @ whole[:3, :3].T + whole[:3, 3])
    return np.concatenate(out) * curves.meters_per_unit(context.scene) if out else None


def _comes_near(track: Array, places: Array) -> bool:
    """Whether a track (M, 3) comes near the box around places (N, 3), seen from above."""
    low, high = places[:, :2].min(axis=0) - _NEAR, places[:, :2].max(axis=0) + _NEAR
    return bool(((track[:, :2] >= low) & (track[:, :2] <= high)).all(axis=1).any())
