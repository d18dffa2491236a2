# SPDX-License-Identifier: GPL-3.0-or-later
"""Training by several processes: they learn what one learns, and are gone on with after a kill."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")

from safetensors.numpy import load_file  # noqa: E402

from nsm_blender.errors import UserError  # noqa: E402
from nsm_blender.training import distributed  # noqa: E402
from nsm_blender.training.loop import CHECKPOINT, HISTORY  # noqa: E402
from nsm_blender.training.nsm import Trainer  # noqa: E402

from .test_nsm_cli import captures as captures  # noqa: E402
from .test_training_nsm import SETTINGS, swinging  # noqa: E402

ODD = replace(SETTINGS, batch=34)
"""Batches that two processes cannot share evenly once sequences have two frames."""
SCRIPT = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
import torch
torch.set_num_threads(1)
from nsm_blender.training import distributed
from nsm_blender.training.nsm import Trainer
from tests.engine.test_training_nsm import SETTINGS, swinging
ODD = replace(SETTINGS, batch=34)
killed, *asked = sys.argv[1:]
logged = []
def log(line):
    logged.append(line)
    if len(logged) == int(killed):
        os.kill(os.getpid(), signal.SIGKILL)
def validate(training):
    return {"score": float(training.epoch)}
with distributed.joined("cpu"):
    for folder, network in zip(asked[::2], asked[1::2]):
        logged.clear()
        resume = (Path(folder) / "history.json").exists()
        trainer = Trainer(swinging(), replace(ODD, network=network), Path(folder), resume=resume)
        trainer.run(log, validate)
        assert bool(logged) == distributed.is_first()
# A thread of the group that is left would abort the process at its exit, now and then.
threads = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
assert not [name for name in threads if "gloo" in name]
"""


def torchrun(processes: int, *arguments: str, at: Path) -> subprocess.CompletedProcess[str]:
    """Start as many processes in a folder, and wait for them."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
    paths = {"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, *arguments],
        env={**os.environ, **paths},
        cwd=at,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def train(at: Path, *trainings: tuple[Path, str], killed: int = 0) -> int:
    """Train networks one after the other in two processes, each in a folder, and go on where there is a checkpoint. The
    first process is killed after the epoch `killed`, where that is not 0."""
    script = at / "train.py"
    script.write_text(SCRIPT)
    asked = [str(part) for training in trainings for part in training]
    done = torchrun(2, str(script), str(killed), *asked, at=at)
    assert killed or done.returncode == 0, done.stderr[-2000:]
    return done.returncode


def history(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / HISTORY).read_text())
    return found


def same(folder: Path, other: Path) -> None:
    """Assert that two runs learned the same, up to the order in which numbers were added."""
    first, second = history(folder), history(other)
    assert [row["epoch"] for row in first] == [row["epoch"] for row in second] == list(range(1, ODD.epochs + 1))
    np.testing.assert_allclose([r["loss"] for r in first], [r["loss"] for r in second], rtol=1e-4)
    weights, others = load_file(folder / CHECKPOINT), load_file(other / CHECKPOINT)
    learned = [name for name in weights if name.startswith("parameter.")]
    assert learned
    for name in learned:
        np.testing.assert_allclose(weights[name], others[name], atol=2e-3, err_msg=name)


@dataclass(frozen=True)
class Runs:
    """Folders of what two processes trained: cut, of which the first process was killed after two epochs; resumed, the
    same gone on with by new processes; whole, unbroken; fed, the network that is fed its own output."""

    cut: Path
    resumed: Path
    whole: Path
    fed: Path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """All runs of two processes. The second pair goes on with what is cut before it trains anything else."""
    at = tmp_path_factory.mktemp("runs")
    found = Runs(*(at / one.name for one in fields(Runs)))
    assert train(at, (found.cut, "nsm"), killed=2) != 0
    assert len(history(found.cut)) == 2
    shutil.copytree(found.cut, found.resumed)
    train(at, (found.resumed, "nsm"), (found.whole, "nsm"), (found.fed, "auto-lstm"))
    return found


def alone(folder: Path, network: str = "nsm", resume: bool = False) -> Path:
    """The same by one process."""
    trainer = Trainer(swinging(), replace(ODD, network=network), folder, resume=resume)
    trainer.run(lambda _: None, lambda training: {"score": float(training.epoch)})
    return folder


def test_two_processes_learn_what_one_learns(runs: Runs, tmp_path: Path) -> None:
    same(alone(tmp_path), runs.whole)
    assert [row["score"] for row in history(runs.whole)] == [1.0, 2.0, 3.0, 4.0]


def test_two_processes_feed_back_the_output_of_the_same_frames(runs: Runs, tmp_path: Path) -> None:
    same(alone(tmp_path, "auto-lstm"), runs.fed)


def test_processes_that_were_killed_are_gone_on_with(runs: Runs) -> None:
    same(runs.whole, runs.resumed)


def test_one_process_goes_on_with_what_two_began(runs: Runs, tmp_path: Path) -> None:
    folder = tmp_path / "resumed"
    shutil.copytree(runs.cut, folder)
    same(runs.whole, alone(folder, resume=True))


def test_torchrun_trains_from_captures_to_one_weights_file(captures: Path, tmp_path: Path) -> None:
    """The first of two processes composes, trains with the other, and writes."""
    small = ["--episodes", "4", "--walks", "0", "--processes", "1", "--epochs", "1", "--hidden", "16"]
    where = ["--data", str(captures), "--out", "nsm.safetensors", "--device", "cpu", "--validate", "0"]
    done = torchrun(2, "-m", "nsm_blender", "train", "nsm", *where, *small, at=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("wrote nsm.safetensors") == 1 and done.stdout.count("epoch 1 ") == 1
    told = json.loads((tmp_path / "nsm.json").read_text())
    assert len(told["training"]["history"]) == 1 and (tmp_path / "nsm.safetensors").exists()
    assert (tmp_path / "runs" / "nsm" / CHECKPOINT).exists()


@pytest.mark.parametrize("processes", [1, 2, 3, 7])
def test_the_parts_of_all_processes_are_the_whole(processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    things: list[int] = []
    for number in range(processes):
        monkeypatch.setattr(distributed, "rank", lambda number=number: number)
        monkeypatch.setattr(distributed, "size", lambda: processes)
        part = distributed.part(16)
        things += range(16)[part]
        assert part.stop - part.start in (16 // processes, 16 // processes + 1)
    assert things == list(range(16))


def test_a_batch_that_is_too_small_for_the_processes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed, "size", lambda: 40)
    with pytest.raises(UserError, match="larger --batch or fewer processes"):
        Trainer(swinging(), SETTINGS, tmp_path)
