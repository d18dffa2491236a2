# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases of approaches: repeatable, allowed, from free places, and with no more turning asked for than the way has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.evaluation.naturalness.approach_cases import CASES, CLEAR, required_turning
from nsm_blender.geometry.colliders import Collider, Surroundings
from nsm_blender.geometry.furniture import make
from nsm_blender.geometry.roles import Seat
from nsm_blender.naturalness.case import DEVELOPMENT_SEEDS
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.validation import check

ABLE = ("walk", "sit", "open", "pick_up")


@pytest.mark.parametrize("kind", sorted(CASES))
def test_an_approach_is_repeatable_and_can_be_baked(kind: str) -> None:
    for seed in DEVELOPMENT_SEEDS[:3]:
        case, again = CASES[kind](seed), CASES[kind](seed)
        assert case.shot.to_json() == again.shot.to_json() and case.turning == again.turning
        assert not any(problem.fatal for problem in check(case.shot, ABLE))
        assert case.shot.start is not None and case.meshes.keys() == {one.name for one in case.shot.colliders}
        body = np.array([[*case.shot.start[:2], 0.7]])
        assert Surroundings(case.shot.colliders).at(0).distance(body).min() >= CLEAR


def test_a_seat_that_is_walked_up_to_straight_asks_for_half_a_turn() -> None:
    chair = make("chair", 1)
    seat = chair.handles
    assert isinstance(seat, Seat)
    ahead = np.array(seat.facing[:2]) / np.linalg.norm(seat.facing[:2])
    place = np.array(seat.place[:2]) + 2.5 * ahead
    toward = math.atan2(-ahead[0], ahead[1])
    shot = Shot(
        "approach",
        30.0,
        100,
        keys=[ActionKey("sit", "seat")],
        goals=[Goal("seat", [0.0, 0.0, 0.0], None, "chair")],
        colliders=[Collider("chair", chair.boxes, role="seat", handles=seat)],
        start=[*place.tolist(), 0.0, toward],
    )
    turning = required_turning(shot)
    assert turning is not None and turning == pytest.approx(math.pi, abs=0.2)
