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
from nsm_blender.evaluation.real_furniture import forms, judging
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.furniture import make
from nsm_blender.geometry.mesh import TriangleMesh
from nsm_blender.geometry.proposals import check, guess_role, propose
from nsm_blender.geometry.roles import moved
from nsm_blender.geometry.shapes import block
from nsm_blender.motion.rotations import from_euler, from_yaw, to_matrix


def wall(x=0.0, y=0.0, half=(2.0, 0.05, 1.25)):
    """A wall whose middle stands at x, y."""
    center = np.array([[x, y, half[2]]])
    return Surroundings([Collider("Wall", Cuboids(center, np.array([half])))]).at(0)


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
def test_a_thing_modeled_lying_down_is_judged_as_it_stands_in_the_scene(kind):
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


def boxes(*corners):
    return TriangleMesh.joined([block(low, high).mesh for low, high in corners])


def flight_of(count, rise, run, width=0.9, board=0.04):
    """Open treads that lead up along +Y, without a stringer."""
    tops = rise * np.arange(1, count + 1)
    return boxes(
        *(((-width / 2, i * run, z - board), (width / 2, (i + 1) * run, z)) for i, z in enumerate(tops.tolist()))
    )


@pytest.mark.parametrize(("count", "rise", "run"), [(12, 0.17, 0.28), (8, 0.20, 0.24), (15, 0.14, 0.32)])
def test_stairs_lead_from_the_lowest_step_to_the_highest_and_are_called_stairs(count, rise, run):
    mesh = flight_of(count, rise, run)
    assert guess_role(mesh) == "ground", "they are too high for one climb"
    found = propose("climbable", mesh)
    np.testing.assert_allclose(found.handles.facing, [0, 1, 0], atol=0.02)
    np.testing.assert_allclose(found.handles.edge, [0, 0, rise], atol=0.04)
    assert found.handles.landing[2] == pytest.approx(count * rise, abs=0.03)
    assert (count - 1) * run < found.handles.landing[1] < count * run
    assert said(found.warnings, "stairs", "Draw a curve") and len(found.warnings) == 1


def test_a_few_steps_are_climbed_at_once_and_shelves_and_chairs_are_no_stairs():
    low = propose("climbable", flight_of(3, 0.2, 0.3))
    assert low.handles.edge[2] == pytest.approx(0.6, abs=0.03) and low.warnings == []
    boards = boxes(*(((-0.5, 0.0, z), (0.5, 0.3, z + 0.03)) for z in np.arange(0.2, 1.9, 0.2)))
    assert guess_role(boards) != "climbable"
    assert guess_role(make("chair", 3).mesh) == "seat"


def armchair(*more, wings=False):
    """A block with two arms that rise 18 cm over the seat and a high back, its sitter looking along -Y."""
    parts = [
        ((-0.28, -0.3, 0.1), (0.28, 0.3, 0.44)), ((-0.45, -0.3, 0.1), (-0.28, 0.4, 0.62)),
        ((0.28, -0.3, 0.1), (0.45, 0.4, 0.62)), ((-0.45, 0.3, 0.1), (0.45, 0.42, 1.05)),
    ]  # fmt: skip
    if wings:
        parts += [((x, 0.1, 0.62), (x + 0.06, 0.4, 0.95)) for x in (-0.36, 0.3)]
    return TriangleMesh.joined([boxes(*parts), *more])


