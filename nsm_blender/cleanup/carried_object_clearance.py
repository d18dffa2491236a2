# SPDX-License-Identifier: GPL-3.0-or-later
"""What is carried is held off the body, before the thighs and the trunk, and out of the things that it is carried past:
over the edge of what it is put on, not through its front."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.body import CAPSULES, OWNERS, RADII, bone_points
from ..geometry.colliders import PLACE, QUATERNION, Cuboids
from ..geometry.proximity import Around
from ..models.nsm import FPS
from ..motion.filters import gaussian, highest_around
from ..motion.root import direction
from ..motion.rotations import Array, conjugate, from_yaw, multiply, rotate, to_matrix
from ..motion.skeleton import MODEL_SKELETON
from .viterbi import cheapest_way

FARTHEST = 0.34
"""Metres by which a thing is held farther from the body at most."""
TOUCH = 0.005
"""Metres of depth that are left as they are."""
_STEPS = 18
_SHARES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
_WIDEN, _SMOOTH = round(0.15 * FPS), 0.12 * FPS
"""Frames to both sides over which the farthest counts, and over which it comes and goes."""
_BONES = [bone for bone in CAPSULES if "Leg" in bone[0] or bone[0] == "Hips"]
_ENDS = np.array([MODEL_SKELETON.indices(bone[:2]) for bone in _BONES])
_RADII = np.repeat([radius for _, _, radius in _BONES], len(_SHARES))

EVERY = 3
"""Frames from one moment at which what is carried is looked at among things to the next."""
UP, BACK, AHEAD, ASIDE = 0.54, 0.24, 0.12, 0.08
"""Metres by which a carried thing is moved out of other things at most: up, toward the body, away from it, and to
either side. The network carries a box as low as 0.4 m over the ground to a worktop 0.9 m high; a box that is raised so
far comes before the face of a character that stoops, unless it is also held farther away."""
REACH = float(np.linalg.norm([UP, BACK, ASIDE]))
"""Metres from where it is in which a carried thing may come."""
_UPS, _BACKS, _SIDES = (
    [0.0, 0.02, 0.04, 0.07, 0.1, 0.14, 0.18, 0.22, 0.26, 0.3, 0.34, 0.38, 0.42, 0.46, 0.5, UP],
    [0.0, 0.03, 0.07, 0.12, 0.18, BACK, -0.03, -0.07, -AHEAD],
    [0.0, -ASIDE, ASIDE],
)
"""Metres that are tried, in all combinations. Steps of 4 cm or less: coarser ones cost so much that a box stays a step
too low."""
_WORTH, _ALL = 30.0, 0.2
"""Metres that a carried thing may be moved for a metre of depth less in the deepest thing, and the share of this that
the depths in all others add."""
_CHANGE = 250.0
"""Cost of a change of the move by a metre, squared, between two moments: 10 cm in 0.3 s are worth 1 cm of depth."""
_SHORT = 10.0
"""Cost of a metre by which an arm is too short for the hand that holds the moved thing."""
_MARGIN = 0.005
"""Metres that a carried thing stays away from others, so that smoothing does not bring it into them."""
_HOLD = round(0.1 * FPS / EVERY)
"""Moments to both sides for which a depth counts."""
_MOVES = np.stack(np.meshgrid(_SIDES, _BACKS, _UPS, indexing="ij"), axis=-1).reshape(-1, 3)
# A box that is raised over an edge may meet the face, too; the arms are bent only afterwards.
_BODY = np.isin(OWNERS, [*(bone[0] for bone in _BONES), "Neck"])
_BODY_RADII = RADII[_BODY]
_CHANGES = _CHANGE * np.sum((_MOVES[:, None] - _MOVES) ** 2, axis=-1)


@dataclass(frozen=True, eq=False)
class Carried:
    """A box about a carried thing at K moments. middle: (K, 3) of the world, angle: (K,) about +Z of its first axis,
    half: (3,) metres along its axes and up."""

    middle: Array
    angle: Array
    half: Array

    @staticmethod
    def of(poses: Array, cuboids: Cuboids, angle: Array) -> Carried:
        """The smallest box about cuboids at poses (K, 7) that has an axis along angles (K,), with which they turn."""
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
        corners = (cuboids.centre[:, None] + signs * cuboids.half[:, None]).reshape(-1, 3)
        tilt = multiply(from_yaw(-angle[0]), poses[0, QUATERNION])
        seen = rotate(np.broadcast_to(tilt, (len(corners), 4)), corners)
        low, high = seen.min(axis=0), seen.max(axis=0)
        middle = poses[:, PLACE] + rotate(from_yaw(angle), np.broadcast_to((low + high) / 2, (len(poses), 3)))
        return Carried(middle, angle, (high - low) / 2)

    def at(self, moments: Array) -> Carried:
        """The same at some of the moments."""
        return Carried(self.middle[moments], self.angle[moments], self.half)


def held_off(poses: Array, cuboids: Cuboids, places: Array, facing: Array) -> Array:
    """Metres (T, 3) to move a thing with poses (T, 7) straight ahead, so that it is out of legs and trunk.

    cuboids: of the thing, in its own frame. places: (T, J, 3) joints. facing: (T,) angles of the body.
    """
    ahead = np.concatenate((direction(facing), np.zeros((len(facing), 1))), axis=1)
    first, last = places[:, _ENDS[:, 0], None], places[:, _ENDS[:, 1], None]
    points = (first + _SHARES[:, None] * (last - first)).reshape(len(places), -1, 3) - poses[:, None, PLACE]
    back = conjugate(poses[:, QUATERNION])[:, None]
    local, way = rotate(np.broadcast_to(back, (*points.shape[:2], 4)), points), rotate(back[:, 0], ahead)
    chosen, least, left = np.zeros(len(poses)), np.full(len(poses), np.inf), np.arange(len(poses))
    for metres in np.linspace(0.0, FARTHEST, _STEPS):
        depth = _depth(local[left] - metres * way[left, None], cuboids)
        # Where no move is enough, the one that leaves the least is taken.
        better = depth < least[left]
        chosen[left[better]], least[left[better]] = metres, depth[better]
        left = left[depth > TOUCH]
    off = gaussian(highest_around(chosen, _WIDEN), _SMOOTH)
    return np.asarray(off[:, None] * ahead)


def _depth(points: Array, cuboids: Cuboids) -> Array:
    """Metres (T,) by which points (T, P, 3), in the cuboids' frame, are in them at the deepest."""
    out = np.zeros(len(points))
    for centre, half in zip(cuboids.centre, cuboids.half, strict=True):
        outside = np.linalg.norm(np.maximum(np.abs(points - centre) - half, 0), axis=-1)
        out = np.maximum(out, (_RADII - outside).max(axis=1))
    return out


