# SPDX-License-Identifier: GPL-3.0-or-later
"""Distances to true meshes, inside and out."""

from __future__ import annotations

import numpy as np

from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.geometry.mesh_distance import MeshDistance, Part, samples
from nsm_blender.geometry.shapes import block, drum


def test_distances_to_a_box_are_those_of_the_formula() -> None:
    half = np.array([0.3, 0.2, 0.5])
    box = MeshDistance([block(tuple(-half), tuple(half)).mesh])
    points = np.random.default_rng(1).uniform(-0.8, 0.8, (400, 3))
    gap = np.abs(points) - half
    signed = np.linalg.norm(np.maximum(gap, 0), axis=1) + np.minimum(gap.max(axis=1), 0)
    found = box.nearest(points, np.inf)
    np.testing.assert_array_equal(found.inside, signed < 0)
    np.testing.assert_allclose(found.distance, np.abs(signed), atol=1e-6)
    np.testing.assert_allclose(found.depth(0.1), np.maximum(0.1 - signed, 0), atol=1e-6)


def test_the_way_out_leads_to_the_nearest_surface_from_inside_and_away_from_it_outside() -> None:
    box = MeshDistance([block((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)).mesh])
    points = np.array([[0.0, 0.2, 0.9], [0.0, 0.2, 1.1], [1.3, 0.0, 0.0]])
    out = box.nearest(points, 1.0).outward(points)
    np.testing.assert_allclose(out, [[0, 0, 1], [0, 0, 1], [1, 0, 0]], atol=1e-9)


def test_beyond_its_reach_nothing_is_near() -> None:
    box = MeshDistance([block((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)).mesh])
    found = box.nearest(np.array([[1.2, 0.5, 0.5], [1.4, 0.5, 0.5]]), 0.3)
    np.testing.assert_allclose(found.distance, [0.2, np.inf])


def test_a_shell_with_a_hole_has_no_inside_but_is_near() -> None:
    whole = block((-0.5, -0.5, -0.5), (0.5, 0.5, 0.5)).mesh
    open_ = TriangleMesh(whole.vertices, whole.triangles[:-1])
    assert Part(whole).closed and not Part(open_).closed
    found = MeshDistance([open_]).nearest(np.array([[0.0, 0.45, 0.0], [0.0, 0.0, 0.0]]), 0.1)
    assert not found.inside.any()
    np.testing.assert_allclose(found.depth(0.1), [0.05, 0.0])


def test_a_part_whose_vertices_are_split_is_closed_all_the_same() -> None:
    whole = drum((0.0, 0.0), 0.4, 0.0, 0.5).mesh
    split = TriangleMesh(whole.vertices[whole.triangles].reshape(-1, 3), np.arange(whole.triangles.size).reshape(-1, 3))
    assert Part(split).closed
    assert MeshDistance([split]).depth_inside(np.array([[0.0, 0.0, 0.1], [0.0, 0.0, 0.6]])).round(6).tolist() == [
        0.1,
        0,
    ]


def test_what_lies_straight_below_and_what_a_ray_meets_first() -> None:
    table = MeshDistance(
        [block((-1.0, -1.0, 0.7), (1.0, 1.0, 0.75)).mesh, block((-0.1, -0.1, 0.0), (0.1, 0.1, 0.7)).mesh]
    )
    points = np.array([[0.5, 0.5, 1.0], [0.5, 0.5, 0.72], [0.03, 0.02, 0.3], [2.0, 0.0, 1.0]])
    np.testing.assert_allclose(table.top_below(points), [0.75, 0.7, 0.0, -np.inf])
    np.testing.assert_allclose(table.first_hit(np.array([[1.0, 0.02, 0.3]]), np.array([-1.0, 0.0, 0.0])), [0.9])


def test_samples_lie_on_the_surface_at_the_given_spacing() -> None:
    box = block((0.0, 0.0, 0.0), (1.0, 0.5, 0.2)).mesh
    found = samples([box], 0.05)
    surface = MeshDistance([box])
    assert surface.nearest(found, 1.0).distance.max() < 1e-9
    places = np.random.default_rng(2).uniform(0, [1.0, 0.5], (200, 2))
    top = np.column_stack((places, np.full(200, 0.2)))
    away = np.linalg.norm(top[:, None] - found, axis=-1).min(axis=1)
    assert away.max() < 0.05
