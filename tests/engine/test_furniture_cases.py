# SPDX-License-Identifier: GPL-3.0-or-later
"""The naturalness cases with real furniture: the same for a seed, set up as people do, nothing in one another."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from nsm_blender.evaluation.naturalness.furniture_cases import CASES, NEAREST
from nsm_blender.evaluation.naturalness.load_settings import height_above
from nsm_blender.evaluation.real_furniture.catalog import make
from nsm_blender.evaluation.real_furniture.rooms import before, furnished_room, overlap, stood, under
from nsm_blender.geometry.roles import Surface
from nsm_blender.naturalness.case import DEVELOPMENT_SEEDS, UNSEEN_SEEDS, Case
from nsm_blender.shot.goals import ACTIONS

SEEDS = DEVELOPMENT_SEEDS[20:22]


@cache
def _made(kind: str, seed: int) -> Case:
    return CASES[kind](seed)


@pytest.mark.parametrize("kind", CASES)
def test_a_seed_gives_the_same_shot_again_and_another_seed_another(kind: str) -> None:
    again = CASES[kind](SEEDS[0])
    assert _made(kind, SEEDS[0]).shot.hash() == again.shot.hash() != _made(kind, SEEDS[1]).shot.hash()


@pytest.mark.parametrize("kind", CASES)
def test_a_case_is_a_valid_shot_with_the_true_mesh_of_every_collider(kind: str) -> None:
    for seed in SEEDS:
        case = _made(kind, seed)
        case.shot.validate()
        assert case.kind == kind and case.seed == seed
        assert 5 <= case.shot.frames / case.shot.fps <= 50
        for collider in case.shot.colliders:
            low, high = _bounds(case, collider.name)
            boxes = collider.cuboids
            # Voxels hold the mesh and end at most one voxel beyond it.
            assert ((boxes.center - boxes.half).min(0) <= low + 0.005).all()
            assert ((boxes.center + boxes.half).max(0) >= high - 0.005).all()
            assert ((boxes.center - boxes.half).min(0) >= low - 0.045).all()


def test_used_things_have_handles_and_nothing_starts_in_them() -> None:
    for kind in CASES:
        case = _made(kind, SEEDS[1])
        colliders = {collider.name: collider for collider in case.shot.colliders}
        used = [goal.collider for goal in case.shot.goals if goal.collider]
        assert used and all(colliders[name].handles is not None for name in used)
        assert case.shot.start is not None
        first = next(goal for goal in case.shot.goals if goal.name == case.shot.keys[0].goal)
        away = float(np.linalg.norm(np.subtract(case.shot.start[:2], first.place[:2])))
        assert away > (NEAREST - 0.3 if kind != "room" else 0.3)
        assert all(key.action in ACTIONS for key in case.shot.keys)


def test_furniture_of_the_table_and_of_the_development_differ() -> None:
    ours, theirs = (
        {tuple(np.round(c.cuboids.half.ravel()[:9], 6)) for s in seeds[:2] for c in CASES["pick_up"](s).shot.colliders}
        for seeds in (DEVELOPMENT_SEEDS, UNSEEN_SEEDS)
    )
    assert not ours & theirs


def test_narrow_seats_are_refused_or_not_by_the_room_that_is_left() -> None:
    asked = [CASES["sit_blocked"](seed).refusal for seed in DEVELOPMENT_SEEDS[:16]]
    assert set(asked) == {"", "move"}
    assert 0.05 < np.mean([bool(words) for words in asked]) < 0.6


def test_things_are_put_down_at_many_heights_within_reach() -> None:
    heights = []
    for seed in DEVELOPMENT_SEEDS[:10]:
        case = CASES["put_down"](seed)
        goal = next(goal for goal in case.shot.goals if goal.name == "top")
        heights.append(goal.place[2])
        target = next(collider for collider in case.shot.colliders if collider.name == "Target")
        assert isinstance(target.handles, Surface)
    assert min(heights) < 0.45 and max(heights) > 0.7 and max(heights) <= 1.06


def test_a_room_is_furnished_and_nothing_stands_in_another() -> None:
    counts = []
    for seed in SEEDS:
        things = furnished_room(np.random.default_rng(seed), seed).things
        inside = [thing for thing in things if not thing.name.startswith("Wall")]
        counts.append(len(inside))
        for number, thing in enumerate(inside):
            for other in inside[:number]:
                assert not overlap(thing, other)
    assert min(counts) >= 6


def test_a_table_stands_the_given_gap_before_a_sofa_and_a_chair_so_far_under_a_table() -> None:
    sofa = stood("Sofa", make("sofa", SEEDS[0]), np.array([1.0, 2.0]), 0.8)
    table = before(sofa, "Table", make("coffee_table", SEEDS[0]), 0.4, 0.1)
    out = np.array([np.sin(0.8), -np.cos(0.8)])
    gap = (table.mesh().vertices[:, :2] @ out).min() - (sofa.mesh().vertices[:, :2] @ out).max()
    assert gap == pytest.approx(0.4, abs=1e-6)
    dining = stood("Table", make("dining_table", SEEDS[1]), np.zeros(2), np.pi)
    chair = under(dining, "Chair", make("slatted_chair", SEEDS[1]), 0.1, 0.0, 0.0)
    assert not overlap(dining, chair)
    # Its front looks to -Y, so the table's near edge is its highest Y.
    assert dining.mesh().vertices[:, 1].max() - chair.mesh().vertices[:, 1].min() == pytest.approx(0.1, abs=0.03)


def _bounds(case: Case, name: str) -> tuple[np.ndarray, np.ndarray]:
    vertices = np.concatenate([part.vertices for part in case.meshes[name]])
    return vertices.min(0), vertices.max(0)


def test_the_free_height_over_a_shelfs_board_reaches_to_the_next_board_past_braces() -> None:
    for seed in DEVELOPMENT_SEEDS[:12]:
        piece = make("shelf", seed)
        boards = [one for one in (piece.handles, *piece.also) if isinstance(one, Surface)]
        heights = sorted({round(board.place[2], 4) for board in boards})
        for board in boards:
            higher = [height for height in heights if height > board.place[2] + 0.01]
            free = height_above(piece, board)
            if higher:
                # A board is thinner than 6 cm.
                assert higher[0] - board.place[2] - 0.06 < free < higher[0] - board.place[2]
            else:
                assert free > 0.2
