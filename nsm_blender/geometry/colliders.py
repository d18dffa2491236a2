# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders: things in the scene as sets of cuboids that move with them (NSM 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from ..errors import ColliderError
from ..files import Count, OneOf, Sizes, Where, Within, record
from ..motion.rotations import Array, normalize, slerp, to_matrix
from .roles import ROLES, Handles, Spot, read_handles, to_data

PLACE, QUATERNION = slice(0, 3), slice(3, 7)
"""Slices of a pose (7,): place x, y, z and quaternion w, x, y, z."""
MIDDLE, EDGE, AROUND, UP = slice(0, 3), slice(3, 5), slice(5, 7), 7
"""Slices of an upright cuboid (8,): middle x, y, z; direction x, y of a horizontal edge; half edges along and across
it; half height."""
_NO_ROTATION = 1e-6
"""Value of a quaternion's largest component below which the pose has no rotation and is refused."""
_POINTS = 4096
"""Points whose distances are computed together, so that they stay in the processor's cache."""

_UPRIGHT = 3e-7
"""Lean in radians below which a cuboid counts as upright: Blender's rotations are float32, and a quarter turn is off by
half of this."""
_LAST = np.array([[1, 2, 0], [2, 0, 1], [0, 1, 2]])
"""Orders of the axes with each of them last."""

MOST_CUBOIDS = 200_000
"""Cuboids of a collider, and of all colliders of a shot, at most: those of a town, and 50 MB where they are placed."""
_MOST_PARTS = 1000
"""Parts of a collider with handles of their own at most, such as the boards of a warehouse's shelf."""
_FARTHEST = 1e5
"""Meters from the world's origin at which a collider may stand along an axis; shots have narrower limits."""
_Pose = Annotated[list[float], Sizes(7), Within(-_FARTHEST, _FARTHEST)]

STILL = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
"""Poses (1, 7) of a collider that stands at the world's origin, unturned."""


@dataclass(frozen=True, eq=False)
class Cuboids:
    """N cuboids along the axes of one frame. center, half: (N, 3) float64 meters, half being half the edge lengths."""

    center: Array
    half: Array


@dataclass(frozen=True, eq=False)
class Collider:
    """A thing in the scene as cuboids.

    The collider's frame is the object's, with its scale (and shear) applied to the cuboids: meters, rigid. poses: (1,
    7) or (F, 7), one per scene frame: place x, y, z and quaternion w, x, y, z of the frame in the world. role: one of
    roles.ROLES. handles: those of the role, in the collider's frame; None for an obstacle. also: handles of the
    collider's other parts of the same use, for goals that point at these.
    """

    name: str
    cuboids: Cuboids
    poses: Array = field(default_factory=lambda: STILL)
    role: str = "obstacle"
    handles: Handles | None = None
    also: list[Handles] = field(default_factory=list)

    def to_data(self) -> dict[str, Any]:
        """The collider as plain JSON data."""
        return {
            "name": self.name,
            "centre": np.asarray(self.cuboids.center).tolist(),
            "half": np.asarray(self.cuboids.half).tolist(),
            "poses": np.asarray(self.poses).tolist(),
            "role": self.role,
            "handles": to_data(self.handles),
            "also": [to_data(handles) for handles in self.also],
        }

    @staticmethod
    def from_data(data: object, where: Where | None = None) -> Collider:
        """The collider of plain JSON data; `where` says where these are from. Raises its error, by default
        ColliderError, naming the field that is not a collider's."""
        where = where or Where("collider", ColliderError)
        told = record(_Told, data, where)
        if len(told.half) != len(told.centre):
            where.at("half").refuse(f"has {len(told.half):,} entries where 'centre' has {len(told.centre):,}")
        also = [read_handles(told.role, part, where.at("also").at(n)) for n, part in enumerate(told.also)]
        return Collider(
            told.name,
            Cuboids(_rows(told.centre, 3), _rows(told.half, 3)),
            _rows(told.poses, 7),
            told.role,
            read_handles(told.role, told.handles, where.at("handles")),
            [handles for handles in also if handles is not None],
        )


@dataclass
class _Told:
    """A collider as JSON tells it; `centre` as in the files of all versions."""

    name: str
    centre: Annotated[list[Spot], Count(0, MOST_CUBOIDS)]
    half: Annotated[list[Spot], Count(0, MOST_CUBOIDS)]
    poses: list[_Pose]
    role: Annotated[str, OneOf(ROLES)]
    handles: dict[str, Any] | None
    also: Annotated[list[dict[str, Any]], Count(0, _MOST_PARTS)] = field(default_factory=list)


def _rows(values: list[list[float]], width: int) -> Array:
    return np.array(values, dtype=float).reshape(-1, width)


