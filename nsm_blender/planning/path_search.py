# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways round walls and furniture: the cheapest over the occupancy grid, pulled straight and rounded.

The networks' sensors handle the near field; a route leads them to far goals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import RouteError
from ..geometry.colliders import Surroundings
from ..motion.rotations import Array
from ..shot.goals import RouteOptions
from .narrow_passages import LONGEST, Gap, gaps_on, is_between
from .occupancy_grid import (
    ANKLE,
    BLOCKED,
    CELL,
    CROUCH_COST,
    MOST_CELLS,
    REACH,
    ROOMY,
    TOLERANCE,
    ObstacleOutlines,
    OccupancyGrid,
)

SPACING = 0.1
"""Meters between the points of a route."""
BESIDE = 0.45
"""Meters by which a character at most steps aside that starts nearer to a thing than its body is wide."""
LEAD = 0.7
"""Meters of a way over which the character goes down into a crouch, or turns sideways, and back: a step."""
AROUND = 6.0
"""Meters around start and end in which a way is looked for first; then everywhere."""
EDGE = 1.0
"""Meters of free floor kept around all things, so that ways lead round the outside too."""
DETOUR = 3.0
"""Meters of a detour that is made rather than go sideways through a gap."""
THINNEST = 0.05
"""Meters to either side of a way that only passes things still, and is called a gap that is too narrow."""
_ROUNDS = 8
"""Ways that are looked for, each with the gaps closed that were too narrow before; and last steps of an elastic band
that only keep it off things."""
_RELAXATIONS = 60
"""Steps in which the elastic band of a way comes to rest."""
_CELLS_AROUND = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)])


@dataclass(frozen=True, eq=False)
class Route:
    """A way to walk. points: (N, 3) world meters, about SPACING apart, z on the ground. crouch, sideways: (N,) whether
    the character crouches there, or goes sideways. end: which of the ends asked for it leads to. facings: angles at
    its first and its last point of a body that goes sideways there; None: whichever suits the way. on_hands: (N,)
    whether the character comes to a point on hands and knees; None: to none."""

    points: Array
    crouch: Array
    sideways: Array
    end: int = 0
    facings: tuple[float | None, float | None] = (None, None)
    on_hands: Array | None = None

    @property
    def length(self) -> float:
        """Meters along the ground."""
        return float(np.linalg.norm(np.diff(self.points[:, :2], axis=0), axis=1).sum())


def find_route(
    surroundings: Surroundings,
    start: Sequence[float] | Array,
    end: Sequence[float] | Array,
    options: RouteOptions,
    *,
    frame: float = 0,
    ground: float = 0.0,
    passable: Collection[str] = (),
) -> Route:
    """The way from `start` (2,) to `end` (2,), or to whichever of several ends (E, 2) is nearest on foot.

    The things stand where they are at `frame`; those named in `passable` (doors that open, things that move away)
    are no hindrance. ground: height of the ground. Raises RouteError with what is in the way.
    """
    ways = finder(surroundings, options, frame, ground, passable)
    return ways.route(np.asarray(start, float), np.atleast_2d(np.asarray(end, float)))


def led_out(things: ObstacleOutlines, start: Array, points: Array) -> int:
    """Index of the point of a way (N, 2) to which a body goes straight that starts beside it, where it has no room: the
    farthest within BESIDE on the way to which it comes no nearer to anything than it is at the start (2,)."""
    allowed = float(things.distance(start[None])[0]) - TOLERANCE
    for index in range(min(round(BESIDE / SPACING), len(points) - 1), 0, -1) if allowed > 0 else ():
        line = np.linspace(start, points[index], 2 + round(BESIDE / SPACING))
        if (things.distance(line) >= allowed).all():
            return index
    return 0


def finder(
    surroundings: Surroundings, options: RouteOptions, frame: float, ground: float, passable: Collection[str]
) -> Finder:
    """What finds routes between things as they are at one moment; see `find_route`."""
    placed = surroundings.at(frame).without(set(passable) & set(surroundings.names))
    return Finder(ObstacleOutlines.of(placed), surroundings.names, options, ground)


