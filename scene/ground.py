# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scene's characters walk on: the surfaces of the colliders whose role is ground, around a path."""

from __future__ import annotations

import bpy
import numpy as np

from ..nsm_blender.errors import ShotError
from ..nsm_blender.geometry.clipping import clipped
from ..nsm_blender.geometry.ground import MOST_TRIANGLES, GroundMesh
from ..nsm_blender.geometry.mesh import TriangleMesh
from ..nsm_blender.motion.rotations import Array
from . import armatures, colliders, hierarchy, independence, meshes

ROLE = "ground"
BESIDE_PATH, AROUND_ROUTES = 2.0, 15.0
"""Meters beside a path, and around start and goals, up to which the ground belongs to a shot, for a character of the
model's size: no farther does it stray from a path, nor lead a way round that people would go."""

_CELLS = 1_000_000
"""Voxels that ground is wrapped in at most: a landscape gets larger ones than furniture. They only show where it is;
the feet stand on its mesh."""


def voxel_size(mesh: TriangleMesh, size: float) -> float:
    """Meters of the voxels for ground that would have ones of `size` were it small."""
    extent = np.ptp(mesh.vertices, axis=0) if len(mesh.vertices) else np.zeros(3)
    if not np.isfinite(extent).all():
        return size
    while np.prod(np.ceil(np.maximum(extent / size, 1.0))) > _CELLS:
        size *= 1.25
    return size


def objects(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The enabled colliders of the view layer that are ground."""
    graph = context.evaluated_depsgraph_get()
    return [
        obj
        for obj in colliders.in_scene(context)
        if colliders.of(obj).role == ROLE and colliders.of(obj).enabled and obj.evaluated_get(graph).is_evaluated
    ]


def gather(
    context: bpy.types.Context,
    armature: bpy.types.Object,
    rig: armatures.Rig,
    places: Array,
    frames: Array,
    beside: float = BESIDE_PATH,
) -> list[GroundMesh]:
    """The ground around places (N, 3) in world meters that a character comes to, at the model's size.

    beside: meters around the places, for a character of the model's size, beyond which ground does not matter.
    Meshes are read as they are displayed now, with modifiers and instances, and cut off where no foot comes to. frames:
    (F,) of the scene, in which the ground has to stand still. The scene is left as it is. Raises ShotError for ground
    that moves or is too finely cut, and ColliderError for an object without a surface.
    """
    found = objects(context)
    if not found:
        return []
    worn = independence.moving_along(context, armature, rig, found)
    found = [obj for obj in found if obj not in worn]
    away = beside * rig.scale
    low, high = places[:, :2].min(axis=0) - away, places[:, :2].max(axis=0) + away
    below = hierarchy.children()
    surfaces = meshes.read_all(context.evaluated_depsgraph_get(), {obj: colliders.members(obj, below) for obj in found})
    parts = {obj: clipped(surface.mesh().transformed(surface.frame), low, high) for obj, surface in surfaces.items()}
    near = {obj: part for obj, part in parts.items() if len(part.triangles)}
    _check_amount({obj.name: len(part.triangles) for obj, part in near.items()})
    for obj, where in colliders.poses(context, list(near), frames).items():
        if len(where) > 1:
            raise ShotError(
                f"The ground '{obj.name}' moves in the frames that are baked, and characters walk on ground that "
                "stands still; remove its keys, or give it another role."
            )
    return [
        GroundMesh(colliders.name_of(obj), (part.vertices / rig.scale).tolist(), part.triangles.tolist())
        for obj, part in near.items()
    ]


def _check_amount(counts: dict[str, int]) -> None:
    """Raise ShotError when the triangles of all objects together are too many."""
    total = sum(counts.values())
    if total > MOST_TRIANGLES:
        most = max(counts, key=lambda name: counts[name])
        raise ShotError(
            f"The ground around the way has {total:,} triangles, {counts[most]:,} of them in '{most}'; "
            f"{MOST_TRIANGLES:,} are the most. Take a simpler mesh, or let a Decimate modifier simplify it."
        )
