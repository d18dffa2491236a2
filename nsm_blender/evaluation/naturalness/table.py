# SPDX-License-Identifier: GPL-3.0-or-later
"""The naturalness table: bakes of many cases, each action's measures against recorded percentiles."""

from __future__ import annotations

import importlib
import math
import os
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from ...baking.nsm import FRAMES_PER_STEP, SceneBake, bake_of
from ...errors import UserError
from ...models.nsm import FPS
from ...motion.motion import Motion
from ...naturalness.case import DEVELOPMENT_SEEDS, UNSEEN_SEEDS, Case
from ...naturalness.measures import measure
from ...naturalness.recorded import Row, recorded
from ...shot.shot import Shot
from ..bench import ONE_THREAD
from ..contact_sheet import draw
from ..nsm_plain import PLAIN
from .mesh_contact import mesh_contact

MODULES = ("locomotion_cases", "furniture_cases", "approach_cases")
"""Modules of this package with a dictionary `CASES`: a kind's name -> the function that makes the case of a seed."""

MOTIONS = {"strike": "strike_motions", "synthesis": "synthesis_motions"}
"""Kinds of motions by the manifold: the function of `manifold_cases` that makes those of some seeds."""

ACTIONS = ("walk", "jog", "start", "stop", "turn", "idle", "sit", "rise", "pick_up", "put_down", "open", "climb")
"""Actions whose ratios to the recorded 99th percentile have a fixed name in the JSON."""
MEASURES = ("root_speed", "yaw_speed", "hips_acceleration", "hands_acceleration", "feet_acceleration", "hips_bob")
"""Measures whose ratios to the recorded 99th percentile have a fixed name in the JSON."""

AFTERWARDS = 4.0
"""Time in seconds after the last key of a shot that is baked and measured: a standing character may turn and step."""

GATES = {"hips_bob": 90.0, "head_drop_cm": 90.0, "bent_elbow_deg": 90.0, "hand_height": 95.0, "hand_aside": 95.0}
"""Percentile at which cases and recordings are compared, for measures that are not compared at the 99th."""
_COMMANDED = ("root_speed", "cadence_per_min")
"""Measures of a synthesis that the animator commands, and that are not the motion's own."""
JUDGED_FROM = 10
"""Least number of recorded segments with which a row is judged."""
STRIKE_GATE = 99.9
"""Percentile at which strikes are compared: a kick is a rare event."""
BOTH_SIDES = ("seconds", "step_width_cm", "cadence_per_min", "step_length_cm", "walk_ratio_mm_min", "heel_off_deg",
              "elbow_deg", "hips_travel_cm_per_s")  # fmt: skip
"""Measures that can be too small as well: their median has to lie between the recorded 5th and 95th percentiles."""

LIMITS = {
    "excess_turning_deg": 90.0,
    "planted_twist_deg": 45.0,
    "path_end_cm": 5.0,
    "body_max_cm": 3.0,
    "carried_max_cm": 1.0,
    "placed_height_mm": 2.0,
    "synthesis_tremble_mm": 0.5,
}
"""Largest passing value of figures of whole motions, over all cases."""

NAMES = {
    "excess_turning_deg": "excess_turning_deg.max",
    "planted_twist_deg": "planted_twist_deg.max",
    "path_end_cm": "path_end_cm.max",
    "placed_height_mm": "placed_height_mm.max",
    "body_p99_cm": "mesh_penetration_cm.body.p99",
    "body_max_cm": "mesh_penetration_cm.body.max",
    "carried_p99_cm": "mesh_penetration_cm.carried.p99",
    "carried_max_cm": "mesh_penetration_cm.carried.max",
    "synthesis_tremble_mm": "synthesis_tremble_mm",
}
"""Names in the JSON of figures of whole motions: the largest over the cases, for placed_height_mm in absolute value."""

