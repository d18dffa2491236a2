# SPDX-License-Identifier: GPL-3.0-or-later
"""The binding of a character's bones to the model's joints, as it is stored on the armature object.

Blender reads the annotations of a PropertyGroup as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from collections.abc import Collection
from typing import Any

import bpy
import numpy as np
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..nsm_blender.motion.skeleton import MODEL_SKELETON
from ..nsm_blender.rigging.joints import BoneInfo, RigInfo
from ..nsm_blender.rigging.mapping import JOINTS, Mapping, Match
from ..nsm_blender.rigging.mapping import without as _without
from . import controls
from .curves import meters_per_unit

ROOT_ITEMS = (
    ("HIPS", "Hips", "The hips carry the whole motion; the object stays where it is", 0),
    ("ROOT", "Root Bone", "A bone above the hips moves over the ground, the hips move relative to it", 1),
    ("OBJECT", "Object", "The armature object moves over the ground, the hips move relative to it", 2),
)
"""What moves over the ground. The numbers are stored in files: never change them."""

START_POSE_ITEMS = (
    ("REST", "Object", "Begin where the object is, as its rest pose faces", 0),
    ("POSE", "Pose", "Begin where the pose that is shown stands, and as it faces", 1),
)
"""Where a bake of action keys begins. The numbers are stored in files: never change them."""

END_POSE_ITEMS = (
    ("NONE", "None", "End as the motion ends", 0),
    ("POSE", "Pose", "End in the pose that is shown when the bake begins", 1),
    ("ACTION", "Action", "End in the pose of an action's first frame, such as a pose asset", 2),
)
"""What a bake ends in. The numbers are stored in files: never change them."""

FINGER_ITEMS = (
    ("KEEP", "Keep", "Leave the fingers alone: they get no keys", 0),
    ("RELAXED", "Relaxed", "Fingers bent as those of a hanging hand", 1),
    ("FLAT", "Flat", "Straight fingers", 2),
    ("GRIP", "Gripping", "Fingers closed about a handle", 3),
)
"""What becomes of a rig's fingers. The numbers are stored in files: never change them."""

BY_HAND = "Chosen by hand."

SURE = 0.8
"""A proposal of less confidence wants a look."""

_FIXED: set[str] = set()
"""Options of a property that cannot be keyed: a bake reads it once."""


def _chosen(match: Any, _context: bpy.types.Context) -> None:
    """A bone that the user chose is sure."""
    match.confidence, match.why = 1.0, BY_HAND if match.bone else ""


class NSM_PG_match(bpy.types.PropertyGroup):
    """Which bone is one joint of the model. The joint is the row's name."""

    bone: StringProperty(
        name="Bone", description="The bone that moves as this joint; none leaves it out", update=_chosen, options=_FIXED
    )
    confidence: FloatProperty(
        name="Confidence", description="How sure the proposal is", min=0.0, max=1.0, subtype="FACTOR", options=_FIXED
    )
    why: StringProperty(name="Why", description="What the proposal rests on", options=_FIXED)