@dataclass(frozen=True, eq=False)
class Placed:
    """N cuboids in the world at one moment.

    rotation: (N, 3, 3), its columns being the cuboid's axes in the world. center, half: (N, 3) meters. owner: (N,)
    numbers of the colliders that they belong to, counted as in `names`.
    """

    rotation: Array
    center: Array
    half: Array
    owner: Array
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.center)

    @cached_property
    def bound(self) -> Array:
        """Radii (N,) in meters of the cuboids' bounding spheres."""
        return np.sqrt(np.einsum("ij,ij->i", self.half, self.half))

    @cached_property
    def upright(self) -> tuple[Array, Array | None]:
        """The values (8, N) of cuboids that stand upright on any of their sides, and which (N,) do so, or None for
        all."""
        rows = np.empty((UP + 1, len(self)))
        rows[MIDDLE], rows[EDGE], rows[AROUND.start :] = self.center.T, self.rotation[:, :2, 0].T, self.half.T
        level = np.abs(self.rotation[:, 2]) < _UPRIGHT
        others = np.flatnonzero(~(level[:, 0] & level[:, 1]))
        if not len(others):
            return rows, None
        level = level[others]
        order = _LAST[level.argmin(1)]
        rows[EDGE, others] = self.rotation[others, :2, order[:, 0]].T
        rows[AROUND.start :, others] = self.half[others[:, None], order].T
        stands = np.ones(len(self), dtype=bool)
        stands[others] = level.sum(1) == 2
        return rows, stands

    def distance(self, points: Array) -> Array:
        """Distances (P,) in meters from points (P, 3) of the world to the nearest cuboid: 0 inside, infinity without
        cuboids."""
        points = np.asarray(points, dtype=float)
        out = np.full(len(points), np.inf)
        for start in range(0, len(points), _POINTS):
            out[start : start + _POINTS] = self._squared(points[start : start + _POINTS])
        return np.sqrt(out)

    def _squared(self, points: Array) -> Array:
        """Squared distances (P,); points are turned into a collider's frame once for all its cuboids."""
        nearest = np.full(len(points), np.inf)
        starts = np.flatnonzero(np.diff(self.owner, prepend=-1))
        for start, end in zip(starts, np.append(starts, len(self))[1:], strict=True):
            local = np.ascontiguousarray((points @ self.rotation[start]).T)
            center = self.center[start:end] @ self.rotation[start]
            for middle, half in zip(center, self.half[start:end], strict=True):
                gap = np.maximum(np.abs(local - middle[:, None]) - half[:, None], 0.0)
                np.minimum(nearest, np.einsum("ij,ij->j", gap, gap), out=nearest)
        return nearest

    def below(self, name: str, height: float) -> Placed:
        """The cuboids without those of collider `name` that rise above a height in meters."""
        up = self.center[:, 2] + np.einsum("ij,ij->i", np.abs(self.rotation[:, 2]), self.half)
        return self._only(~((self.owner == self.names.index(name)) & (up > height)))

    def near(self, place: Array, reach: float) -> Placed:
        """The cuboids that may be within `reach` meters of a place (3,): all that are, and a few more."""
        away = self.center - place
        return self._only(np.einsum("ij,ij->i", away, away) <= (self.bound + reach) ** 2)

    def of(self, owners: Iterable[int | str]) -> Placed:
        """The cuboids of these colliders only, by number or name. Raises ColliderError for an unknown name."""
        return self._only(self._among(owners))

    def without(self, owners: Iterable[int | str]) -> Placed:
        """All cuboids but those of these colliders. Raises ColliderError for an unknown name."""
        return self._only(~self._among(owners))

    def _among(self, owners: Iterable[int | str]) -> Array:
        numbers = list[int]()
        for owner in owners:
            if isinstance(owner, str) and owner not in self.names:
                raise ColliderError(f"There is no collider named '{owner}'.")
            numbers.append(self.names.index(owner) if isinstance(owner, str) else owner)
        # A lookup table: np.isin takes ten times as long for so few.
        out = np.zeros(1 + max(int(self.owner.max(initial=0)), *numbers, 0), dtype=bool)
        out[numbers] = True
        return out[self.owner]

    def _only(self, chosen: Array) -> Placed:
        return Placed(self.rotation[chosen], self.center[chosen], self.half[chosen], self.owner[chosen], self.names)


