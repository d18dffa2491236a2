# SPDX-License-Identifier: GPL-3.0-or-later
"""Loops of a gait, and motions mirrored across the sagittal plane."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender import EditError, Motion, loop_gait, mirrored
from nsm_blender.motion.recorded import recorded
from nsm_blender.motion.rotations import from_exponential_map, multiply
from nsm_blender.motion.skeleton import MODEL_SKELETON

from .synthetic import FPS, perform

SECONDS = 6.0


def walk(turn: float = 0.0, start: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Motion:
    """A walk that gets quicker and whose limbs swing by chance, so that no two cycles are alike."""
    count = round(SECONDS * FPS)
    clip = perform(np.linspace(1.1, 1.5, count), SECONDS, turn=turn, start=start).clip
    chance = np.random.default_rng(5).normal(size=(8, len(MODEL_SKELETON), 3)) * 0.06
    knots = np.linspace(0, count - 1, len(chance))
    sway = np.stack(
        [[np.interp(np.arange(count), knots, chance[:, j, c]) for c in range(3)] for j in range(len(MODEL_SKELETON))]
    ).transpose(2, 0, 1)
    arms = [MODEL_SKELETON.index(name) for name in ("Spine1", "Neck", "LeftArm", "RightArm", "LeftForeArm")]
    local = clip.rotations.astype(np.float64)
    local[:, arms] = multiply(local[:, arms], from_exponential_map(sway[:, arms]))
    return recorded(clip.root, MODEL_SKELETON.forward(clip.root, local)[1], FPS, "walk")


def steps(positions: np.ndarray) -> np.ndarray:
    """Largest frame-to-frame change (T - 1,) of all joints."""
    return np.linalg.norm(np.diff(positions, axis=0), axis=-1).max(axis=1)


def test_a_loop_on_the_spot_comes_back_to_its_first_pose_without_a_jerk():
    loop = loop_gait(walk(start=(2.0, -1.0, 0.7)), "spot")
    places = loop.motion.positions.astype(np.float64)
    assert np.abs(places[-1] - places[0]).max() < 1e-4
    around = np.concatenate((places[:-1], places))
    changes = np.linalg.norm(np.diff(around, n=2, axis=0), axis=-1).max(axis=1)
    count = len(places) - 1
    assert changes[count - 1] <= np.percentile(changes[: count - 1], 99)
    assert loop.seam_mm == pytest.approx(1000 * changes[count - 1], abs=0.05)
    assert steps(places[[0, -1]]).max() < np.percentile(steps(places), 99)
    assert np.linalg.norm(places[:, 0, :2] - places[0, 0, :2], axis=1).max() < 0.1
    assert not loop.motion.contacts.any()


def test_a_loop_is_of_whole_cycles_and_as_many_as_are_asked_for():
    motion = walk()
    for cycles in (1, 2, 3):
        loop = loop_gait(motion, "spot", cycles)
        assert loop.cycles == cycles
        assert loop.last - loop.first == pytest.approx(cycles * 0.9 * FPS, abs=4)
        assert len(loop.motion) == round(loop.last - loop.first) + 1


def test_a_traveling_loop_keeps_the_mean_speed_and_goes_on_straight():
    motion = walk(start=(2.0, -1.0, 0.7))
    loop = loop_gait(motion, "travel", rounds=2)
    seconds = (loop.last - loop.first) / FPS
    moved = motion.root[round(loop.last), :2] - motion.root[loop.first, :2]
    assert np.linalg.norm(loop.travel) == pytest.approx(np.linalg.norm(moved), abs=0.02)
    assert np.linalg.norm(loop.travel) / seconds == pytest.approx(1.3, abs=0.2)
    assert loop.repeats_exactly
    places, count = loop.motion.positions, (len(loop.motion) - 1) // 2
    offset = places[count] - places[0]
    assert np.abs(offset - offset[0]).max() < 1e-4
    assert np.abs(places[count:] - places[: count + 1] - offset[0]).max() < 1e-4
    assert loop.motion.root[0, :2] == pytest.approx(motion.root[loop.first, :2], abs=0.02)


def test_a_way_that_turns_keeps_its_turn_and_says_so():
    motion = walk(turn=0.6)
    loop = loop_gait(motion, "travel", 2, rounds=3)
    assert not loop.repeats_exactly
    assert loop.turn == pytest.approx(0.6 * (loop.last - loop.first) / FPS, abs=0.1)  # of the sway
    facing = np.unwrap(loop.motion.root[:, 3])
    assert facing[-1] - facing[0] == pytest.approx(3 * loop.turn, abs=1e-4)
    there = motion.root[round(loop.last), :2] - motion.root[loop.first, :2]
    count = (len(loop.motion) - 1) // 3
    assert loop.motion.root[count, :2] - loop.motion.root[0, :2] == pytest.approx(there, abs=0.03)
    changes = np.linalg.norm(np.diff(loop.motion.positions, n=2, axis=0), axis=-1).max(axis=1)
    assert changes[count - 1] <= np.percentile(changes[: count - 1], 99)


def test_the_loops_bones_keep_their_lengths():
    places = loop_gait(walk(), "travel").motion.positions
    above = [max(parent, 0) for parent in MODEL_SKELETON.parents]
    lengths = np.linalg.norm(places - places[:, above], axis=-1)
    assert np.abs(lengths - np.linalg.norm(MODEL_SKELETON.offsets, axis=1) * (np.arange(22) > 0)).max() < 1e-5


@pytest.mark.parametrize("cycles", [0, 50])
def test_what_has_no_cycles_is_refused(cycles):
    motion = walk() if cycles else recorded(*standing(), "still")
    with pytest.raises(EditError, match="choose a longer range"):
        loop_gait(motion, "spot", cycles)


def standing() -> tuple[np.ndarray, np.ndarray, float]:
    clip = perform(0.0, 3.0, stepping=None).clip
    return clip.root, clip.world()[1], FPS


def test_a_mirrored_motion_exchanges_left_and_right_and_begins_alike():
    motion = walk(turn=0.6, start=(2.0, -1.0, 0.7))
    other = mirrored(motion)
    assert other.root[0] == pytest.approx(motion.root[0], abs=1e-5)
    turned = np.unwrap(motion.root[:, 3].astype(np.float64))
    assert np.unwrap(other.root[:, 3]) - turned[0] == pytest.approx(turned[0] - turned, abs=1e-4)
    left, right = (motion.names.index(side + "Hand") for side in ("Left", "Right"))
    apart = motion.positions[:, left, 2] - motion.positions[:, right, 2]
    assert other.positions[:, right, 2] - other.positions[:, left, 2] == pytest.approx(apart, abs=1e-5)
    assert np.abs(apart).max() > 0.01
    again = recorded(other.positions[:, 0], other.rotations, FPS, "again")
    assert np.abs(again.positions - other.positions).max() < 1e-5, "rotations and places tell the same pose"
    assert np.array_equal(other.contacts, motion.contacts[:, [2, 3, 0, 1]])


def test_mirrored_twice_a_motion_is_itself():
    motion = walk(turn=-0.4, start=(2.0, -1.0, 2.7))
    motion = replace(motion, meta={"name": "walk", "things": {"Box": []}})
    again = mirrored(mirrored(motion))
    assert np.abs(again.positions - motion.positions).max() < 1e-4
    assert np.abs(np.sum(again.rotations * motion.rotations, axis=-1)).min() > 1 - 1e-6
    assert np.abs(again.root - motion.root).max() < 1e-4
    assert again.phase == pytest.approx(motion.phase, abs=1e-5)
    assert "things" not in again.meta
