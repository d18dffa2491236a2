# SPDX-License-Identifier: GPL-3.0-or-later
"""The networks that the NSM is compared with: each learns, is saved and loaded, and acts as the NSM does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")

from nsm_blender.errors import WeightsError  # noqa: E402
from nsm_blender.geometry.colliders import Surroundings  # noqa: E402
from nsm_blender.models.nsm import ENCODERS, FRAME, GOAL, OUTPUT  # noqa: E402
from nsm_blender.models.nsm_baselines import (  # noqa: E402
    BASELINES,
    NETWORKS,
    RECURRENT,
    condition,
    condition_of,
    forward,
    omega,
    shapes,
)
from nsm_blender.models.nsm_predictor import Predictor, load, of_tensors  # noqa: E402
from nsm_blender.models.weights import check_shapes, read_tensors  # noqa: E402
from nsm_blender.motion.rotations import Array  # noqa: E402
from nsm_blender.motion.skeleton import MODEL_SKELETON  # noqa: E402
from nsm_blender.rollout.goal_spec import Stay  # noqa: E402
from nsm_blender.rollout.nsm import Options, SceneCharacter  # noqa: E402
from nsm_blender.training import cards  # noqa: E402
from nsm_blender.training.nsm import Trainer  # noqa: E402
from nsm_blender.training.nsm_data import Packed  # noqa: E402
from nsm_blender.training.nsm_settings import Settings  # noqa: E402

from .test_training_nsm import SETTINGS, quiet, swinging  # noqa: E402

LEARNING = replace(SETTINGS, epochs=12, first_cycle=12, learning_rate=1e-2)
LONGER = replace(LEARNING, epochs=120, first_cycle=120)
"""Four recurrent layers take their time."""


@pytest.fixture(scope="module")
def data() -> Packed:
    return swinging()


@pytest.fixture(scope="module", params=BASELINES)
def trained(request: pytest.FixtureRequest, data: Packed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of each network, trained a little, with their card."""
    folder = tmp_path_factory.mktemp(request.param)
    trainer = Trainer(
        data, replace(LONGER if request.param in RECURRENT else LEARNING, network=request.param), folder / "run"
    )
    before = trainer.measured(data)
    tensors = trainer.run(quiet)
    assert trainer.measured(data) < 0.5 * before
    check_shapes(tensors, shapes(request.param), folder)
    weights: Path = folder / "weights.safetensors"
    cards.save_weights(tensors, weights)
    told = {"network": request.param, "standing": np.zeros(FRAME.size).tolist(), "actions": ["idle", "walk"]}
    weights.with_suffix(".json").write_text(json.dumps(told))
    return weights


def character(network: Predictor) -> SceneCharacter:
    """A character that stands where it is, moved by nothing but the network."""
    still = np.zeros(FRAME.size)
    return SceneCharacter(network, still, np.zeros(4), Surroundings([]), Stay(np.array([1.0, 0.5, 0.0])), Options())


def steps(one: SceneCharacter, count: int) -> Array:
    for _ in range(count):
        one.step()
    return one.record().places


def test_each_network_learns_and_is_rolled_out(trained: Path) -> None:
    network = load(trained)
    places = steps(character(network), 30)
    assert places.shape == (30, len(MODEL_SKELETON), 3) and np.isfinite(places).all()
    # Another character begins anew, whatever the network did for the first.
    np.testing.assert_array_equal(steps(character(network), 30), places)


def test_a_forked_character_goes_on_with_a_memory_of_its_own(trained: Path) -> None:
    first = character(load(trained))
    steps(first, 10)
    second = first.fork()
    places = steps(first, 10)
    np.testing.assert_array_equal(steps(second, 10), places)


def test_what_is_rolled_out_is_what_was_trained(trained: Path, data: Packed) -> None:
    """The prediction in natural units, one frame after another, and that of training on normalized batches."""
    predictor = load(trained)
    tensors = {name: torch.from_numpy(value) for name, value in read_tensors(trained).items()}
    rng = np.random.default_rng(0)
    name, kind = str(predictor.card["network"]), condition_of(str(predictor.card["network"]), "kronecker")
    state = None
    for phase in (0.3, 4.0):
        x = {key: rng.standard_normal(layout.size).astype(np.float32) for key, layout in ENCODERS.items()}
        y = predictor.predict(x["frame"], x["goal"], x["interaction"], x["environment"], phase)
        batch = {key: torch.from_numpy(value)[None] for key, value in x.items()}
        inputs = {key: (value - tensors[f"{key}_mean"]) / tensors[f"{key}_scale"] for key, value in batch.items()}
        angle, gating = torch.tensor([phase]), None
        if kind is not None:
            gating = condition(kind, batch["frame"], batch["goal"], angle)
            gating = (gating - tensors["gating_mean"]) / tensors["gating_scale"]
        expected, state = forward(name, tensors, inputs, gating, angle, state)
        np.testing.assert_allclose(
            y, (expected * tensors["output_scale"] + tensors["output_mean"])[0], rtol=1e-3, atol=1e-4
        )


