# SPDX-License-Identifier: GPL-3.0-or-later
"""The rollout moves the root as the network says, and shows it the trajectory that is asked for.

Networks here are written by hand, so that what they do is known: they say constants, or repeat an input.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from nsm_blender.models.pfnn import CURRENT, INPUT, JOINTS, OUTPUT
from nsm_blender.models.pfnn_kernels import PFNN
from nsm_blender.motion.gait import GAITS
from nsm_blender.motion.root import direction
from nsm_blender.motion.rotations import Array
from nsm_blender.planning.trajectory import Future
from nsm_blender.rollout.pfnn import Locomotion, Record, blend_weights

BACKGROUND = 100.0
"""Keeps the inputs of the hidden units above zero, where they are linear."""


def network(says: Mapping[str, Array | list[float]], repeats: Mapping[int, tuple[int, float]] | None = None) -> PFNN:
    """Says constants by the name of the output; output i also repeats input n times a factor: {i: (n, factor)}."""
    hidden = 8
    w = {
        "w0": np.zeros((4, hidden, INPUT.size)),
        "w1": np.tile(np.eye(hidden), (4, 1, 1)),
        "w2": np.zeros((4, OUTPUT.size, hidden)),
        "b0": np.full((4, hidden), BACKGROUND),
        "b1": np.zeros((4, hidden)),
        "b2": np.zeros((4, OUTPUT.size)),
    }
    for unit, (output, (source, factor)) in enumerate((repeats or {}).items()):
        w["w0"][:, unit, source] = 1
        w["w2"][:, output, unit] = factor
        w["b2"][:, output] = -factor * BACKGROUND
    y_mean = np.zeros(OUTPUT.size)
    for name, value in says.items():
        y_mean[getattr(OUTPUT, name)] = np.asarray(value).ravel()
    tensors = w | {
        "x_mean": np.zeros(INPUT.size),
        "x_scale": np.ones(INPUT.size),
        "y_mean": y_mean,
        "y_scale": np.ones(OUTPUT.size),
        "rotation_reference": np.tile([1.0, 0, 0, 0], (JOINTS, 1)),
    }
    return PFNN({name: value.astype(np.float32) for name, value in tensors.items()})


def command(place: tuple[float, float] = (0.0, 0.0), facing: float = 0.0, gait: str = "walk") -> Future:
    """Be at `place` at every future sample, facing `facing`."""
    weights = np.eye(len(GAITS))[GAITS.index(gait)]
    return Future(
        np.tile(place, (5, 1)), np.zeros((5, 2)), np.tile(direction(np.array(facing)), (5, 1)), np.tile(weights, (6, 1))
    )


def rolled(character: Locomotion, frames: int, future: Future) -> Record:
    for _ in range(frames):
        character.step(future)
    return character.record()


def test_the_first_frame_is_the_start() -> None:
    character = Locomotion(network({"root_velocity": [0.3, -1.0]}), (1.0, 2.0, 0.5, 0.7), 10)
    record = rolled(character, 10, command())
    np.testing.assert_allclose(record.root[0], [1, 2, 0.5, 0.7])
    assert record.root.shape == (10, 4)
    assert record.y.shape == (10, OUTPUT.size)
    np.testing.assert_array_equal(record.root[:, 2], 0.5)


@pytest.mark.parametrize("facing", [0.0, 1.0, -2.5])
def test_the_root_moves_in_its_own_frame(facing: float) -> None:
    """Velocity (0, -1) is straight ahead, whichever way one faces."""
    character = Locomotion(network({"root_velocity": [0.0, -1.2]}), (0.0, 0.0, 0.0, facing), 61)
    record = rolled(character, 61, command())
    np.testing.assert_allclose(record.root[-1, :2], 1.2 * direction(np.array(facing)), atol=1e-5)
    np.testing.assert_allclose(record.root[:, 3], facing)


def test_turning_at_a_steady_rate_walks_a_circle() -> None:
    character = Locomotion(network({"root_velocity": [0.0, -1.0], "root_turn": [2 * np.pi / 5]}), (0, 0, 0, 0), 301)
    record = rolled(character, 301, command())
    assert record.root[-1, 3] == pytest.approx(2 * np.pi, abs=1e-4)
    np.testing.assert_allclose(record.root[-1, :2], [0, 0], atol=1e-3)
    assert np.ptp(record.root[:, 1]) == pytest.approx(5 / np.pi, abs=0.01)  # the circle's diameter


def test_the_phase_runs_as_the_network_says_and_comes_round() -> None:
    record = rolled(Locomotion(network({"phase_change": [2 * np.pi]}), (0, 0, 0, 0), 121), 121, command())
    assert record.phase.min() >= 0
    assert record.phase.max() < 2 * np.pi
    assert record.phase[15] == pytest.approx(np.pi / 2, abs=1e-4)
    assert np.cos(record.phase[120]) == pytest.approx(1, abs=1e-4)


def test_the_phase_never_runs_backward() -> None:
    record = rolled(Locomotion(network({"phase_change": [-3.0]}), (0, 0, 0, 0), 10), 10, command())
    np.testing.assert_array_equal(record.phase, 0)


LAST_X = INPUT.trajectory_position.start + 2 * 11
LAST_FACING_X = INPUT.trajectory_direction.start + 2 * 11


@pytest.mark.parametrize("turning", [0.0, 1.5])
def test_a_network_that_goes_where_its_trajectory_points_arrives_there(turning: float) -> None:
    """The place asked for is in the world; the network sees it and moves in the root's frame, which turns."""
    velocity = OUTPUT.root_velocity.start
    goes = network({"root_turn": [turning]}, {velocity: (LAST_X, 2.0), velocity + 1: (LAST_X + 1, 2.0)})
    character = Locomotion(goes, (1.0, -1.0, 0.0, 0.4), 300, bias_velocity=10.0)
    record = rolled(character, 300, command((3.0, 2.0)))
    np.testing.assert_allclose(record.root[-1, :2], [3, 2], atol=0.02)
    way = record.root[:, :2] - [1, -1]
    np.testing.assert_allclose(way @ np.array([3.0, -2.0]), 0, atol=0.1)  # straight


