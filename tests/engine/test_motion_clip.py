# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips in time: cutting, resampling, warping, mirroring and the filters below them."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.motion.contacts import foot_contacts
from nsm_blender.motion.filters import gaussian, runs, velocity, without_short_runs
from nsm_blender.motion.mirror import mirror_clip, mirror_vectors
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import MODEL_SKELETON, mirror_indices

from .synthetic import FPS, Performance, perform


@pytest.fixture(scope="module")
def walk() -> Performance:
    return perform(1.0, 3, turn=0.4, start=(1, 2, 0.5))


def mask(text: str) -> Array:
    return np.array([c == "#" for c in text])


def text(values: Array) -> str:
    return "".join("#" if v else "." for v in values)


def test_half_the_rate_is_every_second_frame(walk: Performance) -> None:
    half = walk.clip.resampled(30)
    assert half.fps == 30
    np.testing.assert_allclose(half.world()[0], walk.clip.world()[0][::2], atol=1e-9)


def test_a_clip_survives_a_higher_rate_and_back(walk: Performance) -> None:
    back = walk.clip.resampled(90).resampled(30)
    np.testing.assert_allclose(back.world()[0], walk.clip.resampled(30).world()[0], atol=1e-9)


@pytest.mark.parametrize("fps", [24.0, 29.97, 50.0, 120.0])
def test_resampling_keeps_time(walk: Performance, fps: float) -> None:
    other = walk.clip.resampled(fps)
    seconds = np.arange(len(other)) / fps
    assert (len(walk.clip) - 1) / FPS - 1 / fps < seconds[-1] <= (len(walk.clip) - 1) / FPS + 1e-9
    for i in range(2):
        expected = np.interp(seconds, np.arange(len(walk.root)) / FPS, walk.root[:, i])
        np.testing.assert_allclose(other.root[:, i], expected, atol=1e-9)


def test_one_frame_can_be_resampled(walk: Performance) -> None:
    one = walk.clip.cut(5, 6).resampled(24)
    assert len(one) == 1
    assert one.fps == 24


def test_warping_in_time_multiplies_the_speed(walk: Performance) -> None:
    fast = walk.clip.time_warped(1.25)
    assert len(fast) == pytest.approx(len(walk.clip) / 1.25, abs=1)
    speed = np.linalg.norm(np.diff(fast.root[:, :2], axis=0), axis=1) * FPS
    np.testing.assert_allclose(speed, 1.25, atol=0.01)


def test_cutting_keeps_the_frames_in_between(walk: Performance) -> None:
    part = walk.clip.cut(20, 50)
    assert len(part) == 30
    np.testing.assert_array_equal(part.world()[0], walk.clip.world()[0][20:50])


def test_the_mirror_image_swaps_the_sides(walk: Performance) -> None:
    order = mirror_indices(MODEL_SKELETON.names)
    mirrored = mirror_clip(walk.clip)
    np.testing.assert_allclose(mirrored.world()[0], mirror_vectors(walk.clip.world()[0])[:, order], atol=1e-9)
    np.testing.assert_array_equal(
        foot_contacts(mirrored.world()[0], FPS), foot_contacts(walk.clip.world()[0], FPS)[:, [2, 3, 0, 1]]
    )


def test_the_mirror_image_of_the_mirror_image_is_the_clip(walk: Performance) -> None:
    twice = mirror_clip(mirror_clip(walk.clip))
    np.testing.assert_allclose(twice.rotations, walk.clip.rotations, atol=1e-12)
    np.testing.assert_allclose(twice.root, walk.clip.root, atol=1e-12)
    assert mirror_clip(walk.clip).meta["mirrored"] is True
    assert twice.meta["mirrored"] is False


def test_smoothing_keeps_constants_and_slopes_and_damps_flicker() -> None:
    t = np.arange(100.0)
    x = np.stack((np.full(100, 3.0), 0.5 * t, (-1.0) ** t), axis=1)
    smooth = gaussian(x, 3)
    np.testing.assert_allclose(smooth[:, 0], 3, atol=1e-12)
    np.testing.assert_allclose(smooth[10:-10, 1], x[10:-10, 1], atol=1e-9)
    assert np.abs(smooth[10:-10, 2]).max() < 0.001


def test_smoothing_does_not_shift_in_time() -> None:
    x = np.zeros(101, dtype=np.float32)
    x[50] = 1
    smooth = gaussian(x, 4)
    assert smooth.dtype == np.float32
    assert smooth.argmax() == 50
    np.testing.assert_allclose(smooth, smooth[::-1], atol=1e-7)
    assert smooth.sum() == pytest.approx(1, abs=1e-6)


def test_velocity_is_per_second() -> None:
    x = np.arange(10.0)[:, None] * [0.1, -0.2]
    np.testing.assert_allclose(velocity(x, 60), np.tile([6.0, -12.0], (10, 1)), atol=1e-9)
    np.testing.assert_array_equal(velocity(x[:1], 60), 0)


def test_runs_are_half_open_ranges() -> None:
    assert runs(mask("##..#...###")) == [(0, 2), (4, 5), (8, 11)]
    assert runs(mask("....")) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("####.####", "#########"),  # a flicker of the gap
        ("....#....", "........."),  # a flicker of the run
        ("###..###", "###..###"),  # just long enough
        ("#....####", "#....####"),  # what the ends cut off may be longer
        (".####...##.###", ".####...##.###"),
        ("##.#.##", "#######"),
    ],
)
def test_short_gaps_are_filled_and_short_runs_dropped(before: str, after: str) -> None:
    shortest_run = 1 if before == ".####...##.###" else 2
    shortest_gap = 1 if before == ".####...##.###" else 2
    assert text(without_short_runs(mask(before), shortest_gap, shortest_run)) == after
