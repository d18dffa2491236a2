# SPDX-License-Identifier: GPL-3.0-or-later
"""Things that stand around without being in the way: what the environment sensor sees besides the goal's thing."""

from __future__ import annotations

import numpy as np

from ...geometry.body import RADII, bone_points
from ...geometry.colliders import Collider, Surroundings
from ...geometry.furniture import held_out, make
from ...motion.rotations import from_yaw
from .track import Track

_KINDS = ("table", "chair", "shelf", "cupboard", "desk", "box", "crate", "drum", "platform", "bench", "beam", "sofa")
_MOST = 6
"""Most things that are put beside a way."""
_REACH = 2.2
"""Meters from the way within which things are put, since farther ones are not sensed."""
_MOST_GAP = 0.1
"""Largest meters between a thing and the body all the time; the gap is drawn from 0 to this, so that things are passed
closely."""
_TRIES = 5
"""Attempts to place each thing."""
_EVERY = 3
"""Frames between the poses that are checked."""


def clutter(track: Track, taken: list[Collider], rng: np.random.Generator) -> list[Collider]:
    """Up to six pieces near the way of `track` that the body is never in, and that stand in none of `taken`."""
    joints = track.positions()[::_EVERY]
    # The ends of bones that have no flesh in the measure, such as the toes, too.
    body = np.concatenate((bone_points(joints), joints), axis=1)
    radii = np.tile(np.append(RADII, np.zeros(joints.shape[1])), len(body))
    points = body.reshape(-1, 3)
    way = track.hips[::_EVERY, :2]
    found: list[Collider] = []
    for number in range(int(rng.integers(0, _MOST + 1))):
        for _ in range(_TRIES):
            seed = int(rng.integers(1, 100000))
            if held_out(seed):
                continue
            piece = make(_KINDS[int(rng.integers(len(_KINDS)))], seed)
            angle, distance = rng.uniform(-np.pi, np.pi), rng.uniform(0.5, _REACH)
            place = way[int(rng.integers(len(way)))] + distance * np.array([np.sin(angle), np.cos(angle)])
            pose = np.concatenate((place, [0.0], from_yaw(np.array(rng.uniform(-np.pi, np.pi)))))[None]
            candidate = Collider(f"clutter {number}", piece.boxes, pose)
            placed = Surroundings([candidate]).at(0)
            if (placed.distance(points) - radii).min() < _MOST_GAP * rng.random():
                continue
            others = Surroundings([*taken, *found]).at(0)
            corners = (
                placed.center[:, None] + np.einsum("nij,nkj->nki", placed.rotation, _CORNERS * placed.half[:, None])
            ).reshape(-1, 3)
            if len(others) and others.distance(corners).min() < 0.02:
                continue
            found.append(candidate)
            break
    return found


_CORNERS = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 1)], dtype=float)