class Finder:
    """Finds ways between things seen from above. names: of the colliders, for the reasons that it gives."""

    def __init__(self, things: ObstacleOutlines, names: Sequence[str], options: RouteOptions, ground: float) -> None:
        self._things = things.between(ground + ANKLE, ground + options.height)
        self._names = names
        self._options = options
        self._ground = ground

    def route(self, start: Array, ends: Array, sideways: bool = False) -> Route:
        """The cheapest way from `start` (2,) to one of `ends` (E, 2). sideways: the body comes to them, and stands
        there, sideways between what is around. Raises RouteError."""
        chosen, reasons = [], []
        for n, end in enumerate(ends):
            reason = self.trouble_at(end, sideways)
            chosen += [] if reason else [n]
            reasons += [reason]
        if not chosen:
            raise RouteError(reasons[0])
        last = math.nan
        for around in (AROUND, math.inf):
            low, high = self._bounds(np.vstack((start, ends[chosen])), around)
            area = float(np.prod(high - low))
            if area == last:
                break
            last = area
            grid = self._grid_of(low, high)
            search = _Search(grid, start, ends[chosen])
            between = self._options.sideways and self._between(start)
            if grid.crouching.distance(start[None])[0] == 0 or (search.first is None and not between):
                raise RouteError(f"The start lies inside {self._name(start)}. Move it out.")
            found = None if sideways or between else search.route()
            if (sideways or between) and self._options.sideways:
                found = _Search(grid, start, ends[chosen], self._options.slim).route()
            if found is None and between and not sideways:
                found = search.route()
            if found is not None:
                break
        straight = float(np.linalg.norm(ends[chosen] - start, axis=1).min())
        if self._options.sideways and search.first is not None and (found is None or found.price > straight + DETOUR):
            narrow = _Search(grid, start, ends[chosen], self._options.slim).route()
            if narrow is not None and (found is None or (narrow.gaps and narrow.price < found.price)):
                found = narrow
        if found is None:
            blocker = self._name(search.nearest_to_start())
            raise RouteError(f"The character cannot reach the goal: {blocker} is in the way.{self._narrowest(search)}")
        z = np.full((len(found.points), 1), self._ground)
        return Route(np.hstack((found.points, z)), found.crouch, found.sideways, chosen[found.end])

    def _narrowest(self, search: _Search) -> str:
        """A sentence about the gap that only a thinner body would get through; empty where there is none."""
        gap = search.too_narrow()
        if gap is None:
            return ""
        names = " and ".join(dict.fromkeys(f"'{self._names[owner]}'" for owner in gap.sides))
        between = f" Between {names} there are {100 * gap.width:.0f} cm"
        if not self._options.sideways:
            return f"{between}, but the body needs {200 * self._options.radius:.0f} cm."
        if gap.width + gap.spare < 2 * (self._options.slim - TOLERANCE):
            need = 2 * self._options.slim - gap.spare
            return f"{between}, but the character needs {100 * need:.0f} cm to go sideways."
        if gap.length > LONGEST:
            return f"{between} for more than {LONGEST:.1f} m, too far to go sideways."
        return ""

    def _between(self, place: Array) -> bool:
        """Whether a place (2,) is in a gap in which a body only stands sideways."""
        if not self.trouble_at(place) or self.trouble_at(place, sideways=True):
            return False
        return is_between(self._things.for_legs(self._ground, self._options), place, self._options.radius)

    def room_beside(self, place: Array) -> float:
        """Meters from a place (2,) to the nearest thing, as met by a body that goes sideways."""
        return self._clearance(place, self._things.for_legs(self._ground, self._options))

    def trouble_at(self, end: Array, sideways: bool = False) -> str:
        """Why a body cannot stand at `end`, or stand there sideways; empty when it can."""
        clear = self._clearance(end, self._things)
        if sideways and clear > 0 and self.room_beside(end) >= self._options.slim - TOLERANCE:
            return ""
        if clear >= self._options.radius - TOLERANCE:
            return ""
        if clear == 0:
            return f"The goal lies inside {self._name(end)}. Move it out."
        return (
            f"The goal is {100 * clear:.0f} cm from {self._name(end)}, but the body needs "
            f"{100 * self._options.radius:.0f} cm. Move it away."
        )

    def _clearance(self, place: Array, things: ObstacleOutlines) -> float:
        return float(things.distance(place[None])[0])

    def _name(self, place: Array) -> str:
        owner = self._things.nearest(place)
        return "nothing" if owner is None else f"'{self._names[owner]}'"

    def _bounds(self, asked: Array, around: float) -> tuple[Array, Array]:
        """Corners (2,) of the grid within `around` meters of the places asked for, as far as there is anything."""
        lowest, highest = self._things.extent()
        low = np.maximum(np.vstack((asked, lowest)).min(0) - EDGE, asked.min(0) - around)
        high = np.minimum(np.vstack((asked, highest)).max(0) + EDGE, asked.max(0) + around)
        return low - self._options.radius, high + self._options.radius

    def _grid_of(self, low: Array, high: Array) -> OccupancyGrid:
        """The grid between two corners."""
        lowest, highest = self._things.extent()
        reach = self._options.radius + REACH
        near = self._things[((highest > low - reach) & (lowest < high + reach)).all(axis=1)]
        cell = max(CELL, math.sqrt(float(np.prod(high - low)) / MOST_CELLS))
        return OccupancyGrid(near, self._options, self._ground, low, high, cell)


