# SPDX-License-Identifier: GPL-3.0-or-later
"""`nsm-blender evaluate nsm --ablations`: networks that were trained alike are compared, and others are refused."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsm_blender.cli import main
from nsm_blender.errors import UserError
from nsm_blender.evaluation.nsm import evaluate
from nsm_blender.evaluation.nsm_ablations import (
    TRAINED,
    Measured,
    as_text,
    clutter_figures,
    hashes,
    response_figures,
    rows,
    table_figures,
    trained_alike,
    trained_figures,
    trainings_alike,
)
from nsm_blender.evaluation.nsm_picture import share_of_phase
from nsm_blender.evaluation.nsm_plain import Plain
from nsm_blender.evaluation.nsm_trials import Trial, told_aside
from nsm_blender.geometry.furniture import make
from nsm_blender.models.nsm import ACTIONS
from nsm_blender.models.nsm_baselines import shapes
from nsm_blender.paths import weights_folder
from nsm_blender.rollout.nsm import SceneRecord
from nsm_blender.rollout.nsm_network import FILE, load

NETWORKS = {
    "full": ([], "kronecker"),
    "no_interaction": (["interaction"], "kronecker"),
    "no_environment": (["environment"], "kronecker"),
    "concatenation": ([], "concatenation"),
}


def card(name: str, **settings: Any) -> dict[str, Any]:
    """The card of a network of NETWORKS."""
    without, gating = NETWORKS[name]
    shared = {"without": without, "gating": gating, "epochs": 7, "hidden": 128, "seed": 1}
    return {"training": {"frames": 1000, "history": [{"loss": 1.0}] * 7, "settings": shared | settings}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Networks trained alike, as far as their cards tell."""
    for name in NETWORKS:
        (tmp_path / f"{name}.safetensors").write_bytes(b"weights")
        write(tmp_path, name, card(name))
    return tmp_path


def add_mlp(folder: Path, **settings: Any) -> None:
    """One of the networks to compare with, trained as the others."""
    (folder / "mlp.safetensors").write_bytes(b"weights")
    write(folder, "mlp", card("full", **{"network": "mlp", **settings}))


def write(folder: Path, name: str, told: dict[str, Any]) -> None:
    (folder / f"{name}.json").write_text(json.dumps(told))


def trial(finished: bool, raw_cm: float) -> Trial:
    return Trial("chair", finished, raw_cm, 1.0, raw_cm, 1.0, 3.0, 2.0, 1.0, 0.5, 0.7, 20.0)


def test_networks_that_differ_in_their_part_alone_are_alike(folder: Path) -> None:
    shared = trained_alike(folder)
    assert shared["epochs"] == 7 and shared["frames"] == 1000


def test_a_network_that_was_trained_longer_is_refused(folder: Path) -> None:
    write(folder, "no_environment", card("no_environment", epochs=9))
    with pytest.raises(UserError, match=r"not trained alike: epochs was 9 and 7"):
        trained_alike(folder)


def test_a_training_that_was_cut_short_is_refused(folder: Path) -> None:
    told = card("concatenation")
    del told["training"]["history"][3:]
    write(folder, "concatenation", told)
    with pytest.raises(UserError, match="epochs trained was 3 and 7"):
        trained_alike(folder)


def test_a_network_that_has_the_sensor_it_is_named_to_lack_is_refused(folder: Path) -> None:
    write(folder, "no_interaction", card("full"))
    with pytest.raises(UserError, match="train it as nsm with kronecker, without interaction"):
        trained_alike(folder)


def test_a_missing_network_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "concatenation.safetensors").unlink()
    assert main(["evaluate", "nsm", "--tables", "ablations", "--ablations", str(folder)]) == 1
    assert "concatenation.safetensors: there is no such network" in capsys.readouterr().err


def test_networks_to_compare_with_are_rows_where_there_are_any(folder: Path) -> None:
    assert set(rows(folder)) == set(TRAINED)
    add_mlp(folder)
    assert set(rows(folder)) == {*TRAINED, "mlp"} and set(hashes(folder)) == {*NETWORKS, "mlp"}
    assert trained_alike(folder)["epochs"] == 7