@pytest.mark.parametrize("wings", [False, True])
def test_arm_rests_are_found_beside_wings_and_pillows_are_none(wings):
    leaning = forms.moved(forms.throw_pillow(0.4, 0.14), (0.0, 0.22, 0.62), 0.0, -0.25)
    lying = forms.moved(forms.throw_pillow(0.4, 0.14), (0.0, 0.05, 0.5), 0.0, -np.pi / 2)
    for more in ([], [leaning], [lying]):
        assert guess_role(armchair(*more, wings=wings)) == "seat"
        found = propose("seat", armchair(*more, wings=wings))
        assert sorted(round(rest[0], 1) for rest in found.handles.arm_rests) == [-0.4, 0.4]
        assert [rest[2] for rest in found.handles.arm_rests] == pytest.approx([0.62] * 2, abs=0.03)
    bench = boxes(((-0.8, -0.25, 0.0), (0.8, 0.25, 0.44)), ((-0.8, 0.25, 0.0), (0.8, 0.35, 0.9)))
    side = forms.moved(forms.throw_pillow(0.4, 0.14), (0.5, 0.0, 0.51), 0.0, np.pi / 2)
    assert propose("seat", TriangleMesh.joined([bench, side])).handles.arm_rests == []


def test_an_upholstered_armchair_is_a_seat_however_low_or_puffed_its_cushion_is():
    for height in (0.26, 0.34, 0.42):
        cushion = forms.cushion((-0.28, -0.34, 0.1), (0.28, 0.3, height), 0.06, 0.05)
        assert guess_role(armchair(cushion)) == "seat"


def test_the_other_wing_of_a_corner_sofa_and_the_edges_of_a_bed_are_known():
    corner = [((-1.2, -0.3, 0.0), (1.2, 0.3, 0.42)), ((-1.2, -1.5, 0.0), (-0.6, -0.3, 0.42))]
    backs = [((-1.2, 0.3, 0.0), (1.2, 0.5, 0.85)), ((-1.4, -1.5, 0.0), (-1.2, 0.5, 0.85))]
    (wing,) = propose("seat", boxes(*corner, *backs)).also
    np.testing.assert_allclose(wing.facing, [1, 0, 0], atol=0.05)
    assert -1.5 < wing.place[1] < -0.3 and -1.2 < wing.place[0] < -0.6
    bed = boxes(((-0.8, -1.0, 0.0), (0.8, 1.0, 0.5)), ((-0.8, 1.0, 0.0), (0.8, 1.05, 1.1)))
    edges = propose("seat", bed).also
    assert sorted(round(edge.facing[0]) for edge in edges) == [-1, 1]


@pytest.mark.parametrize("side", [-1, 1])
def test_a_leaf_is_found_in_the_frame_of_the_same_mesh_and_the_animator_is_warned(side):
    leaf = [((-0.45, -0.02, 0.01), (0.45, 0.02, 2.0))]
    lever = [((-side * 0.38 - 0.05, y, 1.0), (-side * 0.38 + 0.05, y + 0.02, 1.03)) for y in (-0.07, 0.05)]
    posts = [((x, -0.07, 0.0), (x + 0.06, 0.07, 2.06)) for x in (-0.515, 0.455)]
    found = propose("door", boxes(*leaf, *lever, *posts, ((-0.515, -0.07, 2.005), (0.515, 0.07, 2.06))))
    np.testing.assert_allclose(found.handles.hinge[:2], [side * 0.45, 0], atol=0.04)
    assert found.handles.width == pytest.approx(0.9, abs=0.05)
    assert said(found.warnings, "one mesh", "separate")
    assert propose("door", boxes(*leaf, *lever)).warnings == []


def test_open_boxes_and_cases_with_handles_are_carried_by_their_walls():
    walls = [((x, -0.15, 0.0), (x + 0.01, 0.15, 0.3)) for x in (-0.2, 0.19)]
    walls += [((-0.2, y, 0.0), (0.2, y + 0.01, 0.3)) for y in (-0.15, 0.14)]
    flaps = [((0.2, -0.15, 0.29), (0.38, 0.15, 0.3)), ((-0.2, -0.34, 0.29), (0.2, -0.15, 0.3))]
    grip = [((-0.05, 0.15, 0.14), (0.05, 0.19, 0.16))]
    for more in ([], flaps, grip):
        mesh = boxes(*walls, ((-0.2, -0.15, 0.0), (0.2, 0.15, 0.01)), *more)
        assert guess_role(mesh) == "carryable"
        grasp = propose("carryable", mesh).handles
        middle = (np.array(grasp.left) + grasp.right) / 2
        np.testing.assert_allclose(middle, [0, 0, 0.15], atol=0.03)
        assert np.linalg.norm(np.subtract(grasp.left, grasp.right)) == pytest.approx(
            0.4 if abs(grasp.facing[1]) > 0.5 else 0.3, abs=0.03
        )


