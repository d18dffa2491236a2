# SPDX-License-Identifier: GPL-3.0-or-later
"""The NSM's figures by the paper's protocols (6, 7): response, precision, success, foot slide, penetration, ablations.

Everything comes from the same `SceneBake` that the extension runs. What is reported is measured on held-out furniture
and rooms; `development` names others that nothing was trained on either, for choosing settings.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..baking.nsm import SceneBake
from ..errors import UserError
from ..models.nsm import ACTIONS, FPS
from ..models.nsm_predictor import Predictor
from ..models.weights import read_card
from ..motion.root import direction
from ..rollout.nsm_network import actions_of, load
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot
from ..workers import each
from .arrival import THINGS, arrivals_of, speed_figures, thing_figures
from .components import component_figures
from .nsm_ablations import (
    COMPARED,
    LEFT_OUT,
    TRAINED,
    Measured,
    as_text,
    left_out_figures,
    network_file,
    rows,
    settings_figures,
    table_figures,
    trainings_alike,
)
from .nsm_bodies import added_figures
from .nsm_climbs import COUNT as CLIMBS
from .nsm_climbs import ascents, climb_figures
from .nsm_components import outcomes, task_names
from .nsm_endurance import figures_of, wander
from .nsm_gatings import COMPARED as GATINGS_COMPARED
from .nsm_gatings import Walked, gatings_figures, walked
from .nsm_heights import COUNT, height_figures, puts
from .nsm_moved_goals import ALSO, Sat, moved_goals_figures, sat
from .nsm_moved_goals import COMPARED as MOVED
from .nsm_moved_goals import networks as moved_networks
from .nsm_plain import Plain, plain_figures, plain_puts, plain_tasks, plain_trials
from .nsm_rooms import ROOMS, success_figures, tasks
from .nsm_rooms import seeds as seeds_of_rooms
from .nsm_trials import LABELLED, SEATS, Figures, Log, Trial, pieces, sit_shot, trial, trials

CHAIRS, LOADS, STARTS = 10, 5, 10
"""Numbers of unseen chairs, of unseen things to carry, and of starts for each (Table 3)."""
ABLATED = {"sit": ("sit", CHAIRS), "carry": ("pick_up", LOADS)}
"""Action and number of things of each task of the networks that were trained for the ablations."""
CLUTTERED = 6
"""Number of furnished rooms, of 10 tasks each, in which the networks of the ablations are compared."""
TIMED = ("sit", "pick_up")
"""Actions that are told when to arrive."""
TABLES = ("precision", "ablations", "response", "endurance", "success", "heights", "climbs", "arrival",
          "speeds", "plain")  # fmt: skip
"""Tables of a full evaluation."""
COMPONENTS = "components"
"""The table that is measured only where it is asked for: it takes most of an hour, on development tasks."""

MOVED_GOALS = "moved_goals"
"""The table of networks that learned with goals which are told beside things, measured only where it is asked for."""
GATINGS = "gatings"
"""The table of networks with and without the Kronecker product, measured only where it is asked for."""
ASKED_FOR = (COMPONENTS, MOVED_GOALS, GATINGS)
"""Tables that are not of a full evaluation."""
OF_NETWORKS = ("ablations", MOVED_GOALS, GATINGS)
"""Tables of networks that were trained to be compared."""

KEPT_EVERY = 60.0
"""Seconds after which the figures so far of a table that takes long are told, so that stopping it loses little."""

Keep = Callable[[Figures], None]


def precision_figures(task: str, trials: Sequence[Trial], log: Log) -> Figures:
    """Means over the finished trials, and the share of them: the errors mean nothing without it."""
    for one in trials:
        state = "done" if one.finished else "NOT DONE"
        log(
            f"{task} {one.name:13s} {state:8s} raw {one.raw_cm:6.1f} cm {one.raw_deg:5.1f} deg  "
            f"corrected {one.cm:6.1f} cm {one.deg:5.1f} deg  {one.seconds:.1f} s"
        )
    done = [one for one in trials if one.finished]
    out = {f"nsm.precision.{task}.finished": len(done) / max(len(trials), 1)}
    if done:
        name = f"nsm.precision.{task}"
        out |= {
            f"{name}.pe_cm": _mean(one.cm for one in done),
            f"{name}.re_deg": _mean(one.deg for one in done),
            f"{name}.raw_pe_cm": _mean(one.raw_cm for one in done),
            f"{name}.raw_re_deg": _mean(one.raw_deg for one in done),
            f"{name}.raw_pe_cm.median": float(np.median([one.raw_cm for one in done])),
            f"nsm.foot_slide_cm_per_s.{task}": _mean(one.slide for one in trials),
            f"nsm.foot_slide_cm_per_s.{task}_low": _mean(one.low_slide for one in trials),
            f"nsm.motion_detail_deg.{task}": _mean(one.detail for one in trials),
            f"nsm.penetration_cm.{task}": float(np.median([one.depth_cm for one in trials])),
        }
        out |= added_figures(f"nsm.added_acceleration.{task}", [one.added for one in trials], FPS)
    return out


def response(network: Predictor, starts: int = STARTS, development: bool = False) -> Figures:
    """Fig. 10: seconds from the command to the action's label; never is told as the share that responded."""
    out: Figures = {}
    rng = np.random.default_rng([32, int(development)])
    for action in ("walk", "run"):
        times = [_time_to(network, action, float(rng.uniform(-math.pi, math.pi))) for _ in range(starts)]
        out |= _times(f"nsm.response_s.idle_{action}", times)
    if "sit" in actions_of(network.card):
        for action in ("walk", "run"):
            chosen = pieces(SEATS, starts, development)
            times = [trial(sit_shot(piece, rng, action), network, "sit")[0].seconds for piece in chosen]
            out |= _times(f"nsm.response_s.{action}_sit", times)
    return out


