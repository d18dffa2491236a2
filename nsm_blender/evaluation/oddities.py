# SPDX-License-Identifier: GPL-3.0-or-later
"""Furniture made odd, as it comes in people's files: turned, mirrored, damaged, noisy, out of measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..geometry.furniture import Piece
from ..geometry.mesh import TriangleMesh
from ..geometry.roles import Carryable, Climbable, Seat, Surface, moved
from ..geometry.shapes import drum
from ..motion.rotations import Array

Oddity = Callable[[np.random.Generator, Piece], Piece]

NOISE = 0.004
"""Standard deviation in meters of a scan's points."""


def turned(rng: np.random.Generator, piece: Piece) -> Piece:
    """Turned by any angle, and its origin anywhere."""
    angle = rng.uniform(-np.pi, np.pi)
    c, s = np.cos(angle), np.sin(angle)
    return _rigid(piece, np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]), rng.uniform(-3, 3, 3), "turned")


def mirrored(rng: np.random.Generator, piece: Piece) -> Piece:
    """Mirrored at the YZ plane, faces inside out, as a negative scale leaves it."""
    del rng
    out = _rigid(piece, np.diag([-1.0, 1.0, 1.0]), np.zeros(3), "mirrored")
    if piece.role == "carryable":
        grasps = (h for h in (out.handles, *out.also) if isinstance(h, Carryable))
        first, *others = (replace(h, left=h.right, right=h.left) for h in grasps)
        out = replace(out, handles=first, also=list(others))
    return out


def flipped(rng: np.random.Generator, piece: Piece) -> Piece:
    """Half of the faces point inwards."""
    triangles = piece.mesh.triangles.copy()
    half = rng.random(len(triangles)) < 0.5
    triangles[half] = triangles[half][:, ::-1]
    return replace(piece, mesh=TriangleMesh(piece.mesh.vertices, triangles), odd="flipped faces")


def holed(rng: np.random.Generator, piece: Piece) -> Piece:
    """A tenth of its surface is missing, and no two triangles share a vertex."""
    fine = subdivided(piece.mesh, 0.08)
    kept = fine.triangles[rng.random(len(fine.triangles)) > 0.1]
    soup = TriangleMesh(fine.vertices[kept].reshape(-1, 3), np.arange(3 * len(kept)).reshape(-1, 3))
    return replace(piece, mesh=soup, odd="holes")


def noisy(rng: np.random.Generator, piece: Piece) -> Piece:
    """As a scan has it: fine triangles, each point off by some millimeters."""
    fine = subdivided(piece.mesh, 0.04)
    vertices = fine.vertices + rng.normal(0.0, NOISE, fine.vertices.shape)
    return replace(piece, mesh=TriangleMesh(vertices, fine.triangles), odd="noise")


def one_legged(rng: np.random.Generator, piece: Piece) -> Piece:
    """A seat or table on a column instead of legs."""
    del rng
    assert isinstance(piece.handles, Seat | Surface)
    x, y, top = piece.handles.place
    upper = [part for part in piece.parts if part.vertices[:, 2].max() > top - 0.01]
    upper = [TriangleMesh(np.maximum(part.vertices, [-9, -9, top - 0.06]), part.triangles) for part in upper]
    column = [drum((x, y), 0.03, 0.0, top - 0.05).mesh, drum((x, y), 0.2, 0.0, 0.03).mesh]
    return replace(piece, mesh=TriangleMesh.joined([*upper, *column]), odd="one leg")


def raised(rng: np.random.Generator, piece: Piece) -> Piece:
    """On legs so long that it cannot be used: seats at 1.2 m, tables and steps beyond all reach."""
    assert isinstance(piece.handles, Seat | Surface | Climbable)
    at = piece.handles.edge if isinstance(piece.handles, Climbable) else piece.handles.place
    lift = {"seat": 1.2, "surface": 1.8, "climbable": 1.5}[piece.role] + rng.uniform(0.0, 0.1) - at[2]
    high = piece.mesh.vertices + np.where(piece.mesh.vertices[:, 2:] > 0.05, [0.0, 0.0, lift], 0.0)
    shift = np.array([0.0, 0.0, lift])
    also = [moved(other, np.eye(3), shift) for other in piece.also]
    return replace(
        piece,
        mesh=TriangleMesh(high, piece.mesh.triangles),
        handles=moved(piece.handles, np.eye(3), shift),
        also=also,
        odd="far too high",
    )


def tilted(rng: np.random.Generator, piece: Piece) -> Piece:
    """Tipped about the X axis, so that nothing on it is level."""
    angle = np.deg2rad(rng.uniform(16, 24)) * (1 if rng.random() < 0.5 else -1)
    c, s = np.cos(angle), np.sin(angle)
    return _rigid(piece, np.array([[1, 0, 0], [0, c, -s], [0, s, c]]), np.zeros(3), "tilted")


def enlarged(rng: np.random.Generator, piece: Piece) -> Piece:
    """So large that no hands span it."""
    factor = rng.uniform(3.5, 4.5)
    return replace(piece, mesh=TriangleMesh(piece.mesh.vertices * factor, piece.mesh.triangles), odd="far too wide")


def subdivided(mesh: TriangleMesh, edge: float) -> TriangleMesh:
    """The mesh with all edges shorter than `edge` meters; the halves of an edge meet, so that closed stays closed."""
    corners = np.asarray(mesh.vertices, dtype=float)[mesh.triangles]
    done: list[Array] = []
    while len(corners):
        length = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2)
        long = length.max(axis=1) > edge
        done.append(corners[~long])
        corners, length = corners[long], length[long]
        # Halve the longest edge: it is the longest one of its neighbor sooner or later.
        first = length.argmax(axis=1)
        rows = np.arange(len(corners))
        a, b, c = (corners[rows, (first + k) % 3] for k in range(3))
        middle = (a + b) / 2
        corners = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    places = np.concatenate(done).reshape(-1, 3)
    # Equal places as equal whole numbers of micrometers: much faster than unique rows.
    cell = np.round((places - places.min(axis=0)) * 1e6).astype(np.int64)
    across = cell.max(axis=0) + 1
    key = (cell[:, 0] * across[1] + cell[:, 1]) * across[2] + cell[:, 2]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return TriangleMesh(places[first], inverse.reshape(-1, 3))


def _rigid(piece: Piece, rotation: Array, shift: Array, odd: str) -> Piece:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, shift
    handles = None if piece.handles is None else moved(piece.handles, rotation, shift)
    also = [moved(other, rotation, shift) for other in piece.also]
    return replace(piece, mesh=piece.mesh.transformed(matrix), handles=handles, also=also, odd=odd)