def kept_out(
    carried: Carried, things: Around, ends: Carried, places: Array, facing: Array, arms: Array, put_down: bool
) -> Array:
    """Metres (K, 3) to move a carried thing at K moments so that it is out of other things and out of the body: up over
    them, toward the body or away from it, or aside; none at the first moment, and none at the last one if it is put
    down there.

    things: near it, moments as there. ends: the same thing where it was taken and where it is put: what it is in there,
    it may be in. places: (K, J, 3) joints. facing: (K,) angles of the body. arms: (K, 2, 4) of both, the vector
    from the shoulder to where the wrist shall be and the length of the arm.
    """
    none = np.zeros((len(facing), 3))
    give = np.max([_Pairs(ends.at(np.full(len(things), end)), things).overlaps() for end in (0, 1)], axis=0)
    pairs = _Pairs(carried.at(things.moment), things)
    if not (pairs.overlaps() > give + TOUCH).any():
        return none
    starts = np.flatnonzero(np.diff(things.moment, prepend=-1))
    ahead = np.append(direction(facing), none[:, :1], axis=1)
    up = np.broadcast_to([0.0, 0.0, 1.0], ahead.shape)
    axes = np.stack((np.cross(ahead, up), -ahead, up), axis=1)
    body = bone_points(places)[:, _BODY]
    costs = np.zeros((len(facing), len(_MOVES)))
    for number, move in enumerate(_MOVES):
        shift = move @ axes
        deep = np.maximum(pairs.overlaps(shift[things.moment]) + _MARGIN - give, 0)
        costs[things.moment[starts], number] = np.maximum.reduceat(deep, starts) + _ALL * np.add.reduceat(deep, starts)
        costs[:, number] += _in_body(body, carried, shift)
        wrist = np.linalg.norm(arms[:, :, :3] + shift[:, None], axis=-1)
        costs[:, number] += _SHORT / _WORTH * np.maximum(wrist - arms[:, :, 3], 0).sum(axis=1)
    costs = _WORTH * _held(costs, put_down) + np.linalg.norm(_MOVES, axis=1)
    chosen = cheapest_way(costs, _CHANGES, ends=put_down)
    return np.asarray(np.einsum("kc,kcd->kd", _MOVES[chosen], axes))


def _held(costs: Array, put_down: bool) -> Array:
    """Costs (K, C) of moves that are held for a while: the largest from some moments before to as many after each.

    Toward an end at which nothing is moved, ever fewer moments count: a thing held high up to there would drop.
    """
    out = highest_around(costs, _HOLD)
    for moments in range(min(_HOLD, len(costs) // 2)):
        out[moments + 1] = costs[1 : 2 * moments + 2].max(axis=0)
        if put_down:
            out[-2 - moments] = costs[len(costs) - 2 * moments - 2 : -1].max(axis=0)
    return out


class _Pairs:
    """A carried thing and each of N cuboids, by the six axes along which one of them ends."""

    def __init__(self, carried: Carried, things: Around) -> None:
        mine, theirs = to_matrix(from_yaw(carried.angle)), things.rotation
        both = np.abs(np.einsum("nia,nib->nab", theirs, mine))
        self._axes = np.concatenate((theirs, mine), axis=2)
        first = things.half + both @ carried.half
        second = carried.half + np.einsum("nab,na->nb", both, things.half)
        self._sizes = np.concatenate((first, second), axis=1)
        self._away = carried.middle - things.centre

    def overlaps(self, shift: Array | float = 0.0) -> Array:
        """Metres (N,) by which the thing, moved by (N, 3), has to move at least to leave each cuboid."""
        along = np.abs(np.einsum("ni,nia->na", self._away + shift, self._axes))
        return np.asarray(np.maximum((self._sizes - along).min(axis=1), 0))


def _in_body(points: Array, carried: Carried, shift: Array) -> Array:
    """Metres (K,) by which points of the body (K, P, 3) are in a carried thing that is moved by (K, 3)."""
    off = points - (carried.middle + shift)[:, None]
    local = rotate(np.broadcast_to(from_yaw(-carried.angle)[:, None], (*off.shape[:2], 4)), off)
    outside = np.linalg.norm(np.maximum(np.abs(local) - carried.half, 0), axis=-1)
    return np.asarray(np.maximum(_BODY_RADII - outside, 0).max(axis=1))
