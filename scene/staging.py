# SPDX-License-Identifier: GPL-3.0-or-later
"""A shot put back into the scene: colliders as boxes, goals, action keys or a path, and where the character begins."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ..nsm_blender.errors import ShotError
from ..nsm_blender.geometry.scaling import scaled
from ..nsm_blender.motion.rotations import Array
from ..nsm_blender.shot.goals import ActionKey
from ..nsm_blender.shot.shot import PathFollow, Shot
from . import actions, curves, gather_keys, goals, keys, pieces, schedule
from .all_or_nothing import additions
from .armatures import Rig
from .gather import check_time
from .properties import of_object, of_scene, walk_like

_COLOR = (0.45, 0.47, 0.50, 1.0)
"""Color of the loaded colliders' material, as linear RGBA."""
_ROTATION = slice(3, 7)
_PLACE = slice(0, 3)

_LARGEST_SEED = 2**31 - 1
"""The largest number that a property of Blender holds."""


def put(context: bpy.types.Context, armature: bpy.types.Object, rig: Rig, shot: Shot) -> None:
    """Let `armature`, whose description is `rig`, do what the shot says, at its own size.

    Its keys and its path are replaced; frame rate and end of the frame range become the shot's. Nothing else that
    is in the scene changes, and nothing at all where something goes wrong. Raises ShotError when the shot has nothing
    that a scene can show.
    """
    if shot.velocity is not None:
        raise ShotError("The shot follows velocities, as from a game pad; bake it with 'nsm-blender bake' instead.")
    first = context.scene.frame_start
    check_time(context.scene, (first, first + shot.frames - 1))
    listed = keys.of_character(armature)
    own = len(listed)
    size = rig.scale / curves.meters_per_unit(context.scene)
    moved = armature.matrix_world.copy() if shot.start is None else _moved(context, armature, rig, shot.start)
    path = None
    try:
        with additions(context):
            collection = bpy.data.collections.new(f"{shot.name} Shot")
            (context.collection or context.scene.collection).children.link(collection)
            if shot.path is not None:
                path = _path(context, collection, shot.path, shot, size)
            else:
                places = _goals(context, shot, size, _colliders(context, collection, rig, shot))
                for number, key in enumerate(shot.keys, start=1):
                    _key(context, collection, armature, key, f"Route {armature.name} {number}", rig, places)
    except BaseException:
        while len(listed) > own:
            listed.remove(len(listed) - 1)
        raise
    # All that can go wrong is done.
    _set_time(context, shot)
    if shot.start is not None:
        armature.matrix_world = moved
        context.view_layer.update()
    for _ in range(own):
        schedule.forget(context.scene, armature, listed[0])
        listed.remove(0)
    of_object(armature).seed = min(shot.seed, _LARGEST_SEED)
    of_object(armature).sway = shot.sway
    walk_like(armature, shot.performer, shot.performer_blend)
    if path is not None:
        of_object(armature).path = path
    else:
        settings, options = of_object(armature).routes, shot.route_options
        settings.radius = options.radius * rig.scale
        settings.crouch, settings.sideways = options.crouch, options.sideways
    schedule.update(context.scene, armature)


def _set_time(context: bpy.types.Context, shot: Shot) -> None:
    scene = context.scene
    scene.render.fps = max(1, round(shot.fps))
    scene.render.fps_base = scene.render.fps / shot.fps
    of_scene(context).use_custom_range = False
    scene.frame_end = scene.frame_start + shot.frames - 1


def _moved(context: bpy.types.Context, armature: bpy.types.Object, rig: Rig, start: list[float]) -> Matrix:
    """Where the character's object has to be so that it begins at `start`."""
    now = gather_keys.start_of(context, armature, rig, np.array([context.scene.frame_start]))
    size = rig.scale / curves.meters_per_unit(context.scene)
    here, there = (Vector(place[:3]) * size for place in (now, start))
    turn = Matrix.Rotation(start[3] - now[3], 4, "Z")
    return Matrix.Translation(there) @ turn @ Matrix.Translation(-here) @ armature.matrix_world


def _colliders(
    context: bpy.types.Context, collection: bpy.types.Collection, rig: Rig, shot: Shot
) -> dict[str, bpy.types.Object]:
    """The colliders as meshes of their cuboids, by their names in the shot."""
    if not shot.colliders:
        return {}
    unit = 1 / curves.meters_per_unit(context.scene)
    material = pieces.material("Collider", _COLOR)
    made = {}
    for thing in (scaled(collider, rig.scale) for collider in shot.colliders):
        obj = bpy.data.objects.new(thing.name, pieces.mesh_of_cuboids(thing.name, thing.cuboids, unit))
        obj.data.materials.append(material)
        collection.objects.link(obj)
        obj.rotation_mode = "QUATERNION"
        _place(obj, thing.poses, unit, context.scene.frame_start)
        made[thing.name] = (obj, thing.cuboids, thing.role, thing.handles)
    pieces.wrap(context, list(made.values()))
    return {name: obj for name, (obj, *_) in made.items()}


