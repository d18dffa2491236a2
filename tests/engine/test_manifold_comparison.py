# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparison with a network without pooling and dropout, and the picture of the filters."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.cli import main
from nsm_blender.evaluation.filters import temporal_correlation
from nsm_blender.models.manifold import FRAME, UNITS, WIDTH

from .test_cli import assert_one_line
from .test_manifold_cli import data as data_fixture
from .test_synthesis_curves import manifold

data = data_fixture


def test_without_pooling_the_engine_computes_what_training_does(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="training needs torch")
    from nsm_blender.training.autoencoder import Settings, Trainer
    from nsm_blender.training.comparison import WithoutPooling

    frames = np.random.default_rng(0).normal(0, 1, (2, 60, FRAME.size)).astype(np.float32)
    trainer = Trainer(frames, Settings(pooling=False), tmp_path)
    with torch.no_grad():
        trainer.parameters["b"] += torch.linspace(-0.1, 0.1, UNITS)
        wanted = trainer.reconstruct(trainer.x, trainer.settings, settling=False)[0].numpy().T
    network = WithoutPooling(trainer.export())
    assert network.encode(frames[0]).shape == (60, UNITS)
    made = network.decode(network.encode(frames[0]))
    np.testing.assert_allclose((made - network.mean) / network.scale, wanted, atol=1e-4)


def test_only_what_is_above_walking_counts_as_high_frequency() -> None:
    pytest.importorskip("torch", reason="the comparison is part of training")
    from nsm_blender.training.comparison import high_frequency

    t = np.arange(600) / 60
    slow = 1 + 0.1 * np.sin(2 * np.pi * 2 * t)
    assert high_frequency(slow) < 0.01
    assert high_frequency(slow + 0.002 * np.sin(2 * np.pi * 12 * t)) == pytest.approx(2 / np.sqrt(2), rel=0.01)


def test_smooth_filters_are_correlated_in_time_and_noise_is_not() -> None:
    noise = np.random.default_rng(0).normal(0, 1, (16, FRAME.size, WIDTH)).astype(np.float32)
    assert temporal_correlation(noise) == pytest.approx(0, abs=0.02)
    smooth = np.sin(np.linspace(0, np.pi, WIDTH)) * noise[..., :1]
    assert temporal_correlation(smooth.astype(np.float32)) > 0.95


def test_the_two_networks_are_trained_and_compared(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    from nsm_blender.training import comparison
    from nsm_blender.training.autoencoder import STAGES

    monkeypatch.setattr(comparison, "_STYLE_FRAMES", 240)
    monkeypatch.setattr(comparison, "STYLES", dict.fromkeys(comparison._STYLES, (("walk_a", 0, 99),)))
    epochs = ["--epochs", "1", *["0"] * (len(STAGES) - 1)]
    for name, more in (("pooled", []), ("plain", ["--no-pooling"])):
        files = {system: str(tmp_path / name / f"{system}.safetensors") for system in ("autoencoder", "locomotion")}
        common = ["--data", str(data), "--run", str(tmp_path / f"{name}_run"), "--device", "cpu", *more]
        assert main(["train", "autoencoder", "--out", files["autoencoder"], *epochs, *common]) == 0
        decoder = ["--autoencoder", files["autoencoder"], "--steps", "1"]
        assert main(["train", "locomotion", "--out", files["locomotion"], *decoder, *common]) == 0
    assert "--no-pooling" in json.loads((tmp_path / "plain" / "locomotion.json").read_text())["training"]["command"]

    evaluate = ["evaluate", "manifold", "--data", str(data), "--weights", str(tmp_path / "pooled")]
    out = tmp_path / "figures.json"
    assert main([*evaluate, "--compare", str(tmp_path / "plain"), "--json", str(out)]) == 0
    figures = json.loads(out.read_text())
    for name in ("pooled", "plain"):
        for figure in ("reconstruction_cm", "style.hand_high_frequency_mm", "synthesis.spine_high_frequency_mm"):
            assert figures[f"manifold.ablation.{name}.{figure}"] > 0
    capsys.readouterr()
    assert main([*evaluate, "--compare", str(tmp_path / "pooled")]) == 1
    assert_one_line(capsys.readouterr().err, "with pooling")


def test_the_filters_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need Matplotlib")
    from safetensors.numpy import save_file

    save_file(manifold().tensors, tmp_path / "autoencoder.safetensors")
    picture = tmp_path / "new" / "filters.png"
    assert main(["evaluate", "manifold", "--weights", str(tmp_path), "--filters", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_drawing_without_matplotlib_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from safetensors.numpy import save_file

    save_file(manifold().tensors, tmp_path / "autoencoder.safetensors")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["evaluate", "manifold", "--weights", str(tmp_path), "--filters", str(tmp_path / "f.png")]) == 1
    assert_one_line(capsys.readouterr().err, "pip install matplotlib")
    assert not (tmp_path / "f.png").exists()
