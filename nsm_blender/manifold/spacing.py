# SPDX-License-Identifier: GPL-3.0-or-later
"""Walkers of a crowd kept apart in time: each keeps its curve, and slows down, waits or hurries where it would meet.

Paths and speeds are decomposed (Kant and Zucker 1986, "Toward efficient trajectory planning: the path-velocity
decomposition"): one walker after the other gets the cheapest advance along its own curve, over time, that keeps off
those before it, by dynamic programming over place and speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..models.manifold import FPS
from ..motion.filters import gaussian, runs
from ..motion.rotations import Array
from ..stepwise import Stepwise
from .synthesis_trajectory import Course, along_way


@dataclass(frozen=True)
class Spacing:
    """How far apart walkers are kept, and how."""

    apart: float = 0.65
    """Meters between the middles of two walkers: shoulders are 0.5 m wide, and hips sway by 0.05 m."""
    frames: int = 6
    """Frames at 60 fps in a step of time, in which two walkers come 0.3 m nearer to each other at most."""
    cell: float = 0.05
    """Meters in a step along the curve; a speed is a whole number of them in a step of time, multiples of 0.5 m/s."""
    hurry: float = 1.35
    """Fastest speed, as a multiple of the walker's own."""
    change: float = 0.3
    """Cost of a change of speed by 1 m/s within a step of time, against 1 m/s off the walker's own speed for one."""
    meet: float = 400.0
    """Cost of 1 m, squared, that lacks to the distance in a step: so large that only curves on which walkers cannot be
    kept apart let them meet."""
    smooth: float = 0.2
    """Standard deviation in seconds of the filter on the speeds that were found."""


SPACING = Spacing()
"""What is used."""
UNDER = 0.4
"""Meters between the middles of two walkers under which they count as walking through each other."""
_TOGETHER = 25
"""Steps of time in one piece of work: about 10 ms."""


@dataclass(frozen=True)
class Passes:
    """How near walkers come to each other. closest: meters, infinite for one. under: number of times that two are
    nearer than UNDER."""

    closest: float
    under: int


def kept_apart(courses: Sequence[Course], spacing: Spacing = SPACING) -> Stepwise[list[Course]]:
    """Courses whose walkers keep their distance from those before them in the list, in pieces of work. A course that
    never comes near another stays as it is."""
    out: list[Course] = []
    for course in courses:
        yield
        others = np.array([_at_steps(other.track[:, :2], spacing, len(course.track)) for other in out])
        own = _at_steps(course.track[:, :2], spacing, len(course.track))
        if len(out) and course.way is not None and np.linalg.norm(others - own, axis=2).min() < spacing.apart:
            along = yield from _advance(course, others, spacing)
            out.append(along_way(course.way, along))
        else:
            out.append(course)
    return out


def passes_between(tracks: Sequence[Array]) -> Passes:
    """How near walkers on tracks (T, 2) at one frame rate come to each other."""
    closest, under = np.inf, 0
    for number, track in enumerate(tracks):
        for other in tracks[:number]:
            count = min(len(track), len(other))
            away = np.linalg.norm(track[:count] - other[:count], axis=1)
            closest = min(closest, float(away.min()))
            under += len(runs(away < UNDER))
    return Passes(closest, under)


def _at_steps(track: Array, spacing: Spacing, frames: int) -> Array:
    """Places (K, 2) of a track (T, 2) at the steps of time of `frames` frames; its last one after its end."""
    out: Array = track[np.minimum(np.arange(0, frames, spacing.frames), len(track) - 1)]
    return out


def _advance(course: Course, others: Array, spacing: Spacing) -> Stepwise[Array]:
    """Meters (T,) along its curve of a walker that keeps off others, at places (N, K, 2) at the steps of time."""
    assert course.way is not None
    count, step = len(course.track), spacing.frames / FPS
    steps = others.shape[1]
    wanted = course.way.along[np.arange(0, count, spacing.frames)]
    speeds = np.diff(wanted, append=2 * wanted[-1] - wanted[-2]) / spacing.cell
    most = max(int(np.ceil(spacing.hurry * speeds.max())), 1)
    room = int(np.ceil(spacing.hurry * (wanted[-1] - wanted[0]) / spacing.cell)) + 1
    if not course.way.path.closed:
        room = min(room, int((course.way.path.length - wanted[0]) / spacing.cell))
    cells = max(room, 1) + 1
    places = course.way.path.position(wanted[0] + spacing.cell * np.arange(cells))
    each = np.arange(most + 1)
    unit = spacing.cell / step  # m/s of a cell in a step
    cost = np.full((cells, most + 1), np.inf)
    cost[0] = 0.0
    chosen = np.zeros((steps, cells, most + 1), dtype=np.int8)
    for k in range(1, steps):
        if k % _TOGETHER == 0:
            yield
        best, before = cost.copy(), np.broadcast_to(each, cost.shape).copy()
        change = spacing.change * unit**2
        for lag in (-1, 1):
            shifted = np.full_like(cost, np.inf)
            if lag > 0:
                shifted[:, 1:] = cost[:, :-1] + change
            else:
                shifted[:, :-1] = cost[:, 1:] + change
            better = shifted < best
            best[better], before[better] = shifted[better], (before - lag)[better]
        moved, came = np.full_like(cost, np.inf), np.zeros(cost.shape, dtype=np.int8)
        for speed in each.tolist():
            moved[speed:, speed] = best[: cells - speed, speed]
            came[speed:, speed] = before[: cells - speed, speed]
        away = np.linalg.norm(places[:, None] - others[None, :, k], axis=2).min(axis=1)
        lacking = np.maximum(spacing.apart - away, 0.0)
        off = unit * (each - speeds[k - 1])
        cost = moved + off**2 + (spacing.meet * lacking**2)[:, None]
        chosen[k] = came
    found = np.zeros(steps, dtype=int)
    at, speed = np.unravel_index(int(np.argmin(cost)), cost.shape)
    for k in range(steps - 1, 0, -1):
        found[k] = at
        at, speed = at - speed, chosen[k, at, speed]
    along = wanted[0] + spacing.cell * found
    times = np.arange(count) / spacing.frames
    smooth = gaussian(np.diff(np.interp(times, np.arange(steps), along), prepend=along[0]), spacing.smooth * FPS)
    return wanted[0] + np.cumsum(smooth)