def _place(obj: bpy.types.Object, poses: Array, unit: float, first: int) -> None:
    """Put an object where its poses (1 or F, 7) say, with keyframes when it moves."""
    for frame, pose in enumerate(poses, start=first):
        obj.location = Vector(pose[_PLACE].tolist()) * unit
        obj.rotation_quaternion = Quaternion(pose[_ROTATION].tolist())
        if len(poses) > 1:
            obj.keyframe_insert("location", frame=frame)
            obj.keyframe_insert("rotation_quaternion", frame=frame)
    _make_linear(obj)


def _make_linear(obj: bpy.types.Object) -> None:
    for curve in actions.of(obj):
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"


def _goals(
    context: bpy.types.Context, shot: Shot, size: float, used: dict[str, bpy.types.Object]
) -> dict[str, bpy.types.Object]:
    """The goals as empties, by their names in the shot."""
    made = {}
    for goal in shot.goals:
        obj = goals.add(context, Vector(goal.place) * size, goal.facing, used.get(goal.collider), goal.by_place)
        obj.name = goal.name
        made[goal.name] = obj
    return made


def _key(
    context: bpy.types.Context,
    collection: bpy.types.Collection,
    armature: bpy.types.Object,
    asked: ActionKey,
    route: str,
    rig: Rig,
    places: dict[str, bpy.types.Object],
) -> None:
    key = keys.of_character(armature).add()
    key.action, key.goal, key.gait = asked.action, places.get(asked.goal), asked.gait
    start = asked.start
    if start is None and asked.arrive is not None and asked.duration is not None:
        start = asked.arrive - asked.duration
    key.start = "ARRIVAL" if start is None else "FRAME"
    key.frame = context.scene.frame_start + (start or 0)
    if asked.arrive is not None:
        key.timing, key.arrive = "ARRIVE", context.scene.frame_start + asked.arrive
    elif asked.duration is not None:
        key.timing, key.duration = "DURATION", asked.duration
    key.hold, key.lean = asked.hold, asked.lean
    key.speed = (asked.speed or 0.0) * rig.scale
    key.use_facing, key.facing = asked.facing is not None, asked.facing or 0.0
    if asked.route:
        size = rig.scale / curves.meters_per_unit(context.scene)
        key.route = _curve(collection, route, np.array(asked.route) * size, np.ones(len(asked.route)), closed=False)


def _path(
    context: bpy.types.Context, collection: bpy.types.Collection, path: PathFollow, shot: Shot, size: float
) -> bpy.types.Object:
    """The curve that is followed, with its settings keyed where they change."""
    points = np.array(path.points) * size
    closes = path.closed and np.allclose(points[0], points[-1])
    factors = np.array(path.speed_factors) if path.speed_factors else np.ones(len(points))
    last = len(points) - 1 if closes else len(points)
    curve = _curve(collection, f"{shot.name} Path", points[:last], factors[:last], closed=path.closed)
    settings = of_object(curve)
    settings.use_radius = bool(path.speed_factors)
    settings.loop = path.closed
    settings.bias_velocity, settings.bias_direction = shot.bias_velocity, shot.bias_direction
    meters = size * curves.meters_per_unit(context.scene)
    tracks: dict[str, list[Any]] = {
        "speed": [s * meters for s in path.speeds],
        "gait": path.gaits,
        "facing": path.facing_offsets,
    }
    for name, values in tracks.items():
        if len(set(values)) == 1:
            setattr(settings, name, values[0])
            continue
        for frame, value in enumerate(values, start=context.scene.frame_start):
            setattr(settings, name, value)
            curve.keyframe_insert(f"nsm.{name}", frame=frame)
    _make_linear_unless_steps(curve)
    return curve


def _make_linear_unless_steps(curve: bpy.types.Object) -> None:
    for track in actions.of(curve):
        for key in track.keyframe_points:
            key.interpolation = "CONSTANT" if track.data_path.endswith("gait") else "LINEAR"


def _curve(
    collection: bpy.types.Collection, name: str, points: Array, radii: Array, *, closed: bool
) -> bpy.types.Object:
    """A curve of straight lines through places (N, 3), in Blender units."""
    data = bpy.data.curves.new(name, "CURVE")
    data.dimensions = "3D"
    spline = data.splines.new("POLY")
    spline.points.add(len(points) - 1)
    for point, place, radius in zip(spline.points, points.tolist(), radii.tolist(), strict=True):
        point.co = (*place, 1.0)
        point.radius = radius
    spline.use_cyclic_u = closed
    obj = bpy.data.objects.new(name, data)
    collection.objects.link(obj)
    return obj
