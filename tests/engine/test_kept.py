# SPDX-License-Identifier: GPL-3.0-or-later
"""After a bake it is told where speed, facing or path were not kept, and nothing is told of what was."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.baking.kept import unkept, unkept_keys
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array
from nsm_blender.planning.path import GroundPath
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import PathFollow, Shot, VelocityFollow

FPS, FRAMES = 30.0, 300
WAY = [[0.0, 0.0, 0.0], [40.0, 0.0, 0.0]]
ALONG = 0.5 * np.pi
"""Facing angle of a character that looks along +x."""


def moved(speed: Array | float, facing: Array | float = ALONG, aside: Array | float = 0.0) -> Motion:
    """A root along +x at speeds and facings of each frame, meters aside."""
    root = np.zeros((FRAMES, 4), dtype=np.float32)
    root[1:, 0] = np.cumsum(np.broadcast_to(speed, FRAMES)[1:]) / FPS
    root[:, 1], root[:, 3] = aside, facing
    still = np.zeros((FRAMES, 1), dtype=np.float32)
    return Motion(
        names=("Hips",),
        parents=(-1,),
        positions=np.zeros((FRAMES, 1, 3), dtype=np.float32),
        rotations=np.tile(np.array([1, 0, 0, 0], dtype=np.float32), (FRAMES, 1, 1)),
        root=root,
        contacts=still,
        contact_names=("LeftToe",),
        phase=still[:, 0],
        actions=still,
        action_names=("walk",),
        fps=FPS,
        meta={},
    )


def path_shot(speed: float = 1.2, offset: float = 0.0) -> Shot:
    follow = PathFollow(WAY, [speed] * FRAMES, ["walk"] * FRAMES, [offset] * FRAMES)
    return Shot("path", FPS, FRAMES, path=follow)


def told(shot: Shot, motion: Motion) -> list[str]:
    return unkept(shot, motion, GroundPath(np.array(WAY)))


def test_of_a_motion_that_keeps_everything_nothing_is_told() -> None:
    sway = 0.08 * np.sin(np.arange(FRAMES) / 3)
    assert told(path_shot(), moved(1.2 * (1 + 0.05 * sway), ALONG + sway, sway)) == []


def test_a_speed_that_was_not_reached_is_told_with_both_speeds() -> None:
    (sentence,) = told(path_shot(3.0), moved(2.5))
    assert "goes at 2.5 m/s instead of 3.0" in sentence


def test_getting_up_to_speed_is_not_told() -> None:
    assert told(path_shot(), moved(np.minimum(np.arange(FRAMES) / FPS, 1.2))) == []


def test_a_facing_that_was_not_kept_is_told_with_its_time() -> None:
    facing = np.full(FRAMES, ALONG)
    facing[90:210] += np.radians(40)
    (sentence,) = told(path_shot(), moved(1.2, facing))
    assert "faces 40 degrees aside" in sentence
    start = float(sentence.split()[1])
    assert start == pytest.approx(3.0, abs=0.4)


def test_walking_backward_as_asked_is_not_told_and_forward_instead_is() -> None:
    assert told(path_shot(offset=np.pi), moved(1.2, ALONG + np.pi)) == []
    assert len(told(path_shot(offset=np.pi), moved(1.2, ALONG))) == 1


def test_a_path_that_was_left_is_told() -> None:
    aside = np.zeros(FRAMES)
    aside[120:200] = 0.5
    (sentence,) = told(path_shot(), moved(1.2, aside=aside))
    assert "0.5 m beside the path" in sentence


def test_standing_at_the_end_of_the_path_is_as_asked() -> None:
    speed = np.where(np.arange(FRAMES) / FPS < 5.0, 1.2, 0.0)
    short = PathFollow([[0.0, 0.0, 0.0], [6.0, 0.0, 0.0]], [1.2] * FRAMES, ["walk"] * FRAMES, [0.0] * FRAMES)
    shot = Shot("path", FPS, FRAMES, path=short)
    assert unkept(shot, moved(speed), GroundPath(np.array(short.points))) == []


def test_commands_are_judged_by_their_speed_and_facing() -> None:
    follow = VelocityFollow([[2.0, 0.0]] * FRAMES, [ALONG] * FRAMES, ["walk"] * FRAMES)
    shot = Shot("commands", FPS, FRAMES, velocity=follow)
    assert unkept(shot, moved(2.0), None) == []
    assert "instead of 2.0" in unkept(shot, moved(1.2), None)[0]


def told_of_key(key: ActionKey, motion: Motion, **outcome: object) -> list[str]:
    """What is told of one key that set off at once and arrived at frame 270."""
    shot = Shot("keys", FPS, FRAMES, keys=[key], goals=[Goal("g", [20.0, 0.0, 0.0])])
    motion.meta["keys"] = [{"trouble": "", "set_off": 0, "arrived": 270, "asked": None, "error_deg": None, **outcome}]
    return unkept_keys(shot, motion)


def test_a_key_tells_of_its_arrival_speed_facing_and_route_only_where_they_were_missed() -> None:
    assert told_of_key(ActionKey("walk", "g", speed=1.2), moved(1.2), asked=None, error_deg=3.0) == []
    assert told_of_key(ActionKey("walk", "g", arrive=270), moved(1.2), asked=271) == []
    (late,) = told_of_key(ActionKey("walk", "g", arrive=255), moved(1.2), asked=255)
    assert "arrives 0.5 s late" in late
    (slow,) = told_of_key(ActionKey("walk", "g", speed=2.0), moved(1.2))
    assert "at 1.2 m/s at most instead of 2.0" in slow
    (fast,) = told_of_key(ActionKey("walk", "g", speed=0.8), moved(1.2))
    assert "at 1.2 m/s instead of 0.8" in fast
    (turned,) = told_of_key(ActionKey("walk", "g"), moved(1.2), error_deg=40.0)
    assert "faces 40 degrees aside" in turned
    (beside,) = told_of_key(ActionKey("walk", "g", route=[[0, 0.8, 0], [20, 0.8, 0]]), moved(1.2))
    assert "0.8 m beside its route" in beside


def test_a_key_that_failed_tells_nothing_more() -> None:
    assert told_of_key(ActionKey("walk", "g", speed=3.0), moved(1.2), trouble="Something is in the way.") == []


def test_a_bake_tells_that_six_meters_a_second_are_beyond_it() -> None:
    follow = PathFollow(WAY, [6.0] * FRAMES, ["jog"] * FRAMES, [0.0] * FRAMES)
    motion = Bake(Shot("fast", FPS, FRAMES, path=follow)).motion()
    assert any("instead of 6.0" in sentence for sentence in motion.meta["notes"])
    calm = PathFollow(WAY, [1.3] * FRAMES, ["walk"] * FRAMES, [0.0] * FRAMES)
    assert "notes" not in Bake(Shot("calm", FPS, FRAMES, path=calm)).motion().meta
