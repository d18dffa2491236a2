# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels as keys of a timeline, and label files that go with a motion file into a library."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from nsm_blender.cli import main
from nsm_blender.labels.capture import data_folder, read_capture
from nsm_blender.labels.marks import load_marks, marks_beside
from nsm_blender.labels.timeline import changes, corners, held, numbered, straight, stretches_of
from nsm_blender.motion.clip_file import CLIPS_FOLDER, load_clip, save_clip, update_library
from nsm_blender.motion.phase import phase_track

from .synthetic import perform


def walk_file(folder: Path) -> Path:
    """A walk of 4 s at 60 fps as a clip file."""
    clip = perform(1.3).clip
    save_clip(replace(clip, meta={"name": "walk"}), folder / "walk.npz")
    return folder / "walk.npz"


def test_keys_of_a_label_hold_until_the_next() -> None:
    values = np.array([1, 1, 0, 0, 0, 2, 2])
    frames = changes(values)
    assert frames.tolist() == [0, 2, 5]
    assert (held(frames, values[frames], 7) == values).all()
    # Keys that were dragged past each other, onto each other, or out of the capture.
    assert held(np.array([6, 2, 4]), np.array([3, 1, 2]), 7).tolist() == [1, 1, 1, 1, 2, 2, 3]
    assert held(np.array([2, 2]), np.array([5, 6]), 4).tolist() == [6, 6, 6, 6]
    assert held(np.array([-3, 99]), np.array([1, 0]), 3).tolist() == [1, 1, 1]


def test_the_corners_of_a_phase_give_it_back() -> None:
    contacts = read_contacts()
    phase = phase_track(contacts, 60.0)
    frames = corners(phase, 1e-4)
    assert len(frames) < len(phase) / 8
    np.testing.assert_allclose(straight(frames, phase[frames], len(phase)), phase, atol=1e-4)


def read_contacts() -> np.ndarray:
    down = perform(1.3).down
    return np.repeat(down, 2, axis=1).astype(np.float32)


def test_a_line_goes_on_beyond_its_keys() -> None:
    assert straight(np.array([4, 2]), np.array([2.0, 1.0]), 7).tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    assert straight(np.array([3]), np.array([2.0]), 3).tolist() == [2.0, 2.0, 2.0]


def test_movements_that_follow_each_other_at_once_stay_apart() -> None:
    spans = ((2, 4), (5, 6), (9, 9))
    assert stretches_of(numbered(spans, 10)) == spans
    assert stretches_of(numbered((), 5)) == ()


def test_a_capture_comes_with_the_labels_beside_it_or_with_automatic_ones(tmp_path: Path) -> None:
    path = walk_file(tmp_path)
    automatic = read_capture(path)
    assert not automatic.was_corrected and automatic.scene is None and automatic.phase_follows
    assert main(["data", "label", str(path), "--out", str(marks_beside(path))]) == 0
    document = json.loads(marks_beside(path).read_text())
    document["contacts"] |= {"LeftToe": [[3, 17]], "LeftFoot": []}
    marks_beside(path).write_text(json.dumps(document))
    corrected = read_capture(path)
    assert corrected.was_corrected and corrected.scene is not None and not corrected.phase_follows
    assert np.flatnonzero(corrected.labels.contacts[:, 1] > 0.5).tolist() == list(range(3, 18))


def test_training_reads_a_clip_of_a_library_from_the_library(tmp_path: Path) -> None:
    update_library(tmp_path, [replace(perform(1.3, 1.0).clip, meta={"name": "walk"})])
    assert data_folder(tmp_path / CLIPS_FOLDER / "walk.npz") == tmp_path
    assert data_folder(tmp_path / "captures" / "walk.bvh") == tmp_path / "captures"


def test_corrected_labels_go_with_a_motion_file_into_a_library_at_its_rate(tmp_path: Path) -> None:
    path = walk_file(tmp_path)
    assert main(["data", "label", str(path), "--out", str(marks_beside(path))]) == 0
    document = json.loads(marks_beside(path).read_text())
    document["contacts"]["LeftToe"] = [[60, 119]]
    marks_beside(path).write_text(json.dumps(document))
    assert main(["data", "import", str(path), "--out", str(tmp_path / "data"), "--fps", "30"]) == 0
    place = tmp_path / "data" / CLIPS_FOLDER / "walk.npz"
    marks = load_marks(marks_beside(place), load_clip(place))
    assert np.flatnonzero(marks.contacts[:, 1] > 0.5).tolist() == list(range(30, 60))
