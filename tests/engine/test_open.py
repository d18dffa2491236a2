# SPDX-License-Identifier: GPL-3.0-or-later
"""Doors: pushed or pulled, and gone through."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Door
from nsm_blender.tasks.open import is_pushed, open_aim, through_door

LEAF = Collider(
    "leaf",
    Cuboids(np.array([[0.0, 0.0, 1.0]]), np.array([[0.4, 0.02, 1.0]])),
    role="door",
    handles=Door([-0.4, 0.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.0, 1.0], 0.8, 2.0, 1.5),
)
"""It swings toward +Y."""


@pytest.mark.parametrize(("y", "pushed"), [(-1.0, True), (1.0, False)])
def test_a_door_is_pushed_from_one_side_and_pulled_from_the_other(y: float, pushed: bool) -> None:
    aim = open_aim(LEAF, LEAF.poses[0], np.array([0.0, y]))
    assert is_pushed(aim, LEAF) is pushed


def test_behind_a_door_there_is_room_beside_the_leaf_that_stands_open() -> None:
    aim = open_aim(LEAF, LEAF.poses[0], np.array([0.0, -1.0]))
    handles = LEAF.handles
    assert isinstance(handles, Door)
    behind = through_door(aim, np.array([0.0, -0.5, 0.0, 0.0]), LEAF).place
    assert behind[1] > 0.5 and behind[0] - handles.hinge[0] > 0.45
