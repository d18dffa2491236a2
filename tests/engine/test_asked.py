# SPDX-License-Identifier: GPL-3.0-or-later
"""Nobody begins what nobody asked for."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.control.asked import only_asked
from nsm_blender.control.scene_goals import Reach, Stay, Wish
from nsm_blender.models.nsm import ACTIONS

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
