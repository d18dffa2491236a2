# SPDX-License-Identifier: GPL-3.0-or-later
"""The NSM's figures by the paper's protocols (6, 7): response, precision, success, foot slide, penetration, ablations.

Everything comes from the same `SceneBake` that the extension runs. What is reported is measured on held-out furniture
and rooms; `development` names others that nothing was trained on either, for choosing settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from ..baking.nsm import FRAMES_PER_STEP, SceneBake
from ..geometry.colliders import Collider, Surroundings
from ..geometry.furniture import Piece, held_out, make
from ..geometry.roles import Carryable, Seat
from ..models.nsm import ACTIONS, FPS
from ..models.nsm_kernels import NSM
from ..models.weights import read_card
from ..motion.motion import Motion
from ..motion.root import angle_of, direction
from ..motion.rotations import Array
from ..rollout.nsm import Options
from ..rollout.nsm_network import actions_of, load
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot
from .metrics import foot_slide, low_foot_slide
from .nsm_ablations import (
    LEFT_OUT,
    TRAINED,
    left_out_figures,
    network_file,
    settings_figures,
    told_aside,
    trained_alike,
    trained_figures,
)
from .nsm_bodies import motion_detail, penetration
from .nsm_endurance import figures_of, wander
from .nsm_rooms import ROOMS, success_figures, tasks
from .nsm_rooms import seeds as seeds_of_rooms

SEATS = ("chair", "armchair", "stool", "sofa", "bench", "office_chair")
BOXES = ("box", "crate", "sack", "drum")
CHAIRS, LOADS, STARTS = 10, 5, 10
"""Unseen chairs, unseen things to carry, and starts for each (Table 3)."""
NEAREST, FARTHEST = 1.2, 3.0
"""Metres from which one comes."""
AROUND = math.radians(110)
"""Starts lie within this angle from straight before the thing."""
CLEAR = 0.35
"""Metres from there to the thing, at least,"""
HEIGHTS = (0.1, 0.4, 0.7, 1.0)
"""at these heights."""
STAYING = 0.5
"""Seconds of sitting on that are measured too."""
SECONDS = {"sit": 12.0, "carry": 12.0}
"""After which a trial is not finished."""
ABLATED = {"sit": ("sit", CHAIRS), "carry": ("pick_up", LOADS)}
"""Action and number of things of each task of the networks that were trained for the ablations."""
TABLES = ("precision", "ablations", "response", "endurance", "success")
DEVELOPMENT = 100001
"""First of the seeds, in steps of 5, that are neither trained on nor reported on."""
LABELLED = 0.5
_LOW_PERCENTILE = 99

Figures = dict[str, float]
Log = Callable[[str], None]
Keep = Callable[[Figures], None]


@dataclass(frozen=True)
class Trial:
    """One time of going to a thing and using it.

    finished: whether it was done. raw_cm, raw_deg, cm, deg: how far off, before and after the last correction; infinite
    when it was not finished. seconds: until the action's label; infinite when it never came. slide, low_slide: cm/s.
    depth_cm: deepest percentile of the body in things. detail: mean change of the joints' angles, degrees a frame.
    """

    name: str
    finished: bool
    raw_cm: float
    raw_deg: float
    cm: float
    deg: float
    seconds: float
    slide: float
    low_slide: float
    depth_cm: float
    detail: float


def seeds(count: int, development: bool = False) -> list[int]:
    """Seeds of furniture that nothing was trained on."""
    if development:
        return [DEVELOPMENT + 5 * n for n in range(count)]
    return [seed for seed in range(5 * count + 5) if held_out(seed)][:count]


def pieces(kinds: Sequence[str], count: int, development: bool = False) -> list[Piece]:
    """Unseen furniture of all kinds in turn."""
    return [make(kinds[n % len(kinds)], seed) for n, seed in enumerate(seeds(count, development))]


def sit_shot(piece: Piece, rng: np.random.Generator, action: str = "walk") -> Shot:
    """From somewhere within 3 m, looking anywhere, to a seat."""
    seat = piece.handles
    assert isinstance(seat, Seat)
    collider = Collider(piece.kind, piece.boxes, role="seat", handles=seat)
    start = _start(collider, np.array(seat.place[:2]), float(angle_of(np.array(seat.facing[:2]))), rng)
    gait = "jog" if action == "run" else "walk"
    return _shot("sit", SECONDS["sit"], [ActionKey("sit", "goal", hold=STAYING, gait=gait)], [collider], start)


def carry_shot(piece: Piece, rng: np.random.Generator) -> Shot:
    """From somewhere within 3 m, looking anywhere, to a thing on the floor."""
    load_ = piece.handles
    assert isinstance(load_, Carryable)
    middle = (np.array(load_.left) + np.array(load_.right)) / 2
    collider = Collider(piece.kind, piece.boxes, role="carryable", handles=load_)
    start = _start(collider, middle[:2], float(angle_of(np.array(load_.facing[:2]))), rng)
    return _shot("carry", SECONDS["carry"], [ActionKey("pick_up", "goal")], [collider], start)


def _start(collider: Collider, place: Array, front: float, rng: np.random.Generator) -> list[float]:
    """Place and facing of one who does not stand in the thing."""
    thing = Surroundings([collider]).at(0)
    while True:
        away = rng.uniform(NEAREST, FARTHEST) * direction(np.array(front + rng.uniform(-AROUND, AROUND)))
        facing = float(rng.uniform(-math.pi, math.pi))
        body = np.array([[*(place + away), height] for height in HEIGHTS])
        if thing.distance(body).min() > CLEAR:
            return [*(place + away).tolist(), 0.0, facing]


def _shot(name: str, seconds: float, keys: list[ActionKey], colliders: list[Collider], start: list[float]) -> Shot:
    goal = Goal("goal", [0.0, 0.0, 0.0], collider=colliders[0].name if colliders else "")
    return Shot(name, FPS, round(seconds * FPS), keys=keys, goals=[goal], colliders=colliders, start=start)


def trial(shot: Shot, network: NSM, label: str, options: Options | None = None) -> tuple[Trial, Motion]:
    """Bake the shot and measure its first key."""
    motion = _until_done(shot, network, options)
    key = motion.meta["keys"][0]
    corrected = next((one for one in motion.meta["corrections"] if one["key"] == 0), None)
    off = (math.inf,) * 4
    if corrected is not None:
        off = (corrected["raw_cm"], corrected["raw_deg"], corrected["cm"], corrected["deg"])
    at = np.flatnonzero(motion.actions[:, ACTIONS.index(label)] > LABELLED)
    depth = penetration(motion, Surroundings(shot.colliders), [c.name for c in shot.colliders])
    name = shot.colliders[0].name if shot.colliders else shot.name
    return (
        Trial(
            name,
            not key["trouble"] and key["arrived"] is not None,
            *off,
            float(at[0] / FPS) if len(at) else math.inf,
            foot_slide(motion),
            low_foot_slide(motion),
            100 * float(np.percentile(depth, _LOW_PERCENTILE)),
            motion_detail(motion),
        ),
        motion,
    )


def _until_done(shot: Shot, network: NSM, options: Options | None) -> Motion:
    """The motion up to the moment when the keys are done, or to the end of the shot."""
    bake = SceneBake(shot, network, options)
    frames = 0
    while not bake.done and not bake.keys_done:
        bake.step()
        frames += FRAMES_PER_STEP
    if bake.done:
        return bake.motion()
    shorter = replace(shot, frames=min(frames + FRAMES_PER_STEP, shot.frames))
    return SceneBake(shorter, network, options, bake).motion()


def trials(
    network: NSM,
    task: str,
    number: int,
    starts: int,
    development: bool = False,
    options: Options | None = None,
    aside: float = 0.0,
) -> list[Trial]:
    """Table 3: sitting down on, or picking up, one unseen thing, from several starts. aside: see
    `nsm_ablations.told_aside`."""
    kinds, shot_of = (SEATS, sit_shot) if task == "sit" else (BOXES, carry_shot)
    piece = told_aside(pieces(kinds, number + 1, development)[number], aside)
    rng = np.random.default_rng([31, number, int(development)])
    return [trial(shot_of(piece, rng), network, task, options)[0] for _ in range(starts)]


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
    return out


def response(network: NSM, starts: int = STARTS, development: bool = False) -> Figures:
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


def _time_to(network: NSM, action: str, way: float) -> float:
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
    ablations: Path | None = None,
    keep: Keep | None = None,
) -> Figures:
    """All figures of `tables`; `quick` takes a tenth of the trials. processes: that measure at the same time.

    ablations: folder of networks that were trained alike, see `nsm_ablations.TRAINED`; None: parts are left out of the
    rollout of the network that is measured. keep: is told the figures so far whenever a table is done.
    """
    network = load(weights)
    every = _jobs(actions_of(network.card), quick, development)
    shared = None if ablations is None else trained_alike(ablations)
    if ablations is not None:
        every = {name: job for name, job in every.items() if job.table != "ablations"}
        every |= _trained_jobs(ablations, quick, development)
    jobs = {name: job for name, job in every.items() if job.table in tables}
    results: dict[str, Any] = {}
    out: Figures = {}
    # Fresh processes, so that none inherits threads of ours.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=_prepare, initargs=(weights,))
    try:
        waiting = {pool.submit(_measured, job.measure, job.arguments): name for name, job in jobs.items()}
        for number, future in enumerate(as_completed(waiting), 1):
            results[waiting[future]] = future.result()
            log(f"{number}/{len(jobs)} {waiting[future]}")
            table = jobs[waiting[future]].table
            names = [name for name, job in jobs.items() if job.table == table]
            if results.keys() >= set(names):
                found = _figures(table, {name: results[name] for name in names}, shared, log)
                for key, value in found.items():
                    log(f"{key} {value:.3f}")
                out |= found
                if keep is not None:
                    keep(out)
    finally:
        pool.shutdown(cancel_futures=True)
    return out


def _figures(table: str, results: Mapping[str, Any], shared: Mapping[str, Any] | None, log: Log) -> Figures:
    """The figures of a table from what its jobs found, by their names. shared: of networks that were trained alike."""

    def of(kind: str) -> list[Any]:
        return [one for name, found in results.items() if name.startswith(f"{kind} ") for one in found]

    out: Figures = {}
    if table == "response":
        out |= results["response"]
    elif table == "endurance":
        out |= figures_of(results["endurance"])
    elif table == "success":
        out |= success_figures(of("room"), log)
    elif table == "precision":
        for task in ("sit", "carry"):
            out |= precision_figures(task, found, log) if (found := of(task)) else {}
    elif shared is None:
        for ablation in LEFT_OUT:
            out |= left_out_figures(ablation, of(ablation))
    else:
        out |= settings_figures(shared)
        for task in ABLATED:
            rows = {name: of(f"{name} {task}") for name in TRAINED}
            out |= trained_figures(task, rows, log) if all(rows.values()) else {}
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
            out |= {f"{task} {n}": _Job("precision", trials, (task, n, starts, development)) for n in range(things)}
    if "sit" in actions:
        out |= {
            f"{name} {n}": _Job("ablations", trials, ("sit", n, ablated, development, options))
            for name, options in LEFT_OUT.items()
            for n in range(CHAIRS)
        }
    out["response"] = _Job("response", response, (starts, development))
    out["endurance"] = _Job("endurance", wander, (development,))
    rooms = seeds_of_rooms(2 if quick else ROOMS, development)
    return out | {f"room {seed}": _Job("success", tasks, (seed,)) for seed in rooms}


def _trained_jobs(folder: Path, quick: bool, development: bool) -> dict[str, _Job]:
    """The same trials for each of the networks in a folder, of what they were taught."""
    out: dict[str, _Job] = {}
    for name, row in TRAINED.items():
        weights = network_file(folder, name)
        able = actions_of(read_card(weights))
        for task, (action, things) in ABLATED.items():
            starts = 1 if quick else STARTS
            if action not in able:
                continue
            for n in range(1 if quick else things):
                arguments = (weights, task, n, starts, development, row.options, row.aside)
                out[f"{name} {task} {n}"] = _Job("ablations", _trials_of, arguments)
    return out


def _trials_of(_: NSM, weights: Path, *arguments: Any) -> list[Trial]:
    """`trials` of other weights than those that are measured."""
    return trials(load(weights), *arguments)


def _prepare(weights: Path | None) -> None:
    global _network
    _network = load(weights)


def _measured(job: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    assert _network is not None
    return job(_network, *arguments)


_network: NSM | None = None
"""What a measuring process measures."""


def _mean(values: object) -> float:
    return float(np.mean(list(values)))  # type: ignore[call-overload]
