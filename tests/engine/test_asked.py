# SPDX-License-Identifier: GPL-3.0-or-later
"""Nobody begins what nobody asked for; who stands before what he is asked to use does not stand on."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.models.nsm import ACTIONS, FUTURE
from nsm_blender.rollout.action_label_filter import only_asked, ready
from nsm_blender.rollout.goal_input import Reach, Stay, Wish

HERE = np.zeros(3)
SIT, CARRY, WALK = (ACTIONS.index(name) for name in ("sit", "carry", "walk"))


def labels(index: int, value: float) -> np.ndarray:
    out = np.zeros(len(ACTIONS))
    out[index] = value
    return out


@pytest.mark.parametrize("index", [SIT, CARRY])
def test_one_who_only_stands_never_begins_to_use_a_thing(index: int) -> None:
    before = np.zeros(len(ACTIONS))
    for _ in range(60):
        before = only_asked(np.minimum(before + labels(index, 0.1), 1)[None], before, Stay(HERE))[0]
    assert before.max() == 0


@pytest.mark.parametrize(
    ("index", "wish"),
    [
        (SIT, Reach(HERE, 0.0, "sit", "chair")),
        (CARRY, Reach(HERE, 0.0, "carry", "box")),
        (CARRY, Stay(HERE, None, "carry", "box")),
        (WALK, Stay(HERE)),
    ],
)
def test_what_is_asked_for_may_begin(index: int, wish: Wish) -> None:
    assert only_asked(labels(index, 0.7)[None], np.zeros(len(ACTIONS)), wish)[0, index] == 0.7


def test_one_who_gets_up_sits_less_and_less() -> None:
    assert only_asked(labels(SIT, 0.6)[None], labels(SIT, 0.9), Stay(HERE))[0, SIT] == 0.6


BOX = Reach(np.array([0.0, -0.5, 0.5]), 0.0, "carry", "box")
"""Before one who stands in the middle and faces -Y."""
STOOL = Reach(np.array([0.0, 0.3, 0.5]), 0.0, "sit", "stool")


@pytest.mark.parametrize(("wish", "index", "idles"), [(BOX, CARRY, 1.0), (STOOL, SIT, 0.0), (STOOL, SIT, 1.0)])
def test_who_stands_before_a_thing_sees_himself_use_it_in_a_second(wish: Reach, index: int, idles: float) -> None:
    foreseen = ready(np.zeros((FUTURE, len(ACTIONS))), wish, np.zeros(4), idles)
    assert (np.diff(foreseen[:, index]) > 0).all() and foreseen[-1, index] > 0.9


@pytest.mark.parametrize(
    ("wish", "root", "idles"),
    [
        (BOX, np.zeros(4), 0.0),
        (BOX, np.array([0.0, 2.0, 0.0, 0.0]), 1.0),
        (BOX, np.array([0.0, 0.0, 0.0, 1.0]), 1.0),
        (STOOL, np.array([0.0, 0.0, 0.0, 3.0]), 1.0),
        (Reach(BOX.place, 0.0, "idle", "table"), np.zeros(4), 1.0),
        (Stay(HERE), np.zeros(4), 1.0),
    ],
    ids=["on his way", "far", "turned away", "faces the seat", "puts down", "only stands"],
)
def test_nobody_else_is_urged(wish: Wish, root: np.ndarray, idles: float) -> None:
    labels_ = np.full((FUTURE, len(ACTIONS)), 0.2)
    np.testing.assert_array_equal(ready(labels_, wish, root, idles), labels_)
