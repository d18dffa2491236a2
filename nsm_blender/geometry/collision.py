# SPDX-License-Identifier: GPL-3.0-or-later
"""Balls in things made of cuboids: how deep each is, and the way out of the whole thing, over many moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array, normalize, to_matrix
from .colliders import PLACE, QUATERNION, Collider

_TOUCHING = 1e-4
"""Meters between two cuboids of a thing that make them one body: a way out of one leads on into the other."""
_PASSES = 6
"""Cuboids in a row through which a way out is followed."""
_EPISODE = 12
"""Moments without contact after which a limb may leave a thing on another side."""
_DIRECTIONS = np.concatenate((np.eye(3), -np.eye(3)))


@dataclass(frozen=True, eq=False)
class Contacts:
    """N balls that are in a thing, or near it. moment, ball, thing: (N,) numbers. depth: (N,) meters, negative for what
    is only near. normal: (N, 3) unit vectors of the shortest way out, in the world."""

    moment: Array
    ball: Array
    thing: Array
    depth: Array
    normal: Array


class Obstacles:
    """Things over K moments. poses: (1, 7) or (K, 7) of each. there: (K, C) whether each counts. floor: meters, below
    which no way out leads."""

    def __init__(self, colliders: Sequence[Collider], poses: Sequence[Array], there: Array, floor: float) -> None:
        self._there, self._floor = there, floor
        self.count = len(colliders)
        self._things = [
            _Thing.of(collider, np.asarray(pose, dtype=float)) for collider, pose in zip(colliders, poses, strict=True)
        ]

    def contacts(self, points: Array, moments: Array, radii: Array, parts: Array, near: float) -> Contacts:
        """Balls around points (F, P, 3) at moments (F,), with radii (P,), that are in things or within `near` meters of
        them. Their moments are counted from 0, as in `moments`.

        parts: (P,) numbers; balls of one part that are in one thing at moments in a row leave it on the same side,
        which is the nearest to all of them together: a limb that swings through a post does not leave it on both.
        """
        found = [
            thing.at(moments).contacts(number, points, radii, parts, near, self._there[moments, number], self._floor)
            for number, thing in enumerate(self._things)
        ]
        return Contacts(*(np.concatenate(column) for column in zip(*found, strict=True))) if found else _NONE


_NONE = Contacts(*(np.zeros(0, dtype=int) for _ in range(3)), np.zeros(0), np.zeros((0, 3)))
Found = tuple[Array, Array, Array, Array, Array]


@dataclass(frozen=True, eq=False)
class _Thing:
    """One thing in its own frame. middle, half: (M, 3). rotation: (1 or K, 3, 3), place: (1 or K, 3) of the frame."""

    middle: Array
    half: Array
    rotation: Array
    place: Array

    @staticmethod
    def of(collider: Collider, poses: Array) -> _Thing:
        middle, half = np.asarray(collider.cuboids.centre, dtype=float), np.asarray(collider.cuboids.half, dtype=float)
        return _Thing(middle, half, to_matrix(normalize(poses[:, QUATERNION])), poses[:, PLACE])

    def at(self, moments: Array) -> _Thing:
        """The thing at moments (F,)."""
        if len(self.place) == 1:
            return self
        return _Thing(self.middle, self.half, self.rotation[moments], self.place[moments])

    def contacts(
        self, number: int, points: Array, radii: Array, parts: Array, near: float, there: Array, floor: float
    ) -> Found:
        rotation = np.broadcast_to(self.rotation, (len(points), 3, 3))
        local = np.einsum("kpi,kij->kpj", points - self.place[:, None], rotation)
        bottom, top = (self.middle - self.half).min(axis=0), (self.middle + self.half).max(axis=0)
        beyond = np.abs(local - (bottom + top) / 2) - (top - bottom) / 2
        moment, ball = np.nonzero(there[:, None] & (beyond.max(axis=-1) <= radii + near))
        q, radius = local[moment, ball], radii[ball]
        away, way = self._nearest(q)
        kept = away <= radius + near
        moment, ball, q, away, way = moment[kept], ball[kept], q[kept], away[kept], way[kept]
        inside = np.flatnonzero(away < 0)
        if len(inside):
            up = np.einsum("ni,di->nd", rotation[moment[inside], 2], _DIRECTIONS)
            height = points[moment[inside], ball[inside], 2]
            exits = self._exits(q[inside])
            exits = np.where(height[:, None] + up * exits < floor, np.inf, exits)
            chosen = _together(moment[inside], parts[ball[inside]], exits)
            away[inside], way[inside] = -exits[np.arange(len(inside)), chosen], _DIRECTIONS[chosen]
        normal = np.einsum("nij,nj->ni", rotation[moment], way)
        return moment, ball, np.full(len(moment), number), radii[ball] - away, normal

    def _nearest(self, q: Array) -> tuple[Array, Array]:
        """Signed meters (N,) from points (N, 3) to the thing, and unit vectors (N, 3) away from it."""
        away, way = np.full(len(q), np.inf), np.zeros((len(q), 3))
        for middle, half in zip(self.middle, self.half, strict=True):
            off = q - middle
            gap = np.abs(off) - half
            beyond = np.maximum(gap, 0)
            distance = np.sqrt(np.einsum("ni,ni->n", beyond, beyond))
            distance = np.where(distance > 0, distance, gap.max(axis=1))
            closer = distance < away
            away = np.where(closer, distance, away)
            way[closer] = (np.sign(off) * beyond)[closer]
        return away, normalize(way)

    def _exits(self, q: Array) -> Array:
        """Meters (N, 6) from points (N, 3) inside to the outside in each of _DIRECTIONS."""
        out = np.zeros((len(q), 6))
        off = q[:, None] - self.middle
        within = np.abs(off) <= self.half + _TOUCHING
        for axis in range(3):
            across = np.delete(within, axis, axis=2).all(axis=2)
            for number, sign in ((axis, 1.0), (axis + 3, -1.0)):
                leave, enter = self.half[:, axis] - sign * off[..., axis], -self.half[:, axis] - sign * off[..., axis]
                far = np.zeros(len(q))
                for _ in range(_PASSES):
                    on = across & (enter <= far[:, None] + _TOUCHING)
                    far = np.where(on, leave, 0.0).max(axis=1)
                out[:, number] = far
        return out


def _together(moment: Array, part: Array, exits: Array) -> Array:
    """The direction (N,) of the shortest way out for all of a part's balls in moments that follow each other."""
    order = np.lexsort((moment, part))
    steps = (np.diff(part[order], prepend=-1) != 0) | (np.diff(moment[order], prepend=-1) > _EPISODE)
    starts = np.flatnonzero(steps)
    best = np.add.reduceat(exits[order] ** 2, starts).argmin(axis=1)
    out = np.empty(len(order), dtype=int)
    out[order] = best[np.cumsum(steps) - 1]
    return out
