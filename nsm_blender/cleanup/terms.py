# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be wanted of a body, and the terms of the solver's sum of squares that ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..geometry.colliders import PLACE
from ..geometry.collision import Balls, Contacts, Gives, Obstacles
from ..geometry.scene_state import to_world
from ..motion.ik import REACH
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from .balls import HANDS, HANGS_ON, PARTS, RADII, ball_moves, ball_points
from .kinematics import LIMBS, Displaced
from .squares import Squares

TOUCH = 0.004
"""Meters of depth that are left."""
FEW = 6.0
"""Points of a carried thing that count in full, of all that are in others."""
CLEAR = 0.008
"""Meters that a carried thing keeps off others, but where it lies."""
EVERY = 2
"""Frames from one at which collisions are looked at to the next: a hand at 2 m/s moves its own width meanwhile."""
STRETCH = 0.98
"""Share of its length to which a limb stretches, if the motion does not stretch it farther."""
_SAME_WAY = 0.1
"""Difference of two unit vectors from which they are two ways."""
_WRISTS = MODEL_SKELETON.indices(["LeftHand", "RightHand"])


@dataclass(frozen=True, eq=False)
class At:
    """A joint that is wanted at places (T, 3), as much as weight (T,) says, 0 to 1."""

    joint: str
    place: Array
    weight: Array


@dataclass(frozen=True, eq=False)
class By:
    """Displacements of columns that are wanted: values (T, C), as much as weight (T,) says, 0 to 1."""

    columns: slice
    values: Array
    weight: Array


