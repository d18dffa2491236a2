# SPDX-License-Identifier: GPL-3.0-or-later
"""Balls in things made of cuboids: how deep each is, and the way out of the whole thing, over many moments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from ..motion.rotations import Array, normalize, to_matrix
from ..motion.viterbi import viterbi
from .colliders import PLACE, QUATERNION, Collider

_TOUCHING = 1e-4
"""Meters between two cuboids of a thing that make them one body: a way out of one leads on into the other."""
_ACROSS = 0.45
"""Meters, about the length of the longest bone, within which a further cuboid is in the way of a whole bone."""
_ALIKE = 0.3
"""Cosine between two ways out from which they lead to the same side."""
_OVERLAP = 5
"""Moments around a change of sides in which a part is out on both: it goes round the edge, not through it."""
_FARTHEST = 1.0
"""Meters of a way out beyond which no more is told apart."""
_PASSES = 6
"""Cuboids in a row through which a way out is followed."""
_EPISODE = 12
"""Moments without contact after which a bone may leave a thing on another side for nothing."""
_SIDES = 0.3
"""Cost, in m^2 of a way out at one moment, of leaving a thing on another side than at the moment before: a limb that
swings through a post would else leave it on both sides. Ten moments at 0.17 m."""
_THROUGH = 10.0
"""The same of leaving it on the opposite side: there is no way but round the thing, such as under a beam."""
_BARELY = 0.1
"""Meters of a way out up to which a part has just come in, or is about to leave, on that side."""
_DIRECTIONS = np.concatenate((np.eye(3), -np.eye(3)))
_EACH = np.arange(len(_DIRECTIONS))
_OPPOSITE = np.roll(_EACH, 3)


@dataclass(frozen=True, eq=False)
class Contacts:
    """N balls that are in a thing, or near it. moment, ball, thing: (N,) numbers. depth: (N,) meters beyond what is
    allowed, negative for what is only near. normal: (N, 3) unit vectors of the way out, in the world."""

    moment: Array
    ball: Array
    thing: Array
    depth: Array
    normal: Array


Gives = Callable[[Array, Array, int, Array], Array]
"""Meters (N,) by which balls (N,), at moments (N,), may be in the thing of a number where the ways out are (N, 3)."""


@dataclass(frozen=True, eq=False)
class Balls:
    """P balls of a body. radii: (P,) meters. parts: (P,) numbers; balls of one part that are in one thing at moments in
    a row leave it on the same side, which is the nearest to all of them together: a limb that swings through a post
    does not leave it on both. gives: how deep each may be in what. hangs_on: for numbers of parts the lower one of the
    part from which it hangs: a shin does not leave a seat downward whose thigh leaves it upward. sides: the direction
    in which each part left a thing so far, by the numbers of thing, part and moment: a part stays on the side that was
    chosen first.
    """

    radii: Array
    parts: Array
    gives: Gives
    hangs_on: Mapping[int, int] = field(default_factory=dict)
    sides: dict[tuple[int, int, int], int] = field(default_factory=dict)


class Obstacles:
    """Things over K moments. poses: (1, 7) or (K, 7) of each. there: (K, C) whether each counts. floor: meters, below
    which no way out leads."""

    def __init__(self, colliders: Sequence[Collider], poses: Sequence[Array], there: Array, floor: float) -> None:
        self._there, self._floor = there, floor
        self.count = len(colliders)
        self._things = [
            _Thing.of(collider, np.asarray(pose, dtype=float)) for collider, pose in zip(colliders, poses, strict=True)
        ]

    def contacts(self, balls: Balls, points: Array, moments: Array, near: float = 0.0) -> Contacts:
        """Balls around points (F, P, 3) at moments (F,) that are in things or within `near` meters of them; their
        moments are counted from 0, as in `moments`."""
        if not points.shape[1]:
            return _NONE
        reach = float(balls.radii.max()) + near
        low, high = points.min(axis=1) - reach, points.max(axis=1) + reach
        found = list[Contacts]()
        for index, thing in enumerate(self._things):
            if not len(thing.middle):
                continue
            now = thing.at(moments)
            away = np.maximum(np.maximum(low - now.center, now.center - high), 0)
            close = (np.einsum("fi,fi->f", away, away) <= now.bound**2) & self._there[moments, index]
            if close.any():
                on = np.flatnonzero(close)
                one = thing.at(moments[on]).contacts(balls, points[on], moments[on], index, near, self._floor)
                found.append(replace(one, moment=on[one.moment]))
        if not found:
            return _NONE
        columns = ("moment", "ball", "thing", "depth", "normal")
        moment, ball, number, depth, normal = (np.concatenate([getattr(c, name) for c in found]) for name in columns)
        return Contacts(moment, ball, number, depth, normal)

    def ways_out(self, points: Array, moment: int) -> tuple[Array, Array]:
        """Meters (C, N, 6) that points (N, 3) go at a moment until they are out of each thing, and the directions
        (C, 6, 3) in the world."""
        far = np.zeros((self.count, len(points), len(_DIRECTIONS)))
        ways = np.zeros((self.count, len(_DIRECTIONS), 3))
        for index, thing in enumerate(self._things):
            if len(thing.middle):
                now = thing.at(np.array([moment]))
                local = (points - now.place[0]) @ now.rotation[0]
                far[index] = now.exits(local, np.zeros(len(points)), _ACROSS)
                ways[index] = _DIRECTIONS @ now.rotation[0].T
        return far, ways


_NO = np.zeros(0, dtype=int)
_NONE = Contacts(_NO, _NO, _NO, np.zeros(0), np.zeros((0, 3)))


@dataclass(frozen=True, eq=False)
class _Thing:
    """One thing in its own frame. middle, half: (M, 3). rotation: (1 or K, 3, 3), place: (1 or K, 3) of the frame."""

    middle: Array
    half: Array
    rotation: Array
    place: Array

    @staticmethod
    def of(collider: Collider, poses: Array) -> _Thing:
        middle, half = np.asarray(collider.cuboids.center, dtype=float), np.asarray(collider.cuboids.half, dtype=float)
        return _Thing(middle, half, to_matrix(normalize(poses[:, QUATERNION])), poses[:, PLACE])

    def at(self, moments: Array) -> _Thing:
        """The thing at moments (F,)."""
        if len(self.place) == 1:
            return self
        return _Thing(self.middle, self.half, self.rotation[moments], self.place[moments])

    @property
    def center(self) -> Array:
        """Its middle (1 or F, 3) in the world."""
        middle = ((self.middle - self.half).min(axis=0) + (self.middle + self.half).max(axis=0)) / 2
        return np.asarray(self.rotation @ middle + self.place)

    @property
    def bound(self) -> float:
        """Radius in meters of the ball around it."""
        return float(np.linalg.norm((self.middle + self.half).max(axis=0) - (self.middle - self.half).min(axis=0))) / 2

    def contacts(self, balls: Balls, points: Array, moments: Array, number: int, near: float, floor: float) -> Contacts:
        """Contacts of balls around points (F, P, 3) with the thing, which has a number."""
        radii = balls.radii
        rotation = np.broadcast_to(self.rotation, (len(points), 3, 3))
        local = (points - self.place[:, None]) @ rotation
        bottom, top = (self.middle - self.half).min(axis=0), (self.middle + self.half).max(axis=0)
        beyond = np.abs(local - (bottom + top) / 2) - (top - bottom) / 2
        most = np.maximum(np.maximum(beyond[..., 0], beyond[..., 1]), beyond[..., 2])
        moment, ball = np.nonzero(most <= radii + near)
        away, way = self._nearest(local[moment, ball], float(radii.max()) + near)
        kept = away <= radii[ball] + near
        moment, ball, away, way = moment[kept], ball[kept], away[kept], way[kept]
        if (away <= 0).any():
            both = self._leave_together(
                balls, (points, moments, local, rotation), number, (moment, ball, away, way), floor
            )
            moment, ball, away, way = (
                np.concatenate((a, b)) for a, b in zip((moment, ball, away, way), both, strict=True)
            )
        normal = np.einsum("nij,nj->ni", rotation[moment], way)
        depth = radii[ball] - away - balls.gives(ball, moments[moment], number, normal)
        return Contacts(moment, ball, np.full(len(moment), number), depth, normal)

    def _nearest(self, q: Array, reach: float) -> tuple[Array, Array]:
        """Signed meters (N,) from points (N, 3) to the thing, and unit vectors (N, 3) away from it; infinite beyond
        `reach`."""
        x, y, z = (np.ascontiguousarray(column) for column in q.T)
        away, closest = np.full(len(q), np.inf), np.zeros(len(q), dtype=int)
        low, high = (q.min(axis=0), q.max(axis=0)) if len(q) else (np.zeros(3), np.zeros(3))
        close = np.all((self.middle - self.half <= high + reach) & (self.middle + self.half >= low - reach), axis=1)
        for number in np.flatnonzero(close):
            (a, b, c), (width, depth, height) = self.middle[number], self.half[number]
            beyond = np.abs(x - a) - width, np.abs(y - b) - depth, np.abs(z - c) - height
            most = np.maximum(np.maximum(beyond[0], beyond[1]), beyond[2])
            for one in beyond:
                np.maximum(one, 0, out=one)
                np.square(one, out=one)
            distance = np.where(most > 0, np.sqrt(beyond[0] + beyond[1] + beyond[2]), most)
            closer = distance < away
            np.copyto(away, distance, where=closer)
            closest[closer] = number
        off = q - self.middle[closest]
        return away, normalize(np.sign(off) * np.maximum(np.abs(off) - self.half[closest], 0))

    def _leave_together(
        self,
        balls: Balls,
        where: tuple[Array, Array, Array, Array],
        number: int,
        found: tuple[Array, Array, Array, Array],
        floor: float,
    ) -> tuple[Array, Array, Array, Array]:
        """Turn the ways of balls whose part is inside to its one way out; distances and ways change in place. Returns
        those of balls that are to be out on another side besides: where the side changes, a part is out on both.

        The way out of a part is that on which all its balls together have the shortest way, also those that are not
        inside: a shin that crosses a seat's edge leaves it to the front, not up and down. What it hangs from counts
        where it is beside the thing: an arm leaves a door on the side on which the trunk is.
        """
        moment, ball, away, way = found
        points, moments, local, rotation = where
        radii, parts = balls.radii, balls.parts
        many = int(parts.max()) + 1
        touched = np.flatnonzero(away <= radii[ball])
        whole = np.unique(moment[touched] * many + parts[ball[touched]])
        owner, member = np.nonzero(_chains(balls)[whole % many])
        at = whole[owner] // many
        exits = self.exits(local[at, member], radii[member], _ACROSS)
        exits[(exits > 0).all(axis=1) & (parts[member] != whole[owner] % many)] = 0.0
        ways = np.einsum("kij,dj->kdi", rotation, _DIRECTIONS)
        low = points[at, member, 2][:, None] + ways[at, :, 2] * exits < floor
        gives = [balls.gives(member, moments[at], number, ways[at, d]) for d in range(len(_DIRECTIONS))]
        exits = np.where((exits > 0) & low, np.inf, np.maximum(exits - np.stack(gives, axis=1), 0))
        farthest = np.maximum.reduceat(exits, np.flatnonzero(np.diff(owner, prepend=-1)))
        inside = np.unique(moment[away <= 0] * many + parts[ball[away <= 0]])
        group = np.searchsorted(whole, moment[touched] * many + parts[ball[touched]])
        deep = _nearly(whole // many, whole % many, np.isin(whole, inside))
        chosen = np.empty(len(whole), dtype=int)
        for part in np.unique(whole % many).tolist():
            rows = np.flatnonzero(whole % many == part)
            mine, above = ([(number, one, int(moment)) for moment in moments[whole[rows] // many]]
                           for one in (part, balls.hangs_on.get(part, -1)))  # fmt: skip
            hung, known = (np.array([balls.sides.get(key, -1) for key in keys]) for keys in (above, mine))
            farthest[rows[hung >= 0], _OPPOSITE[hung[hung >= 0]]] = np.inf
            others = known[known >= 0, None] != _EACH
            farthest[rows[known >= 0]] = np.where(others, np.inf, farthest[rows[known >= 0]])
            chosen[rows] = _together(whole[rows] // many, farthest[rows])
            balls.sides.update(zip(mine, chosen[rows].tolist(), strict=True))
        also = np.where(deep, _across_changes(whole // many, whole % many, chosen), -1)
        chosen = np.where(deep, chosen, -1)
        turned = np.flatnonzero(chosen[group] >= 0)
        # A ball that only touches, and on much the same side, leaves straight.
        straight = np.einsum("ni,ni->n", way[touched[turned]], _DIRECTIONS[chosen[group[turned]]]) > _ALIKE
        turned = turned[~straight | (away[touched[turned]] <= 0)]
        on = touched[turned]
        away[on], way[on] = self._out(local, radii, moment[on], ball[on], chosen[group[turned]])
        more = touched[also[group] >= 0]
        other = self._out(local, radii, moment[more], ball[more], also[group[also[group] >= 0]])
        return moment[more], ball[more], *other

    def _out(self, local: Array, radii: Array, moment: Array, ball: Array, direction: Array) -> tuple[Array, Array]:
        """Signed meters (N,) of balls (N,) from the thing, and unit vectors (N, 3), on their ways out."""
        far = self.exits(local[moment, ball], radii[ball], _TOUCHING)[np.arange(len(ball)), direction]
        return radii[ball] - far, _DIRECTIONS[direction]

    def exits(self, q: Array, radius: Array, gap: float) -> Array:
        """Meters (N, 6) that balls around points (N, 3) go in each of _DIRECTIONS until they are out of the thing, and
        of what of it is within `gap` meters behind."""
        out = np.zeros((len(q), 6))
        within = [
            np.abs(q[:, axis, None] - self.middle[:, axis]) <= self.half[:, axis] + radius[:, None] for axis in range(3)
        ]
        for axis in range(3):
            row, part = np.nonzero(within[axis - 1] & within[axis - 2])
            if not len(row):
                continue
            off, half = q[row, axis] - self.middle[part, axis], self.half[part, axis] + radius[row]
            starts = np.flatnonzero(np.diff(row, prepend=-1))
            for number, sign in ((axis, 1.0), (axis + 3, -1.0)):
                leave, enter, far = half - sign * off, -half - sign * off, out[:, number]
                for _ in range(_PASSES):
                    on = np.where(enter <= far[row] + gap, leave, 0.0)
                    farther = np.maximum(np.maximum.reduceat(on, starts), 0.0)
                    if np.array_equal(farther, far[row[starts]]):
                        break
                    far[row[starts]] = farther
        return out


def _chains(balls: Balls) -> Array:
    """Whether (N, P) each ball belongs to a part, by its number, or to what it hangs from."""
    out = balls.parts == np.arange(int(balls.parts.max()) + 1)[:, None]
    for part in np.unique(balls.parts).tolist():
        # Lower numbers come first, so that what a part hangs from is complete.
        if part in balls.hangs_on:
            out[part] |= out[balls.hangs_on[part]]
    return out


def _nearly(moment: Array, part: Array, inside: Array) -> Array:
    """Whether (N,) a part is inside, or soon, or was lately."""
    order = np.lexsort((moment, part))
    out = inside.copy()
    for shift in range(1, _OVERLAP + 1):
        first, second = order[:-shift], order[shift:]
        near = (part[first] == part[second]) & (moment[second] - moment[first] <= _OVERLAP)
        out[first[near & inside[second]]] = True
        out[second[near & inside[first]]] = True
    return out


def _across_changes(moment: Array, part: Array, chosen: Array) -> Array:
    """The other direction (N,) of a part's change of sides that is near in time, or -1."""
    order = np.lexsort((moment, part))
    out = np.full(len(order), -1)
    for shift in range(1, _OVERLAP + 1):
        first, second = order[:-shift], order[shift:]
        near = (part[first] == part[second]) & (moment[second] - moment[first] <= _OVERLAP)
        near &= chosen[first] != chosen[second]
        out[first[near]], out[second[near]] = chosen[second[near]], chosen[first[near]]
    return out


