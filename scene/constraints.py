# SPDX-License-Identifier: GPL-3.0-or-later
"""A character's list of constraints and contacts as the engine's, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import bpy
import numpy as np

from ..nsm_blender.errors import EditError
from ..nsm_blender.manifold import constraints as engine
from ..nsm_blender.manifold.frames import around_root
from ..nsm_blender.motion.filters import runs
from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.root import root_track
from ..nsm_blender.motion.rotations import Array
from ..nsm_blender.motion.skeleton import MODEL_SKELETON
from . import armatures, curves, recording
from .manifold import CONSTRAINT_ITEMS, NSM_PG_constraint, NSM_PG_edit

POSE = "nsm_pose"
"""Custom property of a pose key: the joints' places around the root, row by row, in meters of the model."""

LABELS = {item[0]: item[1] for item in CONSTRAINT_ITEMS}
"""Names of the kinds of constraints."""
_PINNED = 0.25
"""Seconds before and after the current frame that a new pin holds: long enough to touch a thing, short enough that the
body is free before and after."""


def gather(context: bpy.types.Context, edit: NSM_PG_edit, rig: armatures.Rig, frames: Array) -> list[engine.Constraint]:
    """The enabled constraints for a motion at the scene frames (F,). The scene is left as it is. Raises EditError."""
    wanted = [item for item in edit.constraints if item.enabled and item.weight > 0]
    targets = [item.target for item in wanted if item.kind in ("PIN", "LOOK") and item.target is not None]
    tracks = places_of(context, targets, frames)
    size = curves.meters_per_unit(context.scene) / rig.scale
    return [_constraint(item, frames, tracks, size) for item in wanted]


def places_of(context: bpy.types.Context, targets: Iterable[bpy.types.Object], frames: Array) -> dict[str, Array]:
    """World places of objects' origins in Blender units: name -> (F, 3), or (1, 3) where nothing moves them."""
    scene, frame, subframe = context.scene, context.scene.frame_current, context.scene.frame_subframe
    every = {target.name_full: target for target in targets}
    moving = [target for target in every.values() if _moves(target)]
    graph = context.evaluated_depsgraph_get()
    out = {name: np.array([target.evaluated_get(graph).matrix_world.translation]) for name, target in every.items()}
    out |= {target.name_full: np.empty((len(frames), 3)) for target in moving}
    if not moving:
        return out
    try:
        for i, at in enumerate(frames.tolist()):
            scene.frame_set(at)
            graph = context.evaluated_depsgraph_get()
            for target in moving:
                out[target.name_full][i] = target.evaluated_get(graph).matrix_world.translation
    finally:
        scene.frame_set(frame, subframe=subframe)
    return out


def with_contacts(motion: Motion, edit: NSM_PG_edit, frames: Array) -> Motion:
    """The motion with the contacts of the list, where there is one."""
    if not edit.contacts:
        return motion
    labels = np.zeros_like(motion.contacts)
    for contact in edit.contacts:
        inside = (frames >= contact.frame_start) & (frames <= contact.frame_end)
        labels[inside, motion.contact_names.index(contact.joint)] = 1
    return replace(motion, contacts=labels)


def store_contacts(motion: Motion, edit: NSM_PG_edit, frames: Array) -> None:
    """Put the motion's contacts into the list, in the order in which they begin."""
    found = [
        (int(frames[start]), int(frames[stop - 1]), name)
        for column, name in enumerate(motion.contact_names)
        for start, stop in runs(motion.contacts[:, column] > 0.5)
    ]
    edit.contacts.clear()
    for start, end, name in sorted(found):
        contact = edit.contacts.add()
        contact.joint, contact.frame_start, contact.frame_end = name, start, end
    edit.contact_index = 0


def capture_pose(
    context: bpy.types.Context, obj: bpy.types.Object, rig: armatures.Rig, item: NSM_PG_constraint
) -> None:
    """Keep the pose that `obj` shows now in a pose key."""
    positions = recording.shown(context, obj, rig)[None]
    item[POSE] = around_root(positions, root_track(positions, 1.0)).ravel().tolist()


def pin_as_shown(
    context: bpy.types.Context, obj: bpy.types.Object, rig: armatures.Rig, item: NSM_PG_constraint
) -> None:
    """Let a pin hold its joint, that of the active bone where this is one, where it is now, about the current frame."""
    pose = armatures.shown(context, obj, rig)
    active = obj.data.bones.active if obj.mode == "POSE" else None
    joint = armatures.joint_of(obj, active.name) if active is not None else None
    if joint is not None:
        item.joint = joint
    place = pose.positions[MODEL_SKELETON.index(item.joint)]
    item.place = (place * rig.scale / curves.meters_per_unit(context.scene)).tolist()
    scene = context.scene
    around = round(_PINNED * scene.render.fps / scene.render.fps_base)
    item.frame_start, item.frame_end = scene.frame_current - around, scene.frame_current + around


def label(item: NSM_PG_constraint) -> str:
    """What a constraint is called in the list and in messages."""
    return str(item.name or LABELS[item.kind])


def _constraint(item: NSM_PG_constraint, frames: Array, tracks: dict[str, Array], size: float) -> engine.Constraint:
    start, stop = _range(item, frames)
    common = {"start": start, "stop": stop, "weight": item.weight}
    if item.kind in ("PIN", "LOOK"):
        track = tracks[item.target.name_full] if item.target else np.array([item.place])
        places = (track[start:stop] if len(track) > 1 else track) * size
        if item.kind == "LOOK":
            return engine.LookAt(**common, target=places.tolist())
        return engine.PinJoint(**common, joint=item.joint, places=places.tolist())
    if item.kind == "FLOOR":
        return engine.FloorHeight(**common, height=item.height * size)
    if item.kind == "POSE":
        if item.get(POSE) is None:
            raise EditError(f"The constraint '{label(item)}' has no pose; pose the character and press Capture Pose.")
        return engine.PoseKey(**common, places=np.array(item[POSE]).reshape(-1, 3).tolist())
    return (engine.FootSkate if item.kind == "FEET" else engine.KeepTrajectory)(**common)


def _range(item: NSM_PG_constraint, frames: Array) -> tuple[int, int]:
    """First and one past the last index in `frames`."""
    first, last = int(frames[0]), int(frames[-1])
    if not item.use_range:
        if item.kind == "POSE":
            raise EditError(f"The constraint '{label(item)}' matches one pose; give it a frame range.")
        return 0, len(frames)
    start, end = max(item.frame_start, first), min(item.frame_end, last)
    if end < start:
        raise EditError(
            f"The constraint '{label(item)}' runs from frame {item.frame_start} to {item.frame_end}, but the motion "
            f"from {first} to {last}; correct its range."
        )
    return start - first, end - first + 1


def _moves(obj: bpy.types.Object) -> bool:
    """Whether an object's place may differ from frame to frame."""
    while obj is not None:
        if obj.constraints or obj.animation_data or obj.rigid_body:
            return True
        if obj.parent_type == "BONE" or (obj.parent is not None and obj.parent.type in ("ARMATURE", "CURVE")):
            return True
        obj = obj.parent
    return False
