# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways over ground with stairs, ramps and several levels: the cheapest over the walkable surface, pulled straight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..errors import RouteError
from ..geometry.ground import Ground, GroundMesh, mesh_at
from ..motion.rotations import Array
from ..shot.goals import RouteOptions
from .occupancy_grid import ANKLE, CROUCHED, ROOMY, TOLERANCE, ObstacleOutlines
from .path_search import AROUND, BESIDE, EDGE, LEAD, SPACING, Route, pulled, resampled, wider
from .walkable_surface import LIMITS, WalkableSurface

_RELAXATIONS, _LAST = 40, 8
"""Steps in which the elastic band of a way comes to rest, and the last of them, which only keep it off things."""
_RING = np.stack([(np.cos(a), np.sin(a)) for a in np.arange(16) * (math.pi / 8)])
"""Directions (16, 2) around a place in which it is looked whether there is room to stand."""
_SPARE = 0.05
"""Meters that a goal may be nearer to an edge than a way."""
_AHEAD = 12
"""Nodes of a way among which the nearest to its next point is."""
_ROUNDS = 4
"""Ways that are looked for, each with the places closed that were too narrow before."""
_SAME = 0.1
"""Meters of height within which a place is on a mesh."""


@dataclass(frozen=True)
class Ends:
    """Heights in meters near which a way starts and ends, and the name of its goal."""

    start: float
    goal: float
    name: str