def test_another_network_under_the_name_of_one_is_refused(folder: Path) -> None:
    add_mlp(folder, network="lstm")
    with pytest.raises(UserError, match="was trained as lstm with kronecker, without nothing; train it as mlp"):
        trained_alike(folder)
    add_mlp(folder, epochs=9)
    with pytest.raises(UserError, match=r"mlp.safetensors .* not trained alike: epochs was 9 and 7"):
        trained_alike(folder)


def another(folder: Path, **settings: Any) -> Path:
    """Another training of the networks in a folder."""
    other = folder.parent / f"{folder.name}_again"
    shutil.copytree(folder, other, dirs_exist_ok=True)
    for name in NETWORKS:
        write(other, name, card(name, **settings))
    return other


def test_trainings_that_differ_in_their_seed_alone_are_compared(folder: Path) -> None:
    assert trainings_alike([folder, another(folder, seed=2)])["epochs"] == 7
    with pytest.raises(UserError, match="same seed"):
        trainings_alike([folder, another(folder)])
    with pytest.raises(UserError, match=r"_again .* not trained alike: epochs was 9 and 7"):
        trainings_alike([folder, another(folder, seed=2, epochs=9)])


def test_errors_over_trainings_hold_what_differs_between_them() -> None:
    """Each training is as sure of itself as can be, and they say three different things."""

    def measured(off: float, done: int) -> Measured:
        rooms = [Plain("room", n < done, None, None, 0.0, 0.0, np.zeros(9), np.zeros((9, 22))) for n in range(4)]
        trials = {"full": [trial(True, 4.0)] * 5, "concatenation": [trial(True, off)] * 5}
        # What is compared with may have been trained less often.
        trials |= {"mlp": [trial(True, 9.0)] * 5} if done == 4 else {}
        return Measured({"sit": trials}, {"full": rooms}, {"full": {"nsm.response_s.walk_sit.mean": off}})

    alone = table_figures([measured(5.0, 4)], lambda _: None)
    row = "nsm.ablation.concatenation.farther_than_full_cm"
    assert alone[row] == pytest.approx(1.0) and alone[f"{row}.standard_error"] == pytest.approx(0.0)
    figures = table_figures([measured(5.0, 4), measured(3.0, 2), measured(7.0, 3)], lambda _: None)
    assert figures[row] == pytest.approx(1.0)
    assert figures[f"{row}.standard_error"] == pytest.approx(2.0 / 3**0.5)
    assert figures["nsm.ablation.full.pe_cm.standard_error"] == pytest.approx(0.0)
    assert figures["nsm.ablation.full.clutter.tasks"] == 12 and figures["nsm.ablation.full.trainings"] == 3
    assert figures["nsm.ablation.full.clutter.done"] == pytest.approx(0.75)
    assert figures["nsm.ablation.full.clutter.done.standard_error"] == pytest.approx(0.25 / 3**0.5)
    assert figures["nsm.ablation.full.response_s.walk_sit.mean"] == pytest.approx(5.0)
    assert figures["nsm.ablation.mlp.trainings"] == 1 and figures["nsm.ablation.mlp.pe_cm"] == pytest.approx(9.0)


def test_gates_that_follow_the_phase_are_told_from_those_that_follow_something_else() -> None:
    """Two cycles of walking: gates that swing with the phase, and gates that drift over time."""
    phase = np.linspace(0, 4 * np.pi, 240, endpoint=False)
    actions = np.eye(len(ACTIONS))[np.full(240, ACTIONS.index("walk"))]
    still = np.zeros((240, 1))

    def share(gate: np.ndarray, action: str = "walk") -> float | None:
        gates = np.stack((gate, 1 - gate), axis=1)
        return share_of_phase(SceneRecord(still, still, still, actions, still, phase, gates, still), action)

    swings, drifts = 0.5 + 0.4 * np.sin(phase), np.linspace(0, 1, 240) > 0.5
    assert share(swings) == pytest.approx(1.0, abs=0.02) and share(drifts.astype(float)) == pytest.approx(0.0, abs=0.02)
    # The variance of a sine is half its squared amplitude, that of a step half-way a quarter.
    assert share((swings + drifts) / 2) == pytest.approx(0.08 / (0.08 + 0.25), abs=0.02)
    assert share(np.full(240, 0.5)) == 0.0 and share(swings, "run") is None


