# SPDX-License-Identifier: GPL-3.0-or-later
"""The room beside a body that acts in a scene: its root, and where it foresees to be, keep off what stands around."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from ..geometry.footing import CLIMBABLE
from ..models.nsm import FPS
from ..motion.rotations import Array
from .berth import EASE, HIPS_BACK, SLACK, nearest_velocity
from .floor import ANKLE, Footprints
from .goals import RouteOptions
from .scene_things import Scenery

ROOM = RouteOptions().radius - SLACK
"""Metres that the root stays off things,"""
SLIM = RouteOptions().slim - SLACK - HIPS_BACK
"""and that of one who goes sideways;"""
COMING = 0.5
"""less towards where one is to be, if things stand nearer there: as near as there, and this share of the way to it."""
BRAKES = 12.0
"""m/s^2 at most by which one is held back, and let go again: nobody stops from one frame to the next."""
_HEIGHT = 1.75
_AROUND = 2.0
"""Metres around one in which things are looked at,"""
_MOVED = 0.4
"""until one has gone so many along X or Y,"""
_FRAMES = 10
"""or after so many frames, as things may move."""
_DT = 1.0 / FPS


class SceneBerth:
    """Keeps a root from coming nearer to things than a body has room. Nobody is pushed away from what he is near."""

    def __init__(self) -> None:
        self._seen: tuple[int, Array, frozenset[str]] | None = None
        none = np.zeros((0, 2))
        self._near = Footprints(none, none, none, none[:, 0], none[:, 0], none[:, 0])
        self._held_back = np.zeros(2)

    def kept_off(
        self,
        scenery: Scenery,
        frame: int,
        before: Array,
        root: Array,
        place: Array,
        way: Array,
        used: frozenset[str],
        most: float = ROOM,
    ) -> Array:
        """The future places (6, 2) of a root that goes on from `before` to `root` (4,), led no nearer to things than
        there is room; so is the root, in place.

        way: places (N, 2) on which one is to be next, and which stay free to go to. used: names of the things that do
        not count. most: metres of room that one needs.
        """
        self._look(scenery, frame, before, used)
        ahead = np.concatenate((root[None, :2], place))
        step = root[:2] - before[:2]
        things = self._near
        away = things.distances(np.concatenate((before[None, :2], ahead, way)))
        meets = away[: 1 + len(ahead)].min(0, initial=np.inf) < most
        meets |= away[0] < most + float(np.hypot(*step)) / (EASE * _DT)
        if not meets.any():
            self._hold_back(before, root, step)
            return place
        things = things[meets]
        free = away[1 + len(ahead) :, meets] - SLACK
        far = np.linalg.norm(way - before[:2], axis=1)
        room = np.minimum(most, (free + COMING * far[:, None]).min(0, initial=np.inf))
        self._hold_back(before, root, _step(things, room, before[:2], step, EASE * _DT))
        steps = np.diff(ahead, axis=0)
        # How far from its place one may be foreseen before what is around matters to the step from there.
        spare = (away[1 : len(ahead), meets] - room).min(1) - np.hypot(steps[:, 0], steps[:, 1])
        kept, last = np.empty_like(place), root[:2]
        for k, onward in enumerate(steps):
            free_to_go = math.dist(last, ahead[k]) < spare[k]
            last = last + (onward if free_to_go else _step(things, room, last, onward, 1.0))
            kept[k] = last
        return kept

    def _hold_back(self, before: Array, root: Array, allowed: Array) -> None:
        """Shorten the root's step to the one (2,) that is allowed, in time."""
        step = root[:2] - before[:2]
        change = allowed - step - self._held_back
        most = BRAKES * _DT * _DT
        self._held_back = self._held_back + change * min(most / max(float(np.hypot(*change)), 1e-12), 1.0)
        root[:2] += self._held_back

    def _look(self, scenery: Scenery, frame: int, root: Array, used: frozenset[str]) -> None:
        if self._seen is not None:
            since, where, without = self._seen
            if frame - since < _FRAMES and np.abs(root[:2] - where).max() < _MOVED and without == used:
                return
        self._seen = frame, root[:2].copy(), used
        near = scenery.near(frame, root[:3], _AROUND).without(_walkable(scenery, used))
        things = Footprints.of(near).between(root[2] + ANKLE, root[2] + _HEIGHT)
        self._near = things[things.distances(root[None, :2])[0] < _AROUND]


def _walkable(scenery: Scenery, used: Collection[str]) -> list[str]:
    """Names of what is used, and of what one may step on."""
    climbed = [collider.name for collider in scenery.surroundings.colliders if collider.role in CLIMBABLE]
    return [*climbed, *used]


def _step(things: Footprints, room: Array, place: Array, step: Array, ease: float) -> Array:
    """What is left at a place (2,) of a step (2,) in metres. room: (N,) metres from each thing. ease: share of what is
    left of the room that may be gone at once."""
    away = things.outward(place)
    distance = np.hypot(away[:, 0], away[:, 1])
    # What one is in has no outside to go to.
    met = (distance > 0) & (distance < room + math.hypot(*step) / ease)
    if not met.any():
        return step
    distance, out = distance[met], away[met] / distance[met, None]
    return nearest_velocity(step, out, -ease * np.maximum(distance - room[met], 0.0))
