# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark's figures have the names that others rely on. How fast anything is, no test asks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from nsm_blender.commands import bench as command
from nsm_blender.errors import WeightsError
from nsm_blender.evaluation import bench
from nsm_blender.models.pfnn import SHAPES


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A tiny network that stands still."""
    shapes = {name: [16 if size == "h" else int(size) for size in shape] for name, shape in SHAPES.items()}
    tensors = {name: np.zeros(shape, dtype=np.float32) for name, shape in shapes.items()}
    tensors["w0"] += 1
    tensors["x_scale"] += 1
    tensors["y_scale"] += 1
    path = tmp_path / "pfnn.safetensors"
    save_file(tensors, path)
    return path


@pytest.fixture
def figures(weights: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is measured, with a megabyte for all memory and each call made once, so that it takes no time."""

    def once(call: Any, _seconds: float = 0) -> float:
        call()
        return 1.0

    monkeypatch.setattr(bench, "median_seconds", once)
    monkeypatch.setattr(bench, "large", lambda: 1 << 20)
    return bench.measure(weights)


def test_figures_have_the_names_of_the_contract(figures: dict[str, Any]) -> None:
    limited = {"bench.pfnn.frame_ms", "bench.pfnn.step_ms", "bench.pfnn.batch200_frame_ms"}
    limited |= {f"bench.pfnn.frame_ms.{mode}" for mode in ("linear", "constant")}
    names = limited | {f"{name}.ratio_to_limit" for name in limited} | {"meta"}
    names |= {"bench.pfnn.memory_mb", "bench.pfnn.memory_mb.linear", "bench.pfnn.memory_mb.constant"}
    assert set(figures) == names
    assert {"cpu", "numpy", "blas", "gemm_gflop_per_s", "read_gb_per_s.memory_1mb"} <= set(figures["meta"])


def test_the_result_is_one_flat_object_of_numbers(figures: dict[str, Any]) -> None:
    assert json.loads(json.dumps(figures)) == figures
    assert all(isinstance(value, float) for name, value in figures.items() if name != "meta")


def test_the_table_tells_every_figure(figures: dict[str, Any]) -> None:
    figures |= {"bench.keys.per_second": 2e6, "bench.bake_10s.seconds": 0.6, "bench.bake_10s.first_seconds": 0.7}
    text = command.table(figures)
    for name in figures:
        if name != "meta" and not name.endswith(".ratio_to_limit"):
            assert command.MEANINGS[name][1] in text
    assert "2,000,000 keys/s" in text


def test_missing_weights_are_refused_before_anything_is_measured(tmp_path: Path) -> None:
    arguments = argparse.Namespace(json=None, growth=False, weights=tmp_path / "none.safetensors")
    with pytest.raises(WeightsError, match=r"none\.safetensors"):
        command.run(arguments)
