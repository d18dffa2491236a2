# SPDX-License-Identifier: GPL-3.0-or-later
"""The floor from above as a grid: how far it is to the next thing, where a body may be, and what ways cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..geometry.body import BODY
from ..geometry.colliders import Placed
from ..motion.rotations import Array
from ..shot.goals import RouteOptions

ANKLE, CROUCHED = BODY.ankle, BODY.crouched
TOLERANCE = 0.01
"""Meters that a body's radius may be missed by."""
CELL, MOST_CELLS = 0.05, 300_000
"""Meters between the points of the grid, and the number of points above which they are farther apart."""
TIGHT, TIGHT_COST = 0.2, 1.5
"""Meters beyond the body's radius below which a way counts as tight, and meters of free walking that a meter of the
tightest way costs more, so that ways keep off walls where there is room."""
ROOMY = 0.15
"""Meters beyond the body's radius that a route keeps off things where it can."""
REACH = TIGHT + ROOMY
"""Meters beyond the body's radius up to which the distance to things is told apart: farther off it changes no way."""
CROUCH_COST, SIDEWAYS_COST = 3.0, 6.0
"""Meters of walking that a meter of crouching, and of going sideways through a gap, costs beside the walking itself."""
BLOCKED = 1e5
"""Meters that entering a blocked point costs; no way is that long."""


@dataclass(frozen=True, eq=False)
class ObstacleOutlines:
    """N cuboids from above, as rectangles: center, half (N, 2) meters, axis (N, 2) unit vector of the first edge;
    low, high (N,) height of their undersides and tops; owner (N,) collider; spare (N,) meters by which each counts as
    farther away than it is, as a narrower part of the body meets it."""

    center: Array
    half: Array
    axis: Array
    low: Array
    high: Array
    owner: Array
    spare: Array | None = None

    @staticmethod
    def of(placed: Placed) -> ObstacleOutlines:
        """The rectangles of placed cuboids: exact for upright ones, around the whole of tilted ones."""
        across = placed.rotation[:, :2, :] * placed.half[:, None, :]
        longest = (across**2).sum(1).argmax(1)
        axis = across[np.arange(len(across)), :, longest]
        length = np.linalg.norm(axis, axis=1, keepdims=True)
        axis = np.where(length > 1e-9, axis / np.maximum(length, 1e-9), [1.0, 0.0])
        side = np.stack((-axis[:, 1], axis[:, 0]), axis=1)
        half = np.stack([np.abs((across * v[:, :, None]).sum(1)).sum(1) for v in (axis, side)], axis=1)
        rise = np.abs(placed.rotation[:, 2, :] * placed.half).sum(1)
        z = placed.center[:, 2]
        return ObstacleOutlines(placed.center[:, :2], half, axis, z - rise, z + rise, placed.owner)

    @staticmethod
    def none() -> ObstacleOutlines:
        """No rectangles."""
        flat = np.zeros((0, 2))
        return ObstacleOutlines(flat, flat, flat, flat[:, 0], flat[:, 0], np.zeros(0, dtype=int))

    def __getitem__(self, chosen: Array) -> ObstacleOutlines:
        """Those that `chosen`, a mask or indices, names."""
        return ObstacleOutlines(
            self.center[chosen],
            self.half[chosen],
            self.axis[chosen],
            self.low[chosen],
            self.high[chosen],
            self.owner[chosen],
            None if self.spare is None else self.spare[chosen],
        )

    def for_legs(self, ground: float, options: RouteOptions) -> ObstacleOutlines:
        """The same as met by a body that goes sideways: low things by the legs, tall ones by hips and arms."""
        return replace(
            self, spare=np.where(self.high < ground + BODY.hips, max(options.slim - BODY.shuffling, 0.0), 0.0)
        )

    @property
    def bare(self) -> ObstacleOutlines:
        """The same where they are, for all heights of the body alike."""
        return replace(self, spare=None)

    def between(self, low: float, high: float) -> ObstacleOutlines:
        """Those that reach into the heights between `low` and `high`."""
        return self[(self.high > low) & (self.low < high)]

    def met(self, ground: Array, low: float, high: float) -> Array:
        """Which (P, N) reach into the heights between `low` and `high` above ground at heights (P,)."""
        over = ground[:, None]
        out: Array = (self.high > over + low) & (self.low < over + high)
        return out

    def extent(self) -> tuple[Array, Array]:
        """Lowest and highest x, y (N, 2) of each."""
        side = np.stack((-self.axis[:, 1], self.axis[:, 0]), axis=1)
        reach = np.abs(self.axis) * self.half[:, :1] + np.abs(side) * self.half[:, 1:]
        return self.center - reach, self.center + reach

    def distances(self, points: Array) -> Array:
        """Meters (P, N) from points (P, 2) to each rectangle, 0 inside."""
        v = points[:, None] - self.center
        u = np.abs(v[..., 0] * self.axis[:, 0] + v[..., 1] * self.axis[:, 1]) - self.half[:, 0]
        w = np.abs(v[..., 1] * self.axis[:, 0] - v[..., 0] * self.axis[:, 1]) - self.half[:, 1]
        out: Array = np.hypot(np.maximum(u, 0), np.maximum(w, 0))
        return out if self.spare is None else np.where(out > 0, out + self.spare, 0.0)

    def distance(self, points: Array) -> Array:
        """Meters (P,) from points (P, 2) to the nearest rectangle; infinite without any."""
        return self.distances(points).min(axis=1, initial=math.inf)

    def squared(self, n: int, x: Array, y: Array) -> Array:
        """Squared meters (X, Y) from the places at x (X,) and y (Y,) to rectangle number n, 0 inside."""
        dx, dy = x - self.center[n, 0], y - self.center[n, 1]
        (ax, ay), (u, w) = self.axis[n], self.half[n]
        if max(abs(ax), abs(ay)) > 1 - 1e-9:
            (u, w) = (u, w) if abs(ax) > abs(ay) else (w, u)
            out: Array = np.add.outer(np.maximum(np.abs(dx) - u, 0) ** 2, np.maximum(np.abs(dy) - w, 0) ** 2)
        else:
            along = np.abs(np.add.outer(ax * dx, ay * dy)) - u
            aside = np.abs(np.add.outer(-ay * dx, ax * dy)) - w
            out = np.maximum(along, 0) ** 2 + np.maximum(aside, 0) ** 2
        if self.spare is not None and self.spare[n] > 0:
            out = np.where(out > 0, (np.sqrt(out) + self.spare[n]) ** 2, 0.0)
        return out

    def outward(self, point: Array) -> Array:
        """Vectors (N, 2) in meters from each rectangle's nearest point to a point (2,), zero from those it is in."""
        v = point - self.center
        side = np.stack((-self.axis[:, 1], self.axis[:, 0]), axis=1)
        along, aside = (v * self.axis).sum(1), (v * side).sum(1)
        along -= np.clip(along, -self.half[:, 0], self.half[:, 0])
        aside -= np.clip(aside, -self.half[:, 1], self.half[:, 1])
        out: Array = along[:, None] * self.axis + aside[:, None] * side
        if self.spare is not None:
            out = out * (1 + self.spare / np.maximum(np.hypot(along, aside), 1e-9))[:, None]
        return out

    def nearest(self, point: Array) -> int | None:
        """Owner of the rectangle nearest to a point (2,)."""
        return int(self.owner[int(self.distances(point[None]).argmin())]) if len(self.owner) else None


