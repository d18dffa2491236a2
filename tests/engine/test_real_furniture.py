# SPDX-License-Identifier: GPL-3.0-or-later
"""Furniture as modelers make it: its truth agrees with its mesh, and no two files have the same frame."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.evaluation.real_furniture import forms
from nsm_blender.evaluation.real_furniture.catalog import KINDS, LOADS, SEATS, SURFACES, make
from nsm_blender.evaluation.real_furniture.judging import evaluate
from nsm_blender.geometry.furniture import Piece
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.geometry.roles import Carryable, Climbable, Door, Seat, Surface
from nsm_blender.naturalness.case import DEVELOPMENT_SEEDS, UNSEEN_SEEDS

SEED = DEVELOPMENT_SEEDS[0]


def test_a_seed_gives_the_same_piece_again() -> None:
    for kind in KINDS:
        first, second = make(kind, SEED), make(kind, SEED)
        assert np.array_equal(first.mesh.vertices, second.mesh.vertices)
        assert np.array_equal(first.boxes.center, second.boxes.center)
        assert first.handles == second.handles


def test_seeds_of_the_table_are_not_those_on_which_settings_are_chosen() -> None:
    assert not set(DEVELOPMENT_SEEDS) & set(UNSEEN_SEEDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_as_detailed_as_real_ones_and_of_several_loose_parts(kind: str) -> None:
    piece = make(kind, SEED)
    # A cardboard box or a stool has few faces, a corner sofa many.
    assert 300 <= len(piece.mesh.triangles) <= 25_000
    assert len(piece.parts) >= 2
    assert len(piece.boxes.center) >= 1


@pytest.mark.parametrize("kind", SEATS)
def test_the_places_of_a_seat_lie_on_its_surface(kind: str) -> None:
    for seed in DEVELOPMENT_SEEDS[1:4]:
        piece = make(kind, seed)
        for seat in _truths(piece):
            assert isinstance(seat, Seat)
            below = _parts_below(piece, seat.place[2] + 0.08)
            assert forms.top_at(below, seat.place, forms.PATCH) == pytest.approx(seat.place[2], abs=0.01)
            for rest in seat.arm_rests:
                assert forms.top_at(_parts_below(piece, rest[2] + 0.02), rest) == pytest.approx(rest[2], abs=0.01)


@pytest.mark.parametrize("kind", SURFACES)
def test_the_places_of_a_surface_lie_on_a_board(kind: str) -> None:
    for seed in DEVELOPMENT_SEEDS[1:4]:
        piece = make(kind, seed)
        for surface in _truths(piece):
            assert isinstance(surface, Surface)
            below = _parts_below(piece, surface.place[2] + 0.01)
            assert forms.top_at(below, surface.place) == pytest.approx(surface.place[2], abs=0.01)


@pytest.mark.parametrize("kind", LOADS)
def test_palms_lie_on_opposite_faces(kind: str) -> None:
    for seed in DEVELOPMENT_SEEDS[1:4]:
        piece = make(kind, seed)
        for grasp in _truths(piece):
            assert isinstance(grasp, Carryable)
            left, right = np.array(grasp.left), np.array(grasp.right)
            across = left - right
            assert across @ np.array(grasp.facing) == pytest.approx(0.0, abs=1e-6)
            for palm in (left, right):
                assert _nearest(piece.mesh, palm) < 0.02


def test_climbs_and_doors_agree_with_their_meshes() -> None:
    for seed in DEVELOPMENT_SEEDS[1:4]:
        for kind in ("step_stool", "podium"):
            piece = make(kind, seed)
            for climb in _truths(piece):
                assert isinstance(climb, Climbable)
                assert forms.top_at(piece.parts, climb.landing) == pytest.approx(climb.landing[2], abs=0.01)
        door = make("door_leaf", seed)
        assert isinstance(door.handles, Door) and door.fixture is not None
        assert _nearest(door.mesh, np.array(door.handles.handle)) < 0.08
        away = np.linalg.norm((np.array(door.handles.handle) - door.handles.hinge)[:2])
        assert 0.5 * door.handles.width < away < door.handles.width


def test_origins_and_fronts_vary() -> None:
    middles, fronts = [], []
    for seed in DEVELOPMENT_SEEDS[:20]:
        piece = make("dining_chair", seed)
        assert isinstance(piece.handles, Seat)
        middles.append(np.mean([piece.mesh.vertices.min(0), piece.mesh.vertices.max(0)], axis=0))
        fronts.append(np.arctan2(piece.handles.facing[0], -piece.handles.facing[1]))
    assert np.ptp(middles, axis=0)[:2].min() > 1.0
    assert len(np.unique(np.round(fronts, 2))) >= 4


def test_the_table_counts_and_tells_every_piece_that_is_not_right() -> None:
    told: list[str] = []
    figures = evaluate(development=True, per_kind=2, kinds=("dining_chair", "door_in_frame"), log=told.append)
    assert figures["proposals.real.pieces"] == 4
    assert len(told) == round(4 * (1 - figures["proposals.real.both_right"]))


def _truths(piece: Piece) -> list[object]:
    every = [piece.handles, *piece.also]
    return [every[i] for i in np.unique(np.linspace(0, len(every) - 1, 6).astype(int))]


def _parts_below(piece: Piece, height: float) -> list[TriangleMesh]:
    """The triangles that lie below a height, as parts."""
    return [
        TriangleMesh(part.vertices, part.triangles[part.vertices[part.triangles][..., 2].max(1) < height])
        for part in piece.parts
    ]


def _nearest(mesh: TriangleMesh, place: np.ndarray) -> float:
    """Meters to the nearest of points spread over the mesh."""
    corners = mesh.vertices[mesh.triangles]
    weights = np.array([[a, b, 1 - a - b] for a in np.linspace(0, 1, 9) for b in np.linspace(0, 1 - a, 5)])
    points = np.einsum("wc,ncx->nwx", weights, corners).reshape(-1, 3)
    return float(np.linalg.norm(points - place, axis=1).min())
