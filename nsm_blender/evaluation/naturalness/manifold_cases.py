# SPDX-License-Identifier: GPL-3.0-or-later
"""Motions of the manifold as an animator makes them: strikes at targets, and walks along drawn curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from ...manifold.constraints import Constraint, FloorHeight, FootSkate, KeepTrajectory, PinJoint
from ...manifold.edit import Edit
from ...manifold.strike import StrikeShot, StrikeSynthesis, Target
from ...manifold.style import load_styles
from ...manifold.synthesis import Crowd, Networks, Options, Synthesis
from ...models.synthesis import EFFECTORS, EndEffectors
from ...motion.motion import Motion
from ...motion.root import direction, to_world
from ...motion.rotations import Array
from ...paths import weights_folder
from ...shot.shot import PathFollow, Shot, per_frame

Named = tuple[str, int, Motion]
"""Kind, seed and motion."""

RATES = (30.0, 60.0)
"""Scene frame rates in frames a second."""
STRIKE_SECONDS, WALK_SECONDS = 4.0, 8.0
"""Durations in seconds of strikes and of walks."""
PUNCH_HEIGHTS, KICK_HEIGHTS = (0.95, 1.6), (0.4, 1.35)
"""Lowest and highest targets in meters over the floor of punches (belly to chin) and of kicks (shin to chest)."""
PUNCH_DISTANCES, KICK_DISTANCES = (0.4, 0.9), (0.8, 1.5)
"""Least and largest distance in meters over the ground from a character to its targets, for punches and for kicks:
within reach, or a step farther."""
ASIDE = 0.2
"""Largest distance in meters of targets to the left or the right of straight ahead."""
SPEEDS = (0.8, 2.5)
"""Slowest and fastest commanded speed in m/s of walks and runs."""
CROWD = 5
"""Number of characters that are made together, of which one is measured."""


def strike_motions(seeds: Sequence[int]) -> list[Named]:
    """Make, for each seed, a punch, a kick, and two strikes in sequence."""
    return [named for seed in seeds for named in _strikes(seed)]


def synthesis_motions(seeds: Sequence[int]) -> list[Named]:
    """Make, for each seed, walks along a straight, a bent and a closed curve, over uneven ground, in a crowd, with a
    hand on a rail, and in a style."""
    return [(f"synthesis {kind}", seed, make(_rng(kind, seed))) for seed in seeds for kind, make in _WALKS.items()]


@cache
def _networks() -> Networks:
    return Networks.load()


@cache
def _end_effectors() -> EndEffectors:
    return EndEffectors.load(weights_folder() / "end_effectors.safetensors")


def _rng(kind: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([sum(kind.encode()), seed])


def _strikes(seed: int) -> Iterator[Named]:
    for kind, effectors in (("punch", (0, 1)), ("kick", (2, 3)), ("combination", (0, 1, 2, 3))):
        rng = _rng(kind, seed)
        times = [2.0] if kind != "combination" else [1.4, float(rng.uniform(2.1, 2.8))]
        facing = float(rng.uniform(-math.pi, math.pi))
        targets = [_target(rng, int(rng.choice(effectors)), facing, time) for time in times]
        fps = float(rng.choice(RATES))
        shot = StrikeShot(kind, fps, round(STRIKE_SECONDS * fps) + 1, targets, start=(0.0, 0.0, 0.0), facing=facing)
        motion = StrikeSynthesis(shot, _networks().autoencoder, _end_effectors()).motion()
        yield f"strike {kind}", seed, motion


def _target(rng: np.random.Generator, effector: int, facing: float, time: float) -> Target:
    """A target for EFFECTORS[effector] before a character at the origin, more often on that limb's side."""
    heights, distances = (PUNCH_HEIGHTS, PUNCH_DISTANCES) if effector < 2 else (KICK_HEIGHTS, KICK_DISTANCES)
    side = 1 if effector % 2 == 0 else -1
    aside = side * rng.uniform(-0.25, 1) * ASIDE
    x, y = to_world(np.array([aside, -rng.uniform(*distances)]), np.array(facing))
    return Target(EFFECTORS[effector], (float(x), float(y), float(rng.uniform(*heights))), time)


def _shot(rng: np.random.Generator, points: Array, closed: bool = False) -> Shot:
    """A walk or run along `points` (N, 3) at constant speed, or with a single change of it."""
    fps = float(rng.choice(RATES))
    frames = round(WALK_SECONDS * fps) + 1
    speeds = np.full(frames, rng.uniform(*SPEEDS))
    if rng.random() < 0.3:
        speeds[round(frames * rng.uniform(0.3, 0.7)) :] = rng.uniform(*SPEEDS)
    gaits = ["jog" if speed > 1.9 else "walk" for speed in speeds]
    follow = PathFollow(points.tolist(), speeds.tolist(), gaits, per_frame(0.0, frames), closed=closed)
    return Shot("walk", fps, frames, follow)


