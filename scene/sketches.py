# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines and triangles that stand for cuboids, handles and sensors, as arrays for the graphics card."""

from __future__ import annotations

import numpy as np

from ..nsm_blender.geometry import roles
from ..nsm_blender.geometry.colliders import Cuboids
from ..nsm_blender.motion.rotations import Array
from .sensing import Sensed

_SIGNS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float32)
_EDGES = np.array([(i, j) for i in range(8) for j in range(i + 1, 8) if (_SIGNS[i] != _SIGNS[j]).sum() == 1])
_SIDES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
_FACES = np.array([(a, *pair) for a, b, c, d in _SIDES for pair in ((b, c), (c, d))])
_ARROW = 0.4
"""Meters of an arrow."""
_SHARE = 0.3
"""Part of a cell's size that is drawn, so that the gaps between cells show."""
_ARC = 16
"""Pieces of the arc of a door."""


def boxes(cuboids: Cuboids) -> tuple[Array, Array]:
    """Corners (8 N, 3) float32 and edges (12 N, 2) int32 into them."""
    corners = (cuboids.center[:, None] + _SIGNS * cuboids.half[:, None]).reshape(-1, 3)
    edges = (8 * np.arange(len(cuboids.center))[:, None, None] + _EDGES).reshape(-1, 2)
    return corners.astype(np.float32), edges.astype(np.int32)


def cells(sensed: Sensed) -> tuple[Array, Array, Array]:
    """Vertices (V, 3) float32, triangles (N, 3) int32 and opacities (V,) float32 of the cells that sense something."""
    shape, faces = _ball() if sensed.round else (_SIGNS, _FACES)
    touched = sensed.values > 0
    places, values = sensed.places[touched], sensed.values[touched]
    vertices = (places[:, None] + _SHARE * sensed.radius * shape).reshape(-1, 3)
    triangles = (len(shape) * np.arange(len(places))[:, None, None] + faces).reshape(-1, 3)
    return vertices.astype(np.float32), triangles.astype(np.int32), np.repeat(values, len(shape)).astype(np.float32)


def handles(kept: roles.Handles | None) -> Array:
    """Ends (2 N, 3) float32 of the lines that show handles in the collider's frame."""
    lines: list[Array] = []
    if isinstance(kept, roles.Seat | roles.Surface):
        lines = [*_area(kept), *_arrow(kept.place, kept.facing)]
    elif isinstance(kept, roles.Carryable):
        middle = (np.array(kept.left) + kept.right) / 2
        lines = [np.array([kept.left, kept.right]), *_arrow(middle, kept.facing)]
    elif isinstance(kept, roles.Climbable):
        lines = [*_arrow(kept.edge, kept.facing), np.array([kept.edge, kept.landing])]
    elif isinstance(kept, roles.Door):
        lines = _swing(kept)
    return np.concatenate([np.zeros((0, 3)), *lines]).astype(np.float32)


def _area(kept: roles.Seat | roles.Surface) -> list[Array]:
    """The rectangle of a seat or surface."""
    facing = np.array(kept.facing) * kept.depth / 2
    across = _across(kept.facing) * kept.width / 2
    ring = [np.array(kept.place) + x * across + y * facing for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    return [np.array([ring[i - 1], ring[i]]) for i in range(4)]


def _arrow(place: Array | list[float], facing: list[float]) -> list[Array]:
    """An arrow from a place along a unit vector."""
    start, along = np.array(place), np.array(facing) * _ARROW
    tip, side = start + along, _across(facing) * _ARROW / 5
    return [np.array([start, tip])] + [np.array([tip, tip - 0.3 * along + sign * side]) for sign in (-1, 1)]


def _swing(door: roles.Door) -> list[Array]:
    """The hinge, and the arc on which the leaf's free edge goes."""
    hinge, axis = np.array(door.hinge), np.array(door.axis)
    arm = np.array(door.handle) - hinge
    arm -= (arm @ axis) * axis
    length = np.linalg.norm(arm)
    lines = [np.array([hinge, hinge + door.height * axis])]
    if length < 1e-6:
        return lines
    arm *= door.width / length
    side = np.cross(axis, arm)
    turn = np.linspace(0, door.angle, _ARC + 1)[:, None]
    arc = hinge + np.cos(turn) * arm + np.sin(turn) * side
    return [*lines, *(arc[i : i + 2] for i in range(_ARC)), np.array([hinge, arc[0]]), np.array([hinge, arc[-1]])]


def _across(facing: list[float]) -> Array:
    """A unit vector across a facing, level where that is possible."""
    forward = np.array(facing)
    across = np.cross(forward, [0.0, 0.0, 1.0] if abs(forward[2]) < 0.9 else [1.0, 0.0, 0.0])
    return across / np.linalg.norm(across)


def _ball() -> tuple[Array, Array]:
    """Vertices (18, 3) on the unit sphere and triangles: an octahedron, each face parted in four."""
    corners = [np.array(v, dtype=float) for v in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1))]
    vertices = {tuple(corner): i for i, corner in enumerate(corners)}

    def number(point: Array) -> int:
        return vertices.setdefault(tuple((point / np.linalg.norm(point)).tolist()), len(vertices))

    faces = []
    for x in (0, 3):
        for y in (1, 4):
            for z in (2, 5):
                a, b, c = corners[x], corners[y], corners[z]
                ab, bc, ca = number(a + b), number(b + c), number(c + a)
                faces += [(x, ab, ca), (ab, y, bc), (ca, bc, z), (ab, bc, ca)]
    return np.array(list(vertices), dtype=np.float32), np.array(faces)
