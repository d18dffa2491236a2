# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifold on the command line: training writes what the engine reads, bakes and figures come of it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from nsm_blender.cli import main
from nsm_blender.commands.evaluate.manifold import CARDS
from nsm_blender.evaluation import bench_manifold, manifold
from nsm_blender.manifold import synthesis
from nsm_blender.manifold.style import Style
from nsm_blender.manifold.tempo import Tempo
from nsm_blender.models.manifold import FRAME, Autoencoder
from nsm_blender.models.synthesis import Footsteps
from nsm_blender.motion.clip_file import update_library
from nsm_blender.motion.motion import Motion
from nsm_blender.paths import weights_folder
from nsm_blender.shot.shot import Shot, VelocityFollow

from . import manifolds
from .synthetic import perform
from .test_cli import assert_one_line, walk
from .test_synthesis_curves import footsteps as footstep_tensors
from .test_synthesis_curves import manifold as standing_manifold
from .test_synthesis_curves import networks as networks_fixture

networks = networks_fixture


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of two performers' walks; Berta is held out."""
    folder = tmp_path_factory.mktemp("data")
    for name, subject, speed in (("walk_a", "Anna", 1.2), ("walk_b", "Berta", 1.3)):
        clip = perform(speed, 5.0, turn=0.2).clip
        clip.meta.update({"name": name, "subject": subject, "licence": f"licence of {subject}", "tags": ["walk"]})
        update_library(folder, [clip])
    (folder / "split.json").write_text('{"test": ["Berta"]}')
    return folder


def train(system: str, data: Path, out: Path, *more: str) -> int:
    return main(["train", system, "--data", str(data), "--out", str(out), "--run", str(out.parent / "run"), *more])


def card_of(out: Path) -> dict:
    return json.loads(out.with_suffix(".json").read_text())


