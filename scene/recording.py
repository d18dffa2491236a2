# SPDX-License-Identifier: GPL-3.0-or-later
"""An armature's animation read back as a motion of the model skeleton: the opposite of a bake.

Keys are read in bulk. Where only Blender knows how they move the bones (NLA, drivers, scaled bones, a moving
object), each frame is evaluated instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..nsm_blender.control.shot import Shot
from ..nsm_blender.errors import ShotError
from ..nsm_blender.motion.contacts import foot_contacts
from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.root import root_track
from ..nsm_blender.motion.rotations import (
    Array,
    from_axis_angle,
    from_euler,
    from_matrix,
    make_continuous,
    normalize,
    to_matrix,
)
from ..nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from . import actions, armatures, curves
from .gather import Gathered, frame_range
from .properties import of_scene

_FLAT = 0.05
"""Metres: feet that stand this near to z = 0 stand on it."""
_OBJECT_CHANNELS = ("location", "rotation", "scale", "delta_")


@dataclass(frozen=True, eq=False)
class Recording:
    """An armature's animation. gathered: how it is written back. motion: what it is, at the scene's frame rate and
    the model's size.
    """

    gathered: Gathered
    motion: Motion


def record(context: bpy.types.Context, obj: bpy.types.Object | None) -> Recording:
    """Read the animation of a character that can be baked. Raises RigError and ShotError."""
    rig = armatures.read(context, obj)
    assert obj is not None
    actions.check_assignable(obj)
    frames = frames_of(context, obj)
    motion = read(context, obj, rig, frames)
    shot = Shot(name=obj.name, fps=motion.fps, frames=len(frames))
    return Recording(Gathered(shot, rig, None, frames), motion)


def read(context: bpy.types.Context, obj: bpy.types.Object, rig: armatures.Rig, frames: Array) -> Motion:
    """The motion of `obj`, whose description is `rig`, at the scene frames (F,), at the model's size.

    Contacts are detected. The scene is left as it is.
    """
    if _needs_playing(obj):
        hips, rotations = _played(context, obj, rig, frames)
    else:
        hips, rotations = _from_curves(context, obj, rig, frames)
    hips = hips * (curves.metres_per_unit(context.scene) / rig.scale)
    rotations = make_continuous(rotations)
    positions = MODEL_SKELETON.positions(hips, rotations)
    render = context.scene.render
    fps = render.fps / render.fps_base
    floor = floor_of(positions)
    root = root_track(positions, fps)
    root[:, 2] = floor
    count = len(frames)
    return Motion(
        names=MODEL_SKELETON.names,
        parents=MODEL_SKELETON.parents,
        positions=positions.astype(np.float32),
        rotations=rotations.astype(np.float32),
        root=root.astype(np.float32),
        contacts=foot_contacts(positions - [0.0, 0.0, floor], fps),
        contact_names=CONTACT_JOINTS,
        phase=np.zeros(count, dtype=np.float32),
        actions=np.zeros((count, 0), dtype=np.float32),
        action_names=(),
        fps=fps,
        meta={"name": obj.name},
    )


def shown(context: bpy.types.Context, obj: bpy.types.Object, rig: armatures.Rig) -> Array:
    """Joint places (J, 3) in the world of the pose that `obj` shows now, keyed or not, at the model's size."""
    hips, rotations = _evaluated(context, obj, rig)
    return MODEL_SKELETON.positions(hips * (curves.metres_per_unit(context.scene) / rig.scale), rotations)


def frames_of(context: bpy.types.Context, obj: bpy.types.Object) -> Array:
    """The frames (F,) of the character's animation: the custom range, else those of its action, else the scene's."""
    if of_scene(context).use_custom_range:
        return frame_range(context)
    animation = obj.animation_data
    if animation is None or (animation.action is None and not animation.nla_tracks):
        raise ShotError(f"'{obj.name}' has no action; bake or assign one first.")
    if animation.action is None:
        return frame_range(context)
    first, last = (round(frame) for frame in animation.action.frame_range)
    if last <= first:
        raise ShotError(f"The action '{animation.action.name}' of '{obj.name}' has fewer than 2 frames.")
    return np.arange(first, last + 1)


def floor_of(positions: Array) -> float:
    """Height of the flat floor in metres under joint places (T, J, 3)."""
    toes = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
    lowest = float(np.percentile(positions[:, toes, 2].min(axis=1), 10)) - TOE_HEIGHT
    return 0.0 if abs(lowest) < _FLAT else lowest


def _needs_playing(obj: bpy.types.Object) -> bool:
    """Whether the keys of the assigned action do not tell by themselves how the bones move."""
    animation = obj.animation_data
    if animation is None:
        return False
    if animation.nla_tracks or animation.action_influence < 1 or animation.action_blend_type != "REPLACE":
        return True
    if animation.drivers:
        return True
    paths = [curve.data_path for curve in actions.of(obj) if not curve.mute]
    if any(path.startswith(_OBJECT_CHANNELS) for path in paths):
        return True
    return any(path.endswith(".scale") and path.startswith("pose.") for path in paths) and _scaled(obj)


def _scaled(obj: bpy.types.Object) -> bool:
    """Whether a key scales a bone."""
    for curve in actions.of(obj):
        if curve.data_path.endswith(".scale") and any(abs(key.co.y - 1) > 1e-5 for key in curve.keyframe_points):
            return True
    return False


