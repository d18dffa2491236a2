# SPDX-License-Identifier: GPL-3.0-or-later
"""How high the ground is: that of an object, or where curves lie that are drawn over it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from ..nsm_blender.errors import ShotError
from ..nsm_blender.motion.rotations import Array

Heights = Callable[[Array], Array]
"""Heights (...) in meters at places (..., 2)."""

_FLAT = 0.01
"""Meters: a curve that lies within this of z = 0 is drawn on the floor."""
_SPACING = 0.05
"""Meters between the places at which a curve's height is known."""
_AT_ONCE = 4096
"""Number of places whose distances to the curves are computed at once, which bounds the memory."""
_FAR = 1e4
"""Height in world units from which rays are cast down on the ground's surface."""
_FINGERPRINT = 16
"""Digits of a fingerprint."""


def under_curves(lines: Sequence[Array]) -> Heights | None:
    """The height of the nearest place on curves, polylines (P, 3) in meters; None when all lie on the floor."""
    known = np.concatenate([_dense(np.asarray(line, dtype=np.float64)) for line in lines])
    if np.abs(known[:, 2]).max() < _FLAT:
        return None
    if np.ptp(known[:, 2]) < _FLAT:
        level = float(known[:, 2].mean())
        return lambda places: np.full(places.shape[:-1], level)

    def heights(places: Array) -> Array:
        flat = places.reshape(-1, 2)
        out = np.empty(len(flat))
        for first in range(0, len(flat), _AT_ONCE):
            part = flat[first : first + _AT_ONCE]
            apart = (part[:, :1] - known[:, 0]) ** 2 + (part[:, 1:] - known[:, 1]) ** 2
            out[first : first + len(part)] = known[apart.argmin(axis=1), 2]
        return out.reshape(places.shape[:-1])

    return heights


def of_object(context: bpy.types.Context, obj: bpy.types.Object, size: float) -> Heights:
    """The height of the topmost surface of a mesh object, 0 beside it. size: meters in a Blender unit.

    Raises ShotError when it has no surface.
    """
    graph = context.evaluated_depsgraph_get()
    evaluated = obj.evaluated_get(graph)
    if obj.type != "MESH" or not len(evaluated.data.polygons):
        raise ShotError(f"The ground '{obj.name}' has no surface; choose a mesh with faces.")
    tree = BVHTree.FromObject(obj, graph)
    world = evaluated.matrix_world.copy()
    if abs(world.determinant()) < 1e-12:
        raise ShotError(f"The ground '{obj.name}' has a scale of zero; give it a scale.")
    back = world.inverted()
    down = (back.to_3x3() @ Vector((0, 0, -1))).normalized()

    def heights(places: Array) -> Array:
        out = np.zeros(places.shape[:-1])
        rows = out.reshape(-1)
        for i, (x, y) in enumerate((places.reshape(-1, 2) / size).tolist()):
            found = tree.ray_cast(back @ Vector((x, y, _FAR)), down)[0]
            if found is not None:
                rows[i] = (world @ found).z * size
        return out

    return heights


def fingerprint(context: bpy.types.Context, obj: bpy.types.Object) -> str:
    """A short text that changes when the surface of a mesh object does, by its place, its modifiers or its mesh."""
    evaluated = obj.evaluated_get(context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    try:
        places = np.empty(3 * len(mesh.vertices), dtype=np.float32)
        corners = np.empty(len(mesh.loops), dtype=np.int32)
        mesh.vertices.foreach_get("co", places)
        mesh.loops.foreach_get("vertex_index", corners)
    finally:
        evaluated.to_mesh_clear()
    known = hashlib.sha256(np.array(evaluated.matrix_world, dtype=np.float32).tobytes())
    known.update(places.tobytes())
    known.update(corners.tobytes())
    return known.hexdigest()[:_FINGERPRINT]


def _dense(line: Array) -> Array:
    """A polyline (P, 3) with places every few centimeters."""
    along = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))))
    at = np.linspace(0, along[-1], max(2, int(along[-1] / _SPACING)))
    return np.stack([np.interp(at, along, column) for column in line.T], axis=1)
