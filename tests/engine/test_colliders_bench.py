# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmarks of colliders, sensors, routes and rigs measure what they say. How fast anything is, no test asks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nsm_blender.commands.bench import MEANINGS
from nsm_blender.evaluation import bench_geometry, bench_rig
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.geometry.voxels import voxelize
from nsm_blender.motion.skeleton import MODEL_SKELETON
from nsm_blender.planning.path_search import find_route
from nsm_blender.rigging.retarget import Retargeter
from nsm_blender.shot.goals import RouteOptions


def test_the_figures_have_the_names_of_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def wrapped(mesh: TriangleMesh) -> None:
        sizes.append(len(mesh.triangles))

    def once(call: Callable[[], object], _repetitions: int = 0) -> float:
        call()
        return 1.0

    monkeypatch.setattr(bench_geometry, "_seconds", once)
    monkeypatch.setattr(bench_geometry, "cuboids_of", wrapped)
    figures = bench_geometry.voxels_of_a_piece() | bench_geometry.voxels_of_a_scan() | bench_geometry.route()
    assert {"bench.voxels.100k_s", "bench.voxels.1m_s", "bench.route.hall_s"} <= set(figures) <= set(MEANINGS)
    assert sizes[0] >= 100_000
    assert sizes[1] == pytest.approx(1_000_000, rel=0.03)


def test_the_sensors_room_has_sixty_things_that_move() -> None:
    room = bench_geometry.room()
    assert len(room) == 60
    assert len(room.at(0)) >= 300
    assert (np.abs(room.at(0).center - room.at(60).center).max(1) > 1e-3).all()


def test_the_scan_is_taken_for_a_room() -> None:
    voxels = voxelize(bench_geometry.scan(90, 90), 0.1)
    assert not voxels.filled[tuple(np.array(voxels.filled.shape) // 2)]
    assert 0.02 < voxels.filled.mean() < 0.3


def test_the_way_through_the_hall_leads_from_corner_to_corner_round_things() -> None:
    things, corner = bench_geometry.hall(), np.full(2, bench_geometry.CORNER)
    way = find_route(things, -corner, corner, RouteOptions())
    assert len(things) == 61
    assert np.allclose(way.points[[0, -1], :2], [-corner, corner], atol=0.05)
    assert way.length > 1.001 * np.linalg.norm(2 * corner)


def test_the_rig_has_other_names_rolls_and_size_than_the_model() -> None:
    rig = bench_rig.other_rig()
    mapping = bench_rig.mapping_of(rig)
    mapping.check(rig)
    assert not set(rig.names) & set(MODEL_SKELETON.names)
    assert Retargeter(rig, mapping).scale == pytest.approx(1.12, rel=0.01)
    assert np.ptp([bone.rest[:, 0] for bone in rig.bones], axis=0).min() > 0.5
