# SPDX-License-Identifier: GPL-3.0-or-later
"""Sitting: from which side, and when it is done: on the seat, by the labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from nsm_blender.cleanup.seating import HIP_JOINTS, sitting_place
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import SIDES, Seat
from nsm_blender.models.nsm import ACTIONS, CONTACTS, FPS
from nsm_blender.motion.rotations import Array, from_yaw
from nsm_blender.motion.skeleton import MODEL_SKELETON
from nsm_blender.rollout.goal_spec import Reach
from nsm_blender.tasks.sit import SIT, before_edge, seat_aim, seat_toward

REST = MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, 0.55])
SEAT = sitting_place(REST[0], REST[HIP_JOINTS])


@dataclass
class Sitter:
    """A character that sits at a place beside the middle of the seat."""

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
    """Seconds, at most 5, after which a character sits whose place beside the seat's middle is `way(seconds)` (2,)."""
    completion: Any = SIT.begin(0, Reach(SEAT, 0.0, "sit", "chair"), 0)
    for frame in range(round(5 * FPS)):
        if completion.done(Sitter(frame, np.array(way(frame / FPS)), label), None):
            return frame / FPS
    return 5.0


def test_rocking_on_the_seat_is_sitting() -> None:
    """Up to 0.19 m/s, to and fro."""
    assert sits_after(lambda at: (0.015 * np.sin(2 * np.pi * 2 * at), 0.0)) < 1.0


@pytest.mark.parametrize(("beside", "label"), [((0.4, 0.0), 1.0), ((0.0, 0.0), 0.2)], ids=["beside it", "by no label"])
def test_a_place_beside_the_seat_or_bending_is_not_sitting(beside: tuple[float, float], label: float) -> None:
    assert sits_after(lambda _: beside, label) == 5.0


TURNED = np.concatenate([[2.0, 1.0, 0.0], from_yaw(np.array(np.pi / 2))])
"""A quarter turn to the left: what faces -Y in the thing's frame faces +X."""


def seat(approaches: list[str], width: float = 0.4) -> Seat:
    return Seat([0.0, 0.0, 0.5], [0.0, -1.0, 0.0], width, 0.4, [], approaches)


@pytest.mark.parametrize(
    ("away", "facing"),
    [((0.6, 0.0), (0, -1, 0)), ((-0.6, 0.0), (0, 1, 0)), ((0.0, 0.6), (1, 0, 0)), ((0.1, -0.6), (-1, 0, 0))],
)
def test_an_open_stool_is_sat_on_looking_back(away: tuple[float, float], facing: object) -> None:
    used = seat_toward(seat(list(SIDES)), TURNED, np.array([2.0, 1.0]) + away)
    assert used.facing == pytest.approx(facing)


def test_a_chair_keeps_its_front() -> None:
    chair = seat(["front", "left", "right"])
    assert seat_toward(chair, TURNED, np.array([1.4, 1.0])) is chair


def test_a_bench_is_not_sat_on_along_its_length() -> None:
    used = seat_toward(seat(list(SIDES), width=1.4), TURNED, np.array([1.9, 2.0]))
    assert used.facing == pytest.approx((0, 1, 0))


def test_a_wide_seat_is_approached_all_along_its_edge_and_not_at_its_side() -> None:
    handles = Seat([0.0, 0.0, 0.45], [0.0, -1.0, 0.0], 1.6, 0.6)
    sofa = Collider(
        "sofa", Cuboids(np.array([[0.0, 0.0, 0.2]]), np.array([[0.8, 0.3, 0.2]])), role="seat", handles=handles
    )
    aim = seat_aim(sofa, sofa.poses[0])
    np.testing.assert_allclose(before_edge(aim, np.array([0.7, -0.6])), [0.0, -0.3], atol=1e-6)
    np.testing.assert_allclose(before_edge(aim, np.array([1.3, 0.1])), [0.5, 0.4], atol=1e-6)
