# SPDX-License-Identifier: GPL-3.0-or-later
"""The last correction is small, slow and told."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.cleanup.cleanup import Posed, posed
from nsm_blender.cleanup.corrections import FARTHEST, allowed
from nsm_blender.cleanup.seat_targets import TRUNK
from nsm_blender.cleanup.seating import HIP_JOINTS, Seating, sitting_place
from nsm_blender.models.nsm import ACTIONS, FPS
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import MODEL_SKELETON
from nsm_blender.rollout.goal_spec import Reach
from nsm_blender.rollout.nsm import SceneRecord

from .rollouts import COUNT, SAT, SEAT, at, empty_hands, hands_with, holding, record, sits_at

FAR = replace(SEAT, poses=np.array([[9.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]))
"""The seat elsewhere: a body in the T-pose, whose legs hang, is nowhere in it."""


def seated(off: Array, askew: float) -> tuple[SceneRecord, Posed]:
    """A character that sits by `off` (3,) meters and `askew` radians beside where it should."""
    rest = MODEL_SKELETON.rest_positions()
    hips = off - sitting_place(rest[0], rest[HIP_JOINTS])
    aim = Reach(np.array([0.0, 0.0, 0.4]), -askew, "sit", "seat")
    rolled = record(np.tile(rest + hips + aim.place, (COUNT, 1, 1)), ())
    rolled.actions[:, ACTIONS.index("sit")] = 1
    return rolled, posed(rolled, [Seating(0, aim, SAT - 30, SAT - 20, SAT)], empty_hands(FAR), [FAR])


@pytest.mark.parametrize("meters", [0.01, 0.029, 0.05, 0.2])
@pytest.mark.parametrize("degrees", [0.0, 2.0, 7.0])
def test_the_last_correction_is_bounded_and_told(meters: float, degrees: float) -> None:
    off = meters * np.array([0.6, 0.0, 0.8])
    before, after = seated(off, math.radians(degrees))
    told = after.corrections[0]
    assert told.raw_cm == pytest.approx(100 * meters, abs=1e-3) and told.raw_deg == pytest.approx(degrees, abs=1e-3)
    assert told.deg == pytest.approx(0.0, abs=0.1)
    assert told.cm >= 100 * (meters - FARTHEST) - 1e-3
    # Shift and turn together move no part of the trunk farther than a correction may.
    moved = sits_at(after.places) - sits_at(before.places)
    angle = after.root[:, 3]
    side = np.stack((np.cos(angle) - 1, np.sin(angle), np.zeros(COUNT)), axis=1)
    for sign in (-TRUNK, TRUNK):
        assert np.linalg.norm(moved + sign * side, axis=1).max() <= FARTHEST + 1e-6
    assert np.linalg.norm(sits_at(after.places)[SAT] - [0, 0, 0.4]) == pytest.approx(told.cm / 100, abs=1e-5)


@pytest.mark.parametrize("half", [0.1, 0.25])
def test_what_is_corrected_moves_neither_palm_too_far(half: float) -> None:
    rng = np.random.default_rng(4)
    shift, turn, angle = rng.normal(0, 0.05, (200, 3)), rng.normal(0, 0.3, 200), rng.uniform(-4, 4, 200)
    moved, turned = allowed(shift, turn, half, angle)

    def line(at: Array) -> Array:
        return half * np.stack((np.cos(at), np.sin(at), np.zeros(200)), axis=1)

    for sign in (-1, 1):
        off = moved + sign * (line(angle + turned) - line(angle))
        assert np.linalg.norm(off, axis=1).max() <= FARTHEST + 1e-9
    small = (np.linalg.norm(shift, axis=1) + half * np.abs(turn)) < FARTHEST
    assert small.any()
    np.testing.assert_allclose(moved[small], shift[small])
    np.testing.assert_allclose(turned[small], turn[small])


def test_hips_on_a_seat_may_shift_and_do_not_sway() -> None:
    rest = MODEL_SKELETON.rest_positions()
    hips = np.array([0.0, 0.0, 0.4]) - sitting_place(rest[0], rest[HIP_JOINTS])
    seconds = np.maximum(np.arange(COUNT) - SAT, 0) / FPS
    shift = np.zeros((COUNT, 3))
    shift[:, 1] = 0.02 * np.minimum(seconds, 1.0)
    sway = shift + np.outer(0.01 * np.sin(2 * np.pi * seconds), [0.0, 0.6, 0.8])
    rolled = record(rest + hips + sway[:, None], ())
    rolled.actions[:, ACTIONS.index("sit")] = 1
    aim = Reach(np.array([0.0, 0.0, 0.4]), 0.0, "sit", "seat")
    after = posed(rolled, [Seating(0, aim, SAT - 30, SAT - 20, SAT)], empty_hands(FAR), [FAR])
    settled = slice(SAT + round(FPS), COUNT - round(0.5 * FPS))
    left = (sits_at(after.places) - [0, 0, 0.4] - shift)[settled]
    assert len(left) > FPS
    assert np.abs(left).max() < 0.004


def test_the_correction_takes_a_second() -> None:
    before, after = seated(np.array([0.03, 0.0, 0.0]), 0.0)
    moved = np.linalg.norm(sits_at(after.places) - sits_at(before.places), axis=1)
    assert moved[SAT - round(FPS)] < 1e-3
    assert np.abs(np.diff(moved)).max() < 2 * FARTHEST / FPS


@pytest.mark.parametrize("meters", [0.0, 0.02, 0.12])
def test_what_is_told_of_a_grasp_is_how_far_the_network_was_off_and_what_three_centimeters_leave(meters: float) -> None:
    place = np.array([0.0, -0.3, 1.15])
    rolled = holding(np.tile(place, (COUNT, 1)))
    goal = at(place - [0.0, 0.0, meters])
    box, hands = hands_with(rolled, goal, SAT, COUNT - 60, goal)
    taken, put = posed(rolled, [], hands, [box]).corrections
    assert (taken.what, put.what) == ("hands", "box") and (taken.key, put.key) == (0, 1)
    for told in (taken, put):
        assert told.raw_cm == pytest.approx(100 * meters, abs=0.5)
    assert taken.cm >= taken.raw_cm - 100 * FARTHEST - 1e-6
    assert put.cm < 0.5
