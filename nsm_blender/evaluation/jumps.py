# SPDX-License-Identifier: GPL-3.0-or-later
"""Jump keys (table "jumps"): on the spot, over level ground, onto boxes, off platforms and over gaps, made up and not
tuned on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..baking.bake import Bake
from ..errors import ShotError
from ..geometry.ground import Ground, GroundMesh
from ..geometry.shapes import block
from ..models.pfnn import FPS
from ..motion.motion import Motion
from ..motion.rotations import Array
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..naturalness.metrics import acceleration
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot

JUMPS = 20
"""Jumps of each kind."""
LANDED = 0.1
"""Meters from the goal within which a jump has landed on it."""
OFF = 0.09
"""Meters of both feet's joints above what is below them from which a body is in the air: toes stand at 0.02."""
GRAVITY = 9.81
"""Acceleration of a fall in m/s^2."""
SECONDS = 9.0
"""Seconds of a shot."""
_HALF_WIDTH = 1.5
"""Meters to either side of what is jumped onto, off and over."""

Figures = dict[str, float]
Log = Callable[[str], None]


@dataclass(frozen=True)
class Jumped:
    """How a jump went. off: meters from its goal in the end. depth: meters of feet in the ground at most. hips: largest
    acceleration in m/s^2. hang: seconds in the air beyond those that a fall from the top of it takes. done: there was
    a flight, and the character landed."""

    off: float
    depth: float
    hips: float
    hang: float
    done: bool


def spot(rng: np.random.Generator) -> Shot:
    """Jump where the character stands."""
    return _shot(rng, None, [])


def level(rng: np.random.Generator) -> Shot:
    """Jump on level ground, to somewhere around."""
    away, angle = rng.uniform(1.0, 3.0), rng.uniform(-math.pi, math.pi)
    return _shot(rng, [away * math.cos(angle), away * math.sin(angle), 0.0], [])


def onto(rng: np.random.Generator) -> Shot:
    """Jump onto a box of 0.1 to 0.4 m."""
    height, edge = rng.uniform(0.1, 0.4), rng.uniform(1.2, 2.0)
    return _shot(rng, [edge + rng.uniform(0.3, 0.6), 0.0, height], [(edge, edge + 2.0, height)])


def down(rng: np.random.Generator) -> Shot:
    """Jump off a platform of 0.2 to 0.8 m."""
    height, edge = rng.uniform(0.2, 0.8), rng.uniform(0.8, 1.5)
    return _shot(rng, [edge + rng.uniform(0.4, 0.7), 0.0, 0.0], [(-2.0, edge, height)], height)


def over(rng: np.random.Generator) -> Shot:
    """Jump over a gap of 0.3 to 0.7 m."""
    width, edge = rng.uniform(0.3, 0.7), rng.uniform(1.0, 1.6)
    goal = [edge + width + rng.uniform(0.22, 0.28), 0.0, 1.0]
    return _shot(rng, goal, [(-2.0, edge, 1.0), (edge + width, edge + width + 2.0, 1.0)], 1.0)


KINDS: Mapping[str, Callable[[np.random.Generator], Shot]] = {
    "spot": spot,
    "level": level,
    "onto": onto,
    "down": down,
    "over": over,
}
"""Shots with a jump by kind."""


def _shot(
    rng: np.random.Generator, goal: list[float] | None, blocks: list[tuple[float, float, float]], height: float = 0.0
) -> Shot:
    """A character at a height that jumps to a goal over blocks, each from x to x and of a height."""
    solids = [block((a, -_HALF_WIDTH, 0.0), (b, _HALF_WIDTH, top)).mesh for a, b, top in blocks]
    ground = [GroundMesh(f"Block {n}", m.vertices.tolist(), m.triangles.tolist()) for n, m in enumerate(solids)]
    goals = [] if goal is None else [Goal("Goal", goal)]
    start = [0.0, 0.0, height, math.pi / 2 + float(rng.uniform(-0.5, 0.5))]
    key, seed = ActionKey("jump", "" if goal is None else "Goal"), int(rng.integers(1000))
    return Shot("jump", FPS, round(SECONDS * FPS), keys=[key], goals=goals, ground=ground, start=start, seed=seed)


def jumped(shot: Shot, weights: Path) -> Jumped:
    """Bake a jump and measure it; one that is refused is not done."""
    try:
        motion = Bake(shot, weights).motion()
    except ShotError:
        return Jumped(math.inf, 0.0, 0.0, 0.0, False)
    above = _above(motion, Ground.of([mesh.mesh() for mesh in shot.ground]))
    (key,), places = motion.meta["keys"], motion.positions.astype(np.float64)
    asked = shot.goals[0].place if shot.goals else shot.start
    assert asked is not None
    off = float(np.linalg.norm(motion.root[-1, :3] - np.array(asked[:3])))
    flies = np.flatnonzero((above > OFF).all(axis=1))
    hips = acceleration(places, FPS)[:, 0]
    if not len(flies):
        return Jumped(off, float(-above.min()), float(hips.max()), 0.0, False)
    flight = places[flies[0] : flies[-1] + 1, 0, 2]
    falls = sum(math.sqrt(2 * (flight.max() - flight[end]) / GRAVITY) for end in (0, -1))
    done = key["trouble"] == "" and off < LANDED
    return Jumped(off, max(float(-above.min()), 0.0), float(hips.max()), len(flight) / FPS - falls, done)


def _above(motion: Motion, ground: Ground) -> Array:
    """Heights (T, 4) of the feet's joints above the ground under them."""
    feet = motion.positions[:, MODEL_SKELETON.indices(CONTACT_JOINTS)].astype(np.float64)
    under = ground.height(feet[..., :2], motion.root[:, None, 2].astype(np.float64))
    out: Array = feet[..., 2] - under
    return out


def jump_figures(weights: Path, log: Log, quick: bool = False) -> Figures:
    """Figures `pfnn.jumps.<kind>.*` and of all kinds: the share done, centimeters from the goal and of feet in the
    ground and m/s^2 of the hips at most, and seconds that flights hang in the air."""
    found = {
        name: [jumped(make(np.random.default_rng([93, n])), weights) for n in range(1 if quick else JUMPS)]
        for name, make in KINDS.items()
    }
    out: Figures = {}
    for name, rows in {**found, "": [one for several in found.values() for one in several]}.items():
        prefix, done = f"pfnn.jumps.{name}." if name else "pfnn.jumps.", [one for one in rows if one.done]
        out[f"{prefix}done"] = len(done) / len(rows)
        if done:
            out[f"{prefix}goal_cm.max"] = 100 * max(one.off for one in done)
            out[f"{prefix}foot_depth_cm.max"] = 100 * max(one.depth for one in done)
            out[f"{prefix}hips_acceleration.max"] = max(one.hips for one in done)
            out[f"{prefix}hang_s.mean"] = float(np.mean([one.hang for one in done]))
    for name, value in out.items():
        log(f"{name} {value:.2f}")
    return out
