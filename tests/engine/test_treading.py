# SPDX-License-Identifier: GPL-3.0-or-later
"""Who treads before the thing that he is to use comes to stand; who still comes or turns goes on walking."""

from __future__ import annotations

import numpy as np

from nsm_blender.control.scene_goals import Reach, Stay, Wish
from nsm_blender.control.treading import SINCE, stood
from nsm_blender.models.nsm import ACTIONS

WALK, IDLE = ACTIONS.index("walk"), ACTIONS.index("idle")
BOX = Reach(np.array([0.0, -0.5, 0.4]), 0.0, "idle", "box")


def walking(frames: int, wish: Wish, speed: float = 0.0, facing: float = 0.0) -> np.ndarray:
    """Labels after so many frames in which the network says that one walks."""
    label = np.eye(len(ACTIONS))[WALK]
    for frame in range(frames):
        history = [np.array([speed * i / 60, 0.0, 0.0, facing]) for i in range(SINCE + 1 + frame)]
        label = stood(np.tile(np.eye(len(ACTIONS))[WALK], (7, 1)), label, wish, history)[0]
    return label


def test_who_treads_comes_to_stand_within_a_second() -> None:
    label = walking(60, BOX)
    assert label[WALK] < 0.1 and label[IDLE] > 0.9
    assert walking(5, BOX)[WALK] > 0.6


def test_who_comes_or_turns_or_is_to_stand_anyway_is_left_to_his_labels() -> None:
    for label in (walking(60, BOX, speed=0.5), walking(60, BOX, facing=0.6), walking(60, Stay(np.zeros(3), 0.0))):
        assert label[WALK] == 1


def test_who_has_only_just_come_is_left_to_his_labels() -> None:
    was = np.tile(np.eye(len(ACTIONS))[WALK], (7, 1))
    np.testing.assert_array_equal(stood(was, was[0], BOX, [np.zeros(4)] * SINCE), was)