Figures = dict[str, float]
Log = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case.

    state: "baked", "not done" (baked, but a key failed), "refused" (as expected), "refused wrongly", "accepted
    wrongly", "crashed". text: of the failure, the refusal or the exception. values: of each segment, (action, measure,
    value). whole: of all of it.
    """

    kind: str
    seed: int
    state: str
    text: str = ""
    values: list[tuple[str, str, float]] = field(default_factory=list)
    whole: Figures = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Line:
    """A row of the table. gate: the compared percentiles, in words. worst: case with the largest value."""

    name: str
    count: int
    median: float
    highest: float
    people: Row | None
    gate: str
    passes: bool | None
    worst: str


@dataclass
class Table:
    """All outcomes so far."""

    outcomes: list[Outcome] = field(default_factory=list)

    def lines(self) -> list[Line]:
        """The rows: actions' measures, then figures of whole motions."""
        rows, out = recorded(), []
        grouped: dict[tuple[str, str], list[tuple[float, str]]] = {}
        whole: dict[str, list[tuple[float, str]]] = {}
        for one in self.outcomes:
            case = f"{one.kind} {one.seed}"
            for action, name, value in one.values:
                grouped.setdefault((action, name), []).append((value, case))
            for name, value in one.whole.items():
                if name == "head_tremble_mm":
                    if one.kind.startswith(tuple(MOTIONS)):
                        whole.setdefault("synthesis_tremble_mm", []).append((value, case))
                else:
                    whole.setdefault(name, []).append((value, case))
        for (action, name), found in sorted(grouped.items()):
            out.append(_line(action, name, found, rows.get((action, name))))
        for name, found in sorted(whole.items()):
            values = np.abs([value for value, _ in found])
            limit = LIMITS.get(name)
            out.append(
                Line(
                    name,
                    len(found),
                    float(np.median(values)),
                    float(values.max()),
                    rows.get(("whole", "head_tremble_mm" if name == "synthesis_tremble_mm" else name)),
                    "" if limit is None else f"max <= {limit:g}",
                    None if limit is None else bool(values.max() <= limit),
                    found[int(values.argmax())][1],
                )
            )
        return out

    def figures(self) -> Figures:
        """Figures with the fixed names of the JSON; p50, p99 and the number of segments of each row beside each ratio;
        and the share of each kind's cases that were done, or refused where they should be."""
        out: Figures = {}
        for line in self.lines():
            base = f"naturalness.{line.name}"
            if "." in line.name:
                out |= {f"{base}.p50": line.median, f"{base}.p99": line.highest, f"{base}.count": float(line.count)}
                if line.people is not None and line.people.at(99.0) > 0:
                    out[f"{base}.ratio"] = line.highest / line.people.at(99.0)
            else:
                out[f"naturalness.{NAMES.get(line.name, line.name + '.max')}"] = line.highest
        for state, name in _STATES.items():
            out[f"naturalness.{name}"] = float(sum(one.state == state for one in self.outcomes))
        out["naturalness.cases"] = float(len(self.outcomes))
        for kind, counts in self.kinds().items():
            right = counts.get("baked", 0.0) + counts.get("refused", 0.0)
            out[f"naturalness.done.{kind}"] = right / counts["cases"]
        judged = [line.passes for line in self.lines() if line.passes is not None]
        out["naturalness.rows"], out["naturalness.rows_passed"] = float(len(judged)), float(sum(judged))
        return {name: value for name, value in out.items() if math.isfinite(value)}

    def kinds(self) -> dict[str, dict[str, float]]:
        """Counts of the states of each kind's cases, and their mean time in seconds."""
        out: dict[str, dict[str, float]] = {}
        for one in self.outcomes:
            counts = out.setdefault(one.kind, {"cases": 0.0, "seconds": 0.0})
            counts["cases"] += 1
            counts["seconds"] += one.seconds
            counts[one.state] = counts.get(one.state, 0.0) + 1
        return out

    def troubles(self) -> list[str]:
        """Crashes, wrong refusals and failed keys, in words."""
        return [
            f"{one.kind} {one.seed} {one.state}: {one.text}"
            for one in self.outcomes
            if one.state not in ("baked", "refused")
        ]

    def report(self, log: Log) -> None:
        """Log the table, the kinds and the troubles."""
        log(f"{'row':34s} {'n':>5s} {'median':>8s} {'p99/max':>8s} | {'people: q1':>10s} {'q2':>7s} {'q3':>7s} "
            f"{'p99':>7s} {'of':>10s} | {'gate':16s} worst")  # fmt: skip
        for line in self.lines():
            people = f"{'':10s} {'':7s} {'':7s} {'':7s} {'':10s}"
            if line.people is not None:
                q = [line.people.at(p) for p in (25.0, 50.0, 75.0, 99.0)]
                of = "held out" if line.people.of == "held out" else "all"
                of += "*" if line.people.reconstructed else ""
                people = f"{q[0]:10.3g} {q[1]:7.3g} {q[2]:7.3g} {q[3]:7.3g} {of:>10s}"
            verdict = {None: "", True: "pass ", False: "FAIL "}[line.passes]
            log(f"{line.name:34s} {line.count:5d} {line.median:8.3g} {line.highest:8.3g} | {people} | "
                f"{verdict + line.gate:16s} {line.worst}")  # fmt: skip
        log("* with reconstructions from key poses, as there is no exact capture of it")
        for kind, counts in self.kinds().items():
            states = ", ".join(f"{n:.0f} {state}" for state, n in counts.items() if state not in ("cases", "seconds"))
            log(f"{kind}: {counts['cases']:.0f} cases, {states}, {counts['seconds'] / counts['cases']:.1f} s a case")
        for text in self.troubles():
            log(text)