def test_a_trained_autoencoder_is_read_by_the_engine_and_names_its_data(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    from nsm_blender.training.autoencoder import STAGES

    epochs = ["1"] * len(STAGES)
    out = tmp_path / "autoencoder.safetensors"
    assert train("autoencoder", data, out, "--epochs", *epochs, "--device", "cpu") == 0
    network = Autoencoder.load(out)
    assert network.decode(network.encode(np.zeros((60, FRAME.size), np.float32))).shape == (60, FRAME.size)
    card = card_of(out)
    assert card["data"]["clips"] == ["walk_a"], "the held-out performer's clip is not trained on"
    assert card["data"]["licences"] == ["licence of Anna"]
    assert "Berta" in card["data"]["held_out"]
    assert shlex.join(["--epochs", *epochs]) in card["training"]["command"]
    assert [row["epoch"] for row in card["training"]["history"]] == list(range(1, len(STAGES) + 1))
    assert str(tmp_path) not in out.with_suffix(".json").read_text(), "no path of this machine"


def test_doubtful_and_validation_performers_are_not_trained_on(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    from nsm_blender.training.autoencoder import STAGES

    split = tmp_path / "split.json"
    split.write_text('{"test": [], "unsure": ["Berta"]}')
    out = tmp_path / "footsteps.safetensors"
    assert train("footsteps", data, out, "--steps", "1", "--device", "cpu", "--test-subjects", str(split)) == 0
    assert card_of(out)["data"]["subjects"] == ["Anna"]
    assert "Berta" in card_of(out)["data"]["held_out"]

    split.write_text('["nobody"]')
    out = tmp_path / "autoencoder.safetensors"
    epochs = ["1"] + ["0"] * (len(STAGES) - 1)
    watched = ["--test-subjects", str(split), "--validation", "Berta", "--epochs", *epochs, "--device", "cpu"]
    assert train("autoencoder", data, out, *watched) == 0
    card = card_of(out)
    assert card["data"]["subjects"] == ["Anna"]
    assert card["training"]["history"][0]["validation_cm"] > 0
    assert "--validation Berta" in card["training"]["command"]


def test_trained_footsteps_are_read_by_the_engine(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    out = tmp_path / "footsteps.safetensors"
    assert train("footsteps", data, out, "--steps", "2", "--device", "cpu") == 0
    assert np.isfinite(Footsteps.load(out).waves(np.zeros((1, 60, 3), np.float32))).all()
    assert card_of(out)["data"]["clips"] == ["walk_a"]


def test_share_alike_data_and_what_its_source_asks_for_are_in_the_card(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    clip = perform(1.2, 5.0).clip
    for licence, expected in (("CC BY-SA 3.0 (Motion Capture Database HDM05)", "CC-BY-SA-4.0"), ("CC0", "GPL-3.0-or-")):
        clip.meta.update({"name": "walk", "subject": "Anna", "licence": licence, "tags": ["walk"]})
        update_library(tmp_path / "data", [clip])
        out = tmp_path / "footsteps.safetensors"
        assert train("footsteps", tmp_path / "data", out, "--steps", "1", "--device", "cpu") == 0
        assert card_of(out)["licence"].startswith(expected)
        assert any("obtained from HDM05" in text for text in card_of(out)["data"]["acknowledgements"]) == (
            expected == "CC-BY-SA-4.0"
        )


def test_locomotion_says_which_autoencoder_it_was_trained_for(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    decoder = tmp_path / "decoder.safetensors"
    save_file(standing_manifold().tensors, decoder)
    out = tmp_path / "locomotion.safetensors"
    assert train("locomotion", data, out, "--steps", "1", "--autoencoder", str(decoder), "--device", "cpu") == 0
    assert card_of(out)["training"]["autoencoder"] == Autoencoder.load(decoder).hash


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["footsteps", "--epochs", "3"], ("--steps",)),
        (["autoencoder", "--epochs", "3"], ("stages",)),
        (["autoencoder", "--subjects", "Anna"], ("--test-subjects",)),
        (["locomotion", "--autoencoder", "none.safetensors"], ("none.safetensors",)),
        (["end-effectors", "--autoencoder", "AUTOENCODER"], ("punch or kick",)),
        (["styles", "--autoencoder", "AUTOENCODER"], ("lacks the clip",)),
        (["autoencoder", "--test-subjects", "none.json"], ("none.json",)),
    ],
)
def test_mistakes_end_a_training_before_it_begins(
    arguments: list[str], words: tuple[str, ...], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    decoder = tmp_path / "decoder.safetensors"
    save_file(standing_manifold().tensors, decoder)
    arguments = [str(decoder) if a == "AUTOENCODER" else a for a in arguments]
    out = tmp_path / "out.safetensors"
    assert train(arguments[0], data, out, *arguments[1:]) == 1
    assert_one_line(capsys.readouterr().err, *words)
    assert not out.exists()


def test_a_manifold_bake_has_the_shots_frames_and_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, networks: synthesis.Networks
) -> None:
    monkeypatch.setattr(synthesis.Networks, "load", staticmethod(lambda: networks))
    shot = walk()
    shot.save(tmp_path / "shot.json")
    out = tmp_path / "motion.npz"
    assert main(["bake", str(tmp_path / "shot.json"), "--out", str(out), "--model", "manifold"]) == 0
    motion = Motion.load(out)
    assert len(motion) == shot.frames
    assert motion.meta["model"] == "manifold"
    assert motion.root[-1, 1] < motion.root[0, 1] - 1.0, "the character walked along the path"


def test_a_manifold_bake_without_weights_or_path_says_so(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    networks: synthesis.Networks,
) -> None:
    walk().save(tmp_path / "shot.json")
    arguments = ["bake", str(tmp_path / "shot.json"), "--out", str(tmp_path / "m.npz"), "--model", "manifold"]
    with monkeypatch.context() as patch:
        patch.setattr(synthesis, "weights_folder", lambda: tmp_path)
        assert main(arguments) == 1
    assert_one_line(capsys.readouterr().err, "autoencoder.safetensors")
    monkeypatch.setattr(synthesis.Networks, "load", staticmethod(lambda: networks))
    Shot("Walker", 24.0, 2, velocity=VelocityFollow([[0.0, 0.0]] * 2, [0.0] * 2, ["walk"] * 2)).save(
        tmp_path / "shot.json"
    )
    assert main(arguments) == 1
    assert_one_line(capsys.readouterr().err, "curve")
    assert not (tmp_path / "m.npz").exists()


def test_evaluating_missing_weights_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "manifold", "--weights", str(tmp_path)]) == 1
    assert_one_line(capsys.readouterr().err, "autoencoder.safetensors")


