# SPDX-License-Identifier: GPL-3.0-or-later
"""When one sits: on the seat, by his labels, and no longer on his way there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from nsm_blender.cleanup.seating import HIP_JOINTS, sitting_place
from nsm_blender.models.nsm import ACTIONS, CONTACTS, FPS
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import MODEL_SKELETON
from nsm_blender.rollout.goal_input import Reach
from nsm_blender.tasks.task_completion import Deed

REST = MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, 0.55])
SEAT = sitting_place(REST[0], REST[HIP_JOINTS])


@dataclass
class Sitter:
    """One who sits at a place beside the middle of the seat."""

    frame: int
    beside: Array
    label: float = 1.0
    places: Array = field(init=False)
    root: Array = field(init=False)
    action: Array = field(default_factory=lambda: np.zeros(len(ACTIONS)))
    contacts: Array = field(default_factory=lambda: np.zeros(len(CONTACTS)))

    def __post_init__(self) -> None:
        self.places = REST + np.append(self.beside, 0.0)
        self.root = np.array([*self.beside, 0.0, 0.0])
        self.action[ACTIONS.index("sit")] = self.label
        self.contacts[CONTACTS.index("Hips")] = self.label


def sits_after(way: Any, label: float = 1.0) -> float:
    """Seconds after which one sits whose place beside the middle of the seat is `way(seconds)` (2,), at most 5."""
    deed: Any = Deed(0, "sit", Reach(SEAT, 0.0, "sit", "chair"), 0)
    for frame in range(round(5 * FPS)):
        if deed.done(Sitter(frame, np.array(way(frame / FPS)), label), None):
            return frame / FPS
    return 5.0


def test_one_who_rocks_on_the_seat_sits() -> None:
    """Up to 0.19 m/s, to and fro."""
    assert sits_after(lambda at: (0.015 * np.sin(2 * np.pi * 2 * at), 0.0)) < 1.0


def test_one_who_slides_in_sits_when_he_is_there() -> None:
    assert 1.0 < sits_after(lambda at: (0.0, max(0.25 - 0.25 * at, 0.0))) < 1.6


@pytest.mark.parametrize(("beside", "label"), [((0.4, 0.0), 1.0), ((0.0, 0.0), 0.2)], ids=["beside it", "by no label"])
def test_nobody_sits_beside_the_seat_or_who_only_bends(beside: tuple[float, float], label: float) -> None:
    assert sits_after(lambda _: beside, label) == 5.0
