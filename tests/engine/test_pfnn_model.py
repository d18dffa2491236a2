# SPDX-License-Identifier: GPL-3.0-or-later
"""The PFNN: the fast prediction is the paper's formula, in NumPy and torch, smooth round the phase."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from nsm_blender.errors import WeightsError
from nsm_blender.models.pfnn import INPUT, JOINTS, OUTPUT, catmull_rom, forward, forward_each
from nsm_blender.models.pfnn_kernels import PFNN, Mode
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import MODEL_SKELETON

TAU = 2 * np.pi
PHASES = np.concatenate((np.linspace(0, TAU, 38), [TAU - 1e-6, -0.3, 3 * TAU + 0.2, TAU / 8, TAU / 50]))
COINCIDING = {
    MODEL_SKELETON.index("Spine"): MODEL_SKELETON.index("Hips"),
    MODEL_SKELETON.index("LeftShoulder"): MODEL_SKELETON.index("Neck"),
    MODEL_SKELETON.index("RightShoulder"): MODEL_SKELETON.index("Neck"),
}
MODES: tuple[Mode, ...] = ("cubic", "linear", "constant")


def network(h: int = 32, n: int = 20, m: int = 15, seed: int = 0) -> dict[str, Array]:
    """Random weights whose signals keep their size from layer to layer."""
    rng = np.random.default_rng(seed)
    shapes = {"w0": (4, h, n), "w1": (4, h, h), "w2": (4, m, h), "b0": (4, h), "b1": (4, h), "b2": (4, m)}
    tensors = {
        name: rng.standard_normal(shape) / (np.sqrt(shape[2]) if len(shape) == 3 else 4)
        for name, shape in shapes.items()
    }
    tensors |= {
        "x_mean": rng.standard_normal(n),
        "x_scale": np.exp(rng.standard_normal(n)),
        "y_mean": rng.standard_normal(m),
        "y_scale": np.exp(rng.standard_normal(m)),
        "rotation_reference": np.tile([1.0, 0, 0, 0], (JOINTS, 1)),
    }
    return {name: value.astype(np.float32) for name, value in tensors.items()}


def inputs(tensors: dict[str, Array], count: int) -> Array:
    normalized = np.random.default_rng(1).standard_normal((count, len(tensors["x_mean"])))
    return (normalized * tensors["x_scale"] + tensors["x_mean"]).astype(np.float32)


def literal(tensors: dict[str, Array], x: Array, phase: Array) -> Array:
    """The paper's formula in float64, with the normalization written out."""
    t = {name: value.astype(np.float64) for name, value in tensors.items()}
    y = forward(t, ((x - t["x_mean"]) / t["x_scale"])[:, None], np.asarray(phase, dtype=np.float64))[:, 0]
    return y * t["y_scale"] + t["y_mean"]


def at_phase(tensors: dict[str, Array], coefficients: Array) -> dict[str, Array]:
    """A network that does not depend on the phase: the control points blended to one set of weights."""
    out = dict(tensors)
    for name in ("w0", "b0", "w1", "b1", "w2", "b2"):
        blended = np.tensordot(coefficients, tensors[name].astype(np.float64), 1)
        out[name] = np.broadcast_to(blended, tensors[name].shape)
    return out


def error(tensors: dict[str, Array], actual: Array, expected: Array) -> float:
    """Largest difference, in standard deviations of the outputs."""
    return float(np.max(np.abs(actual - expected) / tensors["y_scale"]))


def test_the_weights_of_a_phase_are_the_blended_control_points() -> None:
    tensors = network()
    x = inputs(tensors, len(PHASES))
    c = catmull_rom(PHASES)
    one_by_one = [literal(at_phase(tensors, c[i]), x[i : i + 1], PHASES[i : i + 1])[0] for i in range(len(x))]
    np.testing.assert_allclose(literal(tensors, x, PHASES), one_by_one, rtol=1e-9, atol=1e-9)


def test_cubic_prediction_is_the_formula() -> None:
    tensors = network()
    x = inputs(tensors, len(PHASES))
    net = PFNN(tensors)
    y = np.stack([net.predict(a, p) for a, p in zip(x, PHASES, strict=True)])
    assert y.dtype == np.float32
    assert error(tensors, y, literal(tensors, x, PHASES)) < 1e-5


