# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene as a shot: the curve, and the settings that are keyed along it, at each frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..nsm_blender.errors import ShotError
from ..nsm_blender.shot.shot import PathFollow, Shot, per_frame
from . import actions, armatures, curves
from .properties import GAIT_ITEMS, of_object, of_scene, performer_of
from .things import Thing

Array = NDArray[Any]

FASTEST = 6.0
"""Meters per second that the engine takes at most, and the property too."""
_LAST_FRAME = 1_048_574
"""The last frame that Blender shows; the first one is the negative of it."""
_KEYABLE = ("speed", "gait", "facing")


@dataclass(frozen=True, eq=False)
class Gathered:
    """shot: at the model's size. rig: the character. line: the curve in world meters, where one is followed.
    frames: (F,) scene frames. things: what the bake may move.
    """

    shot: Shot
    rig: armatures.Rig
    line: curves.Polyline | None
    frames: Array
    notes: list[str] = field(default_factory=list)
    things: list[Thing] = field(default_factory=list)


def gather(context: bpy.types.Context, armature: bpy.types.Object | None) -> Gathered:
    """Describe what `armature` is to do. The scene is left as it is. Raises RigError and ShotError."""
    rig = armatures.read(context, armature)
    assert armature is not None
    actions.check_assignable(armature)
    path = of_object(armature).path
    line = curves.polyline(context, path)
    frames = frame_range(context)
    settings = of_object(path)
    performer, blend = performer_of(armature)
    keyed = _sample(context, path, frames)
    names = {number: name for name, _, _, number in GAIT_ITEMS}
    render = context.scene.render
    shot = Shot(
        name=armature.name,
        fps=render.fps / render.fps_base,
        frames=len(frames),
        path=PathFollow(
            # A small character walks a curve that is as much longer for it: the engine knows one size.
            points=(line.points / rig.scale).tolist(),
            speeds=per_frame(keyed["speed"] / rig.scale, len(frames)),
            gaits=[names[int(number)] for number in keyed["gait"]],
            facing_offsets=per_frame(keyed["facing"], len(frames)),
            speed_factors=line.factors.tolist() if settings.use_radius else [],
            closed=line.closed and settings.loop,
        ),
        bias_velocity=settings.bias_velocity,
        bias_direction=settings.bias_direction,
        seed=of_object(armature).seed,
        performer=performer,
        performer_blend=blend,
        sway=of_object(armature).sway,
    )
    fastest = max(shot.path.speeds) if shot.path else 0.0
    if fastest > FASTEST and fastest * rig.scale <= FASTEST:
        raise ShotError(
            f"'{armature.name}' is so small ({rig.scale:.3g} of the model) that {fastest * rig.scale:.2g} m/s is as "
            f"fast for it as {fastest:.0f} m/s for a person; lower the speed, or enlarge the character."
        )
    shot.validate()
    return Gathered(shot, rig, line, frames, [line.note] if line.note else [])


def frame_range(context: bpy.types.Context) -> Array:
    """The frames to bake, (F,): the scene's range or the custom one. Raises ShotError when it is empty."""
    own, scene = of_scene(context), context.scene
    first, last = (own.frame_start, own.frame_end) if own.use_custom_range else (scene.frame_start, scene.frame_end)
    if last <= first:
        raise ShotError(f"The frame range {first} to {last} has fewer than 2 frames; move its end back.")
    check_time(scene, (first, last))
    return np.arange(first, last + 1)


def check_time(scene: bpy.types.Scene | None, frames: Sequence[int] | Array) -> None:
    """Raise ShotError when keys at these frames, rising, would not be shown there: beyond Blender's last frame, or with
    time remapping."""
    assert scene is not None
    if len(frames) and (frames[0] < -_LAST_FRAME or frames[-1] > _LAST_FRAME):
        raise ShotError(
            f"The frames {frames[0]} to {frames[-1]} are beyond what Blender shows, {-_LAST_FRAME} to {_LAST_FRAME}; "
            "move or shorten the range."
        )
    old, new = scene.render.frame_map_old, scene.render.frame_map_new
    if old != new:
        raise ShotError(
            f"The scene's time is stretched (old {old}, new {new}), so that keys are shown at other frames than their "
            "own; set both to 100 in the output properties."
        )


def _sample(context: bpy.types.Context, path: bpy.types.Object, frames: Array) -> dict[str, Array]:
    """The keyable settings of the curve object at each frame, name -> (F,); a gait as its number."""
    animation = path.animation_data
    if animation is None:
        return {name: np.full(len(frames), _value(path, name)) for name in _KEYABLE}
    driven = any(curve.data_path.startswith("nsm.") for curve in animation.drivers)
    # The NLA mixes curves in ways that only Blender knows; so does an action that is blended or in tweak mode.
    mixed = bool(animation.nla_tracks) or animation.action_influence < 1 or animation.action_blend_type != "REPLACE"
    if driven or mixed:
        return _sample_by_playing(context, path, frames)
    found = {curve.data_path: curve for curve in actions.of(path) if not curve.mute and curve.is_valid}
    out = {}
    for name in _KEYABLE:
        curve = found.get(f"nsm.{name}")
        if curve is None or (curve.group is not None and curve.group.mute):
            out[name] = np.full(len(frames), _value(path, name))
        else:
            out[name] = _as_stored(name, np.array([curve.evaluate(frame) for frame in frames.tolist()]))
    return out


def _sample_by_playing(context: bpy.types.Context, path: bpy.types.Object, frames: Array) -> dict[str, Array]:
    scene, frame, subframe = context.scene, context.scene.frame_current, context.scene.frame_subframe
    out = {name: np.empty(len(frames)) for name in _KEYABLE}
    try:
        for i, at in enumerate(frames.tolist()):
            scene.frame_set(at)
            evaluated = path.evaluated_get(context.evaluated_depsgraph_get())
            for name in _KEYABLE:
                out[name][i] = _value(evaluated, name)
    finally:
        scene.frame_set(frame, subframe=subframe)
    return out


def _value(obj: bpy.types.Object, name: str) -> float:
    """A setting as a number."""
    value = getattr(of_object(obj), name)
    if name == "gait":
        return float(next(number for identifier, _, _, number in GAIT_ITEMS if identifier == value))
    return float(value)


def _as_stored(name: str, values: Array) -> Array:
    """Values of a curve as Blender stores them in the property: clamped to its range, a gait cut to an integer."""
    if name == "speed":
        return np.clip(values, 0.0, FASTEST)
    if name == "gait":
        return np.clip(np.trunc(values), 0, len(GAIT_ITEMS) - 1)
    return values
