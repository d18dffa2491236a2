# SPDX-License-Identifier: GPL-3.0-or-later
"""Triangles as plain arrays: what the scene hands over to become a collider."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """A soup of triangles; it need not be closed, manifold or consistently oriented.

    vertices: (V, 3) float64 meters. triangles: (N, 3) integers into the vertices.
    """

    vertices: Array
    triangles: Array

    @staticmethod
    def joined(meshes: list[TriangleMesh]) -> TriangleMesh:
        """Several meshes as one; none gives an empty mesh."""
        if not meshes:
            return TriangleMesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))
        starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes[:-1]])
        return TriangleMesh(
            np.concatenate([mesh.vertices for mesh in meshes]),
            np.concatenate([mesh.triangles + start for mesh, start in zip(meshes, starts, strict=True)]),
        )

    def transformed(self, matrix: Array) -> TriangleMesh:
        """The mesh under an affine map (4, 4)."""
        return TriangleMesh(self.vertices @ matrix[:3, :3].T + matrix[:3, 3], self.triangles)
