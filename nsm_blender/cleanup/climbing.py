# SPDX-License-Identifier: GPL-3.0-or-later
"""The body of one who climbs: hips over the feet that carry them, before an edge until they are above it, the trunk
leaning on meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from ..geometry.colliders import Placed
from ..models.nsm import FPS
from ..motion.filters import gaussian, highest_around
from ..motion.ik import LEFT_LEG, RIGHT_LEG
from ..motion.root import direction
from ..motion.rotations import Array, from_exponential_map, multiply
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from .footholds import Footholds

STRETCH = 0.97
"""Share of its length to which a leg stretches that carries the body,"""
ON_TOES = 0.06
"""and metres more where its heel comes up."""
LARGEST_DROP = 0.5
"""Metres by which hips sink at most."""
ROOM = 0.24
"""Metres of the hips before a face,"""
ABOVE = (0.3, 0.1)
"""as long as its top is no more than so many metres below them: from none of it to all."""
LEAN, FARTHEST_LEAN = 1.6, 0.6
"""Radians of leaning for each metre that hips are held low or back, and at most."""
_HOLD, _SMOOTH = round(0.16 * FPS), 0.12 * FPS
"""Frames to both sides for which a need counts, and over which it is smoothed."""
_LEGS = {"Left": LEFT_LEG, "Right": RIGHT_LEG}
_SHARES = {"Spine": 0.4, "Spine1": 0.7, "Neck": 0.6, "Head": 0.3}
"""Shares of a lean of the joints that have not all of it."""
_LOWER = MODEL_SKELETON.indices(["Hips", *(side + part for side in _LEGS for part in ("UpLeg", "Leg", "Foot", "Toe"))])
_UPPER = [joint for joint in range(len(MODEL_SKELETON)) if joint not in _LOWER]


@dataclass(frozen=True, eq=False)
class Climb:
    """What a body does over steps. contacts: (T, 4) of CONTACT_JOINTS. hips: metres (T, 3) to move them. feet: metres
    (T, 3) to move the foot of each side. lean: rotation vectors (T, 3) of the trunk."""

    contacts: Array
    hips: Array
    feet: dict[str, Array]
    lean: Array

    @property
    def toes(self) -> list[int]:
        """The joints by which the feet are moved."""
        return MODEL_SKELETON.indices([side + "Toe" for side in self.feet])

    def leaning(self, rotations: Array) -> Array:
        """World rotations (T, J, 4) with the trunk leaning."""
        share = np.array([_SHARES.get(MODEL_SKELETON.names[joint], 1.0) for joint in _UPPER])
        out = rotations.copy()
        tilt = self.lean[:, None] * share[:, None]
        out[:, _UPPER] = multiply(from_exponential_map(tilt), rotations[:, _UPPER])
        return out


def climbing(
    places: Array,
    rotations: Array,
    facing: Array,
    contacts: Array,
    near: Callable[[int], Placed],
    steps: Collection[str],
    floor: float,
) -> Climb | None:
    """How a body with joints at places (T, J, 3) and world rotations (T, J, 4), facing angles (T,), gets over steps;
    None when there are none on its way.

    contacts: (T, 4) of CONTACT_JOINTS. near: the cuboids around it at a frame, of which those of `steps` carry it.
    floor: height of the ground beside them.
    """
    around = [near(frame).of(list(steps)) for frame in range(len(places))] if steps else []
    if not any(len(placed) for placed in around):
        return None
    holds = Footholds(places, rotations, contacts, around, floor)
    hips = _Hips(places, holds.contacts, holds.stances(), around).moves()
    feet = holds.shifts(hips)
    return Climb(holds.contacts, hips, feet, _lean(hips, facing)) if feet else None


def _lean(hips: Array, facing: Array) -> Array:
    """Rotation vectors (T, 3) by which a trunk leans ahead as the hips are held low and back by metres (T, 3)."""
    ahead = direction(facing)
    back = np.maximum(-np.sum(hips[:, :2] * ahead, axis=1), 0)
    angle = gaussian(np.minimum(LEAN * (back - hips[:, 2]), FARTHEST_LEAN), _SMOOTH)
    return np.stack((-angle * ahead[:, 1], angle * ahead[:, 0], np.zeros(len(hips))), axis=1)


class _Hips:
    """Hips over feet that move by metres (T, 3) where they stand."""

    def __init__(self, places: Array, contacts: Array, stances: dict[str, Array], around: list[Placed]) -> None:
        self._places, self._contacts, self._stances, self._around = places, contacts, stances, around
        self._moved = np.zeros((len(places), 3))

    def moves(self) -> Array:
        """Metres (T, 3): down to what carries them, and back from faces that are as high as they are then."""
        out = self._moved
        out[:, 2] = -self._drop()
        out[:, :2] = self._back()
        out[:, 2] = 0
        out[:, 2] = -self._drop()
        return out

    def _drop(self) -> Array:
        """Metres (T,) by which hips are too high for the feet that stand."""
        out = np.zeros(len(self._places))
        for side, shift in self._stances.items():
            limb = _LEGS[side]
            upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
            length = STRETCH * float(np.linalg.norm(MODEL_SKELETON.offsets[[middle, end]], axis=1).sum()) + ON_TOES
            away = self._places[:, upper] + self._moved - self._places[:, end] - shift
            level = np.minimum(np.linalg.norm(away[:, :2], axis=1), 0.9 * length)
            stands = (self._contacts[:, [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]] > 0).any(
                axis=1
            )
            out = np.maximum(out, np.where(stands, away[:, 2] - np.sqrt(length**2 - level**2), 0))
        return _smooth(np.minimum(out, LARGEST_DROP))

    def _back(self) -> Array:
        """Metres (T, 2) by which hips are too near to faces that rise before them."""
        out = np.zeros((len(self._places), 2))
        for frame, place in enumerate(self._places[:, 0] + self._moved):
            placed = self._around[frame]
            for rotation, centre, half in zip(placed.rotation, placed.centre, placed.half, strict=True):
                below = place[2] - centre[2] - half[2]
                room = ROOM * float(np.clip((ABOVE[0] - below) / (ABOVE[0] - ABOVE[1]), 0, 1))
                local = (place[:2] - centre[:2]) @ rotation[:2, :2]
                past = room + half[:2] - np.abs(local)
                if room and past.min() > 0:
                    axis = int(past.argmin())
                    way = np.zeros(2)
                    way[axis] = np.copysign(past[axis], local[axis])
                    out[frame] = rotation[:2, :2] @ way
        return _smooth_ways(out)


def _smooth(need: Array) -> Array:
    return gaussian(highest_around(need, _HOLD), _SMOOTH)


def _smooth_ways(ways: Array) -> Array:
    """Ways (T, 2), as long as the longest around each, and smooth."""
    length = np.linalg.norm(ways, axis=1)
    if not length.any():
        return ways
    longest = highest_around(length, _HOLD)
    mean = gaussian(ways, float(_HOLD))
    heading = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-9)
    return gaussian(longest[:, None] * heading, _SMOOTH)
