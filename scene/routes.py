# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes of action keys as curves: shown, edited by the animator, and followed once they were edited."""

from __future__ import annotations

import json

import bpy
import numpy as np

from ..nsm_blender.motion.rotations import Array
from . import curves, keys

_MARK = "nsm_route"
"""Custom property of a curve that was made here: how it was made, to see whether it was edited."""
_SPACING = 0.5
"""Meters between the points of a curve: near enough for the way, far enough apart to edit."""
_RESOLUTION = 12
"""Segments of the evaluated spline between two points of a route's curve."""


def is_own(obj: bpy.types.Object | None) -> bool:
    """Whether a key's curve is the animator's own: edited, or not made here at all."""
    return obj is not None and obj.get(_MARK) != _written(obj)


def own(context: bpy.types.Context, key: keys.NSM_PG_action_key) -> Array:
    """The animator's own way (N, 3) in world meters; (0, 3) when the way is to be found. Raises ShotError."""
    if not is_own(key.route):
        return np.zeros((0, 3))
    return curves.polyline(context, key.route).points


def show(
    context: bpy.types.Context, armature: bpy.types.Object, key: keys.NSM_PG_action_key, name: str, points: Array
) -> bpy.types.Object:
    """Make the curve of a found route, or move the one that is there; an edited one stays as it is.

    points: (N, 3) world meters.
    """
    if is_own(key.route):
        return key.route
    curve = key.route
    if curve is None:
        curve = bpy.data.objects.new(name, _line())
        (armature.users_collection[0] if armature.users_collection else context.scene.collection).objects.link(curve)
        key.route = curve
    curve.name = curve.data.name = name
    _draw(curve.data, points / curves.meters_per_unit(context.scene))
    curve[_MARK] = _written(curve)
    return curve


def forget(key: keys.NSM_PG_action_key) -> None:
    """Take the route off a key; a curve that was made here goes, one that the animator made stays."""
    curve = key.route
    key.route = None
    if curve is None or _MARK not in curve or curve.library is not None:
        return
    data = curve.data
    bpy.data.objects.remove(curve)
    if not data.users:
        bpy.data.curves.remove(data)


def _line() -> bpy.types.Curve:
    data = bpy.data.curves.new("Route", "CURVE")
    data.dimensions = "3D"
    data.resolution_u = _RESOLUTION
    return data


def _draw(data: bpy.types.Curve, points: Array) -> None:
    """Replace what the curve shows by a smooth line through places (N, 3), in Blender units, spread evenly."""
    along = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))))
    at = np.linspace(0, along[-1], max(2, round(along[-1] / _SPACING) + 1))
    data.splines.clear()
    spline = data.splines.new("BEZIER")
    spline.bezier_points.add(len(at) - 1)
    for point, place in zip(
        spline.bezier_points, np.stack([np.interp(at, along, p) for p in points.T], axis=1), strict=True
    ):
        point.co = place
        point.handle_left_type = point.handle_right_type = "AUTO"


def _written(obj: bpy.types.Object) -> str:
    """All that an edit of a curve would change, as text."""
    splines = [
        [_bezier(point) for point in spline.bezier_points] + [[*point.co] for point in spline.points]
        for spline in obj.data.splines
    ]
    modifiers = [modifier.type for modifier in obj.modifiers]
    return json.dumps([splines, [list(row) for row in obj.matrix_basis], modifiers])


def _bezier(point: bpy.types.BezierSplinePoint) -> list[object]:
    """A point's place and handles; Blender works automatic ones out later, by itself."""
    types = [point.handle_left_type, point.handle_right_type]
    by_hand = [] if types == ["AUTO", "AUTO"] else [*point.handle_left, *point.handle_right]
    return [*point.co, *types, *by_hand]