def test_the_papers_tables_have_a_row_for_each_network() -> None:
    found = trained_figures("sit", {name: [trial(True, 4.0)] * 2 for name in ("full", "auto_lstm")}, lambda _: None)
    found |= response_figures("auto_lstm", {"nsm.response_s.idle_walk.mean": 1.25})
    head, *lines = as_text(found)
    assert [line.split()[0] for line in lines] == ["auto_lstm", "full"]
    of_lstm, of_full = (dict(zip(_columns(head), line.split()[1:], strict=True)) for line in lines)
    assert of_lstm["idle-walk s"] == "1.25" and of_full["idle-walk s"] == "-"
    assert of_lstm["sit PE cm"] == of_full["sit PE cm"] == "4.00" and of_full["carry PE cm"] == "-"


def _columns(head: str) -> list[str]:
    return [column.strip() for column in re.split(r"\s{2,}", head) if column.strip()]


def test_errors_are_compared_with_the_full_network_where_both_finished() -> None:
    found = {name: [trial(True, 4.0)] * 6 for name in TRAINED}
    # One that fails where it is difficult looks better than it is.
    found["no_interaction"] = [trial(True, 3.0)] * 5 + [trial(False, math.inf)]
    found["full"] = [trial(True, 2.0)] * 5 + [trial(True, 20.0)]
    figures = trained_figures("sit", found, lambda _: None)
    assert figures["nsm.ablation.full.pe_cm"] == pytest.approx(5.0)
    assert figures["nsm.ablation.full.pe_cm.standard_error"] == pytest.approx(3.0)
    assert figures["nsm.ablation.no_interaction.pe_cm"] == pytest.approx(3.0)
    assert figures["nsm.ablation.no_interaction.finished"] == pytest.approx(5 / 6)
    assert figures["nsm.ablation.no_interaction.farther_than_full_cm"] == pytest.approx(1.0)
    assert figures["nsm.ablation.no_interaction.farther_than_full_cm.standard_error"] == pytest.approx(0.0)


def test_networks_are_compared_over_the_same_tasks_in_clutter() -> None:
    def plain(done: bool, depth: float) -> Plain:
        return Plain("room", done, None, None, 100 * depth, 0.0, np.full(50, depth), np.zeros((50, 22)))

    found = {
        "full": [plain(True, 0.0), plain(True, 0.01), plain(False, 0.02)],
        "no_environment": [plain(True, 0.05), plain(False, 0.05), plain(False, 0.05)],
    }
    figures = clutter_figures(found, lambda line: None)
    row = "nsm.ablation.no_environment.clutter"
    assert figures[f"{row}.tasks"] == 3 and figures[f"{row}.done"] == pytest.approx(1 / 3)
    assert figures[f"{row}.depth_cm"] == pytest.approx(5.0)
    assert figures[f"{row}.done_less_than_full"] == pytest.approx(1 / 3)
    assert figures[f"{row}.deeper_than_full_cm"] == pytest.approx(4.0)
    assert figures[f"{row}.slides_more_than_full_cm_per_s"] == pytest.approx(4.0)
    assert figures[f"{row}.deeper_than_full_cm.standard_error"] == pytest.approx(1 / 3**0.5)
    assert "nsm.ablation.full.clutter.deeper_than_full_cm" not in figures


@pytest.mark.parametrize(("kind", "left"), [("chair", [1.0, 0.0, 0.0]), ("crate", [-1.0, 0.0, 0.0])])
def test_a_place_is_told_to_the_left_as_seen_in_use(kind: str, left: list[float]) -> None:
    """Furniture has its front to -Y: a sitting character looks there, a carrier to +Y."""
    piece = make(kind, 100001)
    told = told_aside(piece, 0.1)
    assert told.boxes is piece.boxes
    names = ["place"] if kind == "chair" else ["left", "right"]
    for name in names:
        was, is_ = (np.array(getattr(one.handles, name)) for one in (piece, told))
        np.testing.assert_allclose(is_ - was, 0.1 * np.array(left), atol=1e-9)