@dataclass(frozen=True, eq=False)
class _Way:
    """A way on a grid: points (N, 2), where to crouch and to go sideways (N,), which end it leads to."""

    points: Array
    crouch: Array
    sideways: Array
    end: int
    gaps: int

    @property
    def price(self) -> float:
        """Meters of free walking that it is worth."""
        step = np.diff(lengths(self.points), append=0.0)[:-1]
        return float((step * (1 + CROUCH_COST * self.crouch[:-1])).sum()) + DETOUR * self.gaps


class _Search:
    """One search on one grid. slim: meters to either side that the body needs sideways; None: it does not go so."""

    def __init__(self, grid: OccupancyGrid, start: Array, ends: Array, slim: float | None = None) -> None:
        self._grid = grid
        self._start = start
        self._ends = ends
        self._slim = slim
        self._costs = grid.costs(slim)
        self.first = self._free_near(start)
        """The point of the grid, beside the start, from which the way goes; None when there is no free one."""
        self._cost = np.zeros(0)

    def route(self) -> _Way | None:
        """The way; None when there is none.

        A gap may turn out to be a little too narrow: then it is closed, and the way is looked for elsewhere.
        """
        for _ in range(_ROUNDS):
            found = self._cheapest()
            if found is None:
                return None
            points, end = found
            gaps = list[Gap]()
            if self._slim is not None:
                points, gaps, shut = self._through_gaps(points)
                if shut is not None:
                    self._close(shut)
                    continue
            points = resampled(self._relax(points, gaps), SPACING)
            need = self._need(points, gaps)
            aside = self._grid.beside.distance(points)
            clear = np.where(need < self._grid.radius, aside, self._grid.crouching.distance(points))
            tight = clear < need - TOLERANCE
            if not self._at_home(self._start):
                # The way out of where there is no room is as wide as it is.
                tight[: int(tight.argmin())] = False
            if not tight.any():
                if not self._at_home(self._start):
                    first = led_out(self._grid.crouching, self._start, points)
                    points = resampled(np.vstack((self._start, points[first:])), SPACING)
                sideways = _any([gap.beside(points) for gap in gaps], points)
                return _Way(points, self._crouch(points) & ~sideways, sideways, end, len(gaps))
            self._close(points[tight])
        return None

    def too_narrow(self) -> Gap | None:
        """The narrowest gap on the way of a body as thin as can be; None when even that has no way, or needs none."""
        thin = _Search(self._grid, self._start, self._ends, THINNEST)
        found = thin._cheapest()
        gaps = [] if found is None else [gap for _, _, gap in thin._gaps(found[0])]
        narrowest = min(gaps, key=lambda gap: gap.width, default=None)
        return None if narrowest is None or narrowest.width < 2 * THINNEST else narrowest

    def _cheapest(self) -> tuple[Array, int] | None:
        """Points (N, 2) of the cheapest way over the grid, pulled straight, and the end that it leads to."""
        if self.first is None:
            return None
        last = np.array([cell for end in self._ends if (cell := self._free_near(end)) is not None])
        if not len(last):
            return None
        self._cost = self._grid.cost_to(last, self._costs)
        if not np.isfinite(self._cost[tuple(self.first)]):
            return None
        cells = self._descend()
        end = int(np.linalg.norm(self._ends - self._grid.points(cells[-1]), axis=1).argmin())
        points = np.vstack((self._grid.points(self._pull(cells)), self._ends[end]))
        points[0] = self._start if self._at_home(self._start) else points[0]
        return resampled(points, SPACING), end

    def _tight(self, points: Array) -> Array:
        """Where (N,) a body has no room at points (N, 2) of a way, crouching or not."""
        out: Array = self._grid.crouching.distance(points) < self._grid.radius - TOLERANCE
        return out

    def _gaps(self, points: Array) -> list[tuple[int, int, Gap]]:
        """The gaps on a way of points (N, 2): from which point up to which, the last ones first."""
        return gaps_on(self._grid.beside, points, self._tight(points), self._grid.radius)

    def _through_gaps(self, points: Array) -> tuple[Array, list[Gap], Array | None]:
        """A way (N, 2) that goes straight through its gaps, the gaps, and the points (P, 2) in one that is too narrow,
        None when all are wide enough."""
        assert self._slim is not None
        gaps = list[Gap]()
        for first, last, gap in self._gaps(points):
            if not gap.passes(self._slim):
                return points, gaps, points[first:last]
            points = gap.led_through(points, first, last, SPACING)
            gaps.append(gap)
        return points, gaps, None

    def nearest_to_start(self) -> Array:
        """The place (2,) nearest to the start from which an end can be reached."""
        if self.first is None:
            return self._start
        reachable = np.argwhere(np.isfinite(self._cost)) if self._cost.size else np.array([self.first])
        places = self._grid.points(reachable)
        return np.asarray(places[np.linalg.norm(places - self._start, axis=1).argmin()])

    def _at_home(self, place: Array) -> bool:
        """Whether a body has room at a place (2,)."""
        return bool(self._grid.crouching.distance(place[None])[0] >= self._grid.radius - TOLERANCE)

    def _free_near(self, place: Array) -> Array | None:
        """The free point of the grid (2,) nearest to `place`, no further than BESIDE."""
        index = self._grid.indices(place)
        reach = math.ceil(BESIDE / self._grid.cell)
        low = np.maximum(index - reach, 0)
        # From between two things, and to there, the body goes sideways.
        between = self._slim is not None and is_between(self._grid.beside, place, self._grid.radius)
        open_ = self._costs < BLOCKED / self._grid.cell if between else self._grid.free
        window = open_[low[0] : index[0] + reach + 1, low[1] : index[1] + reach + 1]
        free = np.argwhere(window) + low
        away = np.linalg.norm(self._grid.points(free) - place, axis=1)
        if not len(free) or away.min() > BESIDE:
            return None
        return np.asarray(free[away.argmin()])

    def _descend(self) -> Array:
        """Points of the grid (K, 2) from the first downhill to an end."""
        assert self.first is not None
        cost = np.pad(self._cost, 1, constant_values=np.inf)
        length = np.hypot(*_CELLS_AROUND.T) * self._grid.cell
        here = self.first
        out = [here]
        while self._cost[tuple(here)] > 0:
            around = _CELLS_AROUND + here
            through = cost[tuple((around + 1).T)] + length * self._costs[tuple(here)]
            here = around[int(through.argmin())]
            out.append(here)
        return np.array(out)

    def _pull(self, cells: Array) -> Array:
        """Those of the cells (K, 2) between which it is no dearer to go straight."""
        cost = self._cost[tuple(cells.T)]
        kept = pulled(len(cells), lambda a, b: self._straight(cells[a], cells[b], cost[a] - cost[b]))
        return np.asarray(cells[kept])

    def _straight(self, a: Array, b: Array, allowed: float) -> bool:
        """Going straight from cell `a` to `b` costs no more than `allowed`."""
        length = float(np.hypot(*(b - a)))
        count = int(2 * length) + 1
        on = np.rint(a + (b - a) * (np.arange(1, count + 1) / count)[:, None]).astype(int)
        return float(self._costs[tuple(on.T)].mean()) * length * self._grid.cell <= 1.001 * allowed + 1e-6

    def _need(self, points: Array, gaps: list[Gap]) -> Array:
        """Meters (N,) to either side that the body needs at points (N, 2) of a way through gaps."""
        radius, slim = self._grid.radius, self._slim or 0.0
        out: Array = np.min([np.full(len(points), radius), *(gap.need(points, radius, slim) for gap in gaps)], axis=0)
        return out

    def _relax(self, points: Array, gaps: list[Gap]) -> Array:
        """An elastic band through points (N, 2): it rounds corners and keeps off things; its ends stay, and what is in
        gaps."""
        grid, points = self._grid, points.copy()
        need, held = self._need(points, gaps)[1:-1], _any([gap.inside(points) for gap in gaps], points)[1:-1, None]
        for n in range(_RELAXATIONS):
            inner = points[1:-1]
            if not len(inner):
                break
            clear, slope = grid.at(grid.all, inner)
            low_clear, low_slope = grid.at(grid.low, inner)
            beneath = clear < grid.radius - grid.cell
            clear = np.where(beneath, low_clear, clear)
            slope = np.where(beneath[:, None], low_slope, slope)
            last = n >= _RELAXATIONS - _ROUNDS
            need = self._need(inner, gaps) if last and gaps else need
            wanted = need + (1.5 * TOLERANCE if last else ROOMY)
            push = np.maximum(wanted - clear, 0) * (1.0 if last else 0.3)
            pull = 0.0 if last else 0.25 * (points[:-2] + points[2:] - 2 * inner)
            points[1:-1] = np.where(held, inner, inner + pull + push[:, None] * slope)
        return points

    def _crouch(self, points: Array) -> Array:
        """Where (N,) to go crouching: beneath what leaves no room to stand, and a step before and behind."""
        low = self._grid.standing.distance(points) < self._grid.radius - TOLERANCE
        low &= self._grid.crouching.distance(points) >= self._grid.radius - TOLERANCE
        return wider(points, low, LEAD)

    def _close(self, places: Array) -> None:
        """No way leads within a cell of `places` (P, 2) any more."""
        for index in self._grid.indices(places):
            low = np.maximum(index - 1, 0)
            self._costs[low[0] : index[0] + 2, low[1] : index[1] + 2] = BLOCKED / self._grid.cell


