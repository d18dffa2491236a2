# SPDX-License-Identifier: GPL-3.0-or-later
"""What may happen to a scene while a job of the extension works on it."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable
from typing import Any


def some(blocks: Any, rng: random.Random) -> Any:
    """One of the data-blocks, or None."""
    listed = list(blocks)
    return rng.choice(listed) if listed else None


def of_type(kind: str) -> list[Any]:
    """The objects of a type."""
    import bpy

    return [obj for obj in bpy.data.objects if obj.type == kind]


def delete_object(rng: random.Random) -> None:
    """Any object."""
    import bpy

    if obj := some(bpy.data.objects, rng):
        bpy.data.objects.remove(obj)


def delete_data(rng: random.Random) -> None:
    """The data of any object, and with it all that use it."""
    import bpy

    kind = rng.choice(("armatures", "curves", "meshes"))
    if block := some(getattr(bpy.data, kind), rng):
        getattr(bpy.data, kind).remove(block)


def delete_action(rng: random.Random) -> None:
    """Any action."""
    import bpy

    if action := some(bpy.data.actions, rng):
        bpy.data.actions.remove(action)


def rename(rng: random.Random) -> None:
    """Any object, its data, or a bone."""
    import bpy

    what = rng.choice(("object", "data", "bone", "action"))
    if what == "bone" and (rig := some(bpy.data.armatures, rng)):
        some(rig.bones, rng).name = "Renamed"
    elif what == "action" and (action := some(bpy.data.actions, rng)):
        action.name = "Renamed"
    elif obj := some(bpy.data.objects, rng):
        (obj if what == "object" or obj.data is None else obj.data).name = "Renamed"


def assign(rng: random.Random) -> None:
    """Another action, or none, to any object."""
    import bpy

    obj = some(bpy.data.objects, rng)
    if obj is None:
        return
    animation = obj.animation_data or obj.animation_data_create()
    animation.action = rng.choice((None, bpy.data.actions.new("Mine")))


def remap(rng: random.Random) -> None:
    """All users of a data-block to another one of its kind, or to itself."""
    import bpy

    blocks = list(getattr(bpy.data, rng.choice(("actions", "objects", "armatures", "curves"))))
    if blocks:
        rng.choice(blocks).user_remap(rng.choice(blocks))


def edit_mode(rng: random.Random) -> None:
    """Any armature into edit or pose mode, a bone deleted at times."""
    import bpy

    rig = some([obj for obj in of_type("ARMATURE") if obj.name in bpy.context.view_layer.objects], rng)
    if rig is None:
        return
    bpy.context.view_layer.objects.active = rig
    mode = rng.choice(("EDIT", "POSE", "bone"))
    bpy.ops.object.mode_set(mode="EDIT" if mode == "bone" else mode)
    if mode == "bone":
        rig.data.edit_bones.remove(some(rig.data.edit_bones, rng))
        bpy.ops.object.mode_set(mode="OBJECT")


def hide(rng: random.Random) -> None:
    """Any object out of sight, out of its collection, or its collection out of the view layer."""
    import bpy

    obj = some(bpy.data.objects, rng)
    if obj is None:
        return
    match rng.choice(("viewport", "unlink", "hide", "exclude")):
        case "viewport":
            obj.hide_viewport = True
        case "hide" if obj.name in bpy.context.view_layer.objects:
            obj.hide_set(True)
        case "unlink":
            for group in obj.users_collection:
                group.objects.unlink(obj)
        case _:
            for layer in bpy.context.view_layer.layer_collection.children:
                layer.exclude = True


def other_file(_rng: random.Random) -> None:
    """Another file is opened."""
    import bpy

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def other_scene(rng: random.Random) -> None:
    """Another scene is shown, and the old one deleted at times."""
    import bpy

    old = bpy.context.scene
    bpy.context.window.scene = bpy.data.scenes.new("Other")
    if rng.random() < 0.5:
        bpy.data.scenes.remove(old)


def other_time(rng: random.Random) -> None:
    """Another frame range, rate or stretch."""
    import bpy

    scene = bpy.context.scene
    match rng.randrange(4):
        case 0:
            scene.frame_end = rng.choice((1, 5, 10_000))
        case 1:
            scene.render.fps = rng.choice((1, 24, 120))
        case 2:
            scene.render.frame_map_new = rng.choice((50, 300))
        case _:
            scene.frame_set(rng.randint(-50, 500))


def other_transform(rng: random.Random) -> None:
    """Any object somewhere else, scaled, or at no place that is a number."""
    import bpy

    if obj := some(bpy.data.objects, rng):
        value = rng.choice((0.0, -1.0, 1e6, math.nan, math.inf, 3.0))
        getattr(obj, rng.choice(("location", "scale", "rotation_euler")))[rng.randrange(3)] = value


def other_parent(rng: random.Random) -> None:
    """Any object hangs on another one."""
    import bpy

    child, above = some(bpy.data.objects, rng), some(bpy.data.objects, rng)
    if child is not None and above != child:
        with contextlib.suppress(RuntimeError):  # a circle, which Blender refuses
            child.parent = above


def purge(_rng: random.Random) -> None:
    """All that nothing uses is deleted."""
    import bpy

    bpy.data.orphans_purge()


ATTACKS: dict[str, Callable[[random.Random], None]] = {
    "delete object": delete_object,
    "delete data": delete_data,
    "delete action": delete_action,
    "rename": rename,
    "assign": assign,
    "remap": remap,
    "edit mode": edit_mode,
    "hide": hide,
    "other file": other_file,
    "other scene": other_scene,
    "other time": other_time,
    "other transform": other_transform,
    "other parent": other_parent,
    "purge": purge,
}
