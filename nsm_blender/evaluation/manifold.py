# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion manifold's figures that need no recordings: Table 1, and what edits and styles leave.

Everything is made by the same `Synthesis`, `StrikeSynthesis`, `Crowd` and `Edit` that the extension runs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..manifold.constraints import PinJoint
from ..manifold.edit import Edit
from ..manifold.spacing import SPACING
from ..manifold.style import Style, StyleSettings, load_styles
from ..manifold.synthesis import Crowd, Networks, Synthesis
from ..manifold.tempo import retimed
from ..models.manifold import FPS
from ..models.synthesis import EndEffectors
from ..motion.filters import gaussian
from ..motion.motion import Motion
from ..motion.root import direction
from ..motion.rotations import Array
from ..naturalness import metrics
from ..shot.shot import PathFollow, Shot, per_frame
from .bench_manifold import STYLE_SECONDS, Figures, as_synthesized, measure_apart, usual, walk

Log = Callable[[str], None]

CROWDS, CROWD = 4, 30
"""Crowds whose walkers' distances are measured, and walkers of each."""
SWAY_SMOOTHING = 1 / 3
"""Seconds that tell the speed of a walk from the sway of its steps."""
_PIN_SECONDS, _PIN_SIDE, _PIN_HEIGHT = (4.0, 6.0), 0.35, 0.95
"""Seconds in which a hand is on a rail, meters that the rail is aside of the root, and meters that it is high."""
_PINNED_ARM = ("LeftForeArm", "LeftHand")


def evaluate(folder: Path, log: Log = print) -> Figures:
    """All figures of the weights in a folder that need no recordings. Raises WeightsError."""
    networks = Networks.load(folder)
    EndEffectors.load(folder / "end_effectors.safetensors")  # a minute before they are needed
    styles = load_styles(folder / "styles.safetensors")
    out = editing(networks, log) | pinning(networks, log) | restyling(networks, styles, log) | crowding(networks, log)
    return out | times(folder, log)


def times(folder: Path, log: Log) -> Figures:
    """Table 1: seconds, on two threads, in a process of its own."""
    out = {f"manifold.time_s.{name}": s for name, s in measure_apart(folder).items() if "ratio" not in name}
    for name, seconds in out.items():
        log(f"{name} {seconds:.3f}")
    return out


def editing(networks: Networks, log: Log, seconds: float = 60) -> Figures:
    """What editing makes of a synthesized walk with changes of speed, as the networks left it."""
    frames = round(seconds * FPS)
    times = np.arange(frames) / FPS
    speed = np.where(times % 20 < 12, 1.4, np.where(times % 20 < 16, 2.8, 0.0))
    raw = as_synthesized(Synthesis(walk(seconds, speed=speed), networks=networks))
    edit = Edit(raw, usual(), autoencoder=networks.autoencoder)
    edited = edit.motion()
    out = _edited("manifold.editing", edit.report) | _seen("manifold.editing", raw, edited)
    out["manifold.editing.cost_ratio"] = edit.report["cost.ratio"]
    tell(out, log)
    return out


def _edited(name: str, report: Figures) -> Figures:
    """The figures of an edit: <name>.<figure>.before and .after."""
    out: Figures = {}
    for key, value in report.items():
        moment, _, figure = key.partition(".")
        if moment in ("before", "after"):
            out[f"{name}.{figure}.{moment}"] = value
    return out


def _seen(name: str, before: Motion, after: Motion) -> Figures:
    """What the poses show whatever the labels and the root say, which an edit sets itself: the drift of low toes,
    and how far the hips' way, without the sway of the steps, is from what it was."""
    ways = [gaussian(m.positions[:, 0, :2].astype(np.float64), SWAY_SMOOTHING * FPS) for m in (before, after)]
    return {
        f"{name}.low_foot_slide_cm_per_s.before": metrics.low_foot_slide(before),
        f"{name}.low_foot_slide_cm_per_s.after": metrics.low_foot_slide(after),
        f"{name}.hips_path_error_cm.after": 100 * float(np.linalg.norm(ways[1] - ways[0], axis=1).max()),
    }


def pinning(networks: Networks, log: Log) -> Figures:
    """A hand on a rail beside a synthesized walk: how far from it, and how much rougher the other joints move."""
    motion = Synthesis(walk(10), networks=networks).motion()
    start, stop = (round(s * FPS) for s in _PIN_SECONDS)
    pin = PinJoint(start, stop, joint=_PINNED_ARM[-1], places=rail(motion, start, stop).tolist())
    edit = Edit(motion, [pin, *usual()], autoencoder=networks.autoencoder)
    pinned = edit.motion()
    before, after = acceleration(motion), acceleration(pinned)
    out = _edited("manifold.pin", edit.report) | _seen("manifold.pin", motion, pinned)
    out["manifold.pin.acceleration_ratio.mean"] = float(after.mean() / before.mean())
    out["manifold.pin.acceleration_ratio.p99"] = float(np.percentile(after, 99) / np.percentile(before, 99))
    out["manifold.pin.acceleration_ratio.max"] = float(after.max() / before.max())
    tell(out, log)
    return out