class Surroundings:
    """Colliders, ready to be placed at any frame."""

    def __init__(self, colliders: list[Collider]) -> None:
        """Raises ColliderError, naming the collider, when a collider's numbers are not usable."""
        for collider in colliders:
            _check(collider)
        self.colliders = colliders
        self.names = tuple(collider.name for collider in colliders)
        self._owner = np.repeat(np.arange(len(colliders)), [len(c.cuboids.center) for c in colliders])
        self._half = _joined([collider.cuboids.half for collider in colliders])
        self._center = _joined([collider.cuboids.center for collider in colliders])
        self._ball, self._radius = _balls(colliders)
        # Only moving colliders have a pose for each frame.
        self._moving = np.flatnonzero([len(collider.poses) > 1 for collider in colliders])
        self._first = _poses(colliders, 1)[0]
        self._turned = to_matrix(self._first[:, QUATERNION])
        self._frames = max((len(collider.poses) for collider in colliders), default=1)
        self._poses = _poses([colliders[number] for number in self._moving], self._frames)
        self._rotations = to_matrix(self._poses[..., QUATERNION])
        still = not len(self._moving)
        self._still = self._placed(self._turned, self._first[:, PLACE]) if still else None
        self._still_balls = self._balls_at(self._turned, self._first[:, PLACE]) if still else None

    def __len__(self) -> int:
        return len(self.colliders)

    def at(self, frame: float) -> Placed:
        """All cuboids at a frame, which may lie between two frames; the first and the last pose hold beyond the ends.

        Between two frames places move straight, and rotations take the shorter way.
        """
        return self._placed(*self._frames_at(frame)) if self._still is None else self._still

    def near(self, frame: float, place: Array, reach: float, without: Sequence[int] = ()) -> Placed:
        """The cuboids at a frame of those colliders that may have a part within `reach` meters of a place (3,).

        Faster than `at` for sensors, because far colliders are not placed. without: numbers of colliders to leave out.
        """
        rotation, places = self._frames_at(frame)
        balls = self._still_balls if self._still_balls is not None else self._balls_at(rotation, places)
        away = balls - place
        near = np.einsum("ij,ij->i", away, away) <= (self._radius + reach) ** 2
        if without:
            near[without] = False
        chosen = near[self._owner].nonzero()[0]
        if self._still is None:
            return self._placed(rotation, places, chosen)
        still = self._still
        return Placed(still.rotation[chosen], still.center[chosen], self._half[chosen], self._owner[chosen], self.names)

    def _balls_at(self, rotation: Array, places: Array) -> Array:
        """Middles (M, 3) in the world of the colliders' bounding spheres."""
        out: Array = np.einsum("nij,nj->ni", rotation, self._ball) + places
        return out

    def _frames_at(self, frame: float) -> tuple[Array, Array]:
        """Rotations (M, 3, 3) and places (M, 3) of all colliders' frames."""
        if not len(self._moving):
            return self._turned, self._first[:, PLACE]
        frame = min(max(float(frame), 0.0), self._frames - 1.0)
        first = int(frame)
        part = frame - first
        poses, rotations = self._poses[first], self._rotations[first]
        place = poses[:, PLACE]
        if part > 0:
            after = self._poses[first + 1]
            place = (1 - part) * place + part * after[:, PLACE]
            rotations = to_matrix(slerp(poses[:, QUATERNION], after[:, QUATERNION], np.array(part)))
        rotation, places = self._turned.copy(), self._first[:, PLACE].copy()
        rotation[self._moving], places[self._moving] = rotations, place
        return rotation, places

    def _placed(self, rotation: Array, places: Array, chosen: Array | slice = slice(None)) -> Placed:
        """The chosen cuboids in the world, with the colliders' frames at these rotations and places."""
        owner = self._owner[chosen]
        turned = rotation[owner]
        center = np.einsum("nij,nj->ni", turned, self._center[chosen]) + places[owner]
        return Placed(turned, center, self._half[chosen], owner, self.names)


def _balls(colliders: list[Collider]) -> tuple[Array, Array]:
    """Bounding spheres of the colliders: middles (M, 3) in their frames, radii (M,) in meters."""
    middle, radius = np.zeros((len(colliders), 3)), np.zeros(len(colliders))
    for number, collider in enumerate(colliders):
        center, half = collider.cuboids.center, collider.cuboids.half
        if len(center):
            low, high = (center - half).min(0), (center + half).max(0)
            middle[number], radius[number] = (low + high) / 2, np.linalg.norm(high - low) / 2
    return middle, radius


def _poses(colliders: list[Collider], frames: int) -> Array:
    """Poses (frames, N, 7) of colliders, unit quaternions; a collider with fewer poses stays at its last one."""
    out = np.zeros((frames, len(colliders), 7))
    for number, collider in enumerate(colliders):
        poses = np.array(collider.poses[:frames], dtype=float)
        poses[:, QUATERNION] = normalize(poses[:, QUATERNION])
        out[: len(poses), number] = poses
        out[len(poses) :, number] = poses[-1]
    return out


def _joined(parts: list[Array]) -> Array:
    return np.concatenate([np.zeros((0, 3)), *parts]).astype(float)


def _check(collider: Collider) -> None:
    poses, center, half = (
        np.asarray(part) for part in (collider.poses, collider.cuboids.center, collider.cuboids.half)
    )
    if poses.ndim != 2 or poses.shape[1] != 7 or len(poses) == 0 or not np.isfinite(poses).all():
        raise ColliderError(
            f"Collider '{collider.name}': its poses are not places and rotations. Refresh the collider."
        )
    if (np.abs(poses[:, QUATERNION]).max(axis=1) < _NO_ROTATION).any():
        raise ColliderError(f"Collider '{collider.name}': a rotation is zero. Refresh the collider.")
    if center.shape != half.shape or center.ndim != 2 or center.shape[1] != 3:
        raise ColliderError(f"Collider '{collider.name}': its cuboids are damaged. Refresh the collider.")
    if not (np.isfinite(center).all() and np.isfinite(half).all() and (half >= 0).all()):
        raise ColliderError(
            f"Collider '{collider.name}': the sizes of its cuboids are not usable. Refresh the collider."
        )