@pytest.fixture
def shipped(folder: Path) -> Path:
    """The shipped network in the place of all, the sensors taken from those that lack them."""
    safetensors = pytest.importorskip("safetensors.numpy")
    network = weights_folder() / FILE
    tensors = safetensors.load_file(network)
    told = json.loads(network.with_suffix(".json").read_text())
    for name, (without, _) in NETWORKS.items():
        own = dict(tensors)
        for sensor in without:
            own[f"{sensor}_w0"] = np.zeros_like(own[f"{sensor}_w0"])
        safetensors.save_file(own, folder / f"{name}.safetensors")
        write(folder, name, {**told, "actions": ["walk", "run", "sit"], "training": card(name)["training"]})
    # An LSTM that knows nothing but how things are on average.
    small: dict[str, Any] = {}
    for name, shape in shapes("lstm").items():
        own = tuple({"4 h": 8, "h": 2, "n": 16}.get(n, 4) if isinstance(n, str) else n for n in shape)
        small[name] = np.full(own, float(name.endswith("_scale")), dtype=np.float32)
    small["output_mean"] = tensors["output_mean"].astype(np.float32)
    safetensors.save_file(small, folder / "lstm.safetensors")
    training = card("full", network="lstm")["training"]
    write(folder, "lstm", {**told, "network": "lstm", "actions": ["walk", "run", "sit"], "training": training})
    return folder


def test_all_networks_do_the_same_trials(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The networks without a sensor are read from their files alike, and parts are left out of the full one alike.
    for name in ("no_environment", "hidden_interaction", "hidden_environment"):
        monkeypatch.delitem(TRAINED, name)
    monkeypatch.setattr("nsm_blender.evaluation.nsm_rooms.TASKS", 1)
    assert "sit" in load(shipped / "full.safetensors").card["actions"]
    figures = evaluate(None, quick=True, development=True, tables=["ablations"], ablations=[shipped], processes=1)
    rows = {name.split(".")[2] for name in figures}
    assert rows == {*TRAINED, "lstm", "trained"}
    # The same weights from the same start.
    for figure in ("pe_cm", "finished", "foot_slide_cm_per_s"):
        assert figures[f"nsm.ablation.full.{figure}"] == figures[f"nsm.ablation.concatenation.{figure}"]
    assert figures["nsm.ablation.full.finished"] == 1.0
    assert (
        figures["nsm.ablation.lstm.finished"] == 0.0 and figures["nsm.ablation.lstm.response_s.walk_sit.responded"] == 0
    )
    assert figures["nsm.ablation.concatenation.response_s.idle_walk.responded"] == 1.0
    assert figures["nsm.ablation.no_bidirectional.motion_detail_deg"] != figures["nsm.ablation.full.motion_detail_deg"]
    assert figures["nsm.ablation.told_aside.pe_cm"] != figures["nsm.ablation.full.pe_cm"]
    assert {name for name in rows if f"nsm.ablation.{name}.clutter.tasks" in figures} == {
        "full", "no_interaction", "concatenation", "lstm"
    }  # fmt: skip
    assert figures["nsm.ablation.concatenation.clutter.done"] == figures["nsm.ablation.full.clutter.done"]
    assert figures["nsm.ablation.trained.epochs"] == 7 and not any("carry" in name for name in figures)


def test_what_is_measured_before_a_failure_is_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("CHAIRS", "STARTS"):
        monkeypatch.setattr(f"nsm_blender.evaluation.nsm.{name}", 1)
    for name in NETWORKS:
        write(folder, name, {"actions": ["sit"], **card(name)})
    weights, out = tmp_path / "own.safetensors", tmp_path / "figures.json"
    shutil.copy(weights_folder() / FILE, weights)
    told = json.loads((weights_folder() / FILE).with_suffix(".json").read_text())
    earlier = {"nsm.success.rate": 0.5, "nsm.precision.sit.finished": 0.0}
    write(tmp_path, "own", {**told, "actions": ["sit"], "results": earlier})
    asked = ["--tables", "ablations", "precision", "--ablations", str(folder), "--processes", "1"]
    # What the networks in the folder hold is no weights: the second table fails.
    assert main(["evaluate", "nsm", "--weights", str(weights), *asked, "--card", "--json", str(out)]) == 1
    assert "full.safetensors" in capsys.readouterr().err
    figures = json.loads(out.read_text())
    assert figures["nsm.precision.sit.finished"] == 1.0 and figures["meta"]["system"] == "nsm"
    results = json.loads((tmp_path / "own.json").read_text())["results"]
    assert results["nsm.precision.sit.finished"] == 1.0 and results["nsm.success.rate"] == 0.5