_STATES = {
    "crashed": "crashes",
    "refused wrongly": "refused_wrongly",
    "accepted wrongly": "accepted_wrongly",
    "refused": "refused",
    "not done": "not_done",
    "baked": "baked",
}


def _line(action: str, name: str, found: Sequence[tuple[float, str]], people: Row | None) -> Line:
    values = np.array([value for value, _ in found])
    median, highest = float(np.median(values)), float(np.percentile(values, 99))
    worst = found[int(values.argmax())][1]
    gate, passes = "", None
    if people is None or people.count < JUDGED_FROM:
        return Line(f"{action}.{name}", len(values), median, highest, people, gate, passes, worst)
    if name in BOTH_SIDES:
        low, high = people.at(5.0), people.at(95.0)
        gate, passes = f"{low:.3g}..{high:.3g}", bool(low <= median <= high)
    else:
        at = STRIKE_GATE if action == "strike" else GATES.get(name, 99.0)
        gate, passes = f"p{at:g}", bool(np.percentile(values, at) <= people.at(at))
    return Line(f"{action}.{name}", len(values), median, highest, people, gate, passes, worst)


def cases_of() -> dict[str, Callable[[int], Case]]:
    """All kinds of cases."""
    out: dict[str, Callable[[int], Case]] = {}
    for module in MODULES:
        out |= importlib.import_module(f".{module}", __package__).CASES
    return out


def kinds_of_cases() -> list[str]:
    """Names of all kinds of cases, in order."""
    return [*cases_of(), *MOTIONS]


def carried_out(case: Case, sheets: Path | None = None, plain: bool = False) -> Outcome:
    """Bake a case and measure it; an exception that is no UserError is a crash. sheets: folder for a contact sheet.
    plain: measure what the NSM does alone, see `nsm_plain`."""
    started = time.perf_counter()

    def outcome(state: str, text: str = "", **more: Any) -> Outcome:
        return Outcome(case.kind, case.seed, state, text, **more, seconds=time.perf_counter() - started)

    try:
        motion = _alone(case) if plain else _baked(case)
        if sheets is not None:
            draw(motion, case.shot, sheets / f"{case.kind.replace(' ', '_')}_{case.seed}.png")
        values, whole = _measured(motion, case)
    except UserError as error:
        expected = case.refusal and case.refusal.lower() in str(error).lower()
        return outcome("refused" if expected else "refused wrongly", str(error))
    except Exception:  # noqa: BLE001 a crash of one case is a figure of the table
        return outcome("crashed", traceback.format_exc(limit=-3))
    if case.refusal:
        return outcome("accepted wrongly", values=values, whole=whole)
    trouble = " ".join(key["trouble"] for key in motion.meta.get("keys", []) if key["trouble"])
    return outcome("not done" if trouble else "baked", trouble, values=values, whole=whole)


def _baked(case: Case) -> Motion:
    """The case's motion; for the NSM, until `AFTERWARDS` seconds after all keys are done."""
    bake = bake_of(case.shot, case.network)
    if isinstance(bake, SceneBake):
        _to_the_end(bake)
    return bake.motion()


def _alone(case: Case) -> Motion:
    """The motion that the NSM predicts for a case without root filters, before the clean-up."""
    bake = SceneBake(case.shot, options=PLAIN)
    _to_the_end(bake)
    return bake.uncleaned()


