# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes that real models consist of: beveled boxes, cushions, turned legs, tubes, thin sheets. Meters, Z up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...geometry.mesh import TriangleMesh
from ...motion.rotations import Array

Point = Sequence[float] | Array
Points = Sequence[Point] | Array

PATCH = 0.03
"""Radius in meters around the middle of a seat over which its height is taken."""


def rounded_box(low: Point, high: Point, bevel: float, steps: int = 2, inner: int = 2) -> TriangleMesh:
    """The box between two corners with its edges and corners rounded off.

    bevel: radius in meters, at most half the shortest edge. steps: rows of faces over a rounded edge. inner: rows of
    faces over the flat part.
    """
    a, b = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    middle, half = (a + b) / 2, (b - a) / 2
    radius = min(bevel, 0.499 * float((b - a).min()))
    lines = [_line(h, radius, steps, inner) for h in half]
    vertices, triangles, count = [], [], 0
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        grid = np.stack(np.meshgrid(lines[u], lines[v], indexing="ij"), axis=-1)
        for sign in (-1.0, 1.0):
            face = np.empty((*grid.shape[:2], 3))
            face[..., u], face[..., v], face[..., axis] = grid[..., 0], grid[..., 1], sign * half[axis]
            faces = _grid_faces(*grid.shape[:2])
            vertices.append(face.reshape(-1, 3))
            triangles.append(count + (faces if sign > 0 else faces[:, ::-1]))
            count += len(vertices[-1])
    box = np.concatenate(vertices)
    core = np.clip(box, radius - half, half - radius)
    out = box - core
    length = np.linalg.norm(out, axis=1, keepdims=True)
    return TriangleMesh(middle + core + radius * out / length, np.concatenate(triangles))


def cushion(low: Point, high: Point, bevel: float, crown: float, lean: float = 0.0) -> TriangleMesh:
    """A rounded box with a top that bulges by `crown` meters in the middle, the top pushed `lean` meters along Y."""
    mesh = rounded_box(low, high, bevel, steps=3, inner=6)
    a, b = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    part = (mesh.vertices - (a + b) / 2) / ((b - a) / 2)
    bulge = np.clip(1 - part[:, 0] ** 2, 0, 1) * np.clip(1 - part[:, 1] ** 2, 0, 1)
    vertices = mesh.vertices.copy()
    vertices[:, 2] += crown * bulge * np.clip((part[:, 2] + 1) / 2, 0, 1)
    vertices[:, 1] += lean * (part[:, 2] + 1) / 2
    return TriangleMesh(vertices, mesh.triangles)


def throw_pillow(size: float, thickness: float) -> TriangleMesh:
    """A square pillow about the origin in the XZ plane, thick in the middle, thin toward its seams."""
    steps = np.linspace(-1, 1, 15)
    x, z = np.meshgrid(steps, steps, indexing="ij")
    # The seams are drawn in between the corners.
    drawn = 1 - 0.12 * (1 - np.maximum(np.abs(x), np.abs(z)) ** 2 * np.minimum(np.abs(x), np.abs(z)) ** 2)
    thick = thickness / 2 * (np.clip(1 - x**2, 0, 1) * np.clip(1 - z**2, 0, 1)) ** 0.45
    sides = []
    for sign in (-1.0, 1.0):
        sides.append(grid(np.stack([x * drawn * size / 2, sign * thick, z * drawn * size / 2], axis=-1), sign < 0))
    return TriangleMesh.joined(sides)


def rod(path: Points, radii: Point | float, sides: int = 12) -> TriangleMesh:
    """A round bar along a polyline (N, 3) with closed ends. radii: meters at each point, or everywhere."""
    points = np.asarray(path, dtype=float)
    radius = np.broadcast_to(np.asarray(radii, dtype=float), (len(points),))
    way = np.gradient(points, axis=0) if len(points) > 2 else np.repeat(np.diff(points, axis=0), 2, axis=0)
    way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-9)
    helper = np.eye(3)[int(np.abs(way).sum(0).argmin())]
    across = np.cross(way, helper)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    other = np.cross(way, across)
    turn = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    rings = (
        points[:, None]
        + radius[:, None, None] * (np.cos(turn)[:, None] * across[:, None] + np.sin(turn)[:, None] * other[:, None])
    )  # fmt: skip
    return _capped(rings, points[0], points[-1])


