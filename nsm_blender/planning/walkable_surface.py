# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be walked on of a ground with several levels, as a graph, and what ways over it cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..geometry.ground import Ground
from ..motion.rotations import Array
from ..shot.goals import RouteOptions
from .occupancy_grid import ANKLE, CROUCH_COST, CROUCHED, REACH, TIGHT, TIGHT_COST, ObstacleOutlines


@dataclass(frozen=True)
class GroundLimits:
    """What a walking body can do.

    step: meters up or down onto the next surface, a high step for the legs of the model skeleton. ramp: steepest rise
    over run of a surface, that of 35 degrees, on which shoes begin to slip. flight: steepest mean rise over run of
    steps, that of 52 degrees, as the steepest flights in houses have. ledge: meters that the middle of the body keeps
    from where the ground ends, so that both feet have room.
    """

    step: float = 0.4
    ramp: float = 0.7
    flight: float = 1.28
    ledge: float = 0.2


@dataclass(frozen=True)
class GroundCosts:
    """What ways over ground cost beside their length, in meters of level walking.

    up, down: of each meter of height; climbing takes several times the effort of walking. high_step: of each step that
    is higher than `high`, in meters, which is more than the step of a flight of stairs. beside: of each meter beside
    such a step, as along the side of a flight, which feet would miss or run into.
    """

    up: float = 2.0
    down: float = 1.0
    high_step: float = 2.0
    beside: float = 2.0
    high: float = 0.22


LIMITS, COSTS = GroundLimits(), GroundCosts()
CELL, MOST_COLUMNS = 0.1, 160_000
"""Meters between the columns of nodes, and the number of columns above which they are farther apart."""
_SAMPLES = 4
"""Places along each edge of a cell that are looked at, so that railings and slits are found that are thinner."""
_SPAN = 3
"""Nodes to either side over which the steepness is measured, 0.6 m in all: two treads of a flight of stairs."""
_AROUND = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)])
"""Steps to the eight columns around one; each is followed or preceded by its opposite."""