def _to_the_end(bake: SceneBake) -> None:
    """Go on until `AFTERWARDS` seconds after all keys are done."""
    steps = math.ceil(AFTERWARDS * FPS / FRAMES_PER_STEP)
    while not bake.done and steps:
        bake.step()
        steps -= bake.keys_done
    bake.end_here()


def _measured(motion: Motion, case: Case | None, action: str = "") -> tuple[list[tuple[str, str, float]], Figures]:
    found = measure(motion, case, action)
    values = [(s.action, name, value) for s, figures in found.parts for name, value in figures.items()]
    whole = dict(found.whole)
    if case is not None and case.shot.colliders:
        whole |= mesh_contact(case, motion)
    return values, whole


def of_motion(motion: Motion, kind: str, seed: int) -> Outcome:
    """Measure a finished motion. The speed of a synthesis is commanded, and not the motion's own."""
    action = "strike" if kind.startswith("strike") else ""
    values, whole = _measured(motion, None, action)
    if kind.startswith("synthesis"):
        values = [one for one in values if one[1] not in _COMMANDED]
    return Outcome(kind, seed, "baked", values=values, whole=whole)


def of_files(shots: Sequence[Path], motions: Sequence[Path], sheets: Path | None = None) -> Table:
    """Bake shot files and measure them and motion files; their number takes the seed's place. sheets: folder for their
    contact sheets. Raises UserError."""
    loaded = [Case(path.stem, number, Shot.load(path)) for number, path in enumerate(shots)]
    table = Table([carried_out(case, sheets) for case in loaded])
    for number, path in enumerate(motions):
        motion = Motion.load(path)
        if sheets is not None:
            draw(motion, None, sheets / f"{path.stem}_{number}.png")
        table.outcomes.append(of_motion(motion, path.stem, number))
    return table


def tabulated(
    kinds: Sequence[str],
    count: int,
    unseen: bool = False,
    processes: int = 2,
    log: Log = print,
    keep: Callable[[Table], None] = lambda table: None,
    sheets: Path | None = None,
    plain: bool = False,
) -> Table:
    """Bake and measure `count` cases of each kind, a thread for each process.

    keep: receives the table after each kind and every minute. sheets: folder for a contact sheet of each shot. plain:
    measure what the NSM does alone; kinds without action keys have no such motion.
    """
    seeds = (UNSEEN_SEEDS if unseen else DEVELOPMENT_SEEDS)[:count]
    table = Table()
    os.environ |= ONE_THREAD
    pool = ProcessPoolExecutor(processes, get_context("spawn"))
    try:
        for kind in kinds:
            before = len(table.outcomes)
            started = kept = time.perf_counter()
            waiting = [pool.submit(_of_seed, kind, seed, sheets, plain) for seed in seeds]
            for future in as_completed(waiting):
                table.outcomes += future.result()
                if time.perf_counter() - kept > 60:
                    kept = time.perf_counter()
                    keep(table)
            crashes = sum(one.state == "crashed" for one in table.outcomes[before:])
            log(f"{kind}: {len(seeds)} seeds in {time.perf_counter() - started:.0f} s, {crashes} crashed")
            table.outcomes[before:] = sorted(table.outcomes[before:], key=lambda one: (one.kind, one.seed))
            keep(table)
    finally:
        pool.shutdown(cancel_futures=True)
    return table


def _of_seed(kind: str, seed: int, sheets: Path | None = None, plain: bool = False) -> list[Outcome]:
    """Outcomes of the cases of a kind and a seed: one for most kinds, several motions for the manifold's."""
    try:
        if kind in MOTIONS:
            return [of_motion(motion, name, number) for name, number, motion in _manifold(kind)([seed])]
        found = carried_out(replace(cases_of()[kind](seed), kind=kind, seed=seed), sheets, plain)
    except Exception:  # noqa: BLE001 a case that cannot be made counts, too
        return [Outcome(kind, seed, "crashed", traceback.format_exc(limit=-3))]
    return [found]


def _manifold(kind: str) -> Callable[[Sequence[int]], list[tuple[str, int, Motion]]]:
    module = importlib.import_module(".manifold_cases", __package__)
    return getattr(module, MOTIONS[kind])