def turned(middle: Point, heights: Point, radii: Point, sides: int = 20) -> TriangleMesh:
    """A body of revolution about an upright axis: its radii at heights over `middle` (x, y, z)."""
    x, y, z = middle
    turn = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    rings = np.stack(
        [
            np.stack([x + r * np.cos(turn), y + r * np.sin(turn), np.full(sides, z + h)], axis=-1)
            for h, r in zip(heights, radii, strict=True)
        ]
    )
    return _capped(rings, np.array([x, y, z + heights[0]]), np.array([x, y, z + heights[-1]]))


def puck(middle: Point, radius: float, low: float, high: float, bevel: float = 0.01, sides: int = 32) -> TriangleMesh:
    """An upright cylinder with rounded edges between two heights over z = 0; only x and y of `middle` count."""
    bevel = min(bevel, 0.49 * (high - low))
    angle = np.linspace(0, np.pi / 2, 4)
    edge_r, edge_z = radius - bevel + bevel * np.cos(angle), bevel - bevel * np.sin(angle)
    heights = [*(low + edge_z[::-1]), *(high - edge_z)]
    return turned((middle[0], middle[1], 0.0), heights, [*edge_r[::-1], *edge_r], sides)


def square_leg(top: Point, foot: Point, wide: float, narrow: float) -> TriangleMesh:
    """A leg of square section, `wide` at its top and `narrow` at its foot; both ends are level."""
    ends = [np.asarray(foot, dtype=float), np.asarray(top, dtype=float)]
    corner = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) / 2
    share = np.linspace(0, 1, 4)
    rings = []
    for s in share:
        middle, size = ends[0] + s * (ends[1] - ends[0]), narrow + s * (wide - narrow)
        rings.append(np.column_stack([middle[:2] + size * corner, np.full(4, middle[2])]))
    return _capped(np.stack(rings), ends[0], ends[1])


def slab(near: Points, far: Points, low: float, high: float, columns: int = 6) -> TriangleMesh:
    """The solid between two curves of the YZ plane, of equally many points (y, z), from x = `low` to x = `high`."""
    a, b = np.asarray(near, dtype=float), np.asarray(far, dtype=float)
    ring = np.concatenate([a, b[::-1]])
    xs = np.linspace(low, high, columns)
    rings = np.stack([np.column_stack([np.full(len(ring), x), ring]) for x in xs])
    wall = grid(np.concatenate([rings, rings[:, :1]], axis=1), True)
    n = len(a)
    ends = []
    for x, flip in ((low, True), (high, False)):
        end = np.stack([np.column_stack([np.full(n, x), a]), np.column_stack([np.full(n, x), b])])
        ends.append(grid(end, not flip))
    return TriangleMesh.joined([wall, *ends])


def plate(outline: Points, low: float, high: float) -> TriangleMesh:
    """The upright prism over a convex outline (N, 2), given counter-clockwise, between two heights."""
    flat = np.asarray(outline, dtype=float)
    rings = np.stack([np.column_stack([flat, np.full(len(flat), z)]) for z in (low, high)])
    return _capped(rings, rings[0].mean(0), rings[1].mean(0))


def grid(points: Array, flipped: bool = False) -> TriangleMesh:
    """A single-sided sheet through a grid of points (N, M, 3)."""
    faces = _grid_faces(*points.shape[:2])
    return TriangleMesh(points.reshape(-1, 3).astype(float), faces[:, ::-1] if flipped else faces)