@dataclass(frozen=True, eq=False)
class Load:
    """A thing that moves with the mean of both wrists while it is held, (T,).

    poses: (T, 7) in the motion as it is. points: (N, 3) of its surface in its own frame. apart: (T, 3) meters by which
    the left wrist is to move farther than the right. obstacles: what the points of its surface may meet. itself: the
    thing as it moves in the motion as it is, for the body that may meet it.
    """

    held: Array
    poses: Array
    points: Array
    apart: Array
    obstacles: Obstacles
    surface: Balls
    itself: Obstacles

    def points_at(self, frames: Array) -> Array:
        """Points (F, N, 3) of its surface in the world at frames (F,) of the motion as it is."""
        return to_world(self.points, self.poses[frames, None])

    def moved(self, before: Array, after: Array) -> Array:
        """Its poses (T, 7) where a body with joints at places (T, J, 3) is moved to others."""
        out = self.poses.copy()
        out[:, PLACE] += (after - before)[:, _WRISTS].mean(axis=1)
        return out


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is wanted of a motion of T frames.

    stands: for each foot, whether (T,) it stands. gives: intended contact of the body with obstacles. radii: (P,) of
    the body's balls.
    """

    stands: dict[str, Array]
    obstacles: Obstacles
    gives: Gives
    at: list[At] = field(default_factory=list)
    by: list[By] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    radii: Array = field(default_factory=lambda: RADII)


class Term:
    """A part of the sum of squares."""

    def needed(self, frames: Array) -> Array:
        """Numbers (N,) of those of frames (F,) at which something of the motion as it is has to change."""
        return np.zeros(0, dtype=int)

    def add(self, squares: Squares, x: Array, frames: Array, now: Displaced) -> None:
        """Add it for frames (F,) with displacements x (F, SIZE), under which the body is as it is now."""
        raise NotImplementedError


class Targets(Term):
    """Joints at places where they are wanted, and displacements that are wanted."""

    def __init__(self, at: Sequence[At], by: Sequence[By], weight: float) -> None:
        self._at, self._by, self._weight = at, by, weight

    def needed(self, frames: Array) -> Array:
        """See `Term`."""
        wanted = np.zeros(len(frames), dtype=bool)
        for weight in (*(at.weight for at in self._at), *(by.weight for by in self._by)):
            wanted |= weight[frames] > 0
        return np.flatnonzero(wanted)

    def add(self, squares: Squares, x: Array, frames: Array, now: Displaced) -> None:
        """See `Term`."""
        for by in self._by:
            squares.add_columns(x, by.columns, by.values[frames], self._weight * by.weight[frames])
        for at in self._at:
            on, joint = np.flatnonzero(at.weight[frames] > 0), MODEL_SKELETON.index(at.joint)
            off, weight = at.place[frames[on]] - now.places[on, joint], self._weight * at.weight[frames[on]]
            squares.add_places(x, on, now.moves[on, joint], off, weight)


class LimbReach(Term):
    """Limbs that are too short for where their ends are wanted."""

    def __init__(self, places: Array, stands: dict[str, Array], weight: float) -> None:
        self._places, self._stands, self._weight = places, stands, weight

    def add(self, squares: Squares, x: Array, frames: Array, now: Displaced) -> None:
        """See `Term`."""
        for end, limb in LIMBS.items():
            upper, middle, last = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
            length = float(np.linalg.norm(MODEL_SKELETON.offsets[[middle, last]], axis=1).sum())
            own = np.linalg.norm(self._places[frames, last] - self._places[frames, upper], axis=1)
            most = np.clip(own, STRETCH * length, REACH * length)
            way = now.ways[end]
            far = np.linalg.norm(way, axis=1)
            wanted = far > most
            if end in self._stands:
                wanted &= self._stands[end][frames]
            on = np.flatnonzero(wanted)
            moves = now.moves[on, last] - now.moves[on, upper]
            along = np.einsum("ni,nid->nd", way[on] / far[on, None], moves)
            squares.add(x, on, along, (most - far)[on], self._weight)


class BodyCollisions(Term):
    """A body at places (T, J, 3) that is in the things around it."""

    def __init__(self, places: Array, obstacles: Obstacles, gives: Gives, weight: float, radii: Array = RADII) -> None:
        self._places, self._obstacles, self._weight = places, obstacles, weight
        self._balls = Balls(radii, PARTS, gives, HANGS_ON)

    def needed(self, frames: Array) -> Array:
        """See `Term`."""
        looked = frames[::EVERY]
        found = self._found(self._places[looked], looked)
        return EVERY * found.moment[found.depth > TOUCH]

    def add(self, squares: Squares, x: Array, frames: Array, now: Displaced) -> None:
        """See `Term`."""
        looked = np.arange(0, len(frames), EVERY)
        found = self._found(now.places[looked], frames[looked])
        on = np.flatnonzero(found.depth > TOUCH)
        at = looked[found.moment[on]]
        along = np.einsum("ni,nid->nd", found.normal[on], ball_moves(now.moves, at, found.ball[on]))
        squares.add(x, at, along, found.depth[on] - TOUCH, EVERY * self._weight)

    def _found(self, places: Array, frames: Array) -> Contacts:
        return self._obstacles.contacts(self._balls, ball_points(places), frames)


class HeldBetween(Term):
    """The wrists as far apart as what they hold between them is wide."""

    def __init__(self, places: Array, load: Load, weight: float) -> None:
        self._places, self._load, self._weight = places, load, weight

    def add(self, squares: Squares, x: Array, frames: Array, now: Displaced) -> None:
        """See `Term`."""
        on = np.flatnonzero(self._load.held[frames])
        left, right = _WRISTS
        shift = now.places[on][:, _WRISTS] - self._places[frames[on]][:, _WRISTS]
        off = self._load.apart[frames[on]] - (shift[:, 0] - shift[:, 1])
        squares.add_places(x, on, now.moves[on, left] - now.moves[on, right], off, self._weight)


class LoadCollisions(Term):
    """A thing that is held in the things around it, and in the body that holds it."""

    def __init__(self, places: Array, load: Load, weight: float, radii: Array = RADII) -> None:
        self._places, self._load, self._weight = places, load, weight
        self._balls = Balls(radii, PARTS, _held_by_hands, HANGS_ON)

    def needed(self, frames: Array) -> Array:
        """See `Term`."""
        looked = np.arange(0, len(frames), EVERY)
        looked = looked[self._load.held[frames[looked]]]
        out = []
        for found in self._found(self._places[frames[looked]], frames[looked], np.zeros((1, 1, 3))):
            out.append(looked[found.moment[found.depth > TOUCH]])
        return np.concatenate(out)

    def add(self, squares: Squares, x: Array, frames: Array, now: Displaced) -> None:
        """See `Term`."""
        on = np.flatnonzero(self._load.held[frames])[::EVERY]
        if not len(on):
            return
        left, right = _WRISTS
        shift = (now.places[on][:, _WRISTS] - self._places[frames[on]][:, _WRISTS]).mean(axis=1)[:, None]
        around, beside = self._found(now.places[on], frames[on], shift)
        kept = _deepest(around, -CLEAR)
        at = on[around.moment[kept]]
        moves = (now.moves[at, left] + now.moves[at, right]) / 2
        along = np.einsum("ni,nid->nd", around.normal[kept], moves)
        squares.add(x, at, along, around.depth[kept] + CLEAR, FEW * EVERY * self._weight)
        kept = np.flatnonzero(beside.depth > TOUCH)
        at = on[beside.moment[kept]]
        moves = ball_moves(now.moves, at, beside.ball[kept]) - (now.moves[at, left] + now.moves[at, right]) / 2
        along = np.einsum("ni,nid->nd", beside.normal[kept], moves)
        squares.add(x, at, along, beside.depth[kept] - TOUCH, EVERY * self._weight)

    def _found(self, places: Array, frames: Array, shift: Array) -> tuple[Contacts, Contacts]:
        """Contacts of a load that is shifted (F, 1, 3) with things, and with a body with joints at places (F, J, 3)."""
        load = self._load
        return (
            load.obstacles.contacts(load.surface, load.points_at(frames) + shift, frames, CLEAR),
            load.itself.contacts(self._balls, ball_points(places) - shift, frames),
        )


def _deepest(contacts: Contacts, least: float) -> Array:
    """Numbers (N,) of the contacts deeper than `least` of which none leads the same way out of the same thing and is
    deeper: what is carried moves as a whole, and is out when its deepest point is."""
    kept = np.flatnonzero(contacts.depth > least)
    ways = np.rint(contacts.normal[kept] / _SAME_WAY).astype(int)
    keys = np.column_stack((contacts.moment[kept], contacts.thing[kept], ways))
    order = np.lexsort((-contacts.depth[kept], *keys.T))
    first = np.diff(keys[order], axis=0, prepend=-1).any(axis=1)
    return kept[order[first]]


def _held_by_hands(balls: Array, _frames: Array, _thing: int, _normals: Array) -> Array:
    """Meters (N,) by which balls (N,) may be in what the hands hold."""
    return np.where(HANDS[balls], np.inf, 0.0)