class GroundFinder:
    """Finds ways over ground between things seen from above, as `path_search.Finder` does on level floor. It leads
    through no gaps sideways."""

    def __init__(
        self,
        things: ObstacleOutlines,
        names: Sequence[str],
        options: RouteOptions,
        ground: Ground,
        meshes: Sequence[GroundMesh],
        ends: Ends,
    ) -> None:
        self._things, self._names, self._options = things, names, options
        self._ground, self._meshes, self._ends = ground, meshes, ends

    def route(self, start: Array, ends: Array, sideways: bool = False) -> Route:
        """The cheapest way from `start` (2,) to one of `ends` (E, 2). Raises RouteError with what is in the way."""
        reasons = [self.trouble_at(end) for end in ends]
        chosen = [n for n, reason in enumerate(reasons) if not reason]
        if not chosen:
            raise RouteError(reasons[0])
        first = float(self._ground.nearest(start, self._ends.start))
        if self._met(start, first).distance(start[None])[0] == 0:
            raise RouteError(f"The start lies inside {self._name(start, first)}. Move it out.")
        lasts = self._ground.nearest(ends[chosen], self._ends.goal)
        area = math.nan
        for around in (AROUND, math.inf):
            low, high = self._bounds(np.vstack((start, ends[chosen])), around)
            if float(np.prod(high - low)) == area:
                break
            area = float(np.prod(high - low))
            surface = WalkableSurface(self._ground, self._things, self._options, low, high)
            found = self._way(surface, np.append(start, first), np.column_stack((ends[chosen], lasts)))
            if found is not None:
                points, end = found
                return Route(points, self._crouch(points), np.zeros(len(points), dtype=bool), chosen[end])
        raise RouteError(self._why(np.append(start, first), np.column_stack((ends[chosen], lasts)), low, high))

    def trouble_at(self, end: Array, sideways: bool = False) -> str:
        """Why a body cannot stand at `end`; empty when it can."""
        height, radius = float(self._ground.nearest(end, self._ends.goal)), self._options.radius
        clear = float(self._met(end, height).distance(end[None])[0])
        if clear == 0:
            return f"The goal lies inside {self._name(end, height)}. Move it out."
        if clear < radius - TOLERANCE:
            return (
                f"The goal is {100 * clear:.0f} cm from {self._name(end, height)}, but the body needs "
                f"{100 * radius:.0f} cm. Move it away."
            )
        on = self._on(np.append(end, height))
        free = float(self._ground.clearance(end, height))
        if free < CROUCHED:
            return f"There are {100 * free:.0f} cm of free height over the goal{on}. Move it to where a body stands."
        rise = self._ground.nearest(end + (radius - TOLERANCE) * _RING, height) - height
        if (rise > LIMITS.step).any():
            return f"The goal{on} is nearer than {100 * radius:.0f} cm to a wall of the ground. Move it away."
        rise = self._ground.nearest(end + (LIMITS.ledge - _SPARE) * _RING, height) - height
        if (rise < -LIMITS.step).any():
            return f"The goal{on} is nearer than {100 * LIMITS.ledge:.0f} cm to an edge of the ground. Move it away."
        return ""

    def room_beside(self, place: Array) -> float:
        """Meters from a place (2,) at the goal's height to the nearest thing."""
        height = float(self._ground.nearest(place, self._ends.goal))
        return float(self._met(place, height).distance(place[None])[0])

    def _met(self, place: Array, height: float) -> ObstacleOutlines:
        """The things that a body meets that stands at a height."""
        return self._things.between(height + ANKLE, height + self._options.height)

    def _name(self, place: Array, height: float) -> str:
        owner = self._met(place, height).nearest(place)
        return "nothing" if owner is None else f"'{self._names[owner]}'"

    def _on(self, place: Array) -> str:
        """Words for the mesh that a place (3,) is on."""
        name = mesh_at(self._meshes, place, _SAME)
        return f" on '{name}'" if name else ""

    def _bounds(self, asked: Array, around: float) -> tuple[Array, Array]:
        """Corners (2,) of the grid within `around` meters of the places asked for, as far as there is anything."""
        lowest, highest = self._things.extent()
        extent = self._ground.extent
        low = np.maximum(np.vstack((asked, lowest, extent[0])).min(0) - EDGE, asked.min(0) - around)
        high = np.minimum(np.vstack((asked, highest, extent[1])).max(0) + EDGE, asked.max(0) + around)
        return low - self._options.radius, high + self._options.radius

    def _way(self, surface: WalkableSurface, start: Array, ends: Array) -> tuple[Array, int] | None:
        """Points (P, 3) of the cheapest way from a place (3,) to one of places (E, 3), and which it leads to."""
        first, reached = self._nodes(surface, start, ends)
        if first is None or not reached:
            return None
        for _ in range(_ROUNDS):
            cost, before = surface.cheapest(first, [node for _, node in reached])
            n, last = min(reached, key=lambda one: float(cost[one[1]]))
            if not math.isfinite(cost[last]):
                return None
            nodes = [last]
            while nodes[-1] != first:
                nodes.append(int(before[nodes[-1]]))
            points = self._straightened(surface, nodes[::-1], cost, start, ends[n])
            tight = self._tight(points)
            if not tight.any():
                return points, n
            surface.close(points[tight])
        return None

    def _nodes(self, surface: WalkableSurface, start: Array, ends: Array) -> tuple[int | None, list[tuple[int, int]]]:
        """The node at a place (3,), and those at places (E, 3) with their numbers."""
        first = surface.node_near(start[:2], float(start[2]), BESIDE)
        lasts = [surface.node_near(end[:2], float(end[2]), BESIDE) for end in ends]
        return first, [(n, node) for n, node in enumerate(lasts) if node is not None]

    def _straightened(self, surface: WalkableSurface, nodes: list[int], cost: Array, start: Array, end: Array) -> Array:
        """Points (P, 3) from place to place (3,) along nodes, straight where that is no dearer, and rounded."""
        along, places = cost[nodes], surface.places(np.array(nodes))
        kept = pulled(
            len(nodes), lambda a, b: surface.straight(nodes[a], nodes[b]) <= 1.001 * (along[b] - along[a]) + 1e-6
        )
        points = resampled(np.vstack((start, places[kept][1:-1], end)), SPACING)
        at = 0
        for point in points:
            # The nodes are passed in order, so that a way that crosses itself on two storeys keeps to each.
            ahead = places[at : at + _AHEAD, :2] - point[:2]
            at += int(np.einsum("nd,nd->n", ahead, ahead).argmin())
            point[2] = self._ground.nearest(point[:2], places[at, 2])
        points = resampled(self._relaxed(surface, points), SPACING)
        for before, point in pairwise(points):
            point[2] = self._ground.nearest(point[:2], before[2])
        return points

    def _tight(self, points: Array) -> Array:
        """Where (P,) a way of points (P, 3) has too little room, but for its start, which is as wide as it is."""
        things, span = self._things, CROUCHED if self._options.crouch else self._options.height
        met = things.met(points[:, 2], ANKLE, span)
        away = np.where(met, things.distances(points[:, :2]), np.inf).min(axis=1, initial=np.inf)
        out: Array = away < self._options.radius - TOLERANCE
        out[: int(out.argmin())] = False
        return out

    def _relaxed(self, surface: WalkableSurface, points: Array) -> Array:
        """An elastic band through points (P, 3): it rounds corners and keeps off things and edges; its ends stay."""
        points = points.copy()
        for step in range(_RELAXATIONS):
            inner = points[1:-1]
            if not len(inner):
                break
            last = step >= _RELAXATIONS - _LAST
            clear, slope = surface.at(surface.roomy, inner)
            low_clear, low_slope = surface.at(surface.low, inner)
            beneath = surface.at(surface.all, inner)[0] < surface.radius - surface.cell
            clear, slope = np.where(beneath, low_clear, clear), np.where(beneath[:, None], low_slope, slope)
            wanted = surface.radius + (1.5 * TOLERANCE if last else ROOMY)
            push = np.maximum(wanted - clear, 0) * (1.0 if last else 0.3)
            pull = 0.0 if last else 0.25 * (points[:-2] + points[2:] - 2 * inner)[:, :2]
            inner[:, :2] += pull + push[:, None] * np.clip(slope, -1, 1)
        return points

    def _crouch(self, points: Array) -> Array:
        """Where (P,) to go crouching: beneath what leaves no room to stand, and a step before and behind."""
        options, radius = self._options, self._options.radius - TOLERANCE
        low = self._ground.clearance(points[:, :2], points[:, 2]) < options.height
        near = self._things.distances(points[:, :2]) < radius
        low |= (near & self._things.met(points[:, 2], CROUCHED, options.height)).any(axis=1)
        return wider(points, low & options.crouch, LEAD)

    def _why(self, start: Array, ends: Array, low: Array, high: Array) -> str:
        """A sentence about what keeps the character from coming to the goal."""
        options, none = self._options, ObstacleOutlines.none()

        def reached(things: ObstacleOutlines, options: RouteOptions, **limits: float) -> bool:
            surface = WalkableSurface(self._ground, things, options, low, high, replace(LIMITS, **limits))
            first, reached = self._nodes(surface, start, ends)
            if first is None or not reached:
                return False
            nodes = [node for _, node in reached]
            return bool(np.isfinite(surface.cheapest(first, nodes)[0][nodes]).any())

        goal = f"The character cannot reach '{self._ends.name}'{self._on(ends[0])}"
        if reached(none, options):
            return f"{goal}: {self._blocker(start, ends[0], low, high)} is in the way."
        if reached(none, options, ramp=math.inf, flight=math.inf):
            steep = math.degrees(math.atan(LIMITS.ramp))
            return f"{goal}: the way there is steeper than {steep:.0f} degrees. Make it longer, or draw a path."
        if reached(none, replace(options, height=2 * ANKLE, crouch=False)):
            return f"{goal}: something hangs less than {CROUCHED:.1f} m above the way there. Raise it."
        if abs(ends[0, 2] - start[2]) > LIMITS.step:
            return f"{goal}: no stairs or ramp leads there."
        return f"{goal}: the ground between is interrupted. Close the gap, or lead stairs or a ramp round it."

    def _blocker(self, start: Array, end: Array, low: Array, high: Array) -> str:
        """Name of the thing nearest to where the way from the start ends."""
        surface = WalkableSurface(self._ground, self._things, self._options, low, high)
        first = surface.node_near(start[:2], float(start[2]), BESIDE)
        place = start
        if first is not None:
            cost, _ = surface.cheapest(first, [])
            places = surface.places(np.flatnonzero(np.isfinite(cost)))
            place = places[np.linalg.norm(places - end, axis=1).argmin()]
        return self._name(place[:2], float(place[2]))
