# SPDX-License-Identifier: GPL-3.0-or-later
"""Furniture: what others build on. It stands on the floor, its boxes fill it, its handles lie on it."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Surroundings
from nsm_blender.geometry.furniture import KINDS, held_out, make
from nsm_blender.geometry.roles import ROLES, Carryable, Climbable, Door, Seat, Surface, from_data, to_data
from nsm_blender.geometry.voxels import voxelize

SEEDS = (1, 2, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_piece_stands_on_the_floor_about_the_origin(kind):
    for seed in SEEDS:
        piece = make(kind, seed)
        low, high = piece.mesh.vertices.min(axis=0), piece.mesh.vertices.max(axis=0)
        assert 0 <= low[2] < 0.01
        assert np.abs(low + high)[:2].max() < 0.35
        assert piece.mesh.triangles.max() < len(piece.mesh.vertices)
        assert sum(len(part.triangles) for part in piece.parts) == len(piece.mesh.triangles)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_piece_again_and_another_seed_another(kind):
    first, again, other = make(kind, 3), make(kind, 3), make(kind, 4)
    np.testing.assert_array_equal(first.mesh.vertices, again.mesh.vertices)
    assert first.handles == again.handles
    assert first.mesh.vertices.shape != other.mesh.vertices.shape or (first.mesh.vertices != other.mesh.vertices).any()


@pytest.mark.parametrize("kind", KINDS)
def test_the_boxes_are_the_solid_to_within_two_steps(kind):
    piece = make(kind, 1)
    boxes = Surroundings([Collider("Piece", piece.boxes)]).at(0)
    voxels = voxelize(piece.mesh, 0.03)
    middles = voxels.origin + 0.03 * (np.argwhere(voxels.filled) + 0.5)
    assert boxes.distance(middles).max() < 0.08
    low, high = piece.mesh.vertices.min(axis=0), piece.mesh.vertices.max(axis=0)
    assert (piece.boxes.center - piece.boxes.half > low - 0.03).all()
    assert (piece.boxes.center + piece.boxes.half < high + 0.03).all()


@pytest.mark.parametrize("kind", KINDS)
def test_handles_lie_on_the_piece_and_survive_json(kind):
    piece = make(kind, 2)
    assert piece.role in ROLES
    assert from_data(piece.role, to_data(piece.handles)) == piece.handles
    boxes = Surroundings([Collider("Piece", piece.boxes)]).at(0)
    for handles in (piece.handles, *piece.also):
        match handles:
            case Seat() | Surface():
                on, over = handles.place, [*handles.place[:2], handles.place[2] + 0.15]
                assert boxes.distance(np.array([over]))[0] > 0.05
            case Door():
                on = handles.hinge
            case Carryable():
                on = handles.left
            case Climbable():
                on = handles.landing
            case None:
                continue
        assert boxes.distance(np.array([on]))[0] < 0.06


def test_a_seat_is_open_before_the_sitter_and_its_arm_rests_are_beside():
    for kind in ("chair", "armchair", "sofa", "tub_chair"):
        piece = make(kind, 4)
        boxes = Surroundings([Collider("Piece", piece.boxes)]).at(0)
        place, facing = np.array(piece.handles.place), np.array(piece.handles.facing)
        knees = place + facing * (piece.handles.depth / 2 + 0.1) + [0, 0, 0.1]
        back = place - facing * (piece.handles.depth / 2 + 0.04) + [0, 0, 0.15]
        assert boxes.distance(knees[None])[0] > 0.05
        assert boxes.distance(back[None])[0] < 0.08
        for rest in piece.handles.arm_rests:
            assert boxes.distance(np.array([rest]))[0] < 0.02
            assert abs(np.subtract(rest, place) @ facing) < piece.handles.depth / 2


def test_a_door_leaf_hangs_in_its_frame_without_being_part_of_it():
    piece = make("door", 6)
    assert piece.fixture is not None
    width = np.ptp(piece.mesh.vertices[:, 0])
    opening = Surroundings([Collider("Frame", piece.fixture.boxes)]).at(0)
    inside = np.array([[x, 0, 1.0] for x in np.linspace(-0.5, 0.5, 20) * (width - 0.02)])
    assert opening.distance(inside).min() > 0


def test_a_fifth_of_the_seeds_is_held_out():
    assert [seed for seed in range(11) if held_out(seed)] == [0, 5, 10]
