# SPDX-License-Identifier: GPL-3.0-or-later
"""Things that stand around without being in the way: what the environment sensor sees besides the goal's thing."""

from __future__ import annotations

import numpy as np

from ...geometry.body import BODY, RADII, bone_points
from ...geometry.colliders import Collider, Cuboids, Placed, Surroundings
from ...geometry.furniture import held_out, make
from ...motion.root import direction
from ...motion.rotations import Array, from_yaw
from .track import Track

_KINDS = ("table", "chair", "shelf", "cupboard", "desk", "box", "crate", "drum", "platform", "bench", "beam", "sofa")
_MOST = 6
"""Most things that are put beside a way."""
_REACH = (0.5, 2.2)
"""Meters from the way between which things are put, since farther ones are not sensed."""
_BESIDE, _BESIDE_REACH = 0.5, (0.3, 1.2)
"""Share of the things that are put beside what is used, and meters from its middle between which these are."""
_WALLS = 0.15
"""Share of the things that are walls."""
_WALL_HALF = (2.0, 0.05, 1.25)
"""Half of the sizes in meters of a wall."""
_MOST_GAP = 0.1
"""Largest meters between a thing and the body all the time; the gap is drawn from 0 to this, so that things are passed
closely."""
_APART = 0.02
"""Least meters between the corners of two things."""
_TRIES = 5
"""Attempts to place each thing."""
_BODY_HEIGHTS = (0.3, 0.9, 1.4)
"""Heights in meters at which room is left for a body that stands."""
_EVERY = 3
"""Frames between the poses that are checked."""


def clutter(track: Track, taken: list[Collider], rng: np.random.Generator, used: Array | None = None) -> list[Collider]:
    """Up to six pieces near the way of `track` that neither the body nor what it carries is ever in, and that stand in
    none of `taken`. used: place (2,) of a thing, beside which many of the pieces are put."""
    return _put(*_swept(track, taken), track.hips[::_EVERY, :2], taken, rng, used)


def clutter_about(stand: Array, used: Array, taken: list[Collider], rng: np.random.Generator) -> list[Collider]:
    """Up to six pieces about a thing at a place (2,) that leave room for a body that stands before it at another (2,),
    and stand in none of `taken`."""
    points = np.array([[*stand, height] for height in _BODY_HEIGHTS])
    return _put(points, np.full(len(points), BODY.radius), stand[None], taken, rng, used)


def _put(
    points: Array, radii: Array, way: Array, taken: list[Collider], rng: np.random.Generator, used: Array | None
) -> list[Collider]:
    """Pieces near places (W, 2) of a way that stay off points (P, 3) by radii (P,)."""
    found: list[Collider] = []
    for number in range(int(rng.integers(0, _MOST + 1))):
        is_beside = used is not None and rng.random() < _BESIDE
        for _ in range(_TRIES):
            boxes = _piece(rng)
            if boxes is None:
                continue
            about = used if used is not None and is_beside else way[int(rng.integers(len(way)))]
            distance = rng.uniform(*(_BESIDE_REACH if is_beside else _REACH))
            place = about + distance * direction(np.array(rng.uniform(-np.pi, np.pi)))
            pose = np.concatenate((place, [0.0], from_yaw(np.array(rng.uniform(-np.pi, np.pi)))))[None]
            candidate = Collider(f"clutter {number}", boxes, pose)
            placed = Surroundings([candidate]).at(0)
            if (placed.distance(points) - radii).min() < _MOST_GAP * rng.random():
                continue
            if not _is_apart(placed, Surroundings([*taken, *found]).at(0)):
                continue
            found.append(candidate)
            break
    return found


def _piece(rng: np.random.Generator) -> Cuboids | None:
    """The cuboids of a wall or a piece of furniture; None for a seed that is held out."""
    if rng.random() < _WALLS:
        half = np.array([_WALL_HALF])
        return Cuboids(half * np.array([0.0, 0.0, 1.0]), half)
    seed, kind = int(rng.integers(1, 100000)), _KINDS[int(rng.integers(len(_KINDS)))]
    return None if held_out(seed) else make(kind, seed).boxes


def _swept(track: Track, taken: list[Collider]) -> tuple[Array, Array]:
    """Points (P, 3) that are to be kept clear, and meters (P,) about each: the body's, and the corners of what is
    moved."""
    joints = track.positions()[::_EVERY]
    # The ends of bones that have no flesh in the measure, such as the toes, too.
    body = np.concatenate((bone_points(joints), joints), axis=1)
    radii = np.tile(np.append(RADII, np.zeros(joints.shape[1])), len(body))
    moved = [one for one in taken if len(one.poses) == len(track)]
    corners = [_corners(Surroundings(moved).at(frame)) for frame in range(0, len(track), _EVERY)] if moved else []
    points = np.concatenate([body.reshape(-1, 3), *corners])
    return points, np.append(radii, np.zeros(len(points) - len(radii)))


def _corners(placed: Placed) -> Array:
    """Corners and middles of the edges (N, 3) of cuboids."""
    local = _CORNERS * placed.half[:, None]
    out: Array = (placed.center[:, None] + np.einsum("nij,nkj->nki", placed.rotation, local)).reshape(-1, 3)
    return out


def _is_apart(placed: Placed, others: Placed) -> bool:
    """Whether the corners of neither are in the other."""
    if not len(others):
        return True
    nearest = min(others.distance(_corners(placed)).min(), placed.distance(_corners(others)).min())
    return bool(nearest >= _APART)


_CORNERS = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 1)], dtype=float)