def test_a_recurrent_network_remembers_and_others_do_not(trained: Path) -> None:
    network = load(trained)
    values = [np.ones(layout.size, dtype=np.float32) for layout in ENCODERS.values()]
    first, second = (network.predict(*values, 1.0) for _ in range(2))
    assert np.array_equal(first, second) is (network.card["network"] not in RECURRENT)
    np.testing.assert_array_equal(network.begun().predict(*values, 1.0), first)


def test_weights_of_another_network_are_refused(trained: Path, tmp_path: Path) -> None:
    told = json.loads(trained.with_suffix(".json").read_text())
    other = tmp_path / "other.safetensors"
    other.write_bytes(trained.read_bytes())
    for name in ({*BASELINES, "nsm"} - {*RECURRENT}) - {told["network"]}:
        other.with_suffix(".json").write_text(json.dumps({**told, "network": name}))
        with pytest.raises(WeightsError, match="belong to another model"):
            load(other)
    other.with_suffix(".json").write_text(json.dumps({**told, "network": "transformer"}))
    with pytest.raises(WeightsError, match="names an unknown network"):
        load(other)


@pytest.mark.parametrize("network", BASELINES)
def test_networks_are_as_large_as_the_nsm_of_the_same_settings(network: str, tmp_path: Path, data: Packed) -> None:
    """But for its gating network, which it has beside."""
    settings = Settings(hidden=64, encoders={"frame": 48, "goal": 16, "interaction": 24, "environment": 48})

    def size(name: str) -> int:
        trainer = Trainer(data, replace(settings, network=name), tmp_path)
        own = (value for key, value in trainer.parameters.items() if not key.startswith("gating"))
        return sum(value.numel() for value in own)

    assert size(network) == pytest.approx(size("nsm"), rel=0.03)


@pytest.mark.parametrize("network", NETWORKS)
def test_all_are_trained_in_half_precision_too(network: str, tmp_path: Path, data: Packed) -> None:
    trainer = Trainer(data, replace(SETTINGS, network=network, half=True, epochs=2, first_cycle=2), tmp_path)
    full = Trainer(data, replace(SETTINGS, network=network, epochs=2, first_cycle=2), tmp_path)
    trainer.run(quiet)
    full.run(quiet)
    assert trainer.history[-1]["loss"] == pytest.approx(full.history[-1]["loss"], rel=0.02)


@pytest.mark.parametrize("network", ["mlp", "pfnn", "mann"])
def test_what_is_blended_sums_to_one(network: str, data: Packed, tmp_path: Path) -> None:
    tensors = Trainer(data, replace(SETTINGS, network=network), tmp_path).export()
    rng = np.random.default_rng(0)
    predictor = of_tensors(tensors, {"network": network})
    x = rng.standard_normal((3, FRAME.size)).astype(np.float32)
    phase = np.array([0.0, 2.0, 6.2], dtype=np.float32)
    feet = None if network != "mann" else condition("feet", x, np.zeros((3, GOAL.size)), phase)
    weights = omega(network, tensors, x, feet, phase)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-5)
    zeros = [np.zeros(layout.size, dtype=np.float32) for layout in ENCODERS.values()]
    assert predictor.predict(*zeros, 1.0).shape == (OUTPUT.size,)
    assert predictor.omega.shape == weights.shape[1:]


def test_the_gating_of_the_mann_reads_the_velocities_of_the_feet() -> None:
    frame = np.zeros((1, FRAME.size))
    for number, joint in enumerate(("LeftFoot", "LeftToe", "RightFoot", "RightToe"), 1):
        velocity = frame[:, FRAME.joint_velocity].reshape(1, -1, 3)
        velocity[0, MODEL_SKELETON.index(joint)] = number
        frame[:, FRAME.joint_velocity] = velocity.reshape(1, -1)
    read = condition("feet", frame, np.zeros((1, GOAL.size)), np.zeros(1))
    np.testing.assert_array_equal(read[0], np.repeat([1.0, 2.0, 3.0, 4.0], 3))