def test_the_boards_of_a_shelf_are_all_known():
    boards = [((-0.5, -0.2, z), (0.5, 0.2, z + 0.03)) for z in (0.4, 0.8, 1.2)]
    found = propose("surface", boxes(*boards, ((-0.53, -0.2, 0.0), (-0.5, 0.2, 1.23))))
    heights = sorted(top.place[2] for top in (found.handles, *found.also))
    assert heights == pytest.approx([0.43, 0.83, 1.23], abs=0.01)


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


def test_a_surface_is_used_from_the_side_where_the_character_can_stand():
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


def test_a_facing_into_the_back_rest_is_warned_of():
    for kind in ("chair", "armchair", "sofa", "office_chair", "tub_chair"):
        piece = make(kind, 4)
        assert said(check(replace(piece.handles, facing=[0.0, 1.0, 0.0]), "seat", piece.mesh), "back rest")


def test_a_facing_into_a_wall_is_warned_of():
    piece = make("chair", 4)
    assert said(check(piece.handles, "seat", piece.mesh, wall(0.0, -0.5)), "faces a wall")
    assert said(propose("seat", piece.mesh, wall(0.0, -0.5)).warnings, "faces a wall")
    pose = np.array([1.0, 1.0, 0.0, *from_yaw(np.array(np.pi / 2))])
    assert said(check(piece.handles, "seat", piece.mesh, wall(1.5, 1.0, (0.05, 2, 1.25)), pose), "faces a wall")


def test_a_seat_handle_in_the_air_is_warned_of():
    piece = make("chair", 4)
    aside = replace(piece.handles, place=[0.6, 0.0, 0.45])
    assert said(check(aside, "seat", piece.mesh), "no surface")


def test_a_tilted_chair_is_warned_of():
    piece = tilted(np.random.default_rng(3), make("chair", 8))
    assert said(propose("seat", piece.mesh).warnings, "leans")


def test_a_box_too_wide_to_grasp_is_warned_of():
    piece = enlarged(np.random.default_rng(1), make("box", 2))
    found = propose("carryable", piece.mesh)
    assert found.handles is None and said(found.warnings, "too wide")


def test_swapped_palms_and_palms_off_the_thing_are_warned_of():
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


def test_a_step_over_a_meter_and_a_surface_out_of_reach_are_warned_of():
    rng = np.random.default_rng(2)
    assert said(propose("climbable", raised(rng, make("platform", 3)).mesh).warnings, "climb up to 1.0 m")
    assert said(propose("surface", raised(rng, make("table", 3)).mesh).warnings, "too high")


def test_a_landing_before_the_edge_is_warned_of():
    piece = make("platform", 2)
    turned = replace(piece.handles, facing=[0.0, -1.0, 0.0])
    assert said(check(turned, "climbable", piece.mesh), "behind the edge")


def test_a_role_without_its_handles_is_warned_of_and_an_obstacle_needs_none():
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


def test_the_sitter_is_at_the_edge_of_a_bed_and_on_one_wing_of_a_corner_sofa():
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
    monkeypatch.setattr(judging, "evaluate", lambda log: {})
    out = tmp_path / "figures.json"
    assert main(["evaluate", "proposals", "--json", str(out)]) == 0
    figures = json.loads(out.read_text())
    assert figures["proposals.sit_open_carry.pieces"] == 2
    assert figures["proposals.sit_open_carry.right"] == figures["proposals.sit_open_carry.warned"] == 1
    assert figures["proposals.put_climb.right"] == 1 and figures["proposals.put_climb.wrong_unwarned"] == 0
    assert "box 5005 enlarged" in capsys.readouterr().out
