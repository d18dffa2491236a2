# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a file from outside holds, it is read well or refused in a sentence that names it, soon and in little
memory. The same damage is tried in each run; with FUZZ set in the environment it is new damage each time."""

from __future__ import annotations

import io
import os
import pickle
import random
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.errors import UserError
from nsm_blender.evaluation.robustness.mutations import mutated
from nsm_blender.evaluation.robustness.readers import read, read_damaged
from nsm_blender.evaluation.robustness.samples import Sample, samples

pytest.importorskip("hypothesis", reason="the files are damaged by Hypothesis")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CASES = 120
"""Damaged files of each kind: all kinds together take half a minute."""
GIGABYTE = 1 << 30
KINDS = ("shot of a path", "shot of keys", "shot of velocities", "motion", "clip", "index", "labels", "constraints",
         "mapping", "style", "bvh", "amc", "asf", "obj", "weights", "card")  # fmt: skip


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sample]:
    return samples(tmp_path_factory.mktemp("samples"))


@pytest.fixture(scope="module", autouse=True)
def one_more_gigabyte() -> Iterator[None]:
    """Memory that may be taken beside what the process has: who asks for more gets a MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + GIGABYTE, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def test_the_kinds_are_all_that_there_are(valid: dict[str, Sample]) -> None:
    assert set(valid) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_valid_file_is_read(kind: str, valid: dict[str, Sample]) -> None:
    assert read(valid[kind]).verdict == "well"


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_read_or_refused_in_words(kind: str, valid: dict[str, Sample]) -> None:
    @settings(
        max_examples=CASES,
        deadline=10_000,
        database=None,
        derandomize="FUZZ" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(rng=st.randoms(use_true_random=True))
    def holds(rng: random.Random) -> None:
        outcome = read_damaged(valid[kind], rng)
        assert outcome.verdict != "wrong", outcome.told

    holds()


class Trap:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return (Path.touch, (self.trace,))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_in_a_file_is_executed(kind: str, valid: dict[str, Sample], tmp_path: Path) -> None:
    sample, trace = valid[kind], tmp_path / "trace"
    before = sample.path.read_bytes()
    try:
        sample.path.write_bytes(pickle.dumps(Trap(trace)))
        assert read(sample).verdict == "refused"
        if sample.form == "npz":
            with np.load(io.BytesIO(before)) as archive:
                names = archive.files
            np.savez(sample.path, **{name: np.array([Trap(trace)], dtype=object) for name in names})
            assert read(sample).verdict == "refused"
    finally:
        sample.path.write_bytes(before)
    assert not trace.exists()


def test_a_checkpoint_is_data_and_not_code(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="training needs torch")
    from nsm_blender.training import checkpoint

    path, trace = tmp_path / "checkpoint.safetensors", tmp_path / "trace"
    for content in (
        lambda: torch.save({"state": Trap(trace)}, path),
        lambda: path.write_bytes(pickle.dumps(Trap(trace))),
    ):
        content()
        with pytest.raises(UserError, match=r"checkpoint\.safetensors: cannot be read as a checkpoint"):
            checkpoint.read(path)
    assert not trace.exists()


def test_a_damaged_checkpoint_is_refused_in_words(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="training needs torch")
    from nsm_blender.training import checkpoint

    path = tmp_path / "checkpoint.safetensors"
    checkpoint.write(path, {"parameter.w": torch.ones(3)}, {"epoch": 1, "history": [], "settings": {}})
    whole = path.read_bytes()
    for seed in range(CASES):
        path.write_bytes(mutated(whole, "safetensors", random.Random(seed)))
        try:
            checkpoint.read(path)
        except UserError as error:
            assert path.name in str(error)
