# SPDX-License-Identifier: GPL-3.0-or-later
"""Which character and which curve a command is about."""

from __future__ import annotations

import functools
from typing import Any

import bpy

from ..nsm_blender.paths import weights_folder
from .properties import of_object

MARK = "nsm_bake"
"""Custom property of a baked action."""


def character(context: bpy.types.Context) -> bpy.types.Object | None:
    """The armature that is meant: the active one, else that of the active mesh, curve or goal, else the one that was
    picked last, else the only one."""
    return _selected(context) or _picked(context.scene) or _only(armatures(context.scene))


def remember(context: bpy.types.Context) -> None:
    """Pick the character that the selection means, so that it stays when other things are selected."""
    scene = context.scene
    if scene.library is not None or scene.override_library is not None:
        return
    found = _selected(context) or _picked(scene)
    name = "" if found is None else found.name
    if scene.nsm.character != name:
        scene.nsm.character = name


def _selected(context: bpy.types.Context) -> bpy.types.Object | None:
    """The armature that the active object means, or None."""
    # Not `context.active_object`, which a window of preferences does not have.
    active = context.view_layer.objects.active
    if active is None:
        return None
    if active.type == "ARMATURE":
        return active
    if active.type == "MESH":
        return active.find_armature()
    there = armatures(context.scene)
    found: list[bpy.types.Object] = []
    if active.type == "CURVE":
        found = [obj for obj in there if of_object(obj).path == active]
        found += [obj for obj in there if any(key.route == active for key in of_object(obj).keys)]
    elif active.type == "EMPTY":
        found = [obj for obj in there if any(key.goal == active for key in of_object(obj).keys)]
    picked = _picked(context.scene)
    return picked if picked in found else next(iter(found), None)


def _picked(scene: bpy.types.Scene) -> bpy.types.Object | None:
    """The character that was picked last, if it is still in the scene.

    It is known by its name: a pointer would keep a deleted character in the file, and a disabled one evaluated.
    """
    picked = scene.objects.get(scene.nsm.character) if scene.nsm.character else None
    return picked if picked is not None and picked.type == "ARMATURE" else None


def _only(there: list[bpy.types.Object]) -> bpy.types.Object | None:
    return there[0] if len(there) == 1 else None


def activate(context: bpy.types.Context, uid: int) -> None:
    """Make the object with this number the selected and active one, in object mode, so that the timeline shows its
    keys. In other modes the selection stays."""
    obj = find(context.view_layer.objects, uid)
    if context.mode != "OBJECT" or obj is None or obj == context.view_layer.objects.active:
        return
    for other in list(context.selected_objects):
        other.select_set(False)
    obj.select_set(True)
    context.view_layer.objects.active = obj


def armatures(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The armatures of a scene."""
    return [obj for obj in scene.objects if obj.type == "ARMATURE"]


def target(context: bpy.types.Context, armature: bpy.types.Object) -> bpy.types.Object | None:
    """The selected object that a new pin or strike is about: the only one beside the character, or the only empty."""
    others = [obj for obj in context.selected_objects if obj != armature and obj.parent != armature]
    empties = [obj for obj in others if obj.type == "EMPTY"]
    return next((few[0] for few in (empties, others) if len(few) == 1), None)


def find(blocks: Any, uid: int) -> Any:
    """The data-block with this number, or None. Blender gives a number once in a session; names change."""
    return next((block for block in blocks if block.session_uid == uid), None)


def baked(obj: bpy.types.Object) -> bpy.types.Action | None:
    """The bake that moves `obj` now, or None."""
    action = obj.animation_data.action if obj.animation_data else None
    return action if action is not None and action.get(MARK) else None


def baking(context: bpy.types.Context) -> bool:
    """A bake, or another of our operators that takes its time, is running in a window of this Blender."""
    windows = list(context.window_manager.windows)
    areas = [area for window in windows for area in window.screen.areas]
    browsers = [area.spaces.active for area in areas if area.type == "FILE_BROWSER"]
    # An operator is modal while the user chooses a file for it, too.
    choosing = [space.active_operator for space in browsers if isinstance(space, bpy.types.SpaceFileBrowser)]
    modal = [operator for window in windows for operator in window.modal_operators]
    return any(operator.bl_idname.startswith("NSM_OT_") and operator not in choosing for operator in modal)


@functools.cache
def has_scene_network() -> bool:
    """Whether the Neural State Machine's weights are installed; looked up once, as panels ask at each drawing."""
    return (weights_folder() / "nsm.safetensors").exists()


def path(context: bpy.types.Context) -> bpy.types.Object | None:
    """The curve that the character follows, or the active curve when there is no character."""
    armature = character(context)
    if armature is not None:
        return of_object(armature).path
    active = context.active_object
    return active if active is not None and active.type == "CURVE" else None
