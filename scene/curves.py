# SPDX-License-Identifier: GPL-3.0-or-later
"""Any curve object as a dense polyline in world meters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import bpy
import numpy as np
from mathutils import Vector
from numpy.typing import NDArray

from ..nsm_blender.errors import ShotError
from . import extent

Array = NDArray[Any]

_SHORTEST = 1e-5
"""Neighbors nearer than this (in meters) count as one point."""

_DEFAULT_PATH = ((0.0, 0.0, 1.0), (0.4, -2.5, 1.0), (2.2, -3.8, 0.8), (3.6, -5.4, 0.9), (3.2, -7.5, 1.0))
"""Points of a new path: x, y in meters, radius."""


@dataclass(frozen=True, eq=False)
class Polyline:
    """points: (N, 3) world meters in walking order; a closed one repeats its first point at the end.

    factors: (N,) radius of the curve there. closed: it returns to its start. note: what was decided for the user.
    """

    points: Array
    factors: Array
    closed: bool
    note: str = ""

    def length(self) -> float:
        """Meters along the line."""
        return float(np.linalg.norm(np.diff(self.points, axis=0), axis=1).sum())


def polyline(context: bpy.types.Context, obj: bpy.types.Object | None) -> Polyline:
    """Evaluate `obj` with its transform, parents and modifiers, as it is displayed. Raises ShotError.

    Of several splines the longest is taken.
    """
    if obj is None:
        raise ShotError("No curve is chosen; choose one as the character's path, or add one with 'Add Path'.")
    if obj.type != "CURVE":
        raise ShotError(f"'{obj.name}' is not a curve; choose a curve as the character's path.")
    if not obj.data.splines:
        raise ShotError(f"The curve '{obj.name}' has no points; draw it first.")
    with _wire(context, obj) as source:
        evaluated = source.evaluated_get(context.evaluated_depsgraph_get())
        vertices, edges = _mesh(evaluated)
        # Blender evaluates a disabled object that another refers to, but without its geometry.
        if not evaluated.is_evaluated or not (len(vertices) or obj.visible_get()):
            raise ShotError(f"The curve '{obj.name}' is disabled in viewports or its collection is; enable it.")
        world = np.array(evaluated.matrix_world)
    chains = _chains(len(vertices), edges)
    if not chains:
        raise ShotError(f"The curve '{obj.name}' gives no line to walk along; check its points and modifiers.")
    places = (vertices @ world[:3, :3].T + world[:3, 3]) * meters_per_unit(context.scene)
    extent.check(places, f"The curve '{obj.name}'")
    lines = [places[chain] for chain in chains]
    lengths = [float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum()) for line in lines]
    best = int(np.argmax(lengths))
    if lengths[best] < _SHORTEST:
        raise ShotError(f"The curve '{obj.name}' has no length; draw a longer one.")
    note = f"'{obj.name}' has {len(chains)} splines; the longest is walked." if len(chains) > 1 else ""
    closed = bool(chains[best][0] == chains[best][-1])
    factors = _radii(obj.data, len(chains), best, lines[best])
    apart = np.concatenate(([True], np.linalg.norm(np.diff(lines[best], axis=0), axis=1) > _SHORTEST))
    return Polyline(lines[best][apart], factors[apart], closed, note)


def meters_per_unit(scene: bpy.types.Scene | None) -> float:
    """Meters that one Blender unit stands for."""
    assert scene is not None
    units = scene.unit_settings
    return 1.0 if units.system == "NONE" else float(units.scale_length)


@contextmanager
def _wire(context: bpy.types.Context, obj: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """`obj`, or while it has a bevel a copy without: the mesh of a beveled curve is a tube, not a line."""
    data = obj.data
    if not (data.bevel_depth or data.extrude or data.bevel_object):
        yield obj
        return
    copy = obj.copy()
    copied_data: Any = data.copy()
    try:
        copied_data.bevel_depth = copied_data.extrude = 0.0
        copied_data.bevel_object = None
        copied_data.bevel_mode = "ROUND"
        copy.data = copied_data
        context.scene.collection.objects.link(copy)
        context.view_layer.update()
        yield copy
    finally:
        bpy.data.objects.remove(copy)
        bpy.data.curves.remove(copied_data)


def _mesh(evaluated: bpy.types.Object) -> tuple[Array, Array]:
    """Vertices (V, 3) and edges (E, 2) of an evaluated curve."""
    mesh = evaluated.to_mesh()
    try:
        if mesh is None:
            return np.zeros((0, 3)), np.zeros((0, 2), dtype=np.int32)
        vertices = np.empty(len(mesh.vertices) * 3, dtype=np.float32)
        mesh.vertices.foreach_get("co", vertices)
        edges = np.empty(len(mesh.edges) * 2, dtype=np.int32)
        mesh.edges.foreach_get("vertices", edges)
        return vertices.reshape(-1, 3).astype(np.float64), edges.reshape(-1, 2)
    finally:
        evaluated.to_mesh_clear()


def _chains(count: int, edges: Array) -> list[list[int]]:
    """Vertex indices of each spline in drawing order; a cyclic one ends with its first vertex again."""
    following: dict[int, int] = {}
    closing: dict[int, int] = {}
    for a, b in edges.tolist():
        # A spline's vertices are numbered in order; its closing edge joins the last to the first.
        if b == a + 1 and a not in following:
            following[a] = b
        else:
            closing[max(a, b)] = min(a, b)
    starts = [v for v in range(count) if v in following and v - 1 not in following]
    chains = []
    for start in starts:
        chain = [start]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        if closing.get(chain[-1]) == start:
            chain.append(start)
        chains.append(chain)
    return chains


def _radii(curve: Any, chain_count: int, index: int, line: Array) -> Array:
    """Radius (N,) at each place of the line (N, 3), linear between the curve's points.

    When modifiers changed the number of splines, nothing tells which points belong to the line: all 1.
    """
    splines = [spline for spline in curve.splines if len(spline.bezier_points or spline.points) > 1]
    if len(splines) != chain_count:
        return np.ones(len(line))
    spline = splines[index]
    points = spline.bezier_points if spline.type == "BEZIER" else spline.points
    radii = np.array([point.radius for point in points], dtype=np.float64)
    if spline.use_cyclic_u:
        radii = np.append(radii, radii[0])
    at = _parameters(spline, len(radii))
    return np.interp(np.linspace(0, 1, len(line)), at, radii)


def _parameters(spline: bpy.types.Spline, count: int) -> Array:
    """Where along the evaluated spline (0..1 of its vertices) each of `count` control points acts.

    Bezier: a segment between two vector handles is one edge, any other has the spline's resolution. Poly: one
    edge each. NURBS: the mean of the knots that the point reaches over.
    """
    if spline.type == "BEZIER":
        points = [*spline.bezier_points, spline.bezier_points[0]]
        straight = [a.handle_right_type == b.handle_left_type == "VECTOR" for a, b in pairwise(points[:count])]
        steps = np.cumsum([0] + [1 if s else spline.resolution_u for s in straight])
        return steps / steps[-1]
    if spline.type != "NURBS" or spline.use_cyclic_u:
        return np.linspace(0, 1, count)
    order = min(spline.order_u, count)
    knots = np.arange(count + order, dtype=np.float64)
    if spline.use_endpoint_u:
        knots = np.clip(knots, order - 1, count)
    means = np.array([knots[i + 1 : i + order].mean() for i in range(count)])
    first, last = knots[order - 1], knots[count]
    return np.clip((means - first) / (last - first), 0, 1)


def add_path(context: bpy.types.Context, start: Vector) -> bpy.types.Object:
    """Add a curve of about 8 m, slower in its bends, and make it the active object.

    It begins at `start`, in Blender units, and leads to -Y, where a character in its rest pose looks.
    """
    curve = through(context, "Path", [(x, y, 0.0) for x, y, _ in _DEFAULT_PATH])
    for point, (_, _, radius) in zip(curve.data.splines[0].bezier_points, _DEFAULT_PATH, strict=True):
        point.radius = radius
    curve.location = start
    for selected in list(context.selected_objects):
        selected.select_set(False)
    context.view_layer.objects.active = curve
    curve.select_set(True)
    return curve


def through(context: bpy.types.Context, name: str, places: Sequence[Sequence[float]]) -> bpy.types.Object:
    """Add a smooth curve through places x, y, z in meters."""
    size = 1 / meters_per_unit(context.scene)
    data = bpy.data.curves.new(name, "CURVE")
    data.dimensions = "3D"
    data.resolution_u = 24
    spline = data.splines.new("BEZIER")
    spline.bezier_points.add(len(places) - 1)
    for point, (x, y, z) in zip(spline.bezier_points, places, strict=True):
        point.co = (x * size, y * size, z * size)
        point.handle_left_type = point.handle_right_type = "AUTO"
    curve = bpy.data.objects.new(name, data)
    (context.collection or context.scene.collection).objects.link(curve)
    return curve
