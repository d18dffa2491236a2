# SPDX-License-Identifier: GPL-3.0-or-later
"""The networks of Tables 2 and 3 and Fig. 12, trained alike: others in place of the NSM, and the NSM without a part.

Without such networks a part is left out of the rollout of the full one, which was never taught to do without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UserError
from ..models.nsm_baselines import BASELINES, NETWORKS
from ..models.weights import card_path, file_hash, read_card
from ..motion.rotations import Array
from ..rollout.nsm import Options
from .nsm_plain import Plain
from .nsm_trials import DEPTH_PERCENTILE, Figures, Log, Trial

FULL = "full"
"""Name of the network that nothing is left out of."""
NO_SENSORS = "no_sensors"
"""Name of the network that learned without either sensor."""
LEFT_OUT = {
    "no_bidirectional": Options(bidirectional=False),
    "no_interaction": Options(interaction=False),
    "no_environment": Options(environment=False),
}
"""Parts left out of the rollout of one network."""


@dataclass(frozen=True)
class Row:
    """A row of the table. network: name of the file of weights. aside: meters to the left of where it is by which the
    place of use is told, which shows whether the network goes by what it is told or by what it senses."""

    network: str
    options: Options = field(default_factory=Options)
    aside: float = 0.0


ASIDE = 0.1
"""Meters by which a place of use is told aside."""
TRAINED: Mapping[str, Row] = {
    FULL: Row(FULL),
    # The paper takes the interpolation away (Fig. 13), not what is predicted: nothing is trained anew for it.
    "no_bidirectional": Row(FULL, Options(bidirectional=False)),
    "no_interaction": Row("no_interaction"),
    "no_environment": Row("no_environment"),
    "concatenation": Row("concatenation"),
    "told_aside": Row(FULL, aside=ASIDE),
    "hidden_interaction": Row(FULL, Options(interaction=False)),
    "hidden_environment": Row(FULL, Options(environment=False)),
}
"""Rows for networks that are trained alike. The last three are not the paper's: places that are told aside, with errors
to what was told, and sensors that see nothing in a network that was taught with them. They show what the full network
goes by, of which another may learn to do without."""
COMPARED: Mapping[str, Row] = {name.replace("-", "_"): Row(name.replace("-", "_")) for name in BASELINES}
"""Rows for the networks that the paper compares with (7.1), of which a folder may hold some."""


@dataclass(frozen=True)
class _Own:
    """What sets a network apart: sensors that it was trained without, its gating, and which network it is."""

    without: list[str] = field(default_factory=list)
    gating: str = "kronecker"
    network: str = NETWORKS[0]

    def __str__(self) -> str:
        return f"{self.network} with {self.gating}, without {', '.join(self.without) or 'nothing'}"


_OWN: Mapping[str, _Own] = {
    FULL: _Own(),
    "no_interaction": _Own(["interaction"]),
    "no_environment": _Own(["environment"]),
    NO_SENSORS: _Own(["environment", "interaction"]),
    "concatenation": _Own(gating="concatenation"),
    **{name.replace("-", "_"): _Own(network=name) for name in BASELINES},
}
_ERROR = ".standard_error"
"""End of the name of a figure that tells the standard error of another."""
_DONE = (".finished", ".clutter.done")
"""Ends of the names of shares of tasks that are done."""
_COUNTS = (".tasks", ".trials")
"""Ends of the names of numbers of trials."""
_TOLD = ("epochs", "hidden", "experts")
"""Settings that are told among the figures, as they are not those of the shipped weights."""


def rows(folder: Path) -> dict[str, Row]:
    """The rows for a folder of networks: those of TRAINED, and those of COMPARED that it holds."""
    return {**TRAINED, **{name: row for name, row in COMPARED.items() if network_file(folder, row).exists()}}


def network_file(folder: Path, row: Row) -> Path:
    """The weights in a folder of networks that are rolled out for a row."""
    return folder / f"{row.network}.safetensors"


def networks_in(folder: Path) -> list[str]:
    """Names of the networks that a folder must hold, and of the others that it holds."""
    return list(dict.fromkeys(row.network for row in rows(folder).values()))


def trained_alike(folder: Path, names: Sequence[str] = ()) -> dict[str, Any]:
    """The settings that all networks in a folder share, and the number of frames that they were trained on. names: of
    the networks, by default of all.

    Raises UserError when one is missing, was trained otherwise than its name says, or differs from the full one in
    anything else.
    """
    told = {name: _training(folder / f"{name}.safetensors") for name in names or networks_in(folder)}
    for name, training in told.items():
        settings = training["settings"]
        # Networks from before there were others do not tell which they are.
        found = _Own(sorted(settings["without"]), settings["gating"], settings.get("network", NETWORKS[0]))
        if found != _OWN[name]:
            raise UserError(f"{folder / name}.safetensors was trained as {found}; train it as {_OWN[name]}.")
    full = _shared(told[FULL])
    for name in told:
        other = _shared(told[name])
        differs = sorted(key for key in full.keys() | other.keys() if full.get(key) != other.get(key))
        if differs:
            raise UserError(
                f"{folder / name}.safetensors and {FULL}.safetensors were not trained alike: {differs[0]} "
                f"was {other.get(differs[0])} and {full.get(differs[0])}; train them with the same data and options."
            )
    return full


def trainings_alike(folders: Sequence[Path], names: Callable[[Path], Sequence[str]] = networks_in) -> dict[str, Any]:
    """The settings that the networks of all folders share, each folder with another seed, as of `trained_alike`. names:
    of the networks that count in a folder.

    Raises UserError as that does, and when two folders hold trainings with the same seed, or differ in anything else.
    """
    every = {folder: trained_alike(folder, names(folder)) for folder in folders}
    first, *others = folders
    full = every[first]
    for folder in others:
        other = every[folder]
        differs = sorted(key for key in full.keys() | other.keys() if key != "seed" and full.get(key) != other.get(key))
        if differs:
            raise UserError(
                f"{folder} and {first} were not trained alike: {differs[0]} was {other.get(differs[0])} and "
                f"{full.get(differs[0])}; train them with the same data and options."
            )
    if len({told.get("seed") for told in every.values()}) < len(folders):
        raise UserError("Two folders hold trainings with the same seed; train the networks of each with another one.")
    return full


def hashes(folder: Path) -> dict[str, str]:
    """Of the weights of all networks in a folder, by name."""
    files = {name: folder / f"{name}.safetensors" for name in _OWN}
    return {name: file_hash(path) for name, path in files.items() if path.exists()}


def _training(weights: Path) -> dict[str, Any]:
    if not weights.exists():
        raise UserError(
            f"{weights}: there is no such network; train it with nsm-blender train nsm, with --without and --gating as "
            "its name says."
        )
    found = read_card(weights).get("training", {})
    if "settings" not in found:
        raise UserError(f"{card_path(weights)} does not tell how the network was trained; train it again.")
    return dict(found)


def _shared(training: Mapping[str, Any]) -> dict[str, Any]:
    apart = [one.name for one in fields(_Own)]
    settings = {key: value for key, value in training["settings"].items() if key not in apart}
    done = {"frames": training.get("frames"), "epochs trained": len(training.get("history", ()))}
    return {**settings, **done}


def settings_figures(shared: Mapping[str, Any]) -> Figures:
    """How the networks were trained that are compared."""
    return {f"nsm.ablation.trained.{name}": float(shared[name]) for name in (*_TOLD, "frames") if shared.get(name)}


@dataclass(frozen=True)
class Measured:
    """What the networks in one folder did, by row: trials of each task, tasks in furnished rooms, and figures of how
    fast they respond."""

    trials: Mapping[str, Mapping[str, Sequence[Trial]]]
    rooms: Mapping[str, Sequence[Plain]]
    responses: Mapping[str, Figures]


def table_figures(trainings: Sequence[Measured], log: Log) -> Figures:
    """Tables 2 and 3, and clutter. Of several trainings the figures are means over them, and the standard errors those
    of these means; of one, the standard errors are over its trials. Errors over trainings hold what chance in training
    moves, too, which those over trials leave out."""
    found = over_trainings([_of_one(one, log) for one in trainings], _DONE)
    # Some of the networks to compare with may have been trained less often.
    rows = [row for one in trainings for row in one.trials.get("sit", ())]
    return found | {f"nsm.ablation.{row}.trainings": float(rows.count(row)) for row in dict.fromkeys(rows)}


def over_trainings(found: Sequence[Figures], with_errors: tuple[str, ...]) -> Figures:
    """The figures of several trainings: means, sums of numbers of trials, and standard errors of those figures that
    have them in each training, or whose names end so. Of one training, its own."""
    if len(found) == 1:
        return found[0]
    out: Figures = {}
    for figure in dict.fromkeys(name for one in found for name in one if not name.endswith(_ERROR)):
        values = [one[figure] for one in found if figure in one]
        if figure.endswith(_COUNTS):
            out[figure] = sum(values)
            continue
        out[figure] = float(np.mean(values))
        if figure.endswith(with_errors) or any(figure + _ERROR in one for one in found):
            out |= _with_error(figure, values)
    return out


def _of_one(measured: Measured, log: Log) -> Figures:
    """The figures of the networks in one folder."""
    out: Figures = {}
    for task, trials in measured.trials.items():
        out |= trained_figures(task, trials, log) if FULL in trials else {}
    out |= clutter_figures(measured.rooms, log)
    for name, found in measured.responses.items():
        out |= response_figures(name, found)
    return out


def left_out_figures(name: str, trials: Sequence[Trial]) -> Figures:
    """Table 3: sitting down with a part of the rollout left out."""
    return _task_figures(f"nsm.ablation.{name}", trials)


def trained_figures(task: str, trials: Mapping[str, Sequence[Trial]], log: Log) -> Figures:
    """Table 3 and Fig. 12 for one task, from the same trials of all networks: place and rotation before the last
    correction, foot slide, motion detail, and how much farther off than the full network each is where both finished,
    with the standard error of the means."""
    out: Figures = {}
    for name, found in trials.items():
        log(f"{name}, {task}: {sum(one.finished for one in found)} of {len(found)} done")
        row = f"nsm.ablation.{name}" if task == "sit" else f"nsm.ablation.{name}.{task}"
        out |= _task_figures(row, found)
        out |= _with_error(f"{row}.pe_cm", [one.raw_cm for one in found if one.finished])
        if name != FULL:
            both = [
                (one, full) for one, full in zip(found, trials[FULL], strict=True) if one.finished and full.finished
            ]
            out |= _with_error(f"{row}.farther_than_full_cm", [one.raw_cm - full.raw_cm for one, full in both])
            out |= _with_error(f"{row}.farther_than_full_deg", [one.raw_deg - full.raw_deg for one, full in both])
        out[f"{row}.foot_slide_cm_per_s"] = float(np.mean([one.slide for one in found]))
        out[f"{row}.motion_detail_deg"] = float(np.mean([one.detail for one in found]))
        out[f"{row}.penetration_cm"] = float(np.mean([one.depth_cm for one in found]))
    return out


def clutter_figures(found: Mapping[str, Sequence[Plain]], log: Log) -> Figures:
    """What the networks do alone in the same furnished rooms: the share of tasks that are done, how deep the body is in
    things, how fast feet in contact slide, and how much less is done, how much deeper the body is and how much faster
    feet slide than with the full network, with the standard error of the means."""
    out: Figures = {}
    for name, tasks in found.items():
        log(f"{name}, clutter: {sum(one.done for one in tasks)} of {len(tasks)} done")
        row, (done, depths, slides) = f"nsm.ablation.{name}.clutter", _of_tasks(tasks)
        out |= {
            f"{row}.tasks": float(len(tasks)),
            f"{row}.done": float(done.mean()),
            f"{row}.depth_cm": float(depths.mean()),
            f"{row}.foot_slide_cm_per_s": float(slides.mean()),
        }
        if name != FULL and FULL in found:
            full_done, full_depths, full_slides = _of_tasks(found[FULL])
            out |= _with_error(f"{row}.done_less_than_full", (full_done - done).tolist())
            out |= _with_error(f"{row}.deeper_than_full_cm", (depths - full_depths).tolist())
            out |= _with_error(f"{row}.slides_more_than_full_cm_per_s", (slides - full_slides).tolist())
    return out


def _of_tasks(tasks: Sequence[Plain]) -> tuple[Array, Array, Array]:
    """Of each task (N,) 1 where it is done; the depth in centimeters of the body in things at DEPTH_PERCENTILE of the
    frames; and the slide of the feet in cm/s."""
    done = np.array([float(one.done) for one in tasks])
    depths = np.array([100 * float(np.percentile(one.depths, DEPTH_PERCENTILE)) for one in tasks])
    return done, depths, np.array([one.slide_cm_per_s for one in tasks])


def response_figures(name: str, found: Figures) -> Figures:
    """Table 2 for one network, from what was measured of it as of any other."""
    return {f"nsm.ablation.{name}.{figure.removeprefix('nsm.')}": value for figure, value in found.items()}


_COLUMNS = {
    "idle-walk s": "response_s.idle_walk.mean",
    "idle-run s": "response_s.idle_run.mean",
    "walk-sit s": "response_s.walk_sit.mean",
    "run-sit s": "response_s.run_sit.mean",
    "sit done": "finished",
    "sit PE cm": "pe_cm",
    "sit RE deg": "re_deg",
    "sit slide cm/s": "foot_slide_cm_per_s",
    "carry done": "carry.finished",
    "carry PE cm": "carry.pe_cm",
    "carry RE deg": "carry.re_deg",
    "carry slide cm/s": "carry.foot_slide_cm_per_s",
    "clutter done": "clutter.done",
    "clutter depth cm": "clutter.depth_cm",
    "clutter slide": "clutter.foot_slide_cm_per_s",
}
"""Columns of Tables 2 and 3, and the figures of each row that stand in them."""


def as_text(figures: Figures) -> list[str]:
    """Tables 2 and 3 as lines, a row for each network that was measured."""
    names = [name for name in (*COMPARED, *TRAINED) if f"nsm.ablation.{name}.finished" in figures]
    lines = ["  ".join([f"{'':18}", *(f"{column:>16}" for column in _COLUMNS)])]
    for name in names:
        values = [figures.get(f"nsm.ablation.{name}.{figure}") for figure in _COLUMNS.values()]
        lines.append("  ".join([f"{name:18}", *(f"{'-' if v is None else format(v, '.2f'):>16}" for v in values)]))
    return lines


def _with_error(name: str, values: Sequence[float]) -> Figures:
    """A mean and its standard error; nothing of fewer than two."""
    if len(values) < 2:
        return {}
    return {name: float(np.mean(values)), name + _ERROR: float(np.std(values, ddof=1) / len(values) ** 0.5)}


def _task_figures(row: str, trials: Sequence[Trial]) -> Figures:
    done = [one for one in trials if one.finished]
    out = {f"{row}.finished": len(done) / len(trials)}
    if done:
        out[f"{row}.pe_cm"] = float(np.mean([one.raw_cm for one in done]))
        out[f"{row}.re_deg"] = float(np.mean([one.raw_deg for one in done]))
    return out
