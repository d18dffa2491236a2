# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark of colliders and sensors measures what its names say. How fast anything is, no test asks."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.commands.bench import MEANINGS
from nsm_blender.evaluation import bench_geometry
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.geometry.voxels import voxelise


def test_the_figures_have_the_names_of_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def measured(mesh: TriangleMesh, _repetitions: int = 0) -> float:
        sizes.append(len(mesh.triangles))
        return 1.0

    monkeypatch.setattr(bench_geometry, "_seconds", measured)
    figures = bench_geometry.voxels_of_a_piece() | bench_geometry.voxels_of_a_scan()
    assert {"bench.voxels.100k_s", "bench.voxels.1m_s"} <= set(figures) <= set(MEANINGS)
    assert sizes[0] >= 100_000
    assert sizes[1] == pytest.approx(1_000_000, rel=0.03)


def test_the_sensors_room_has_sixty_things_that_move() -> None:
    room = bench_geometry.room()
    assert len(room) == 60
    assert len(room.at(0)) >= 300
    assert (np.abs(room.at(0).centre - room.at(60).centre).max(1) > 1e-3).all()


def test_the_scan_is_taken_for_a_room() -> None:
    voxels = voxelise(bench_geometry.scan(90, 90), 0.1)
    assert not voxels.filled[tuple(np.array(voxels.filled.shape) // 2)]
    assert 0.02 < voxels.filled.mean() < 0.3