def rail(motion: Motion, start: int, stop: int) -> Array:
    """Places (stop - start, 3) on a rail at the left of the root, followed at the root's pace."""
    root = motion.root[start:stop].astype(np.float64)
    aside = root[:, :2] + _PIN_SIDE * direction(root[:, 3] + 0.5 * np.pi)
    return np.concatenate((gaussian(aside, 0.25 * FPS), np.full((len(root), 1), _PIN_HEIGHT)), axis=1)


def acceleration(motion: Motion) -> Array:
    """Accelerations in m/s^2 (T - 2, joints) of all joints but the pinned arm's."""
    others = [j for j, name in enumerate(motion.names) if name not in _PINNED_ARM]
    return metrics.acceleration(motion.positions[:, others].astype(np.float64), motion.fps)


def restyling(networks: Networks, styles: dict[str, Style], log: Log) -> Figures:
    """Each style on a synthesized walk of 8 s: squared Gram distance (eq. 14) left of that at the start, of the
    restyled frames (`gram_ratio`), of these with the walk's own root velocities and contacts (`kept_gram_ratio`), and
    of the motion in the end (`final_gram_ratio`); what happened to path and feet. Once with the walk's own timing,
    and once with the style's (`style.timed`), where the walk at that tempo is reported too (`retimed_gram_ratio`)."""
    motion = Synthesis(walk(STYLE_SECONDS), networks=networks).motion()
    out: Figures = {}
    for group, timing in (("style", 0.0), ("style.timed", 1.0)):
        reports = []
        for name, style in styles.items():
            if timing > 0 and style.tempo.speed <= 0:
                continue
            content = retimed(motion, style.tempo, timing)
            settings = StyleSettings(timing=timing)
            edit = Edit(content, style=style, settings=settings, autoencoder=networks.autoencoder, given=motion)
            restyled = edit.motion()
            seen = _seen("after", content, restyled)
            way = 100 * path_distance(restyled.root[:, :2], motion.root[:, :2])
            reports.append(
                edit.report
                | {
                    "after.hips_path_error_cm": seen["after.hips_path_error_cm.after"],
                    "after.path_error_cm": way,
                }
            )
            for figure in ("retimed_gram_ratio", "gram_ratio", "kept_gram_ratio", "final_gram_ratio"):
                if timing > 0 or figure != "retimed_gram_ratio":
                    out[f"manifold.{group}.{figure}.{name}"] = edit.report[f"style.{figure}"]
        for figure in ("path_error_cm", "hips_path_error_cm", "foot_slide_cm_per_s", "bone_error_mm"):
            out[f"manifold.{group}.{figure}.worst"] = max(report[f"after.{figure}"] for report in reports)
    tell(out, log)
    return out


def crowding(networks: Networks, log: Log) -> Figures:
    """How near the walkers of crowds that cross a square come to each other, kept apart and not: `closest_cm` and
    `passes_under_40cm` between the middles of two, the worst and the sum of CROWDS crowds."""
    log(f"{CROWDS} crowds of {CROWD} walkers ...")
    out: Figures = {}
    for name, spacing in (("apart", SPACING), ("as_drawn", None)):
        crowds = [Crowd(crossing(seed), networks=networks, spacing=spacing).passes() for seed in range(CROWDS)]
        out[f"manifold.crowd.{name}.closest_cm"] = 100 * min(one.closest for one in crowds)
        out[f"manifold.crowd.{name}.passes_under_40cm"] = float(sum(one.under for one in crowds))
    return out


def crossing(seed: int) -> list[Shot]:
    """CROWD walkers that cross a square of 24 m in 12 s, on bent curves from side to side."""
    rng, frames = np.random.default_rng([100_000, seed]), round(12 * FPS)
    out: list[Shot] = []
    starts: list[Array] = []
    share = np.linspace(0, 1, 60)[:, None]
    while len(out) < CROWD:
        side = rng.uniform(0, 2 * np.pi)
        ends = 12 * np.array([[np.cos(a), np.sin(a)] for a in (side, side + np.pi + rng.uniform(-0.8, 0.8))])
        start = ends[0] + rng.uniform(-2, 2, 2)
        if starts and min(float(np.linalg.norm(start - other)) for other in starts) < 2 * SPACING.apart:
            continue
        starts.append(start)
        bend = (1 - share) ** 2 * start + 2 * share * (1 - share) * rng.uniform(-3, 3, 2) + share**2 * ends[1]
        points = np.concatenate((bend, np.zeros_like(share)), axis=1).tolist()
        speeds = per_frame(float(rng.uniform(1.1, 1.6)), frames)
        out.append(Shot("walker", FPS, frames, PathFollow(points, speeds, ["walk"] * frames, per_frame(0.0, frames))))
    return out


def path_distance(places: Array, path: Array) -> float:
    """The largest distance in meters of places (F, 2) on the ground from the path through the points (T, 2)."""
    start, along = path[:-1].astype(np.float64), np.diff(path.astype(np.float64), axis=0)
    squared = np.maximum((along**2).sum(1), 1e-12)
    farthest = 0.0
    for place in places.astype(np.float64):
        share = np.clip(((place - start) * along).sum(1) / squared, 0, 1)
        farthest = max(farthest, float(np.linalg.norm(start + share[:, None] * along - place, axis=1).min()))
    return farthest


def tell(figures: Figures, log: Log) -> None:
    """Print a line for each figure."""
    for name, value in figures.items():
        log(f"{name} {value:.3f}")
