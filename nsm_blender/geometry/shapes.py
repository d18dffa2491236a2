# SPDX-License-Identifier: GPL-3.0-or-later
"""Solids of furniture, each as triangles and as cuboids, in meters with Z up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array
from .colliders import Cuboids
from .mesh import TriangleMesh

SLICE = 0.04
"""Thickness in meters of the steps in which cuboids follow round and leaning solids."""

# Corner 4 x + 2 y + z, each 0 (low) or 1 (high); counter-clockwise from outside.
_BOX_FACES = np.array(
    [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ]
)  # fmt: skip
"""Corner indices (12, 3) of a box's triangles."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A closed body: its mesh, and cuboids that fill it (exactly, or in steps of `SLICE` when it is not a box)."""

    mesh: TriangleMesh
    boxes: Cuboids


def joined_boxes(solids: list[Solid]) -> Cuboids:
    """The cuboids of all solids together."""
    return Cuboids(
        np.concatenate([solid.boxes.center for solid in solids]), np.concatenate([solid.boxes.half for solid in solids])
    )


def block(low: tuple[float, float, float], high: tuple[float, float, float]) -> Solid:
    """The box between two corners."""
    return leaning(low, high, 0.0)


def leaning(low: tuple[float, float, float], high: tuple[float, float, float], lean: float) -> Solid:
    """The box between two corners, its top pushed `lean` meters along Y."""
    ends = np.array([low, high], dtype=float)
    corner = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), axis=-1).reshape(-1, 3)
    vertices = ends[corner, [0, 1, 2]]
    vertices[:, 1] += lean * corner[:, 2]
    steps = 1 if lean == 0 else max(1, int(np.ceil(abs(lean) / (0.5 * SLICE))))
    middle = (np.arange(steps) + 0.5) / steps
    center = np.tile(ends.mean(axis=0), (steps, 1))
    center[:, 1] += lean * middle
    center[:, 2] = low[2] + (high[2] - low[2]) * middle
    half = np.tile((ends[1] - ends[0]) / 2, (steps, 1))
    half[:, 2] /= steps
    return Solid(TriangleMesh(vertices, _BOX_FACES), Cuboids(center, half))


def drum(center: tuple[float, float], radius: float, low: float, high: float, sides: int = 24) -> Solid:
    """An upright cylinder."""
    return pillow((*center, (low + high) / 2), (radius, radius, (high - low) / 2), power=None, sides=sides)


def pillow(
    center: tuple[float, float, float], half: tuple[float, float, float], power: float | None = 3.0, sides: int = 24
) -> Solid:
    """A round body with an elliptic outline from above.

    power: how full its sides bulge, |z|^power + |r|^power = 1 (2 is an ellipsoid); None: upright sides.
    """
    at, size = np.array(center), np.array(half)
    if power is None:
        rings = np.array([[1.0, -1.0], [1.0, 1.0]])
    else:
        # Even in the angle, not in height, so that the flat ends get rings too.
        angle = np.linspace(-np.pi / 2, np.pi / 2, 12)[1:-1]
        rings = np.stack([np.cos(angle) ** (2 / power), np.sign(angle) * np.abs(np.sin(angle)) ** (2 / power)], axis=-1)
    turn = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    wall = np.concatenate(
        [np.stack([r * np.cos(turn), r * np.sin(turn), np.full(sides, z)], axis=-1) for r, z in rings]
    )
    vertices = np.concatenate([wall, [[0, 0, -1.0], [0, 0, 1.0]]]) * size + at
    i = np.arange(sides)
    j, last, bottom = (i + 1) % sides, (len(rings) - 1) * sides, len(wall)
    triangles = [np.stack([np.full(sides, bottom), j, i], axis=-1)]
    for row in range(0, last, sides):
        triangles.append(np.stack([row + i, row + j, row + sides + j], axis=-1))
        triangles.append(np.stack([row + i, row + sides + j, row + sides + i], axis=-1))
    triangles.append(np.stack([np.full(sides, bottom + 1), last + i, last + j], axis=-1))
    return Solid(TriangleMesh(vertices, np.concatenate(triangles)), _round_boxes(at, size, power))


def spoke(
    start: tuple[float, float, float], end: tuple[float, float, float], thickness: float, height: float | None = None
) -> Solid:
    """A bar between the middles of its ends, at one height. height: of its section, None: as its thickness."""
    a, b = np.array(start, dtype=float), np.array(end, dtype=float)
    along = (b - a) / np.linalg.norm(b - a)
    across = np.array([-along[1], along[0], 0.0])
    tall = np.array([0.0, 0.0, thickness if height is None else height])
    corner = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), axis=-1).reshape(-1, 3)
    side = (corner[:, 1:2] - 0.5) * thickness
    vertices = a + corner[:, :1] * (b - a) + side * across + (corner[:, 2:] - 0.5) * tall
    count = max(1, int(np.ceil(np.linalg.norm(b - a) / SLICE)))
    center = a + (np.arange(count)[:, None] + 0.5) / count * (b - a)
    half = np.abs(b - a) / (2 * count) + np.abs(across) * thickness / 2 + tall / 2
    return Solid(TriangleMesh(vertices, _BOX_FACES), Cuboids(center, np.tile(half, (count, 1))))


def _round_boxes(at: Array, size: Array, power: float | None) -> Cuboids:
    """Layers along Z of strips along X: each as wide as the body in the strip's middle."""
    layers = 1 if power is None else max(2, int(np.ceil(2 * size[2] / SLICE)))
    z = (np.arange(layers) + 0.5) * 2 / layers - 1
    center, half = [], []
    for level in z:
        radius = 1.0 if power is None else (1 - abs(level) ** power) ** (1 / power)
        strips = max(2, int(np.ceil(2 * radius * size[1] / SLICE)))
        y = ((np.arange(strips) + 0.5) * 2 / strips - 1) * radius
        reach = np.sqrt(radius**2 - y**2)
        center.append(np.stack([np.zeros(strips), y, np.full(strips, level)], axis=-1) * size + at)
        half.append(np.stack([reach, np.full(strips, radius / strips), np.full(strips, 1 / layers)], axis=-1) * size)
    return Cuboids(np.concatenate(center), np.concatenate(half))
