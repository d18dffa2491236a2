# SPDX-License-Identifier: GPL-3.0-or-later
"""Distances from points to true meshes and tests for being inside them, for the measures of contact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..motion.rotations import Array
from .mesh import TriangleMesh

_PAIRS = 1 << 21
"""Pairs of a point and a triangle that are examined together, which bounds the memory."""
_ROUNDING = 1e-4
"""Rounding in meters that bounds in single precision may have."""
_SAME = 1e-5
"""Distance in meters within which two vertices count as one when a part is tested for being closed."""
_RAYS = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
"""Orders of the axes of the three rays that vote on whether a point is inside."""
_ASIDE = 1.37e-6, 2.11e-6
"""Offsets in meters of a ray from its point, so that it does not run along the edges of tidy meshes."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The surface nearest to each of P points.

    distance: (P,) meters, infinite beyond the reach. place: (P, 3) on the surface. inside: (P,) whether the point is
    inside a closed part; the distance is then that to the part's surface, the way out.
    """

    distance: Array
    place: Array
    inside: Array

    def depth(self, radii: Array | float) -> Array:
        """Depths (P,) in meters by which balls of radii (P,) around the points are in the mesh, 0 outside."""
        signed = np.where(self.inside, -self.distance, self.distance)
        return np.maximum(radii - signed, 0.0)

    def outward(self, points: Array) -> Array:
        """Unit vectors (P, 3) along which the points (P, 3) leave the mesh; 0 where nothing is within reach."""
        away = np.where(self.inside[:, None], self.place - points, points - self.place)
        length = np.linalg.norm(away, axis=1, keepdims=True)
        known = np.isfinite(self.distance)[:, None] & (length > 1e-9)
        return np.where(known, away / np.maximum(length, 1e-9), 0.0)


class Part:
    """A loose part of a mesh, as corners (N, 3, 3) of its triangles in meters."""

    def __init__(self, mesh: TriangleMesh) -> None:
        self.corners: Array = np.asarray(mesh.vertices, dtype=float)[np.asarray(mesh.triangles)]
        self._mesh = mesh
        flat = self.corners.reshape(-1, 3)
        self.low, self.high = flat.min(axis=0, initial=np.inf), flat.max(axis=0, initial=-np.inf)
        middle = self.corners.mean(axis=1)
        self._radius = np.linalg.norm(self.corners - middle[:, None], axis=-1).max(axis=-1).astype(np.float32)
        self._origin = middle.mean(axis=0)
        self._middle = (middle - self._origin).astype(np.float32)
        normal = np.cross(self.corners[:, 1] - self.corners[:, 0], self.corners[:, 2] - self.corners[:, 0])
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        self._normal = (normal / np.where(length > 1e-12, length, np.inf)).astype(np.float32)

    @cached_property
    def closed(self) -> bool:
        """Whether each edge is shared by an even number of triangles, so that the part has an inside."""
        welded = np.round(np.asarray(self._mesh.vertices, dtype=float) / _SAME).astype(np.int64)
        _, number = np.unique(welded, axis=0, return_inverse=True)
        triangles = number.reshape(-1)[np.asarray(self._mesh.triangles)]
        kept = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
        edges = np.sort(np.concatenate([triangles[kept][:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))]), axis=1)
        _, counts = np.unique(edges, axis=0, return_counts=True)
        return bool(len(counts)) and bool((counts % 2 == 0).all())

    def near(self, points: Array, reach: Array | float) -> Array:
        """Numbers of the points (P, 3) that are within `reach` of the part's bounding box."""
        gap = np.maximum(self.low - points, points - self.high).max(axis=1)
        return np.flatnonzero(gap <= reach)

    def inside(self, points: Array) -> Array:
        """Whether each of P points is inside, by the votes of three rays; a part that is open has no inside."""
        out = np.zeros(len(points), dtype=bool)
        if not self.closed:
            return out
        chosen = self.near(points, 0.0)
        step = max(_PAIRS // max(len(self.corners), 1), 1)
        for start in range(0, len(chosen), step):
            some = chosen[start : start + step]
            votes = sum(self._crossings(points[some], axes) % 2 for axes in _RAYS)
            out[some] = np.asarray(votes) >= 2
        return out

    def _crossings(self, points: Array, axes: tuple[int, int, int]) -> Array:
        """Numbers (P,) of triangles that a ray from each point along the last of the axes crosses."""
        a, b, c = axes
        x, y, z = points[:, a] + _ASIDE[0], points[:, b] + _ASIDE[1], points[:, c]
        flat, up = self.corners[:, :, [a, b]], self.corners[:, :, c]
        low, high = flat.min(axis=1), flat.max(axis=1)
        met = (x[:, None] >= low[:, 0]) & (x[:, None] <= high[:, 0]) & (y[:, None] >= low[:, 1])
        met &= (y[:, None] <= high[:, 1]) & (z[:, None] <= up.max(axis=1))
        point, triangle = np.nonzero(met)
        height = _height(flat[triangle], up[triangle], x[point], y[point])
        return np.bincount(point[height > z[point]], minlength=len(points))

    def nearest(self, points: Array, reach: Array) -> tuple[Array, Array]:
        """Distances (P,) from points (P, 3), infinite beyond reach (P,), and the nearest places (P, 3)."""
        distance, place = np.full(len(points), np.inf), np.zeros((len(points), 3))
        step = max(_PAIRS // max(len(self.corners), 1), 1)
        for start in range(0, len(points), step):
            some = points[start : start + step]
            least = self._at_least(some)
            # The triangle with the least lower bound gives an upper bound of the distance.
            first = _closest(some, self.corners[least.argmin(axis=1)])
            bound = np.minimum(np.linalg.norm(first - some, axis=1), reach[start : start + step]) + _ROUNDING
            point, triangle = np.nonzero(least <= bound[:, None])
            if not len(point):
                continue
            found = _closest(some[point], self.corners[triangle])
            gap = np.linalg.norm(found - some[point], axis=1)
            order = np.lexsort((gap, point))
            best = order[np.flatnonzero(np.diff(point[order], prepend=-1))]
            distance[start + point[best]], place[start + point[best]] = gap[best], found[best]
        distance[distance > reach] = np.inf
        return distance, place

    def _at_least(self, points: Array) -> Array:
        """Lower bounds (P, N) in meters of the distance from each point to each triangle: to its ball, and to its
        plane."""
        local = (points - self._origin).astype(np.float32)
        middle, normal = self._middle, self._normal
        away = np.einsum("ij,ij->i", local, local)[:, None] + np.einsum("ij,ij->i", middle, middle)
        away -= 2 * (local @ middle.T)
        np.sqrt(np.maximum(away, 0, out=away), out=away)
        away -= self._radius
        off = local @ normal.T
        off -= np.einsum("ij,ij->i", middle, normal)
        return np.asarray(np.maximum(away, np.abs(off, out=off), out=away))


class MeshDistance:
    """Distances to a thing made of loose parts."""

    def __init__(self, parts: list[TriangleMesh]) -> None:
        self.parts = [Part(part) for part in parts if len(part.triangles)]
        self.low = np.min([part.low for part in self.parts], axis=0) if self.parts else np.full(3, np.inf)
        self.high = np.max([part.high for part in self.parts], axis=0) if self.parts else np.full(3, -np.inf)

    def nearest(self, points: Array, reach: Array | float) -> Nearest:
        """The surfaces nearest to points (P, 3) within reach (P,) meters. Of several parts around a point, the one with
        the farthest surface counts: the point has to leave it."""
        count = len(points)
        reach = np.broadcast_to(np.asarray(reach, dtype=float), (count,))
        out = Nearest(np.full(count, np.inf), np.zeros((count, 3)), np.zeros(count, dtype=bool))
        gap = np.maximum(self.low - points, points - self.high).max(axis=1, initial=-np.inf)
        chosen = np.flatnonzero(gap <= reach)
        for part in self.parts if len(chosen) else []:
            some = chosen[part.near(points[chosen], reach[chosen])]
            if not len(some):
                continue
            inside = part.inside(points[some])
            distance, place = part.nearest(points[some], np.where(inside, np.inf, reach[some]))
            was, before = out.inside[some], out.distance[some]
            better = np.where(inside, ~was | (distance > before), ~was & (distance < before))
            taken = some[better]
            out.distance[taken], out.place[taken], out.inside[taken] = distance[better], place[better], inside[better]
        return out

    def depth_inside(self, points: Array) -> Array:
        """Distances (P,) in meters to the way out for points (P, 3) inside a closed part; 0 for all others."""
        out = np.zeros(len(points))
        boxed = np.flatnonzero(((points >= self.low) & (points <= self.high)).all(axis=1))
        for part in self.parts if len(boxed) else []:
            some = boxed[part.inside(points[boxed])]
            if len(some):
                distance, _ = part.nearest(points[some], np.full(len(some), np.inf))
                out[some] = np.maximum(out[some], distance)
        return out

    def top_below(self, points: Array) -> Array:
        """Heights (P,) of the highest surface straight below each of points (P, 3), minus infinity without any."""
        out = np.full(len(points), -np.inf)
        for part in self.parts:
            flat, up = part.corners[:, :, :2], part.corners[:, :, 2]
            low, high = flat.min(axis=1), flat.max(axis=1)
            x, y, z = points.T
            met = (x[:, None] >= low[:, 0]) & (x[:, None] <= high[:, 0]) & (y[:, None] >= low[:, 1])
            met &= (y[:, None] <= high[:, 1]) & (z[:, None] >= up.min(axis=1))
            point, triangle = np.nonzero(met)
            height = _height(flat[triangle], up[triangle], x[point], y[point])
            height[height > z[point]] = -np.inf
            height[np.isnan(height)] = -np.inf
            np.maximum.at(out, point, height)
        return out

    def first_hit(self, points: Array, way: Array) -> Array:
        """Distances (P,) in meters along a unit vector (3,) from points (P, 3) to the first surface, infinite without
        any."""
        # In a frame with its third axis against the ray, the first hit is the highest surface below.
        helper = np.eye(3)[int(np.abs(way).argmin())]
        side = np.cross(helper, way)
        side /= np.linalg.norm(side)
        axes = np.stack((side, np.cross(way, side), -way))
        turned = [TriangleMesh(p.corners.reshape(-1, 3) @ axes.T, np.arange(3 * len(p.corners)).reshape(-1, 3))
                  for p in self.parts]  # fmt: skip
        local = points @ axes.T
        return np.asarray(local[:, 2] - MeshDistance(turned).top_below(local))


def samples(parts: list[TriangleMesh], spacing: float) -> Array:
    """Points (P, 3) on the surface of loose parts: all vertices, and more between them so that no point is farther from
    its neighbor than about `spacing` meters."""
    out = [np.zeros((0, 3))]
    for part in parts:
        corners = np.asarray(part.vertices, dtype=float)[np.asarray(part.triangles)]
        out.append(corners.reshape(-1, 3))
        edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1, initial=0.0)
        steps = np.ceil(edges / spacing).astype(int)
        for count in np.unique(steps[steps > 1]):
            i, j = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
            kept = i + j <= count
            share = np.stack((i[kept], j[kept], count - i[kept] - j[kept]), axis=1) / count
            out.append(np.einsum("sc,nci->nsi", share, corners[steps == count]).reshape(-1, 3))
    every = np.concatenate(out)
    cell = np.round(every / (spacing / 4)).astype(np.int64)
    _, first = np.unique(cell, axis=0, return_index=True)
    return every[first]


def _height(flat: Array, up: Array, x: Array, y: Array) -> Array:
    """Heights (N,) of triangles, flat (N, 3, 2) and up (N, 3), over places x, y (N,); NaN beside them."""
    a, b, c = flat[:, 0], flat[:, 1], flat[:, 2]
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        u = ((x - a[:, 0]) * (c[:, 1] - a[:, 1]) - (y - a[:, 1]) * (c[:, 0] - a[:, 0])) / area
        v = ((b[:, 0] - a[:, 0]) * (y - a[:, 1]) - (b[:, 1] - a[:, 1]) * (x - a[:, 0])) / area
        height = up[:, 0] + u * (up[:, 1] - up[:, 0]) + v * (up[:, 2] - up[:, 0])
        beside = (u < 0) | (v < 0) | (u + v > 1) | ~np.isfinite(height)
    return np.where(beside, np.nan, height)


def _closest(points: Array, corners: Array) -> Array:
    """The places (N, 3) on triangles (N, 3, 3) nearest to points (N, 3), one for one."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    ab, ac, ap = b - a, c - a, points - a
    d1, d2 = _dot(ab, ap), _dot(ac, ap)
    d3, d4 = d1 - _dot(ab, ab), d2 - _dot(ab, ac)
    d5, d6 = d1 - _dot(ab, ac), d2 - _dot(ac, ac)
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    total = va + vb + vc
    plain = (va >= 0) & (vb >= 0) & (vc >= 0) & (total > 1e-18)
    safe = np.where(plain, total, 1.0)
    best = a + ab * (vb / safe)[:, None] + ac * (vc / safe)[:, None]
    rest = np.flatnonzero(~plain)
    if len(rest):
        tried = np.stack(
            [_on_edge(points[rest], *ends) for ends in ((a[rest], b[rest]), (b[rest], c[rest]), (c[rest], a[rest]))]
        )
        gap = np.linalg.norm(tried - points[rest], axis=-1)
        best[rest] = tried[gap.argmin(axis=0), np.arange(len(rest))]
    return np.asarray(best)


def _on_edge(points: Array, a: Array, b: Array) -> Array:
    along = b - a
    share = np.clip(_dot(points - a, along) / np.maximum(_dot(along, along), 1e-18), 0, 1)
    return np.asarray(a + share[:, None] * along)


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("ni,ni->n", a, b))
