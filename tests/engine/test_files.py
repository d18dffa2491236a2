# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are read are checked, with a sentence for the user; files that are written are whole."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

from nsm_blender.errors import FileFormatError, ShotError, UserError
from nsm_blender.files import (
    Count,
    Key,
    NotZero,
    OneOf,
    Sizes,
    Where,
    Within,
    check_folder,
    check_writable,
    locked,
    read_json,
    reading,
    record,
    write_whole,
    writing,
)


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


@pytest.mark.parametrize("name", ["link", "dangling", "folder", "pipe"])
def test_what_is_no_file_of_ours_is_neither_followed_nor_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())
    for attempt in (lambda: write_whole(tmp_path / name, "theirs"), lambda: check_writable(tmp_path / name)):
        with pytest.raises(UserError, match=f"{name}: (is a link|cannot be written)"):
            attempt()
    assert sorted(tmp_path.iterdir()) == before and (tmp_path / "mine").read_text() == "mine"


def test_a_full_disk_is_told_and_the_old_file_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"before")
    script = (
        "import resource, sys; from nsm_blender import UserError; from nsm_blender.files import write_whole\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_whole(sys.argv[1], bytes(100_000))\n"
        "except UserError as error: sys.exit(str(error))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False, capture_output=True, text=True)
    assert f"{path}: cannot be written (File too large)." in done.stderr
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_behind_is_taken_over(tmp_path: Path) -> None:
    path, left = tmp_path / "file", tmp_path / ".file.part"
    left.write_text("half")
    write_whole(path, "whole")
    assert left.read_text() == "half", "another process may be writing it"
    os.utime(left, (0, 0))
    write_whole(path, "whole again")
    assert list(tmp_path.iterdir()) == [path] and path.read_text() == "whole again"


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, "before")
    path.chmod(0o640)
    write_whole(path, "after")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_place_that_can_be_written_is_found_so_without_a_trace(tmp_path: Path) -> None:
    check_writable(tmp_path / "new" / "folders" / "file")
    check_folder(tmp_path / "new" / "folders")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("a file")
    for attempt in (lambda: check_writable(tmp_path / "file" / "below"), lambda: check_folder(tmp_path / "file")):
        with pytest.raises(UserError, match="file: is not a folder to write into"):
            attempt()


def test_processes_that_start_at_once_all_find_their_folder_writable(tmp_path: Path) -> None:
    """As those of a training on many machines do."""
    script = (
        "import sys; from nsm_blender.files import check_folder\nfor _ in range(3000):\n    check_folder(sys.argv[1])\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[1] for process in processes] == [""] * 3
    assert list(tmp_path.iterdir()) == []


def test_two_writers_of_a_folder_take_turns(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, time; from nsm_blender.files import locked\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "for _ in range(20):\n"
        "    with locked(folder):\n"
        "        count = int((folder / 'count').read_text())\n"
        "        time.sleep(0.002)\n"
        "        (folder / 'count').write_text(str(count + 1))\n"
    )
    (tmp_path / "count").write_text("0")
    running = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path)]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "60"


def test_a_writer_that_waits_too_long_says_so(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(UserError, match="another process writes into it"), locked(tmp_path, 0.1):
        pass


@dataclass
class Leg:
    """A part of a journey."""

    to: str
    speed: Annotated[float, Within(0, 6, "m/s")] = 1.0


@dataclass
class Journey:
    """Declares one field of each type."""

    legs: Annotated[list[Leg], Count(1, 3)]
    start: Annotated[list[float], Sizes(2)]
    mood: Annotated[str, OneOf(("calm", "hasty"))] = "calm"
    looks: Annotated[list[float], Sizes(2), NotZero()] | None = None
    people: int = 1
    back: bool = False
    after: Annotated[str, Key("from")] = ""


GOOD = {"legs": [{"to": "sea", "speed": 2}], "start": [0, 1.5]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"legs": [{"to": "sea", "speed": "fast"}]}, "trip.json: legs[0].speed is 'fast', a number is needed."),
        ({"legs": [{"to": "sea", "speed": 7}]}, "trip.json: legs[0].speed is 7, a number from 0 to 6 m/s is needed."),
        ({"legs": [{"speed": 1}]}, "trip.json: legs[0].to is missing."),
        ({"legs": []}, "trip.json: legs has 0 entries, at least 1 are needed."),
        ({"legs": [{"to": "sea"}] * 4}, "trip.json: legs has 4 entries, at most 3 are needed."),
        ({"legs": {"to": "sea"}}, "trip.json: legs is an object, a list is needed."),
        ({"start": [0]}, "trip.json: start has 1 entries, 2 are needed."),
        ({"start": [0, 10**400]}, "trip.json: start[1] is a number of many digits, a number from"),
        ({"start": [0, True]}, "trip.json: start[1] is True, a number is needed."),
        ({"start": [0, float("nan")]}, "trip.json: start[1] is nan, a number from"),
        ({"mood": "sad"}, "trip.json: mood is 'sad', one of calm, hasty is needed."),
        ({"looks": [0, 0.0]}, "trip.json: looks is no direction"),
        ({"people": 1.5}, "trip.json: people is 1.5, a whole number is needed."),
        ({"back": 1}, "trip.json: back is 1, true or false is needed."),
        ({"from": 3}, "trip.json: from is 3, a text is needed."),
        ({"after": "x"}, "trip.json: after means nothing here."),
    ],
)
def test_a_field_that_does_not_hold_what_it_declares_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ShotError) as raised:
        record(Journey, GOOD | change, Where("trip.json", ShotError))
    assert str(raised.value).startswith(message)


def test_data_that_hold_what_is_declared_become_the_record() -> None:
    made = record(Journey, GOOD | {"looks": None, "from": "home"}, Where("trip.json"))
    assert made == Journey([Leg("sea", 2)], [0, 1.5], after="home")
    assert record(Journey, made, Where("the journey")) is made
    made.legs[0].speed = -1
    with pytest.raises(FileFormatError, match=r"^the journey: legs\[0\]\.speed is -1"):
        record(Journey, made, Where("the journey"))


def test_entries_that_nothing_declares_are_passed_over_where_they_may_be() -> None:
    assert record(Leg, {"to": "sea", "by": "train"}, Where("trip.json"), more=True) == Leg("sea")
