# SPDX-License-Identifier: GPL-3.0-or-later
"""A drawn path over ground: on which surface each of its places lies, and what no character walks over, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ShotError
from ..geometry.body import BODY
from ..geometry.ground import STEP, Ground, GroundMesh
from ..geometry.mesh import TriangleMesh
from ..motion.rotations import Array
from .path import GroundPath

DROP = 0.8
"""Meters that a character comes down at once at most: from higher up people climb down or land in a crouch."""
STEEPEST_RAMP, STEEPEST_FLIGHT = 0.7, 1.28
"""Largest rise over run of an even slope, 35 degrees, on which shoes begin to slip, and of stairs, 52 degrees, as the
steepest in houses."""
WIDEST_GAP = 0.5
"""Meters along the path of a gap that is stepped over: a step of a walk is 0.65 m long, and the feet need room."""
WIDEST_LEAP = 1.2
"""Meters of a gap that is leapt over: people leap 2 m and more, the PFNN 1.05 m and what its root is moved farther."""
LEAST_RUN_UP = 1.0
"""Meters of the path before a gap that is leapt over: a leap begins at 1.4 m/s or more."""
LEAST_LANDING = 1.0
"""Meters of the path behind a gap that is leapt over, in which the character comes to rest from there or goes on."""
_GAP_DEPTH, _GAP_RISE = 0.2, 0.15
"""Least depth in meters of a gap, as into less feet step down, and largest difference in height of its two edges."""
_PLANK = 0.6
"""Meters to either side of the path over which a gap is bridged for the root."""
_SPACING = 0.05
"""Meters between the places at which a path is looked at, a fifth of a foot's length."""
_SPAN = 16
"""Places over which a slope is measured, 0.8 m: two treads or more of a flight of stairs."""
_TO_BE_SEEN = 0.01
"""Amount above a limit from which it counts, as heights are those of a grid."""


@dataclass(frozen=True, eq=False)
class Obstruction:
    """What blocks a path. place: x, y, z in meters at the model's size. height: meters that it rises, drops or leaves
    free, or that there are before or behind a leap. limit: what of it a character manages or needs. kind: rise, drop,
    slope, ceiling, run-up or landing. name: of the mesh, or nothing."""

    kind: str
    place: tuple[float, float, float]
    height: float
    limit: float
    name: str

    def told(self, scale: float = 1.0) -> str:
        """What blocks, where, and what to do, of a character whose size is `scale` times the model's."""
        x, y, _ = (scale * number for number in self.place)
        height, limit = scale * self.height, scale * self.limit
        where, what = f"At x {x:.2f} m, y {y:.2f} m", f"'{self.name}'" if self.name else "the floor"
        if self.kind == "rise":
            return (
                f"{where} the path runs against {what}, which rises {height:.2f} m at once; legs step up {limit:.2f} m "
                "at most. Lead the path round it, or over stairs or a ramp."
            )
        if self.kind == "drop":
            return (
                f"{where} the path leaves {what} over an edge {height:.2f} m deep; {limit:.2f} m are stepped down at "
                "most. Lead the path round the hole, or down stairs or a ramp."
            )
        if self.kind == "slope":
            return (
                f"{where} the path is too steep on {what}: {self.height:.2f} m up or down in a meter, and "
                f"{self.limit:.2f} m are walked at most. Lead it up at an angle, or make the ground less steep."
            )
        if self.kind in ("run-up", "landing"):
            side = "before" if self.kind == "run-up" else "behind"
            return (
                f"{where} the path leads over a gap that has to be leapt, and has {height:.2f} m {side} it for the "
                f"{self.kind}; {limit:.2f} m are needed. Make the path longer there, or put a plank over the gap."
            )
        return (
            f"{where} {what} hangs {height:.2f} m over the ground; the character crouches under {limit:.2f} m or more. "
            "Raise it, or lead the path round it."
        )