class WalkableSurface:
    """A graph of nodes, which are the surfaces over the columns of a grid, numbered level by level.

    lowest, highest: x, y of two opposite corners of the grid in meters. things: what is in the way, at any height; each
    is met where it reaches into the body of a character that stands there.
    """

    def __init__(
        self,
        ground: Ground,
        things: ObstacleOutlines,
        options: RouteOptions,
        lowest: Array,
        highest: Array,
        limits: GroundLimits = LIMITS,
        costs: GroundCosts = COSTS,
    ) -> None:
        self.limits, self.radius = limits, options.radius
        self.cell = max(CELL, math.sqrt(float(np.prod(highest - lowest)) / MOST_COLUMNS))
        # The columns of the border have no surface, so that none needs a case of its own.
        self._origin = np.asarray(lowest, dtype=np.float64) - self.cell
        self._size = np.ceil((highest - lowest) / self.cell).astype(int) + 3
        self._axes = [self._origin[k] + self.cell * np.arange(self._size[k]) for k in (0, 1)]
        levels, room, is_shut, is_void = self._sampled(ground)
        self._height = levels.ravel()
        self._exists = np.isfinite(self._height)
        self._columns = levels[0].size
        self._link(levels)
        lowest_room = CROUCHED if options.crouch else options.height
        is_shut |= room < lowest_room
        usable = self._exists & ~is_shut.ravel() & ~is_void.ravel() & ~self._too_steep()
        ground_room = self._ground_room(is_shut.ravel(), is_void.ravel())
        span = min(CROUCHED, options.height) if options.crouch else options.height
        self.low = np.minimum(self._clearance(things, levels, span).ravel(), ground_room)
        """Meters (N,) from each node to what a crouching body would run into, or off a ledge; less than the radius is
        no place to be."""
        self.all = np.minimum(self._clearance(things, levels, options.height).ravel(), self.low)
        """The same for a body that stands."""
        slack = 0.71 * self.cell
        self.free = usable & (self.low >= self.radius - slack)
        """Where (N,) a body can be, crouching if need be; see `OccupancyGrid.free`."""
        self.is_low = room.ravel() < options.height
        """Where (N,) the ground itself hangs so low that a body has to crouch."""
        self.upright = self.free & ~self.is_low & (self.all >= self.radius - slack)
        """Where (N,) a body can stand."""
        self._beside_step = (self._joined & (np.abs(self._rise) > costs.high)).any(axis=0)
        self.roomy = np.minimum(self.all, self._away(self._beside_step))
        """The same as `all`, with high steps as walls, which ways cross but do not run along."""
        self.costs = self._edge_costs(costs)
        """Meters (8, N) of level walking that it costs to come from each node to those around; infinite where no step
        leads."""

    def _sampled(self, ground: Ground) -> tuple[Array, Array, Array, Array]:
        """Heights and headroom (K, nx, ny), and where a wall, or a hole, is within a cell around a surface."""
        places = np.stack(np.meshgrid(*self._axes, indexing="ij"), axis=-1)
        levels, room = ground.stacks(places)
        levels = levels.astype(np.float64)
        levels[:, [0, -1]] = levels[:, :, [0, -1]] = np.inf
        count = int(np.isfinite(levels).any(axis=(1, 2)).sum())
        levels, room = levels[:count], room[:count].copy()
        is_shut, is_void = np.zeros(levels.shape, dtype=bool), np.zeros(levels.shape, dtype=bool)
        offsets = (np.arange(_SAMPLES) - _SAMPLES // 2) * (self.cell / _SAMPLES)
        for x in offsets:
            for y in offsets:
                other, above = ground.stacks(places + np.array([x, y]))
                which, rise = _nearest(levels, other)
                is_shut |= rise > self.limits.step
                is_void |= rise < -self.limits.step
                np.minimum(room, np.take_along_axis(above, which, axis=0), out=room)
        return levels, room, is_shut, is_void

    def _link(self, levels: Array) -> None:
        """Set the nodes (8, N) around each, how much higher they are, and which can be stepped to."""
        flat = levels.reshape(len(levels), -1)
        column = np.arange(flat.shape[1])
        to, rise, there = [], [], []
        for i, j in _AROUND:
            around = (column + i * self._size[1] + j) % len(column)
            which, higher = _nearest(flat, flat[:, around])
            to.append((which * len(column) + around).ravel())
            rise.append(higher.ravel())
            there.append(np.tile(np.isfinite(flat[0, around]), len(flat)))
        self.to, self._rise = np.array(to), np.array(rise)
        there_is = np.array(there) & self._exists
        self._joined = there_is & self._exists[self.to] & (np.abs(self._rise) <= self.limits.step)
        self._beside_wall = (there_is & (self._rise > self.limits.step)).any(axis=0)
        self._beside_drop = (there_is & (self._rise < -self.limits.step)).any(axis=0)

    def _too_steep(self) -> Array:
        """Where (N,) the ground is steeper than can be walked: evenly, as half of the slopes from node to node tell,
        or by steps."""
        ramp, flight = np.zeros(len(self._height)), np.zeros(len(self._height))
        height = np.where(self._exists, self._height, 0.0)
        for ahead, behind in ((0, 1), (2, 3)):
            line = np.array([*self._line(height, behind)[:0:-1], *self._line(height, ahead)])
            slopes = np.diff(line, axis=0) / self.cell
            # Of a flight at least half of the slopes are those of treads.
            ramp += np.sort(np.abs(slopes), axis=0)[_SPAN - 1] ** 2
            flight += slopes.mean(axis=0) ** 2
        out: Array = (np.sqrt(ramp) > self.limits.ramp) | (np.sqrt(flight) > self.limits.flight)
        return out

    def _line(self, height: Array, way: int) -> list[Array]:
        """Heights (N,) of each node and of those that follow in a direction, as far as steps lead."""
        here, out = np.arange(len(height)), [height]
        for _ in range(_SPAN):
            here = np.where(self._joined[way, here], self.to[way, here], here)
            out.append(height[here])
        return out

    def _ground_room(self, is_shut: Array, is_void: Array) -> Array:
        """Meters (N,) to the next wall of the ground; ledges count as farther by what may be nearer to them."""
        wall = self._exists & (self._beside_wall | is_shut | (is_shut[self.to] & self._joined).any(axis=0))
        drop = self._exists & (self._beside_drop | is_void | (is_void[self.to] & self._joined).any(axis=0))
        return np.minimum(self._away(wall), self._away(drop) + max(self.radius - self.limits.ledge, 0.0))

    def _away(self, beside: Array) -> Array:
        """Meters (N,) from each node to the nearest border, beside which nodes (N,) are, no more than the radius and
        REACH."""
        reach, length = self.radius + REACH, self.cell * np.hypot(*_AROUND.T)[:, None]
        seeds = np.flatnonzero(beside)
        steps = np.where(self._joined, length, np.inf)
        away, _ = spread(self.to, steps, seeds, np.full(len(seeds), 0.5 * self.cell), self.cell, reach)
        return np.minimum(away, reach)

    def _clearance(self, things: ObstacleOutlines, levels: Array, span: float) -> Array:
        """Meters (K, nx, ny) from each node to the nearest of the things that reach into a body so high."""
        furthest = self.radius + REACH
        out = np.full(levels.shape, furthest**2)
        lowest, highest = things.extent()
        first = np.clip(np.ceil((lowest - furthest - self._origin) / self.cell).astype(int), 0, self._size)
        last = np.clip(np.floor((highest + furthest - self._origin) / self.cell).astype(int) + 1, 0, self._size)
        for n in range(len(things.half)):
            window = slice(first[n, 0], last[n, 0]), slice(first[n, 1], last[n, 1])
            squared = things.squared(n, self._axes[0][window[0]], self._axes[1][window[1]])
            for level, nearest in zip(levels, out, strict=True):
                height = level[window]
                met = (things.high[n] > height + ANKLE) & (things.low[n] < height + span)
                np.minimum(nearest[window], np.where(met, squared, np.inf), out=nearest[window])
        return np.sqrt(out)

    def _edge_costs(self, costs: GroundCosts) -> Array:
        clear = np.where(self.upright, self.all, self.low)
        tight = np.clip((self.radius + TIGHT - clear) / TIGHT, 0, 1)
        each = 1 + TIGHT_COST * tight + np.where(self.upright, 0, CROUCH_COST) + costs.beside * self._beside_step
        length = self.cell * np.hypot(*_AROUND.T)[:, None]
        rise = np.where(self._joined, self._rise, 0.0)
        price = (
            0.5 * length * (each + each[self.to]) + costs.up * np.maximum(rise, 0) - costs.down * np.minimum(rise, 0)
        )
        price += costs.high_step * (np.abs(rise) > costs.high)
        out: Array = np.where(self._joined & self.free & self.free[self.to], price, np.inf)
        return out

    def places(self, nodes: Array) -> Array:
        """World places (..., 3) of nodes (...)."""
        i, j = np.divmod(np.asarray(nodes) % self._columns, self._size[1])
        return np.stack((self._axes[0][i], self._axes[1][j], self._height[nodes]), axis=-1)

    def node_near(self, place: Array, height: float, farthest: float) -> int | None:
        """The free node nearest to a place (2,) at a height, on the same storey and not farther than so many meters."""
        i, j = np.clip(np.rint((place - self._origin) / self.cell).astype(int), 0, self._size - 1)
        reach = math.ceil(farthest / self.cell)
        columns = np.arange(self._columns).reshape(self._size)
        around = columns[max(i - reach, 0) : i + reach + 1, max(j - reach, 0) : j + reach + 1].ravel()
        nodes = (np.arange(len(self._height) // self._columns)[:, None] * self._columns + around).ravel()
        nodes = nodes[self.free[nodes]]
        away = np.linalg.norm(self.places(nodes) - np.append(place, height), axis=1)
        near = np.abs(self._height[nodes] - height) <= self.limits.step
        away = np.where(near & (np.linalg.norm(self.places(nodes)[:, :2] - place, axis=1) <= farthest), away, np.inf)
        return int(nodes[away.argmin()]) if np.isfinite(away).any() else None

    def cheapest(self, start: int, ends: Sequence[int]) -> tuple[Array, Array]:
        """Least costs (N,) of ways from a node, exact up to the nearest of the ends, and the node before each on its
        way (N,), -1 without."""
        last = np.array(ends) if ends else None
        return spread(self.to, self.costs, np.array([start]), np.zeros(1), 2 * self.cell, ends=last)

    def close(self, points: Array) -> None:
        """No way leads within a cell of points (P, 3) any more."""
        for place in points:
            node = self.node_near(place[:2], float(place[2]), 2 * self.cell)
            if node is not None:
                self.costs[:, node] = np.inf
                self.costs[:, self.to[:, node]] = np.inf

    def straight(self, a: int, b: int) -> float:
        """What it costs to go straight from node to node; infinite where that leads elsewhere, or nowhere."""
        (i, j), (u, v) = (divmod(node % self._columns, int(self._size[1])) for node in (a, b))
        count = max(abs(u - i), abs(v - j))
        here, cost, at = a, 0.0, (i, j)
        for n in range(1, count + 1):
            x, y = i + round((u - i) * n / count), j + round((v - j) * n / count)
            way = _WAYS[x - at[0], y - at[1]]
            cost += float(self.costs[way, here])
            if not math.isfinite(cost):
                return math.inf
            here, at = int(self.to[way, here]), (x, y)
        return cost if here == b else math.inf

    def at(self, field: Array, points: Array) -> tuple[Array, Array]:
        """A field (N,) between the nodes at points (P, 3): values (P,) and slopes (P, 2) per meter. It is zero where
        there is no surface at the point's height."""
        x = np.clip((points[:, :2] - self._origin) / self.cell, 0, self._size - 1.001)
        i = x.astype(int)
        (u, v), (a, b) = (x - i).T, i.T
        levels = np.arange(len(self._height) // self._columns)[:, None] * self._columns
        f = []
        for da, db in ((0, 0), (1, 0), (0, 1), (1, 1)):
            nodes = levels + (a + da) * self._size[1] + b + db
            away = np.abs(self._height[nodes] - points[:, 2])
            best = away.argmin(axis=0)[None]
            node = np.take_along_axis(nodes, best, axis=0)[0]
            f.append(np.where(np.take_along_axis(away, best, axis=0)[0] <= self.limits.step, field[node], 0.0))
        f00, f10, f01, f11 = f
        value = (1 - u) * ((1 - v) * f00 + v * f01) + u * ((1 - v) * f10 + v * f11)
        slope = np.stack(((1 - v) * (f10 - f00) + v * (f11 - f01), (1 - u) * (f01 - f00) + u * (f11 - f10)), axis=1)
        return value, slope / self.cell


_WAYS = {(int(i), int(j)): way for way, (i, j) in enumerate(_AROUND)}
"""Number of the direction of each step."""


def _nearest(levels: Array, others: Array) -> tuple[Array, Array]:
    """Of other stacks (L, ...), the number of the surface nearest in height to each of levels (K, ...), and how much
    higher it is."""
    which, rise = np.zeros(levels.shape, dtype=np.int64), np.empty(levels.shape)
    for k, level in enumerate(np.where(np.isfinite(levels), levels, 0.0)):
        higher = others - level
        which[k] = np.abs(higher).argmin(axis=0)
        rise[k] = np.take_along_axis(higher, which[k][None], axis=0)[0]
    return which, rise


def spread(
    to: Array,
    costs: Array,
    seeds: Array,
    values: Array,
    width: float,
    reach: float = math.inf,
    ends: Array | None = None,
) -> tuple[Array, Array]:
    """Least costs (N,) over a graph from seeds, which begin at values, and the node before each on its way (N,), or -1.

    to, costs: (D, N) where each node leads, and what that costs. Nodes are settled in rounds of the same cost but for a
    width (delta-stepping, Meyer and Sanders 2003), up to a cost, or to the cheapest of the ends.
    """
    out, before = np.full(to.shape[1], np.inf), np.full(to.shape[1], -1)
    out[seeds] = values
    active = np.unique(seeds)
    while len(active):
        cost = out[active]
        least = float(cost.min())
        if least > reach or (ends is not None and least > out[ends].min()):
            break
        first = cost <= least + width
        now, later = active[first], active[~first]
        target, new = to[:, now], out[now] + costs[:, now]
        better = new < out[target]
        origin = np.broadcast_to(now, new.shape)[better]
        target, new = target[better], new[better]
        # Of several ways to a node the cheapest is written last.
        order = np.argsort(-new, kind="stable")
        out[target[order]], before[target[order]] = new[order], origin[order]
        active = np.unique(np.concatenate((later, target)))
    return out, before
