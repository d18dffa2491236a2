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

from nsm_blender.baking.bake import Bake
from nsm_blender.errors import ShotError
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Seat
from nsm_blender.shot.goals import ActionKey, Goal, RouteOptions
from nsm_blender.shot.shot import PathFollow, Shot, VelocityFollow, per_frame

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


def key_shot(**changes: Any) -> Shot:
    """A walk to a seat and back in a small scene; `changes` are of the first key or of the shot."""
    key: dict[str, Any] = {"action": "walk", "goal": "chair", "start": 6, "hold": 0.5, "facing": 0.1}
    key |= {k: changes.pop(k) for k in list(changes) if k in ActionKey.__dataclass_fields__}
    chair = Collider(
        "Chair",
        Cuboids(np.array([[0.1 + 0.2, 1 / 3, 0.25]]), np.array([[0.2, 0.2, 0.25]])),
        np.array([[1.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0], [1.0, 2.1, 0.0, 1.0, 0.0, 0.0, 0.0]]),
        "seat",
        Seat([0.3, 0.3, 0.5], [0.0, -1.0, 0.0], 0.4, 0.4, approaches=["front", "left"]),
    )
    shot: dict[str, Any] = {
        "keys": [
            ActionKey(**key),
            ActionKey("idle"),
            ActionKey("run", "free", route=[[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]),
        ],
        "goals": [Goal("chair", [1.0, 1.5, 0.0], collider="Chair"), Goal("free", [3.0, 0.0, 0.0], 1.5)],
        "colliders": [chair],
        "route_options": RouteOptions(radius=0.25),
    }
    return Shot("Ève", 24.0, FRAMES, **{**shot, **changes})


def boxes(**changes: Any) -> list[Collider]:
    return [replace(key_shot().colliders[0], **changes)]


def with_one(values: list[Any], value: Any) -> list[Any]:
    return [*values[:10], value, *values[11:]]


MOVING = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
SPEEDS = per_frame(1.2, FRAMES)

MISTAKES: dict[str, tuple[Callable[[], Shot], str]] = {
    "no path": (lambda: path_shot(path=None), "choose a curve to walk along"),
    "path and velocities": (
        lambda: replace(path_shot(), velocity=velocity_shot().velocity),
        "either a path or velocity commands or action keys",
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
        r"The shot: path\.points\[1\]\[0\] is nan, a number from -10000 to 10000 m is needed",
    ),
    "ragged points": (
        lambda: path_shot(points=[[0.0, 0.0, 0.0], [1.0]]),
        r"path\.points\[1\] has 1 entries, 3 are needed",
    ),
    "an unknown gait": (
        lambda: path_shot(gaits=with_one(["walk"] * FRAMES, "moonwalk")),
        "The gait 'moonwalk' is not one of stand, walk, jog, crouch",
    ),
    "a gait that was not trained": (lambda: path_shot(gaits=["jump"] * FRAMES), "The gait 'jump' is not one of"),
    "a negative speed": (
        lambda: path_shot(speeds=with_one(SPEEDS, -0.5)),
        "negative; use the facing to walk backward",
    ),
    "a speed that is not finite": (
        lambda: path_shot(speeds=with_one(SPEEDS, NAN)),
        r"path\.speeds\[10\] is nan, a number",
    ),
    "too fast": (lambda: path_shot(speeds=with_one(SPEEDS, 7.0)), r"7\.0 m/s is faster than the model can run \(6"),
    "a facing that is not finite": (
        lambda: path_shot(facing_offsets=with_one(per_frame(0, FRAMES), float("inf"))),
        r"path\.facing_offsets\[10\] is inf, a number",
    ),
    "too few speeds": (lambda: path_shot(speeds=SPEEDS[1:]), "has 48 frames but 47 speeds"),
    "too many gaits": (lambda: path_shot(gaits=["walk"] * 50), "has 48 frames but 50 gaits"),
    "too few facings": (lambda: path_shot(facing_offsets=[]), "has 48 frames but 0 facing offsets"),
    "too few factors": (lambda: path_shot(speed_factors=[1.0]), "has 2 points but 1 speed factors"),
    "a negative factor": (lambda: path_shot(speed_factors=[1.0, -1.0]), "A speed factor along the path is negative"),
    "a factor that is not finite": (lambda: path_shot(speed_factors=[1.0, NAN]), r"path\.speed_factors\[1\] is nan"),
    "one frame": (lambda: path_shot(frames=1), "fewer than 2 frames; move the end of the frame range back"),
    "frames in words": (lambda: path_shot(frames="many"), r"The shot: frames is .many., a whole number is needed"),
    "no frame rate": (lambda: path_shot(fps=0.0), "The frame rate 0 is not between 1 and 240"),
    "a frame rate that is not finite": (lambda: path_shot(fps=NAN), "fps is nan, a number"),
    "a short start": (lambda: path_shot(start=[0.0, 0.0]), "start has 2 entries, 4 are needed"),
    "a start that is not finite": (lambda: path_shot(start=[0.0, 0.0, 0.0, NAN]), r"start\[3\] is nan"),
    "a negative bias": (lambda: path_shot(bias_velocity=-1.0), "A bias of the trajectory is below 0"),
    "another version": (lambda: path_shot(version=9), "saved as version 9; this extension reads versions up to 2"),
    "a velocity that is not finite": (
        lambda: velocity_shot(velocities=with_one([[0.0, 1.0]] * FRAMES, [NAN, 0.0])),
        r"velocities\[10\]\[0\] is nan",
    ),
    "a velocity without y": (
        lambda: velocity_shot(velocities=[[1.0]] * FRAMES),
        r"velocity\.velocities\[0\] has 1 entries, 2 are needed",
    ),
    "velocities too fast": (
        lambda: velocity_shot(velocities=with_one([[0.0, 1.0]] * FRAMES, [5.0, 5.0])),
        r"7\.1 m/s is faster than the model can run",
    ),
    "too few velocities": (lambda: velocity_shot(velocities=[[0.0, 1.0]]), "has 48 frames but 1 velocities"),
    "keys and a path": (lambda: replace(path_shot(), keys=[ActionKey("idle")]), "either a path or"),
    "an unknown action": (lambda: key_shot(action="fly"), "Action key 1: 'fly' is not an action; choose one of idle"),
    "a key without a goal": (lambda: key_shot(goal=""), r"Action key 1 \(walk\) has no goal; choose one"),
    "a goal that is gone": (lambda: key_shot(goal="away"), "there is no goal 'away' in the shot"),
    "a key before the shot": (lambda: key_shot(start=-1), "starts before the first frame"),
    "a negative hold": (lambda: key_shot(hold=-1.0), "has a negative hold"),
    "a hold that is not finite": (lambda: key_shot(hold=NAN), r"keys\[0\]\.hold is nan"),
    "a gait that is no way to go": (lambda: key_shot(gait="stand"), "The gait 'stand' is not one of walk, jog, crouch"),
    "a key too fast": (lambda: key_shot(speed=9.0), r"9\.0 m/s is faster"),
    "a key backward": (lambda: key_shot(speed=-1.0), "a speed that is not above 0"),
    "a key's facing": (lambda: key_shot(facing=NAN), r"keys\[0\]\.facing is nan"),
    "a route of one point": (lambda: key_shot(route=[[0.0, 0.0, 0.0]]), "its route is not two or more places"),
    "a flat route": (
        lambda: key_shot(route=[[0.0, 0.0], [1.0, 0.0]]),
        r"keys\[0\]\.route\[0\] has 2 entries, 3 are needed",
    ),
    "two goals of a name": (
        lambda: key_shot(goals=[Goal("chair", [0.0, 0.0, 0.0])] * 2),
        "Two goals of the shot have the name 'chair'",
    ),
    "two colliders of a name": (lambda: key_shot(colliders=boxes() * 2), "Two colliders of the shot"),
    "a goal nowhere": (lambda: key_shot(goals=[Goal("chair", [NAN, 0.0, 0.0])]), r"goals\[0\]\.place\[0\] is nan"),
    "a goal on nothing": (
        lambda: key_shot(goals=[Goal("chair", [0.0, 0.0, 0.0], collider="Table")]),
        "is on 'Table', which is not a collider of the shot",
    ),
    "no cuboids": (
        lambda: key_shot(colliders=boxes(cuboids=Cuboids(np.zeros((0, 3)), np.zeros((0, 3))))),
        "collider 'Chair' has no cuboids; refresh it",
    ),
    "an endless cuboid": (
        lambda: key_shot(colliders=boxes(cuboids=Cuboids(np.zeros((1, 3)), np.full((1, 3), np.inf)))),
        "cuboids of 'Chair' hold something",
    ),
    "an unknown role": (lambda: key_shot(colliders=boxes(role="throne")), "unknown role 'throne'"),
    "a collider nowhere": (lambda: key_shot(colliders=boxes(poses=np.zeros((0, 7)))), "'Chair' has no place"),
    "a body of no width": (lambda: key_shot(route_options=RouteOptions(radius=0.0)), "radius or the height"),
    "a shot too long": (lambda: path_shot(frames=5_000_000), r"208,333 s long, 5,000,000 frames; 1,800 s and 108,000"),
    "a path around the world": (
        lambda: path_shot(points=[[-8e3, -8e3, 0.0], [8e3, 8e3, 0.0]]),
        r"path is 22\.6 km long; 11 km are the most",
    ),
    "a start far from its path": (
        lambda: path_shot(start=[5000.0, -1.0, 0.0, 0.0]),
        r"start is 5000\.0 m from the path; 10 m are the most",
    ),
    "a goal out of reach": (
        lambda: key_shot(start=None, goals=[Goal("chair", [900.0, 0.0, 0.0]), Goal("free", [0.0, 0.0, 0.0])]),
        "A goal is 900 m away; routes are found up to 200 m",
    ),
    "one number for all speeds": (lambda: path_shot(speeds=3), r"path\.speeds is 3, a list is needed"),
    "a negative seed": (lambda: path_shot(seed=-1), "seed is -1, a number from 0"),
    "more movement than memory": (
        lambda: key_shot(
            goals=[Goal("chair", [0.0, 0.0, 0.0]), Goal("free", [3.0, 0.0, 0.0])],
            colliders=[boxes(name=f"{n}", poses=np.tile(MOVING, (5000 if n else 50_000, 1)))[0] for n in range(50)],
        ),
        "50 colliders move over 50,000 frames",
    ),
    "a commanded facing that is not finite": (
        lambda: velocity_shot(facings=with_one(per_frame(0, FRAMES), NAN)),
        r"velocity\.facings\[10\] is nan",
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


def test_action_keys_and_colliders_come_back_from_disk_to_the_bit(tmp_path: Path) -> None:
    shot = key_shot()
    shot.validate()
    shot.save(tmp_path / "shot.json")
    back = Shot.load(tmp_path / "shot.json")
    assert (back.keys, back.goals, back.route_options) == (shot.keys, shot.goals, shot.route_options)
    (chair,) = back.colliders
    np.testing.assert_array_equal(chair.cuboids.center, shot.colliders[0].cuboids.center)
    np.testing.assert_array_equal(chair.poses, shot.colliders[0].poses)
    assert chair.handles == shot.colliders[0].handles
    assert back.to_json() == shot.to_json()
    assert back.hash() == shot.hash()


def test_a_shot_of_the_first_version_is_read(tmp_path: Path) -> None:
    old = json.loads(path_shot().to_json()) | {"version": 1}
    for name in ("keys", "goals", "colliders", "route_options"):
        del old[name]
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    assert Shot.load(tmp_path / "old.json") == path_shot()


def test_shots_that_differ_have_different_hashes() -> None:
    shots = [path_shot(), path_shot(seed=1), path_shot(speeds=with_one(SPEEDS, 1.3)), velocity_shot()]
    shots += [
        path_shot(points=[[0.0, 0.0, 0.0], [0.0, -3.0, 0.01]]),
        path_shot(closed=True),
        path_shot(gaits=["jog"] * FRAMES),
    ]
    shots += [key_shot(), key_shot(hold=1.0), key_shot(colliders=boxes(name="Chair", role="obstacle"))]
    assert len({shot.hash() for shot in shots}) == len(shots)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"name": "a",\n "fps": 24,,\n}', r"a\.json, line 2: not a shot, as it is not JSON"),
        ("[1, 2]", r"a\.json: not a shot"),
        ('{"name": "a"}', r"a\.json: fps is missing"),
        ('{"name": "a", "name": "b"}', r"a\.json: not a shot, .*the key 'name' is there twice"),
        ('{"name": "a", "fps": NaN, "frames": 10}', r"a\.json: not a shot, .*NaN is no number"),
        ('{"name": "a", "fps": 24, "frames": 10, "color": "red"}', r"a\.json: color means nothing here"),
        ('{"name": "a", "fps": 24, "frames": 10, "path": {"points": []}}', r"a\.json: path\.speeds is missing"),
        ('{"name": "a", "fps": 24, "frames": 10, "path": 3}', r"a\.json: path is 3, an object is needed"),
        ('{"name": "a", "fps": 24, "frames": 10, "keys": [{"goal": "b"}]}', r"a\.json: keys\[0\]\.action is missing"),
        (
            '{"name": "a", "fps": 24, "frames": 10, "keys": [{"action": "walk", "speed": "fast"}]}',
            r"a\.json: keys\[0\]\.speed is 'fast', a number is needed",
        ),
        ('{"name": "a", "fps": 24, "frames": 10, "colliders": [{"name": "b"}]}', r"colliders\[0\]\.centre is missing"),
        ('{"name": "a", "fps": 24, "frames": 10, "version": 7}', r"a\.json: version is 7; .* versions up to 2"),
        ('{"name": ' + "[" * 500 + "]" * 500 + "}", r"a\.json: not a shot, as it is nested more than 32 levels deep"),
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
    with pytest.raises(ShotError, match=r"binary\.json: not a shot, as it is not UTF-8 text"):
        Shot.load(tmp_path / "binary.json")


def test_a_saved_shot_is_plain_json(tmp_path: Path) -> None:
    path_shot().save(tmp_path / "shot.json")
    data = json.loads((tmp_path / "shot.json").read_text(encoding="utf-8"))
    assert data["name"] == "Ève"
    assert len(data["path"]["speeds"]) == FRAMES


def test_numbers_and_arrays_become_one_entry_per_frame() -> None:
    assert per_frame(2, 3) == [2.0, 2.0, 2.0]
    assert per_frame(np.array([1, 2, 3], dtype=np.float32), 3) == [1.0, 2.0, 3.0]
