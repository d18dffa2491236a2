# SPDX-License-Identifier: GPL-3.0-or-later
"""What each part of bakes over ground is worth: development courses are crossed without it, see `components`.

The courses are drawn as those of the table "ground" are, from other seeds; gaps that are stepped over are added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ..baking.bake import FINISHING_PARTS, GROUND_PARTS, PACING
from ..motion.motion import Motion
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..planning.path_on_ground import WIDEST_GAP
from ..workers import each
from .components import component_figures
from .pfnn_ground import (
    REFUSED,
    Course,
    Crossing,
    Figures,
    Log,
    begun,
    box,
    crossing,
    drop,
    gap,
    gap_of,
    noise,
    ramp,
    stairs,
)

_SEED = 39
"""Of development courses, none of which is measured in the table "ground"."""
_NARROWEST = 0.2
"""Meters of the narrowest gap that is stepped over."""


def narrow_gap(rng: np.random.Generator) -> Course:
    """A gap that a walk steps over."""
    return gap_of(rng.uniform(_NARROWEST, WIDEST_GAP))


COURSES: dict[str, tuple[Callable[[np.random.Generator], Course], str, int]] = {
    "stairs": (stairs, "walk", 72),
    "stairs_run": (stairs, "jog", 8),
    "ramp": (ramp, "walk", 6),
    "noise": (noise, "walk", 6),
    "narrow_gap": (narrow_gap, "walk", 12),
    "gap": (gap, "jog", 24),
    "box": (box, "jog", 6),
    "drop": (drop, "jog", 6),
}
"""Kinds of courses: how one is made, the gait, and how many there are."""

_ELSEWHERE = {PACING: ("narrow_gap", "gap", "box", "drop")}
"""Kinds of courses on which a part of the rollout has nothing to do: they have no flights of stairs."""


def course_names(quick: bool = False) -> list[str]:
    """Names of the courses, a kind and a number; `quick` names one of each kind."""
    return [f"{kind} {number}" for kind, (_, _, count) in COURSES.items() for number in range(1 if quick else count)]


def outcomes(weights: Path, parts: Sequence[str], name: str) -> dict[str, Figures]:
    """Figures of a course by what is left out, "" for nothing."""
    kind, _, number = name.partition(" ")
    make, gait, _ = COURSES[kind]
    course = make(np.random.default_rng((_SEED, [*COURSES].index(kind), int(number))))
    full = begun(course, gait, weights)
    if full is None:
        return {part: _figures(REFUSED) for part in ("", *parts)}
    motions = {"": (full.motion(), full.unlocked())}
    for part in parts:
        if part in FINISHING_PARTS:
            motions[part] = full.motion_without(part), full.unlocked(part)
        elif kind in _ELSEWHERE[part]:
            motions[part] = motions[""]
        else:
            bake = begun(course, gait, weights, {part})
            assert bake is not None
            motions[part] = bake.motion(), bake.unlocked()
    return {
        part: _figures(crossing(course, motion, kind == "stairs")) | {"moved_cm_p99": _moved(motion, before)}
        for part, (motion, before) in motions.items()
    }


def _moved(motion: Motion, before: Motion) -> float:
    """Centimeters by which feet in contact were moved to where they stand, the 99th percentile."""
    feet, frames = MODEL_SKELETON.indices(CONTACT_JOINTS), min(len(motion.positions), len(before.positions))
    moved = np.linalg.norm(motion.positions[:frames, feet] - before.positions[:frames, feet], axis=-1)
    stands = motion.contacts[:frames] > 0.5
    return 100 * float(np.percentile(moved[stands], 99)) if stands.any() else 0.0


def _figures(crossed: Crossing) -> Figures:
    out = {"done": float(crossed.done)}
    for what, values, scale in (
        ("depth_cm", crossed.depth, 100.0),
        ("height_cm", crossed.height, 100.0),
        ("hips_acceleration", crossed.hips, 1.0),
        ("feet_acceleration", crossed.feet, 1.0),
    ):
        if len(values):
            out[f"{what}_p99"] = scale * float(np.percentile(values, 99))
    return out


def ground_component_figures(
    weights: Path, log: Log, quick: bool = False, parts: Sequence[str] = GROUND_PARTS, processes: int = 2
) -> Figures:
    """Figures `pfnn.components.*` of some parts, see `components.component_figures`."""
    names = course_names(quick)
    found: dict[str, dict[str, Figures]] = {}
    for name, result in each(partial(outcomes, weights, tuple(parts)), names, processes):
        found[name] = result
        log(f"{len(found)}/{len(names)} {name}")
    return component_figures("pfnn", [found[name] for name in names], log)
