# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender train pfnn --terrain`: from a folder of clips to weights that a bake walks with over ground."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.cli import main
from nsm_blender.errors import ShotError
from nsm_blender.models.pfnn import CHARACTER_INPUT, INPUT
from nsm_blender.models.pfnn_kernels import PFNN
from nsm_blender.motion.clip import Clip
from nsm_blender.motion.clip_file import update_library
from nsm_blender.shot.shot import PathFollow, Shot

from .synthetic import perform, run, stand

torch = pytest.importorskip("torch", reason="training needs torch")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of one epoch on synthetic walks of two performers, the second of whom is held out."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("data")
    clips = []
    for name, subject, clip in (
        ("walk", "a", perform(1.2, 14.0).clip),
        ("bend", "a", perform(1.2, 14.0, turn=0.3).clip),
        ("run", "a", run(2.5, 10.0).clip),
        ("stand", "a", stand(6.0).clip),
        ("other", "b", perform(1.1, 8.0).clip),
    ):
        meta = {"name": name, "subject": subject, "tags": ["walk"], "licence": "CC0"}
        clips.append(Clip(clip.skeleton, clip.root, clip.rotations, clip.fps, meta))
    update_library(folder, clips)
    split = folder / "split.json"
    split.write_text(json.dumps({"test": ["b"], "unsure": []}))
    out = folder / "pfnn.safetensors"
    options = ["--terrain", "40", "--warps", "--hidden", "16", "--epochs", "1", "--device", "cpu"]
    assert (
        main(["train", "pfnn", "--data", str(folder), "--out", str(out), "--run", str(folder / "run"), *options]) == 0
    )
    return out


def test_the_card_tells_ground_performers_and_how_it_was_scored(weights: Path) -> None:
    card = json.loads(weights.with_suffix(".json").read_text())
    assert card["data"]["held_out"] == "performers b"
    assert card["data"]["subjects"] == ["a"]
    assert set(card["performers"]) == {"a"}
    assert card["terrain"]["patches"] == 40
    assert card["terrain"]["fit_errors"]["even"]["stand_cm.p95"] < 2
    assert card["layout"]["input"]["character"] == [INPUT.size, CHARACTER_INPUT.size]
    assert "--terrain 40" in card["training"]["command"]
    assert card["training"]["history"][-1]["ground_cm"] >= 0


def test_the_weights_feel_the_ground_and_bake_as_a_performer_that_they_know(weights: Path) -> None:
    network = PFNN.load(weights)
    assert network.uses(INPUT.terrain_height)
    follow = PathFollow([[0, 0, 0], [3, 0, 0]], [1.2] * 30, ["walk"] * 30, [0.0] * 30)
    motion = Bake(Shot("a shot", 30.0, 30, path=follow, performer="a"), weights).motion()
    assert np.isfinite(motion.positions).all()
    with pytest.raises(ShotError, match=r"no performer 'c'.*choose one of a"):
        Bake(Shot("a shot", 30.0, 30, path=follow, performer="c"), weights)


def test_training_goes_on_in_sequences_and_keeps_a_share(weights: Path, tmp_path: Path) -> None:
    out = tmp_path / "pfnn.safetensors"
    options = ["--terrain", "40", "--warps", "--hidden", "16", "--epochs", "1", "--device", "cpu"]
    begun = ["--from", str(weights), "--lengths", "8", "--kept", "0.5"]
    folders = ["--data", str(weights.parent), "--out", str(out), "--run", str(tmp_path / "run")]
    assert main(["train", "pfnn", *folders, *options, *begun]) == 0
    card = json.loads(out.with_suffix(".json").read_text())
    assert "--from weights/pfnn.safetensors --kept 0.5 --lengths 8" in card["training"]["command"]
    before, after = (PFNN.load(path) for path in (weights, out))
    x = np.zeros(before.input_size, dtype=np.float32)
    assert np.isfinite(after.predict(x, 1.0)).all()
    assert np.abs(after.predict(x, 1.0) - before.predict(x, 1.0)).max() > 0


@pytest.mark.parametrize(
    ("system", "options", "told"),
    [
        ("pfnn", ["--kept", "0.5"], "--kept is the share of the weights of --from"),
        ("autoencoder", ["--lengths", "8"], "--lengths belongs to nsm and pfnn"),
    ],
)
def test_options_that_say_nothing_are_refused(
    system: str, options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "weights.safetensors")
    assert main(["train", system, "--data", str(tmp_path), "--out", out, *options]) == 1
    assert told in capsys.readouterr().err
