# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of the scene around a character: where colliders are at a frame of the rollout, and what the character
moves."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np

from ..models.nsm import FPS
from ..motion.rotations import Array, from_axis_angle, multiply, normalize, rotate, slerp, to_matrix
from ..motion.time_warp import TimeWarp
from .colliders import PLACE, QUATERNION, Collider, Placed, Surroundings
from .ground_height import CLIMBABLE, RADIUS, ground_under

_CLIMBABLE_REACH = 2.5
"""Distance in meters within which the ground's parts matter: a climbing body is no higher above the floor."""


class Scenery:
    """Surroundings in which boxes are carried and doors are opened.

    fps: rate of the colliders' poses; frames are counted at 60 fps here. moved: pose (7,) of each collider that the
    character has moved, which replaces the collider's own. warp: when frames are shown, and so where things are then
    that move by themselves.
    """

    def __init__(self, surroundings: Surroundings, fps: float = FPS) -> None:
        self.surroundings = surroundings
        self.moved: dict[str, Array] = {}
        self.warp = TimeWarp()
        self._rate = fps / FPS
        self._colliders = {collider.name: collider for collider in surroundings.colliders}
        self._poses = {c.name: pose_at(c, 0) for c in surroundings.colliders if len(c.poses) == 1}
        self._known = dict[str, _Where]()
        carrying = [collider for collider in surroundings.colliders if collider.role in CLIMBABLE]
        self._carrying = Surroundings(carrying) if carrying else None
        self._extents = [_extent(collider) for collider in carrying]

    def fork(self) -> Scenery:
        """An independent copy that goes on from here."""
        out = copy.copy(self)
        out.moved, out._known = dict(self.moved), dict(self._known)
        return out

    def collider(self, name: str) -> Collider:
        """The collider of that name."""
        return self._colliders[name]

    def pose(self, name: str, frame: float) -> Array:
        """Pose (7,) of a collider at a frame."""
        if name in self.moved:
            return self.moved[name]
        pose = self._poses.get(name)
        return pose_at(self._colliders[name], self.warp.time(frame) * self._rate) if pose is None else pose

    def near(self, frame: float, place: Array, reach: float) -> Placed:
        """The cuboids of those colliders that may have a part within `reach` meters of a place (3,)."""
        moved = [self._where(name) for name in self.moved]
        without = [where.number for where in moved]
        placed = self.surroundings.near(self.warp.time(frame) * self._rate, place, reach, without)
        parts = [where.placed for where in moved if math.dist(where.middle, place.tolist()) <= where.radius + reach]
        if not parts:
            return placed
        parts.insert(0, placed)
        return Placed(
            np.concatenate([part.rotation for part in parts]),
            np.concatenate([part.center for part in parts]),
            np.concatenate([part.half for part in parts]),
            np.concatenate([part.owner for part in parts]),
            placed.names,
        )

    def _where(self, name: str) -> _Where:
        """The place of a moved collider."""
        pose = self.moved[name]
        known = self._known.get(name)
        if known is None or known.pose is not pose:
            placed = self.placed(name, 0, pose)
            known = self._known[name] = _Where.of(self.surroundings.names.index(name), pose, placed)
        return known

    def ground(self, frame: float, places: Array, floor: float) -> Array:
        """Height (N,) in meters of the ground under places (N, 2): the floor's, or that of a collider that carries a
        body."""
        out = np.full(len(places), floor)
        if self._carrying is not None:
            names = self._carrying.names
            moved = [name for name in self.moved if name in names]
            (x, y), (far_x, far_y) = places.min(0).tolist(), places.max(0).tolist()
            if not moved and all(x > d or y > e or far_x < a or far_y < b for a, b, d, e in self._extents):
                return out
            middle = np.append(places.mean(axis=0), floor)
            reach = float(np.linalg.norm(places - middle[:2], axis=1).max()) + _CLIMBABLE_REACH
            at = self.warp.time(frame) * self._rate
            still = self._carrying.near(at, middle, reach, [names.index(name) for name in moved])
            for part in (still, *(self._where(name).placed for name in moved)):
                out = np.maximum(out, ground_under(part, places, floor))
        return out

    def placed(self, name: str, frame: float, pose: Array | None = None) -> Placed:
        """The cuboids of a collider in the world, where it is or at another pose (7,)."""
        pose = self.pose(name, frame) if pose is None else pose
        cuboids = self._colliders[name].cuboids
        turn = to_matrix(np.asarray(pose[QUATERNION], dtype=float))
        center = cuboids.center @ turn.T + pose[PLACE]
        count = len(center)
        number = self.surroundings.names.index(name)
        return Placed(
            np.broadcast_to(turn, (count, 3, 3)), center, cuboids.half, np.full(count, number), self.surroundings.names
        )


