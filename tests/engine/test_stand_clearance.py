# SPDX-License-Identifier: GPL-3.0-or-later
"""Things are used from where a body has room, and refused in words where it has none."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import SIDES, Carryable, Climbable, Seat, Surface
from nsm_blender.geometry.sides import other_grasps, other_surfaces
from nsm_blender.planning.path_planner import Planner
from nsm_blender.shot.goals import LOCOMOTION, ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.carry import PickUp
from nsm_blender.tasks.validation import Problem, check

from .legs import leg
from .obstacles import box

ABLE = (*LOCOMOTION, "sit", "pick_up", "put_down")
PARCEL = box(
    "Parcel",
    (0.0, 0.0, 0.15),
    (0.4, 0.3, 0.3),
    role="carryable",
    handles=Carryable([0.2, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.0, 1.0, 0.0]),
)
TABLE = box(
    "Table",
    (0.0, 1.0, 0.375),
    (1.2, 0.7, 0.75),
    role="surface",
    handles=Surface([0.0, 0.0, 0.375], [0.0, -1.0, 0.0], 1.2, 0.7),
)


def beside(name: str, way: tuple[float, float], gap: float) -> Collider:
    """A cupboard so many meters from the parcel's middle."""
    middle = (gap + 0.3) * np.array(way)
    return box(name, (*middle, 0.5), (0.6, 0.6, 1.0))


def shot(*things: Collider, keys: list[ActionKey]) -> Shot:
    goals = [Goal(thing.name, [0.0, 0.0, 0.0], collider=thing.name) for thing in things]
    return Shot("Porter", 30.0, 900, keys=keys, goals=goals, colliders=list(things), start=[2.5, -2.5, 0.0, 0.0])


def fatal(what: Shot) -> list[Problem]:
    return [problem for problem in check(what, ABLE) if problem.fatal]


@pytest.mark.parametrize(
    ("blocked", "free"), [([(0, 1)], [0, -1]), ([(0, 1), (0, -1)], [1, 0]), ([(0, 1), (0, -1), (1, 0)], [-1, 0])]
)
def test_a_box_is_taken_from_a_side_with_room(blocked: list[tuple[int, int]], free: list[int]) -> None:
    cupboards = [beside(f"Cupboard {n}", way, 0.45) for n, way in enumerate(blocked)]
    key = ActionKey("pick_up", "Parcel")
    way = leg(shot(PARCEL, *cupboards, keys=[key]), key, (2.5, -2.5))
    assert isinstance(way.handles, Carryable)
    np.testing.assert_allclose(way.handles.facing[:2], free, atol=1e-9)
    assert way.place @ np.array(free) > 0


def test_a_box_is_taken_as_its_handles_say_where_there_is_room() -> None:
    key = ActionKey("pick_up", "Parcel")
    way = leg(shot(PARCEL, beside("Cupboard", (0, -1), 0.45), keys=[key]), key, (2.5, -2.5))
    assert way.handles == PARCEL.handles


def test_a_box_without_room_on_any_side_is_refused_by_the_name_of_what_is_in_the_way() -> None:
    ways = ((0, 1), (0, -1), (1, 0), (-1, 0))
    closets = [beside(f"Cupboard {n}", way, 0.45) for n, way in enumerate(ways)]
    problem = fatal(shot(PARCEL, *closets, keys=[ActionKey("pick_up", "Parcel")]))
    assert len(problem) == 1 and "no room to take 'Parcel'" in problem[0].text and "'Cupboard" in problem[0].text


def test_a_box_on_the_edge_of_a_table_is_taken_straight_from_there_though_its_handles_face_the_middle() -> None:
    aside = Carryable([0.2, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.0, 1.0, 0.0])
    parcel = box("Parcel", (0.3, 0.85, 0.9), (0.4, 0.3, 0.3), role="carryable", handles=aside)
    key = ActionKey("pick_up", "Parcel")
    for start in ((0.0, 3.0), (0.0, -2.0)):
        way = leg(shot(TABLE, parcel, keys=[key]), key, start)
        assert isinstance(way.handles, Carryable) and way.facing is not None
        np.testing.assert_allclose(way.handles.facing[:2], [0, -1], atol=1e-9)
        assert way.place[0] == pytest.approx(0.3) and way.place[1] < 0.65


def test_palms_lie_on_opposite_faces_left_and_right_of_the_carrier() -> None:
    assert isinstance(PARCEL.handles, Carryable)
    others = other_grasps(PARCEL.handles, PARCEL.cuboids)
    assert len(others) == 3
    for grasp in others:
        left, right, facing = (np.array(v) for v in (grasp.left, grasp.right, grasp.facing))
        np.testing.assert_allclose(np.cross(left - right, facing) / np.linalg.norm(left - right), [0, 0, 1], atol=1e-9)
        for palm in (left, right):
            assert np.isclose(np.abs(palm) - PARCEL.cuboids.half[0], 0).sum() == 1


