# SPDX-License-Identifier: GPL-3.0-or-later
"""What a character is asked to do next, on a path and by velocities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nsm_blender.motion.gait import GAITS
from nsm_blender.motion.root import angle_of
from nsm_blender.planning.trajectory import AHEAD, CATCH_UP_SHARE, PathCommands, State, VelocityCommands, start_of
from nsm_blender.shot.shot import PathFollow, VelocityFollow, per_frame

FPS = 24.0
FRAMES = 240
NORTH_EAST_CORNER = [[0.0, 0.0, 0.0], [0.0, 4.0, 0.0], [4.0, 4.0, 0.0]]
STAND, WALK = GAITS.index("stand"), GAITS.index("walk")


def along(speed: Any = 1.2, gait: str = "walk", offset: Any = 0.0, **changes: Any) -> PathFollow:
    follow = PathFollow(
        NORTH_EAST_CORNER, per_frame(speed, FRAMES), [gait] * FRAMES, per_frame(offset, FRAMES), speed_factors=[]
    )
    return replace(follow, **changes)


def at(x: float, y: float, angle: float, time: float = 0.0) -> State:
    return State(x, y, angle, time)


START = at(0, 0, np.pi)
"""At the start of the corner path, facing +y along it."""


def test_the_way_asked_for_is_on_the_path_at_the_commanded_speed() -> None:
    future = PathCommands(along(), FPS).future(START)
    assert future.position is not None
    np.testing.assert_allclose(future.position, np.stack((0 * AHEAD, 1.2 * AHEAD), axis=1), atol=1e-6)
    np.testing.assert_allclose(future.velocity, np.tile([0.0, 1.2], (5, 1)), atol=1e-6)
    np.testing.assert_allclose(future.direction, np.tile([0.0, 1.0], (5, 1)), atol=1e-6)
    np.testing.assert_array_equal(future.gait.argmax(axis=1), WALK)


def test_the_way_goes_round_the_corner_and_not_across_it() -> None:
    commands = PathCommands(along(), FPS)
    for y in np.arange(0, 3.6, 0.2):
        commands.future(at(0, float(y), np.pi, float(y) / 1.2))
    future = commands.future(at(0, 3.5, np.pi, 3.5 / 1.2))
    assert future.position is not None
    np.testing.assert_allclose(commands.path.distance(future.position), 0, atol=0.01)
    assert future.position[-1, 0] > 0.3
    np.testing.assert_allclose(future.direction[-1], [1, 0], atol=0.01)


@pytest.mark.parametrize("beside", [0.05, 0.5, 3.0])
def test_a_character_beside_the_path_is_asked_over_to_it_and_not_far_beyond(beside: float) -> None:
    future = PathCommands(along(), FPS).future(at(beside, 1.0, np.pi, 1.0 / 1.2))
    assert future.position is not None
    over = -future.position[:, 0]
    assert over.min() > 0
    assert over.max() < 0.5
    np.testing.assert_allclose(future.velocity[:, 0], 0, atol=0.01)


def test_a_speed_that_is_keyed_for_later_is_seen_coming() -> None:
    keyed = np.where(np.arange(FRAMES) < 12, 1.0, 2.0)  # from 0.5 s on
    future = PathCommands(along(keyed), FPS).future(START)
    speeds = np.linalg.norm(future.velocity, axis=1)
    assert speeds[0] == pytest.approx(1.0, abs=0.01)
    assert speeds[-1] == pytest.approx(2.0, abs=0.01)


def test_the_curves_own_factors_scale_the_speed() -> None:
    commands = PathCommands(along(speed_factors=[0.5, 0.5, 0.5]), FPS)
    np.testing.assert_allclose(commands.future(START).velocity[0], [0, 0.6], atol=0.01)


def test_a_character_behind_its_time_is_asked_for_a_little_more_speed() -> None:
    commands = PathCommands(along(1.0), FPS)
    commands.future(START)
    late = commands.future(at(0, 0.0, np.pi, 0.8))
    speed = float(np.linalg.norm(late.velocity[0]))
    assert 1.0 < speed <= 1.0 + CATCH_UP_SHARE + 1e-6


def test_a_character_ahead_of_its_time_is_asked_for_a_little_less() -> None:
    commands = PathCommands(along(1.0), FPS)
    commands.future(START)
    early = commands.future(at(0, 0.5, np.pi, 0.1))
    assert 1.0 - CATCH_UP_SHARE - 1e-6 <= float(np.linalg.norm(early.velocity[0])) < 1.0


def test_the_way_ends_where_the_path_ends() -> None:
    commands = PathCommands(along(), FPS)
    place, time = 0.0, 0.0
    while place < 7.5:
        commands.future(at(*commands.path.position(np.array(place)), np.pi, time))
        place, time = place + 0.2, time + 0.2 / 1.2
    future = commands.future(at(3.6, 4.0, np.pi / 2, time))
    assert future.position is not None
    assert (future.position[:, 0] <= 4.0 + 1e-9).all()
    assert np.linalg.norm(future.velocity, axis=1)[-1] < 0.6
    arrived = commands.future(at(4.0, 4.0, np.pi / 2, time + 0.5))
    np.testing.assert_array_equal(arrived.gait.argmax(axis=1), STAND)
    np.testing.assert_allclose(arrived.velocity, 0, atol=0.05)


def test_a_closed_path_does_not_end() -> None:
    square = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]]
    commands = PathCommands(along(1.0, points=square, closed=True), FPS)
    for s in np.arange(0, 20, 0.2):
        x, y = commands.path.position(np.array(s))
        future = commands.future(at(float(x), float(y), float(commands.path.heading(np.array(s))), s))
        np.testing.assert_array_equal(future.gait.argmax(axis=1), WALK)
        assert np.linalg.norm(future.velocity, axis=1).min() > 0.3


@pytest.mark.parametrize("offset", [0.0, np.pi, np.pi / 2, -np.pi / 2])
def test_the_facing_is_offset_from_the_way_and_the_way_is_not(offset: float) -> None:
    future = PathCommands(along(0.8, offset=offset), FPS).future(at(0, 0, np.pi + offset))
    np.testing.assert_allclose(future.velocity, np.tile([0, 0.8], (5, 1)), atol=1e-6)
    np.testing.assert_allclose(np.exp(1j * angle_of(future.direction)), np.exp(1j * (np.pi + offset)), atol=1e-6)


def test_no_speed_means_standing_still() -> None:
    future = PathCommands(along(0.0), FPS).future(at(0.1, 0.2, np.pi))
    np.testing.assert_array_equal(future.gait.argmax(axis=1), STAND)
    np.testing.assert_allclose(future.position, np.tile([0.1, 0.2], (5, 1)))


def test_the_last_frames_command_is_held_after_the_shot() -> None:
    commands = PathCommands(along(0.1), FPS)
    assert np.isfinite(commands.future(at(0, 0.5, np.pi, 60.0)).velocity).all()


@pytest.mark.parametrize(
    ("offset", "facing"),
    [(0.0, np.pi), (np.pi / 2, 1.5 * np.pi)],
)
def test_a_path_starts_at_its_first_point_and_faces_along_it(offset: float, facing: float) -> None:
    follow = along(offset=offset, points=[[1.0, 2.0, 0.5], [1.0, 5.0, 0.5]])
    x, y, z, angle = start_of(follow)
    assert (x, y, z) == (1.0, 2.0, 0.5)
    assert np.exp(1j * angle) == pytest.approx(np.exp(1j * facing))


def velocities(velocity: tuple[float, float], facing: float = 0.0, gait: str = "walk") -> VelocityCommands:
    return VelocityCommands(VelocityFollow([list(velocity)] * FRAMES, [facing] * FRAMES, [gait] * FRAMES), FPS)


def test_a_commanded_velocity_and_facing_are_held_over_the_coming_second() -> None:
    steady = State(0, 0, 0.3, 0.0)
    future = velocities((0.5, -1.0), 0.3).future(steady)
    assert future.position is None
    ways = future.velocity / np.linalg.norm(future.velocity, axis=1, keepdims=True)
    np.testing.assert_allclose(ways, np.tile(np.array([0.5, -1.0]) / np.hypot(0.5, 1.0), (5, 1)))
    np.testing.assert_allclose(angle_of(future.direction), 0.3)
    np.testing.assert_array_equal(future.gait.argmax(axis=1), WALK)


def test_the_command_of_the_scene_frame_counts() -> None:
    follow = VelocityFollow([[0.0, 0.0]] * 24 + [[0.0, -1.0]] * 24, [0.0] * 48, ["stand"] * 24 + ["walk"] * 24)
    commands = VelocityCommands(follow, FPS)
    assert commands.future(at(0, 0, 0, 0.9)).gait.argmax(axis=1)[0] == STAND
    assert commands.future(at(0, 0, 0, 1.0)).gait.argmax(axis=1)[0] == WALK
    assert commands.future(at(0, 0, 0, 99.0)).gait.argmax(axis=1)[0] == WALK


def test_a_sharp_corner_is_walked_round_in_a_run() -> None:
    commands = PathCommands(along(3.0, "jog", points=[[0.0, 0.0, 0.0], [0.0, 4.0, 0.0], [12.0, 4.0, 0.0]]), FPS)
    speeds, gaits = {}, {}
    for s in np.arange(0, 9, 0.1).round(1).tolist():
        x, y, angle = (0.0, s, np.pi) if s < 4 else (s - 4, 4.0, np.pi / 2)
        future = commands.future(State(x, y, angle, s / 3.0, (3.0 * np.sin(angle), -3.0 * np.cos(angle))))
        speeds[s], gaits[s] = float(np.linalg.norm(future.velocity[0])), int(future.gait[0].argmax())
    assert gaits[0.5] == gaits[8.0] == GAITS.index("jog")
    assert gaits[4.0] == gaits[4.5] == WALK
    assert speeds[4.0] < 0.6 * speeds[0.5]
    assert speeds[4.0] < speeds[5.0] < speeds[6.0]


def test_a_wide_bend_is_run_as_fast_as_asked() -> None:
    angle = np.linspace(0, np.pi, 60)
    arc = np.stack((2 - 2 * np.cos(angle), 2 * np.sin(angle), 0 * angle), axis=1)
    commands = PathCommands(along(3.0, "jog", points=arc.tolist()), FPS)
    future = commands.future(State(*arc[10, :2], float(angle_of(arc[11, :2] - arc[10, :2])), 0.5, (1.0, 2.8)))
    np.testing.assert_array_equal(future.gait.argmax(axis=1), GAITS.index("jog"))
    assert np.linalg.norm(future.velocity[1]) > 2.5


def test_a_command_to_stop_leaves_a_step_or_two_to_do_so() -> None:
    follow = VelocityFollow([[0.0, -2.0]] * 24 + [[0.0, 0.0]] * 48, [0.0] * 72, ["jog"] * 24 + ["stand"] * 48)
    commands = VelocityCommands(follow, FPS)
    half, later = (commands.future(State(0, 0, 0, time, (0.0, -1.0))) for time in (1.5, 3.2))
    assert half.velocity[0, 0] == pytest.approx(0)
    assert -1.9 < half.velocity[0, 1] < -0.5
    np.testing.assert_array_equal(later.velocity, 0)
    assert later.gait.argmax(axis=1)[0] == STAND


def test_no_velocity_is_standing_whatever_the_gait_says() -> None:
    for gait in ("stand", "walk", "jog"):
        assert velocities((0.0, 0.0), gait=gait).future(at(0, 0, 0)).gait.argmax(axis=1)[0] == STAND


def test_a_velocity_is_walking_even_if_the_gait_says_stand() -> None:
    assert velocities((0.0, -1.0), gait="stand").future(at(0, 0, 0)).gait.argmax(axis=1)[0] == WALK


def test_a_character_that_must_turn_far_steps_round_and_then_stands() -> None:
    commands = velocities((0.0, 0.0), facing=np.pi / 2, gait="stand")
    assert commands.future(at(0, 0, 0, 0.0)).gait.argmax(axis=1)[0] == WALK
    assert commands.future(at(0, 0, np.pi / 2, 5.0)).gait.argmax(axis=1)[0] == STAND


def test_a_crouching_figure_that_waits_goes_on_crouching() -> None:
    assert velocities((0, 0), gait="crouch").future(at(0, 0, 0)).gait.argmax(axis=1)[0] == GAITS.index("crouch")