class NSM_PG_binding(bpy.types.PropertyGroup):
    """How a character's own rig takes the model's motion."""

    matches: CollectionProperty(type=NSM_PG_match, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"})
    index: IntProperty(name="Active Joint", description="The joint that is chosen in the list", options=_FIXED)
    root_motion: EnumProperty(
        name="Root Motion", description="What moves over the ground", items=ROOT_ITEMS, default="HIPS", options=_FIXED
    )
    root_bone: StringProperty(
        name="Root Bone",
        description="The bone that moves over the ground; none takes the topmost above the hips",
        options=_FIXED,
    )
    ik_legs: BoolProperty(
        name="IK Legs",
        description="Move the legs by their controls for inverse kinematics (Rigify); the others get the same pose",
        options=_FIXED,
    )
    ik_arms: BoolProperty(
        name="IK Arms",
        description="Move the arms by their controls for inverse kinematics (Rigify), which turn the arm bones as the "
        "elbow bends; the others get the same pose",
        options=_FIXED,
    )
    fingers: EnumProperty(
        name="Fingers",
        description="How the fingers are posed, of a rig that has some; unless they are kept, a hand grips while it "
        "holds something",
        items=FINGER_ITEMS,
        default="KEEP",
        options=_FIXED,
    )
    start_pose: EnumProperty(
        name="Start Pose",
        description="Where a bake of action keys begins",
        items=START_POSE_ITEMS,
        default="REST",
        options=_FIXED,
    )
    blend_in: IntProperty(
        name="Blend In",
        description="Frames in which the motion leaves the pose that is shown when the bake begins; 0 starts at once",
        default=0,
        min=0,
        soft_max=60,
        options=_FIXED,
    )
    end_pose: EnumProperty(
        name="End Pose",
        description="Pose that the motion ends in",
        items=END_POSE_ITEMS,
        default="NONE",
        options=_FIXED,
    )
    end_pose_action: PointerProperty(
        name="End Pose Action", description="Action whose first frame is the pose to end in", type=bpy.types.Action
    )
    blend_out: IntProperty(
        name="Blend Out",
        description="Frames in which the motion goes over into the pose that it ends in",
        default=12,
        min=1,
        soft_max=60,
        options=_FIXED,
    )


CLASSES: tuple[type, ...] = (NSM_PG_match, NSM_PG_binding)


def of(obj: bpy.types.Object) -> NSM_PG_binding:
    """The binding of an armature."""
    return obj.nsm.binding


def is_bound(obj: bpy.types.Object) -> bool:
    """Whether bones were bound to joints."""
    return len(of(obj).matches) > 0


def is_ready(obj: bpy.types.Object) -> bool:
    """Whether the bones are known: by a binding, or as those of the bundled character by their names."""
    bones = obj.data.bones
    return is_bound(obj) or all(name in bones for name in MODEL_SKELETON.names)


def mapping(obj: bpy.types.Object) -> Mapping:
    """The stored mapping."""
    rows = [row for row in of(obj).matches if row.bone]
    return Mapping({row.name: Match(row.bone, row.confidence, row.why) for row in rows})


def without(joint: str) -> str:
    """What it costs that a joint has no bone, a sentence."""
    return _without(joint)


def by_hand(obj: bpy.types.Object) -> dict[str, str | None]:
    """Joint -> bone that the user chose in the list, None for a row that the user emptied."""
    rows = [row for row in of(obj).matches if row.confidence == 1.0 and row.why == (BY_HAND if row.bone else "")]
    return {row.name: row.bone or None for row in rows}


def store(obj: bpy.types.Object, found: Mapping, emptied: Collection[str] = ()) -> None:
    """Keep a mapping on the armature, with a row for each joint, found or not. emptied: joints to stay without."""
    rows = of(obj).matches
    rows.clear()
    for joint in JOINTS:
        row, match = rows.add(), found.matches.get(joint)
        row.name = joint
        if match is not None:
            row.bone = match.bone
            row.confidence, row.why = match.confidence, match.why
        elif joint in emptied:
            row.bone = ""
    of(obj).index = 0


def forget(obj: bpy.types.Object) -> None:
    """Take the binding off the armature; the settings stay."""
    of(obj).matches.clear()


def rig_info(context: bpy.types.Context, obj: bpy.types.Object) -> RigInfo:
    """The armature as plain data."""
    world = np.array(obj.matrix_world, dtype=np.float64)
    world[:3] *= meters_per_unit(context.scene)
    parents = {bone.name: controls.parent_of(bone) for bone in obj.data.bones}
    bones = tuple(_info(obj.data.bones[name], parents[name]) for name in _parents_first(parents))
    return RigInfo(name=obj.name, bones=bones, world=world)


def _parents_first(parents: dict[str, str | None]) -> list[str]:
    """The names in an order in which each comes after its parent."""
    out: dict[str, None] = {}
    for name in parents:
        above: list[str] = []
        at: str | None = name
        while at is not None and at not in out:
            above.append(at)
            at = parents[at]
        out |= dict.fromkeys(reversed(above))
    return list(out)


def _info(bone: bpy.types.Bone, parent: str | None) -> BoneInfo:
    return BoneInfo(
        name=bone.name,
        parent=parent,
        head=np.array(bone.head_local, dtype=np.float64),
        tail=np.array(bone.tail_local, dtype=np.float64),
        x_axis=np.array(bone.matrix_local.col[0][:3], dtype=np.float64),
        connected=bone.use_connect,
        deform=bone.use_deform,
    )
