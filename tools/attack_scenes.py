# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes for the attacks on the extension in bpy, and its jobs as their operators begin them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

PACKAGE = "bl_ext.user_default.nsm_blender"
FRAMES = 30
"""Frames of the shots."""
WATCHED = ("objects", "actions", "scenes", "meshes", "curves", "armatures", "collections", "node_groups")
"""Kinds of data-blocks of which a refusal leaves none behind."""


def module(name: str) -> ModuleType:
    """A module of the installed extension."""
    return importlib.import_module(f"{PACKAGE}.{name}")


def names() -> dict[str, set[int]]:
    """The numbers of the data-blocks of each watched kind."""
    import bpy

    return {kind: {block.session_uid for block in getattr(bpy.data, kind)} for kind in WATCHED}


def fresh() -> None:
    """An empty scene."""
    import bpy

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, FRAMES


def character(name: str = "Rig") -> Any:
    """The bundled character."""
    import bpy

    bpy.ops.nsm.add_character()
    bpy.context.object.name = name
    return bpy.context.object


def curve(x: float = 0.0, name: str = "Way") -> Any:
    """A curve of 4 m."""
    import bpy

    data = bpy.data.curves.new(name, "CURVE")
    data.dimensions = "3D"
    points = data.splines.new("POLY").points
    points.add(2)
    for point, place in zip(points, ((x, 0, 0, 1), (x + 0.3, -2, 0, 1), (x + 1, -4, 0, 1)), strict=True):
        point.co = place
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def walker() -> Any:
    """A character with its curve."""
    way = curve()
    rig = character()
    rig.nsm.path = way
    return rig


def baked() -> Any:
    """A character with a bake."""
    import bpy

    rig = walker()
    bpy.ops.nsm.bake()
    return rig


def bake_job() -> Any:
    """Along a curve."""
    import bpy

    return module("operators.job").BakeJob(bpy.context, walker())


def keys_job() -> Any:
    """To a goal, past a box."""
    import bpy

    bpy.ops.mesh.primitive_cube_add(size=0.4, location=(1.5, -1, 0.2), calc_uvs=False)
    bpy.ops.nsm.wrap_collider(role="obstacle")
    rig = character()
    bpy.ops.nsm.add_goal(name="There", location=(0, -1, 0), attach=False)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.nsm.add_action_key(action="walk", goal="There")
    return module("operators.job").BakeJob(bpy.context, rig)


def synthesis_job() -> Any:
    """Along a curve, by the manifold."""
    import bpy

    return module("operators.synthesis_job").SynthesisJob(bpy.context, walker())


def crowd_job() -> Any:
    """Two curves and one character."""
    import bpy

    rig, other = walker(), curve(2.0, "Other Way")
    for obj in (rig, rig.nsm.path, other):
        obj.select_set(True)
    bpy.context.view_layer.objects.active = rig
    return module("operators.synthesis_job").CrowdJob(bpy.context)


def edit_job() -> Any:
    """A bake whose feet are kept."""
    import bpy

    rig = baked()
    bpy.ops.nsm.add_constraint(kind="FEET")
    return module("operators.manifold_job").EditJob(bpy.context, rig)


def style_job() -> Any:
    """A bake in another style."""
    import bpy

    rig = baked()
    rig.nsm.manifold.style.source.bundled = "zombie"
    return module("operators.manifold_job").StyleJob(bpy.context, rig)


def wrap_job() -> Any:
    """Two boxes."""
    import bpy

    made = []
    for x in (0, 2):
        bpy.ops.mesh.primitive_cube_add(size=0.5, location=(x, 0, 0.25), calc_uvs=False)
        made.append(bpy.context.object)
    for obj in made:
        obj.select_set(True)
    wrapping = module("operators.collider_job")
    return wrapping.WrapJob(bpy.context, wrapping.Order("AUTO", 0.04, True, False))


def check_job() -> Any:
    """The keys of `keys_job`."""
    import bpy

    keys_job().cancel()
    rig = bpy.context.view_layer.objects.active
    return module("operators.check_job").CheckJob(bpy.context, rig)


def keep_job() -> Any:
    """A bake that is to stay in the file."""
    import bpy

    return module("operators.keep_job").KeepJob(bpy.context, baked())


JOBS: dict[str, Callable[[], Any]] = {
    "bake": bake_job,
    "bake of keys": keys_job,
    "synthesis": synthesis_job,
    "crowd": crowd_job,
    "edit": edit_job,
    "style": style_job,
    "wrap": wrap_job,
    "check": check_job,
    "keep": keep_job,
}