@pytest.mark.parametrize(("mode", "count"), [("linear", 10), ("constant", 50)])
def test_table_modes_interpolate_samples_of_the_spline(mode: Mode, count: int) -> None:
    tensors = network()
    x = inputs(tensors, len(PHASES))
    net = PFNN(tensors, mode)
    for a, phase in zip(x, PHASES, strict=True):
        place = phase * count / TAU
        below = np.round(place) if mode == "constant" else np.floor(place)
        c0, c1 = catmull_rom(np.array([below, below + 1]) * TAU / count)
        w = 0 if mode == "constant" else place - below
        expected = literal(at_phase(tensors, (1 - w) * c0 + w * c1), a[None], np.zeros(1))[0]
        assert error(tensors, net.predict(a, phase), expected) < 1e-4


@pytest.mark.parametrize(("mode", "bound"), [("linear", 0.24), ("constant", 0.12)])
def test_table_modes_stay_within_the_bound_of_interpolation(mode: Mode, bound: float) -> None:
    # Only the last bias changes with the phase, between -1 and 1, so the output is the spline itself. Over one
    # knot the spline's slope is at most 3 and its second derivative at most 12 (sums of the coefficients'):
    # linear, step 0.4 knots: 0.4^2 / 8 * 12; constant, at most 0.04 knots away: 0.04 * 3.
    tensors = network()
    for name in ("w0", "b0", "w1", "b1", "w2"):
        tensors[name][:] = tensors[name][:1]
    tensors["b2"][:] = np.random.default_rng(2).uniform(-1, 1, tensors["b2"].shape)
    phases = np.linspace(0, TAU, 500)
    x = np.repeat(inputs(tensors, 1), len(phases), axis=0)
    net = PFNN(tensors, mode)
    y = np.stack([net.predict(a, p) for a, p in zip(x, phases, strict=True)])
    largest = error(tensors, y, literal(tensors, x, phases))
    assert 0.01 < largest < bound


@pytest.mark.parametrize("mode", MODES)
def test_prediction_is_continuous_round_the_circle(mode: Mode) -> None:
    tensors = network()
    x = inputs(tensors, 1)[0]
    net = PFNN(tensors, mode)
    for phase in (0.0, -1e-7, TAU - 1e-7, TAU, 5 * TAU):
        assert error(tensors, net.predict(x, phase), net.predict(x, 1e-7)) < 1e-4


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [1, 2, 5, 100])
def test_a_batch_is_its_characters_one_by_one(count: int, mode: Mode) -> None:
    tensors = network()
    x = inputs(tensors, count)
    phase = np.linspace(0, TAU, count, dtype=np.float32)
    y = PFNN(tensors, mode).predict_batch(x, phase)
    assert y.shape == (count, 15)
    assert error(tensors, y, literal(tensors, x, phase)) < 1e-5


def test_inputs_that_no_weight_uses_change_nothing() -> None:
    tensors = network()
    tensors["w0"][:, :, [0, 3, 19]] = 0
    x = inputs(tensors, 7)
    phase = np.linspace(0, 6, 7)
    net = PFNN(tensors)
    y = np.stack([net.predict(a, p) for a, p in zip(x, phase, strict=True)])
    assert error(tensors, y, literal(tensors, x, phase)) < 1e-5
    assert error(tensors, net.predict_batch(x, phase), y) < 1e-5
    x[:, [0, 3, 19]] = 1e6
    np.testing.assert_array_equal(net.predict(x[0], phase[0]), y[0])


def test_results_are_the_callers_own() -> None:
    tensors = network()
    x = inputs(tensors, 2)
    net = PFNN(tensors)
    first = net.predict(x[0], 0.5)
    kept = first.copy()
    net.predict(x[1], 2.5)
    np.testing.assert_array_equal(first, kept)
    out = np.empty(15, dtype=np.float32)
    assert net.predict(x[0], 0.5, out=out) is out
    np.testing.assert_array_equal(out, kept)


def test_float64_features_are_accepted() -> None:
    tensors = network()
    x = inputs(tensors, 1)
    y = PFNN(tensors).predict(x[0].astype(np.float64), 1.0)
    assert error(tensors, y, literal(tensors, x, np.ones(1))[0]) < 1e-5


def test_torch_gives_the_same_numbers_and_gradients() -> None:
    torch = pytest.importorskip("torch")
    tensors = network()
    x = inputs(tensors, len(PHASES))
    weights = {
        k: torch.tensor(tensors[k].astype(np.float64), requires_grad=True) for k in ("w0", "b0", "w1", "b1", "w2", "b2")
    }
    y = forward(weights, torch.tensor(x.astype(np.float64))[:, None], torch.tensor(PHASES))
    np.testing.assert_allclose(
        y.detach().numpy(),
        forward({k: tensors[k].astype(np.float64) for k in weights}, x.astype(np.float64)[:, None], PHASES),
        rtol=1e-9,
        atol=1e-9,
    )
    y.square().sum().backward()
    step = 1e-6
    for name, weight in weights.items():
        index = tuple(size // 2 for size in weight.shape)
        moved: list[float] = []
        for sign in (1, -1):
            other: dict[str, Any] = {k: tensors[k].astype(np.float64) for k in weights}
            other[name][index] += sign * step
            moved.append(float(np.sum(forward(other, x.astype(np.float64)[:, None], PHASES) ** 2)))
        assert float(weight.grad[index]) == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-4, abs=1e-5)


