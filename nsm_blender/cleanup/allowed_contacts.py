# SPDX-License-Identifier: GPL-3.0-or-later
"""What is around the body of a rollout, and what of it the body may touch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..geometry.body import ARMS_GIVE, GIVE, SITTING
from ..geometry.colliders import Collider
from ..geometry.collision import Obstacles
from ..geometry.scene_state import blended
from ..motion.root import direction
from ..motion.rotations import Array
from ..rollout.held_objects import Hands
from ..rollout.nsm import SceneRecord
from .balls import BONES, HANDS, RADII
from .seating import Seating

SOLE = 0.02
"""Meters by which the ball of a foot may be in what the foot stands on: a toe joint is lower than its radius."""
TOWARD = 0.5
"""Cosine between the way out of a surface and up (or ahead) from which it is a seat's top (or a backrest's front)."""
_RESTS = np.where(np.isin(BONES, SITTING), GIVE, np.where(np.char.endswith(BONES, "Arm"), ARMS_GIVE, 0.0))
"""Meters (P,) by which each ball of the body may be in the seat below it."""
_LEANS = np.where(BONES == "Hips", GIVE, 0.0)
"""Meters (P,) by which each ball of the body may be in the backrest behind it."""
_FOOT = np.char.endswith(BONES, "Foot")


class Room:
    """The things around a rollout of T frames, but what is in the hands. poses: (T, 7) of those that were moved.
    rate: frames of the colliders' poses for each of the rollout."""

    def __init__(
        self, record: SceneRecord, hands: Hands, colliders: Sequence[Collider], poses: dict[str, Array], rate: float
    ) -> None:
        frames = np.arange(len(record.root))
        self._record, self._hands = record, hands
        self._names = [collider.name for collider in colliders]
        tracks = [poses[c.name] if c.name in poses else _poses(c, frames * rate) for c in colliders]
        there = np.ones((len(frames), len(colliders)), dtype=bool)
        for hold in hands.holds:
            left = len(frames) if hold.left is None else hold.left
            there[hold.taken : left, self._names.index(hold.name)] = False
        self.obstacles = Obstacles(colliders, tracks, there, float(record.root[:, 2].min()))

    def gives(self, seatings: Sequence[Seating], radii: Array = RADII) -> _Gives:
        """How far a body with balls of radii (P,) may be in things that it uses."""
        record, count = self._record, len(self._record.root)
        seats = np.zeros((count, len(self._names)), dtype=bool)
        for one in seatings:
            seats[one.used(count), self._names.index(one.aim.thing)] = True
        used = {hold.name for hold in self._hands.holds} | {grip.name for grip in self._hands.grips}
        return _Gives(seats, np.isin(self._names, list(used)), record.root[:, 3], radii - RADII)


class _Gives:
    """Intended contact. seats: (T, C) what the body sits on. held: (C,) what its hands take, or open. thicker: (P,)
    meters by which balls are larger than the model's; retargeting lifts the hips over the seat by these."""

    def __init__(self, seats: Array, held: Array, facing: Array, thicker: Array) -> None:
        self._seats, self._held, self._thicker = seats, held, np.maximum(thicker, 0.0)
        self._ahead = np.append(direction(facing), np.zeros((len(facing), 1)), axis=1)

    def __call__(self, balls: Array, frames: Array, thing: int, normals: Array) -> Array:
        """Meters (N,) by which balls (N,) at frames (N,) may be in a thing that they leave along normals (N, 3)."""
        below = normals[:, 2] > TOWARD
        behind = np.einsum("ni,ni->n", normals, self._ahead[frames]) > TOWARD
        sits = self._seats[frames, thing]
        out = np.where(sits & below, _RESTS[balls] + self._thicker[balls], 0.0)
        out = np.maximum(out, np.where(sits & behind, _LEANS[balls], 0.0))
        out = np.maximum(out, np.where(self._held[thing] & HANDS[balls], GIVE, 0.0))
        return np.where(below & _FOOT[balls], np.maximum(out, SOLE), out)


def _poses(collider: Collider, frames: Array) -> Array:
    """Poses (T, 7) of a thing at frames of its own, or the one that it always has; between two on the straight line."""
    poses = np.asarray(collider.poses, dtype=float)
    if len(poses) == 1:
        return poses
    at = np.clip(frames, 0, len(poses) - 1)
    first = at.astype(int)
    return blended(poses[first], poses[np.minimum(first + 1, len(poses) - 1)], at - first)