def test_a_network_that_turns_as_its_trajectory_faces_ends_up_facing_so() -> None:
    turns = network({}, {OUTPUT.root_turn.start: (LAST_FACING_X, 2.0)})
    character = Locomotion(turns, (0, 0, 0, 0.0), 400, bias_direction=10.0)
    record = rolled(character, 400, command(facing=2.0))
    assert record.root[-1, 3] == pytest.approx(2.0, abs=0.02)


def test_the_gait_asked_for_is_shown_to_the_network_smoothly() -> None:
    shown = INPUT.gait.start + CURRENT * len(GAITS) + GAITS.index("walk")
    sees = network({}, {OUTPUT.phase_change.start: (shown, 1.0)})
    record = rolled(Locomotion(sees, (0, 0, 0, 0), 120), 120, command(gait="walk"))
    seen = record.y[:, OUTPUT.phase_change.start]
    assert seen[0] < 0.6
    assert seen[-1] == pytest.approx(1, abs=0.01)
    assert np.diff(seen).min() > -1e-4
    assert np.diff(seen).max() < 0.6
    np.testing.assert_allclose(record.gait[:, GAITS.index("walk")], seen, atol=1e-4)


def test_the_network_sees_where_it_has_been() -> None:
    before = INPUT.trajectory_position.start + 1  # y of the sample one second ago
    sees = network({"root_velocity": [0.0, -1.0]}, {OUTPUT.phase_change.start: (before, 1.0)})
    record = rolled(Locomotion(sees, (5, 5, 0, 0.3), 200), 200, command())
    seen = record.y[:, OUTPUT.phase_change.start]
    assert seen[0] == pytest.approx(0, abs=1e-4)
    assert seen[-1] == pytest.approx(1.0, abs=1e-3)  # one meter behind, and behind is +y


def test_a_slow_drift_of_the_network_does_not_move_a_standing_character() -> None:
    drifts = network({"root_velocity": [0.02, 0.03]})
    record = rolled(Locomotion(drifts, (0, 0, 0, 0), 100), 100, command(gait="stand"))
    np.testing.assert_array_equal(record.root[:, :2], 0)


def test_a_last_step_to_a_stand_still_moves_the_root() -> None:
    steps = network({"root_velocity": [0.0, -0.3]})
    record = rolled(Locomotion(steps, (0, 0, 0, 0), 61), 61, command(gait="stand"))
    np.testing.assert_allclose(record.root[-1, :2], [0, -0.3], atol=1e-4)


def test_settling_comes_back_to_the_start() -> None:
    character = Locomotion(network({"root_velocity": [0.0, -1.0], "root_turn": [1.0]}), (1, 2, 0, 0.5), 10)
    character.settle(command(), 60)
    state = character.state
    assert (state.x, state.y, state.angle, state.time) == (1, 2, 0.5, 0)
    record = rolled(character, 10, command())
    assert len(record.root) == 10
    np.testing.assert_allclose(record.root[0], [1, 2, 0, 0.5])


def test_a_larger_bias_follows_the_command_more_closely() -> None:
    weights = np.stack([blend_weights(b) for b in (0.5, 2.0, 5.0, 10.0)])
    assert (np.diff(weights, axis=0) > 0).all()  # with the bias
    assert (np.diff(weights, axis=1) > 0).all()  # into the future
    assert weights.min() > 0
    assert weights.max() < 1


def test_without_bias_the_network_alone_decides() -> None:
    np.testing.assert_array_equal(blend_weights(0.0), 0)


def test_without_bias_the_network_sees_the_trajectory_that_it_foretold() -> None:
    """In the root's frame as it said it, whichever way that frame lies in the world."""
    foretold = np.stack((0.3 * np.arange(6), -0.5 * np.arange(6)), axis=1)
    facings = np.tile(direction(np.array(0.4)), (6, 1))
    first = OUTPUT.contact.start
    sees = network(
        {"trajectory_position": foretold, "trajectory_direction": facings},
        {first: (LAST_X, 1.0), first + 1: (LAST_X + 1, 1.0), first + 2: (LAST_FACING_X, 1.0)},
    )
    character = Locomotion(sees, (2, 1, 0, 1.2), 5, bias_velocity=0.0, bias_direction=0.0)
    record = rolled(character, 5, command((9.0, 9.0), facing=-2.0))
    expected = [*foretold[-1], facings[-1, 0]]
    np.testing.assert_allclose(record.y[-1, first : first + 3], expected, atol=1e-4)