def sheet(corners: Points, rows: int = 6, columns: int = 6, sag: float = 0.0) -> TriangleMesh:
    """A single-sided sheet between four corners in their order around it. sag: meters by which its middle hangs
    down."""
    a, b, c, d = (np.asarray(corner, dtype=float) for corner in corners)
    u, v = (axis[..., None] for axis in np.meshgrid(np.linspace(0, 1, rows), np.linspace(0, 1, columns), indexing="ij"))
    points = (1 - u) * ((1 - v) * a + v * b) + u * ((1 - v) * d + v * c)
    points = points - np.array([0.0, 0.0, sag]) * 16 * u * (1 - u) * v * (1 - v)
    return grid(points)


def moved(mesh: TriangleMesh, place: Point = (0.0, 0.0, 0.0), angle: float = 0.0, tilt: float = 0.0) -> TriangleMesh:
    """The mesh tilted back by `tilt` about X, turned by `angle` about Z (both in radians), then moved to `place`."""
    c, s, ct, st = np.cos(angle), np.sin(angle), np.cos(tilt), np.sin(tilt)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]) @ np.array([[1.0, 0, 0], [0, ct, -st], [0, st, ct]])
    return TriangleMesh(mesh.vertices @ turn.T + np.asarray(place, dtype=float), mesh.triangles)


def top_at(parts: Sequence[TriangleMesh], place: Point, about: float = 0.0) -> float:
    """Height in meters of the highest surface of the parts over (x, y); -infinity without any.

    about: radius in meters within which the highest counts, so that gaps between slats and cushions do not.
    """
    mesh = TriangleMesh.joined(list(parts))
    corners = mesh.vertices[mesh.triangles]
    flat = corners[..., :2] - np.asarray(place, dtype=float)[:2]
    near = (flat.min(1) <= about).all(1) & (flat.max(1) >= -about).all(1)
    corners, flat = corners[near], flat[near]
    offsets = about * np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1]), axis=-1).reshape(-1, 2)
    return max(_top(corners, flat - offset) for offset in (offsets if about > 0 else np.zeros((1, 2))))


def _top(corners: Array, flat: Array) -> float:
    """Height of the highest of triangles (N, 3, 3) over the origin of `flat` (N, 3, 2), the x and y of their
    corners."""
    area = np.stack([_cross(flat[:, e], flat[:, (e + 1) % 3]) for e in range(3)], axis=1)
    total = area.sum(1)
    over = ((area >= 0).all(1) | (area <= 0).all(1)) & (np.abs(total) > 1e-12)
    if not over.any():
        return -np.inf
    weights = area[over][:, [1, 2, 0]] / total[over][:, None]
    return float((weights * corners[over][..., 2]).sum(1).max())


def _cross(a: Array, b: Array) -> Array:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def _line(half: float, radius: float, steps: int, inner: int) -> Array:
    """Coordinates of the rows of faces over an edge of a box, close together where it is rounded."""
    # Even in the angle of the rounded edge.
    edge = radius * (1 - np.tan(np.linspace(np.pi / 4, 0, steps + 1)))
    flat = np.linspace(radius - half, half - radius, inner + 1)
    return np.concatenate([edge[:-1] - half, flat, half - edge[:-1][::-1]])


def _grid_faces(rows: int, columns: int) -> Array:
    i, j = (axis.ravel() for axis in np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing="ij"))
    a = i * columns + j
    b, c, d = a + columns, a + columns + 1, a + 1
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def _capped(rings: Array, first: Array, last: Array) -> TriangleMesh:
    """The closed body through rings (N, M, 3), with its ends' middles (3,)."""
    count, sides = rings.shape[:2]
    i = np.arange(sides)
    j = (i + 1) % sides
    triangles = [np.stack([np.full(sides, count * sides), j, i], axis=1)]
    for row in range(0, (count - 1) * sides, sides):
        triangles.append(np.stack([row + i, row + j, row + sides + j], axis=1))
        triangles.append(np.stack([row + i, row + sides + j, row + sides + i], axis=1))
    end = (count - 1) * sides
    triangles.append(np.stack([np.full(sides, count * sides + 1), end + i, end + j], axis=1))
    return TriangleMesh(np.concatenate([rings.reshape(-1, 3), [first, last]]), np.concatenate(triangles))
