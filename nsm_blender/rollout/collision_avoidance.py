# SPDX-License-Identifier: GPL-3.0-or-later
"""Collision avoidance in velocity space: the root, and where it is foreseen, keep off what stands around."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..geometry.ground_height import CLIMBABLE
from ..models.nsm import DT
from ..motion.rotations import Array
from ..planning.occupancy_grid import ANKLE, ObstacleOutlines
from ..planning.velocity_constraints import EASE, SLACK, Vector, nearest_velocity
from ..shot.goals import RouteOptions
from .root_filter import Proposal, RootState


@dataclass(frozen=True)
class Avoidance:
    """How the root keeps off things."""

    toward_goal: float = 0.5
    """Share of the distance to a place where the root is to be by which the clearance may exceed the one there."""

    braking: float = 12.0
    """Acceleration in m/s^2 with which the root is held back, and let go again."""

    around: float = 2.0
    """Meters around the root in which things are looked at."""

    moved: float = 0.4
    """Meters that the root goes until it looks around again."""

    frames: int = 10
    """Frames after which it looks around again."""


AVOIDANCE = Avoidance()
_HEIGHT = RouteOptions().height


class CollisionAvoidance:
    """Keeps the root from coming nearer to things than its goal's clearance. What it is near does not push it away."""

    def __init__(self) -> None:
        self._seen: tuple[int, Array, frozenset[str]] | None = None
        self._near = ObstacleOutlines.none()
        self._held_back: Vector = (0.0, 0.0)

    def fork(self) -> Self:
        """A copy that goes on from here on its own."""
        return copy.copy(self)

    def apply(self, state: RootState, proposal: Proposal) -> Proposal:
        """The proposal, with its root and future places led no nearer to things than there is room."""
        before, root, places = state.root, proposal.root, proposal.places
        self._look(state)
        things = self._near
        most, way = state.goal.clearance, state.goal.route(before)
        ahead = np.concatenate((root[None, :2], places))
        step = root[:2] - before[:2]
        away = things.distances(np.concatenate((before[None, :2], ahead, way)))
        meets = away[: 1 + len(ahead)].min(0, initial=np.inf) < most
        meets |= away[0] < most + float(np.hypot(*step)) / (EASE * DT)
        if not meets.any():
            return Proposal(self._held(before, root, (float(step[0]), float(step[1]))), places, proposal.facings)
        free = away[1 + len(ahead) :, meets] - SLACK
        far = np.hypot(*(way - before[:2]).T)
        room = np.minimum(most, (free + AVOIDANCE.toward_goal * far[:, None]).min(0, initial=np.inf))
        met = _Met(things[meets], room)
        here: Vector = (float(before[0]), float(before[1]))
        allowed = met.step(here, (float(step[0]), float(step[1])), EASE * DT)
        steps = ahead[1:] - ahead[:-1]
        # How far from its place the root may be foreseen before what is around matters to the step from there.
        spare = ((away[1 : len(ahead), meets] - room).min(1) - np.hypot(steps[:, 0], steps[:, 1])).tolist()
        out = self._held(before, root, allowed)
        kept, last = list[Vector](), (float(out[0]), float(out[1]))
        for (x, y), at, enough in zip(steps.tolist(), ahead.tolist(), spare, strict=False):
            onward = (x, y) if math.dist(last, at) < enough else met.step(last, (x, y), 1.0)
            last = (last[0] + onward[0], last[1] + onward[1])
            kept.append(last)
        return Proposal(out, np.array(kept), proposal.facings)

    def _held(self, before: Array, root: Array, allowed: Vector) -> Array:
        """The root (4,) with its step shortened to the one that is allowed, as fast as it can be held back."""
        (held_x, held_y), most = self._held_back, AVOIDANCE.braking * DT * DT
        x = allowed[0] - float(root[0] - before[0]) - held_x
        y = allowed[1] - float(root[1] - before[1]) - held_y
        share = min(most / max(math.hypot(x, y), 1e-12), 1.0)
        self._held_back = (held_x + share * x, held_y + share * y)
        out = np.array(root)
        out[:2] += self._held_back
        return out

    def _look(self, state: RootState) -> None:
        scenery, frame, root, ignored = state.scenery, state.frame, state.root, state.goal.ignored
        if self._seen is not None:
            since, where, without = self._seen
            soon = frame - since < AVOIDANCE.frames and np.abs(root[:2] - where).max() < AVOIDANCE.moved
            if soon and without == ignored:
                return
        self._seen = frame, root[:2].copy(), ignored
        climbable = [collider.name for collider in scenery.surroundings.colliders if collider.role in CLIMBABLE]
        near = scenery.near(frame, root[:3], AVOIDANCE.around).without([*climbable, *ignored])
        things = ObstacleOutlines.of(near).between(root[2] + ANKLE, root[2] + _HEIGHT)
        self._near = things[things.distances(root[None, :2])[0] < AVOIDANCE.around]


class _Met:
    """Things in the way of a root. room: (N,) meters that it keeps off each."""

    def __init__(self, things: ObstacleOutlines, room: Array) -> None:
        self._things = np.concatenate((things.center, things.half, things.axis, room[:, None]), axis=1).tolist()

    def step(self, place: Vector, step: Vector, ease: float) -> Vector:
        """The step in meters from a place that is nearest to the one asked for and allowed. ease: share of what is left
        of the room that may be gone at once. In plain numbers, as the things are few."""
        (px, py), length, limits = place, math.hypot(*step), []
        for x, y, long, wide, ax, ay, room in self._things:
            x, y = px - x, py - y
            along, aside = x * ax + y * ay, y * ax - x * ay
            along -= min(max(along, -long), long)
            aside -= min(max(aside, -wide), wide)
            distance = math.hypot(along, aside)
            # There is no way out of a thing that the root is in.
            if 0 < distance < room + length / ease:
                x, y = (along * ax - aside * ay) / distance, (along * ay + aside * ax) / distance
                limits.append((x, y, -ease * max(distance - room, 0.0)))
        return nearest_velocity(step, limits)
