# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes of the same shots by other seeds (table "takes"): how much they differ, and whether each is as good."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from ..baking.bake import Bake
from ..models.pfnn import FPS
from ..motion.motion import Motion
from ..motion.root import to_local
from ..motion.rotations import Array
from ..naturalness.metrics import foot_slide
from ..shot.goals import ActionKey, Goal
from ..shot.shot import PathFollow, Shot

SEEDS, SHOTS = 6, 6
"""Takes of each shot, that of seed 0 among them, and shots of each kind."""
SECONDS = 8.0
"""Seconds of a shot."""

Figures = dict[str, float]
Log = Callable[[str], None]


def path_shot(number: int, seed: int) -> Shot:
    """A walk along a curve with a bend."""
    rng = np.random.default_rng([91, number])
    bend, frames = float(rng.uniform(-1.2, 1.2)), round(SECONDS * FPS)
    points = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [4.0 + 6 * math.cos(bend), 6 * math.sin(bend), 0.0]]
    follow = PathFollow(points, [float(rng.uniform(1.0, 1.6))] * frames, ["walk"] * frames, [0.0] * frames)
    return Shot("path", FPS, frames, path=follow, seed=seed)


def key_shot(number: int, seed: int) -> Shot:
    """A walk to a goal that is faced as its arrow says."""
    rng = np.random.default_rng([92, number])
    place, facing = rng.uniform(-3.0, 3.0, 2), float(rng.uniform(-math.pi, math.pi))
    goals, start = [Goal("goal", [*place.tolist(), 0.0], facing)], [0.0, 0.0, 0.0, float(rng.uniform(-3, 3))]
    keys = [ActionKey("walk", "goal")]
    return Shot("key", FPS, round(SECONDS * FPS), keys=keys, goals=goals, start=start, seed=seed)


def idle_shot(number: int, seed: int) -> Shot:
    """Standing."""
    keys, start = [ActionKey("idle", hold=SECONDS)], [0.0, 0.0, 0.0, float(number)]
    return Shot("idle", FPS, round(SECONDS * FPS), keys=keys, start=start, seed=seed)


KINDS: dict[str, Callable[[int, int], Shot]] = {"path": path_shot, "key": key_shot, "idle": idle_shot}
"""Shots by their number and seed."""


def distance(one: Motion, other: Motion) -> float:
    """Mean distance in cm of the joints of two motions in the frames of their roots."""
    return 100 * float(np.linalg.norm(_local(one) - _local(other), axis=-1).mean())


def _local(motion: Motion) -> Array:
    root = motion.root.astype(float)
    out = motion.positions.astype(float) - np.pad(root[:, None, :2], ((0, 0), (0, 0), (0, 1)))
    out[..., :2] = to_local(out[..., :2], root[:, 3:4])
    return out


def take_figures(weights: Path, log: Log, quick: bool = False) -> Figures:
    """Per kind of shot: the mean distance of poses between takes in cm, and foot slide and distance from the goal of
    seed 0 and of the others."""
    out: Figures = {}
    for kind, shot_of in KINDS.items():
        shots = range(1 if quick else SHOTS)
        takes = [[Bake(shot_of(number, seed), weights).motion() for seed in range(SEEDS)] for number in shots]
        apart = [distance(*pair) for motions in takes for pair in combinations(motions, 2)]
        out[f"pfnn.takes.{kind}.pose_cm"] = float(np.mean(apart))
        out[f"pfnn.takes.{kind}.pose_cm.least"] = float(np.min(apart))
        for name, chosen in (("seed_0", slice(0, 1)), ("others", slice(1, None))):
            some = [motion for motions in takes for motion in motions[chosen]]
            out[f"pfnn.takes.{kind}.foot_slide_cm_per_s.{name}"] = float(np.mean([foot_slide(one) for one in some]))
            if kind == "key":
                out[f"pfnn.takes.key.goal_cm.{name}"] = _goal_error(some)
    for name, value in out.items():
        log(f"{name} {value:.2f}")
    return out


def _goal_error(motions: Sequence[Motion]) -> float:
    return float(np.mean([motion.meta["keys"][0]["error_cm"] for motion in motions]))
