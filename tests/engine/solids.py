# SPDX-License-Identifier: GPL-3.0-or-later
"""Solids whose inside is known, as meshes in all the states of repair that people's files have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.motion.rotations import Array, normalize, to_matrix

Depth = Callable[[Array], Array]
"""Points (P, 3) to signed distances (P,) from the surface in meters, negative inside."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A mesh and its truth. rough: meters that the mesh differs from it by."""

    mesh: TriangleMesh
    depth: Depth
    rough: float = 0.002


def grid(points: Array, *, around: bool, along: bool = False) -> TriangleMesh:
    """Points (R, C, 3) joined by triangles, closed around the columns, and along the rows, where asked."""
    rows, columns = points.shape[:2]
    r, c = np.meshgrid(np.arange(rows - (not along)), np.arange(columns - (not around)), indexing="ij")
    up, on = (r + 1) % rows, (c + 1) % columns
    corners = np.stack((r * columns + c, up * columns + c, up * columns + on, r * columns + on), -1).reshape(-1, 4)
    return TriangleMesh(points.reshape(-1, 3), np.concatenate((corners[:, [0, 1, 2]], corners[:, [0, 2, 3]])))


def outline(profile: Array, steps: int = 64) -> TriangleMesh:
    """A profile (R, 2) of radius and height turned about Z."""
    angle = np.arange(steps) * (2 * np.pi / steps)
    ring = np.stack((np.cos(angle), np.sin(angle)), -1)
    points = np.concatenate(
        (profile[:, :1, None] * ring, np.broadcast_to(profile[:, 1:, None], (len(profile), steps, 1))), axis=2
    )
    return grid(points, around=True)


def box(half: Array, steps: int = 12) -> TriangleMesh:
    """A cuboid, each side of `steps` x `steps` squares, its normals outwards."""
    t = np.linspace(-1, 1, steps + 1)
    u, v = np.meshgrid(t, t, indexing="ij")
    sides = []
    for axis in range(3):
        for sign in (-1, 1):
            points = np.empty((*u.shape, 3))
            points[..., axis], points[..., (axis + 1) % 3], points[..., (axis + 2) % 3] = sign, u, sign * v
            sides.append(grid(points * half, around=False))
    return TriangleMesh.joined(sides)


def cuboid(half: tuple[float, float, float] = (0.45, 0.3, 0.6), middle: Array | None = None) -> Solid:
    edges, center = np.array(half), np.zeros(3) if middle is None else middle

    def depth(points: Array) -> Array:
        gap = np.abs(points - center) - edges
        return np.linalg.norm(np.maximum(gap, 0), axis=1) + np.minimum(gap.max(1), 0)

    return Solid(box(edges).transformed(moved(center)), depth)


def ball() -> Solid:
    angle = np.linspace(0, np.pi, 40)
    profile = 0.5 * np.column_stack((np.sin(angle), np.cos(angle)))
    return Solid(outline(profile), lambda p: np.linalg.norm(p, axis=1) - 0.5)


def column() -> Solid:
    side = np.linspace(0.5, -0.5, 20)
    profile = np.concatenate(([[0, 0.5]], np.column_stack((np.full(20, 0.3), side)), [[0, -0.5]]))

    def depth(points: Array) -> Array:
        gap = np.column_stack((np.hypot(points[:, 0], points[:, 1]) - 0.3, np.abs(points[:, 2]) - 0.5))
        return np.linalg.norm(np.maximum(gap, 0), axis=1) + np.minimum(gap.max(1), 0)

    return Solid(outline(profile), depth)


def ring() -> Solid:
    angle = np.arange(40) * (-2 * np.pi / 40)
    turn = np.arange(64) * (2 * np.pi / 64)
    out = 0.5 + 0.16 * np.cos(angle)
    points = np.stack(
        (
            out[:, None] * np.cos(turn),
            out[:, None] * np.sin(turn),
            np.broadcast_to(0.16 * np.sin(angle)[:, None], (40, 64)),
        ),
        -1,
    )

    def depth(p: Array) -> Array:
        return np.hypot(np.hypot(p[:, 0], p[:, 1]) - 0.5, p[:, 2]) - 0.16

    return Solid(grid(points, around=True, along=True), depth)