def _any(masks: list[Array], points: Array) -> Array:
    """Where (N,) one of masks (N,) over points (N, 2) holds; nowhere without masks."""
    out: Array = np.logical_or.reduce([np.zeros(len(points), dtype=bool), *masks])
    return out


def pulled(count: int, straight: Callable[[int, int], bool]) -> list[int]:
    """Numbers of those of `count` points of a way that stay when it is pulled straight: straight tells whether the way
    may go straight from one to another."""
    kept, here = [0], 0
    while here < count - 1:
        step, far = 1, here + 1
        while step and far < count - 1:
            ahead = min(here + 2 * step, count - 1)
            if not straight(here, ahead):
                break
            step, far = 2 * step, ahead
        low, high = far, min(here + 2 * step, count - 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if straight(here, middle) else (low, middle)
        here = low
        kept.append(here)
    return kept


def lengths(points: Array) -> Array:
    """Arc length (N,) in meters at each of points (N, 2+), along the ground."""
    step = np.linalg.norm(np.diff(points[:, :2], axis=0), axis=1)
    return np.concatenate(([0.0], np.cumsum(step)))


def wider(points: Array, mask: Array, meters: float) -> Array:
    """Where (N,) a way of points (N, 2+) is less than so many meters before or behind the points of a mask (N,)."""
    along = lengths(points)
    out: Array = (np.abs(along[:, None] - along[mask]) < meters).any(axis=1)
    return out


def resampled(points: Array, spacing: float) -> Array:
    """A polyline (N, D) with points at even distances of about `spacing` meters; the ends stay where they are."""
    along = lengths(points)
    count = max(math.ceil(along[-1] / spacing), 1)
    s = np.linspace(0, along[-1], count + 1)
    return np.stack([np.interp(s, along, column) for column in points.T], axis=1)
