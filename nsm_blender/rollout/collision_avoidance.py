# SPDX-License-Identifier: GPL-3.0-or-later
"""The room beside a body that acts in a scene: its root, and where it foresees to be, keep off what stands around."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from ..geometry.ground_height import CLIMBABLE
from ..geometry.scene_state import Scenery
from ..models.nsm import FPS
from ..motion.rotations import Array
from ..planning.occupancy_grid import ANKLE, ObstacleOutlines
from ..planning.velocity_constraints import EASE, HIPS_BACK, SLACK, Vector, nearest_velocity
from ..shot.goals import RouteOptions

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
        self._near = ObstacleOutlines(none, none, none, none[:, 0], none[:, 0], none[:, 0])
        self._held_back: Vector = (0.0, 0.0)

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
            self._hold_back(before, root, (float(step[0]), float(step[1])))
            return place
        free = away[1 + len(ahead) :, meets] - SLACK
        far = np.hypot(*(way - before[:2]).T)
        room = np.minimum(most, (free + COMING * far[:, None]).min(0, initial=np.inf))
        met = _Met(things[meets], room)
        here: Vector = (float(before[0]), float(before[1]))
        self._hold_back(before, root, met.step(here, (float(step[0]), float(step[1])), EASE * _DT))
        steps = ahead[1:] - ahead[:-1]
        # How far from its place one may be foreseen before what is around matters to the step from there.
        spare = ((away[1 : len(ahead), meets] - room).min(1) - np.hypot(steps[:, 0], steps[:, 1])).tolist()
        kept, last = list[Vector](), (float(root[0]), float(root[1]))
        for (x, y), at, enough in zip(steps.tolist(), ahead.tolist(), spare, strict=False):
            onward = (x, y) if math.dist(last, at) < enough else met.step(last, (x, y), 1.0)
            last = (last[0] + onward[0], last[1] + onward[1])
            kept.append(last)
        return np.array(kept)

    def _hold_back(self, before: Array, root: Array, allowed: Vector) -> None:
        """Shorten the root's step to the one that is allowed, in time."""
        (held_x, held_y), most = self._held_back, BRAKES * _DT * _DT
        x = allowed[0] - float(root[0] - before[0]) - held_x
        y = allowed[1] - float(root[1] - before[1]) - held_y
        share = min(most / max(math.hypot(x, y), 1e-12), 1.0)
        self._held_back = (held_x + share * x, held_y + share * y)
        root[:2] += self._held_back

    def _look(self, scenery: Scenery, frame: int, root: Array, used: frozenset[str]) -> None:
        if self._seen is not None:
            since, where, without = self._seen
            if frame - since < _FRAMES and np.abs(root[:2] - where).max() < _MOVED and without == used:
                return
        self._seen = frame, root[:2].copy(), used
        near = scenery.near(frame, root[:3], _AROUND).without(_walkable(scenery, used))
        things = ObstacleOutlines.of(near).between(root[2] + ANKLE, root[2] + _HEIGHT)
        self._near = things[things.distances(root[None, :2])[0] < _AROUND]


def _walkable(scenery: Scenery, used: Collection[str]) -> list[str]:
    """Names of what is used, and of what one may step on."""
    climbed = [collider.name for collider in scenery.surroundings.colliders if collider.role in CLIMBABLE]
    return [*climbed, *used]


class _Met:
    """Things that are in one's way. room: (N,) metres that one keeps off each."""

    def __init__(self, things: ObstacleOutlines, room: Array) -> None:
        self._things = np.concatenate((things.centre, things.half, things.axis, room[:, None]), axis=1).tolist()

    def step(self, place: Vector, step: Vector, ease: float) -> Vector:
        """What is left at a place of a step in metres. ease: share of what is left of the room that may be gone at
        once. In plain numbers, as the things are few."""
        (px, py), reach, limits = place, math.hypot(*step) / ease, []
        for x, y, long, wide, ax, ay, room in self._things:
            x, y = px - x, py - y
            along, aside = x * ax + y * ay, y * ax - x * ay
            along -= min(max(along, -long), long)
            aside -= min(max(aside, -wide), wide)
            distance = math.hypot(along, aside)
            # What one is in has no outside to go to.
            if 0 < distance < room + reach:
                x, y = (along * ax - aside * ay) / distance, (along * ay + aside * ax) / distance
                limits.append((x, y, -ease * max(distance - room, 0.0)))
        return nearest_velocity(step, limits)