def joined(*parts: Solid) -> Solid:
    """Solids that may reach into each other."""
    return Solid(TriangleMesh.joined([p.mesh for p in parts]), lambda at: np.min([p.depth(at) for p in parts], axis=0))


def crossed() -> Solid:
    """Three beams through each other."""
    return joined(cuboid((0.6, 0.15, 0.15)), cuboid((0.15, 0.6, 0.15)), cuboid((0.15, 0.15, 0.6)))


def stacked() -> Solid:
    """Two boxes, the one standing on the other: they share a face."""
    return joined(cuboid((0.4, 0.4, 0.2), np.array([0, 0, 0.2])), cuboid((0.3, 0.3, 0.25), np.array([0, 0, 0.65])))


def hollow() -> Solid:
    """A thick shell: its inside is empty."""
    outer, inner = cuboid((0.6, 0.6, 0.6)), cuboid((0.4, 0.4, 0.4))
    mesh = TriangleMesh.joined([outer.mesh, TriangleMesh(inner.mesh.vertices, inner.mesh.triangles[:, ::-1])])
    return Solid(mesh, lambda p: np.maximum(outer.depth(p), -inner.depth(p)))


SOLIDS = {f.__name__: f for f in (cuboid, ball, column, ring, crossed, stacked, hollow)}


def moved(place: Array, rotation: Array | None = None) -> Array:
    """The matrix (4, 4) of a place and a quaternion."""
    out = np.eye(4)
    out[:3, 3] = place
    if rotation is not None:
        out[:3, :3] = to_matrix(rotation)
    return out


def turned(solid: Solid, seed: int) -> Solid:
    """The solid somewhere, turned anyhow."""
    rng = np.random.default_rng(seed)
    matrix = moved(rng.uniform(-3, 3, 3), normalize(rng.normal(size=4)))
    inverse = np.linalg.inv(matrix)
    return Solid(
        solid.mesh.transformed(matrix), lambda p: solid.depth(p @ inverse[:3, :3].T + inverse[:3, 3]), solid.rough
    )


# States of repair


def whole(solid: Solid, _rng: np.random.Generator) -> Solid:
    return solid


def with_hole(solid: Solid, rng: np.random.Generator) -> Solid:
    """All faces near one place are missing: a hole of about 25 cm."""
    middles = solid.mesh.vertices[solid.mesh.triangles].mean(1)
    place = middles[rng.integers(len(middles))]
    return _with(solid, solid.mesh.triangles[np.linalg.norm(middles - place, axis=1) > 0.125])


def moth_eaten(solid: Solid, rng: np.random.Generator) -> Solid:
    """One face in twenty is missing."""
    return _with(solid, solid.mesh.triangles[rng.random(len(solid.mesh.triangles)) > 0.05])


def inside_out(solid: Solid, _rng: np.random.Generator) -> Solid:
    return _with(solid, solid.mesh.triangles[:, ::-1])


def some_flipped(solid: Solid, rng: np.random.Generator) -> Solid:
    """One face in seven looks the other way."""
    triangles = solid.mesh.triangles.copy()
    flipped = rng.random(len(triangles)) < 0.15
    triangles[flipped] = triangles[flipped, ::-1]
    return _with(solid, triangles)


def doubled(solid: Solid, _rng: np.random.Generator) -> Solid:
    """Each face is there twice."""
    return _with(solid, np.concatenate((solid.mesh.triangles, solid.mesh.triangles)))


def two_sided(solid: Solid, _rng: np.random.Generator) -> Solid:
    """Each face has one on its back."""
    return _with(solid, np.concatenate((solid.mesh.triangles, solid.mesh.triangles[:, ::-1])))


def noisy(solid: Solid, rng: np.random.Generator) -> Solid:
    """A scan: vertices are off by 5 mm."""
    vertices = solid.mesh.vertices + rng.normal(0, 0.005, solid.mesh.vertices.shape)
    return Solid(TriangleMesh(vertices, solid.mesh.triangles), solid.depth, 0.02)


REPAIR = (whole, with_hole, moth_eaten, inside_out, some_flipped, doubled, two_sided, noisy)


def _with(solid: Solid, triangles: Array) -> Solid:
    return Solid(TriangleMesh(solid.mesh.vertices, triangles), solid.depth, solid.rough)
