# SPDX-License-Identifier: GPL-3.0-or-later
"""Any mesh becomes solid voxels: what is inside is filled, what is outside is not."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.errors import ColliderError
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.geometry.voxels import Voxels, voxelize
from nsm_blender.motion.rotations import Array

from . import solids
from .solids import REPAIR, SOLIDS, Solid, turned

SIZE = 0.04
CASES = [
    (name, repair.__name__) for name in SOLIDS for repair in REPAIR if (name, repair) != ("hollow", solids.two_sided)
]


def middles(voxels: Voxels) -> Array:
    """Of all cells, (X * Y * Z, 3), in the order of `filled`."""
    cells = np.stack(np.meshgrid(*map(np.arange, voxels.filled.shape), indexing="ij"), -1).reshape(-1, 3)
    return voxels.origin + (cells + 0.5) * voxels.size


def judged(solid: Solid) -> tuple[Array, Array, Array]:
    """Which cells (N,) are filled; which lie inside and which outside by more than a cell and the mesh's roughness."""
    voxels = voxelize(solid.mesh, SIZE)
    depth, shell = solid.depth(middles(voxels)), SIZE * np.sqrt(3) / 2 + solid.rough
    return voxels.filled.reshape(-1), depth < -shell, depth > shell


@pytest.mark.parametrize(("name", "repair"), CASES)
def test_the_volume_is_right_within_a_shell_of_one_voxel(name: str, repair: str) -> None:
    solid = getattr(solids, repair)(turned(SOLIDS[name](), seed=1), np.random.default_rng(1))
    filled, inside, outside = judged(solid)
    assert inside.sum() <= filled.sum() <= len(filled) - outside.sum()
    # Not by chance: hardly a cell is on the wrong side.
    assert (inside & ~filled).sum() <= 0.03 * inside.sum()
    assert (outside & filled).sum() <= 0.001 * outside.sum()


@pytest.mark.parametrize("repair", ["whole", "inside_out", "doubled"])
@pytest.mark.parametrize("name", SOLIDS)
def test_of_a_closed_mesh_every_cell_is_right(name: str, repair: str) -> None:
    for seed in (2, 3):
        solid = getattr(solids, repair)(turned(SOLIDS[name](), seed), np.random.default_rng(seed))
        filled, inside, outside = judged(solid)
        assert filled[inside].all()
        assert not filled[outside].any()


def test_a_box_of_whole_voxels_gets_exactly_these() -> None:
    voxels = voxelize(solids.cuboid((0.4, 0.2, 0.6)).mesh, SIZE)
    assert voxels.filled.shape == (20, 10, 30)
    assert voxels.filled.all()
    assert voxels.origin == pytest.approx([-0.4, -0.2, -0.6])
    assert voxels.volume() == pytest.approx(0.8 * 0.4 * 1.2)


def in_cell(corners: Array, cell: Array) -> bool:
    """Whether a triangle (3, 3) has anything left when it is cut off at the six sides of a cell."""
    polygon = corners - cell
    for axis in range(3):
        for sign in (-1, 1):
            # A surface on the border of two cells may be counted to either.
            room = (polygon[:, axis] if sign < 0 else 1 - polygon[:, axis]) + 1e-3
            kept = []
            for i, corner in enumerate(polygon):
                j = (i + 1) % len(polygon)
                if room[i] >= 0:
                    kept.append(corner)
                if (room[i] >= 0) != (room[j] >= 0):
                    kept.append(corner + room[i] / (room[i] - room[j]) * (polygon[j] - corner))
            if not kept:
                return False
            polygon = np.array(kept)
    return True


@pytest.mark.parametrize("seed", range(4))
def test_every_point_of_the_surface_lies_in_a_filled_cell_and_every_filled_cell_holds_some(seed: int) -> None:
    """Small, long and flat triangles, none of which encloses anything."""
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-1, 1, (4, 3, 3)) * rng.permutation([0.05, 0.2, 0.5])
    voxels = voxelize(TriangleMesh(corners.reshape(-1, 3), np.arange(12).reshape(-1, 3)), SIZE)
    points = np.einsum("pc,tcx->tpx", rng.dirichlet((0.7, 0.7, 0.7), 60_000), corners).reshape(-1, 3)
    cells = (points - voxels.origin) / SIZE
    cells = cells[(np.abs(cells - np.round(cells)) > 1e-3).all(1)]
    assert voxels.filled[tuple(np.floor(cells).astype(int).T)].all()
    for cell in np.argwhere(voxels.filled):
        assert any(in_cell(triangle, cell) for triangle in (corners - voxels.origin) / SIZE)


