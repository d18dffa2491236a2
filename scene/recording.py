# SPDX-License-Identifier: GPL-3.0-or-later
"""An armature's animation read back as a motion of the model skeleton: the opposite of a bake.

Keys are read in bulk. Where only Blender knows how they move the bones (NLA, drivers, scaled bones, a moving
object), each frame is evaluated instead.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import bpy
import numpy as np

from ..nsm_blender.errors import ShotError
from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.recorded import recording
from ..nsm_blender.motion.rotations import Array, from_axis_angle, normalize
from ..nsm_blender.shot.shot import Shot
from ..nsm_blender.stepwise import Stepwise, finished
from . import actions, armatures, curves, locks, lookup
from .gather import Gathered, frame_range
from .properties import of_scene
from .rig import Rig, Values

_OBJECT_CHANNELS = ("location", "rotation", "scale", "delta_")
_CHANNELS = ("location", "rotation_quaternion", "rotation_axis_angle", "rotation_euler")
"""Properties of a bone that tell its pose."""
_SLICE = 0.03
"""Seconds of reading at a time."""


@dataclass(frozen=True, eq=False)
class Recording:
    """An armature's animation. gathered: how it is written back. motion: what it is, at the scene's frame rate and
    the model's size.
    """

    gathered: Gathered
    motion: Motion


def record(context: bpy.types.Context, obj: bpy.types.Object | None) -> Recording:
    """Read the animation of a character that can be baked. Raises RigError and ShotError."""
    gathered = begin(context, obj)
    assert obj is not None
    return Recording(gathered, read(context, obj, gathered.rig, gathered.frames))


def begin(context: bpy.types.Context, obj: bpy.types.Object | None) -> Gathered:
    """How the animation of a character that can be baked is written back. Raises RigError and ShotError."""
    rig = armatures.read(context, obj)
    assert obj is not None
    actions.check_assignable(obj)
    frames = frames_of(context, obj)
    shot = Shot(name=obj.name, fps=_fps(context), frames=len(frames))
    return Gathered(shot, rig, None, frames)


def read(context: bpy.types.Context, obj: bpy.types.Object, rig: Rig, frames: Array) -> Motion:
    """The motion of `obj`, whose description is `rig`, at the scene frames (F,), at the model's size.

    Contacts are detected. The scene is left as it is.
    """
    return finished(reading(context, obj, rig, frames))


def reading(context: bpy.types.Context, obj: bpy.types.Object, rig: Rig, frames: Array) -> Stepwise[Motion]:
    """`read` in pieces, between which the scene is as it was."""
    fps, name = _fps(context), obj.name
    posed = yield from _posed(context, obj, rig, frames)
    yield
    hips, rotations = yield from rig.recovering(*posed, fps)
    yield
    return (yield from recording(hips, rotations, fps, name))


def track(context: bpy.types.Context, obj: bpy.types.Object, rig: Rig, frames: Array) -> Array:
    """Places (F, 3) in world meters of the bone that carries the body of `obj` at the scene frames (F,).

    The scene is left as it is.
    """
    return finished(_posed(context, obj, rig, frames))[0]


def shown(context: bpy.types.Context, obj: bpy.types.Object, rig: Rig) -> Array:
    """Joint places (J, 3) in the world of the pose that `obj` shows now, keyed or not, at the model's size."""
    return armatures.shown(context, obj, rig).positions


def frames_of(context: bpy.types.Context, obj: bpy.types.Object) -> Array:
    """The frames (F,) of the character's animation: the custom range, else those of its action, else the scene's."""
    if of_scene(context).use_custom_range:
        return frame_range(context)
    animation = obj.animation_data
    if animation is None or (animation.action is None and not animation.nla_tracks):
        raise ShotError(f"'{obj.name}' has no action; bake or assign one first.")
    if animation.action is None:
        return frame_range(context)
    return frames_of_action(obj)


def frames_of_action(obj: bpy.types.Object) -> Array:
    """The frames (F,) of the action that is assigned to `obj`."""
    action = obj.animation_data.action
    first, last = (round(frame) for frame in action.frame_range)
    if last <= first:
        raise ShotError(f"The action '{action.name}' of '{obj.name}' has fewer than 2 frames.")
    return np.arange(first, last + 1)


def _fps(context: bpy.types.Context) -> float:
    """The scene's frame rate."""
    render = context.scene.render
    return float(render.fps / render.fps_base)


def _posed(context: bpy.types.Context, obj: bpy.types.Object, rig: Rig, frames: Array) -> Stepwise[tuple[Array, Array]]:
    """What `rig.posed` says at every frame, (F, 3) and (F, B, 4), from the keys where these tell."""
    told, uid = None, obj.session_uid
    if not _needs_playing(obj, rig):
        world = armatures.world_matrices(context, obj, frames)
        samples = yield from _samples(uid, frames)
        obj = _found(uid)
        values, meters = _Channels(obj, frames, samples), curves.meters_per_unit(bpy.context.scene)
        told = yield from rig.posing_by_keys(obj, values, world, meters)
    if told is None:
        told = yield from _played(uid, rig, frames)
    return told


