# SPDX-License-Identifier: GPL-3.0-or-later
"""The things around a whole motion at once: how deep points on a body are in them, at many moments together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array, normalize, to_matrix
from .colliders import PLACE, QUATERNION, Collider


@dataclass(frozen=True, eq=False)
class Balls:
    """Balls along a body at K moments. points: (K, P, 3). radii: (P,) metres. give: (K, P) metres by which they may be
    in things that are used."""

    points: Array
    radii: Array
    give: Array


@dataclass(frozen=True, eq=False)
class Around:
    """N pairs of a ball of a body, at a moment, and a cuboid near it; sorted by moment, then by ball.

    moment, ball: (N,) numbers. rotation: (N, 3, 3), centre, half: (N, 3) of the cuboid. radius: (N,) of the ball.
    """

    moment: Array
    ball: Array
    rotation: Array
    centre: Array
    half: Array
    radius: Array

    def __len__(self) -> int:
        return len(self.moment)

    def at(self, moments: Array, balls: Array) -> Around:
        """The pairs at some moments (F,), rising, which are counted from 0 then, and of the balls of a mask (P,)."""
        if not len(moments):
            return self._of(slice(0), self.moment[:0])
        first = int(np.searchsorted(self.moment, moments[0]))
        last = int(np.searchsorted(self.moment, moments[-1], side="right"))
        number = np.searchsorted(moments, self.moment[first:last])
        kept = np.flatnonzero((moments[number] == self.moment[first:last]) & balls[self.ball[first:last]])
        return self._of(kept + first, number[kept])

    def repeated(self, count: int, moments: int) -> Around:
        """The same pairs so many times, as if so many moments came again."""
        every = np.tile(np.arange(len(self)), count)
        return self._of(every, self.moment[every] + np.repeat(np.arange(count) * moments, len(self)))

    def _of(self, rows: Array | slice, moment: Array) -> Around:
        return Around(
            moment, self.ball[rows], self.rotation[rows], self.centre[rows], self.half[rows], self.radius[rows]
        )

    def depths(self, points: Array) -> Array:
        """Metres (F, P) by which balls around points (F, P, 3) at all moments are in things; more than their radii
        where their middles are inside."""
        out = np.zeros(points.shape[:2])
        if not len(self):
            return out
        off = points[self.moment, self.ball] - self.centre
        gap = np.abs(np.einsum("ni,nij->nj", off, self.rotation)) - self.half
        x, y, z = gap.T
        beyond = np.maximum(gap, 0)
        away = np.sqrt(np.einsum("ni,ni->n", beyond, beyond)) + np.minimum(np.maximum(np.maximum(x, y), z), 0)
        starts = np.flatnonzero((np.diff(self.moment, prepend=-1) != 0) | (np.diff(self.ball, prepend=-1) != 0))
        deep = np.maximum.reduceat(self.radius - away, starts)
        out[self.moment[starts], self.ball[starts]] = np.maximum(deep, 0)
        return out


def around(
    colliders: Sequence[Collider],
    poses: Sequence[Array],
    there: Array,
    used: Collection[str],
    balls: Balls,
    low: Array,
    reach: float,
) -> Around:
    """The cuboids within `reach` metres of each ball at K moments that come down below heights `low` (K,) there.

    poses: (1, 7) or (K, 7) of each collider. there: (K, C) whether a collider counts. used: names.
    """
    found = [
        _near(collider, pose, exists, collider.name in used, balls, low, reach)
        for collider, pose, exists in zip(colliders, poses, there.T, strict=True)
    ]
    found = [one for one in found if len(one)]
    if not found:
        return Around(*(np.zeros((0, *shape), dtype=kind) for shape, kind in _EMPTY))
    columns = (
        np.concatenate([getattr(one, name) for one in found])
        for name in ("moment", "ball", "rotation", "centre", "half", "radius")
    )
    both = Around(*columns)
    order = np.lexsort((both.ball, both.moment))
    return both._of(order, both.moment[order])


_EMPTY = (((), int), ((), int), ((3, 3), float), ((3,), float), ((3,), float), ((), float))


def _near(collider: Collider, poses: Array, there: Array, used: bool, balls: Balls, low: Array, reach: float) -> Around:
    """The pairs of one thing, at moments (K,) at which it is there."""
    radii = np.broadcast_to(balls.radii - balls.give if used else balls.radii, balls.give.shape)
    rotation = to_matrix(normalize(np.asarray(poses[:, QUATERNION], dtype=float)))
    middle, half = np.asarray(collider.cuboids.centre, dtype=float), np.asarray(collider.cuboids.half, dtype=float)
    local = np.einsum("kpi,kij->kpj", balls.points - poses[:, None, PLACE], _each(rotation, len(low)))
    bottom, top = (middle - half).min(axis=0, initial=np.inf), (middle + half).max(axis=0, initial=-np.inf)
    gap = np.abs(local - (bottom + top) / 2) - (top - bottom) / 2
    near = there[:, None] & (gap.max(axis=-1) <= radii + reach)
    moment, ball = np.nonzero(near)
    gap = np.abs(local[moment, ball, None] - middle) - half
    pair, part = np.nonzero(gap.max(axis=-1) <= radii[moment, ball, None] + reach)
    moment, ball = moment[pair], ball[pair]
    turned = rotation[moment if len(rotation) > 1 else np.zeros(len(moment), dtype=int)]
    place = poses[moment if len(poses) > 1 else np.zeros(len(moment), dtype=int), PLACE]
    centre = np.einsum("nij,nj->ni", turned, middle[part]) + place
    below = centre[:, 2] - np.einsum("ni,ni->n", np.abs(turned[:, 2]), half[part]) < low[moment]
    return Around(moment, ball, turned, centre, half[part], radii[moment, ball])._of(below, moment[below])


def _each(x: Array, count: int) -> Array:
    return np.broadcast_to(x, (count, *x.shape[1:]))
