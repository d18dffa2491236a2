# SPDX-License-Identifier: GPL-3.0-or-later
"""The fingers of an armature, as its binding asks for them: which of their bones can be turned."""

from __future__ import annotations

import bpy

from ..nsm_blender.motion.skeleton import MODEL_SKELETON
from ..nsm_blender.rigging.fingers import find_fingers
from . import binding, carriers, locks
from .rig import Fingers

_HANDS = ("LeftHand", "RightHand")


def read(context: bpy.types.Context, obj: bpy.types.Object) -> Fingers | None:
    """How the fingers of a character are posed, None where they are left alone; without bones where there are none."""
    pose = binding.of(obj).fingers
    if pose == "KEEP":
        return None
    matches = binding.mapping(obj).matches
    hands = {hand: matches[hand].bone for hand in _HANDS if hand in matches}
    if not binding.is_bound(obj):
        hands = {hand: hand for hand in _HANDS if hand in MODEL_SKELETON.names}
    driven = carriers.driven(obj, "rotation")
    leave = [bone.name for bone in obj.pose.bones if bone.name in driven or _is_held(bone)]
    found = find_fingers(binding.rig_info(context, obj), hands, leave)
    return Fingers(found, pose, {bone.name: obj.pose.bones[bone.name].rotation_mode for bone in found})


def _is_held(bone: bpy.types.PoseBone) -> bool:
    """Whether locks or constraints decide how a bone is turned."""
    return locks.of(bone).any or any(not one.mute and one.influence > 0 for one in bone.constraints)
