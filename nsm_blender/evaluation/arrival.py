# SPDX-License-Identifier: GPL-3.0-or-later
"""Do action keys arrive when they say (tables "arrival"), and how slowly and fast does a character go ("speeds")?

Random keys that can be kept and random ones that cannot: the first are drawn with the time that a person would allow,
the second faster than the network goes or slower than it walks; neither asks the planner. When the character is there
is measured on the baked root, not taken from what the bake says of itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..baking.bake import Bake
from ..baking.nsm import SceneBake
from ..errors import ShotError
from ..models.nsm_predictor import Predictor
from ..motion.motion import Motion
from ..motion.root import direction
from ..naturalness.metrics import foot_slide, settled_speed
from ..planning.speed_limits import FIGURE, SpeedLimits, shipped
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot
from .nsm_trials import BOXES, SEATS, carry_shot, pieces, sit_shot

KEYS, IMPOSSIBLE = 200, 100
"""Keys that can be kept, and that cannot."""
DEVELOPMENT, HELD_OUT = 100_000, 900_000
"""First seeds of keys on which settings were chosen, and of those that are reported."""
THERE = 0.1
"""Meters from the goal within which the root is there."""
SPEEDS = (0.6, 2.6)
"""Mean speeds in m/s of the keys that can be kept."""
ALLOWED, TURN_RATE = 2.0, 1.2
"""Seconds that are allowed for setting off and stopping, and rad/s of turning toward the way before it."""
WITHIN = 1
"""Frames of the shot within which a key is kept."""
RATES = (24.0, 25.0, 30.0, 60.0)
"""Frame rates of the shots."""
THINGS = 12
"""Sits and pick-ups each."""
WAY, MIDDLE = 16.0, (4.0, 11.0)
"""Meters of the straight way on which steady speeds are measured, and of it from where to where."""
COMMANDS = {"walk": (0.5, 0.7, 1.3, 2.0, 2.6), "jog": (2.0, 3.0, 4.0, 6.0), "crouch": (0.5, 0.7, 1.0)}
"""Speeds in m/s that are commanded."""
SLOW = 0.75
"""Share of a commanded speed below which it is not kept, as at 0.3 m/s, where the network nearly stands."""

Figures = dict[str, float]
Log = Callable[[str], None]


@dataclass(frozen=True)
class Kept:
    """How a key arrived: frames beside its time, not finite where it was refused or never came; meters from its goal
    then; cm/s of foot slide. refused: the reason, "" where it was baked."""

    name: str
    frames: float = math.inf
    away: float = math.inf
    slide: float = 0.0
    refused: str = ""


def feasible(seed: int) -> Shot:
    """A walk or run on free floor, that says when to arrive in one of three ways and can be kept."""
    rng = np.random.default_rng([88, seed])
    return _shot(rng, float(rng.uniform(1.5, 14.0)), float(rng.uniform(*SPEEDS)), ALLOWED)


def impossible(seed: int, limits: SpeedLimits) -> Shot:
    """The same faster than the fastest, or from a given start slower than the slowest."""
    rng = np.random.default_rng([89, seed])
    length = float(rng.uniform(1.5, 14.0))
    if rng.random() < 0.7:
        return _shot(rng, length, limits.fastest * float(rng.uniform(1.1, 3.0)), 0.0)
    slowest = limits.by_gait["walk"].least
    return _shot(rng, length, slowest * float(rng.uniform(0.2, 0.6)), ALLOWED, fixed=True)


def _shot(rng: np.random.Generator, length: float, speed: float, allowed: float, fixed: bool = False) -> Shot:
    fps, way = float(rng.choice(RATES)), float(rng.uniform(-math.pi, math.pi))
    facing = way if rng.random() < 0.5 else float(rng.uniform(-math.pi, math.pi))
    turn = abs(math.remainder(facing - way, 2 * math.pi)) / TURN_RATE if allowed else 0.0
    frames = max(math.ceil((length / speed + allowed + turn) * fps), 1)
    start = int(rng.integers(0, round(1.5 * fps))) if fixed or rng.random() < 0.5 else None
    key = ActionKey("walk" if rng.random() < 0.7 else "run", "goal", start=start)
    if rng.random() < 0.3:
        key.duration = frames
    else:
        key.arrive = frames + (start or 0)
    goal = [*(length * direction(np.array(way))).tolist(), 0.0]
    end = float(rng.uniform(-math.pi, math.pi)) if rng.random() < 0.5 else None
    count = frames + (start or 0) + round(4 * fps)
    return Shot("key", fps, count, keys=[key], goals=[Goal("goal", goal, end)], start=[0.0, 0.0, 0.0, facing])


def kept(shot: Shot, weights: Path | None = None) -> Kept:
    """Bake a shot of `feasible` and see when its character is there."""
    key, goal = shot.keys[0], np.array(shot.goals[0].place[:2])
    name = f"{math.hypot(*goal):.1f} m, {key}"
    try:
        motion = Bake(shot, weights).motion()
    except ShotError as error:
        return Kept(name, refused=str(error))
    asked = key.arrive if key.arrive is not None else (key.start or 0) + (key.duration or 0)
    away = np.linalg.norm(motion.root[:, :2].astype(float) - goal, axis=1)
    there = np.flatnonzero(away < THERE)
    frames = float(there[0] - asked) if len(there) else math.inf
    return Kept(name, frames, float(away[asked]), foot_slide(motion))


def arrival_figures(weights: Path, log: Log, quick: bool = False, first: int = HELD_OUT) -> Figures:
    """Frames by which keys that can be kept miss their time, and the share of impossible ones that is told before."""
    count = KEYS // 10 if quick else KEYS
    found = []
    for seed in range(first, first + count):
        one = kept(feasible(seed), weights)
        found.append(one)
        if abs(one.frames) > WITHIN:
            log(f"arrival {seed}: {one}")
    told = [_is_told(impossible(seed, shipped("pfnn"))) for seed in range(first, first + count // 2)]
    for seed, was in enumerate(told, first):
        if not was:
            log(f"arrival {seed}: nothing is told of {impossible(seed, shipped('pfnn')).keys[0]}")
    out = {**_summary("pfnn", found), "pfnn.arrival.told": float(np.mean(told))}
    for name, value in out.items():
        log(f"{name} {value:.3f}")
    return out


def _is_told(shot: Shot) -> bool:
    try:
        Bake(shot)
    except ShotError:
        return True
    return False


def _summary(prefix: str, found: Sequence[Kept]) -> Figures:
    baked = [one for one in found if not one.refused]
    return {
        f"{prefix}.arrival_frames.max": max((abs(one.frames) for one in baked), default=math.inf),
        f"{prefix}.arrival.kept": float(np.mean([abs(one.frames) <= WITHIN for one in found])),
        f"{prefix}.arrival.refused": float(np.mean([bool(one.refused) for one in found])),
        f"{prefix}.arrival.slide_cm_per_s": float(np.mean([one.slide for one in baked])) if baked else math.inf,
    }


def thing_shot(task: str, number: int, development: bool = False) -> Shot:
    """Sitting down on, or picking up, an unseen thing at a frame, from a start within 3 m."""
    piece = pieces(SEATS if task == "sit" else BOXES, number + 1, development)[number]
    rng = np.random.default_rng([90, number, int(development)])
    shot = sit_shot(piece, rng) if task == "sit" else carry_shot(piece, rng)
    seconds = float(rng.uniform(6.5, 10.0))
    shot.keys[0].arrive = round(seconds * shot.fps)
    return replace(shot, frames=round((seconds + 2.0) * shot.fps))


def arrivals_of(network: Predictor, task: str, number: int, development: bool = False) -> list[Kept]:
    """How a key with a thing arrives. For what is taken, when the box leaves its place is seen as well."""
    shot = thing_shot(task, number, development)
    name = f"{task} {shot.colliders[0].name}"
    try:
        motion = SceneBake(shot, network).motion()
    except ShotError as error:
        return [Kept(name, refused=str(error))]
    told = motion.meta["keys"][0]
    arrived = told["arrived"]
    frames = math.inf if arrived is None else float(arrived - told["asked"])
    return [Kept(name, frames, 0.0, foot_slide(motion))]


def thing_figures(found: dict[str, list[Kept]], log: Log) -> Figures:
    """Frames by which sits and pick-ups miss their time."""
    out: Figures = {}
    for task, ones in found.items():
        for one in ones:
            if abs(one.frames) > WITHIN:
                log(f"arrival {one}")
        out |= _summary(f"nsm.{task}", ones)
    return out


def speed_figures(weights: Path | None, log: Log, system: str, network: Predictor | None = None) -> Figures:
    """Least and greatest steady speed in m/s on a straight way, by gait. system: "pfnn" or "nsm"."""
    out: Figures = {}
    for gait, commands in COMMANDS.items():
        got = {speed: _steady(gait, speed, weights, network) for speed in commands}
        steady = [speed for asked, speed in got.items() if speed > SLOW * asked or asked > min(commands)]
        log(f"speeds {system} {gait}: " + ", ".join(f"{asked:g} gives {speed:.2f}" for asked, speed in got.items()))
        for end, value in (("least", min(steady)), ("most", max(steady))):
            out[FIGURE.format(system=system, gait=gait, end=end)] = value
    return out


def _steady(gait: str, speed: float, weights: Path | None, network: Predictor | None) -> float:
    """m/s that are kept on the middle of a straight way; 0 where the character never comes by there."""
    fps = 60.0
    key = ActionKey("run" if gait == "jog" else "walk", "goal", gait=gait, speed=speed)
    seconds = WAY / (SLOW * min(speed, 3.0)) + 4.0
    goals, start = [Goal("goal", [WAY, 0.0, 0.0])], [0.0, 0.0, 0.0, 0.5 * math.pi]
    shot = Shot("way", fps, round(seconds * fps), keys=[key], goals=goals, start=start)
    motion: Motion = (Bake(shot, weights) if network is None else SceneBake(shot, network)).motion()
    between = (motion.root[:, 0] > MIDDLE[0]) & (motion.root[:, 0] < MIDDLE[1])
    return float(settled_speed(motion.root, fps)[between].mean()) if between.any() else 0.0