def test_held_out_figures_need_held_out_performers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="clips are prepared as for training")
    assert main(["evaluate", "manifold", "--weights", str(tmp_path), "--data", str(tmp_path)]) == 1
    assert_one_line(capsys.readouterr().err, "--test-subjects")


def test_the_reconstruction_is_measured_on_all_clips_of_the_held_out_performers(data: Path) -> None:
    pytest.importorskip("torch", reason="clips are prepared as for training")
    from nsm_blender.training.held_out import HeldOut, reconstruction

    held_out = HeldOut(data, ["Berta"])
    good = reconstruction(manifolds.autoencoder(), held_out, lambda _: None)
    assert good["manifold.reconstruction.held_out.clips"] == 1
    assert good["manifold.reconstruction.held_out.minutes"] == pytest.approx(5 / 60, rel=0.05)
    bad = reconstruction(standing_manifold(), held_out, lambda _: None)
    name = "manifold.reconstruction.held_out.inner_mean_cm"
    assert 0 < good[name] < bad[name]


def test_an_error_of_a_known_size_is_reported_in_centimeters() -> None:
    pytest.importorskip("torch", reason="clips are prepared as for training")
    from nsm_blender.training.held_out import joint_errors

    network = standing_manifold()
    frames = network.decode(np.zeros((30, network._b.size), np.float32))
    network.encode = lambda x: np.zeros((len(x) // 2, network._b.size), np.float32)  # type: ignore[method-assign]
    frames[:, FRAME.joint_position.start] += 0.03
    errors = joint_errors(network, frames)
    np.testing.assert_allclose(errors[:, 0], 3.0, atol=1e-3)
    np.testing.assert_allclose(errors[:, 1:], 0.0, atol=1e-3)


def test_figures_without_recordings_have_the_names_of_the_contract(networks: synthesis.Networks) -> None:
    quiet = [].append
    figures = manifold.editing(networks, quiet, seconds=3) | manifold.pinning(networks, quiet)
    gram = np.eye(256, dtype=np.float32)
    figures |= manifold.restyling(networks, {"old": Style("old", gram, tempo=Tempo(0.8, 1.5))}, quiet)
    assert {
        "manifold.editing.foot_slide_cm_per_s.after",
        "manifold.editing.path_error_cm.after",
        "manifold.editing.bone_error_mm.after",
        "manifold.pin.pin_error_cm.after",
        "manifold.pin.acceleration_ratio.mean",
        "manifold.style.gram_ratio.old",
        "manifold.style.kept_gram_ratio.old",
        "manifold.style.final_gram_ratio.old",
        "manifold.style.timed.retimed_gram_ratio.old",
        "manifold.style.timed.final_gram_ratio.old",
        "manifold.style.timed.path_error_cm.worst",
    } <= set(figures)
    assert all(isinstance(value, float) for value in figures.values())
    for name in figures:
        assert any(name.startswith(prefix) for prefix in CARDS), f"{name} is in no model card"


def test_the_bench_has_the_rows_of_table_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, networks: synthesis.Networks
) -> None:
    """Each part is made once, and short, so that it takes no time."""
    from nsm_blender.commands.bench import MEANINGS

    def once(call, _repetitions: int = 1) -> float:
        call()
        return 1.0

    monkeypatch.setattr(bench_manifold, "_seconds", once)
    monkeypatch.setattr(bench_manifold, "gemm_rate", lambda: 1e9)
    for name, short in (("WALK_SECONDS", 2), ("STYLE_SECONDS", 2), ("CROWD_SECONDS", 1), ("CROWD_SIZE", 2)):
        monkeypatch.setattr(bench_manifold, name, short)
    figures = bench_manifold._walk(networks) | bench_manifold._crowd(networks)
    figures |= bench_manifold._restyle(networks, Style("old", np.eye(256, dtype=np.float32)))
    names = {name.removeprefix("bench.manifold.") for name in MEANINGS if name.startswith("bench.manifold.")}
    elsewhere = {n for n in names if n.startswith("punch") or n.endswith("operator")}
    assert {name for name in figures if "ratio" not in name} == names - elsewhere


def test_missing_weights_are_listed(tmp_path: Path) -> None:
    save_file(footstep_tensors(), tmp_path / "footsteps.safetensors")
    assert bench_manifold.missing(tmp_path) == [
        f"{name}.safetensors" for name in bench_manifold.FILES if name != "footsteps"
    ]


@pytest.mark.skipif(
    bool(bench_manifold.missing(weights_folder())), reason="the shipped weights of the manifold are not there"
)
def test_the_shipped_weights_belong_together() -> None:
    hash = Autoencoder.load(weights_folder() / "autoencoder.safetensors").hash
    for name in ("locomotion", "end_effectors"):
        card = json.loads((weights_folder() / f"{name}.json").read_text())
        assert card["training"]["autoencoder"] == hash, name
    assert json.loads((weights_folder() / "styles.json").read_text())["autoencoder"] == hash


@pytest.mark.parametrize("system", ["footsteps", "locomotion", "pfnn"])
def test_clips_that_are_all_too_short_are_told_in_words(
    system: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    clip = perform(1.2, 5.0).clip.cut(0, 20)
    clip.meta.update({"name": "walk", "subject": "Anna", "tags": ["walk"]})
    update_library(tmp_path / "data", [clip])
    out = tmp_path / "out.safetensors"
    assert train(system, tmp_path / "data", out, "--device", "cpu") == 1
    assert_one_line(capsys.readouterr().err, str(tmp_path / "data"))
    assert not out.exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--resume"], ("no checkpoint.safetensors to go on from",)),
        (["--epochs", "0"], ("--epochs 0 trains nothing",)),
    ],
)
def test_what_cannot_be_trained_is_refused_before_the_data_are_read(
    more: list[str], words: tuple[str, ...], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    assert train("pfnn", data, tmp_path / "out.safetensors", *more) == 1
    assert_one_line(capsys.readouterr().err, *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["out.safetensors", "out.json"])
def test_weights_that_cannot_be_written_are_told_before_the_training(
    name: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="training needs torch")
    target = tmp_path / "elsewhere"
    target.write_text("mine")
    (tmp_path / name).symlink_to(target)
    assert train("footsteps", data, tmp_path / "out.safetensors", "--steps", "100000") == 1
    assert_one_line(capsys.readouterr().err, f"{name}: is a link")
    assert target.read_text() == "mine" and not (tmp_path / "run").exists()


def test_footsteps_resumed_in_another_process_are_those_of_an_unbroken_run(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command from a library on, so that all that is random on the way counts."""
    pytest.importorskip("torch", reason="training needs torch")
    # The first checkpoint comes after 20 of 30 steps.
    monkeypatch.setattr("nsm_blender.training.manifold.FOOTSTEPS.save_every", 20)
    steps = ["--device", "cpu", "--steps", "30"]
    (tmp_path / "whole").mkdir()
    (tmp_path / "broken").mkdir()
    whole, broken = tmp_path / "whole" / "w.safetensors", tmp_path / "broken" / "w.safetensors"
    assert train("footsteps", data, whole, *steps) == 0
    script = (
        "import sys\n"
        "from nsm_blender.training import loop, manifold\n"
        "from nsm_blender.cli import main\n"
        "manifold.FOOTSTEPS.save_every = 20\n"
        "save = loop.Training._save\n"
        "def cut(training):\n"
        "    save(training)\n"
        "    raise SystemExit(7)\n"
        "loop.Training._save = cut\n"
        "main(sys.argv[1:])\n"
    )
    command = ["train", "footsteps", "--data", str(data), "--out", str(broken), "--run", str(broken.parent / "run")]
    done = subprocess.run([sys.executable, "-c", script, *command, *steps], check=False, capture_output=True)
    assert done.returncode == 7 and not broken.exists()
    assert train("footsteps", data, broken, *steps, "--resume") == 0
    assert broken.read_bytes() == whole.read_bytes()
