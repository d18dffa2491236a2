# SPDX-License-Identifier: GPL-3.0-or-later
"""Approaches to seats, doors and boxes from random sides and facings, to measure excess turning and speed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ...errors import RouteError
from ...geometry.colliders import Collider, Surroundings
from ...geometry.furniture import make
from ...geometry.mesh import TriangleMesh
from ...geometry.rooms import Furnishing, random_room
from ...geometry.scene_state import Scenery
from ...motion.root import angle_of, direction
from ...motion.rotations import Array, wrap_angle
from ...naturalness.case import DEVELOPMENT_SEEDS, Case
from ...planning.path_planner import Planner
from ...planning.scene_planner import leg_from
from ...shot.goals import ActionKey, Goal
from ...shot.shot import Shot
from ...tasks.arrival_times import foresee
from ...tasks.registry import task_of
from ...tasks.validation import check

USES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "seat": ("sit", "seat", ("chair", "armchair", "stool", "sofa", "bench", "office_chair")),
    "door": ("open", "door", ("door",)),
    "box": ("pick_up", "carryable", ("box", "crate", "sack", "drum")),
}
"""Action, role and kinds of furniture of each kind of approach."""
NEAREST, FARTHEST = 0.6, 3.5
"""Least and largest distance in meters from the middle of the used thing at which an approach starts."""
CLEAR = 0.35
"""Clearance in meters between the start and every thing around."""
JOGS = 0.25
"""Share of the approaches that are jogged."""
IN_ROOM = 0.5
"""Share of the approaches that take place in a furnished room; the others have only the used thing."""
SPARE = 10.0
"""Time in seconds by which a shot is longer than its estimate, so that a slow approach is measured and not cut."""
FPS = 30.0
"""Frame rate of the shots in Hz."""
_ABLE = ("idle", "walk", "run", "sit", "open", "pick_up", "put_down", "climb")
"""Actions of the character in these shots."""
_HEIGHTS = (0.1, 0.4, 0.7, 1.0)
"""Heights in meters at which the start is clear."""
_DRAWS = 60
"""Starts that are drawn in a setting before another setting is drawn."""
_SPAN = 0.4
"""Length in meters of the path over which its heading is smoothed: a body cuts the corners of a grid's path."""
_STEP = 0.05
"""Distance in meters between samples of the path."""


def approach(kind: str, seed: int) -> Case:
    """Make an approach to a "seat", a "door" or a "box" that the shot's check accepts; the same for the same seed."""
    action = USES[kind][0]
    rng = np.random.default_rng([41, list(USES).index(kind), seed])
    number = 0
    while True:
        things, name = _setting(kind, seed, number, rng)
        number += 1
        for _ in range(_DRAWS if things else 0):
            shot = _shot(action, [thing.collider() for thing in things], name, rng)
            if shot is None or any(problem.fatal for problem in check(shot, _ABLE)):
                continue
            shot.frames = math.ceil(foresee(shot, _ABLE)[0].done + SPARE * FPS)
            turning = required_turning(shot)
            if turning is not None:
                meshes: dict[str, list[TriangleMesh]] = {thing.name: thing.piece.parts for thing in things}
                return Case(f"approach_{kind}", seed, shot, meshes, turning, network="nsm")


def _setting(kind: str, seed: int, number: int, rng: np.random.Generator) -> tuple[list[Furnishing], str]:
    """Furnishings and the name of the used thing; none where the room has no such thing."""
    _, role, kinds = USES[kind]
    if rng.random() < IN_ROOM:
        room = random_room(_furniture_seed(seed, number)).furnishings
        names = [one.name for one in room if one.piece.role == role and one.piece.handles is not None]
        return (room, str(rng.choice(names))) if names else ([], "")
    piece = make(kinds[int(rng.integers(len(kinds)))], _furniture_seed(seed, number))
    angle = float(rng.uniform(-math.pi, math.pi))
    things = [Furnishing("thing", piece, np.zeros(3), angle)]
    if piece.fixture is not None:
        things.append(Furnishing("fixture", piece.fixture, np.zeros(3), angle))
    return things, "thing"


def _furniture_seed(seed: int, number: int) -> int:
    """Seed of furniture and rooms that no network was trained on: a development seed or a held-out seed."""
    if seed in DEVELOPMENT_SEEDS:
        return 100_001 + 5 * (seed - DEVELOPMENT_SEEDS[0] + len(DEVELOPMENT_SEEDS) * number)
    return 5 * (seed + 1000 * number)


def _shot(action: str, colliders: list[Collider], name: str, rng: np.random.Generator) -> Shot | None:
    """A shot with the character anywhere around the thing, facing anywhere; None where something is in the way."""
    scenery = Scenery(Surroundings(colliders))
    middle = scenery.placed(name, 0).center.mean(0)[:2]
    place = middle + rng.uniform(NEAREST, FARTHEST) * direction(np.array(rng.uniform(-math.pi, math.pi)))
    facing, jogs = float(rng.uniform(-math.pi, math.pi)), bool(rng.random() < JOGS)
    body = np.array([[*place, height] for height in _HEIGHTS])
    if scenery.surroundings.at(0).distance(body).min() < CLEAR:
        return None
    key = ActionKey(action, "goal", gait="jog" if jogs else "walk")
    goal = Goal("goal", [0.0, 0.0, 0.0], None, name)
    return Shot("approach", FPS, 2, keys=[key], goals=[goal], colliders=colliders, start=[*place.tolist(), 0.0, facing])


def required_turning(shot: Shot) -> float | None:
    """Turning in radians that the path of a shot's first key requires: from the facing at the start, along the planned
    route with its corners cut, to the facing in which the thing is used, each by the shorter side; None without a
    path."""
    assert shot.start is not None
    key, start = shot.keys[0], np.array(shot.start)
    scenery = Scenery(Surroundings(shot.colliders), shot.fps)
    thing = scenery.collider(shot.goals[0].collider)
    try:
        place, task = start[:2], task_of(key)
        leg = leg_from(place, [place], [Planner(shot)], lambda planner: task.approach(planner, key, 0), key, 0)
        aim = task.aim(key, thing, scenery.pose(thing.name, 0), leg.handles, start, None)
    except RouteError:
        return None
    headings = np.concatenate((start[3:], _headings(np.vstack((start[:2], leg.route.points[:, :2]))), [aim.facing]))
    return float(np.abs(wrap_angle(np.diff(headings))).sum())


def _headings(points: Array) -> Array:
    """Headings (N,) in radians along a polyline (P, 2) with its corners cut; none where it is so short that a body
    steps aside or backward."""
    points = points[np.concatenate(([True], np.linalg.norm(np.diff(points, axis=0), axis=1) > 1e-6))]
    along = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))))
    if along[-1] < _SPAN:
        return np.zeros(0)
    begin = np.arange(0.0, along[-1] - _SPAN + 1e-9, _STEP)
    far, near = (
        np.stack([np.interp(at, along, points[:, i]) for i in (0, 1)], axis=1) for at in (begin + _SPAN, begin)
    )
    return np.asarray(angle_of(far - near))


CASES: dict[str, Callable[[int], Case]] = {f"approach_{kind}": partial(approach, kind) for kind in USES}
"""The function of each kind that makes the case of a seed."""
