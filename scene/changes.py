# SPDX-License-Identifier: GPL-3.0-or-later
"""After each change of the scene: which colliders are out of date, which handles were moved, what is sensed now."""

from __future__ import annotations

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ..nsm_blender.errors import ColliderError
from . import colliders, handles, hierarchy, lookup, meshes, sensing
from .overlays import Overlay

_QUICK = 200_000
"""Vertices up to which a changed mesh is compared at once; a larger one counts as changed until it is refreshed."""
_MOVED = 1e-4
"""Meters and units by which a handle has to move to be kept anew."""


def start() -> None:
    """Watch from now on."""
    if changed not in bpy.app.handlers.depsgraph_update_post:
        bpy.app.handlers.depsgraph_update_post.append(changed)


def stop() -> None:
    """Watch no more."""
    if changed in bpy.app.handlers.depsgraph_update_post:
        bpy.app.handlers.depsgraph_update_post.remove(changed)


@persistent  # type: ignore[untyped-decorator]  # the stubs do not say what it returns
def changed(scene: bpy.types.Scene, graph: bpy.types.Depsgraph) -> None:
    """Blender calls this after each change of a scene."""
    context = bpy.context
    if graph.mode != "VIEWPORT" or context.scene != scene or context.view_layer is None:
        return
    lookup.remember(context)
    shaped, moved = set(), set()
    for update in graph.updates:
        block = update.id
        if isinstance(block, bpy.types.Object):
            if update.is_updated_geometry:
                shaped.add(block.original)
            if update.is_updated_transform:
                moved.add(block.original)
    if shaped or moved:
        _keep_handles(graph, moved)
        _mark(context, graph, shaped, moved)
    overlay = Overlay.running
    if overlay is not None:
        _sense(context, graph, overlay)


def _mark(
    context: bpy.types.Context,
    graph: bpy.types.Depsgraph,
    shaped: set[bpy.types.Object],
    moved: set[bpy.types.Object],
) -> None:
    """Mark the colliders whose shape or scale is another one now."""
    concerned = _concerned(context, shaped | moved)
    below = hierarchy.children() if concerned else {}
    for obj in concerned:
        settings = colliders.of(obj)
        if settings.stale or obj.library is not None or obj.mode != "OBJECT":
            continue
        members = colliders.members(obj, below)
        whole = obj in moved
        if obj in shaped or any(part in shaped for part in members):
            stale = _differs(graph, obj, members)
        elif whole and not np.allclose(meshes.scale_of(obj.evaluated_get(graph)), settings.scale, rtol=1e-4):
            stale = True
        else:
            # When the whole moves, its parts do too, and nothing has changed.
            stale = not whole and any(part in moved for part in members) and _differs(graph, obj, members)
        if stale:
            settings.stale = True


def _concerned(context: bpy.types.Context, changed: set[bpy.types.Object]) -> list[bpy.types.Object]:
    """The colliders that a change of these objects may concern: they, what they hang on, and what they are parts of."""
    near = set(changed)
    for obj in changed:
        above = obj.parent
        while above is not None and above not in near:
            near.add(above)
            above = above.parent
    there = list(context.view_layer.objects)
    near.update(whole for whole in there if any(part.object in near for part in colliders.of(whole).parts))
    return [obj for obj in there if obj in near and colliders.is_collider(obj)]


def _differs(graph: bpy.types.Depsgraph, obj: bpy.types.Object, members: list[bpy.types.Object]) -> bool:
    """Whether the shape is not the one that was wrapped; without looking closely when that takes long."""
    evaluated = [one.evaluated_get(graph) for one in (obj, *members)]
    if sum(len(one.data.vertices) for one in evaluated if one.type == "MESH" and one.is_evaluated) > _QUICK:
        return True
    try:
        surface = meshes.read(graph, obj, members)
    except ColliderError:
        return True
    settings = colliders.of(obj)
    return not meshes.same(settings.fingerprint, colliders.signature(surface, settings.size))


def _keep_handles(graph: bpy.types.Depsgraph, moved: set[bpy.types.Object]) -> None:
    """Keep on the objects what the animator did to the handles' empties."""
    owners = {obj.parent for obj in moved if handles.is_handle(obj) and obj.parent is not None}
    for owner in owners - moved:
        if owner.library is not None or not colliders.is_collider(owner):
            continue
        try:
            now, kept = handles.read(graph, owner), handles.stored(owner)
        except ColliderError:  # half of them were deleted; the operators say so
            continue
        if now is not None and (kept is None or handles.apart(now, kept) > _MOVED):
            handles.store(owner, now)


def _sense(context: bpy.types.Context, graph: bpy.types.Depsgraph, overlay: Overlay) -> None:
    """Work out what the overlay shows of the sensors."""
    settings = context.scene.nsm.overlay
    wanted = [
        sensor
        for shown, sensor in (
            (settings.show_environment, sensing.environment),
            (settings.show_interaction, sensing.interaction),
        )
        if shown
    ]
    if not wanted and not overlay.sensed:
        return
    try:
        found = [sensor(context, graph, overlay.cuboids) for sensor in wanted]
    except ColliderError:  # a scale of zero for a moment; the operators say so
        found = []
    overlay.sensed = [sensed for sensed in found if sensed is not None]