def _time_to(network: Predictor, action: str, way: float) -> float:
    """Seconds from standing for a second to the label, told to go 6 m in a direction."""
    end = 6 * direction(np.array(way))
    keys = [ActionKey(action, "goal", start=round(FPS))]
    shot = Shot(action, FPS, round(6 * FPS), keys=keys, goals=[Goal("goal", [*end.tolist(), 0.0])], start=[0.0] * 4)
    motion = SceneBake(shot, network).motion()
    after = motion.actions[round(FPS) :, ACTIONS.index(action)] > LABELLED
    return float(after.argmax() / FPS) if after.any() else math.inf


def _times(name: str, times: Sequence[float]) -> Figures:
    came = [value for value in times if math.isfinite(value)]
    out = {f"{name}.responded": len(came) / max(len(times), 1)}
    return out | ({f"{name}.mean": _mean(came)} if came else {})


def picture(weights: Path | None, path: Path) -> None:
    """Fig. 7: which experts the gating chooses, over a walk to an unseen chair and sitting down, as an image file."""
    from .nsm_picture import draw

    shot = sit_shot(pieces(SEATS, 1)[0], np.random.default_rng(34))
    bake = SceneBake(shot, weights)
    bake.motion()
    draw(bake.record(), path)


def evaluate(
    weights: Path | None = None,
    log: Log = print,
    quick: bool = False,
    development: bool = False,
    tables: Collection[str] = TABLES,
    processes: int = 2,
    ablations: Sequence[Path] = (),
    keep: Keep | None = None,
    cases: tuple[int, int, int] = (0, 0, 0),
    components: Collection[str] = (),
    cluster: str | None = None,
) -> Figures:
    """All figures of `tables`; `quick` takes a tenth of the trials. processes, cluster: that measure, see
    `workers.each`.

    ablations: folders of networks that were trained alike, see `nsm_ablations.TRAINED`, each with another seed; none:
    parts are left out of the rollout of the network that is measured. cases: sits, carries and room tasks of the table
    of components. keep: is told the figures so far whenever a table is done, and those of the components every minute.
    """
    network = load(weights)
    if cluster is not None:
        # Workers elsewhere have another working folder.
        weights = None if weights is None else weights.absolute()
        ablations = [folder.absolute() for folder in ablations]
    every = _jobs(actions_of(network.card), quick, development)
    if MOVED_GOALS in tables:
        every |= _moved_jobs(ablations, quick, development)
    if GATINGS in tables:
        every |= _gatings_jobs(ablations, quick, development)
    shared = trainings_alike(ablations) if "ablations" in tables and ablations else None
    if shared is not None:
        every = {name: job for name, job in every.items() if job.table != "ablations"}
        every |= _trained_jobs(ablations, quick, development)
    every |= {f"component {name}": _Job(COMPONENTS, outcomes, (name, tuple(components))) for name in task_names(*cases)}
    jobs = {name: job for name, job in every.items() if job.table in tables}
    results: dict[str, Any] = {}
    out: Figures = {}
    done = each(partial(_measured, weights), jobs.items(), processes, cluster)
    kept = time.perf_counter()
    for number, ((measured, job), result) in enumerate(done, 1):
        results[measured] = result
        log(f"{number}/{len(jobs)} {measured}")
        names = [name for name, other in jobs.items() if other.table == job.table]
        if results.keys() >= set(names):
            mine = {name: results[name] for name in names}
            if job.table == "ablations" and shared is not None:
                found = _ablation_figures(len(ablations), mine, log) | settings_figures(shared)
            elif job.table == MOVED_GOALS:
                found = moved_goals_figures(
                    [_by_row(mine, number, "moved", (*MOVED, *ALSO)) for number in range(len(ablations))], log
                )
            elif job.table == GATINGS:
                found = gatings_figures(
                    [_by_row(mine, number, "gating", GATINGS_COMPARED) for number in range(len(ablations))], log
                )
            else:
                found = _figures(job.table, mine, log)
            for key, value in found.items():
                log(f"{key} {value:.3f}")
            out |= found
            if keep is not None:
                keep(out)
        elif job.table == COMPONENTS and keep is not None and time.perf_counter() - kept > KEPT_EVERY:
            kept = time.perf_counter()
            so_far = [results[name] for name in names if name in results]
            keep(out | component_figures("nsm", so_far, lambda _: None))
    return out