def _bent(rng: np.random.Generator, bend: float) -> Array:
    """Points (N, 3) of a curve of 24 m, longer than any walk here, that bends by up to `bend` radians a meter."""
    turn = np.cumsum(np.repeat(rng.uniform(-bend, bend, 8), 30) * 0.1)
    steps = 0.1 * direction(float(rng.uniform(-math.pi, math.pi)) + turn)
    return np.concatenate((np.cumsum(steps, axis=0), np.zeros((len(steps), 1))), axis=1)


def _ring(rng: np.random.Generator) -> Array:
    """Points (N, 3) of a closed oval of 2.5 to 5 m."""
    around = np.linspace(0, 2 * math.pi, 80, endpoint=False)
    a, b = rng.uniform(2.5, 5.0, 2)
    return np.stack((a * np.cos(around), b * np.sin(around), np.zeros_like(around)), axis=1)


def _straight(rng: np.random.Generator) -> Motion:
    return Synthesis(_shot(rng, _bent(rng, 0.0)), _options(rng), _networks()).motion()


def _curved(rng: np.random.Generator) -> Motion:
    return Synthesis(_shot(rng, _bent(rng, 0.5)), _options(rng), _networks()).motion()


def _closed(rng: np.random.Generator) -> Motion:
    return Synthesis(_shot(rng, _ring(rng), closed=True), _options(rng), _networks()).motion()


def _uneven(rng: np.random.Generator) -> Motion:
    """Walk over hills of up to 12 cm, 2 to 4 m long."""
    height, lengths, phases = rng.uniform(0.02, 0.12), rng.uniform(2.0, 4.0, 2), rng.uniform(0, 2 * math.pi, 2)

    def ground(places: Array) -> Array:
        waves: Array = np.sin(2 * math.pi * places / lengths + phases)
        return height * 0.5 * waves.sum(axis=-1)

    return Synthesis(_shot(rng, _bent(rng, 0.3)), _options(rng), _networks(), ground=ground).motion()


def _member(rng: np.random.Generator) -> Motion:
    shots = [_shot(rng, _bent(rng, 0.3) + np.array([0.0, 1.5 * i, 0.0])) for i in range(CROWD)]
    return Crowd(shots, [_options(rng) for _ in shots], _networks()).motions()[int(rng.integers(CROWD))]


def _pinned(rng: np.random.Generator) -> Motion:
    """Walk with a hand on a rail beside the path for one to three seconds."""
    motion = Synthesis(_shot(rng, _bent(rng, 0.15)), _options(rng), _networks()).motion()
    start = round(len(motion) * rng.uniform(0.2, 0.5))
    stop = start + round(rng.uniform(1.0, 3.0) * motion.fps)
    side = int(rng.choice((-1, 1)))
    root = motion.root[start:stop].astype(np.float64)
    rail = root[:, :2] + rng.uniform(0.3, 0.45) * direction(root[:, 3] + side * 0.5 * math.pi)
    height = np.full((len(rail), 1), rng.uniform(0.85, 1.05))
    places = np.concatenate((rail, height), axis=1).tolist()
    pin = PinJoint(start, stop, joint="LeftHand" if side > 0 else "RightHand", places=places)
    constraints: list[Constraint] = [pin, FootSkate(), KeepTrajectory(), FloorHeight()]
    return Edit(motion, constraints, autoencoder=_networks().autoencoder).motion()


def _styled(rng: np.random.Generator) -> Motion:
    styles = load_styles(weights_folder() / "styles.safetensors")
    motion = Synthesis(_shot(rng, _bent(rng, 0.2)), _options(rng), _networks()).motion()
    style = styles[str(rng.choice(sorted(styles)))]
    return Edit(motion, style=style, autoencoder=_networks().autoencoder).motion()


def _options(rng: np.random.Generator) -> Options:
    return Options(phase=float(rng.uniform(0, 2 * math.pi)), standing_start=bool(rng.random() < 0.3))


_WALKS: dict[str, Callable[[np.random.Generator], Motion]] = {
    "straight": _straight,
    "curved": _curved,
    "closed": _closed,
    "uneven ground": _uneven,
    "crowd": _member,
    "pinned": _pinned,
    "styled": _styled,
}
