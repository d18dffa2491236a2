# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of gui_session.py that set scenes up: furnished rooms, the states of the panels, and rigs to bind.

Each takes the session, whose helpers it uses.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import bpy

FOLDER = Path(__file__).resolve().parent
PACKAGE = "bl_ext.user_default.nsm_blender"
PIECES, IN_ROW, APART = 60, 10, 2.8
"""Pieces of furniture in the hall, how many stand in a row, and meters between their middles."""


def furnish_room(session: ModuleType) -> None:
    """The demo room, the character before its open door with a way to the table, and all that the overlay shows."""
    session.clear()
    session.in_viewport(bpy.ops.nsm.add_demo_room)
    armature = arrive(session, (5.0, -0.6, 0.0))
    session.with_active(bpy.data.objects["Table"])
    session.in_viewport(bpy.ops.nsm.add_goal, name="To the Table")
    show_all(session, armature, "To the Table", bpy.data.objects["Armchair"])


def furnish_hall(session: ModuleType) -> None:
    """A hall of furniture of all kinds, wrapped by the button's operator, and a way through it."""
    session.clear()
    furniture = importlib.import_module(f"{PACKAGE}.nsm_blender.geometry.furniture")
    kinds = furniture.KINDS
    for number in range(PIECES):
        piece = furniture.make(kinds[number % len(kinds)], number + 1)
        mesh = bpy.data.meshes.new(piece.kind)
        mesh.from_pydata(piece.mesh.vertices.tolist(), [], piece.mesh.triangles.tolist())
        thing = bpy.data.objects.new(f"{piece.kind} {number}", mesh)
        bpy.context.scene.collection.objects.link(thing)
        row, column = divmod(number, IN_ROW)
        thing.location = (column * APART, row * APART, 0)
        thing.select_set(True)
        bpy.context.view_layer.objects.active = thing
    session.in_viewport(bpy.ops.nsm.wrap_collider)
    armature = arrive(session, (-APART / 2, -APART / 2, 0.0))
    far = ((IN_ROW - 0.5) * APART, (PIECES // IN_ROW - 0.5) * APART, 0.0)
    session.in_viewport(bpy.ops.nsm.add_goal, name="Far Corner", location=far, attach=False)
    seats = [thing for thing in bpy.data.objects if thing.nsm.collider.count and thing.nsm.collider.role == "seat"]
    show_all(session, armature, "Far Corner", seats[0])


def arrive(session: ModuleType, place: tuple[float, float, float]) -> bpy.types.Object:
    """Add the character at a place."""
    session.in_viewport(bpy.ops.nsm.add_character)
    armature: bpy.types.Object = bpy.context.view_layer.objects.active
    armature.location = place
    return armature


def show_all(session: ModuleType, armature: bpy.types.Object, goal: str, sensed: bpy.types.Object) -> None:
    """Show the way to a goal, all handles, and both sensors beside the thing that is sensed; look at all of it."""
    session.with_active(armature)
    session.in_viewport(bpy.ops.nsm.add_action_key, action="walk", goal=goal)
    session.in_viewport(bpy.ops.nsm.show_routes)
    probe = bpy.data.objects.new("Probe", None)
    bpy.context.scene.collection.objects.link(probe)
    probe.location = sensed.matrix_world.translation.x + 0.9, sensed.matrix_world.translation.y - 0.5, 0.0
    session.with_active(sensed)
    overlay = bpy.context.scene.nsm.overlay
    overlay.show_colliders = overlay.show_handles = True
    overlay.source = probe
    overlay.show_environment = overlay.show_interaction = True
    session.in_viewport(bpy.ops.view3d.view_all)


def state_empty(session: ModuleType) -> None:
    """An empty scene."""
    session.clear()
    session.viewport().spaces.active.show_region_ui = True


def state_unbound(session: ModuleType) -> None:
    """A rig that is not bound, with a path, and a box selected beside it."""
    session.clear()
    session.in_viewport(bpy.ops.nsm.add_character)
    rig = bpy.context.object
    for bone in rig.data.bones:
        bone.name = f"mixamorig:{bone.name}"
    session.in_viewport(bpy.ops.nsm.add_path)
    rig.nsm.path = bpy.context.object
    session.in_viewport(bpy.ops.mesh.primitive_cube_add, size=0.5, location=(1, 1, 0.25))


def state_baked(session: ModuleType) -> None:
    """The demo shot, baked and edited, with its seat selected."""
    session.in_viewport(bpy.ops.nsm.add_demo_shot)
    rig = bpy.context.object
    session.in_viewport(bpy.ops.nsm.bake)
    bpy.context.scene.frame_set(bpy.context.scene.frame_end)
    session.in_viewport(bpy.ops.nsm.add_constraint, kind="PIN")
    session.in_viewport(bpy.ops.nsm.detect_contacts)
    session.in_viewport(bpy.ops.nsm.add_strike)
    session.in_viewport(bpy.ops.nsm.bind)
    rig.nsm.binding.index = 3
    bpy.context.scene.nsm.overlay.show_colliders = True
    session.with_active(bpy.data.objects["Armchair"])


def add_mixamo(session: ModuleType) -> None:
    """An empty scene with a rig that is named as Mixamo's, without toes."""
    rig = add_rig(session, "Mixamo")
    session.in_viewport(bpy.ops.object.mode_set, mode="EDIT")
    for side in ("Left", "Right"):
        rig.data.edit_bones.remove(rig.data.edit_bones[f"mixamorig:{side}ToeBase"])
    session.in_viewport(bpy.ops.object.mode_set, mode="OBJECT")


def add_rigify(session: ModuleType) -> None:
    """An empty scene with a rig that Rigify generated."""
    add_rig(session, "Rigify generated")


def add_rig(session: ModuleType, name: str) -> bpy.types.Object:
    """An empty scene with one of the test rigs, looked at from the front."""
    session.clear()
    # The clone's engine is not here, but the installed extension's is.
    engine = importlib.import_module(f"{PACKAGE}.nsm_blender")
    if "nsm_blender" not in sys.modules:
        sys.modules["nsm_blender"] = engine
        engine.__path__.append(str(FOLDER / "engine"))
    sys.path.insert(0, str(FOLDER))
    area = session.viewport()
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=session.window(), area=area, region=region):
        rig, _ = importlib.import_module("rig_armatures").add(name)
    rig.show_in_front = True
    session.with_active(rig)
    session.in_viewport(bpy.ops.view3d.view_axis, type="FRONT")
    session.in_viewport(bpy.ops.view3d.view_selected)
    return rig


COMMANDS: tuple[Callable[[ModuleType], None], ...] = (
    furnish_room,
    furnish_hall,
    state_empty,
    state_unbound,
    state_baked,
    add_mixamo,
    add_rigify,
)
