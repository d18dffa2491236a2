# SPDX-License-Identifier: GPL-3.0-or-later
"""What is carried does not pass through the thighs, and stays where it is when it does not touch them."""

import numpy as np
import pytest
from nsm_blender.cleanup.carried_object_clearance import FARTHEST, Carried, held_off, kept_out
from nsm_blender.geometry.proximity import Around

from nsm_blender.geometry.colliders import Cuboids
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON

FRAMES, HALF = 60, 0.15


def _squatting() -> Array:
    """Joints (T, J, 3) of one whose thighs point straight ahead (-Y) from hips at the origin, 0.6 m up."""
    places = np.zeros((FRAMES, len(MODEL_SKELETON), 3))
    places[..., 2] = 0.6
    places[:, MODEL_SKELETON.index("Spine2"), 2] = 1.0
    for side, x in (("Left", 0.1), ("Right", -0.1)):
        for joint, at in (("UpLeg", (x, 0.0, 0.6)), ("Leg", (x, -0.42, 0.6)), ("Foot", (x, -0.42, 0.1))):
            places[:, MODEL_SKELETON.index(side + joint)] = at
    return places


def _poses(ahead: float, up: float) -> Array:
    return np.tile([0.0, -ahead, up, 1.0, 0.0, 0.0, 0.0], (FRAMES, 1))


BOX = Cuboids(np.zeros((1, 3)), np.full((1, 3), HALF))


def test_a_box_in_the_knees_is_moved_ahead_until_it_is_out_of_them() -> None:
    moved = held_off(_poses(0.5, 0.6), BOX, _squatting(), np.zeros(FRAMES))
    assert (moved[:, 1] < 0).all() and not moved[:, [0, 2]].any()
    # The thigh ends, with its radius, 0.42 + 0.07 m ahead; a touch is let pass.
    assert 0.5 - moved[:, 1] - HALF == pytest.approx(0.49, abs=0.03)


def test_a_box_before_the_knees_stays() -> None:
    assert not held_off(_poses(0.8, 0.6), BOX, _squatting(), np.zeros(FRAMES)).any()


def test_a_box_that_cannot_come_free_is_not_pushed_off_the_hands() -> None:
    moved = held_off(_poses(0.1, 0.6), BOX, _squatting(), np.zeros(FRAMES))
    assert np.linalg.norm(moved, axis=1).max() <= FARTHEST + 1e-9


def test_it_comes_and_goes_smoothly() -> None:
    poses = _poses(0.8, 0.6)
    poses[30:40, 1] = -0.5
    moved = held_off(poses, BOX, _squatting(), np.zeros(FRAMES))[:, 1]
    assert moved.min() < -0.1
    assert np.abs(np.diff(moved)).max() < 0.02


def test_a_box_that_arms_let_hang_into_the_hips_is_held_before_them() -> None:
    standing = np.tile(MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT]), (FRAMES, 1, 1))
    moved = held_off(_poses(0.05, 0.8), BOX, standing, np.zeros(FRAMES))
    # The pelvis begins 0.11 m before the hips, thighs 0.07 m before the joints.
    assert (0.05 - moved[:, 1] - HALF >= 0.1).all()


MOMENTS = 60


