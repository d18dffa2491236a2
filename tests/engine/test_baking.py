# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user may rely on in a bake with the shipped weights."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.errors import WeightsError
from nsm_blender.motion.gait import GAITS
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.root import angle_of, direction
from nsm_blender.motion.rotations import Array, rotate, wrap_angle
from nsm_blender.motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.naturalness.metrics import bone_length_error, foot_slide, hinge_angles, settled_speed
from nsm_blender.planning.path import GroundPath
from nsm_blender.shot.shot import PathFollow, Shot, VelocityFollow, per_frame

SLIDE = 3.0
"""Largest mean foot slide in cm/s of a bake."""
OFF_THE_PATH = 0.15
"""Meters, as much as one sees from above: half a shoulder's breadth."""
HEAD = MODEL_SKELETON.rest_positions()[MODEL_SKELETON.index("Head"), 2] + 0.99
"""Height of the head joint of a standing character."""


def line(length: float, height: float = 0.0) -> list[list[float]]:
    return [[1.0, 2.0, height], [1.0, 2.0 - length, height]]


def circle(radius: float, count: int = 120) -> list[list[float]]:
    a = np.arange(count) * (2 * np.pi / count)
    return np.stack((radius * np.cos(a), radius * np.sin(a), 0 * a), axis=1).tolist()


def along(
    points: list[list[float]],
    speed: Any,
    seconds: float,
    *,
    fps: float = 24.0,
    gait: str = "walk",
    offset: Any = 0.0,
    closed: bool = False,
    **changes: Any,
) -> Shot:
    frames = round(seconds * fps) + 1
    follow = PathFollow(points, per_frame(speed, frames), [gait] * frames, per_frame(offset, frames), closed=closed)
    return Shot("Walker", fps, frames, path=follow, **changes)


def commanded(velocity: tuple[float, float], facing: float, seconds: float, gait: str = "walk") -> Shot:
    frames = round(seconds * 30) + 1
    follow = VelocityFollow([list(velocity)] * frames, [facing] * frames, [gait] * frames)
    return Shot("Walker", 30.0, frames, velocity=follow)


SHOTS = {
    "a straight walk": along(line(30), 1.3, 6),
    "a walk that arrives": along(line(4), 1.3, 8),
    "a circle": along(circle(2.0), 1.2, 10, closed=True),
    "a jog": along(line(30), 2.6, 6, gait="jog"),
    "a jog round a tight circle": along(circle(3.0), 2.7, 8, gait="jog", closed=True),
    "backward": along(line(30), 0.8, 6, offset=math.pi),
    "sideways": along(line(30), 0.6, 6, offset=math.pi / 2),
    "crouching": along(line(30), 0.7, 5, gait="crouch"),
    "standing": along(line(5), 0.0, 5),
    "stop and go": along(line(30), np.where(np.arange(193) % 96 < 48, 1.2, 0.0), 8),
    "by velocity": commanded((0.0, -1.2), 0.0, 4),
}


@cache
def baked(name: str) -> Motion:
    return Bake(SHOTS[name]).motion()


@pytest.fixture(params=list(SHOTS))
def motion(request: pytest.FixtureRequest) -> Motion:
    return baked(request.param)


def off_path(name: str) -> float:
    follow = SHOTS[name].path
    assert follow is not None
    path = GroundPath(np.array(follow.points), follow.closed)
    return float(path.distance(baked(name).root[:, :2].astype(np.float64)).max())


def direction_of_travel(motion: Motion) -> Array:
    """Facing angle (T-1,) of the way the root goes, over the settled part of a shot."""
    half = len(motion) // 2
    return angle_of(motion.root[half:, :2] - motion.root[:-half, :2])


