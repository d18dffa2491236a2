# SPDX-License-Identifier: GPL-3.0-or-later
"""Shots of lone furniture: sit down, rise and walk off; pick a thing up from the floor and put it down on a table."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...control.goals import ActionKey, Goal
from ...control.shot import Shot
from ...geometry.colliders import Collider
from ...geometry.furniture import make
from ...geometry.mesh import TriangleMesh
from ...geometry.roles import Carryable, Seat, Surface
from ...motion.root import direction
from ...motion.rotations import Array, from_yaw
from .case import Case

SEATS = ("chair", "armchair", "stool", "sofa", "bench", "office_chair")
LOADS = ("box", "crate")
FPS = 30.0
"""Scene frame rate in frames a second."""
NEAREST, FARTHEST = 1.5, 3.0
"""Metres between the start and what is used first."""


def sit_and_rise(seed: int) -> Case:
    """A lone seat, gone to from any side with any facing; then up and away."""
    rng = np.random.default_rng([41, seed])
    kind = SEATS[seed % len(SEATS)]
    piece = make(kind, 5 * seed + 1)
    assert isinstance(piece.handles, Seat)
    collider = Collider(kind, piece.boxes, role="seat", handles=piece.handles)
    start = _start(rng)
    away = direction(np.array(rng.uniform(-1.0, 1.0))) * rng.uniform(1.5, 3.0)
    keys = [ActionKey("sit", "seat", hold=1.0), ActionKey("walk", "away")]
    goals = [Goal("seat", [0.0, 0.0, 0.0], collider=kind), Goal("away", [*away.tolist(), 0.0])]
    return _case("lone seat", seed, 16.0, keys, goals, [collider], start, {kind: piece.parts})


def carry(seed: int) -> Case:
    """A thing on the floor and a table 2 to 3 m from it."""
    rng = np.random.default_rng([42, seed])
    kind = LOADS[seed % len(LOADS)]
    piece, table = make(kind, 5 * seed + 1), make("table", 5 * seed + 1)
    assert isinstance(piece.handles, Carryable) and isinstance(table.handles, Surface)
    angle = float(rng.uniform(-math.pi, math.pi))
    place = direction(np.array(angle)) * (2.0 + rng.uniform(0.0, 1.0))
    pose = np.array([[*place, 0.0, *from_yaw(np.array(angle + math.pi))]])
    load = Collider(kind, piece.boxes, role="carryable", handles=piece.handles)
    surface = Collider("table", table.boxes, pose, role="surface", handles=table.handles)
    keys = [ActionKey("pick_up", "load"), ActionKey("put_down", "top")]
    goals = [
        Goal("load", [0.0, 0.0, 0.0], collider=kind),
        Goal("top", [0.0, 0.0, 0.0], collider="table"),
    ]
    meshes = {kind: piece.parts, "table": table.parts}
    start = _start(rng, -direction(np.array(angle)))
    return _case("lone box", seed, 20.0, keys, goals, [load, surface], start, meshes)


def _start(rng: np.random.Generator, towards: Array | None = None) -> list[float]:
    """A place around the origin, or within 90 degrees of a direction (2,) from it, and any facing."""
    first = 0.0 if towards is None else math.atan2(float(towards[0]), -float(towards[1]))
    spread = math.pi if towards is None else math.pi / 2
    place = direction(np.array(first + rng.uniform(-spread, spread))) * rng.uniform(NEAREST, FARTHEST)
    return [*place.tolist(), 0.0, float(rng.uniform(-math.pi, math.pi))]


def _case(
    kind: str,
    seed: int,
    seconds: float,
    keys: list[ActionKey],
    goals: list[Goal],
    colliders: list[Collider],
    start: list[float],
    meshes: dict[str, list[TriangleMesh]],
) -> Case:
    shot = Shot(kind, FPS, round(seconds * FPS), keys=keys, goals=goals, colliders=colliders, start=start)
    return Case(kind, seed, shot, meshes)


CASES: dict[str, Callable[[int], Case]] = {"lone seat": sit_and_rise, "lone box": carry}
"""The case of each kind for a seed; the same seed gives the same case."""