def test_a_box_too_long_to_span_is_taken_across_only() -> None:
    plank = Cuboids(np.zeros((1, 3)), np.array([[0.2, 0.8, 0.1]]))
    grasp = Carryable([0.2, 0.0, 0.0], [-0.2, 0.0, 0.0], [0.0, 1.0, 0.0])
    assert [one.facing for one in other_grasps(grasp, plank)] == [[-0.0, -1.0, -0.0]]


def test_things_are_not_put_on_a_shelf_through_its_back_or_sides() -> None:
    boards = [[[-0.4, -0.2, 0.7], [0.4, 0.2, 0.75]], [[-0.45, -0.2, 0.0], [-0.4, 0.2, 1.8]]]
    boards += [[[0.4, -0.2, 0.0], [0.45, 0.2, 1.8]], [[-0.45, 0.2, 0.0], [0.45, 0.22, 1.8]]]
    low, high = np.array(boards).transpose(1, 0, 2)
    shelf = Cuboids((low + high) / 2, (high - low) / 2)
    up = np.array([0.0, 0.0, 1.0])
    assert other_surfaces(Surface([0.0, 0.0, 0.75], [0.0, -1.0, 0.0], 0.8, 0.4), shelf, up) == []
    # Without its back it is open there.
    open_ = Cuboids(shelf.center[:3], shelf.half[:3])
    found = other_surfaces(Surface([0.0, 0.0, 0.75], [0.0, -1.0, 0.0], 0.8, 0.4), open_, up)
    assert [np.round(one.facing).tolist() for one in found] == [[0, 1, 0]]


def test_things_are_put_on_a_table_from_its_free_side() -> None:
    wall = box("Wall", (0.0, 0.45, 1.0), (3.0, 0.1, 2.0))
    keys = [ActionKey("put_down", "Table")]
    way = leg(shot(TABLE, wall, keys=keys), keys[0], (0.0, 3.0))
    assert isinstance(way.handles, Surface) and way.handles.facing[1] > -0.5


def seat(approaches: list[str]) -> Collider:
    handles = Seat([0.0, 0.0, 0.22], [0.0, -1.0, 0.0], 0.4, 0.4, approaches=approaches)
    return box("Seat", (0.0, 0.0, 0.22), (0.4, 0.4, 0.44), role="seat", handles=handles)


def test_a_stool_is_sat_on_with_the_knees_away_from_a_wall_and_a_chair_that_faces_it_is_refused() -> None:
    wall = box("Wall", (0.0, -0.5, 1.0), (3.0, 0.1, 2.0))
    key = ActionKey("sit", "Seat")
    way = leg(shot(seat(list(SIDES)), wall, keys=[key]), key, (0.0, 2.5))
    assert isinstance(way.handles, Seat) and way.handles.facing[1] > -0.5
    facing = shot(seat(["front", "left", "right"]), wall, keys=[key])
    facing.start = [2.5, 2.5, 0.0, 0.0]
    assert ["no room to sit down on 'Seat': 'Wall'" in one.text for one in fatal(facing)] == [True]


def test_a_box_that_lies_before_a_table_can_be_put_on_it() -> None:
    walls = [box(f"Wall {n}", (x, 1.0, 1.0), (0.1, 3.0, 2.0)) for n, x in enumerate((-0.75, 0.75))]
    back = box("Back", (0.0, 1.5, 1.0), (1.6, 0.1, 2.0))
    before = box("Parcel", (0.0, 0.35, 0.15), (0.4, 0.3, 0.3), role="carryable", handles=PARCEL.handles)
    keys = [ActionKey("pick_up", "Parcel"), ActionKey("put_down", "Table")]
    assert fatal(shot(TABLE, before, *walls, back, keys=keys)) == []


@pytest.mark.parametrize(("height", "said"), [(1.0, False), (1.3, True)])
def test_a_surface_that_is_too_high_to_put_things_on_is_said(height: float, said: bool) -> None:
    top = Surface([0.0, 0.0, height / 2], [0.0, -1.0, 0.0], 0.8, 0.4)
    shelf = box("Shelf", (0.0, 2.0, height / 2), (0.8, 0.4, height), role="surface", handles=top)
    keys = [ActionKey("pick_up", "Parcel"), ActionKey("put_down", "Shelf")]
    found = check(shot(PARCEL, shelf, keys=keys), ABLE)
    assert any("1.30 m high" in problem.text and not problem.fatal for problem in found) == said


