# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground from above: heights of stairs, ramps and several levels, headroom, and what a shot file may hold."""

from __future__ import annotations

import time

import numpy as np
import pytest

from nsm_blender.errors import ShotError
from nsm_blender.geometry.ground import CELL, Ground, GroundMesh
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.motion.rotations import Array
from nsm_blender.shot.shot import Shot, VelocityFollow


def box(low: tuple[float, float, float], high: tuple[float, float, float]) -> TriangleMesh:
    corners = np.array([[(low, high)[i >> k & 1][k] for k in range(3)] for i in range(8)], dtype=float)
    quads = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]
    return TriangleMesh(corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]))


def quad(*corners: tuple[float, float, float]) -> TriangleMesh:
    return TriangleMesh(np.array(corners, dtype=float), np.array([(0, 1, 2), (0, 2, 3)]))


def at(ground: Ground, *place: float, near: float = np.inf) -> float:
    return float(ground.height(np.array(place), near))


def test_no_mesh_is_level_floor_everywhere() -> None:
    ground = Ground.of([], floor=0.3)
    assert ground.is_flat
    np.testing.assert_allclose(ground.height(np.array([[0, 0], [500.0, -500.0]])), 0.3, rtol=1e-6)


def test_treads_have_their_height_and_the_floor_lies_around_them() -> None:
    stairs = Ground.of([box((0.0, 0.3 * i, 0.0), (1.0, 3.0, 0.17 * (i + 1))) for i in range(4)])
    for i in range(4):
        assert at(stairs, 0.5, 0.3 * i + 0.15) == pytest.approx(0.17 * (i + 1), abs=1e-5)
    assert at(stairs, 0.5, -0.1) == 0.0
    assert at(stairs, 1.1, 0.5) == 0.0
    assert not stairs.is_flat


def test_a_riser_is_no_wider_than_a_cell() -> None:
    step = Ground.of([box((0.0, 0.0, 0.0), (1.0, 1.0, 0.2))])
    assert at(step, 0.5, -CELL) == 0.0
    assert at(step, 0.5, CELL) == pytest.approx(0.2, abs=1e-6)


def test_a_ramp_rises_evenly_and_tells_its_slope() -> None:
    ramp = Ground.of([quad((0, 0, 0), (4, 0, 1), (4, 2, 1), (0, 2, 0))])
    x = np.linspace(0.1, 3.9, 50)
    places = np.stack((x, np.full(50, 1.0)), axis=1)
    np.testing.assert_allclose(ramp.height(places), x / 4, atol=1e-5)
    np.testing.assert_allclose(ramp.slope(places[5:-5]), 0.25, atol=1e-4)


def test_a_gallery_keeps_the_floor_below_it_for_feet_that_are_there() -> None:
    gallery = Ground.of([box((0.0, 0.0, 2.2), (2.0, 2.0, 2.4))])
    assert at(gallery, 1.0, 1.0, near=0.0) == 0.0
    assert at(gallery, 1.0, 1.0, near=2.4) == pytest.approx(2.4)
    assert float(gallery.clearance(np.array([1.0, 1.0]), 0.0)) == pytest.approx(2.2)
    assert np.isinf(gallery.clearance(np.array([1.0, 1.0]), 2.4))
    assert np.isinf(gallery.clearance(np.array([5.0, 1.0]), 0.0))


def test_a_low_beam_is_headroom_and_a_thin_slab_is_no_place_to_stand_in() -> None:
    beam = Ground.of([box((-1.0, 0.0, 1.3), (1.0, 0.2, 1.5))])
    place = np.array([0.0, 0.1])
    assert float(beam.clearance(place, 0.0)) == pytest.approx(1.3, abs=1e-5)
    assert float(beam.height(place, 1.3)) == pytest.approx(1.5)


def test_a_pit_lies_below_the_floor() -> None:
    pit = Ground.of([quad((0, 0, -0.5), (1, 0, -0.5), (1, 1, -0.5), (0, 1, -0.5))])
    assert at(pit, 0.5, 0.5) == pytest.approx(-0.5)
    assert at(pit, 2.0, 0.5) == 0.0


def test_turned_over_triangles_make_the_same_ground() -> None:
    mesh = box((0.0, 0.0, 0.0), (1.0, 1.0, 0.4))
    over = TriangleMesh(mesh.vertices, mesh.triangles[:, ::-1])
    places = np.random.default_rng(2).uniform(-0.5, 1.5, (200, 2))
    np.testing.assert_array_equal(Ground.of([mesh]).height(places), Ground.of([over]).height(places))


def test_heights_between_a_grids_nodes_are_linear() -> None:
    y, x = np.mgrid[0:5, 0:7]
    ground = Ground.from_heights(0.1 * x + 0.2 * y, (10.0, 20.0), 0.5)
    assert at(ground, 11.25, 20.6) == pytest.approx(0.1 * 2.5 + 0.2 * 1.2, abs=1e-6)
    assert at(ground, 0.0, 0.0) == 0.0


def test_a_frames_samples_take_microseconds_whatever_the_mesh() -> None:
    rng = np.random.default_rng(1)
    n = 150
    x, y = np.meshgrid(np.linspace(0, 20, n), np.linspace(0, 20, n))
    vertices = np.stack((x.ravel(), y.ravel(), rng.uniform(0, 0.3, n * n)), axis=1)
    i = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    halves = np.stack((i, i + 1, i + n), 1), np.stack((i + 1, i + n + 1, i + n), 1)
    ground = Ground.of([TriangleMesh(vertices, np.concatenate(halves))])
    places: Array = rng.uniform(0, 20, (36, 2))
    best = np.inf
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(20):
            ground.height(places, 0.2)
        best = min(best, (time.perf_counter() - start) / 20)
    assert best < 1e-3


def mesh_data() -> GroundMesh:
    return GroundMesh("Ramp", [[0.0, 0.0, 0.0], [2.0, 0.0, 0.5], [2.0, 2.0, 0.5]], [[0, 1, 2]])


def shot(*ground: GroundMesh) -> Shot:
    return Shot("a", 60.0, 2, velocity=VelocityFollow([[0.0, 0.0]] * 2, [0.0] * 2, ["stand"] * 2), ground=list(ground))


def test_a_shot_keeps_its_ground_on_disk() -> None:
    asked = shot(mesh_data())
    asked.validate()
    read = Shot.from_json(asked.to_json())
    assert read == asked
    assert read.hash() == asked.hash() != shot().hash()


def test_a_shot_without_ground_is_written_as_before_there_was_any() -> None:
    assert "ground" not in shot().to_json()


def test_a_triangle_without_its_vertex_is_refused_in_words() -> None:
    broken = mesh_data()
    broken.triangles = [[0, 1, 3]]
    with pytest.raises(ShotError, match=r"'Ramp' has 3 vertices, and a triangle with another"):
        shot(broken).validate()