def _together(moment: Array, exits: Array) -> Array:
    """The direction (N,) in which a part leaves a thing at rising moments (N,), from the lengths (N, 6) of its ways
    out: the cheapest choice over moments that follow each other."""
    out = np.empty(len(moment), dtype=int)
    changes = _SIDES * (1 - np.eye(len(_DIRECTIONS)))
    changes[_EACH, _OPPOSITE] = _THROUGH
    for rows in np.split(np.arange(len(moment)), np.flatnonzero(np.diff(moment) > _EPISODE) + 1):
        costs = np.minimum(exits[rows], _FARTHEST) ** 2
        ends = [_beside(exits[rows[0]]), _beside(exits[rows[-1]])]
        for row, side in zip((0, -1), ends, strict=True):
            if side is not None:
                costs[row, _OPPOSITE[side]] += _THROUGH
        chosen = viterbi(costs, changes)
        came, left = ([int(chosen[row]) if side is None else side] for row, side in zip((0, -1), ends, strict=True))
        out[rows] = _round(np.concatenate((came, chosen, left)))[1:-1]
    return out


def _beside(exits: Array) -> int | None:
    """The side on which a part has just come in, or is about to leave, from the lengths (6,) of its ways out at the
    first moment inside, or the last; None where it is deep inside."""
    side = int(exits.argmin())
    return side if exits[side] < _BARELY else None


def _round(chosen: Array) -> Array:
    """Directions (N,) in which a part leaves a thing, moment by moment, with those between two opposite ones kept for
    `_EPISODE` moments at least: it takes as long to get round a thing."""
    out = chosen.copy()
    for first, last in pairwise((np.flatnonzero(np.diff(chosen)) + 1).tolist()):
        more = (_EPISODE - (last - first) + 1) // 2
        if more > 0 and chosen[first - 1] == _OPPOSITE[chosen[last]]:
            out[max(first - more, 0) : last + more] = chosen[first]
    return out