@pytest.mark.parametrize(("height", "said"), [(0.25, False), (0.5, True)])
def test_a_high_climb_with_full_hands_is_told(height: float, said: bool) -> None:
    way = Climbable([0.0, -0.6, height / 2], [0.0, 1.0, 0.0], [0.0, -0.2, height / 2], 1.2)
    block = box("Block", (-2.0, 3.0, height / 2), (1.2, 1.2, height), role="climbable", handles=way)
    keys = [ActionKey("pick_up", "Parcel"), ActionKey("climb", "Block")]
    found = check(shot(PARCEL, block, keys=keys), (*ABLE, "climb"))
    assert any("hands are full" in problem.text and not problem.fatal for problem in found) == said


def compartment(depth: float, width: float, height: float) -> Collider:
    """A sideboard, open to -Y, whose compartment has this size and its floor at 0.5 m."""
    board, back = 0.03, 0.02
    x, y, low, high = width / 2, depth / 2, 0.5, 0.5 + height
    parts = [[-x - board, -y, 0.0, x + board, y + back, low], [-x - board, y, low, x + board, y + back, high]]
    parts += [[-x - board, -y, low, -x, y, high], [x, -y, low, x + board, y, high]]
    parts += [[-x - board, -y, high, x + board, y + back, high + board]]
    a, b = np.array(parts)[:, :3], np.array(parts)[:, 3:]
    pose = np.array([[0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    top = Surface([0.0, 0.0, 0.5], [0.0, -1.0, 0.0], width, depth)
    return Collider("Sideboard", Cuboids((a + b) / 2, (b - a) / 2), pose, "surface", top)


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        ((0.45, 0.6, 0.4), ""),
        (
            (0.22, 0.6, 0.4),
            "'Parcel' is 30 cm deep and does not fit into 'Sideboard', whose compartment is 22 cm deep.",
        ),
        (
            (0.45, 0.268, 0.4),
            "'Parcel' is 40 cm wide and does not fit into 'Sideboard', whose compartment is 27 cm wide.",
        ),
        (
            (0.45, 0.6, 0.2),
            "'Parcel' is 30 cm high and does not fit into 'Sideboard', whose compartment is 20 cm high.",
        ),
    ],
)
@pytest.mark.parametrize("angle", [0.0, 0.5])
def test_what_does_not_fit_into_a_compartment_is_refused_with_both_sizes(
    size: tuple[float, float, float], sentence: str, angle: float
) -> None:
    keys = [ActionKey("pick_up", "Parcel"), ActionKey("put_down", "Sideboard")]
    parcel = box("Parcel", (0.0, 0.0, 0.15), (0.4, 0.3, 0.3), angle, role="carryable", handles=PARCEL.handles)
    texts = [one.text for one in fatal(shot(parcel, compartment(*size), keys=keys))]
    assert [text[: len(sentence)] for text in texts] == ([sentence] if sentence else [])


@pytest.mark.parametrize(("size", "turned"), [((0.45, 0.6, 0.4), False), ((0.45, 0.34, 0.4), True)])
def test_a_box_is_taken_from_the_side_from_which_it_fits_where_it_is_put_down_next(
    size: tuple[float, float, float], turned: bool
) -> None:
    keys = [ActionKey("pick_up", "Parcel"), ActionKey("put_down", "Sideboard")]
    made = shot(PARCEL, compartment(*size), keys=keys)
    grasp = PickUp().approach(Planner(made), made.keys[0], 0).sides[0][0].handles
    assert isinstance(grasp, Carryable) and isinstance(PARCEL.handles, Carryable)
    across = np.array(grasp.left) - np.array(grasp.right), np.array(PARCEL.handles.left) - PARCEL.handles.right
    assert bool(abs(across[0] @ across[1]) < 1e-6) == turned


@pytest.mark.parametrize(
    ("depth", "sentence"), [(0.25, ""), (0.2, "does not fit onto 'Bench', whose top is 20 cm deep.")]
)
def test_a_box_deeper_than_an_open_top_may_reach_a_little_over_its_edge(depth: float, sentence: str) -> None:
    top = Surface([0.0, 0.0, 0.2], [0.0, -1.0, 0.0], 1.2, depth)
    bench = box("Bench", (0.0, 2.0, 0.2), (1.2, depth, 0.4), role="surface", handles=top)
    texts = [
        one.text
        for one in fatal(shot(PARCEL, bench, keys=[ActionKey("pick_up", "Parcel"), ActionKey("put_down", "Bench")]))
    ]
    assert len(texts) == bool(sentence) and all(sentence in text for text in texts)
