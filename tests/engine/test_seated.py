# SPDX-License-Identifier: GPL-3.0-or-later
"""A body that sits leans on a backrest within reach, by choice; the face turns to what it is turned to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.cleanup.seated_feet import lean_back
from nsm_blender.cleanup.seating import Seating
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.motion.rotations import Array, between, rotate
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from nsm_blender.rollout.goal_input import Reach
from nsm_blender.rollout.pose import GAZE_LIMIT, look_at

FRAMES, SETTLED, LEFT = 300, 60, 240
HEIGHT = 0.45
HEAD, HIPS = MODEL_SKELETON.index("Head"), 0


def _sitting() -> tuple[Array, Array]:
    """Joint places (T, J, 3) and rotations (T, J, 4) of a body that sits upright and faces -Y."""
    turned = np.zeros((FRAMES, len(MODEL_SKELETON), 4))
    turned[..., 0] = 1
    forward = between(np.array([0.0, 0.0, -1.0]), np.array([0.0, -1.0, 0.0]))
    turned[:, MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])] = forward
    joints = float(MODEL_SKELETON.offsets[MODEL_SKELETON.index("LeftUpLeg")][2])
    hips = np.tile([0.0, 0.0, HEIGHT + SEAT_BELOW_HIP_JOINTS - joints], (FRAMES, 1))
    return MODEL_SKELETON.positions(hips, turned), turned


def _seat(behind: float) -> Collider:
    """A seat with a backrest, `behind` metres behind the middle of the hips."""
    centre = np.array([[0.0, 0.0, HEIGHT / 2], [0.0, behind + 0.05, 0.8]])
    return Collider("Seat", Cuboids(centre, np.array([[0.4, 0.3, HEIGHT / 2], [0.4, 0.05, 0.4]])), role="seat")


SEATING = Seating(0, Reach(np.array([0.0, 0.0, HEIGHT]), 0.0, "sit", "Seat"), 20, SETTLED, LEFT)


def _back(behind: float, seating: Seating = SEATING) -> tuple[Array, Array]:
    """Places of the joints (T, J, 3) after leaning, and how much the body leans (T,)."""
    places, turned = _sitting()
    seat = {"Seat": _seat(behind)}
    hips, turned, lean = lean_back(places, turned, np.zeros(FRAMES), [seating], seat, 1.0)
    return MODEL_SKELETON.positions(hips, turned), lean


@pytest.mark.parametrize("behind", [0.2, 0.27, 0.34])
def test_the_back_comes_to_a_backrest_and_not_into_it(behind: float) -> None:
    places, lean = _back(behind)
    still = _sitting()[0]
    middle = (SETTLED + LEFT) // 2 + 30
    top = places[middle, MODEL_SKELETON.index("Neck"), 1] - still[middle, MODEL_SKELETON.index("Neck"), 1]
    assert lean[middle] == 1 and top > 0.05
    spine = places[middle, MODEL_SKELETON.indices(["Hips", "Spine1", "Spine2"]), 1]
    assert (spine + 0.11 < behind + 0.03).all()
    np.testing.assert_allclose(places[:, MODEL_SKELETON.indices(["LeftToe", "RightToe"])],
                               still[:, MODEL_SKELETON.indices(["LeftToe", "RightToe"])], atol=0.01)  # fmt: skip


def test_it_leans_only_while_it_sits_and_comes_and_goes_smoothly() -> None:
    places, lean = _back(0.27)
    np.testing.assert_array_equal(lean[: SETTLED + 1], 0)
    np.testing.assert_allclose(places[[0, -1]], _sitting()[0][[0, -1]])
    assert np.abs(np.diff(places[:, HEAD, 1])).max() < 0.02


@pytest.mark.parametrize(("behind", "seating"), [(1.0, SEATING), (0.27, replace(SEATING, lean=False))])
def test_without_a_backrest_within_reach_or_a_wish_for_it_the_body_sits_upright(
    behind: float, seating: Seating
) -> None:
    np.testing.assert_allclose(_back(behind, seating)[0], _sitting()[0])


@pytest.mark.parametrize("target", [(0.5, -0.6, 0.6), (-0.4, -0.5, 0.9), (0.0, -0.4, 1.0)])
def test_the_face_turns_to_a_target_in_front_and_no_farther_than_a_neck_turns(target: tuple[float, ...]) -> None:
    turned = np.zeros((2, len(MODEL_SKELETON), 4))
    turned[..., 0] = 1
    places = MODEL_SKELETON.positions(np.tile([0.0, 0.0, HIPS_HEIGHT], (2, 1)), turned)

    def off(at: Array, weight: float) -> float:
        out = look_at(places, turned, np.tile(at, (2, 1)), np.full(2, weight))
        face = rotate(out[0, HEAD], np.array([0.0, -1.0, 0.0]))
        way = at - places[0, HEAD]
        return float(np.arccos(np.clip(face @ way / np.linalg.norm(way), -1, 1)))

    assert off(np.array(target), 1.0) < np.radians(10)
    assert off(np.array(target), 0.0) > np.radians(20)
    behind = np.array([0.0, 2.0, 1.6])
    out = look_at(places, turned, np.tile(behind, (2, 1)), np.ones(2))
    face = rotate(out[0, HEAD], np.array([0.0, -1.0, 0.0]))
    assert np.arccos(-face[1]) < GAZE_LIMIT + 1e-6
