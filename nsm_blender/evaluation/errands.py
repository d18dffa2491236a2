# SPDX-License-Identifier: GPL-3.0-or-later
"""Random goals in random rooms: is every one that can be reached reached, and no thing walked through?

Rooms before 300 have been reported on; those before 200, and room 280, have been looked into and are for development
since then.

Whether a goal can be reached is reckoned here on its own: a flood over a fine grid, of which each point keeps the
body's radius from the outlines of the cuboids.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..baking.bake import Bake
from ..errors import UserError
from ..geometry.colliders import Placed, Surroundings
from ..geometry.furniture import held_out
from ..geometry.rooms import Room, random_room
from ..motion.motion import Motion
from ..motion.rotations import Array
from ..naturalness.metrics import foot_slide
from ..planning.path_planner import Leg
from ..shot.goals import ActionKey, Goal, RouteOptions
from ..shot.shot import Shot
from ..tasks.arrival_times import foresee

ROOMS = 20
"""Held-out rooms that are walked in."""
FIRST = 300
"""Seed from which on held-out rooms are taken, since those before have been looked at."""
GOALS = 10
"""Goals in each room."""
NEAR_CM, NEAR_DEG = 10.0, 5.0
"""Distance in centimeters and angle in degrees within which a goal counts as reached."""
BODY = 0.25
"""Half the width in meters of the bundled character across its shoulders and arms; routes keep more."""
THIN = 0.15
"""Half the depth in meters of the same body from front to back, which counts where it goes sideways through a gap."""
FPS = 30.0
"""Frames a second of the shots."""
SPARE = 3.0
"""Seconds that a shot is longer than foreseen."""
BAND = 0.02
"""Meters by which a body is made wider and narrower to tell what can be reached: what the wider one reaches can, what
the narrower one does not reach sideways cannot, and between the two either answer is right."""
_GRID = 0.025
"""Meters of a cell of the grid by which that is judged."""
_ANKLE, _CROUCHED = 0.08, 1.3
"""Height in meters of the ankles, below which things are stepped over, and of a crouching body."""

Figures = dict[str, float]
Log = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Case:
    """An errand: a shot with one key, and whether its goal can be reached ("yes", "no" or "barely")."""

    name: str
    shot: Shot
    reachable: str


@dataclass(frozen=True)
class Result:
    """What came of a case: the reason when it was refused, else centimeters and degrees from the goal at the end,
    the depth in cm to which the body was in a thing, the share of frames in which a joint was, and the feet's slide in
    cm/s. early_s: seconds by which it was done before it was foreseen to be; not finite when it was not done. in_doubt:
    whether that lies within what the foresight leaves open."""

    refused: str = ""
    error_cm: float = math.inf
    error_deg: float = math.inf
    depth_cm: float = 0.0
    joints_inside: float = 0.0
    slide: float = 0.0
    early_s: float = math.inf
    in_doubt: bool = False

    @property
    def reached(self) -> bool:
        """Near enough to the goal, and turned as asked."""
        return not self.refused and self.error_cm < NEAR_CM and self.error_deg < NEAR_DEG


def rooms(count: int) -> list[int]:
    """Seeds of rooms that nothing was tuned on."""
    return list(itertools.islice(filter(held_out, itertools.count(FIRST)), count))


def cases(seed: int, goals: int = GOALS) -> list[Case]:
    """Errands in one room: goals anywhere inside its walls, from free places; walks, runs and some crouches."""
    room = random_room(seed)
    rng = np.random.default_rng([77, seed])
    placed = Surroundings(room.colliders).at(0)
    options = RouteOptions()
    wide = _Truth(placed, room, options, options.radius + BAND, options.radius + BAND)
    narrow = _Truth(placed, room, options, options.slim - BAND, options.radius - BAND)
    out = []
    for number in range(goals):
        start = room.free[rng.integers(len(room.free))]
        end = rng.uniform(-0.5, 0.5, 2) * room.size
        start_facing, end_facing = rng.uniform(-math.pi, math.pi, 2)
        action, gait = [("walk", "walk"), ("run", "walk"), ("walk", "crouch")][int(rng.choice(3, p=(0.6, 0.25, 0.15)))]
        shot = Shot(
            "errand",
            FPS,
            2,
            keys=[ActionKey(action, "goal", gait=gait)],
            goals=[Goal("goal", [*end.tolist(), 0.0], float(end_facing))],
            colliders=room.colliders,
            start=[*start.tolist(), 0.0, float(start_facing)],
            route_options=options,
        )
        reachable = "yes" if wide.reaches(start, end) else "barely" if narrow.reaches(start, end) else "no"
        out.append(Case(f"room {seed}, goal {number}", shot, reachable))
    return out


def carry_out(case: Case) -> Result:
    """Bake the case and measure it."""
    try:
        shot = case.shot
        foreseen = foresee(shot)[0]
        shot.frames = math.ceil(foreseen.done + SPARE * FPS)
        bake = Bake(shot)
    except UserError as error:
        return Result(refused=str(error))
    motion = bake.motion()
    key = motion.meta["keys"][0]
    x, y, _, angle = motion.root[-1].astype(float)
    placed = Surroundings(shot.colliders).at(0)
    early = math.inf if key["done"] is None else (foreseen.done - key["done"]) / FPS
    joints = placed.distance(motion.positions.reshape(-1, 3)).reshape(len(motion), -1)
    return Result(
        error_cm=100 * math.hypot(x - key["place"][0], y - key["place"][1]),
        error_deg=math.degrees(abs(math.remainder(angle - key["facing"], 2 * math.pi))),
        depth_cm=100 * _depth(placed, motion, foreseen.leg),
        joints_inside=float((joints.min(axis=1) == 0).mean()),
        slide=foot_slide(motion),
        early_s=early,
        in_doubt=abs(early) * FPS <= foreseen.done - foreseen.early,
    )


def evaluate(seeds: Sequence[int] | None = None, log: Log = print) -> Figures:
    """All figures, by default on the held-out rooms."""
    done: list[tuple[Case, Result]] = []
    for seed in rooms(ROOMS) if seeds is None else seeds:
        for case in cases(seed):
            result = carry_out(case)
            done.append((case, result))
            if not _right(case, result) or result.depth_cm > 0:
                log(f"{case.name} (reachable: {case.reachable}): {result}")
    return _figures(done, log)


def _right(case: Case, result: Result) -> bool:
    if case.reachable == "no" or (case.reachable == "barely" and result.refused):
        return bool(result.refused)
    return result.reached


def _figures(done: list[tuple[Case, Result]], log: Log) -> Figures:
    by = {answer: [r for c, r in done if c.reachable == answer] for answer in ("yes", "no", "barely")}
    walked = [r for _, r in done if not r.refused]
    foreseen = [r for r in walked if math.isfinite(r.early_s)]
    out = {
        "errands.reachable.goals": float(len(by["yes"])),
        "errands.reachable.reached": float(sum(r.reached for r in by["yes"])),
        "errands.unreachable.goals": float(len(by["no"])),
        "errands.unreachable.refused": float(sum(bool(r.refused) for r in by["no"])),
        "errands.barely.goals": float(len(by["barely"])),
        "errands.barely.refused": float(sum(bool(r.refused) for r in by["barely"])),
        "errands.right": float(sum(_right(c, r) for c, r in done)),
        "errands.error_cm.mean": float(np.mean([r.error_cm for r in walked])),
        "errands.error_cm.max": max(r.error_cm for r in walked),
        "errands.error_deg.mean": float(np.mean([r.error_deg for r in walked])),
        "errands.error_deg.max": max(r.error_deg for r in walked),
        "errands.penetration_cm.max": max(r.depth_cm for r in walked),
        "errands.penetration.walks": float(sum(r.depth_cm > 0 for r in walked)),
        "errands.joints_inside.share": float(np.mean([r.joints_inside for r in walked])),
        "errands.foot_slide_cm_per_s": float(np.mean([r.slide for r in walked])),
        "errands.forecast_error_s.mean": float(np.mean([r.early_s for r in foreseen])),
        "errands.forecast_error_s.p90": float(np.percentile([abs(r.early_s) for r in foreseen], 90)),
        "errands.forecast_error_s.in_doubt": float(np.mean([r.in_doubt for r in foreseen])),
    }
    for name, value in out.items():
        log(f"{name} {value:.3g}")
    return out


def _depth(placed: Placed, motion: Motion, leg: Leg | None) -> float:
    """Meters to which the body, a cylinder as high as the character just is, is in a thing at the worst frame. It is
    as thin as THIN where the way leads sideways through a gap."""
    x, y = motion.root[:, 0].astype(float), motion.root[:, 1].astype(float)
    body = np.full(len(motion), BODY)
    if leg is not None:
        away = np.hypot(x[:, None] - leg.route.points[:, 0], y[:, None] - leg.route.points[:, 1])
        body[leg.route.sideways[away.argmin(axis=1)]] = THIN
    head = motion.positions[:, motion.names.index("Head"), 2] + 0.2
    worst = 0.0
    for outline, low, high in _outlines(placed):
        beside = _distance(outline, x, y)
        worst = max(worst, float((body - beside)[(low < head) & (high > _ANKLE)].max(initial=0)))
    return worst


class _Truth:
    """Where a body of a radius in meters can go in a room, and where one of the radius `standing` can stand."""

    def __init__(self, placed: Placed, room: Room, options: RouteOptions, radius: float, standing: float) -> None:
        self._axes = [np.arange(-s / 2, s / 2 + _GRID, _GRID) for s in room.size]
        grid = np.meshgrid(*self._axes, indexing="ij")
        self._free = np.ones(grid[0].shape, dtype=bool)
        self._standing = self._free.copy()
        for outline, low, high in _outlines(placed):
            if high <= _ANKLE or low >= options.height:
                continue
            reach = zip(self._axes, outline.T, strict=True)
            window = tuple(slice(*np.searchsorted(x, (c.min() - standing, c.max() + standing))) for x, c in reach)
            clear = _distance(outline, grid[0][window], grid[1][window])
            self._standing[window] &= clear >= standing
            if low < _CROUCHED or not options.crouch:
                self._free[window] &= clear >= radius

    def reaches(self, start: Array, end: Array) -> bool:
        """Whether the body gets from `start` to `end`, and can stand there."""
        first, last = (
            tuple(round((v - x[0]) / _GRID) for v, x in zip(place, self._axes, strict=True)) for place in (start, end)
        )
        if not self._standing[last]:
            return False
        reached = np.zeros_like(self._free)
        reached[first] = True
        while True:
            grown = reached.copy()
            grown[1:] |= reached[:-1]
            grown[:-1] |= reached[1:]
            grown[:, 1:] |= reached[:, :-1]
            grown[:, :-1] |= reached[:, 1:]
            grown &= self._free
            grown[first] = True
            if grown[last] or (grown == reached).all():
                return bool(grown[last])
            reached = grown


def _outlines(placed: Placed) -> list[tuple[Array, float, float]]:
    """Each cuboid's outline from above, corners (K, 2) counter-clockwise, and the heights of its bottom and top."""
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    out = []
    for rotation, center, half in zip(placed.rotation, placed.center, placed.half, strict=True):
        corners = center + (signs * half) @ rotation.T
        out.append((_hull(corners[:, :2]), float(corners[:, 2].min()), float(corners[:, 2].max())))
    return out