@dataclass(frozen=True, eq=False)
class Gap:
    """A gap in the ground that a path crosses. start, end: meters along the path of its edges. heights: of the ground
    at both, in meters. is_leapt: it is too wide for a step."""

    start: float
    end: float
    heights: tuple[float, float]
    is_leapt: bool = False

    def plank(self, path: GroundPath) -> TriangleMesh:
        """A plank over the gap: the root crosses it as on level ground, while the feet step over it."""
        ends = path.position(np.array((self.start, self.end)))
        along = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
        side = _PLANK * np.array((-along[1], along[0]))
        corners = [(*(end + sign * side), z) for end, z in zip(ends, self.heights, strict=True) for sign in (-1, 1)]
        return TriangleMesh(np.array(corners), np.array([[0, 2, 3], [0, 3, 1]]))


@dataclass(frozen=True, eq=False)
class PathSurface:
    """What a path leads over. heights: (N,) meters of the ground at places evenly spaced along it. gaps: in it."""

    heights: Array
    gaps: list[Gap]


class BlockedPathError(ShotError):
    """A path leads over ground where no character walks."""

    def __init__(self, obstruction: Obstruction) -> None:
        super().__init__(obstruction.told())
        self.obstruction = obstruction


def height_at_start(path: GroundPath, ground: Ground, near: float) -> float:
    """Height in meters of the surface on which a path begins: the nearest to the height `near` of its first place."""
    return float(ground.nearest(path.position(np.array(0.0)), near))


def check_path(
    path: GroundPath, ground: Ground, start: float, meshes: Sequence[GroundMesh], leaps: bool = False
) -> PathSurface:
    """What a path leads over; raises BlockedPathError at its first place that cannot be walked.

    start: height in meters of the surface on which it begins. meshes: of the ground, for their names. leaps: gaps too
    wide for a step and too deep to be walked through are leapt over.
    """
    spacing = max(_SPACING, 2 * ground.cell)
    along = np.linspace(0, path.length, max(round(path.length / spacing), 1) + 1)
    places = path.position(along)
    step = max(round(WIDEST_GAP / along[1]), 1)
    # Its edges lie between the places.
    leap = round(WIDEST_LEAP / along[1]) + 2 if leaps else 0
    heights, headroom, crossed = _surfaces(ground, places, start, step, leap)
    exact = ground.height(places, heights)
    for first, last in crossed:
        exact[first : last + 1] = heights[first : last + 1]
    ramp, flight = _slopes(exact, float(along[1]))
    gaps = [
        Gap(float(along[a]), float(along[b]), (float(heights[a]), float(heights[b])), b - a > step) for a, b in crossed
    ]
    # A wall is a slope too, already before it: slopes are told where nothing else is.
    blocked = (
        _first(
            ("rise", np.diff(heights, prepend=heights[0]), STEP),
            ("drop", -np.diff(heights, append=heights[-1]), DROP),
            ("ceiling", -headroom, -BODY.crouched),
        )
        or _first(("slope", ramp, STEEPEST_RAMP), ("slope", flight, STEEPEST_FLIGHT))
        or _short(gaps, path, along)
    )
    if blocked is None:
        return PathSurface(heights, gaps)
    number, kind, amount, limit = blocked
    (x, y), z = places[number], float(heights[number])
    seen = z + abs(amount) if kind == "ceiling" else z
    raise BlockedPathError(
        Obstruction(kind, (float(x), float(y), z), abs(amount), abs(limit), _name_at(meshes, places[number], seen))
    )


def _short(gaps: Sequence[Gap], path: GroundPath, along: Array) -> tuple[int, str, float, float] | None:
    """The first leap without room for its run-up or landing: the number of the place at its gap, the kind, how many
    meters there are, and how many there have to be."""
    landed: float | None = None
    for gap in gaps:
        if not gap.is_leapt:
            continue
        needed = LEAST_RUN_UP if landed is None else LEAST_LANDING + LEAST_RUN_UP
        if gap.start - (landed or 0.0) < needed - along[1]:
            return int(np.searchsorted(along, gap.start)), "run-up", gap.start - (landed or 0.0), needed
        landed = gap.end
        if not path.closed and path.length - gap.end < LEAST_LANDING - along[1]:
            return int(np.searchsorted(along, gap.end)), "landing", path.length - gap.end, LEAST_LANDING
    return None