def _extent(collider: Collider) -> tuple[float, float, float, float]:
    """Lowest x and y, and highest, of places under which the collider may be the ground."""
    if len(collider.poses) > 1:
        return -math.inf, -math.inf, math.inf, math.inf
    placed = Surroundings([collider]).at(0)
    middle, reach = placed.center[:, :2], placed.bound[:, None] + RADIUS
    low, high = (middle - reach).min(0, initial=math.inf), (middle + reach).max(0, initial=-math.inf)
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


@dataclass(frozen=True, eq=False)
class _Where:
    """The place of a moved collider. number: of the collider. pose: (7,). middle, radius: bounding sphere in meters."""

    number: int
    pose: Array
    placed: Placed
    middle: tuple[float, ...]
    radius: float

    @staticmethod
    def of(number: int, pose: Array, placed: Placed) -> _Where:
        """The place of a moved collider, with the bounding sphere of its cuboids."""
        middle = placed.center.mean(0) if len(placed) else pose[PLACE]
        away = np.linalg.norm(placed.center - middle, axis=1) + placed.bound
        return _Where(number, pose, placed, tuple(middle.tolist()), float(away.max(initial=0.0)))


def pose_at(collider: Collider, frame: float) -> Array:
    """Pose (7,) of a collider at a frame at its own rate, interpolated linearly between two frames."""
    poses = np.asarray(collider.poses, dtype=float)
    if len(poses) == 1:
        return np.concatenate((poses[0, PLACE], normalize(poses[0, QUATERNION])))
    frame = min(max(frame, 0.0), len(poses) - 1.0)
    first = int(frame)
    last, share = min(first + 1, len(poses) - 1), frame - first
    return blended(poses[first], poses[last], np.array(share))


def blended(a: Array, b: Array, share: Array) -> Array:
    """Interpolated poses (..., 7) between `a` and `b` by `share` (...)."""
    place = a[..., PLACE] + share[..., None] * (b[..., PLACE] - a[..., PLACE])
    shape = np.broadcast_shapes(a.shape, b.shape)[:-1]
    turned = slerp(
        np.broadcast_to(normalize(a[..., QUATERNION]), (*shape, 4)),
        np.broadcast_to(normalize(b[..., QUATERNION]), (*shape, 4)),
        np.broadcast_to(share, shape),
    )
    return np.concatenate((place, turned), axis=-1)


def to_world(points: Array, pose: Array) -> Array:
    """Points (..., 3) of a collider's frame in the world, the collider's pose being (..., 7)."""
    return rotate(pose[..., QUATERNION], points) + pose[..., PLACE]


def corners(collider: Collider, pose: Array) -> Array:
    """Corners (P, 3) in the world of the cuboids of a collider at a pose (7,)."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    local = collider.cuboids.center[:, None] + signs * collider.cuboids.half[:, None]
    return to_world(local.reshape(-1, 3), pose)


def turned_about(pose: Array, point: Array, axis: Array, angle: float) -> Array:
    """A pose (7,) turned by radians about an axis (3,) through a point (3,), both in the collider's frame."""
    turn = from_axis_angle(np.asarray(axis, dtype=float), np.array(angle))
    quaternion = multiply(pose[QUATERNION], turn)
    hinge = to_world(point, pose)
    return np.concatenate((hinge - rotate(quaternion, np.asarray(point, dtype=float)), quaternion))