def _figures(table: str, results: Mapping[str, Any], log: Log) -> Figures:
    """The figures of a table from what its jobs found, by their names."""

    def of(kind: str) -> list[Any]:
        return [one for name, found in results.items() if name.startswith(f"{kind} ") for one in found]

    out: Figures = {}
    if table == COMPONENTS:
        out |= component_figures("nsm", list(results.values()), log)
    elif table == "response":
        out |= results["response"]
    elif table == "endurance":
        out |= figures_of(results["endurance"])
    elif table == "heights":
        out |= height_figures(of("heights"), log)
    elif table == "climbs":
        out |= climb_figures(of("climbs"), log)
    elif table == "speeds":
        out |= results["speeds"]
    elif table == "arrival":
        out |= thing_figures({task: found for task in TIMED if (found := of(f"arrival {task}"))}, log)
    elif table == "plain":
        out |= plain_figures(of("plain"), log)
    elif table == "success":
        out |= success_figures(of("room"), log)
    elif table == "precision":
        for task in ("sit", "carry"):
            out |= precision_figures(task, found, log) if (found := of(task)) else {}
    elif table == "ablations":
        for ablation in LEFT_OUT:
            out |= left_out_figures(ablation, of(ablation))
    return out


def _by_row(results: Mapping[str, Any], training: int, kind: str, names: Iterable[str]) -> dict[str, list[Any]]:
    """What jobs of a kind found, by the names of those rows that there are in a training."""
    found = {
        row: [one for name, done in results.items() if name.startswith(f"{training} {row} {kind} ") for one in done]
        for row in names
    }
    return {row: done for row, done in found.items() if done}


def _ablation_figures(trainings: int, results: Mapping[str, Any], log: Log) -> Figures:
    """The figures of networks that were trained alike, in so many trainings, from what `_trained_jobs` found."""
    every = (*TRAINED, *COMPARED)

    def measured(training: int) -> Measured:
        responses = {row: f"{training} {row} response" for row in every}
        return Measured(
            {task: _by_row(results, training, task, every) for task in ABLATED},
            _by_row(results, training, "room", every),
            {row: results[name] for row, name in responses.items() if name in results},
        )

    out = table_figures([measured(training) for training in range(trainings)], log)
    for line in as_text(out):
        log(line)
    return out


@dataclass(frozen=True)
class _Job:
    """A piece of a table: `measure` with the network and `arguments`."""

    table: str
    measure: Callable[..., Any]
    arguments: tuple[Any, ...]