@pytest.mark.parametrize("fps", [12.0, 24.0, 29.97, 60.0])
@pytest.mark.parametrize("frames", [2, 3, 61])
def test_a_bake_has_exactly_the_frames_of_the_shot(fps: float, frames: int) -> None:
    follow = PathFollow(line(5), per_frame(1.0, frames), ["walk"] * frames, per_frame(0, frames))
    motion = Bake(Shot("Walker", fps, frames, path=follow)).motion()
    assert len(motion) == frames
    assert motion.fps == fps
    for array in (motion.positions, motion.rotations, motion.root, motion.contacts, motion.phase, motion.actions):
        assert len(array) == frames


def test_a_motion_is_whole_and_of_the_promised_shape(motion: Motion) -> None:
    count, joints = len(motion), len(MODEL_SKELETON)
    shapes = {
        "positions": (count, joints, 3),
        "rotations": (count, joints, 4),
        "root": (count, 4),
        "contacts": (count, 4),
        "phase": (count,),
        "actions": (count, len(GAITS)),
    }
    for name, shape in shapes.items():
        array = getattr(motion, name)
        assert array.shape == shape
        assert array.dtype == np.float32
        assert np.isfinite(array).all()
    assert motion.names == MODEL_SKELETON.names
    assert motion.contact_names == CONTACT_JOINTS
    assert motion.action_names == GAITS
    np.testing.assert_allclose(np.linalg.norm(motion.rotations, axis=-1), 1, atol=1e-5)
    np.testing.assert_allclose(motion.actions.sum(axis=1), 1, atol=1e-4)
    assert set(np.unique(motion.contacts)) <= {0, 1}


def test_the_phase_of_a_bake_runs_on_and_never_back(motion: Motion) -> None:
    """Also at another rate than the network's, where a phase is blended over the end of a cycle."""
    assert (np.diff(np.unwrap(motion.phase.astype(np.float64))) > -1e-3).all()


def test_the_character_starts_at_the_paths_start_facing_along_it() -> None:
    np.testing.assert_allclose(baked("a straight walk").root[0], [1, 2, 0, 0], atol=1e-3)
    np.testing.assert_allclose(baked("backward").root[0, :3], [1, 2, 0], atol=1e-3)
    assert np.cos(baked("backward").root[0, 3]) == pytest.approx(-1, abs=1e-3)
    hips = baked("a straight walk").positions[0, 0]
    np.testing.assert_allclose(hips[:2], [1, 2], atol=0.05)


def test_a_start_of_ones_own_is_taken() -> None:
    motion = Bake(along(line(5), 1.0, 1, start=[1.2, 2.1, 0.3, -0.5])).motion()
    np.testing.assert_allclose(motion.root[0], [1.2, 2.1, 0.3, -0.5], atol=1e-5)


def test_the_same_shot_bakes_to_the_same_motion_bit_for_bit() -> None:
    again = Bake(SHOTS["a circle"]).motion()
    for name in ("positions", "rotations", "root", "contacts", "phase", "actions"):
        np.testing.assert_array_equal(getattr(again, name), getattr(baked("a circle"), name))


def test_a_shot_from_disk_bakes_to_the_same_motion(tmp_path: Path) -> None:
    SHOTS["stop and go"].save(tmp_path / "shot.json")
    again = Bake(Shot.load(tmp_path / "shot.json")).motion()
    np.testing.assert_array_equal(again.positions, baked("stop and go").positions)
    assert again.meta == baked("stop and go").meta


@pytest.mark.parametrize("name", [n for n in SHOTS if n not in ("backward", "sideways", "by velocity")])
def test_the_path_is_followed(name: str) -> None:
    assert off_path(name) < OFF_THE_PATH


