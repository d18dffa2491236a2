# SPDX-License-Identifier: GPL-3.0-or-later
"""The training loop of all networks: a run that is killed goes on from its last checkpoint to the same weights."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch")

from safetensors import safe_open  # noqa: E402

from nsm_blender.errors import UserError  # noqa: E402
from nsm_blender.files import writing  # noqa: E402
from nsm_blender.models.manifold import FRAME  # noqa: E402
from nsm_blender.models.synthesis import EFFECTORS, LOCOMOTION, WAVES  # noqa: E402
from nsm_blender.motion.root import root_track  # noqa: E402
from nsm_blender.training import autoencoder, nsm, pfnn, strikes, synthesis, synthesis_data  # noqa: E402
from nsm_blender.training.loop import CHECKPOINT, Training  # noqa: E402
from nsm_blender.training.strike_data import Fight, Strike  # noqa: E402

from .manifolds import autoencoder as decoder  # noqa: E402
from .synthetic import stand  # noqa: E402
from .test_training_nsm import SETTINGS as NSM_SETTINGS  # noqa: E402
from .test_training_nsm import swinging  # noqa: E402
from .test_training_pfnn import SETTINGS as PFNN_SETTINGS  # noqa: E402
from .test_training_pfnn import small_data  # noqa: E402

EPOCHS = 4


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def make_nsm(folder: Path, resume: bool) -> Training:
    """With dropout's like: noise on the pose, sequences that begin astray and in random order."""
    return nsm.Trainer(swinging(), NSM_SETTINGS, folder, resume=resume)


def make_pfnn(folder: Path, resume: bool) -> Training:
    """With dropout, noise and jittered phase blocks."""
    return pfnn.Trainer(small_data(), PFNN_SETTINGS, folder, resume=resume)


def make_autoencoder(folder: Path, resume: bool) -> Training:
    """In two stages, of which the second begins with a fresh optimizer."""
    stages = [
        autoencoder.Settings(epochs=2, batch=4, settling=1),
        autoencoder.Settings(epochs=2, batch=2, learning_rate=1e-4, settling=2),
    ]
    windows = np.random.default_rng(0).normal(0, 1, (8, 40, FRAME.size)).astype(np.float32)
    return autoencoder.Trainer(windows, stages, folder, resume=resume)


def make_locomotion(folder: Path, resume: bool) -> Training:
    """With an epoch of two steps, the last of one."""
    rng = np.random.default_rng(0)
    inputs, frames = (rng.normal(0, 1, (300, size)).astype(np.float32) for size in (LOCOMOTION.size, FRAME.size))
    settings = synthesis.Settings(steps=7, batch=1, save_every=2, speed_weight=1.0)
    example = synthesis.Example([inputs], frames)
    pieces = synthesis.LOCOMOTION_PIECES
    return synthesis.FeedForwardTraining([example], pieces, decoder().tensors, settings, folder, resume=resume)


def make_footsteps(folder: Path, resume: bool) -> Training:
    """With walks of which windows are drawn at random."""
    settings = synthesis.Settings(steps=8, batch=2, save_every=2, l1=0.01)
    return synthesis.FootstepTraining([walk_of(2.0), walk_of(3.0)], settings, folder, resume=resume)


def walk_of(seconds: float) -> synthesis_data.Walk:
    """A walk whose steps and way are noise, which is enough to be learned."""
    rng = np.random.default_rng(round(seconds))
    frames, waves = (
        rng.normal(0, 1, (round(seconds * 60), size)).astype(np.float32) for size in (FRAME.size, WAVES.size)
    )
    root = np.cumsum(rng.normal(0, 0.01, (len(frames), 4)), axis=0)
    return synthesis_data.Walk(frames, root, waves)


def make_strikes(folder: Path, resume: bool) -> Training:
    """With random targets in each step."""
    positions = stand(4.0).clip.world()[0].astype(float)
    root, contacts = root_track(positions, 60.0), np.ones((len(positions), 4))
    found = [
        Fight("f", positions, root, contacts, (Strike(120, EFFECTORS.index(name)),)) for name in ("LeftHand", "LeftToe")
    ]
    settings = synthesis.Settings(steps=4, batch=1, save_every=1)
    return strikes.StrikeTraining(found, decoder().tensors, settings, folder, resume=resume)


