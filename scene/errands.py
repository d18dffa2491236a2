# SPDX-License-Identifier: GPL-3.0-or-later
"""A character's action keys, with goals and colliders, as a shot; and what a bake does: the keys, else the path."""

from __future__ import annotations

import bpy
import numpy as np

from ..nsm_blender.control.goals import ActionKey, Goal, RouteOptions
from ..nsm_blender.control.shot import Shot
from ..nsm_blender.errors import ShotError
from ..nsm_blender.geometry.scaling import scaled
from ..nsm_blender.motion.rotations import Array
from . import actions, armatures, colliders, curves, goals, keys, routes, schedule
from . import gather as path_gather
from .gather import FASTEST, Gathered, frame_range


def gather_shot(context: bpy.types.Context, armature: bpy.types.Object | None) -> Gathered:
    """Describe what a bake of `armature` does now: its action keys, or without any its path.

    The scene is left as it is. Raises RigError and ShotError.
    """
    if armature is None or not keys.of_character(armature):
        return path_gather.gather(context, armature)
    return gather(context, armature)


def gather(context: bpy.types.Context, armature: bpy.types.Object) -> Gathered:
    """The action keys of `armature` as a shot at the model's size. Raises RigError and ShotError."""
    rig = armatures.read(context, armature)
    actions.check_assignable(armature)
    frames = frame_range(context)
    size = curves.metres_per_unit(context.scene) / rig.scale
    found, notes = _goals(context, armature, frames, size)
    render = context.scene.render
    settings = armature.nsm.routes
    shot = Shot(
        name=armature.name,
        fps=render.fps / render.fps_base,
        frames=len(frames),
        start=start_of(context, armature, rig, frames),
        keys=_keys(context, armature, rig, int(frames[0])),
        goals=found,
        colliders=[scaled(thing, 1 / rig.scale) for thing in colliders.gather(context, frames)],
        route_options=RouteOptions(radius=settings.radius / rig.scale, crouch=settings.crouch),
    )
    shot.validate()
    return Gathered(shot, rig, None, frames, notes)


def start_of(context: bpy.types.Context, armature: bpy.types.Object, rig: armatures.Rig, frames: Array) -> list[float]:
    """Where the character begins, at the model's size: x, y, z in metres and facing angle; see armatures.standing."""
    return armatures.standing(context, armature, rig, int(frames[0]))


def _keys(context: bpy.types.Context, armature: bpy.types.Object, rig: armatures.Rig, first: int) -> list[ActionKey]:
    out = []
    listed = zip(keys.of_character(armature), schedule.frames(context.scene, armature), strict=True)
    for number, (key, frame) in enumerate(listed, start=1):
        if frame is not None and frame < first:
            raise ShotError(
                f"Action key {number} ({keys.label(key)}) starts at frame {frame}, before the first frame {first}; "
                "move it, or the beginning of the frame range."
            )
        if key.goal is None and key.action != "idle":
            raise ShotError(f"Action key {number} ({keys.label(key)}) has no goal; choose one.")
        speed = key.speed / rig.scale
        if speed > FASTEST:
            raise ShotError(
                f"'{armature.name}' is so small ({rig.scale:.3g} of the model) that {key.speed:.2g} m/s is as fast for "
                f"it as {speed:.0f} m/s for a person; lower the speed of action key {number}."
            )
        out.append(
            ActionKey(
                action=key.action,
                goal=key.goal.name_full if key.goal is not None else "",
                start=None if frame is None else frame - first,
                hold=key.hold,
                gait=key.gait,
                speed=speed or None,
                facing=key.facing if key.use_facing else None,
                route=(routes.own(context, key) / rig.scale).tolist(),
            )
        )
    return out


def _goals(
    context: bpy.types.Context, armature: bpy.types.Object, frames: Array, size: float
) -> tuple[list[Goal], list[str]]:
    """The goals that the keys name, at the first frame, and a note for each that moves."""
    named = {key.goal.name_full: key.goal for key in keys.of_character(armature) if key.goal is not None}
    out, notes = [], []
    for obj in named.values():
        uses = goals.of_goal(obj).uses
        if uses is not None and not colliders.is_collider(uses):
            raise ShotError(
                f"The goal '{obj.name}' uses '{uses.name}', which is not a collider; make it one, or free the goal."
            )
        world = armatures.world_matrices(context, obj, frames[[0, -1]])
        place = world[0][:3, 3] * size
        if not np.isfinite(place).all():
            raise ShotError(f"The goal '{obj.name}' has a place that is not a number; clear its location.")
        used = "" if uses is None else colliders.name_of(uses)
        out.append(Goal(obj.name_full, place.tolist(), goals.facing_of(world[0]), used))
        if uses is None and not np.allclose(world[0], world[-1], atol=1e-4):
            notes.append(f"The goal '{obj.name}' moves; it is taken where it is at the first frame.")
    return out, notes
