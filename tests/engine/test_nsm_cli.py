# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender train nsm` on a folder of captures: from the clips to weights that bake, with one command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsm_blender.cli import main
from nsm_blender.models.nsm import ACTIONS, ENCODERS, FPS
from nsm_blender.models.nsm_kernels import NSM
from nsm_blender.models.weights import file_hash
from nsm_blender.motion.clip_file import CLIPS_FOLDER
from nsm_blender.motion.motion import Motion
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.training.episodes.props import objects_beside

from .captures import clip_of, keep, sits_down
from .test_episodes import come_and_go

pytest.importorskip("torch", reason="training needs torch")

EPISODES = 4


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three performers, one of them held out; none climbs."""
    folder = tmp_path_factory.mktemp("captures")
    for number, turn in enumerate((-2.0, 0.0, 2.0)):
        keep(folder, clip_of(come_and_go(turn), f"walk{number}", "anna", ("locomotion",)))
    track, place = sits_down(come_and_go(0.0))
    seat = {"kind": "seat", "position": place.tolist(), "size": [0.45, 0.4, 0.06]}
    keep(folder, clip_of(track, "sits", "ben"), [seat])
    keep(folder, clip_of(come_and_go(1.0), "held_out", "test", ("locomotion",)))
    (folder / "split.json").write_text('{"test": ["test"]}')
    return folder


def train(captures: Path, folder: Path, *more: str) -> int:
    small = ["--episodes", str(EPISODES), "--walks", "0", "--processes", "1", "--epochs", "1", "--hidden", "16"]
    where = ["--data", str(captures), "--out", str(folder / "nsm.safetensors"), "--run", str(folder / "run")]
    return main(["train", "nsm", *where, *small, "--validate", "0", "--device", "cpu", *more])


@pytest.fixture(scope="module")
def trained(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    assert train(captures, folder) == 0
    return folder


@pytest.fixture
def card(trained: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((trained / "nsm.json").read_text())
    return found


def test_the_card_tells_what_was_recorded_and_composed_by_action(card: dict[str, Any]) -> None:
    data = card["data"]
    assert sorted(data["clips"]) == ["sits", "walk0", "walk1", "walk2"] and "test" not in data["subjects"]
    assert data["licences"] == ["CC0"]
    minutes = data["minutes_by_action"]
    assert set(minutes) == set(ACTIONS)
    assert minutes["sit"]["recorded"] > 0 and minutes["climb"] == {"recorded": 0.0, "composed": 0.0}
    assert sum(data["episodes"].values()) > 0 and "climb" not in data["episodes"]


def test_the_card_tells_how_to_train_again(card: dict[str, Any]) -> None:
    training = card["training"]
    assert f"--episodes {EPISODES}" in training["command"] and "--hidden 16" in training["command"]
    assert training["settings"]["hidden"] == 16 and len(training["history"]) == 1
    assert {"sit", "walk"} <= set(card["actions"]) and "climb" not in card["actions"]


def test_the_course_of_the_training_is_kept(trained: Path) -> None:
    run = trained / "run"
    (row,) = json.loads((run / "history.json").read_text())
    assert row["epoch"] == 1 and row["loss"] > 0
    pytest.importorskip("matplotlib")
    assert (run / "progress.png").read_bytes().startswith(b"\x89PNG")


def test_the_trained_weights_bake(trained: Path, tmp_path: Path) -> None:
    shot = Shot(
        "Walker",
        FPS,
        60,
        start=[0.0, 0.0, 0.0, 0.0],
        keys=[ActionKey("walk", "there")],
        goals=[Goal("there", [0.0, -1.0, 0.0], 0.0)],
    )
    shot.save(tmp_path / "shot.json")
    out = tmp_path / "motion.npz"
    weights = str(trained / "nsm.safetensors")
    assert main(["bake", str(tmp_path / "shot.json"), "--out", str(out), "--model", "nsm", "--weights", weights]) == 0
    motion = Motion.load(out)
    assert len(motion) == 60 and np.isfinite(motion.positions).all()


def test_episodes_that_are_there_are_not_composed_again(captures: Path, trained: Path) -> None:
    parts = sorted((trained / "run" / "episodes").glob("*/frame.npy"))
    before = [part.stat().st_mtime_ns for part in parts]
    assert parts and train(captures, trained, "--resume") == 0
    assert [part.stat().st_mtime_ns for part in parts] == before


def test_composed_episodes_are_trained_on_as_they_are(trained: Path, card: dict[str, Any], tmp_path: Path) -> None:
    assert train(trained / "run" / "episodes", tmp_path) == 0
    assert not (tmp_path / "run" / "episodes").exists()
    assert json.loads((tmp_path / "nsm.json").read_text())["data"] == card["data"]


def test_a_network_without_a_sensor_does_not_see_by_it_and_its_card_says_so(trained: Path, tmp_path: Path) -> None:
    options = ["--without", "interaction", "--gating", "concatenation", "--encoders", "12", "8", "8", "8"]
    more = ["--batch", "64", "--vague-goals", "0.3", "--first-cycle", "1"]
    assert train(trained / "run" / "episodes", tmp_path, *options, *more, "--far-astray") == 0
    told = json.loads((tmp_path / "nsm.json").read_text())["training"]
    assert all(" ".join(given) in told["command"] for given in (options, more, ["--far-astray"]))
    assert told["settings"]["far_astray"] is True and told["settings"]["vague_goals"] == 0.3
    assert told["settings"]["without"] == ["interaction"] and told["settings"]["gating"] == "concatenation"
    network = NSM.load(tmp_path / "nsm.safetensors")
    rng = np.random.default_rng(0)
    frame, goal, seen, around = (rng.normal(size=layout.size).astype(np.float32) for layout in ENCODERS.values())
    blind = network.predict(frame, goal, np.zeros_like(seen), around, 1.0)
    np.testing.assert_array_equal(network.predict(frame, goal, seen, around, 1.0), blind)
    assert np.abs(network.predict(frame, goal, seen, np.zeros_like(around), 1.0) - blind).max() > 1e-6


def test_the_card_of_a_training_that_went_on_tells_from_what(
    trained: Path, card: dict[str, Any], tmp_path: Path
) -> None:
    weights = trained / "nsm.safetensors"
    assert train(trained / "run" / "episodes", tmp_path, "--from", str(weights), "--rate", "0.0004") == 0
    told = json.loads((tmp_path / "nsm.json").read_text())["training"]
    assert "--rate 0.0004 --from weights/nsm.safetensors" in told["command"]
    assert told["begun_with"]["hash"] == file_hash(weights)
    assert told["begun_with"]["training"] == card["training"] and told["begun_with"]["data"] == card["data"]


def test_an_action_is_taught_with_one_command_and_the_network_can_still_do_all_others(
    trained: Path, card: dict[str, Any], tmp_path: Path
) -> None:
    weights, episodes = trained / "nsm.safetensors", trained / "run" / "episodes"
    before = NSM.load(weights)
    assert train(episodes, tmp_path, "--teach", "sit", "--from", str(weights)) == 0
    after, told = NSM.load(tmp_path / "nsm.safetensors"), json.loads((tmp_path / "nsm.json").read_text())
    assert len(after.omega) == 2 * len(before.omega)
    assert told["actions"] == card["actions"] and told["standing"] == card["standing"]
    assert "--teach sit --from weights/nsm.safetensors" in told["training"]["command"]


@pytest.mark.parametrize("more", [[], ["--kept", "0.5", "--from"]])
def test_an_action_is_taught_to_whole_weights_that_are_named(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    options = [*more, str(trained / "nsm.safetensors")] if more else []
    assert train(trained / "run" / "episodes", tmp_path, "--teach", "sit", *options) == 1
    assert "--teach adds to the weights of --from" in capsys.readouterr().err


def test_a_goal_to_teach_toward_needs_an_action(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(trained / "run" / "episodes", tmp_path, "--toward", "idle") == 1
    assert "--toward says more of what --teach names" in capsys.readouterr().err


def test_each_round_goes_on_from_the_one_before_with_new_episodes(captures: Path, tmp_path: Path) -> None:
    rounds = ["--rounds", "2", "--rollouts", "1", "--episodes", str(2 * EPISODES)]
    assert train(captures, tmp_path, *rounds) == 0
    card = json.loads((tmp_path / "nsm.json").read_text())
    figures, run = card["training"]["rounds"], tmp_path / "run"
    assert len(figures) == 2 and figures[0]["frames"] < figures[1]["frames"] == card["training"]["frames"]
    recipes = [json.loads((run / f"round_{i}" / "episodes" / "recipe.json").read_text()) for i in (1, 2)]
    assert recipes[0]["seed"] != recipes[1]["seed"] and recipes[0]["weights"] != recipes[1]["weights"]
    weights = (tmp_path / "nsm.safetensors").read_bytes()
    (tmp_path / "nsm.safetensors").unlink()
    assert train(captures, tmp_path, *rounds, "--resume") == 0
    assert (tmp_path / "nsm.safetensors").read_bytes() == weights


def test_rounds_are_for_recordings(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(trained / "run" / "episodes", tmp_path, "--rounds", "2") == 1
    assert "--rounds composes new ones" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--without", "touch"], ["--gating", "sum"], ["--encoders", "12"]])
def test_a_network_that_there_is_not_is_refused(trained: Path, tmp_path: Path, option: list[str]) -> None:
    with pytest.raises(SystemExit):
        train(trained / "run" / "episodes", tmp_path, *option)
    assert not (tmp_path / "nsm.safetensors").exists()


def test_only_the_nsm_is_trained_without_its_sensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "pfnn.safetensors")
    assert main(["train", "pfnn", "--data", str(tmp_path), "--out", out, "--without", "environment"]) == 1
    assert "--without belongs to nsm" in capsys.readouterr().err


def test_episodes_of_other_captures_are_not_mixed_in(
    captures: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(captures, trained, "--seed", "2") == 1
    assert "another folder" in capsys.readouterr().err


def test_a_seat_told_in_the_wrong_place_is_named_before_anything_is_trained(
    captures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "captures"
    shutil.copytree(captures, other)
    told = objects_beside(other / CLIPS_FOLDER / "sits.npz")
    told.write_text(json.dumps([{"kind": "seat", "position": [9.0, 0.0, 0.4]}]))
    assert train(other, tmp_path) == 1
    assert "sits: seat 1 is" in capsys.readouterr().err
    assert not (tmp_path / "nsm.safetensors").exists()


def test_a_folder_without_motion_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert train(tmp_path / "empty", tmp_path) == 1
    assert "motion files" in capsys.readouterr().err
    assert not (tmp_path / "nsm.safetensors").exists()