class OccupancyGrid:
    """A grid over the ground, with the distance of each point to what a body would run into.

    ground: height of the ground. lowest, highest: x, y of two opposite corners of the grid. All in meters.
    `standing` are the things in the way of a body that stands, `crouching` those in the way of one that crouches, and
    `beside` those in the way of one that goes sideways.
    """

    def __init__(
        self, things: ObstacleOutlines, options: RouteOptions, ground: float, lowest: Array, highest: Array, cell: float
    ) -> None:
        self.radius = options.radius
        self.slim = options.slim
        self.cell = cell
        self._origin = np.asarray(lowest, dtype=np.float64)
        size = np.maximum(np.ceil((highest - self._origin) / cell).astype(int) + 1, 3)
        self.standing = things.between(ground + ANKLE, ground + options.height)
        self.crouching = self.standing
        if options.crouch:
            self.crouching = self.standing.between(ground + ANKLE, ground + min(CROUCHED, options.height))
        self.low = self._clearance(self.crouching, size)
        self.all = np.minimum(self.low, self._clearance(self.standing[self.standing.low >= ground + CROUCHED], size))
        if not options.crouch:
            self.low = self.all
        self.beside = self.standing.for_legs(ground, options)

    @cached_property
    def aside(self) -> Array:
        """As `all`, for a body that goes sideways."""
        return self._clearance(self.beside, np.array(self.shape))

    @property
    def shape(self) -> tuple[int, int]:
        """Points of the grid along x and y."""
        return self.low.shape  # type: ignore[return-value]

    def indices(self, points: Array) -> Array:
        """Nearest points of the grid (..., 2) to points (..., 2), at its edge for those outside."""
        index = np.rint((points - self._origin) / self.cell).astype(int)
        return np.clip(index, 0, np.array(self.shape) - 1)

    def points(self, indices: Array) -> Array:
        """Places (..., 2) of points of the grid (..., 2)."""
        out: Array = self._origin + np.asarray(indices) * self.cell
        return out

    @property
    def free(self) -> Array:
        """Where a body can be, crouching if need be. A little more than that: a gap that is just wide enough
        must hold points of the grid, however it lies. The search checks the way that comes of it."""
        return self.low >= self.radius - self._slack

    @property
    def upright(self) -> Array:
        """Where a body can stand; as `free`."""
        return self.all >= self.radius - self._slack

    @property
    def _slack(self) -> float:
        return 0.71 * self.cell

    def costs(self, slim: float | None = None) -> Array:
        """What a meter costs at each point, in meters of free walking. slim: meters to either side that the body needs
        which goes sideways where its radius does not fit; None: it never does."""
        clear = np.where(self.upright, self.all, self.low)
        tight = np.clip((self.radius + TIGHT - clear) / TIGHT, 0, 1)
        cost = 1 + TIGHT_COST * tight + np.where(self.upright, 0, CROUCH_COST)
        if slim is None:
            return np.where(self.free, cost, BLOCKED / self.cell)
        cost = np.where(self.free, cost, 1 + TIGHT_COST + SIDEWAYS_COST)
        return np.where(self.free | (self.aside >= slim - self._slack), cost, BLOCKED / self.cell)

    def cost_to(self, ends: Array, costs: Array) -> Array:
        """What the cheapest way from each point to one of the points `ends` (E, 2) costs; infinite without a way.

        Rows are swept up and down until nothing changes: a few times, as ways in rooms are not mazes.
        """
        across = costs.shape[0] > costs.shape[1]
        step = np.pad(self.cell * (costs.T if across else costs), 1, constant_values=BLOCKED)
        out = np.full(step.shape, np.inf)
        seeds = np.asarray(ends) + 1
        out[tuple((seeds[:, ::-1] if across else seeds).T)] = 0
        onward = np.cumsum(step, axis=1)
        back = onward[:, -1:] - onward + step
        diagonal = math.sqrt(2) * step
        rows = range(1, len(out) - 1)
        while True:
            before = out.copy()
            for order, behind in ((rows, -1), (reversed(rows), 1)):
                for i in order:
                    last, row = out[i + behind], out[i]
                    np.minimum(row, last + step[i], out=row)
                    np.minimum(row[1:-1], np.minimum(last[:-2], last[2:]) + diagonal[i, 1:-1], out=row[1:-1])
                    np.minimum(row, np.minimum.accumulate(row - onward[i]) + onward[i], out=row)
                    np.minimum(row, (np.minimum.accumulate((row - back[i])[::-1]))[::-1] + back[i], out=row)
            if not (out < before - 1e-6).any():
                break
        inner = out[1:-1, 1:-1]
        inner = np.where(inner < BLOCKED, inner, np.inf)
        return inner.T if across else inner

    def at(self, field: Array, points: Array) -> tuple[Array, Array]:
        """A field of the grid at points (P, 2) between its points: values (P,) and slopes (P, 2) per meter."""
        x = np.clip((points - self._origin) / self.cell, 0, np.array(self.shape) - 1.001)
        i = x.astype(int)
        (u, v), (a, b) = (x - i).T, i.T
        f00, f10, f01, f11 = field[a, b], field[a + 1, b], field[a, b + 1], field[a + 1, b + 1]
        value = (1 - u) * ((1 - v) * f00 + v * f01) + u * ((1 - v) * f10 + v * f11)
        slope = np.stack(((1 - v) * (f10 - f00) + v * (f11 - f01), (1 - u) * (f01 - f00) + u * (f11 - f10)), axis=1)
        return value, slope / self.cell

    def _clearance(self, things: ObstacleOutlines, size: Array) -> Array:
        """Meters from each point of the grid to the nearest of `things`, no more than the radius and REACH."""
        furthest = self.radius + REACH
        out = np.full(size, furthest**2)
        x, y = (self._origin[k] + self.cell * np.arange(size[k]) for k in (0, 1))
        lowest, highest = things.extent()
        first = np.clip(np.ceil((lowest - furthest - self._origin) / self.cell).astype(int), 0, size)
        last = np.clip(np.floor((highest + furthest - self._origin) / self.cell).astype(int) + 1, 0, size)
        for n in range(len(things.half)):
            window = slice(first[n, 0], last[n, 0]), slice(first[n, 1], last[n, 1])
            squared = things.squared(n, x[window[0]], y[window[1]])
            np.minimum(out[window], squared, out=out[window])
        return np.sqrt(out)
