# SPDX-License-Identifier: GPL-3.0-or-later
"""A character's action keys, with goals and colliders, as a shot; and what a bake does: the keys, else the path."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np

from ..nsm_blender.errors import ShotError
from ..nsm_blender.geometry.ground import GroundMesh
from ..nsm_blender.geometry.scaling import scaled
from ..nsm_blender.motion.rotations import Array
from ..nsm_blender.shot.goals import ActionKey, Goal, RouteOptions
from ..nsm_blender.shot.shot import Shot
from . import (
    actions,
    armatures,
    bodies,
    colliders,
    curves,
    extent,
    goals,
    ground,
    independence,
    keys,
    layers,
    routes,
    schedule,
    things,
)
from . import gather as path_gather
from .gather import FASTEST, Gathered, frame_range
from .properties import by_actions, performer_of


def gather_shot(context: bpy.types.Context, armature: bpy.types.Object | None) -> Gathered:
    """Describe what a bake of `armature` does now: its action keys or its path, as was chosen.

    The scene is left as it is. Raises RigError, ShotError and ColliderError.
    """
    if armature is None:
        return path_gather.gather(context, armature)
    if by_actions(armature):
        return gather(context, armature)
    with layers.without(context, armature) as freed:
        gathered = path_gather.gather(context, armature)
        assert gathered.line is not None
        surfaces = ground.gather(context, armature, gathered.rig, gathered.line.points, gathered.frames)
        held = things.read(context, [], freed, gathered.frames)
        return replace(gathered, shot=replace(gathered.shot, ground=surfaces), things=held)


def gather(context: bpy.types.Context, armature: bpy.types.Object) -> Gathered:
    """The action keys of `armature` as a shot at the model's size, in the scene as it is without its earlier bakes.

    Raises RigError, ShotError and ColliderError.
    """
    with layers.without(context, armature) as freed:
        return _gathered(context, armature, freed)


def _gathered(context: bpy.types.Context, armature: bpy.types.Object, freed: list[bpy.types.Object]) -> Gathered:
    rig = armatures.read(context, armature)
    actions.check_assignable(armature)
    used = things.used(armature)
    frames = frame_range(context)
    size = curves.meters_per_unit(context.scene) / rig.scale
    render = context.scene.render
    settings = armature.nsm.routes
    # What the character wears or holds moves with it: nothing to keep off.
    worn = independence.moving_along(context, armature, rig, colliders.in_scene(context))
    listed, aims = _keys(context, armature, rig, int(frames[0])), _goals(context, armature, frames, size)
    start = start_of(context, armature, rig, frames)
    places = _places(start, listed, aims) * rig.scale
    left_out, surfaces = [obj for obj in worn if obj not in used], list[GroundMesh]()
    if _walks_on_ground(armature, listed):
        # What is walked on is not kept off at the same time.
        surfaces = ground.gather(context, armature, rig, places, frames, ground.AROUND_ROUTES)
        left_out += ground.objects(context)
    around = [
        *colliders.gather(context, frames, left_out),
        *bodies.gather(context, armature, frames, places),
    ]
    performer, blend = performer_of(armature)
    shot = Shot(
        name=armature.name,
        fps=render.fps / render.fps_base,
        frames=len(frames),
        start=start,
        keys=listed,
        goals=aims,
        colliders=[scaled(thing, 1 / rig.scale) for thing in around],
        body_radii=list(rig.body_radii),
        seed=armature.nsm.seed,
        performer=performer,
        performer_blend=blend,
        sway=armature.nsm.sway,
        route_options=RouteOptions(
            radius=settings.radius / rig.scale, crouch=settings.crouch, sideways=settings.sideways
        ),
        ground=surfaces,
    )
    shot.validate()
    held = things.read(context, used, freed, frames)
    return Gathered(shot, rig, None, frames, things=held)


def _walks_on_ground(armature: bpy.types.Object, listed: list[ActionKey]) -> bool:
    """Whether the locomotion network, which walks on any ground, leads between the things that are used; the NSM alone
    takes ground for steps to climb."""
    return armature.nsm.controller != "NSM" and all(key.action != "climb" for key in listed)


def _places(start: list[float], listed: list[ActionKey], aims: list[Goal]) -> Array:
    """Where the character is going to be, (N, 3) at the model's size: its start, goals and routes."""
    out = [start[:3], *(goal.place for goal in aims)]
    out += [move[:3] for goal in aims for move in goal.moves]
    out += [point for key in listed for point in key.route]
    return np.array(out, dtype=np.float64)


def used(armature: bpy.types.Object) -> list[tuple[str, bpy.types.Object | None]]:
    """What a bake of `armature` is about besides it, each with what it is: its curve, or the goals of its keys with
    what these use and the curves of their routes."""
    listed = keys.of_character(armature)
    if not by_actions(armature):
        return [("curve", armature.nsm.path)]
    aims = [key.goal for key in listed if key.goal is not None]
    return [
        *(("goal", goal) for goal in aims),
        *(("collider", goals.of_goal(goal).uses) for goal in aims),
        *(("curve", key.route) for key in listed),
    ]


def start_of(context: bpy.types.Context, armature: bpy.types.Object, rig: armatures.Rig, frames: Array) -> list[float]:
    """Where the character begins, at the model's size: x, y, z in meters and facing angle; see armatures.standing."""
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
        if key.goal is None and keys.needs_goal(key.action):
            raise ShotError(f"Action key {number} ({keys.label(key)}) has no goal; choose one.")
        timing = "FREE" if keys.stays(key) else key.timing
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
                lean=key.lean,
                route=(routes.own(context, key) / rig.scale).tolist(),
                arrive=key.arrive - first if timing == "ARRIVE" else None,
                duration=key.duration if timing == "DURATION" else None,
            )
        )
    return out


def _goals(context: bpy.types.Context, armature: bpy.types.Object, frames: Array, size: float) -> list[Goal]:
    """The goals that the keys name, with their way where they move. Raises ShotError."""
    named = {key.goal.name_full: key.goal for key in keys.of_character(armature) if key.goal is not None}
    tracks = colliders.transforms(context, list(named.values()), frames)
    out = []
    for obj in named.values():
        uses = goals.of_goal(obj).uses
        if uses is not None and not colliders.is_collider(uses):
            raise ShotError(
                f"The goal '{obj.name}' uses '{uses.name}', which is not a collider; wrap it, or choose another."
            )
        world = tracks[obj].world
        extent.check(world[:, :3] * curves.meters_per_unit(context.scene), f"The goal '{obj.name}'")
        places = world[:, :3, 3] * size
        facings = [goals.facing_of(matrix) for matrix in world]
        moves = [[*place, facing or 0.0] for place, facing in zip(places.tolist(), facings, strict=True)]
        used = "" if uses is None else colliders.name_of(uses)
        by_place = goals.is_by_place(context, obj, tracks[obj].basis[:, :3, 3])
        out.append(Goal(obj.name_full, moves[0][:3], facings[0], used, moves if len(moves) > 1 else [], by_place))
    return out
