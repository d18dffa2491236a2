# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine asked how a thing is used; its answer can be put on the object afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np

from ..nsm_blender import (
    KINDS,
    Array,
    Collider,
    Handles,
    Stepwise,
    TriangleMesh,
    begin_guess,
    begin_proposal,
    check_handles,
)
from ..scene import colliders, curves, handles, meshes


@dataclass(frozen=True, eq=False)
class Use:
    """What a thing is for. handles: in the collider's frame. warnings: what is odd about them. also: handles of its
    other parts of the same use; None leaves those that are known.
    """

    role: str
    handles: Handles | None = None
    warnings: list[str] = field(default_factory=list)
    also: list[Handles] | None = None


def mesh_of(context: bpy.types.Context, obj: bpy.types.Object) -> TriangleMesh:
    """The shape of a collider as it is now, in its frame. Raises ColliderError."""
    return meshes.read(context.evaluated_depsgraph_get(), obj, colliders.members(obj)).mesh()


def guess(context: bpy.types.Context, obj: bpy.types.Object, mesh: TriangleMesh) -> Stepwise[str]:
    """The role that a shape suggests, in pieces of work. mesh: in the collider's frame."""
    return begin_guess(mesh, pose_of(context, obj))


def propose(
    context: bpy.types.Context, obj: bpy.types.Object, role: str, mesh: TriangleMesh, also: Sequence[Collider] = ()
) -> Stepwise[Use]:
    """How a thing of this role is used, in pieces of work. mesh: in the collider's frame. also: colliders around it
    that are not in the scene yet. Nothing is written."""
    if role not in KINDS:
        return Use(role)
    found = yield from begin_proposal(role, mesh, _around(context, obj, also), pose=pose_of(context, obj))
    return Use(role, found.handles, list(found.warnings), found.also)


def check(context: bpy.types.Context, obj: bpy.types.Object, mesh: TriangleMesh, now: Handles | None) -> Use:
    """What is odd about the handles `now`. mesh: in the collider's frame. Nothing is written."""
    role = colliders.of(obj).role
    if role not in KINDS:
        return Use(role)
    if now is None:
        return Use(role, None, [f"It has no handles of a {role} yet; propose them."])
    return Use(role, now, check_handles(now, role, mesh, _around(context, obj), pose=pose_of(context, obj)))


def put(context: bpy.types.Context, obj: bpy.types.Object, use: Use) -> None:
    """Write role, handles and warnings on `obj`, and show the handles."""
    settings = colliders.of(obj)
    settings.role = use.role
    settings.warnings = "\n".join(use.warnings)
    handles.store(obj, use.handles)
    if use.also is not None:
        handles.store_others(obj, use.also)
    if use.handles is None:
        handles.hide(obj)
    else:
        handles.show(context, obj, use.handles)


def pose_of(context: bpy.types.Context, obj: bpy.types.Object) -> Array:
    """Where the collider's frame is now, (7,)."""
    world = obj.evaluated_get(context.evaluated_depsgraph_get()).matrix_world
    return np.asarray(colliders.pose(world, curves.meters_per_unit(context.scene), obj.name))


def _around(context: bpy.types.Context, obj: bpy.types.Object, also: Sequence[Collider] = ()) -> list[Collider]:
    """The other colliders as they stand now."""
    new = {collider.name: collider for collider in also if collider.name != colliders.name_of(obj)}
    there = [collider for collider in colliders.around(context, obj) if collider.name not in new]
    return [*there, *new.values()]