def _moved_into(
    things: list[tuple[Array, Array]], lifted: float, face: tuple[Array, Array] | None = None, arrives: int = 9
) -> Array:
    """Places (K, 3) of a box that comes straight ahead (-Y) over 1.2 m into things (centre, half), `lifted` metres
    below where it lies in the end, with the moves that it is given.

    face: joints of the neck and of the head, of a character that stoops. arrives: moments before the last one up to
    which the box is that low.
    """
    around = np.column_stack((np.zeros(MOMENTS), np.linspace(0.2, -1.0, MOMENTS), np.full(MOMENTS, 1.0)))
    share = np.clip((np.arange(MOMENTS) - MOMENTS + arrives + 1) / arrives, 0, 1)
    around[:, 2] -= lifted * (1 - share)
    carried = Carried(around, np.zeros(MOMENTS), np.full(3, HALF))
    centre, half = (np.array(part) for part in zip(*things, strict=True))
    count = len(centre)
    near = Around(
        np.repeat(np.arange(MOMENTS), count),
        np.zeros(MOMENTS * count, dtype=int),
        np.broadcast_to(np.eye(3), (MOMENTS * count, 3, 3)),
        np.tile(centre, (MOMENTS, 1)),
        np.tile(half, (MOMENTS, 1)),
        np.full(MOMENTS * count, 0.3),
    )
    standing = np.tile(MODEL_SKELETON.rest_positions() + np.array([0.0, 1.0, HIPS_HEIGHT]), (MOMENTS, 1, 1))
    if face is not None:
        standing[:, MODEL_SKELETON.indices(["Neck", "Head"])] = face
    arms = np.tile([0.0, -0.3, 0.0, 0.7], (MOMENTS, 2, 1))
    ends = Carried(around[[0, -1]], np.zeros(2), np.full(3, HALF))
    moved = kept_out(carried, near, ends, standing, np.zeros(MOMENTS), arms, True)
    return np.asarray(around + moved)


def _depth_in(place: Array, centre: Array, half: Array) -> float:
    """Deepest metres of the box at places (K, 3) in a thing along its axes."""
    gap = np.abs(place - centre) - half - HALF
    return float(np.maximum(-gap.max(axis=1), 0).max())


CUPBOARD = np.array([0.0, -1.0, 0.425]), np.array([0.6, 0.4, 0.425])


@pytest.mark.parametrize("lifted", [0.2, 0.45])
def test_a_box_that_is_carried_too_low_is_lifted_over_the_edge_of_what_it_is_put_on(lifted: float) -> None:
    place = _moved_into([CUPBOARD], lifted)
    assert _depth_in(place, *CUPBOARD) < 0.01
    assert np.abs(np.diff(place[:, 2])).max() < 0.08
    np.testing.assert_allclose(place[[0, -1]], [[0.0, 0.2, 1.0 - lifted], [0.0, -1.0, 1.0]])


def test_a_box_that_is_lifted_over_an_edge_is_kept_out_of_the_face() -> None:
    face = np.array([0.0, 0.0, 1.0]), np.array([0.0, -0.2, 1.05])
    place = _moved_into([CUPBOARD], 0.45, face)
    points = face[0] + np.linspace(0, 1, 9)[:, None] * (face[1] - face[0])
    gap = np.linalg.norm(np.maximum(np.abs(points - place[:, None]) - HALF, 0), axis=-1)
    # The head's capsule has a radius of 7 cm; where both cannot be, it and the cupboard share the depth.
    assert gap.min() > 0.07
    assert _depth_in(place, *CUPBOARD) < 0.035


def test_a_box_that_comes_up_only_in_the_end_is_lifted_no_higher_than_it_lies_there() -> None:
    place = _moved_into([CUPBOARD], 0.1, arrives=3)
    assert _depth_in(place, *CUPBOARD) < 0.01
    assert place[-2, 2] < 1.0 + 0.02 and place[-3, 2] < 1.0 + 0.05


def test_it_goes_into_a_compartment_between_its_boards() -> None:
    boards = [(np.array([0.0, -1.0, z]), np.array([0.6, 0.4, 0.01])) for z in (0.835, 1.235)]
    place = _moved_into(boards, 0.12)
    assert max(_depth_in(place, *board) for board in boards) < 0.01
    inside = place[:, 1] < -0.5
    assert (place[inside, 2] > 0.84 + HALF - 0.01).all() and (place[inside, 2] < 1.23 - HALF + 0.01).all()


def test_what_touches_nothing_is_carried_as_it_was() -> None:
    low = np.array([0.0, -1.0, 0.2]), np.array([0.6, 0.4, 0.2])
    np.testing.assert_allclose(_moved_into([low], 0.2)[: MOMENTS // 2, 2], 0.8)
