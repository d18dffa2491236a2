# SPDX-License-Identifier: GPL-3.0-or-later
"""Narrow passages, through which a body only goes sideways: where their middle is, and straight through it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array
from .occupancy_grid import TOLERANCE, ObstacleOutlines

LONGEST = 1.9
"""Meters of the longest passage that is gone through sideways, from where a body's radius does not fit to where it fits
again: beside 1.5 m of furniture the corners count."""
STRAIGHT = 0.3
"""Meters before and behind a gap from and to which the way leads straight through."""
TURNED = 0.25
"""Meters before and behind a gap in which the body is already, and still, turned sideways."""
BEFORE = 1.5
"""Meters of a way before and behind a gap that may be replaced by going straight through."""
_FITS = 0.03
"""Meters to either side of a body that is led through the middle of a passage: ways on a grid are not so exact."""
_STEP = 0.02
"""Meters between the places at which a passage is measured."""
_LINE, _ALIKE = 0.2, 0.9
"""Meters of middles that tell the line through a gap, and the least cosine between it and the first one."""
_BESIDE = 0.2
"""Meters beside a gap's line within which a way is one through it."""
_SHARES = (-1.0, -0.5, 0.5, 1.0)
"""Shares of the room that a body lacks by which the line is tried beside the middle."""
_ROUNDS, _FEW, _PLACES = 8, 3, 5
"""Steps in which a place comes to the middle of a gap, steps from near it, and places along it that are looked for."""


@dataclass(frozen=True, eq=False)
class Gap:
    """A place between two things that is narrower than a body.

    middle: (2,) meters. along: (2,) unit vector straight through. reach: meters from the middle to where it begins
    (negative) and ends; infinite where that is too far. width: meters where it is narrowest. sides: the two things, by
    their owners' numbers. spare: meters by which these count as farther apart than they are, see `ObstacleOutlines`.
    """

    middle: Array
    along: Array
    reach: tuple[float, float]
    width: float
    sides: tuple[int, int]
    spare: float = 0.0

    @property
    def length(self) -> float:
        """Meters, the corners included."""
        return self.reach[1] - self.reach[0]

    def passes(self, slim: float) -> bool:
        """Whether a body gets through sideways that needs `slim` meters to either side."""
        return self.width + self.spare >= 2 * (slim - TOLERANCE) and self.length <= LONGEST

    def inside(self, points: Array) -> Array:
        """Whether points (N, 2) of a way are in it."""
        out: Array = self._outside(points) == 0
        return out

    def beside(self, points: Array) -> Array:
        """Whether a body goes sideways because of it at points (N, 2) of a way."""
        out: Array = self._outside(points) < TURNED
        return out

    def need(self, points: Array, radius: float, slim: float) -> Array:
        """Meters (N,) that a body needs to either side at points (N, 2) of a way: `slim` in it, `radius` off it."""
        out: Array = slim + (radius - slim) * np.clip(self._outside(points) / TURNED, 0, 1)
        return out

    def _outside(self, points: Array) -> Array:
        """Meters (N,) that points (N, 2) are before or behind it; infinite for those that are not on a way through."""
        away = points - self.middle
        t, aside = away @ self.along, away @ np.array([-self.along[1], self.along[0]])
        beyond = np.maximum(np.maximum(self.reach[0] - t, t - self.reach[1]), 0)
        out: Array = np.where(np.abs(aside) < _BESIDE, beyond, np.inf)
        return out

    def led_through(self, points: Array, first: int, last: int, spacing: float) -> Array:
        """A way of points (N, 2), `spacing` meters apart, that goes straight through the gap, in which its points from
        `first` up to `last` lie."""
        t = (points - self.middle) @ self.along
        index, reach = np.arange(len(points)), round(BEFORE / spacing)
        lead = [min(STRAIGHT, spacing * count) for count in (first, len(points) - last)]
        begin, end = self.reach[0] - lead[0], self.reach[1] + lead[1]
        before = points[(index < first) & ((t < begin) | (index < first - reach) | (index == 0))]
        after = points[(index >= last) & ((t > end) | (index >= last + reach) | (index == len(points) - 1))]
        straight = np.linspace(begin, end, max(round((end - begin) / spacing), 1) + 1)[:, None] * self.along
        return np.vstack((before, self.middle + straight, after))


def gaps_on(things: ObstacleOutlines, points: Array, tight: Array, radius: float) -> list[tuple[int, int, Gap]]:
    """The gaps on a way of points (N, 2), which are where it is tight (N,) for a body of `radius` meters: from which
    point up to which, the last ones first."""
    out = []
    edges = np.flatnonzero(np.diff(tight, prepend=False, append=False))
    for first, last in reversed(edges.reshape(-1, 2).tolist()):
        at = first + int(things.distance(points[first:last]).argmin())
        toward = points[min(last, len(points) - 1)] - points[max(first - 1, 0)]
        # Of a gap in which the way begins or ends, the rest does not matter.
        inside = (points[0] if first == 0 else None, points[-1] if last == len(points) else None)
        gap = gap_at(things, points[at], toward, radius, inside)
        # Elsewhere the way only cuts a corner.
        if gap is not None and gap.width < 2 * (radius + _FITS):
            out.append((first, last, gap))
    return out