@pytest.mark.parametrize("name", ["backward", "sideways"])
def test_the_path_is_followed_backward_and_sideways_too(name: str) -> None:
    assert off_path(name) < OFF_THE_PATH
    offset = SHOTS[name].path.facing_offsets[0]  # type: ignore[union-attr]
    motion = baked(name)
    facing = direction(motion.root[len(motion) // 2 :, 3])
    wanted = direction(np.array(offset))  # the line goes along -y, which is facing angle 0
    assert (facing @ wanted > np.cos(np.radians(30))).all()


@pytest.mark.parametrize(("name", "speed"), [("a straight walk", 1.3), ("a circle", 1.2), ("a jog", 2.6)])
def test_the_commanded_speed_is_reached_and_kept(name: str, speed: float) -> None:
    motion = baked(name)
    reached = settled_speed(motion.root, motion.fps)[int(2 * motion.fps) : -int(0.5 * motion.fps)]
    assert reached.mean() == pytest.approx(speed, rel=0.2)


def test_the_character_stops_at_the_paths_end_and_stands() -> None:
    motion = baked("a walk that arrives")
    second = int(motion.fps)
    np.testing.assert_allclose(motion.root[-second:, :2], np.tile([1.0, -2.0], (second, 1)), atol=OFF_THE_PATH)
    assert np.linalg.norm(motion.root[-second, :2] - motion.root[-1, :2]) < 0.15
    assert motion.actions[-1].argmax() == GAITS.index("stand")
    feet = motion.positions[-second:, MODEL_SKELETON.indices(CONTACT_JOINTS)]
    assert np.ptp(feet[-second // 2 :], axis=0).max() < 0.05


ENDS = {
    f"{name} of {length:g} m": along(line(length), speed, length / speed + 7, gait=gait, offset=offset, fps=30)
    for name, speed, gait, offset in (
        ("a walk", 1.4, "walk", 0.0),
        ("a jog", 3.0, "jog", 0.0),
        ("a crouch", 0.7, "crouch", 0.0),
        ("a way backward", 0.8, "walk", math.pi),
        ("a way to the left", 0.7, "walk", -math.pi / 2),
        ("a way to the right", 0.7, "walk", math.pi / 2),
    )
    for length in (0.5, 4.0)
}


@pytest.mark.parametrize("name", list(ENDS))
def test_every_way_of_going_ends_upright_where_the_path_ends(name: str) -> None:
    motion = Bake(ENDS[name]).motion()
    second, end = motion.root[-30:], ENDS[name].path.points[-1]  # type: ignore[union-attr]
    assert np.linalg.norm(second[:, :2] - end[:2], axis=1).max() < 0.05
    assert np.abs(np.diff(second[:, :2], axis=0)).max() * motion.fps < 0.05
    assert motion.actions[-1].argmax() == GAITS.index("stand")
    assert motion.positions[-30:, 0, 2].min() > 0.9


@pytest.mark.parametrize("seconds", [2.0, 5.0, 10.0])
@pytest.mark.parametrize("degrees", [-330, 90, 180])
def test_planted_feet_follow_a_facing_that_is_keyed_slowly(degrees: float, seconds: float) -> None:
    turned = np.radians(degrees) * np.clip(np.arange(round((seconds + 4) * 24) + 1) / 24 / seconds, 0, 1)
    motion = Bake(along(line(3), 0.0, seconds + 4, offset=turned)).motion()
    forward = np.array([0.0, -1.0, 0.0])
    hips = angle_of(rotate(motion.rotations[:, 0], np.broadcast_to(forward, (len(motion), 3)))[:, :2])
    for side in ("Left", "Right"):
        foot, toe = MODEL_SKELETON.indices((f"{side}Foot", f"{side}Toe"))
        pointing = angle_of((motion.positions[:, toe] - motion.positions[:, foot])[:, :2])
        planted = motion.contacts[:, CONTACT_JOINTS.index(f"{side}Toe")] > 0.5
        assert np.abs(wrap_angle(pointing - hips)[planted]).max() < np.radians(45 + 10)  # toes point outward
    assert abs(float(wrap_angle(motion.root[-1, 3] - motion.root[0, 3] - turned[-1]))) < np.radians(5)


@pytest.mark.parametrize("name", ["a straight walk", "backward", "sideways"])
def test_locking_the_feet_does_not_make_the_hips_bob(name: str) -> None:
    bake = Bake(SHOTS[name])
    locked, free = bake.motion(), bake.unlocked()
    bob = [np.ptp(m.positions[int(3 * m.fps) : int(5 * m.fps), 0, 2]) for m in (locked, free)]
    assert bob[0] < bob[1] + 0.01


def test_no_speed_stands_still() -> None:
    motion = baked("standing")
    assert np.linalg.norm(motion.root[:, :2] - motion.root[0, :2], axis=1).max() < 0.15
    assert np.abs(motion.root[:, 3] - motion.root[0, 3]).max() < np.radians(20)
    feet = motion.positions[:, MODEL_SKELETON.indices(CONTACT_JOINTS)]
    assert np.ptp(feet, axis=0).max() < 0.1


@pytest.mark.parametrize("gait", ["walk", "crouch"])
def test_a_character_that_waits_for_a_while_stays_over_the_feet(gait: str) -> None:
    motion = Bake(along(line(5), 0.0, 12, fps=12, gait=gait)).motion()
    feet = motion.positions[:, MODEL_SKELETON.indices(("LeftFoot", "RightFoot")), :2].mean(axis=1)
    away = motion.positions[:, 0, :2] - feet
    assert np.linalg.norm(away - away[12], axis=1).max() < 0.2
    assert np.linalg.norm(motion.root[12:, :2] - motion.root[12, :2], axis=1).max() < 0.3


def test_a_character_that_has_arrived_does_not_set_off_again() -> None:
    motion = Bake(along(line(6), 2.6, 10, gait="jog")).motion()
    arrived = motion.root[int(6 * motion.fps) :, :2]
    assert np.ptp(arrived, axis=0).max() < 0.1
    assert (motion.actions[int(6 * motion.fps) :].argmax(axis=1) == GAITS.index("stand")).all()


def test_a_keyed_stop_is_a_stop_and_the_walk_goes_on_after_it() -> None:
    motion = baked("stop and go")
    speed = settled_speed(motion.root, motion.fps)
    pause, walk = slice(82, 94), slice(116, 134)  # frames; the speed is 0 from 48 to 96 and again from 144
    assert speed[pause].max() < 0.25
    assert speed[walk].min() > 0.7


def test_a_commanded_velocity_is_taken_up() -> None:
    motion = baked("by velocity")
    last = motion.root[-1] - motion.root[-31]
    np.testing.assert_allclose(last[:2], [0, -1.2], atol=0.25)
    assert abs(last[3]) < np.radians(15)


def test_planted_feet_do_not_slide(motion: Motion) -> None:
    assert foot_slide(motion) < SLIDE


def test_knees_and_elbows_never_bend_backward(motion: Motion) -> None:
    for name, angle in hinge_angles(motion.rotations.astype(np.float64)).items():
        assert angle.min() > -np.radians(0.5), name


def test_bones_are_rigid_and_agree_with_their_rotations(motion: Motion) -> None:
    assert bone_length_error(motion.positions) < 1e-4
    again = MODEL_SKELETON.positions(motion.positions[:, 0], motion.rotations)
    np.testing.assert_allclose(again, motion.positions, atol=1e-4)


def test_rotations_can_be_keyed_without_a_flip(motion: Motion) -> None:
    assert (np.sum(motion.rotations[1:] * motion.rotations[:-1], axis=-1) > 0).all()


def test_no_joint_leaps_from_one_frame_to_the_next(motion: Motion) -> None:
    speed = np.linalg.norm(np.diff(motion.positions, axis=0), axis=-1) * motion.fps
    assert speed.max() < 15


@pytest.mark.parametrize("name", [name for name in SHOTS if name != "crouching"])
def test_the_head_stays_up(name: str) -> None:
    head = baked(name).positions[:, MODEL_SKELETON.index("Head"), 2]
    assert np.abs(head / HEAD - 1).max() < 0.2


def test_feet_do_not_sink_into_the_ground(motion: Motion) -> None:
    for name in CONTACT_JOINTS:
        rest = TOE_HEIGHT if name.endswith("Toe") else ANKLE_HEIGHT
        assert motion.positions[:, MODEL_SKELETON.index(name), 2].min() > rest - 0.03


def test_the_paths_height_is_the_ground() -> None:
    low = Bake(along(line(6), 1.2, 3)).motion()
    high = Bake(along(line(6, height=1.7), 1.2, 3)).motion()
    np.testing.assert_allclose(high.root - low.root, np.tile([0, 0, 1.7, 0], (len(low), 1)), atol=1e-5)
    np.testing.assert_allclose(high.positions - low.positions - [0, 0, 1.7], 0, atol=1e-4)


@pytest.mark.parametrize("fps", [24.0, 30.0])
def test_the_way_in_the_world_does_not_depend_on_the_scenes_frame_rate(fps: float) -> None:
    fine = Bake(along(line(6), 1.2, 4, fps=60)).motion()
    coarse = Bake(along(line(6), 1.2, 4, fps=fps)).motion()
    # Sixths of a second are frames of all three.
    fine_sixths, coarse_sixths = fine.positions[::10], coarse.positions[:: int(fps / 6)]
    assert len(fine_sixths) == len(coarse_sixths) == 25
    np.testing.assert_allclose(coarse_sixths, fine_sixths, atol=1e-4)


def test_it_does_not_matter_where_and_which_way_round_in_the_world_the_path_lies() -> None:
    here = Bake(along([[0, 0, 0], [0, -6, 0]], 1.2, 3)).motion()
    there = Bake(along([[40, 30, 0], [46, 30, 0]], 1.2, 3)).motion()
    x, y, z = np.moveaxis(here.positions.astype(np.float64), -1, 0)
    np.testing.assert_allclose(there.positions, np.stack((40 - y, 30 + x, z), axis=-1), atol=0.03)


def test_progress_runs_from_nothing_to_all_in_small_steps() -> None:
    bake = Bake(along(line(6), 1.2, 3))
    seen = [bake.progress]
    while not bake.done:
        bake.step()
        seen.append(bake.progress)
    assert seen[0] == 0
    assert seen[-1] == 1
    assert (np.diff(seen) >= 0).all()
    assert len(seen) > 15
    assert len(bake.motion()) == 73


def test_the_motion_says_what_it_was_made_with() -> None:
    meta = baked("a circle").meta
    assert meta["model"] == "pfnn"
    assert meta["name"] == "Walker"
    assert meta["shot"] == SHOTS["a circle"].hash()
    assert len(meta["weights"]) >= 8


def test_weights_that_are_not_there_are_missed_by_name(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"none\.safetensors"):
        Bake(SHOTS["a circle"], tmp_path / "none.safetensors")


def sharpest_toes(motion: Motion, seconds: slice) -> float:
    """Largest acceleration of a toe in m/s^2 within some seconds."""
    frames = slice(round(seconds.start * motion.fps), round(seconds.stop * motion.fps))
    toes = motion.positions[frames][:, MODEL_SKELETON.indices(["LeftToe", "RightToe"])].astype(np.float64)
    return float(np.linalg.norm(np.diff(toes, 2, axis=0), axis=-1).max()) * motion.fps**2


def test_the_pose_of_a_run_that_is_turned_round_does_not_leap() -> None:
    turns = np.radians([-170, -150, -120, 120, 150, 170])
    rises = []
    for turn in turns.tolist():
        way = np.where(np.arange(361) < 180, 0.0, turn)
        follow = VelocityFollow((3.2 * direction(way)).tolist(), way.tolist(), ["jog"] * 361)
        motion = Bake(Shot("Runner", 60.0, 361, velocity=follow)).motion()
        rises.append(sharpest_toes(motion, slice(2.9, 4.5)) / sharpest_toes(motion, slice(1.5, 2.9)))
    assert np.median(rises) < 1.5
    assert max(rises) < 3