def test_spline_goes_through_its_control_points() -> None:
    np.testing.assert_allclose(catmull_rom(np.arange(4) * TAU / 4), np.eye(4), atol=1e-12)


def test_spline_weights_sum_to_one_and_return_after_a_cycle() -> None:
    phase = np.linspace(-1, 9, 301)
    np.testing.assert_allclose(catmull_rom(phase).sum(axis=-1), 1, atol=1e-12)
    np.testing.assert_allclose(catmull_rom(phase), catmull_rom(phase + TAU), atol=1e-9)


@pytest.mark.parametrize("knot", range(5))
def test_spline_has_a_continuous_slope_of_half_the_neighbors_difference(knot: int) -> None:
    place, step = knot * TAU / 4, 1e-5
    before = (catmull_rom(np.array(place)) - catmull_rom(np.array(place - step))) / (step * 4 / TAU)
    after = (catmull_rom(np.array(place + step)) - catmull_rom(np.array(place))) / (step * 4 / TAU)
    expected = (np.eye(4)[(knot + 1) % 4] - np.eye(4)[(knot - 1) % 4]) / 2
    np.testing.assert_allclose(before, expected, atol=1e-3)
    np.testing.assert_allclose(after, expected, atol=1e-3)


@pytest.fixture
def full() -> dict[str, Array]:
    return network(h=16, n=INPUT.size, m=OUTPUT.size)


@pytest.mark.parametrize("mode", MODES)
def test_a_saved_network_predicts_as_before(full: dict[str, Array], tmp_path: Path, mode: Mode) -> None:
    path = tmp_path / "pfnn.safetensors"
    save_file(full, path)
    path.with_suffix(".json").write_text('{"data": "none"}', encoding="utf-8")
    net = PFNN.load(path, mode)
    x = inputs(full, 1)[0]
    places, velocities = (x[getattr(INPUT, f"joint_{name}")].reshape(JOINTS, 3) for name in ("position", "velocity"))
    for joint, same in COINCIDING.items():  # joints that lie in one place, as in every real input
        places[joint], velocities[joint] = places[same], velocities[same]
    y, before = net.predict(x, 1.0), PFNN(full, mode).predict(x, 1.0)
    own = [j for j in range(JOINTS) if j not in COINCIDING]
    for name in OUTPUT.shapes:
        piece, expected = (v[getattr(OUTPUT, name)].reshape(OUTPUT.shape(name)) for v in (y, before))
        if name in ("joint_position", "joint_velocity"):
            for joint, same in COINCIDING.items():
                np.testing.assert_array_equal(piece[joint], piece[same])
            piece, expected = piece[own], expected[own]
        np.testing.assert_allclose(piece, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(net.rotation_reference, full["rotation_reference"])
    assert net.card == {"data": "none"}
    assert len(net.hash) == 16


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("w1", None, "'w1' is missing"),
        ("w0", np.zeros((4, 16, INPUT.size - 1)), "'w0' has shape"),
        ("w1", np.zeros((4, 16, 15)), "'w1' has shape"),
        ("b2", np.zeros((4, 3)), "'b2' has shape"),
        ("x_scale", np.zeros(INPUT.size), "'x_scale' holds a scale that is not positive"),
        ("y_scale", -np.ones(OUTPUT.size), "'y_scale' holds a scale that is not positive"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    full: dict[str, Array], tmp_path: Path, name: str, value: Array | None, sentence: str
) -> None:
    del full[name]
    if value is not None:
        full[name] = value.astype(np.float32)
    path = tmp_path / "pfnn.safetensors"
    save_file(full, path)
    with pytest.raises(WeightsError, match=sentence):
        PFNN.load(path)


def test_samples_with_phases_of_their_own_go_through_the_same_network() -> None:
    tensors = network()
    x, phase = inputs(tensors, len(PHASES)), PHASES.astype(np.float32)
    together = forward(tensors, x[:, None], phase)[:, 0]
    np.testing.assert_allclose(forward_each(tensors, x, phase), together, rtol=1e-4, atol=1e-4)