def _hull(points: Array) -> Array:
    """The convex hull of points (N, 2), counter-clockwise (Andrew's monotone chain)."""
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
    chains = []
    for sequence in (ordered, ordered[::-1]):
        chain: list[Array] = []
        for p in sequence:
            while len(chain) > 1 and _cross(chain[-1] - chain[-2], p - chain[-2]) <= 1e-12:
                chain.pop()
            chain.append(p)
        chains += chain[:-1]
    return np.array(chains)


def _cross(a: Array, b: Array) -> float:
    return float(a[0] * b[1] - a[1] * b[0])


def _distance(outline: Array, x: Array, y: Array) -> Array:
    """Meters from places x, y (...) to a convex outline, 0 inside."""
    squared = np.full(np.shape(x), np.inf)
    inside = np.ones(np.shape(x), dtype=bool)
    for a, b in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        along = b - a
        t = np.clip(((x - a[0]) * along[0] + (y - a[1]) * along[1]) / (along @ along), 0, 1)
        squared = np.minimum(squared, (x - a[0] - t * along[0]) ** 2 + (y - a[1] - t * along[1]) ** 2)
        inside &= along[0] * (y - a[1]) - along[1] * (x - a[0]) >= 0
    out: Array = np.where(inside, 0.0, np.sqrt(squared))
    return out
