# SPDX-License-Identifier: GPL-3.0-or-later
"""Proposed handles: right on sound and on damaged furniture, wherever it stands; warnings where an animator errs."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.cli import main
from nsm_blender.errors import ColliderError
from nsm_blender.evaluation import proposals
from nsm_blender.evaluation.oddities import enlarged, raised, subdivided, tilted
from nsm_blender.evaluation.proposals import MORE, PIECES, difference, judge, judge_all
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.furniture import make
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.geometry.proposals import check, guess_role, propose
from nsm_blender.geometry.roles import moved
from nsm_blender.geometry.shapes import block
from nsm_blender.motion.rotations import from_euler, from_yaw, to_matrix


def wall(x=0.0, y=0.0, half=(2.0, 0.05, 1.25)):
    """A wall whose middle stands at x, y."""
    centre = np.array([[x, y, half[2]]])
    return Surroundings([Collider("Wall", Cuboids(centre, np.array([half])))]).at(0)


def right(found, piece):
    return any(not difference(found.handles, truth) for truth in (piece.handles, *piece.also))


def test_at_least_38_of_40_pieces_are_right_and_the_others_are_warned_of():
    verdicts = judge_all(PIECES, 1)
    assert len(verdicts) == 40 and len({v.piece.kind for v in verdicts}) == 10
    assert sum(v.right for v in verdicts) >= 38
    assert all(v.warned for v in verdicts if v.wrong)


@pytest.mark.parametrize("kind", [kind for kind, _ in MORE])
def test_a_sound_piece_turned_by_any_angle_gets_its_true_handles_and_no_warning(kind):
    verdict = judge(kind, 31, "turned")
    assert verdict.wrong == "" and verdict.found.warnings == []
    assert verdict.found.confidence > 0.5


@pytest.mark.parametrize("kind", ["chair", "door", "box", "table", "stairs"])
def test_a_thing_modelled_lying_down_is_judged_as_it_stands_in_the_scene(kind):
    # Many files have Y up and a rotated object: the frame lies down, the thing stands.
    piece = make(kind, 3)
    pose = np.concatenate([[2.0, -1.0, 0.4], from_euler(np.array([np.pi / 2, 0.3, 0.0]), "XYZ")])
    turn = to_matrix(pose[3:])
    into = turn.T
    lying = TriangleMesh((piece.mesh.vertices - pose[:3]) @ turn, piece.mesh.triangles)
    found = propose(piece.role, lying, pose=pose)
    assert found.handles is not None
    # Back in the world they are the handles of the standing piece.
    found.handles = moved(found.handles, turn, pose[:3])
    assert right(found, piece)
    assert check(moved(piece.handles, into, -into @ pose[:3]), piece.role, lying, pose=pose) == []


@pytest.mark.parametrize("kind", ["chair", "armchair", "stool", "bench", "door", "crate", "shelf", "platform"])
def test_true_handles_raise_no_warning(kind):
    for seed in (1, 2, 6):
        piece = make(kind, seed)
        assert check(piece.handles, piece.role, piece.mesh) == []


def test_a_large_mesh_gives_the_same_handles_as_its_coarse_one():
    piece = make("armchair", 2)
    fine = subdivided(piece.mesh, 0.02)
    assert len(fine.triangles) > 20_000
    assert right(propose("seat", fine), piece)


def test_roles_are_guessed_from_the_form():
    for kind, role in (
        ("chair", "seat"), ("sofa", "seat"), ("tub_chair", "seat"), ("door", "door"), ("table", "surface"),
        ("shelf", "surface"), ("crate", "carryable"), ("stairs", "climbable"), ("beam", "obstacle"),
    ):  # fmt: skip
        assert guess_role(make(kind, 1).mesh) == role


# Surroundings


def test_a_backless_stool_by_a_wall_faces_away_from_it():
    piece = make("stool", 7)
    for x, y, half in ((0.0, -0.5, (2.0, 0.05, 1.25)), (0.5, 0.0, (0.05, 2.0, 1.25))):
        found = propose("seat", piece.mesh, wall(x, y, half))
        assert np.dot(found.handles.facing[:2], [x, y]) < 0.1
        assert found.warnings == []


def test_a_side_by_a_wall_is_no_approach_of_a_seat():
    piece = make("chair", 3)
    assert "left" in propose("seat", piece.mesh).handles.approaches
    beside = propose("seat", piece.mesh, wall(0.5, 0.0, (0.05, 2.0, 1.25)))
    assert "left" not in beside.handles.approaches
    assert {"front", "right"} <= set(beside.handles.approaches)


def test_a_door_opens_to_the_side_that_is_free():
    piece = make("door", 3)
    for side in (-1, 1):
        found = propose("door", piece.mesh, wall(0.0, side * 0.5))
        hinge, angle = found.handles.hinge, found.handles.angle
        along = np.sign(found.handles.handle[0] - hinge[0])
        # The leaf's free edge after opening
        assert np.sign(along * np.sin(angle)) == -side
        assert found.warnings == []


def test_a_surface_is_used_from_the_side_where_one_can_stand():
    piece = make("table", 27)
    found = propose("surface", piece.mesh, wall(0.0, -0.6))
    assert found.handles.facing[1] > 0.9


# Warnings in words


def said(warnings, *words):
    return any(all(word in warning for word in words) for warning in warnings)


def test_a_seat_at_120_cm_is_called_too_high():
    piece = raised(np.random.default_rng(1), make("stool", 2))
    found = propose("seat", piece.mesh)
    assert said(found.warnings, "1.2", "high") and found.confidence < 0.5


def test_a_facing_into_the_back_rest_is_told():
    for kind in ("chair", "armchair", "sofa", "office_chair", "tub_chair"):
        piece = make(kind, 4)
        assert said(check(replace(piece.handles, facing=[0.0, 1.0, 0.0]), "seat", piece.mesh), "back rest")


def test_a_facing_into_a_wall_is_told():
    piece = make("chair", 4)
    assert said(check(piece.handles, "seat", piece.mesh, wall(0.0, -0.5)), "faces a wall")
    assert said(propose("seat", piece.mesh, wall(0.0, -0.5)).warnings, "faces a wall")
    pose = np.array([1.0, 1.0, 0.0, *from_yaw(np.array(np.pi / 2))])
    assert said(check(piece.handles, "seat", piece.mesh, wall(1.5, 1.0, (0.05, 2, 1.25)), pose), "faces a wall")


def test_a_seat_handle_in_the_air_is_told():
    piece = make("chair", 4)
    aside = replace(piece.handles, place=[0.6, 0.0, 0.45])
    assert said(check(aside, "seat", piece.mesh), "no surface")


def test_a_tilted_chair_is_told():
    piece = tilted(np.random.default_rng(3), make("chair", 8))
    assert said(propose("seat", piece.mesh).warnings, "leans")


def test_a_box_too_wide_to_grasp_is_told():
    piece = enlarged(np.random.default_rng(1), make("box", 2))
    found = propose("carryable", piece.mesh)
    assert found.handles is None and said(found.warnings, "too wide")


def test_swapped_palms_and_palms_off_the_thing_are_told():
    piece = make("box", 2)
    h = piece.handles
    assert said(check(replace(h, left=h.right, right=h.left), "carryable", piece.mesh), "swapped")
    off = replace(h, left=[h.left[0] - 0.2, *h.left[1:]])
    assert said(check(off, "carryable", piece.mesh), "left palm")


def test_a_door_between_two_walls_cannot_open_and_says_so():
    piece = make("door", 3)
    walls = np.array([[0.0, -0.5, 1.25], [0.0, 0.5, 1.25]])
    both = Surroundings([Collider("Walls", Cuboids(walls, np.tile([2.0, 0.05, 1.25], (2, 1))))]).at(0)
    assert said(propose("door", piece.mesh, both).warnings, "swings into")


def test_a_door_without_a_handle_warns_that_its_hinge_side_is_a_guess():
    leaf = make("door", 3).parts[0]
    found = propose("door", leaf)
    assert found.handles is not None and said(found.warnings, "guess") and found.confidence < 0.5


def test_the_frame_shows_on_which_side_the_hinges_of_a_plain_leaf_are():
    leaf = make("door", 3).parts[0]
    x = float(leaf.vertices[:, 0].max())
    post = wall(x + 0.06, 0.0, (0.05, 0.05, 1.25))
    found = propose("door", leaf, post)
    assert abs(found.handles.hinge[0] - x) < 0.05 and not said(found.warnings, "guess")


def test_what_is_no_door_is_refused_with_a_reason():
    found = propose("door", make("chair", 1).mesh)
    assert found.handles is None and said(found.warnings, "no door leaf")


def test_a_step_over_one_metre_and_a_surface_out_of_reach_are_told():
    rng = np.random.default_rng(2)
    assert said(propose("climbable", raised(rng, make("platform", 3)).mesh).warnings, "climb up to 1.0 m")
    assert said(propose("surface", raised(rng, make("table", 3)).mesh).warnings, "too high")


def test_a_landing_before_the_edge_is_told():
    piece = make("platform", 2)
    turned = replace(piece.handles, facing=[0.0, -1.0, 0.0])
    assert said(check(turned, "climbable", piece.mesh), "behind the edge")


def test_a_role_without_its_handles_is_told_and_an_obstacle_needs_none():
    assert said(check(None, "seat"), "no handles")
    assert check(None, "obstacle") == []
    found = propose("obstacle", make("beam", 1).mesh)
    assert found.handles is None and found.warnings == []


@pytest.mark.parametrize(
    "mesh",
    [
        TriangleMesh.joined([]),
        TriangleMesh(np.full((3, 3), np.nan), np.array([[0, 1, 2]])),
        TriangleMesh(np.eye(3), np.array([[0, 1, 7]])),
    ],
    ids=["empty", "not a number", "damaged"],
)
def test_unusable_meshes_are_refused(mesh):
    with pytest.raises(ColliderError):
        propose("seat", mesh)


@pytest.mark.parametrize("role", ["seat", "door", "carryable", "surface", "climbable"])
def test_degenerate_meshes_get_an_answer_in_words_or_handles(role):
    plane = TriangleMesh(np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0, 0.5, 0.0]]), np.array([[0, 1, 2]]))
    line = TriangleMesh(np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0.0]]), np.array([[0, 1, 2]]))
    speck = TriangleMesh(np.zeros((3, 3)), np.array([[0, 1, 2]]))
    huge = TriangleMesh(make("chair", 1).mesh.vertices * 1e6, make("chair", 1).mesh.triangles)
    for mesh in (plane, line, speck, huge):
        found = propose(role, mesh)
        assert found.handles is not None or found.warnings
        guess_role(mesh)


def test_one_sits_at_the_edge_of_a_bed_and_on_one_arm_of_a_corner_sofa():
    def flat(x0, y0, x1, y1, top):
        return block((x0, y0, 0.0), (x1, y1, top)).mesh

    bed = TriangleMesh.joined([flat(-0.8, -1.0, 0.8, 1.0, 0.5), flat(-0.8, 1.0, 0.8, 1.05, 1.1)])
    seat = propose("seat", bed).handles
    np.testing.assert_allclose(seat.facing, [0, -1, 0], atol=0.05)
    np.testing.assert_allclose(seat.place, [0, -0.7, 0.5], atol=0.05)

    corner = [flat(-1.2, -0.3, 1.2, 0.3, 0.42), flat(-1.2, -1.5, -0.6, -0.3, 0.42)]
    backs = [flat(-1.2, 0.3, 1.2, 0.5, 0.85), flat(-1.4, -1.5, -1.2, 0.5, 0.85)]
    seat = propose("seat", TriangleMesh.joined([*corner, *backs])).handles
    np.testing.assert_allclose(seat.facing, [0, -1, 0], atol=0.05)
    assert abs(seat.place[1]) < 0.1 and abs(seat.place[0]) < 0.7


def test_the_command_tells_how_many_pieces_are_right_and_which_are_not(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(proposals, "PIECES", (("box", ("turned", "enlarged")),))
    monkeypatch.setattr(proposals, "MORE", (("step", ("",)),))
    # A box too wide to grasp then counts as one that ought to be usable: it is warned of, so it is not right.
    monkeypatch.setattr(proposals, "UNFIT", set())
    monkeypatch.setattr(proposals, "SETS", (5,))
    out = tmp_path / "figures.json"
    assert main(["evaluate", "proposals", "--json", str(out)]) == 0
    figures = json.loads(out.read_text())
    assert figures["proposals.sit_open_carry.pieces"] == 2
    assert figures["proposals.sit_open_carry.right"] == figures["proposals.sit_open_carry.warned"] == 1
    assert figures["proposals.put_climb.right"] == 1 and figures["proposals.put_climb.wrong_unwarned"] == 0
    assert "box 5005 enlarged" in capsys.readouterr().out


def test_proposals_are_evaluated_without_weights(tmp_path, capsys):
    assert main(["evaluate", "proposals", "--weights", str(tmp_path)]) == 1
    assert "leave --weights" in capsys.readouterr().err
