# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine asked how a thing is used, and its answer put on the object."""

from __future__ import annotations

import bpy
import numpy as np

from ..nsm_blender.geometry.colliders import Placed, Surroundings
from ..nsm_blender.geometry.mesh import TriangleMesh
from ..nsm_blender.geometry.roles import KINDS, Handles
from ..nsm_blender.motion.rotations import Array, rotate
from ..scene import colliders, curves, handles, meshes


def mesh_of(context: bpy.types.Context, obj: bpy.types.Object) -> TriangleMesh:
    """The shape of a collider as it is now, in its frame. Raises ColliderError."""
    return meshes.read(context.evaluated_depsgraph_get(), obj, colliders.members(obj)).mesh()


def guess(context: bpy.types.Context, obj: bpy.types.Object, mesh: TriangleMesh) -> str:
    """The role that a shape suggests. mesh: in the collider's frame."""
    from ..nsm_blender.geometry import proposals

    turn = _pose(context, obj)[3:]
    return proposals.guess_role(TriangleMesh(rotate(turn[None], mesh.vertices), mesh.triangles))


def give_role(context: bpy.types.Context, obj: bpy.types.Object, role: str, mesh: TriangleMesh) -> None:
    """Make `obj` one of this role, with proposed handles. mesh: in the collider's frame."""
    from ..nsm_blender.geometry import proposals

    settings = colliders.of(obj)
    settings.role = role
    if role not in KINDS:
        handles.hide(obj)
        handles.store(obj, None)
        settings.warnings = ""
        return
    proposal = proposals.propose(role, mesh, _around(context, obj), pose=_pose(context, obj))
    settings.warnings = "\n".join(proposal.warnings)
    put(context, obj, proposal.handles)


def put(context: bpy.types.Context, obj: bpy.types.Object, found: Handles | None) -> None:
    """Store handles on `obj` and show them; None takes them away."""
    handles.store(obj, found)
    if found is None:
        handles.hide(obj)
    else:
        handles.show(context, obj, found)


def check(context: bpy.types.Context, obj: bpy.types.Object, mesh: TriangleMesh | None = None) -> list[str]:
    """What is odd about the handles as they are now; it is kept on the object too. Raises ColliderError."""
    from ..nsm_blender.geometry import proposals

    settings = colliders.of(obj)
    now = handles.read(context.evaluated_depsgraph_get(), obj)
    warnings: list[str] = []
    if settings.role in KINDS:
        handles.store(obj, now)
        if now is None:
            warnings = [f"It has no handles of a {settings.role} yet; propose them."]
        else:
            warnings = proposals.check(now, settings.role, mesh, _around(context, obj), pose=_pose(context, obj))
    settings.warnings = "\n".join(warnings)
    return warnings


def _around(context: bpy.types.Context, obj: bpy.types.Object) -> Placed:
    """The other colliders as they stand now."""
    return Surroundings(colliders.around(context, obj)).at(0)


def _pose(context: bpy.types.Context, obj: bpy.types.Object) -> Array:
    """Where the collider's frame is now, (7,)."""
    world = obj.evaluated_get(context.evaluated_depsgraph_get()).matrix_world
    return np.asarray(colliders.pose(world, curves.metres_per_unit(context.scene), obj.name))