TRAININGS = {
    "nsm": make_nsm,
    "pfnn": make_pfnn,
    "autoencoder": make_autoencoder,
    "locomotion": make_locomotion,
    "footsteps": make_footsteps,
    "strikes": make_strikes,
}


class PowerCut(BaseException):
    """Ends a run where it stands, as a kill would: nothing catches it."""


def quiet(_: str) -> None:
    pass


@pytest.mark.parametrize("name", TRAININGS)
def test_a_run_that_is_cut_while_it_saves_resumes_to_the_weights_of_an_unbroken_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = TRAININGS[name]
    whole = make(tmp_path / "whole", False)
    assert whole.epochs == EPOCHS
    expected = whole.run(quiet)
    for cut in range(1, EPOCHS):  # while the checkpoint after epoch `cut + 1` is being written
        folder = tmp_path / str(cut)
        training = make(folder, False)

        def fsync(number: int, training: Training = training, cut: int = cut) -> None:
            if training.epoch > cut:
                raise PowerCut

        with monkeypatch.context() as patch, pytest.raises(PowerCut):
            patch.setattr(writing.os, "fsync", fsync)
            training.run(quiet)
        torch.manual_seed(12345)  # whatever else happened meanwhile
        resumed = make(folder, True)
        assert resumed.epoch == cut
        tensors = resumed.run(quiet)
        assert [row["epoch"] for row in resumed.history] == list(range(1, EPOCHS + 1))
        for tensor, value in expected.items():
            np.testing.assert_array_equal(tensors[tensor], value, err_msg=tensor)


def test_a_process_killed_while_it_saves_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    path = tmp_path / "file"
    writing.write_whole(path, "before")
    script = (
        "import os, signal, sys, pathlib; from nsm_blender.files import writing\n"
        "writing.os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)\n"
        "writing.write_whole(pathlib.Path(sys.argv[1]), 'half of what comes af')"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], env={**os.environ}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "before"


def test_a_checkpoint_is_plain_data(tmp_path: Path) -> None:
    """Arrays, and counters as JSON: what can be read without unpickling anything."""
    training = make_autoencoder(tmp_path, False)
    training.run(quiet)
    with safe_open(tmp_path / CHECKPOINT, framework="np") as file:
        state = json.loads(file.metadata()["state"])
        assert state["epoch"] == EPOCHS and state["settings"]["stages"][0]["batch"] == 4
        np.testing.assert_array_equal(file.get_tensor("parameter.w"), training.export()["w"])


@pytest.mark.parametrize("content", [b"", b"no checkpoint", b"\x80\x04\x95pickle"])
def test_a_damaged_checkpoint_is_refused_in_words(content: bytes, tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_bytes(content)
    with pytest.raises(UserError, match=r"cannot be read as a checkpoint.*--resume"):
        make_autoencoder(tmp_path, True)


@pytest.mark.parametrize("name", TRAININGS)
def test_resuming_where_nothing_was_begun_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"run: there is no checkpoint\.safetensors to go on from.*--resume"):
        TRAININGS[name](tmp_path / "run", True)
    assert not (tmp_path / "run").exists()


def test_a_run_of_no_epochs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to train in 0 epochs"):
        pfnn.Trainer(small_data(), pfnn.Settings(hidden=8, epochs=0), tmp_path)


def test_a_finished_run_can_be_made_longer(tmp_path: Path) -> None:
    make: Callable[..., Training] = partial(pfnn.Trainer, small_data(), folder=tmp_path)
    make(settings=pfnn.Settings(hidden=8, epochs=1)).run(quiet)
    longer = make(settings=pfnn.Settings(hidden=8, epochs=2), resume=True)
    assert longer.epoch == 1
    longer.run(quiet)
    assert [row["epoch"] for row in longer.history] == [1, 2]


def test_the_history_is_kept_beside_the_checkpoint(tmp_path: Path) -> None:
    training = make_autoencoder(tmp_path, False)
    training.run(quiet)
    assert json.loads((tmp_path / "history.json").read_text()) == training.history
    pytest.importorskip("matplotlib")
    assert (tmp_path / "progress.png").read_bytes().startswith(b"\x89PNG")
