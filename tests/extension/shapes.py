# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects with simple shapes for tests of colliders, made without the extension's help."""

from __future__ import annotations

import bpy


def boxes(
    *parts: tuple[tuple[float, float, float], tuple[float, float, float]], name: str = "Thing"
) -> bpy.types.Object:
    """A mesh object of boxes, each from a low to a high corner."""
    corners: list[tuple[float, float, float]] = []
    faces: list[tuple[int, ...]] = []
    for low, high in parts:
        first = len(corners)
        corners += [(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
        sides = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
        faces += [tuple(first + corner for corner in side) for side in sides]
    data = bpy.data.meshes.new(name)
    data.from_pydata(corners, [], faces)
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def box(size: float = 2.0, name: str = "Thing") -> bpy.types.Object:
    """A cube around its origin."""
    half = size / 2
    return boxes(((-half,) * 3, (half,) * 3), name=name)


def chair(name: str = "Chair") -> bpy.types.Object:
    """A chair 45 cm high with its back to +Y, so that a sitter faces -Y."""
    legs = [((x, y, 0.0), (x + 0.04, y + 0.04, 0.41)) for x in (-0.24, 0.2) for y in (-0.24, 0.2)]
    seat, back = ((-0.24, -0.24, 0.41), (0.24, 0.24, 0.45)), ((-0.24, 0.2, 0.45), (0.24, 0.24, 0.95))
    return boxes(*legs, seat, back, name=name)


def select(*objects: bpy.types.Object) -> None:
    """Select these objects only; the first becomes active."""
    bpy.context.view_layer.update()
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[0]
