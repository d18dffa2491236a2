# SPDX-License-Identifier: GPL-3.0-or-later
"""The NSM: the fast prediction is the paper's formula, in NumPy and torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from nsm_blender.errors import WeightsError
from nsm_blender.models import matmul
from nsm_blender.models.nsm import (
    CELLS,
    ENCODERS,
    FRAME,
    GATING_SIZES,
    GOAL,
    GOAL_ACTIONS,
    INTERACTION,
    OCCUPANCY,
    OUTPUT,
    SAMPLES,
    TO_ROOT,
    Gating,
    forward,
    gating_input,
    shapes,
)
from nsm_blender.models.nsm_kernels import NSM
from nsm_blender.motion.rotations import Array

LETTERS = {"h": 24, "h'": 16, "K": 4, "h_frame": 20, "h_goal": 8, "h_interaction": 12, "h_environment": 16, "n": 56}


def network(gating: Gating = "kronecker", seed: int = 0) -> dict[str, Array]:
    """Random weights whose signals keep their size from layer to layer."""
    rng = np.random.default_rng(seed)
    out = {}
    for name, shape in shapes(gating).items():
        size = tuple(LETTERS[n] if isinstance(n, str) else n for n in shape)
        value = rng.standard_normal(size) / (np.sqrt(size[-1]) if len(size) > 1 and "b" not in name else 3)
        out[name] = np.exp(value) if name.endswith("_scale") else value
    # Some experts clearly on, some clearly off.
    out["gating_b2"] = np.array([2.0, -30.0, 1.0, -30.0])
    return {name: value.astype(np.float32) for name, value in out.items()}


def one_frame(seed: int) -> dict[str, Array]:
    """Inputs in natural units, with an interaction volume such as the sensor gives."""
    rng = np.random.default_rng(seed)
    x = {name: rng.standard_normal(layout.size).astype(np.float32) for name, layout in ENCODERS.items()}
    x["environment"] = np.maximum(x["environment"], 0)
    edges = np.linalg.qr(rng.standard_normal((3, 3)))[0] * rng.uniform(0.05, 0.3, (3, 1))
    center = np.indices((CELLS,) * 3).reshape(3, -1).T @ edges
    cells = np.empty(INTERACTION.shape("cell"), dtype=np.float32)
    cells[:, TO_ROOT] = rng.standard_normal(3) - center
    cells[:, OCCUPANCY] = np.maximum(rng.standard_normal(len(cells)), 0)
    x["interaction"] = cells.ravel()
    return x


def literal(tensors: dict[str, Array], x: dict[str, Array], phase: float, gating: Gating) -> Array:
    """The paper's formula in float64, with the normalization written out."""
    t = {name: value.astype(np.float64) for name, value in tensors.items()}
    # Gates below the limit are left out by the fast prediction; here they are 1e-13.
    condition = gating_input(
        x["frame"][None].astype(np.float64), x["goal"][None].astype(np.float64), np.array([phase]), gating
    )
    inputs = {name: (x[name][None] - t[f"{name}_mean"]) / t[f"{name}_scale"] for name in ENCODERS}
    y = forward(t, inputs, (condition - t["gating_mean"]) / t["gating_scale"])
    out: Array = y[0] * t["output_scale"] + t["output_mean"]
    return out


@pytest.mark.parametrize("blas", [True, False], ids=["with BLAS", "without BLAS"])
@pytest.mark.parametrize("gating", ["kronecker", "concatenation"])
def test_the_fast_prediction_is_the_formula(gating: Gating, blas: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul, "matmul_is_fast", lambda: blas)
    tensors = network(gating)
    model = NSM(tensors)
    for seed in range(5):
        x = one_frame(seed)
        got = model.predict(x["frame"], x["goal"], x["interaction"], x["environment"], 0.7 * seed)
        wanted = literal(tensors, x, 0.7 * seed, gating)
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max())
        assert model.omega.sum() == pytest.approx(1)


