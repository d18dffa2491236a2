# SPDX-License-Identifier: GPL-3.0-or-later
"""Endurance: random keys that can be done, and what the long motion that they make looks like."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.evaluation.nsm_endurance import random_shot
from nsm_blender.geometry.furniture import make, piece_of
from nsm_blender.geometry.rooms import Furnishing, Room
from nsm_blender.geometry.shapes import block
from nsm_blender.tasks.validation import check

SEED = 100001
ABLE = ("idle", "walk", "run", "sit", "carry", "pick_up", "put_down", "open", "climb")
FREE = [[0.0, -2.0], [0.5, -2.0], [0.0, -1.5]]
TABLE = [2.5, 0.0]


def fence(x: float, y: float, half: float = 1.2) -> Furnishing:
    """Four walls around a place."""
    out, inside = half + 0.1, half
    corners = (((-out, -out), (out, -inside)), ((-out, inside), (out, out)), ((-out, -out), (-inside, out)),
               ((inside, -out), (out, out)))  # fmt: skip
    solids = [block((*low, 0.0), (*high, 2.5)) for low, high in corners]
    return Furnishing("fence", piece_of("wall", solids), np.array([x, y, 0.0]))


def room(*furnishings: Furnishing, free: list[list[float]] = FREE) -> Room:
    return Room(list(furnishings), (9.0, 9.0), [], np.array(free), np.zeros((0, 2)), [])


def furnishing(kind: str, place: list[float]) -> Furnishing:
    return Furnishing(kind, make(kind, SEED), np.array([*place, 0.0]))


def actions(place: Room, keys: int) -> list[str]:
    shot = random_shot(place, ABLE, np.random.default_rng(1), keys)
    assert not shot.keys or not any(problem.fatal for problem in check(shot, ABLE))
    return [key.action for key in shot.keys]


def test_what_is_picked_up_is_put_down_next() -> None:
    found = actions(room(furnishing("crate", [-2.0, 0.0]), furnishing("table", TABLE)), 10)
    assert len(found) in (10, 11) and "pick_up" in found
    assert all((a == "pick_up") == (b == "put_down") for a, b in zip(found, [*found[1:], ""], strict=True))


@pytest.mark.parametrize("surface", [[], [furnishing("table", TABLE), fence(*TABLE)]])
def test_nothing_is_picked_up_where_it_can_be_put_down_nowhere(surface: list[Furnishing]) -> None:
    found = actions(room(furnishing("crate", [-2.0, 0.0]), *surface), 10)
    assert len(found) == 10 and set(found) == {"walk", "run"}


def test_where_nothing_can_be_done_there_are_no_keys() -> None:
    assert actions(room(fence(0.0, -2.0, half=0.2), free=[[0.0, -2.0]]), 10) == []
