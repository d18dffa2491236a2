# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that show what a click in the viewport would do: a goal's arrow, a handle's area, the outline of a thing.

All are ends (2 N, 3) of lines in the world, Blender units, as ghosts.Ghost draws them.
"""

from __future__ import annotations

import math

import bpy
import numpy as np
from mathutils import Matrix, Vector

from ..nsm_blender.motion.rotations import Array
from .curves import meters_per_unit

_RADIUS = 0.18
"""Meters of the ring where a goal stands: about that of the feet together."""
_LENGTH = 0.5
"""Meters of a goal's arrow, which is that of its empty."""
_PIECES = 32
"""Lines of the ring."""
_BOX = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)]
"""The edges between the corners of an object's bounding box, in Blender's order."""
_UNIT = [(x, y, z) for x in (-1, 1) for y, z in ((-1, -1), (-1, 1), (1, 1), (1, -1))]
"""The corners of the cube from -1 to 1, in the same order."""


def arrow(context: bpy.types.Context, place: Vector, facing: float | None) -> Array:
    """A ring on the ground, and an arrow: along the facing (angle about +Z, 0 along -Y), or upright for None."""
    unit = 1 / meters_per_unit(context.scene)
    angles = np.linspace(0, 2 * math.pi, _PIECES + 1)
    ring = unit * _RADIUS * np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    if facing is None:
        along, across = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    else:
        along = np.array([math.sin(facing), -math.cos(facing), 0.0])
        across = np.array([math.cos(facing), math.sin(facing), 0.0])
    tip = unit * _LENGTH * along
    barbs = [unit * _LENGTH * (0.7 * along + sign * 0.15 * across) for sign in (-1, 1)]
    lines = [np.array([np.zeros(3), tip]), *(np.array([tip, barb]) for barb in barbs)]
    lines += [ring[number : number + 2] for number in range(_PIECES)]
    out: Array = np.concatenate(lines) + np.array(place)
    return out


def inner_radius(context: bpy.types.Context) -> float:
    """Blender units from a goal's place within which the mouse does not turn its arrow."""
    return _RADIUS / meters_per_unit(context.scene)


def outline(obj: bpy.types.Object) -> Array:
    """The edges of an object's bounding box."""
    return _edges(obj.matrix_world, np.array(obj.bound_box))


def area(world: Matrix, size: float) -> Array:
    """The edges of an empty's cube. world: its matrix. size: its display size, half of the cube's edge."""
    return _edges(world, size * np.array(_UNIT))


def _edges(world: Matrix, corners: Array) -> Array:
    """The edges of a box with corners (8, 3), in Blender's order, in the frame of a matrix."""
    matrix = np.array(world)
    placed = corners @ matrix[:3, :3].T + matrix[:3, 3]
    out: Array = placed[np.array(_BOX).ravel()]
    return out