def gap_at(
    things: ObstacleOutlines,
    place: Array,
    toward: Array,
    radius: float,
    inside: tuple[Array | None, Array | None] = (None, None),
) -> Gap | None:
    """The gap in which a body of `radius` meters is at a place (2,) on the way along a vector `toward` (2,); None
    where there are not things to both sides. inside: where the way begins, and ends (2,), as far as it does in the gap.
    """
    pair = _middle(things, place)
    if pair is None:
        return None
    first = _straight(things, pair, pair.along, toward, radius, inside)
    # Jagged outlines turn the line between two points of them: straight is what leads through the middle all along.
    reach = np.clip(first.reach, -LONGEST, LONGEST)
    along = np.linspace(reach[0], reach[1], _PLACES + 2)[1:-1]
    pairs = [_middle(things, first.middle + t * first.along, rounds=_FEW) for t in along]
    middles = np.array([one.middle for one in pairs if one is not None])
    if len(middles) < 2 or np.ptp(middles @ first.along) < _LINE:
        return first
    line = np.linalg.svd(middles - middles.mean(axis=0))[2][0]
    centered = _middle(things, middles.mean(axis=0), rounds=1)
    if centered is None or abs(line @ first.along) < _ALIKE:
        return first
    return max(first, _straight(things, centered, line, toward, radius, inside), key=lambda gap: gap.width)


@dataclass(frozen=True, eq=False)
class _Pair:
    """The nearest points (2,) of the things on either side of a place, the owners, and the meters by which the points
    are farther apart than the things."""

    a: Array
    b: Array
    sides: tuple[int, int]
    spare: float

    @property
    def middle(self) -> Array:
        out: Array = 0.5 * (self.a + self.b)
        return out

    @property
    def along(self) -> Array:
        """Unit vector (2,) between the things."""
        x, y = (self.b - self.a) / np.hypot(*(self.b - self.a))
        return np.array([-y, x])


def _straight(
    things: ObstacleOutlines,
    pair: _Pair,
    along: Array,
    toward: Array,
    radius: float,
    inside: tuple[Array | None, Array | None],
) -> Gap:
    """The gap through whose middle, that of a pair, a line leads along a unit vector (2,)."""
    place, along = pair.middle, along if along @ toward >= 0 else -along
    apart, across = float(np.hypot(*(pair.b - pair.a))), np.array([along[1], -along[0]])
    t = np.arange(-LONGEST, LONGEST + _STEP, _STEP)
    whole = things.bare
    # Behind a passage along a wall there is more room beside its middle line.
    side = (radius - 0.5 * (apart - pair.spare)) * across
    free = np.max([whole.distance(place + share * side + t[:, None] * along) for share in (0.0, *_SHARES)], axis=0)
    free = free >= radius - 0.5 * TOLERANCE
    begin = float(t[free & (t < 0)].max(initial=-np.inf))
    end = float(t[free & (t > 0)].min(initial=np.inf))
    first, last = (None if point is None else float((point - place) @ along) for point in inside)
    begin, end = begin if first is None else first, end if last is None else last
    points = place + t[(t > begin) & (t < end), None] * along
    width = min(2 * float(things.distance(points).min(initial=np.inf)), apart) - pair.spare
    return Gap(place, along, (begin, end), width, pair.sides, pair.spare)


def is_between(things: ObstacleOutlines, place: Array, radius: float) -> bool:
    """Whether a place (2,) is in a gap that a body of `radius` meters does not fit into but sideways."""
    gap = gap_at(things, place, np.zeros(2), radius)
    return gap is not None and gap.width < 2 * (radius + _FITS)


def _middle(things: ObstacleOutlines, place: Array, rounds: int = _ROUNDS) -> _Pair | None:
    """The pair of points between which is the middle of the gap that a place (2,) is in; None where there is nothing on
    one of the sides, or the place is in a thing."""
    pair = None
    for _ in range(rounds):
        pair = _either_side(things, place)
        if pair is None:
            return None
        place = pair.middle
    return pair


def _either_side(things: ObstacleOutlines, place: Array) -> _Pair | None:
    """The nearest points of the things on either side of a place (2,); None as for `_middle`."""
    out = things.outward(place)
    away = np.hypot(*out.T)
    if not len(away) or away.min() == 0:
        return None
    first = int(away.argmin())
    opposite = out @ out[first] < 0
    if not opposite.any():
        return None
    second = int(np.where(opposite, away, np.inf).argmin())
    sides = (int(things.owner[first]), int(things.owner[second]))
    spare = 0.0 if things.spare is None else float(things.spare[first] + things.spare[second])
    return _Pair(place - out[first], place - out[second], sides, spare)
