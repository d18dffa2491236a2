# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are read are checked, with a sentence for the user; files that are written are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from nsm_blender.errors import FileFormatError, ShotError, UserError
from nsm_blender.files import read_json, reading, write_whole, writing


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1,\n "b": }', r"f\.json, line 2: not a card, as it is not JSON \(.+\)\.$"),
        (b"", r"f\.json, line 1: not a card, as it is not JSON"),
        (b"[" * 100_000, r"f\.json: not a card, as it is nested more than 32 levels deep\.$"),
        (b"\xff\xfe\x00", r"f\.json: not a card, as it is not UTF-8 text\.$"),
        (b"[1, 2]", r"f\.json: not a card, which would be a JSON object\.$"),
        (b" " * 3_000_000, r"f\.json: not a card that can be read, as it is 2 MB large; 0 MB are the most\.$"),
    ],
)
def test_what_is_not_the_file_that_was_asked_for_is_refused_in_one_sentence(
    content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LARGEST_JSON", 1_000_000)
    (tmp_path / "f.json").write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        read_json(tmp_path / "f.json", dict, "a card")


def test_a_missing_file_is_named_with_the_error_of_its_reader(tmp_path: Path) -> None:
    with pytest.raises(ShotError, match=r"none\.json: cannot be read as a shot; there is no such file"):
        read_json(tmp_path / "none.json", dict, "a shot", ShotError)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_whole(tmp_path / "f.json", '["ä"]\n')
    assert read_json(tmp_path / "f.json", list, "a list") == read_json(tmp_path / "f.json", object, "it") == ["ä"]


def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_whole(path, b"before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(UserError, match=r"file: cannot be written \(No space"):
        write_whole(path, b"after")
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]
