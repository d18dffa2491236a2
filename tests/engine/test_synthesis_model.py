# SPDX-License-Identifier: GPL-3.0-or-later
"""The synthesis networks compute what the paper's equations say, for one motion and for many at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nsm_blender.errors import WeightsError
from nsm_blender.models.manifold import FRAME
from nsm_blender.models.matmul import convolve
from nsm_blender.models.synthesis import (
    EFFECTORS,
    FEED_FORWARD_SHAPES,
    FOOTSTEP_SHAPES,
    LOCOMOTION,
    REACH,
    STRIKE_FRAMES,
    WAVES,
    EndEffectors,
    FeedForward,
    Footsteps,
    Stepping,
    duty,
    square_waves,
    strike_inputs,
    threshold_of,
)

from .synthetic import perform


def tensors(shapes, seed: int = 0, **sizes: int):
    rng = np.random.default_rng(seed)
    out = {}
    for name, shape in shapes.items():
        actual = tuple(sizes[n] if isinstance(n, str) else n for n in shape)
        fan = np.prod(actual[1:]) if len(actual) > 1 else 10
        out[name] = (rng.normal(0, 1, actual) / np.sqrt(fan)).astype(np.float32)
        if name.endswith("scale"):
            out[name] = np.abs(out[name]) + 0.5
    return out


def literal_layer(x, w, b):
    """A convolution as the sum that defines it, zeros beyond the ends: x (T, d), w (out, d, width)."""
    width = w.shape[2]
    padded = np.pad(x.astype(np.float64), ((width // 2, width // 2), (0, 0)))
    return np.array([np.einsum("kd,odk->o", padded[t : t + width], w) for t in range(len(x))]) + b


def test_feed_forward_is_equation_4():
    t = tensors(FEED_FORWARD_SHAPES, l=LOCOMOTION.size)
    x = np.random.default_rng(1).normal(0, 1, (60, LOCOMOTION.size)).astype(np.float32)
    h = (x - t["x_mean"]) / t["x_scale"]
    h = np.maximum(literal_layer(h, t["w1"], t["b1"]), 0)
    h = np.maximum(literal_layer(h, t["w2"], t["b2"]), 0)
    h = literal_layer(h, t["w3"], t["b3"])
    expected = np.maximum(h.reshape(30, 2, -1).max(1), 0)
    np.testing.assert_allclose(FeedForward(t).hidden(x), expected, atol=2e-4)


@pytest.mark.parametrize("count", [10, 30, 70])
def test_footsteps_are_equation_9(count: int):
    t = tensors(FOOTSTEP_SHAPES)
    x = np.random.default_rng(1).normal(0, 1, (count, 3)).astype(np.float32)
    h = np.maximum(literal_layer((x - t["x_mean"]) / t["x_scale"], t["w4"], t["b4"]), 0)
    expected = literal_layer(h, t["w5"], t["b5"]) * t["y_scale"] + t["y_mean"]
    found = Footsteps(t).waves(x)
    np.testing.assert_allclose(found[:, WAVES.threshold], np.clip(expected[:, WAVES.threshold], -1, 1), atol=2e-4)
    np.testing.assert_allclose(found[:, WAVES.frequency], np.maximum(expected[:, WAVES.frequency], 0), atol=2e-4)


def test_training_computes_what_the_engine_computes():
    torch = pytest.importorskip("torch")
    from nsm_blender.models.manifold import UNITS, WIDTH, Autoencoder
    from nsm_blender.training.synthesis import decode, decoder_kernel, feed_forward

    t = tensors(FEED_FORWARD_SHAPES, l=LOCOMOTION.size)
    t["x_mean"][:], t["x_scale"][:] = 0, 1
    rng = np.random.default_rng(2)
    w = rng.normal(0, 0.05, (UNITS, 73, WIDTH)).astype(np.float32)
    autoencoder = Autoencoder(
        {"w": w, "b": np.zeros(UNITS, "f4"), "mean": np.zeros(73, "f4"), "scale": np.ones(73, "f4")}
    )
    x = rng.normal(0, 1, (300, LOCOMOTION.size)).astype(np.float32)
    whole = autoencoder.decode(FeedForward(t).hidden(x))
    parameters = {name: torch.from_numpy(value) for name, value in t.items()}
    made = decode(decoder_kernel(w), feed_forward(parameters, torch.from_numpy(x.T[None].copy())))[0].numpy().T
    border = (len(x) - len(made)) // 2
    assert border % 2 == 0
    np.testing.assert_allclose(made, whole[border:-border], atol=2e-3)


def random_manifold(seed: int = 4):
    from nsm_blender.models.manifold import SHAPES, Autoencoder

    return Autoencoder(tensors(SHAPES, seed))


def test_unpooling_does_not_let_frames_tremble():
    """Hidden units change at half the rate: above 10 Hz, what they make has less than a tenth of all that moves."""
    hidden = np.abs(np.random.default_rng(6).normal(0, 1, (600, 256))).astype("f4")
    frames = random_manifold().decode(hidden)[60:-60].astype(float)
    power = (np.abs(np.fft.rfft((frames - frames.mean(0)) * np.hanning(len(frames))[:, None], axis=0)) ** 2).sum(1)
    high = np.fft.rfftfreq(len(frames), 1 / 60) > 10
    assert power[high].sum() < 0.1 * power.sum()


def test_hidden_units_that_rest_make_frames_that_rest():
    hidden = np.repeat(np.abs(np.random.default_rng(7).normal(0, 1, (1, 256))), 60, axis=0).astype("f4")
    frames = random_manifold().decode(hidden)[40:-40]
    np.testing.assert_allclose(frames[1:], np.broadcast_to(frames[:1], frames[1:].shape), atol=0.05 * frames.std())


def test_only_feet_that_leave_their_place_slide():
    torch = pytest.importorskip("torch")
    from nsm_blender.manifold.frames import to_frames
    from nsm_blender.training.synthesis import slide

    done = perform(1.2, 4.0, turn=0.5)
    positions, _ = done.clip.world()
    contacts = np.repeat(done.down, 2, axis=1).astype(np.float32)
    frames = torch.from_numpy(to_frames(positions, done.root, contacts).T[None].copy())
    assert float(slide(frames, frames)) < 0.02**2
    faster = frames.clone()
    faster[:, FRAME.root_velocity] *= 1.1
    assert float(slide(frames, faster)) == pytest.approx(0.12**2, rel=0.1)


def test_many_motions_at_once_are_those_one_by_one():
    t = tensors(FEED_FORWARD_SHAPES, l=LOCOMOTION.size)
    many = np.random.default_rng(1).normal(0, 1, (3, 50, LOCOMOTION.size)).astype(np.float32)
    network = FeedForward(t)
    np.testing.assert_allclose(network.hidden(many), [network.hidden(x) for x in many], atol=1e-5)
    footsteps = Footsteps(tensors(FOOTSTEP_SHAPES))
    np.testing.assert_allclose(footsteps.waves(many[..., :3]), [footsteps.waves(x[:, :3]) for x in many], atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_convolution_of_any_length(count: int):
    rng = np.random.default_rng(count)
    x, w = rng.normal(0, 1, (count, 5)).astype(np.float32), rng.normal(0, 1, (3, 5, 9)).astype(np.float32)
    kernel = np.ascontiguousarray(w.transpose(2, 1, 0).reshape(-1, 3))
    np.testing.assert_allclose(convolve(x, kernel, 4), literal_layer(x, w, np.zeros(3)), atol=1e-4)


@pytest.mark.parametrize("down", [0.2, 0.5, 0.62, 0.9])
def test_a_foot_is_down_for_the_share_of_the_cycle_that_tau_says(down: float):
    angle = np.linspace(0, 20 * np.pi, 20000, dtype=np.float32)
    tau = np.full((len(angle), 4), threshold_of(np.float32(down)), dtype=np.float32)
    waves = square_waves(angle, tau)
    assert set(np.unique(waves)) == {-1, 1}
    np.testing.assert_allclose((waves > 0).mean(0), down, atol=0.01)
    np.testing.assert_allclose(duty(tau)[0], down, atol=1e-4)


def test_left_and_right_take_turns():
    angle = np.linspace(0, 8 * np.pi, 4000, dtype=np.float32)
    waves = square_waves(angle, np.zeros((4000, 4), dtype=np.float32))
    assert (waves[:3000, 0] == waves[500:3500, 2]).mean() > 0.99  # half a cycle later
    assert (waves[:, 1] != waves[:, 3]).mean() > 0.99


def test_a_standing_foot_stays_down_whatever_the_artist_sets():
    angle = np.linspace(0, 8 * np.pi, 4000, dtype=np.float32)
    standing = np.full((4000, 4), -1, dtype=np.float32)
    assert (square_waves(angle, standing, Stepping(heel_threshold=0.5, toe_threshold=0.5)) > 0).all()


def test_the_artist_lengthens_contacts_and_moves_the_heel():
    angle = np.linspace(0, 20 * np.pi, 20000, dtype=np.float32)
    tau = np.zeros((len(angle), 4), dtype=np.float32)
    plain = (square_waves(angle, tau) > 0).mean(0)
    assert ((square_waves(angle, tau, Stepping(duration=1.3)) > 0).mean(0) > plain + 0.1).all()
    shorter = (square_waves(angle, tau, Stepping(heel_threshold=0.4)) > 0).mean(0)
    assert (shorter[[0, 2]] < plain[[0, 2]] - 0.05).all() and np.allclose(shorter[[1, 3]], plain[[1, 3]])
    early, late = (square_waves(angle, tau, Stepping(heel_phase=p))[:, 0] for p in (0.5, 0.0))
    strike = lambda wave: int(np.flatnonzero(np.diff(wave) > 0)[2])  # noqa: E731
    assert strike(early) < strike(late)


def test_a_strike_is_an_input_around_its_hit_only():
    path = np.tile(np.array([0.2, -0.6, 1.3], dtype=np.float32), (300, 1))
    inputs = strike_inputs(path, [120], [EFFECTORS.index("RightHand")])
    np.testing.assert_allclose(inputs[120, REACH.position], path[0])
    assert inputs[120, REACH.effector].tolist() == [0, 1, 0, 0] and inputs[120, REACH.strike] == 1
    away = np.abs(np.arange(300) - 120) >= STRIKE_FRAMES
    assert np.abs(inputs[away]).max() < 1e-6


def test_weights_of_another_model_are_refused(tmp_path: Path):
    numpy_file = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "w.safetensors"
    numpy_file.save_file(tensors(FEED_FORWARD_SHAPES, l=REACH.size), str(path))
    FeedForward.load(path, REACH.size)
    with pytest.raises(WeightsError, match="8 parameters a frame instead of 7"):
        FeedForward.load(path, LOCOMOTION.size)
    with pytest.raises(WeightsError, match="profile"):
        EndEffectors.load(path)
    with pytest.raises(WeightsError, match="w4"):
        Footsteps.load(path)
