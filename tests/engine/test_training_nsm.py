# SPDX-License-Identifier: GPL-3.0-or-later
"""Training the NSM: it learns, and it can be gone on with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nsm_blender.errors import UserError  # noqa: E402
from nsm_blender.models.nsm import (  # noqa: E402
    ACTIONS,
    ENVIRONMENT,
    FRAME,
    GOAL,
    GOAL_ACTIONS,
    INTERACTION,
    OUTPUT,
    shapes,
)
from nsm_blender.models.nsm_kernels import NEGLIGIBLE, NSM  # noqa: E402
from nsm_blender.models.weights import check_shapes  # noqa: E402
from nsm_blender.motion.rotations import Array  # noqa: E402
from nsm_blender.training.added_experts import Taught, active  # noqa: E402
from nsm_blender.training.nsm import Trainer, squared, unsteadiness  # noqa: E402
from nsm_blender.training.nsm_data import Packed, sequence_starts  # noqa: E402
from nsm_blender.training.nsm_settings import Settings  # noqa: E402

SETTINGS = Settings(
    experts=2,
    hidden=16,
    gating_hidden=8,
    encoders={"frame": 12, "goal": 8, "interaction": 8, "environment": 8},
    batch=32,
    half=False,
    first_cycle=2,
    epochs=4,
    lengths=[1, 2],
    gradient=1,
)
EPISODE = 60


def swinging() -> Packed:
    """Two episodes in which all swings to and fro, slowly, and the next pose is what is to be predicted."""
    rng = np.random.default_rng(0)
    parts = []
    for start in (0.0, 1.0):
        at = np.linspace(start, start + 6, EPISODE + 1)

        def swing(size: int, of: Array) -> Array:
            return np.sin(of[:, None] + rng.uniform(0, 6, size)).astype(np.float16)

        frame, output = swing(FRAME.size, at), swing(OUTPUT.size, at[1:])
        for name in ("joint_position", "joint_rotation", "joint_velocity"):
            output[:, getattr(OUTPUT, name)] = frame[1:, getattr(FRAME, name)]
        parts.append(
            Packed(
                frame[:-1],
                swing(GOAL.size, at[:-1]),
                rng.integers(0, 255, (EPISODE, 512)).astype(np.uint8),
                swing(12, at[:-1]).astype(np.float32),
                rng.integers(0, 255, (EPISODE, ENVIRONMENT.size)).astype(np.uint8),
                (at[:-1] % (2 * np.pi)).astype(np.float32),
                output,
                np.zeros(EPISODE, dtype=np.uint8),
                np.zeros(EPISODE, dtype=bool),
            )
        )
    return Packed.joined(parts)


@pytest.fixture(scope="module")
def data() -> Packed:
    return swinging()


def quiet(_: str) -> None:
    pass


def test_sequences_stay_within_an_episode(data: Packed) -> None:
    starts = sequence_starts(data, 4)
    assert starts.tolist() == [*range(EPISODE - 3), *range(EPISODE, 2 * EPISODE - 3)]


def test_training_lowers_the_error_and_gives_a_weights_file(data: Packed, tmp_path: Path) -> None:
    trainer = Trainer(data, replace(SETTINGS, epochs=12, first_cycle=12, learning_rate=1e-2), tmp_path)
    before = trainer.measured(data)
    tensors = trainer.run(quiet)
    assert trainer.measured(data) < 0.5 * before
    check_shapes(tensors, shapes(), tmp_path)
    assert NSM(tensors).output_mean.shape == (OUTPUT.size,)


def test_training_goes_on_from_weights_that_keep_their_meaning_on_other_data(data: Packed, tmp_path: Path) -> None:
    learned = replace(SETTINGS, epochs=12, first_cycle=12, learning_rate=1e-2)
    before = Trainer(data, learned, tmp_path / "before").run(quiet)
    other = replace(data, goal=data.goal * np.float16(2))
    again = Trainer(other, replace(SETTINGS, epochs=1), tmp_path / "after", tensors=before)
    kept = again.export()
    assert all(np.array_equal(kept[name], value) for name, value in before.items() if name != "interaction_w0")
    fresh = Trainer(data, SETTINGS, tmp_path / "fresh")
    assert Trainer(data, SETTINGS, tmp_path / "same", tensors=before).measured(data) < 0.5 * fresh.measured(data)
    assert any(not np.array_equal(value, before[name]) for name, value in again.run(quiet).items())


def test_a_share_of_the_weights_that_were_begun_with_is_kept(data: Packed, tmp_path: Path) -> None:
    before = Trainer(data, replace(SETTINGS, seed=2), tmp_path / "before").export()
    settings = replace(SETTINGS, epochs=1)
    after = Trainer(data, settings, tmp_path / "after", tensors=before).run(quiet)
    between = Trainer(data, replace(settings, kept=0.5), tmp_path / "between", tensors=before).run(quiet)
    assert not np.allclose(after["w0"], before["w0"], atol=1e-4)
    assert all(np.allclose(between[name], (value + before[name]) / 2, atol=1e-6) for name, value in after.items())


def climbing_at_first(data: Packed) -> Packed:
    """The same with the label of climbing all through the first episode, and nowhere in the second."""
    frame, output = data.frame.copy(), data.output.copy()
    climbs = (np.arange(len(data)) < EPISODE)[:, None]
    for values, layout in ((frame, FRAME), (output, OUTPUT)):
        part = layout.trajectory_action
        labels = values[:, part].reshape(len(data), -1, len(ACTIONS))
        labels[..., ACTIONS.index("climb")] = climbs
        values[:, part] = labels.reshape(len(data), -1)
    return replace(data, frame=frame, output=output)


def test_an_action_is_taught_to_experts_that_are_added_and_all_else_stays(data: Packed, tmp_path: Path) -> None:
    data = climbing_at_first(data)
    long = replace(SETTINGS, epochs=40, first_cycle=40, learning_rate=1e-2)
    without = Packed(**{name: value[EPISODE:] for name, value in vars(data).items()})
    before = Trainer(without, long, tmp_path / "before").run(quiet)
    settings = replace(long, teach="climb")
    trainer = Trainer(data, settings, tmp_path / "after", tensors=before)
    climbs = Packed(**{name: value[:EPISODE] for name, value in vars(data).items()})
    error = trainer.measured(climbs)
    taught = trainer.run(quiet)
    assert trainer.measured(climbs) < error
    assert check_shapes(taught, shapes(), tmp_path)["K"] == 2 * SETTINGS.experts
    volume = np.zeros(INTERACTION.size, dtype=np.float32)
    for row in range(0, len(data), 7):
        around = data.around[row].astype(np.float32) / 255
        values = (*(v[row].astype(np.float32) for v in (data.frame, data.goal)), volume, around, float(data.phase[row]))
        network, old = NSM(taught), NSM(before)
        told, known = network.predict(*values), old.predict(*values)
        share = float(network.omega[SETTINGS.experts :].sum())
        if row < EPISODE:
            assert share > 0.999 and np.abs(told - known).max() > 0.01
        else:
            assert share < 1e-4
            np.testing.assert_allclose(told, known, atol=1e-5)


def test_what_is_taught_toward_a_goal_needs_both_of_their_labels(data: Packed, tmp_path: Path) -> None:
    """Putting down is to carry while the goal asks to idle."""
    frame, goal = data.frame.copy(), data.goal.copy()
    labels = frame[:, FRAME.trajectory_action].reshape(len(data), -1, len(ACTIONS))
    asked = goal[:, GOAL.action].reshape(len(data), -1, len(GOAL_ACTIONS))
    part = np.arange(len(data)) % 3
    labels[..., ACTIONS.index("carry")] = (part != 1)[:, None]
    asked[..., GOAL_ACTIONS.index("idle")] = (part != 2)[:, None]
    frame[:, FRAME.trajectory_action], goal[:, GOAL.action] = (v.reshape(len(data), -1) for v in (labels, asked))
    data = replace(data, frame=frame, goal=goal)
    assert (active(data, Taught("carry", "idle")) == (part == 0)).all()
    before = Trainer(data, SETTINGS, tmp_path / "before").export()
    settings = replace(SETTINGS, teach="carry", toward="idle", lengths=[1])
    network = NSM(Trainer(data, settings, tmp_path / "after", tensors=before).run(quiet))
    volume = np.zeros(INTERACTION.size, dtype=np.float32)
    for row in range(0, len(data), 7):
        around = data.around[row].astype(np.float32) / 255
        network.predict(*(v[row].astype(np.float32) for v in (frame, goal)), volume, around, float(data.phase[row]))
        gates = network.omega[SETTINGS.experts :]
        assert gates.sum() > 0.99 if part[row] == 0 else gates.max() < NEGLIGIBLE


def test_of_what_is_taught_toward_a_goal_the_way_to_it_is_learned_too(data: Packed, tmp_path: Path) -> None:
    """The goal asks for it for less long than a sequence, but there is more of the action."""
    frame, goal = data.frame.copy(), data.goal.copy()
    labels = frame[:, FRAME.trajectory_action].reshape(len(data), -1, len(ACTIONS))
    asked = goal[:, GOAL.action].reshape(len(data), -1, len(GOAL_ACTIONS))
    labels[..., ACTIONS.index("carry")] = 1
    asked[..., GOAL_ACTIONS.index("idle")] = (np.arange(len(data)) < 2)[:, None]
    frame[:, FRAME.trajectory_action], goal[:, GOAL.action] = (v.reshape(len(data), -1) for v in (labels, asked))
    data = replace(data, frame=frame, goal=goal)
    before = Trainer(data, SETTINGS, tmp_path / "before").export()
    settings = replace(SETTINGS, teach="carry", toward="idle", lengths=[4], epochs=40, first_cycle=40)
    trainer = Trainer(data, settings, tmp_path / "after", tensors=before)
    error = trainer.measured(data)
    trainer.run(quiet)
    assert trainer.measured(data) < error
    nothing = goal.copy()
    nothing[:, GOAL.action] = 0
    none = replace(data, goal=nothing)
    with pytest.raises(UserError, match="toward idle"):
        Trainer(none, settings, tmp_path / "none", tensors=before)


def test_an_action_is_taught_again_to_what_was_taught_before(data: Packed, tmp_path: Path) -> None:
    data, settings = climbing_at_first(data), replace(SETTINGS, teach="climb", epochs=1)
    once = Trainer(data, settings, tmp_path / "once", tensors=Trainer(data, SETTINGS, tmp_path / "0").export())
    twice = Trainer(data, replace(settings), tmp_path / "twice", tensors=once.export())
    assert len(twice.run(quiet)["gating_b2"]) == 3 * SETTINGS.experts


def test_nothing_is_taught_to_a_network_that_was_not_trained(data: Packed, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--from"):
        Trainer(data, replace(SETTINGS, teach="climb"), tmp_path)


def test_another_gating_begins_anew_on_weights_that_are_there(data: Packed, tmp_path: Path) -> None:
    before = Trainer(data, SETTINGS, tmp_path / "before").export()
    after = Trainer(data, replace(SETTINGS, gating="concatenation"), tmp_path / "after", tensors=before).export()
    check_shapes(after, shapes("concatenation"), tmp_path)
    assert np.array_equal(after["w0"], before["w0"]) and np.array_equal(after["output_mean"], before["output_mean"])


def test_weights_of_another_size_are_not_gone_on_from(data: Packed, tmp_path: Path) -> None:
    tensors = Trainer(data, SETTINGS, tmp_path).export()
    with pytest.raises(UserError, match="--hidden"):
        Trainer(data, replace(SETTINGS, hidden=24), tmp_path, tensors=tensors)


@pytest.mark.parametrize("network", ["nsm", "auto-lstm"])
def test_a_training_step_stays_on_its_device(data: Packed, tmp_path: Path, network: str) -> None:
    """On a device without numbers, whose tensors meet no others; reading a number off one fails, too, which on a GPU
    waits for it."""
    trainer = Trainer(data, replace(SETTINGS, network=network), tmp_path, device="meta")
    assert trainer.gradients(trainer.batches()[0]).device.type == "meta"
    assert {one.grad.device.type for one in trainer.parameters.values() if one.grad is not None} == {"meta"}


def test_a_sequence_that_has_gone_astray_does_not_outweigh_all_others() -> None:
    usual, astray = squared(torch.tensor([0.5, 200.0]))
    assert usual == 0.25
    assert astray / usual < (200 / 0.5) ** 2 / 20


def test_an_error_of_the_pose_that_flickers_costs_more_than_one_that_stays() -> None:
    off = torch.full((1, OUTPUT.size), 0.01)
    assert unsteadiness(off, off).sum() == 0
    flickers = unsteadiness(-off, off)
    for name in ("joint_position", "joint_rotation", "root_velocity", "root_turn"):
        assert (flickers[:, getattr(OUTPUT, name)] > 0.01**2).all()
    # A label may change in a frame, and what it should be then is a matter of a frame or two.
    assert flickers[:, OUTPUT.contact].sum() == flickers[:, OUTPUT.trajectory_action].sum() == 0
