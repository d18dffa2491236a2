# SPDX-License-Identifier: GPL-3.0-or-later
"""Motions: they survive the disk and other frame rates, and a file that is none is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nsm_blender.errors import FileFormatError
from nsm_blender.motion.gait import GAITS
from nsm_blender.motion.labels import label
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from nsm_blender.naturalness.metrics import bone_length_error

from .synthetic import FPS, perform


@pytest.fixture(scope="module")
def motion() -> Motion:
    """A walk round a full circle and more, so that facing and phase wrap."""
    clip = perform(1.0, 8.0, turn=1.0, start=(2, 1, 2.0)).clip
    positions, rotations = clip.world()
    labels = label(clip)
    root = labels.root.copy()
    root[:, 3] = np.remainder(root[:, 3] + np.pi, 2 * np.pi) - np.pi
    return Motion(
        MODEL_SKELETON.names,
        MODEL_SKELETON.parents,
        positions.astype(np.float32),
        rotations.astype(np.float32),
        root.astype(np.float32),
        labels.contacts,
        CONTACT_JOINTS,
        np.asarray(labels.phase % (2 * np.pi), dtype=np.float32),
        np.eye(len(GAITS), dtype=np.float32)[labels.gait],
        GAITS,
        FPS,
        {"model": "none", "name": "Ève"},
    )


ARRAYS = ("positions", "rotations", "root", "contacts", "phase", "actions")


def turn(a: Array, b: Array) -> Array:
    """Difference of angles on the short way."""
    return np.angle(np.exp(1j * (a.astype(np.float64) - b)))


def test_a_saved_motion_comes_back_as_it_was(motion: Motion, tmp_path: Path) -> None:
    motion.save(tmp_path / "a.npz")
    back = Motion.load(tmp_path / "a.npz")
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(back, name), getattr(motion, name))
        assert getattr(back, name).dtype == np.float32
    for name in ("names", "parents", "contact_names", "action_names", "fps", "meta"):
        assert getattr(back, name) == getattr(motion, name)


def test_a_saved_motion_holds_what_the_design_says(motion: Motion, tmp_path: Path) -> None:
    motion.save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as z:
        assert set(z.files) == {*ARRAYS, "names", "parents", "contact_names", "action_names", "fps", "meta"}


def test_a_file_that_lacks_something_is_refused_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", names=np.array(["a"]))
    with pytest.raises(FileFormatError, match=r"other\.npz: not a motion file, it lacks parents, positions"):
        Motion.load(tmp_path / "other.npz")


@pytest.mark.parametrize("content", [b"", b"not a zip", None])
def test_what_is_no_motion_file_is_refused_with_its_name(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "broken.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"broken\.npz: cannot be read as a motion file"):
        Motion.load(path)


def test_an_array_alone_is_no_motion_file(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(FileFormatError, match=r"array\.npy: cannot be read as a motion file"):
        Motion.load(tmp_path / "array.npy")


def test_a_motion_with_a_damaged_middle_is_refused(motion: Motion, tmp_path: Path) -> None:
    path = tmp_path / "damaged.npz"
    motion.save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 200] = bytes(200)
    path.write_bytes(bytes(data))
    with pytest.raises(FileFormatError, match=r"damaged\.npz"):
        Motion.load(path)


def test_a_motion_cut_off_in_the_middle_of_the_file_is_refused(motion: Motion, tmp_path: Path) -> None:
    path = tmp_path / "cut.npz"
    motion.save(path)
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(FileFormatError, match=r"cut\.npz"):
        Motion.load(path)


@pytest.mark.parametrize("fps", [24.0, 25.0, 29.97, 30.0, 50.0, 120.0])
def test_at_another_rate_the_character_is_at_the_same_place_at_the_same_time(motion: Motion, fps: float) -> None:
    other = motion.resampled(fps)
    assert other.fps == fps
    times = np.arange(len(other)) / fps
    assert (len(motion) - 1) / FPS - 1 / fps < times[-1] <= (len(motion) - 1) / FPS + 1e-6
    for i in range(2):
        expected = np.interp(times, np.arange(len(motion)) / FPS, motion.root[:, i])
        np.testing.assert_allclose(other.root[:, i], expected, atol=1e-5)
        np.testing.assert_allclose(other.positions[:, 0, i], expected, atol=1e-5)


@pytest.mark.parametrize("fps", [24.0, 29.97, 50.0])
def test_bones_stay_rigid_and_agree_with_their_rotations_at_any_rate(motion: Motion, fps: float) -> None:
    other = motion.resampled(fps)
    assert bone_length_error(other.positions) < 1e-5
    np.testing.assert_allclose(
        MODEL_SKELETON.positions(other.positions[:, 0], other.rotations), other.positions, atol=1e-5
    )


@pytest.mark.parametrize("fps", [24.0, 50.0])
def test_facing_and_phase_wrap_on_the_short_way(motion: Motion, fps: float) -> None:
    other = motion.resampled(fps)
    times = np.arange(len(other)) * (FPS / fps)
    facing = np.interp(times, np.arange(len(motion)), np.unwrap(motion.root[:, 3]))
    phase = np.interp(times, np.arange(len(motion)), np.unwrap(motion.phase))
    np.testing.assert_allclose(turn(other.root[:, 3], facing), 0, atol=1e-4)
    np.testing.assert_allclose(turn(other.phase, phase), 0, atol=1e-4)
    assert other.phase.min() >= 0
    assert other.phase.max() <= 2 * np.pi


def test_the_number_of_frames_can_be_chosen(motion: Motion) -> None:
    assert len(motion.resampled(24, 100)) == 100
    longer = motion.resampled(24, 250)  # beyond the end the last pose is held
    assert len(longer) == 250
    np.testing.assert_array_equal(longer.positions[-1], longer.positions[-2])


def test_contacts_and_gaits_are_not_mixed(motion: Motion) -> None:
    other = motion.resampled(24)
    assert set(np.unique(other.contacts)) == {0, 1}
    assert set(np.unique(other.actions)) <= {0, 1}


def test_the_same_rate_changes_nothing(motion: Motion) -> None:
    same = motion.resampled(FPS)
    for name in ARRAYS:
        if name != "rotations":
            np.testing.assert_allclose(getattr(same, name), getattr(motion, name), atol=1e-5)
    # A quaternion's sign may change.
    np.testing.assert_allclose(np.abs(np.sum(same.rotations * motion.rotations, axis=-1)), 1, atol=1e-5)
