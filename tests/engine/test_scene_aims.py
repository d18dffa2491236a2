# SPDX-License-Identifier: GPL-3.0-or-later
"""How a thing is used by one who comes to it from some side."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.roles import SIDES, Seat
from nsm_blender.motion.rotations import from_yaw
from nsm_blender.tasks.interaction_targets import seat_towards

TURNED = np.concatenate([[2.0, 1.0, 0.0], from_yaw(np.array(np.pi / 2))])
"""A quarter turn to the left: what faces -Y in the thing's frame faces +X."""


def seat(approaches: list[str], width: float = 0.4) -> Seat:
    return Seat([0.0, 0.0, 0.5], [0.0, -1.0, 0.0], width, 0.4, [], approaches)


@pytest.mark.parametrize(
    ("away", "facing"),
    [((0.6, 0.0), (0, -1, 0)), ((-0.6, 0.0), (0, 1, 0)), ((0.0, 0.6), (1, 0, 0)), ((0.1, -0.6), (-1, 0, 0))],
)
def test_an_open_stool_is_sat_on_looking_to_where_one_came_from(away: tuple[float, float], facing: object) -> None:
    used = seat_towards(seat(list(SIDES)), TURNED, np.array([2.0, 1.0]) + away)
    assert used.facing == pytest.approx(facing)


def test_a_chair_keeps_its_front() -> None:
    chair = seat(["front", "left", "right"])
    assert seat_towards(chair, TURNED, np.array([1.4, 1.0])) is chair


def test_a_bench_is_not_sat_on_along_its_length() -> None:
    used = seat_towards(seat(list(SIDES), width=1.4), TURNED, np.array([1.9, 2.0]))
    assert used.facing == pytest.approx((0, 1, 0))