def _surfaces(
    ground: Ground, places: Array, start: float, step: int, leap: int
) -> tuple[Array, Array, list[tuple[int, int]]]:
    """Heights (N,) of the surfaces that a walk along places (N, 2) comes to from a height, and the headroom there; over
    gaps of at most `step` places, and deep ones of `leap`, heights are those of a plank, and the gaps' first and last
    places are told."""
    stacks, headroom = ground.stacks(places)
    columns = stacks.T.tolist()
    here, chosen, crossed = start, [], list[tuple[int, int]]()
    for number, column in enumerate(columns):
        if crossed and number < crossed[-1][1]:
            chosen.append(0)
            continue
        level = _level(column, here)
        if number and here - column[level] > _GAP_DEPTH:
            widest = max(step, leap) if here - column[level] > STEP else step
            beyond = (k for k in range(number + 1, min(number + widest, len(columns))) if _is_over(columns[k], here))
            edge = next(beyond, None)
            if edge is not None:
                crossed.append((number - 1, edge))
                chosen.append(0)
                continue
        here = column[level]
        chosen.append(level)
    rows, numbers = np.array(chosen), np.arange(len(places))
    heights, free = stacks[rows, numbers], headroom[rows, numbers]
    for first, last in crossed:
        heights[first : last + 1] = np.linspace(heights[first], heights[last], last - first + 1)
        free[first + 1 : last] = np.inf
    return heights, free, crossed


def _level(column: list[float], here: float) -> int:
    """Number of the surface of a stack that is walked on from a height, as in a rollout: the highest that a foot comes
    onto, or the lowest where all are too high."""
    return max(sum(height <= here + STEP for height in column) - 1, 0)


def _is_over(column: list[float], here: float) -> bool:
    """Whether a stack of surfaces has one on which a walk from a height goes on behind a gap."""
    return abs(column[_level(column, here)] - here) <= _GAP_RISE


def _slopes(heights: Array, spacing: float) -> tuple[Array, Array]:
    """Rise over run (N,) at places `spacing` meters apart, of heights (N,): of the ramp and of the stairs there."""
    steps = np.pad(
        np.diff(heights) / spacing, (_SPAN // 2, _SPAN // 2), mode="edge" if len(heights) > 1 else "constant"
    )
    around = np.lib.stride_tricks.sliding_window_view(steps, _SPAN)
    # Of a flight of stairs most places lie on treads, where a ramp rises everywhere.
    return np.median(np.abs(around), axis=1), np.abs(around.mean(axis=1))


def _first(*checks: tuple[str, Array, float]) -> tuple[int, str, float, float] | None:
    """The first place at which amounts (N,) of a kind are above their limit: its number, kind, amount and limit."""
    found = []
    for kind, amounts, limit in checks:
        over = np.flatnonzero(amounts > limit + _TO_BE_SEEN)
        found += [(int(over[0]), kind, float(amounts[over[0]]), limit)] if len(over) else []
    return min(found, default=None, key=lambda one: one[0])


def _name_at(meshes: Sequence[GroundMesh], place: Array, height: float) -> str:
    """The name of the mesh whose surface over or under a place (2,) is nearest to a height; nothing where none is."""
    away = {mesh.name: _distance(mesh.mesh(), place, height) for mesh in meshes}
    name = min(away, key=lambda name: away[name], default="")
    return name if away.get(name, np.inf) < STEP else ""


def _distance(mesh: TriangleMesh, place: Array, height: float) -> float:
    """Meters up or down from a height to the nearest surface of a mesh at a place (2,), infinite where it has none."""
    corners = mesh.vertices[mesh.triangles]
    a, b, c = (corners[:, i, :2] - place for i in range(3))
    inside = np.stack([p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0] for p, q in ((b, c), (c, a), (a, b))], axis=1)
    area = inside.sum(axis=1)
    share = inside / np.where(np.abs(area) > 1e-12, area, np.nan)[:, None]
    at = (share * corners[..., 2]).sum(axis=1)[(share >= -1e-6).all(axis=1)]
    return float(np.abs(at - height).min(initial=np.inf))