def _from_curves(
    context: bpy.types.Context, obj: bpy.types.Object, rig: armatures.Rig, frames: Array
) -> tuple[Array, Array]:
    """World place of Hips (F, 3) in Blender units and world rotations (F, J, 4)."""
    values = _Values(obj, frames)
    poses: list[Array] = []
    places: list[Array] = []
    rotations: list[Array] = [np.empty(0)] * len(MODEL_SKELETON)
    world = armatures.world_matrices(context, obj, frames)
    own = world[:, :3, :3] / np.linalg.norm(world[:, :3, 0], axis=1)[:, None, None]
    for bone in rig.bones:
        given, place, axes = armatures.from_parent(rig, bone, poses, places)
        turned = given @ to_matrix(values.rotation(bone.name))
        if not obj.data.bones[bone.name].use_connect:
            place = place + np.einsum("...ij,...j->...i", axes, values.vector(bone.name, "location"))
        poses.append(turned)
        places.append(place)
        if bone.joint >= 0:
            rotations[bone.joint] = from_matrix(own @ turned @ (rig.align @ bone.rest[:3, :3]).T)
    hips = np.broadcast_to(places[rig.joints[0]], (len(frames), 3))
    hips = np.einsum("tij,tj->ti", np.broadcast_to(world[:, :3, :3], (len(frames), 3, 3)), hips) + world[:, :3, 3]
    return hips, np.stack([np.broadcast_to(q, (len(frames), 4)) for q in rotations], axis=1)


def _played(
    context: bpy.types.Context, obj: bpy.types.Object, rig: armatures.Rig, frames: Array
) -> tuple[Array, Array]:
    """The same by evaluating every frame."""
    scene, frame, subframe = context.scene, context.scene.frame_current, context.scene.frame_subframe
    out = []
    try:
        for at in frames.tolist():
            scene.frame_set(at)
            out.append(_evaluated(context, obj, rig))
    finally:
        scene.frame_set(frame, subframe=subframe)
    return np.stack([hips for hips, _ in out]), np.stack([rotations for _, rotations in out])


def _evaluated(context: bpy.types.Context, obj: bpy.types.Object, rig: armatures.Rig) -> tuple[Array, Array]:
    """World place of Hips (3,) in Blender units and world rotations (J, 4), as Blender shows them now."""
    evaluated = obj.evaluated_get(context.evaluated_depsgraph_get())
    world = np.array(evaluated.matrix_world, dtype=np.float64)
    bones = [rig.bones[index] for index in rig.joints]
    posed = np.array([evaluated.pose.bones[bone.name].matrix for bone in bones], dtype=np.float64)
    turned = world[:3, :3] @ posed[:, :3, :3]
    turned /= np.linalg.norm(turned, axis=-2, keepdims=True)
    rests = np.stack([rig.align @ bone.rest[:3, :3] for bone in bones])
    return world[:3, :3] @ posed[0, :3, 3] + world[:3, 3], from_matrix(turned @ rests.transpose(0, 2, 1))


class _Values:
    """The channels of bones at frames (F,): from the assigned action, else as the bone is posed."""

    def __init__(self, obj: bpy.types.Object, frames: Array) -> None:
        self._obj, self._frames = obj, frames
        found = [curve for curve in actions.of(obj) if not curve.mute and not (curve.group and curve.group.mute)]
        self._curves = {(curve.data_path, curve.array_index): curve for curve in found}

    def vector(self, bone: str, attribute: str) -> Array:
        """A property of a bone, (F, components), or (1, components) when it is not animated."""
        static = np.array(getattr(self._obj.pose.bones[bone], attribute), dtype=np.float64)
        path = f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{attribute}'
        curves_of = [self._curves.get((path, i)) for i in range(len(static))]
        if not any(curves_of):
            return static[None]
        columns = [
            np.full(len(self._frames), value) if curve is None else _sampled(curve, self._frames)
            for curve, value in zip(curves_of, static.tolist(), strict=True)
        ]
        return np.stack(columns, axis=1)

    def rotation(self, bone: str) -> Array:
        """The bone's own rotation (F or 1, 4) as unit quaternions."""
        mode = self._obj.pose.bones[bone].rotation_mode
        if mode == "QUATERNION":
            return normalize(self.vector(bone, "rotation_quaternion"))
        if mode == "AXIS_ANGLE":
            values = self.vector(bone, "rotation_axis_angle")
            return from_axis_angle(normalize(values[:, 1:]), values[:, 0])
        # Blender's "XYZ" turns about x first; the engine lists the axis that turns last first.
        angles = self.vector(bone, "rotation_euler")[:, ["XYZ".index(letter) for letter in mode[::-1]]]
        return from_euler(angles, mode[::-1])


def _sampled(curve: bpy.types.FCurve, frames: Array) -> Array:
    """Values (F,) of a curve; read as they lie where each frame has a key, as in a bake."""
    keys = curve.keyframe_points
    if len(keys) >= len(frames) and not curve.modifiers:
        points = np.empty(2 * len(keys), dtype=np.float32)
        keys.foreach_get("co", points)
        points = points.reshape(-1, 2)
        first = int(np.searchsorted(points[:, 0], frames[0]))
        part = points[first : first + len(frames)]
        if len(part) == len(frames) and np.array_equal(part[:, 0], frames):
            return part[:, 1].astype(np.float64)
    return np.array([curve.evaluate(frame) for frame in frames.tolist()], dtype=np.float64)
