# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that lead to recorded motion, as training puts them in the place of what was done."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.models.pfnn import CURRENT, FPS, INPUT, SAMPLES
from nsm_blender.motion.gait import GAITS
from nsm_blender.motion.rotations import Array
from nsm_blender.planning.trajectory import AHEAD
from nsm_blender.training.pfnn_commands import LEAD, SHARE, SIZE, WAYS, asked, command

STAND, WALK = GAITS.index("stand"), GAITS.index("walk")
BY_VELOCITY, ON_PATH = 0, 1
LAST = round(LEAD * FPS)


def gaits(moves: Array) -> Array:
    return np.eye(len(GAITS))[np.where(moves, WALK, STAND)]


def walked(speed: Array, turn: float = 0.0) -> Array:
    """A root (T, 4) that goes ahead at speeds (T,) and turns by `turn` rad/s."""
    angle = turn * np.arange(len(speed)) / FPS
    steps = np.stack((np.sin(angle), -np.cos(angle)), axis=1) * speed[:, None] / FPS
    return np.column_stack((np.cumsum(steps, axis=0), np.zeros(len(speed)), angle))


def places(commands: Array) -> Array:
    return commands[..., : 2 * len(AHEAD)].reshape(*commands.shape[:-1], -1, 2)


def test_of_a_steady_walk_is_asked_what_it_does() -> None:
    root = walked(np.full(400, 1.3))
    got = asked(root, gaits(np.ones(400, bool)), np.array([150, 200]))
    assert got.shape == (2, WAYS, SIZE)
    expected = np.stack((0 * AHEAD, -1.3 * AHEAD), axis=1)
    np.testing.assert_allclose(places(got), np.broadcast_to(expected, (2, WAYS, 5, 2)), atol=0.01)
    np.testing.assert_array_equal(got[..., -len(GAITS) :].argmax(-1), WALK)


def test_a_walk_is_asked_for_before_the_performer_sets_off() -> None:
    speed = np.where(np.arange(600) < 300, 0.0, 1.3)
    got = asked(walked(speed), gaits(speed > 0), np.array([300 - LAST - 40, 300 - LAST + 20]))
    np.testing.assert_allclose(places(got)[0], 0, atol=0.01)
    assert got[0, BY_VELOCITY, -len(GAITS) :].argmax() == STAND
    assert got[1, BY_VELOCITY, -len(GAITS) :].argmax() == WALK
    assert (places(got)[1, :, -1, 1] < -0.8 * 1.3 * AHEAD[-1]).all()


def test_on_a_bend_a_path_is_asked_for_where_it_is_and_a_velocity_straight_on() -> None:
    turn, speed = 0.8, 1.2
    got = places(asked(walked(np.full(600, speed), turn), gaits(np.ones(600, bool)), np.array([200])))[0]
    radius = speed / turn
    circle = radius * np.stack((1 - np.cos(turn * AHEAD), -np.sin(turn * AHEAD)), axis=1)
    np.testing.assert_allclose(got[ON_PATH], circle, atol=0.02)
    np.testing.assert_allclose(
        got[BY_VELOCITY] / AHEAD[:, None], np.tile(got[BY_VELOCITY, -1] / AHEAD[-1], (5, 1)), atol=1e-6
    )


@pytest.mark.parametrize("way", [BY_VELOCITY, ON_PATH])
def test_a_share_of_the_frames_is_commanded_and_of_these_the_future_alone(way: int) -> None:
    count = 6000
    rng = np.random.default_rng(0)
    x = rng.standard_normal((count, INPUT.size)).astype(np.float32)
    commands = np.full((count, WAYS, SIZE), np.nan, np.float32)
    commands[:] = 100.0
    after = x.copy()
    command(after, commands, np.random.default_rng(way))
    changed = (after != x).any(axis=1)
    assert changed.mean() == pytest.approx(SHARE, abs=0.15)
    for name, width in (("trajectory_position", 2), ("trajectory_direction", 2), ("gait", len(GAITS))):
        part = getattr(INPUT, name)
        past, ahead = np.split((after != x)[:, part].reshape(count, SAMPLES, width), [CURRENT], axis=1)
        assert not past.any()
        assert ahead[changed, 1:].all()
    rest = np.ones(INPUT.size, bool)
    for name in ("trajectory_position", "trajectory_direction", "gait"):
        rest[getattr(INPUT, name)] = False
    np.testing.assert_array_equal(after[:, rest], x[:, rest])
    ways = after[changed][:, INPUT.trajectory_direction].reshape(-1, SAMPLES, 2)[:, CURRENT + 1 :]
    np.testing.assert_allclose(np.linalg.norm(ways, axis=-1), 1, atol=1e-5)