def _found(uid: int) -> bpy.types.Object:
    """The object with this number, which is looked up anew after each piece of work. Raises ShotError."""
    obj: bpy.types.Object | None = lookup.find(bpy.data.objects, uid)
    if obj is None:
        raise ShotError("The character was deleted while its animation was read.")
    return obj


def _needs_playing(obj: bpy.types.Object, rig: Rig) -> bool:
    """Whether the keys of the assigned action do not tell by themselves how the bones move."""
    animation = obj.animation_data
    if animation is None:
        return rig.needs_playing(obj, [])
    if animation.nla_tracks or animation.action_influence < 1 or animation.action_blend_type != "REPLACE":
        return True
    paths = [curve.data_path for curve in actions.of(obj) if not curve.mute]
    driven = [driver.data_path for driver in animation.drivers]
    if any(path.startswith(_OBJECT_CHANNELS) for path in (*paths, *driven)) or rig.needs_playing(obj, paths):
        return True
    return any(path.endswith(".scale") and path.startswith("pose.") for path in paths) and _scaled(obj)


def _scaled(obj: bpy.types.Object) -> bool:
    """Whether a key scales a bone."""
    for curve in actions.of(obj):
        if curve.data_path.endswith(".scale") and any(abs(key.co.y - 1) > 1e-5 for key in curve.keyframe_points):
            return True
    return False


def _played(uid: int, rig: Rig, frames: Array) -> Stepwise[tuple[Array, Array]]:
    """What `rig.posed` says at every frame, (F, 3) and (F, B, 4)."""
    out: list[tuple[Array, Array]] = []
    waiting = frames.tolist()
    while waiting:
        context, end = bpy.context, time.perf_counter() + _SLICE
        scene, frame, subframe = context.scene, context.scene.frame_current, context.scene.frame_subframe
        meters, obj = curves.meters_per_unit(scene), _found(uid)
        try:
            while waiting and time.perf_counter() < end:
                scene.frame_set(waiting.pop(0))
                out.append(rig.posed(obj.evaluated_get(context.evaluated_depsgraph_get()), meters))
        finally:
            scene.frame_set(frame, subframe=subframe)
        yield
    return np.stack([place for place, _ in out]), np.stack([rotations for _, rotations in out])


def _samples(uid: int, frames: Array) -> Stepwise[dict[tuple[str, int], Array]]:
    """Values (F,) of the curves that move an object, by their paths and indices."""
    out: dict[tuple[str, int], Array] = {}
    waiting = list(_curves(_found(uid)))
    while waiting:
        curves_now, end = _curves(_found(uid)), time.perf_counter() + _SLICE
        while waiting and time.perf_counter() < end:
            key = waiting.pop(0)
            if key not in curves_now:
                raise ShotError("The character's action was changed while it was read.")
            out[key] = _sampled(curves_now[key], frames)
        yield
    return out


def _curves(obj: bpy.types.Object) -> dict[tuple[str, int], bpy.types.FCurve]:
    """The curves that move an object, by their paths and indices."""
    found = [curve for curve in actions.of(obj) if not curve.mute and not (curve.group and curve.group.mute)]
    return {(curve.data_path, curve.array_index): curve for curve in found}


class _Channels(Values):
    """The channels from the samples (F,) of the assigned action, else as the bone is posed now."""

    def __init__(self, obj: bpy.types.Object, frames: Array, samples: dict[tuple[str, int], Array]) -> None:
        self._frames, self._samples = frames, samples
        self._modes = {bone.name: bone.rotation_mode for bone in obj.pose.bones}
        self._posed = {
            (bone.name, attribute): np.array(getattr(bone, attribute), dtype=np.float64)
            for bone in obj.pose.bones
            for attribute in _CHANNELS
        }

    def __len__(self) -> int:
        return len(self._frames)

    def vector(self, bone: str, attribute: str) -> Array:
        """A property of a bone, (F, components), or (1, components) when it is not animated."""
        static = self._posed[bone, attribute]
        path = f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{attribute}'
        animated = [self._samples.get((path, i)) for i in range(len(static))]
        if all(values is None for values in animated):
            return static[None]
        columns = [
            np.full(len(self._frames), value) if values is None else values
            for values, value in zip(animated, static.tolist(), strict=True)
        ]
        return np.stack(columns, axis=1)

    def rotation(self, bone: str) -> Array:
        """The bone's own rotation (F or 1, 4) as unit quaternions."""
        mode = self._modes[bone]
        if mode == "QUATERNION":
            return normalize(self.vector(bone, "rotation_quaternion"))
        if mode == "AXIS_ANGLE":
            values = self.vector(bone, "rotation_axis_angle")
            return from_axis_angle(normalize(values[:, 1:]), values[:, 0])
        return locks.to_quaternions(self.vector(bone, "rotation_euler"), mode)


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
