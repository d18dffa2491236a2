# SPDX-License-Identifier: GPL-3.0-or-later
"""Shots: they survive the disk, and each mistake gets its own sentence before anything is baked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsm_blender.control.bake import Bake
from nsm_blender.control.shot import PathFollow, Shot, VelocityFollow, per_frame
from nsm_blender.errors import ShotError

FRAMES = 48
NAN = float("nan")


def path_shot(**changes: Any) -> Shot:
    """Two seconds along a line; `changes` are of the path where it has such a field, else of the shot."""
    follow = {
        "points": [[0.0, 0.0, 0.0], [0.0, -3.0, 0.0]],
        "speeds": per_frame(1.2, FRAMES),
        "gaits": ["walk"] * FRAMES,
        "facing_offsets": per_frame(0, FRAMES),
    }
    path = {k: changes.pop(k) for k in list(changes) if k in PathFollow.__dataclass_fields__}
    shot: dict[str, Any] = {"name": "Ève", "fps": 24.0, "frames": FRAMES, "path": PathFollow(**{**follow, **path})}
    return Shot(**{**shot, **changes})


def velocity_shot(**changes: Any) -> Shot:
    follow: dict[str, Any] = {
        "velocities": [[0.0, -1.2]] * FRAMES,
        "facings": per_frame(0, FRAMES),
        "gaits": ["walk"] * FRAMES,
    }
    velocity = {k: changes.pop(k) for k in list(changes) if k in VelocityFollow.__dataclass_fields__}
    return Shot("Ève", 24.0, FRAMES, velocity=VelocityFollow(**{**follow, **velocity}), **changes)


def with_one(values: list[Any], value: Any) -> list[Any]:
    return [*values[:10], value, *values[11:]]


SPEEDS = per_frame(1.2, FRAMES)

MISTAKES: dict[str, tuple[Callable[[], Shot], str]] = {
    "no path": (lambda: path_shot(path=None), "choose a curve to walk along"),
    "path and velocities": (
        lambda: replace(path_shot(), velocity=velocity_shot().velocity),
        "either a path or velocity commands",
    ),
    "one point": (lambda: path_shot(points=[[0.0, 0.0, 0.0]]), "fewer than two points; draw a longer curve"),
    "no points": (lambda: path_shot(points=[]), "fewer than two points; draw a longer curve"),
    "a short path": (
        lambda: path_shot(points=[[0.0, 0.0, 0.0], [0.07, 0.0, 0.0]]),
        "7 cm long; draw one of 10 cm or more",
    ),
    "a vertical path": (
        lambda: path_shot(points=[[1.0, 2.0, 0.0], [1.0, 2.0, 3.0]]),
        "seen from above has no length; draw it along the ground",
    ),
    "a point that is not finite": (
        lambda: path_shot(points=[[0.0, 0.0, 0.0], [NAN, 0.0, 0.0]]),
        "points of the path hold something that is not a finite number",
    ),
    "ragged points": (lambda: path_shot(points=[[0.0, 0.0, 0.0], [1.0]]), "points of the path are not numbers"),
    "an unknown gait": (
        lambda: path_shot(gaits=with_one(["walk"] * FRAMES, "moonwalk")),
        "The gait 'moonwalk' is not one of stand, walk, jog, crouch",
    ),
    "a gait that was not trained": (lambda: path_shot(gaits=["jump"] * FRAMES), "The gait 'jump' is not one of"),
    "a negative speed": (
        lambda: path_shot(speeds=with_one(SPEEDS, -0.5)),
        "negative; use the facing to walk backward",
    ),
    "a speed that is not finite": (lambda: path_shot(speeds=with_one(SPEEDS, NAN)), "The speeds hold something"),
    "too fast": (lambda: path_shot(speeds=with_one(SPEEDS, 7.0)), r"7\.0 m/s is faster than the model can run \(6"),
    "a facing that is not finite": (
        lambda: path_shot(facing_offsets=with_one(per_frame(0, FRAMES), float("inf"))),
        "The facing offsets hold something",
    ),
    "too few speeds": (lambda: path_shot(speeds=SPEEDS[1:]), "has 48 frames but 47 speeds"),
    "too many gaits": (lambda: path_shot(gaits=["walk"] * 50), "has 48 frames but 50 gaits"),
    "too few facings": (lambda: path_shot(facing_offsets=[]), "has 48 frames but 0 facing offsets"),
    "too few factors": (lambda: path_shot(speed_factors=[1.0]), "has 2 points but 1 speed factors"),
    "a negative factor": (lambda: path_shot(speed_factors=[1.0, -1.0]), "A speed factor along the path is negative"),
    "a factor that is not finite": (lambda: path_shot(speed_factors=[1.0, NAN]), "The speed factors hold something"),
    "one frame": (lambda: path_shot(frames=1), "fewer than 2 frames; move the end of the frame range back"),
    "frames in words": (lambda: path_shot(frames="many"), "number of frames or the frame rate"),
    "no frame rate": (lambda: path_shot(fps=0.0), "The frame rate 0 is not between 1 and 240"),
    "a frame rate that is not finite": (lambda: path_shot(fps=NAN), "The frame rate nan is not between"),
    "a short start": (lambda: path_shot(start=[0.0, 0.0]), "start is not a place x, y, z and a facing angle"),
    "a start that is not finite": (lambda: path_shot(start=[0.0, 0.0, 0.0, NAN]), "The start hold"),
    "a negative bias": (lambda: path_shot(bias_velocity=-1.0), "A bias of the trajectory is below 0"),
    "another version": (lambda: path_shot(version=9), "saved as version 9; this extension reads version 1"),
    "a velocity that is not finite": (
        lambda: velocity_shot(velocities=with_one([[0.0, 1.0]] * FRAMES, [NAN, 0.0])),
        "The velocities hold something",
    ),
    "a velocity without y": (lambda: velocity_shot(velocities=[[1.0]] * FRAMES), "A velocity is not a pair x, y"),
    "velocities too fast": (
        lambda: velocity_shot(velocities=with_one([[0.0, 1.0]] * FRAMES, [5.0, 5.0])),
        r"7\.1 m/s is faster than the model can run",
    ),
    "too few velocities": (lambda: velocity_shot(velocities=[[0.0, 1.0]]), "has 48 frames but 1 velocities"),
    "a commanded facing that is not finite": (
        lambda: velocity_shot(facings=with_one(per_frame(0, FRAMES), NAN)),
        "The facings hold something",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_shot_gets_its_sentence(mistake: str) -> None:
    make, sentence = MISTAKES[mistake]
    with pytest.raises(ShotError, match=sentence):
        Bake(make())


@pytest.mark.parametrize(
    "shot",
    [
        path_shot(),
        path_shot(closed=True, speed_factors=[1.0, 0.5], seed=3, start=[1.0, 2.0, 0.5, -1.0]),
        path_shot(speeds=per_frame(0, FRAMES), gaits=["stand"] * FRAMES),
        velocity_shot(bias_direction=2.0),
    ],
)
def test_a_right_shot_is_accepted_and_comes_back_from_disk_equal(shot: Shot, tmp_path: Path) -> None:
    shot.validate()
    shot.save(tmp_path / "shot.json")
    back = Shot.load(tmp_path / "shot.json")
    assert back == shot
    assert back.hash() == shot.hash()


def test_shots_that_differ_have_different_hashes() -> None:
    shots = [path_shot(), path_shot(seed=1), path_shot(speeds=with_one(SPEEDS, 1.3)), velocity_shot()]
    assert len({shot.hash() for shot in shots}) == len(shots)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"name": "a",\n "fps": 24,,\n}', r"a\.json, line 2: not JSON"),
        ("[1, 2]", r"a\.json: not a shot"),
        ('{"name": "a"}', r"a\.json: not a shot"),
        ('{"name": "a", "fps": 24, "frames": 10, "colour": "red"}', r"a\.json: not a shot .*colour"),
        ('{"name": "a", "fps": 24, "frames": 10, "path": {"points": []}}', r"a\.json: not a shot"),
        ('{"name": "a", "fps": 24, "frames": 10, "path": 3}', r"a\.json: not a shot"),
    ],
)
def test_a_file_that_is_no_shot_is_refused_with_its_name(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(ShotError, match=sentence):
        Shot.load(tmp_path / "a.json")


def test_a_file_that_cannot_be_read_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ShotError, match=r"none\.json: cannot be read"):
        Shot.load(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ShotError, match=r"binary\.json: cannot be read"):
        Shot.load(tmp_path / "binary.json")


def test_a_saved_shot_is_plain_json(tmp_path: Path) -> None:
    path_shot().save(tmp_path / "shot.json")
    data = json.loads((tmp_path / "shot.json").read_text(encoding="utf-8"))
    assert data["name"] == "Ève"
    assert len(data["path"]["speeds"]) == FRAMES


def test_numbers_and_arrays_become_one_entry_per_frame() -> None:
    assert per_frame(2, 3) == [2.0, 2.0, 2.0]
    assert per_frame(np.array([1, 2, 3], dtype=np.float32), 3) == [1.0, 2.0, 3.0]