def test_an_input_that_changes_in_place_counts() -> None:
    tensors = network()
    model, x = NSM(tensors), one_frame(3)
    first = model.predict(x["frame"], x["goal"], x["interaction"], x["environment"], 1.0)
    x["environment"][:] = 0  # in place, as a sensor would write into its buffer
    changed = model.predict(x["frame"], x["goal"], x["interaction"], x["environment"], 1.0)
    assert np.abs(changed - first).max() > 1e-3
    fresh = NSM(tensors).predict(x["frame"], x["goal"], x["interaction"], x["environment"], 1.0)
    np.testing.assert_array_equal(changed, fresh)


def test_a_result_outlives_the_next_prediction() -> None:
    model, x, y = NSM(network()), one_frame(1), one_frame(2)
    first = model.predict(x["frame"], x["goal"], x["interaction"], x["environment"], 1.0)
    kept, gates = first.copy(), model.omega
    gates_kept = gates.copy()
    model.predict(y["frame"], y["goal"], y["interaction"], y["environment"], 2.0)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(gates, gates_kept)


def test_torch_gives_the_same_as_numpy() -> None:
    torch = pytest.importorskip("torch")
    tensors = {name: value.astype(np.float64) for name, value in network().items()}
    rng = np.random.default_rng(0)
    inputs: dict[str, Any] = {name: rng.standard_normal((6, layout.size)) for name, layout in ENCODERS.items()}
    phase = rng.uniform(0, 6, 6)
    condition = gating_input(inputs["frame"], inputs["goal"], phase)
    as_torch = {name: torch.from_numpy(value) for name, value in inputs.items()}
    condition_torch = gating_input(as_torch["frame"], as_torch["goal"], torch.from_numpy(phase))
    np.testing.assert_allclose(condition_torch.numpy(), condition, atol=1e-12)
    weights = {name: torch.from_numpy(value) for name, value in tensors.items()}
    got = forward(weights, as_torch, condition_torch / 10)
    np.testing.assert_allclose(got.numpy(), forward(tensors, inputs, condition / 10), atol=1e-9)


def test_the_gating_sees_the_phase_the_distance_and_the_angle() -> None:
    frame, goal = np.zeros((1, FRAME.size)), np.zeros((1, GOAL.size))
    action = np.zeros(GOAL.shape("action"))
    action[:, GOAL_ACTIONS.index("sit")] = 1
    goal[:, GOAL.action] = action.ravel()
    goal[:, GOAL.position] = np.tile([3.0, -4.0, 0.5], SAMPLES)  # 5 m away on the ground, the height does not count
    goal[:, GOAL.direction] = np.tile([1.0, 0.0], SAMPLES)  # to the left of a character that faces -y
    side_by_side = gating_input(frame, goal, np.array([0.3]), "concatenation")[0]
    sit = action.ravel()
    assert side_by_side[:2] == pytest.approx([np.sin(0.3), np.cos(0.3)])
    condition = side_by_side[2:]
    np.testing.assert_allclose(condition[-3 * sit.size :], np.concatenate((sit, 5 * sit, np.pi / 2 * sit)), atol=1e-12)
    both = gating_input(frame, goal, np.array([0.3]))[0]
    np.testing.assert_allclose(both, np.concatenate((np.sin(0.3) * condition, np.cos(0.3) * condition)))
    assert len(both) == GATING_SIZES["kronecker"]


def test_weights_file(tmp_path: Path) -> None:
    path = tmp_path / "nsm.safetensors"
    tensors = network("concatenation")
    save_file(tensors, path)
    model = NSM.load(path)
    assert model.gating == "concatenation"
    x = one_frame(0)
    y = model.predict(x["frame"], x["goal"], x["interaction"], x["environment"], 0.0)
    assert y.shape == (OUTPUT.size,)

    save_file(tensors | {"frame_scale": np.zeros(FRAME.size, dtype=np.float32)}, path)
    with pytest.raises(WeightsError, match="frame_scale"):
        NSM.load(path)
    wide = {"w0": np.zeros((4, 24, 57), dtype=np.float32)}
    save_file(tensors | wide, path)
    with pytest.raises(WeightsError, match="encoders"):
        NSM.load(path)