@pytest.mark.parametrize("axis", range(3))
def test_an_open_plane_is_one_layer(axis: int) -> None:
    u, v = (a for a in range(3) if a != axis)
    corners = np.zeros((4, 3))
    corners[:, u], corners[:, v] = [-0.5, 0.5, 0.5, -0.5], [-0.5, -0.5, 0.5, 0.5]
    voxels = voxelize(TriangleMesh(corners, np.array([[0, 1, 2], [0, 2, 3]])), 0.05)
    assert voxels.filled.shape[axis] == 1
    assert voxels.filled.all()
    assert voxels.filled.size == 400


def test_an_open_crate_is_filled_but_a_room_is_not() -> None:
    for edge, solid in ((0.5, True), (4.0, False)):
        mesh = solids.box(np.full(3, edge / 2), 4)
        top = mesh.vertices[mesh.triangles][:, :, 2].min(1) > edge / 2 - 1e-9
        voxels = voxelize(TriangleMesh(mesh.vertices, mesh.triangles[~top]), 0.05)
        assert voxels.filled[tuple(np.array(voxels.filled.shape) // 2)] == solid
        assert voxels.filled[:, :, 0].all()


def test_a_scan_from_one_side_is_its_surface() -> None:
    rng = np.random.default_rng(3)
    x, y = np.meshgrid(np.linspace(-1, 1, 120), np.linspace(-1, 1, 120), indexing="ij")
    height = 0.3 * np.sin(3 * x) * np.cos(2 * y) + rng.normal(0, 0.004, x.shape)
    voxels = voxelize(solids.grid(np.stack((x, y, height), -1), around=False), SIZE)
    layers = voxels.filled.sum(2)
    assert (layers >= 1).all()
    # Nothing but the hills, which are open below, can be taken for solid.
    assert voxels.filled.mean() < 0.5


def test_a_leg_thinner_than_a_voxel_is_kept() -> None:
    voxels = voxelize(solids.cuboid((0.005, 0.005, 0.4)).mesh, SIZE)
    assert voxels.filled.shape == (1, 1, 20)
    assert voxels.filled.all()


def test_faces_without_area_are_lines_and_points() -> None:
    line = TriangleMesh(np.array([[0, 0, 0], [1, 0, 0], [2.0, 0, 0]]), np.array([[0, 1, 2], [1, 1, 1]]))
    assert voxelize(line, 0.1).filled.tolist() == [[[True]]] * 20
    point = TriangleMesh(np.array([[5.0, 5, 5]]), np.array([[0, 0, 0]]))
    assert voxelize(point, 0.1).filled.tolist() == [[[True]]]


def test_vertices_without_faces_do_not_count() -> None:
    mesh = solids.cuboid((0.4, 0.2, 0.6)).mesh
    loose = TriangleMesh(np.concatenate((mesh.vertices, [[1e9, np.nan, np.inf]])), mesh.triangles)
    assert np.array_equal(voxelize(loose, SIZE).filled, voxelize(mesh, SIZE).filled)


TRIANGLE = np.array([[0, 1, 2]])
CORNERS = np.array([[0, 0, 0], [1.0, 0, 0], [0, 1.0, 0]])


@pytest.mark.parametrize(
    ("vertices", "triangles", "size", "reason"),
    [
        (np.zeros((0, 3)), np.zeros((0, 3), dtype=int), 0.04, "no faces"),
        (CORNERS, np.zeros((0, 3), dtype=int), 0.04, "no faces"),
        (CORNERS * [1, np.nan, 1], TRIANGLE, 0.04, "NaN"),
        (CORNERS + np.array([np.inf, 0, 0]), TRIANGLE, 0.04, "NaN"),
        (CORNERS, np.array([[0, 1, 3]]), 0.04, "damaged"),
        (CORNERS, np.array([[0, 1, -1]]), 0.04, "damaged"),
        (CORNERS, TRIANGLE, 0.0, "more than zero"),
        (CORNERS, TRIANGLE, np.nan, "more than zero"),
        (CORNERS * 1e6, TRIANGLE, 0.04, "too large"),
        (CORNERS * 1e300, TRIANGLE, 0.04, "too large"),
        (CORNERS * 1.7e308 - 8e307, TRIANGLE, 0.04, "too large"),
    ],
)
def test_what_cannot_become_voxels_is_refused_with_the_reason(
    vertices: Array, triangles: Array, size: float, reason: str
) -> None:
    with pytest.raises(ColliderError, match=reason):
        voxelize(TriangleMesh(vertices, triangles), size)
