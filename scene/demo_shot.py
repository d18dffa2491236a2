# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo shots, each in a scene of its own: a character that is to sit down in the furnished room, or to walk over
stairs, a gap, a ramp and under a beam; with a camera and a light."""

from __future__ import annotations

import math

import bpy
from mathutils import Vector

from ..nsm_blender.geometry.demo_course import PATH
from . import curves, goals, keys, pieces, room
from .mannequin import add_mannequin
from .properties import animate_by, of_object

NAME = "Demo Shot"
_SEAT = "Armchair"
_START = Vector((1.6, -2.4, 0.0))
"""Meters: before the room's open side, with a free way to the seat."""
_FACING = math.radians(168)
"""Toward the seat, about +Z from -Y."""
_FPS, _FRAMES, _COURSE_FRAMES = 30, 270, 540
"""Frame rate, frames for the walk, the sitting down and the time in the seat, and frames for the course."""
_SPEED, _OVER = 1.15, 0.03
"""Speed in m/s over the course, and meters by which its curve is drawn over the ground, to be seen."""
_HOLD = 2.0
"""Seconds in the seat."""
_CAMERA, _LOOKS_AT, _LENS = Vector((-0.9, -6.6, 2.1)), Vector((1.9, 0.2, 0.7)), 40.0
"""Meters, meters, and millimeters: from the room's open side past the table, so that nothing hides the walk or the
seat."""
_COURSE_CAMERA, _COURSE_LOOKS_AT, _COURSE_LENS = Vector((0.3, -13.0, 4.5)), Vector((0.3, -1.0, 0.8)), 34.0
"""The same for the course, all of which is in view."""
_FLOOR = ((-7.5, -8.5), (8.0, 3.5))
"""Meters: two corners of the floor."""
_GRAY = (0.30, 0.31, 0.32, 1.0)
"""Color of the floor, as linear RGBA."""
_BESIDE_SIDEBAR = (0.12, 0.0)
"""Share of the view's size by which the camera's frame is moved to the left, as the sidebar covers the right."""
_SUN = (math.radians(40), 0.0, math.radians(-10))
"""Rotation of the light, through the open side."""


def add(context: bpy.types.Context, on_ground: bool = False) -> bpy.types.Object:
    """Make the scene, show it in the window and return the character, selected and active. on_ground: the course."""
    window = context.window
    scene = bpy.data.scenes.new(NAME)
    before = window.scene
    window.scene = scene
    try:
        scene.render.fps, scene.render.fps_base = _FPS, 1.0
        # The wire boxes of the colliders would hide the things.
        scene.nsm.overlay.show_colliders = scene.nsm.overlay.show_handles = False
        rig = (_fill_course if on_ground else _fill_room)(bpy.context, scene)
        scene.nsm.character = rig.name
        return rig
    except BaseException:
        window.scene = before
        bpy.data.scenes.remove(scene)
        raise


def _fill_room(context: bpy.types.Context, scene: bpy.types.Scene) -> bpy.types.Object:
    scene.frame_start, scene.frame_end = 1, _FRAMES
    things = {obj.name.partition(".")[0]: obj for obj in room.add(context, Vector())}
    _add_floor(scene)
    _add_camera(scene, _CAMERA, _LOOKS_AT, _LENS)
    _add_light(scene)
    rig = add_mannequin(context, _START)
    rig.rotation_euler.z = _FACING
    context.view_layer.update()
    goal = goals.add_on(context, things[_SEAT])
    key = keys.of_character(rig).add()
    key.action, key.goal, key.hold = "sit", goal, _HOLD
    animate_by(rig, "ACTIONS")
    return rig


def _fill_course(context: bpy.types.Context, scene: bpy.types.Scene) -> bpy.types.Object:
    scene.frame_start, scene.frame_end = 1, _COURSE_FRAMES
    room.add_course(context, Vector())
    _add_floor(scene)
    _add_camera(scene, _COURSE_CAMERA, _COURSE_LOOKS_AT, _COURSE_LENS)
    _add_light(scene)
    path = curves.through(context, "Over the Course", [(x, y, z + _OVER) for x, y, z in PATH])
    path.nsm.speed = _SPEED
    rig = add_mannequin(context, Vector(PATH[0]))
    of_object(rig).path = path
    animate_by(rig, "PATH")
    context.view_layer.update()
    return rig


def look_through_camera(screen: bpy.types.Screen) -> None:
    """Show the shot through its camera in the 3D viewports of a window."""
    for area in screen.areas:
        if area.type == "VIEW_3D":
            view = area.spaces.active.region_3d
            view.view_perspective = "CAMERA"
            view.view_camera_offset = _BESIDE_SIDEBAR


def _add_floor(scene: bpy.types.Scene) -> None:
    (left, front), (right, back) = _FLOOR
    mesh = bpy.data.meshes.new("Floor")
    mesh.from_pydata([(left, front, 0), (right, front, 0), (right, back, 0), (left, back, 0)], [], [(0, 1, 2, 3)])
    mesh.materials.append(pieces.material(f"{NAME} Floor", _GRAY))
    scene.collection.objects.link(bpy.data.objects.new("Floor", mesh))


def _add_camera(scene: bpy.types.Scene, place: Vector, looks_at: Vector, lens: float) -> None:
    data = bpy.data.cameras.new(NAME)
    data.lens = lens
    camera = bpy.data.objects.new(f"{NAME} Camera", data)
    camera.location = place
    camera.rotation_euler = (looks_at - place).to_track_quat("-Z", "Y").to_euler()
    scene.collection.objects.link(camera)
    scene.camera = camera


def _add_light(scene: bpy.types.Scene) -> None:
    data = bpy.data.lights.new(NAME, "SUN")
    data.energy = 3.0
    light = bpy.data.objects.new(f"{NAME} Sun", data)
    light.rotation_euler = _SUN
    scene.collection.objects.link(light)
