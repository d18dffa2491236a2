# SPDX-License-Identifier: GPL-3.0-or-later
"""Clip files and library folders."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.errors import FileFormatError
from nsm_blender.motion.clip import Clip
from nsm_blender.motion.clip_file import load_clip, load_library, save_clip, update_library
from nsm_blender.motion.rotations import normalize
from nsm_blender.motion.skeleton import MODEL_SKELETON


@pytest.fixture
def clip():
    random = np.random.default_rng(1)
    rotations = normalize(np.array([1.0, 0, 0, 0]) + 0.3 * random.normal(size=(7, 22, 4)))
    root = random.normal(size=(7, 3))
    return Clip(MODEL_SKELETON, root, rotations, 60.0, {"name": "seven", "tags": ["walk"], "subject": "anna"})


@pytest.fixture
def arrays():
    """A valid file's arrays: two frames of the T-pose, one meter up, one meter ahead, in the file's axes."""
    rotations = np.zeros((2, 22, 4), dtype=np.int16)
    rotations[..., 0] = 32767
    offsets = np.full((22, 3), 0.1, dtype=np.float32)
    offsets[1] = (0.1, -0.2, 0.3)
    return {
        "root": np.array([[0, 1, 0], [0, 1, 1]], dtype=np.float32),
        "rotations": rotations,
        "offsets": offsets,
        "fps": np.float32(30),
        "meta": np.array("{}"),
    }


def test_a_saved_clip_loads_as_the_same_motion(clip, tmp_path):
    save_clip(clip, tmp_path / "a.npz")
    loaded = load_clip(tmp_path / "a.npz")
    np.testing.assert_allclose(loaded.world()[0], clip.world()[0], atol=3e-4)
    np.testing.assert_allclose(np.abs(np.sum(loaded.rotations * clip.rotations, axis=-1)), 1, atol=1e-7)
    assert loaded.fps == 60 and loaded.meta == clip.meta
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


def test_the_files_up_axis_becomes_z_and_its_front_minus_y(arrays, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    loaded = load_clip(tmp_path / "a.npz")
    np.testing.assert_allclose(loaded.root, [[0, 0, 1], [0, -1, 1]])
    np.testing.assert_allclose(loaded.skeleton.offsets[1], [0.1, -0.3, -0.2], atol=1e-7)


def test_a_turn_about_the_files_up_axis_is_a_turn_about_z(arrays, tmp_path):
    half = round(32767 * np.sqrt(0.5))
    arrays["rotations"][:, 0] = (half, 0, half, 0)
    np.savez(tmp_path / "a.npz", **arrays)
    quarter = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    np.testing.assert_allclose(load_clip(tmp_path / "a.npz").rotations[0, 0], quarter, atol=1e-4)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("root", np.zeros((2, 2)), "'root' must be"),
        ("root", np.full((2, 3), np.nan), "'root' holds values that are not finite"),
        ("rotations", np.zeros((2, 21, 4), dtype=np.int16), "'rotations' must be"),
        ("rotations", np.zeros((2, 22, 4), dtype=np.int16), "frame 0 has length zero"),
        ("offsets", np.zeros((21, 3)), "'offsets' must be"),
        ("fps", np.float32(0), "'fps' must be"),
        ("meta", np.array("{"), "'meta', line 1: .* it is not JSON"),
    ],
)
def test_a_damaged_array_is_refused_with_its_name(arrays, key, value, message, tmp_path):
    arrays[key] = value
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(FileFormatError, match=message) as error:
        load_clip(tmp_path / "bad.npz")
    assert "bad.npz" in str(error.value)


def test_a_leg_without_length_is_refused(arrays, tmp_path):
    arrays["offsets"] = np.zeros_like(arrays["offsets"])
    np.savez(tmp_path / "clip.npz", **arrays)
    with pytest.raises(FileFormatError, match=r"clip\.npz: 'offsets' holds a leg's bone without length"):
        load_clip(tmp_path / "clip.npz")


def test_missing_arrays_are_named(arrays, tmp_path):
    del arrays["offsets"]
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(FileFormatError, match="it lacks offsets"):
        load_clip(tmp_path / "a.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"text\n" * 50])
def test_what_is_no_archive_is_refused(content, tmp_path):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"a\.npz"):
        load_clip(tmp_path / "a.npz")


def test_a_cut_off_archive_is_refused(clip, tmp_path):
    save_clip(clip, tmp_path / "a.npz")
    data = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(data[: len(data) // 2])
    with pytest.raises(FileFormatError, match=r"a\.npz"):
        load_clip(tmp_path / "a.npz")


def test_pickled_objects_are_never_loaded(arrays, tmp_path):
    arrays["meta"] = np.array([{"a": 1}], dtype=object)
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(FileFormatError):
        load_clip(tmp_path / "a.npz")


def test_a_library_lists_what_was_put_into_it(clip, tmp_path):
    update_library(tmp_path, [clip])
    update_library(tmp_path, [replace(clip, meta={"name": "other"})])
    first, second = load_library(tmp_path)
    assert (first.name, first.frames, first.fps, first.tags, first.subject) == ("seven", 7, 60.0, ("walk",), "anna")
    assert second.name == "other"
    assert len(load_clip(first.path)) == 7


def test_a_clip_of_the_same_name_is_replaced(clip, tmp_path):
    update_library(tmp_path, [clip])
    update_library(tmp_path, [clip.cut(0, 3)])
    assert [(e.name, e.frames) for e in load_library(tmp_path)] == [("seven", 3)]


def test_a_malformed_index_is_named_with_its_line_and_left_alone(clip, tmp_path):
    (tmp_path / "index.json").write_text('{\n "clips": [\n  {"name": "a",,}\n ]\n}\n')
    before = (tmp_path / "index.json").read_text()
    for use in (lambda: load_library(tmp_path), lambda: update_library(tmp_path, [clip])):
        with pytest.raises(FileFormatError, match=r"index\.json, line 3"):
            use()
    assert (tmp_path / "index.json").read_text() == before
    assert not (tmp_path / "clips").exists()


def test_an_index_entry_cannot_point_out_of_the_folder(tmp_path):
    (tmp_path / "index.json").write_text(json.dumps({"clips": [{"name": "../../secret", "fps": 60, "frames": 2}]}))
    with pytest.raises(FileFormatError, match=r"clips\[0\]\.name is .*no name of a file"):
        load_library(tmp_path)
