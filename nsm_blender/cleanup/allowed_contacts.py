# SPDX-License-Identifier: GPL-3.0-or-later
"""What the body of a rollout may touch, where its hands are wanted, and how far its hips may go aside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..geometry.body import RADII, bone_points, gives
from ..geometry.colliders import Collider
from ..geometry.footing import CLIMBABLE
from ..geometry.proximity import Around, Balls, around
from ..geometry.scene_state import blended
from ..models.nsm import ACTIONS, FPS
from ..motion.easing import smoothstep
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..planning.occupancy_grid import CROUCHED
from ..rollout.held_objects import ARMS, Hands
from ..rollout.nsm import SceneRecord
from .body_collision import ASIDE, EVERY, ON_SEAT, BodyClear, Pin
from .carried_object_clearance import Carried
from .leg_collision import FOOT, LEG_RADII, REACH, leg_points
from .seating import Seating

ACTIVE = 0.2
"""Action labels above this mean that one does it."""
_REACH = 0.3
"""Metres from the body within which things are looked at: it moves no farther."""
_SITS_DOWN = round(0.3 * FPS)
"""Frames before one sits from which the hips keep to the seat, and after one is told to get up."""
_PINNED = round(0.9 * FPS)
"""Frames before and after a grasp in which the hands come to where they take hold, and leave it."""


class Room:
    """The things around a rollout of T frames, but what is in the hands. poses: (T, 7) of those that were moved.
    rate: frames of the colliders' poses for each of the rollout."""

    def __init__(
        self, record: SceneRecord, hands: Hands, colliders: Sequence[Collider], poses: dict[str, Array], rate: float
    ) -> None:
        self._record, self._hands, self._colliders = record, hands, colliders
        frames = np.arange(len(record.root))
        self._poses = [poses[c.name] if c.name in poses else _poses(c, frames * rate) for c in colliders]
        self._there = _not_held(frames, colliders, hands)

    def around_legs(self, places: Array) -> Around:
        """What is near shins and feet, at every frame; feet may be in what they stand on."""
        give = np.tile(np.where(LEG_RADII == FOOT, np.inf, 0.0), (len(places), 1))
        underfoot = [collider.name for collider in self._colliders if collider.role in CLIMBABLE]
        high = np.full(len(places), np.inf)
        return self._around(slice(None), Balls(leg_points(places), LEG_RADII, give), underfoot, high, REACH)

    def around_body(self, places: Array, facing: Array, seatings: Sequence[Seating]) -> BodyClear:
        """A body with joints at places (T, J, 3) that faces angles (T,), and may touch what it uses."""
        record, hands = self._record, self._hands
        keys = np.arange(0, len(places), EVERY)
        sits, carries, opens = (record.actions[keys, ACTIONS.index(name)] > ACTIVE for name in ("sit", "carry", "open"))
        for one in seatings:
            sits |= (keys >= one.settled) & (keys < (len(places) if one.left is None else one.left))
        balls = Balls(bone_points(places[keys]), RADII, gives(sits, carries | opens))
        used = [one.aim.thing for one in seatings] + [hold.name for hold in hands.holds]
        used += [grip.name for grip in hands.grips]
        found = self._around(slice(None, None, EVERY), balls, used, record.root[keys, 2] + CROUCHED, _REACH)
        return BodyClear(found, facing, _pins(hands, places))

    def around_held(self, carried: Carried, frames: Array, reach: float) -> Around:
        """What is within `reach` metres of a thing in the hands at frames (K,), but itself."""
        radius = np.array([np.linalg.norm(carried.half)])
        balls = Balls(carried.middle[:, None], radius, np.zeros((len(frames), 1)))
        return self._around(frames, balls, (), np.full(len(frames), np.inf), reach)

    def _around(self, frames: slice | Array, balls: Balls, used: Sequence[str], low: Array, reach: float) -> Around:
        poses = [poses if len(poses) == 1 else poses[frames] for poses in self._poses]
        return around(self._colliders, poses, self._there[frames], used, balls, low, reach)


def hips_limit(count: int, seatings: Sequence[Seating]) -> Array:
    """Metres (T,) by which the hips may be moved aside."""
    out = np.full(count, ASIDE)
    for seating in seatings:
        last = count if seating.left is None else seating.left + _SITS_DOWN
        out[max(seating.settled - _SITS_DOWN, 0) : last] = ON_SEAT
    return out


def _not_held(frames: Array, colliders: Sequence[Collider], hands: Hands) -> Array:
    """Whether each of the things is not in the hands in each of the frames (K, C)."""
    out = np.ones((len(frames), len(colliders)), dtype=bool)
    names = [collider.name for collider in colliders]
    for hold in hands.holds:
        left = np.inf if hold.left is None else hold.left
        out[(frames >= hold.taken) & (frames < left), names.index(hold.name)] = False
    return out


def _poses(collider: Collider, frames: Array) -> Array:
    """Poses (T, 7) of a thing at frames of its own, or the one that it always has; between two on the straight line."""
    poses = np.asarray(collider.poses, dtype=float)
    at = np.clip(frames, 0, len(poses) - 1) if len(poses) > 1 else np.zeros(1)
    first = at.astype(int)
    return blended(poses[first], poses[np.minimum(first + 1, len(poses) - 1)], at - first)


def _pins(hands: Hands, places: Array) -> list[Pin]:
    """Wrists that take hold of things, and leave them, where they did."""
    frames = np.arange(len(places))
    moments = [one for hold in hands.holds for one in (hold.taken, hold.left) if one is not None]
    weight = np.max([_bump(frames, one, one) for one in moments], axis=0, initial=0.0) * np.ones(len(places))
    out = []
    for side in ARMS:
        mine = [_bump(frames, grip.first, grip.last) for grip in hands.grips if grip.side == side]
        both = np.max([weight, *mine], axis=0)
        if both.any():
            out.append(Pin(side, places[:, MODEL_SKELETON.index(side + "Hand")], both))
    return out


def _bump(frames: Array, first: int, last: int) -> Array:
    """(T,) 1 between two frames and 0 away from them, smoothly."""
    return smoothstep(1 - np.maximum(first - frames, frames - last) / _PINNED)