def _jobs(actions: Collection[str], quick: bool, development: bool) -> dict[str, _Job]:
    starts = max(STARTS // 10, 1) if quick else STARTS
    ablated = max(starts // 5, 1)
    out: dict[str, _Job] = {}
    for task, action, things in (("sit", "sit", CHAIRS), ("carry", "pick_up", LOADS)):
        if action in actions:
            for n in range(things):
                out[f"{task} {n}"] = _Job("precision", trials, (task, n, starts, development))
                out[f"plain {task} {n}"] = _Job("plain", plain_trials, (task, n, starts, development))
    if "sit" in actions:
        out |= {
            f"{name} {n}": _Job("ablations", trials, ("sit", n, ablated, development, options))
            for name, options in LEFT_OUT.items()
            for n in range(CHAIRS)
        }
    if "put_down" in actions:
        heights = range(0, COUNT, 10 if quick else 1)
        for n in heights:
            out[f"heights {n}"] = _Job("heights", puts, ([n], development))
            out[f"plain put_down {n}"] = _Job("plain", plain_puts, ([n], development))
    if "climb" in actions:
        climbs = range(0, CLIMBS, 10 if quick else 1)
        out |= {f"climbs {n}": _Job("climbs", ascents, ([n], development)) for n in climbs}
    out["response"] = _Job("response", response, (starts, development))
    out["speeds"] = _Job("speeds", _speeds, ())
    for task in TIMED:
        if task in actions:
            timed = range(2 if quick else THINGS)
            out |= {f"arrival {task} {n}": _Job("arrival", arrivals_of, (task, n, development)) for n in timed}
    out["endurance"] = _Job("endurance", wander, (development,))
    rooms = seeds_of_rooms(2 if quick else ROOMS, development)
    out |= {f"plain room {seed}": _Job("plain", plain_tasks, (seed,)) for seed in rooms}
    return out | {f"room {seed}": _Job("success", tasks, (seed,)) for seed in rooms}


def _moved_jobs(folders: Sequence[Path], quick: bool, development: bool) -> dict[str, _Job]:
    """Seats that are told aside, for the networks in some folders. Raises UserError when these learned with goals that
    are exact, or were not trained alike."""
    if not folders:
        raise UserError("The table 'moved_goals' is of networks that learned with --vague-goals; name their folders.")
    if not trainings_alike(folders, moved_networks).get("vague_goals"):
        raise UserError(f"{folders[0]}: these networks learned with exact goals; train them with --vague-goals.")
    names = [moved_networks(folder) for folder in folders]
    return _on_seats(MOVED_GOALS, "moved", _sat_of, folders, names, quick, development)


def _gatings_jobs(folders: Sequence[Path], quick: bool, development: bool) -> dict[str, _Job]:
    """Walks to seats, of the networks in some folders with and without the Kronecker product. Raises UserError when
    they were not trained alike."""
    if not folders:
        raise UserError("The table 'gatings' is of networks that were trained for it; name their folders.")
    trainings_alike(folders, lambda _: GATINGS_COMPARED)
    return _on_seats(GATINGS, "gating", _walked_of, folders, [GATINGS_COMPARED] * len(folders), quick, development)


def _on_seats(
    table: str,
    kind: str,
    measure: Callable[..., Any],
    folders: Sequence[Path],
    names: Sequence[Sequence[str]],
    quick: bool,
    development: bool,
) -> dict[str, _Job]:
    """Jobs with each unseen seat for the networks with some names in each folder, which share the starts of one."""
    starts = 1 if quick else math.ceil(STARTS / len(folders))
    return {
        f"{number} {name} {kind} {n}": _Job(table, measure, (folder / f"{name}.safetensors", n, starts, development))
        for number, (folder, mine) in enumerate(zip(folders, names, strict=True))
        for name in mine
        for n in range(1 if quick else CHAIRS)
    }


def _trained_jobs(folders: Sequence[Path], quick: bool, development: bool) -> dict[str, _Job]:
    """The same trials for each of the networks in a folder, of what they were taught. Several folders share the number
    of trials of one: chance in training moves the figures more than chance in trials."""
    out: dict[str, _Job] = {}
    starts = 1 if quick else math.ceil(STARTS / len(folders))
    rooms = seeds_of_rooms(1 if quick else CLUTTERED, development)
    for number, folder in enumerate(folders):
        for name, row in rows(folder).items():
            weights = network_file(folder, row)
            able = actions_of(read_card(weights))
            if name == row.network:
                out[f"{number} {name} response"] = _Job("ablations", _response_of, (weights, starts, development))
                for seed in rooms[number % len(rooms) :: len(folders)]:
                    out[f"{number} {name} room {seed}"] = _Job("ablations", _rooms_of, (weights, seed))
            for task, (action, things) in ABLATED.items():
                if action not in able:
                    continue
                for n in range(1 if quick else things):
                    arguments = (weights, task, n, starts, development, row.options, row.aside)
                    out[f"{number} {name} {task} {n}"] = _Job("ablations", _trials_of, arguments)
    return out


def _speeds(network: Predictor) -> Figures:
    """Least and greatest steady speeds."""
    return speed_figures(None, lambda _: None, "nsm", network)


def _trials_of(_: Predictor, weights: Path, *arguments: Any) -> list[Trial]:
    """`trials` of other weights than those that are measured."""
    return trials(load(weights), *arguments)


def _rooms_of(_: Predictor, weights: Path, seed: int) -> list[Plain]:
    """`plain_tasks` of other weights than those that are measured."""
    return plain_tasks(load(weights), seed)


def _sat_of(_: Predictor, weights: Path, *arguments: Any) -> list[Sat]:
    """`sat` of other weights than those that are measured."""
    return sat(load(weights), *arguments)


def _walked_of(_: Predictor, weights: Path, *arguments: Any) -> list[Walked]:
    """`walked` of other weights than those that are measured."""
    return walked(load(weights), *arguments)


def _response_of(_: Predictor, weights: Path, *arguments: Any) -> Figures:
    """`response` of other weights than those that are measured."""
    return response(load(weights), *arguments)


def _measured(weights: Path | None, job: tuple[str, _Job]) -> Any:
    """What a job finds, by its name."""
    return job[1].measure(_loaded(weights), *job[1].arguments)


@lru_cache(maxsize=1)
def _loaded(weights: Path | None) -> Predictor:
    """The network that a process measures in one job after another."""
    return load(weights)


def _mean(values: object) -> float:
    return float(np.mean(list(values)))  # type: ignore[call-overload]
