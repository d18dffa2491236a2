# SPDX-License-Identifier: GPL-3.0-or-later
"""One trajectory solver for a whole body: spacetime constraints over smooth displacements of a motion.

What is wanted of the motion is data: joints at places, displacements that are known, feet that stand, a thing between
the hands, obstacles. Gauss-Newton over the control points of displacement curves (Gleicher 1997; Lee and Shin 1999)
weighs it against closeness to the motion as the network made it, and smoothness.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..geometry.body import CAPSULES
from ..geometry.colliders import PLACE
from ..geometry.collision import Balls, Contacts, Gives, Obstacles
from ..motion.filters import highest_around, runs
from ..motion.foot_lock import Stances
from ..motion.ik import REACH
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from .displacement import Displacement, NormalEquations
from .kinematics import ENDS, HIPS, LIMBS, PELVIS, SIZE, SWIVELS, TRUNK, Body, Displaced

FPS = 60.0
"""Frames per second of the motions that are solved."""


@dataclass(frozen=True)
class Weights:
    """What each term of the sum of squares counts, in a frame. A weight of 1 makes a meter of displacement cost 1."""

    hips: float = 1.0
    """Of hips that are displaced, per m^2; the unit of all others."""
    height: float = 2.0
    """Of hips that are raised or lowered, per m^2: a bob is seen more than a shift."""
    pelvis: float = 1.0
    """Of a pelvis that turns, per rad^2: it moves the shoulders by 0.5 m a radian."""
    trunk: float = 0.4
    """Of a trunk that leans, per rad^2: it moves the shoulders by about 0.4 m a radian."""
    ankle: float = 2.0
    """Of an ankle that is displaced, per m^2: a foot is placed on purpose."""
    wrist: float = 0.3
    """Of a wrist that is displaced, per m^2: arms are free."""
    swivel: float = 0.02
    """Of a knee or elbow that turns about its limb, per rad^2: it is 0.15 m aside."""
    smooth: float = 4e-4
    """Of an acceleration of 1 m/s^2, in proportion to what displacement costs."""
    stand: float = 300.0
    """Of an ankle's displacement that changes by 1 m/s while its foot stands."""
    place: float = 400.0
    """Of a joint that is off the place where it is wanted, per m^2: 1 cm is left of half a meter."""
    depth: float = 600.0
    """Of a ball of the body, or a point of what it carries, that is in a thing, per m^2 of depth."""
    reach: float = 600.0
    """Of a limb that is too short, per m^2."""
    apart: float = 100.0
    """Of ankles that come too near to each other, per m^2."""


NEAR = 0.02
"""Meters from a thing within which balls are looked at."""
TOUCH = 0.004
"""Meters of depth that are left."""
FEW = 6.0
"""Points of a carried thing that count in full, of all that are in others."""
CLEAR = 0.008
"""Meters that a carried thing keeps off others, but where it lies."""
EVERY = 2
"""Frames from one at which collisions are looked at to the next: a hand at 2 m/s moves its own width meanwhile."""
STEPS = 60
"""Gauss-Newton steps at most: a carried thing that is to come out of a table by 35 cm takes 35."""
DAMPING = 1.0
"""Weight of a control point's change in the first step, per m^2,"""
CONVERGED = 0.005
"""Share of the cost that the last step, in its whole length, takes off at most."""
FARTHEST = 0.08
"""Meters, or radians, by which a displacement changes in one step: a longer one meets other things."""
EASED, HARDENED = 0.5, 8.0
"""times so much after a step that lowers the cost, and after one that does not (Levenberg and Marquardt)."""
STRETCH = {"Foot": 0.985, "Hand": 0.97}
"""Shares of their lengths to which legs and arms stretch, if the motion does not stretch them farther."""
MARGIN = 50
"""Frames before and after a need in which the body gives way to it."""
APART = 0.11
"""Meters between two ankles that pass each other in recorded walks."""

_BONES = (*CAPSULES, ("LeftFoot", "LeftToe", 0.03), ("RightFoot", "RightToe", 0.03))
_BALLS = [(bone, share) for bone in _BONES for share in (0.1, 0.4, 0.7, 1.0)]
_BALLS += [(bone, 0.6) for bone in _BONES if bone[0].endswith("ForeArm")] + [(("Neck", "Head", 0.1), 1.65)]
"""Bone (joints at both ends, radius in meters), and share of its length, of each ball of the body; the last is the top
of the head."""
_FIRST = np.array(MODEL_SKELETON.indices([first for (first, _, _), _ in _BALLS]))
_LAST = np.array(MODEL_SKELETON.indices([last for (_, last, _), _ in _BALLS]))
SHARE = np.array([share for _, share in _BALLS])
"""Shares (P,) of its bone's length at which each ball of the body lies,"""
RADII = np.array([radius for (_, _, radius), _ in _BALLS])
"""its radius (P,) in meters,"""
BONES = np.array([first for (first, _, _), _ in _BALLS])
"""and the joint (P,) at which its bone begins."""
CUSHION = 0.05
"""Meters by which a body sinks into what it sits on or leans against, and a hand into what it holds: flesh and
upholstery give way."""
WRIST = 0.65
"""Share of the forearm from which on it may touch what the hand holds."""
HANDS = np.char.endswith(BONES, "ForeArm") & (SHARE >= WRIST)
"""Which balls (P,) may touch what the hands hold."""
_PART = np.unique(np.where(np.isin(BONES, ["Hips", "Neck"]), "Trunk", BONES), return_inverse=True)[1]
_ANKLES = MODEL_SKELETON.indices(["LeftFoot", "RightFoot"])
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

    poses: (T, 7) in the motion as it is. points: (T, N, 3) of its surface at these. apart: (T, 3) meters by which the
    left wrist is to move farther than the right. obstacles: what the points of its surface may meet. itself: the thing
    as it moves in the motion as it is, for the body that may meet it.
    """

    held: Array
    poses: Array
    points: Array
    apart: Array
    obstacles: Obstacles
    surface: Balls
    itself: Obstacles

    def moved(self, before: Array, after: Array) -> Array:
        """Its poses (T, 7) where a body with joints at places (T, J, 3) is moved to others."""
        out = self.poses.copy()
        out[:, PLACE] += (after - before)[:, _WRISTS].mean(axis=1)
        return out


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is wanted of a motion of T frames.

    stands: for each foot, whether (T,) it stands. gives: intended contact of the body with obstacles.
    """

    stands: dict[str, Array]
    obstacles: Obstacles
    gives: Gives
    at: list[At] = field(default_factory=list)
    by: list[By] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)


class _Squares:
    """A sum of squares over displacements x of F frames: matrices (F, SIZE, SIZE) and vectors (F, SIZE)."""

    def __init__(self, count: int) -> None:
        self.matrix, self.vector = np.zeros((count, SIZE, SIZE)), np.zeros((count, SIZE))
        self.cost = 0.0

    def add(self, x: Array, frames: Array, moves: Array, off: Array, weight: Array | float) -> None:
        """What is to change by meters `off` (N,) and moves with displacements by `moves` (N, SIZE), at frames (N,)
        where displacements x (F, SIZE) are now."""
        if not len(frames):
            return
        self.cost += float(np.sum(weight * off * off))
        order = np.argsort(frames, kind="stable")
        frames, moves = frames[order], moves[order]
        weighted = moves * np.broadcast_to(weight, len(order))[order, None]
        wanted = np.einsum("nd,nd->n", moves, x[frames]) + off[order]
        starts = np.flatnonzero(np.diff(frames, prepend=-1))
        self.matrix[frames[starts]] += np.add.reduceat(weighted[:, :, None] * moves[:, None], starts, axis=0)
        self.vector[frames[starts]] += np.add.reduceat(weighted * wanted[:, None], starts, axis=0)

    def add_places(self, x: Array, frames: Array, moves: Array, off: Array, weight: Array | float) -> None:
        """The same of points that are to move by meters (N, 3), and move by (N, 3, SIZE)."""
        for axis in range(3):
            self.add(x, frames, moves[:, axis], off[:, axis], weight)


class WholeBody:
    """A body with joints at places (T, J, 3) and world rotations (T, J, 4), of which something is wanted."""

    def __init__(self, places: Array, rotations: Array, wanted: Wanted, weights: Weights | None = None) -> None:
        self.body = Body(places, rotations)
        self.posed, self.stands = self.body.posed, wanted.stands
        self._balls = Balls(RADII, _PART, wanted.gives)
        self._beside_load = [Balls(RADII, _PART, _held_by_hands) for _ in wanted.loads]
        self._places, self._wanted, self._weights = places, wanted, weights or Weights()

    def displacements(self) -> Array:
        """(T, SIZE) of each frame: 0 where nothing is wanted and nothing is in the way."""
        count = len(self._places)
        out = np.zeros((count, SIZE))
        for start, stop in runs(highest_around(self._needs(), MARGIN)):
            out[start:stop] = self._solved(np.arange(start, stop))
        return out

    def _needs(self) -> Array:
        """Whether anything is to change at frames (T,)."""
        count, wanted = len(self._places), self._wanted
        out = np.zeros(count, dtype=bool)
        for weight in (*(at.weight for at in wanted.at), *(by.weight for by in wanted.by)):
            out |= weight > 0
        looked = np.arange(0, count, EVERY)
        found = self._collisions(self._places[looked], looked)
        out[looked[found.moment[found.depth > TOUCH]]] = True
        for load, beside in zip(wanted.loads, self._beside_load, strict=True):
            held = looked[load.held[looked]]
            found = load.obstacles.contacts(load.surface, load.points[held], held, NEAR)
            out[held[found.moment[found.depth > TOUCH]]] = True
            found = load.itself.contacts(beside, _points(self._places[held]), held, NEAR)
            out[held[found.moment[found.depth > TOUCH]]] = True
        return out

    def _collisions(self, places: Array, frames: Array) -> Contacts:
        """Contacts of the body at frames (F,)."""
        return self._wanted.obstacles.contacts(self._balls, _points(places), frames, NEAR)

    def _solved(self, frames: Array) -> Array:
        curves = Displacement(len(frames), SIZE)
        own = self._own(curves, frames)
        damping, best, found, largest = DAMPING, np.inf, curves.control, np.zeros((1, 1))
        for _ in range(STEPS):
            x = curves.values()
            squares = _Squares(len(frames))
            self._add_all(squares, x, frames)
            cost = squares.cost + own.cost(curves.control)
            if best * (1 - CONVERGED) < cost <= best and largest.max() <= FARTHEST:
                found = curves.control
                break
            if cost < best:
                damping, best, found = damping * EASED, cost, curves.control
                equations = own.copy()
                equations.add(squares.matrix, squares.vector)
            else:
                damping *= HARDENED
            step = equations.copy()
            step.add_control(np.full(found.shape, damping), found)
            change = step.least() - found
            largest = np.abs(change).max(axis=1, keepdims=True)
            curves.control = found + change * np.minimum(1.0, FARTHEST / np.maximum(largest, FARTHEST))
        curves.control = found
        return curves.values()

    def _own(self, curves: Displacement, frames: Array) -> NormalEquations:
        """What displacements cost by themselves."""
        close, smooth, changes = self._closeness(frames)
        out = NormalEquations(curves)
        matrices = np.zeros((len(frames), SIZE, SIZE))
        matrices[:, np.arange(SIZE), np.arange(SIZE)] = close
        out.add(matrices, np.zeros(close.shape))
        out.add_accelerations(np.broadcast_to(smooth, close.shape))
        out.add_speeds(changes)
        # A displacement comes from nothing and goes to nothing, but at the ends of the motion.
        still = np.zeros(curves.control.shape)
        still[:3] = self._weights.place * (frames[0] > 0)
        still[-3:] = self._weights.place * (frames[-1] < len(self._places) - 1)
        out.add_control(still, np.zeros_like(still))
        return out

    def _closeness(self, frames: Array) -> tuple[Array, Array, Array]:
        """Weights (F, SIZE) of displacements, (SIZE,) of accelerations per frame^2, and (F, SIZE) of changes."""
        w = self._weights
        close = np.zeros(SIZE)
        close[HIPS], close[PELVIS], close[TRUNK] = [w.hips, w.hips, w.height], w.pelvis, w.trunk
        for end, columns in ENDS.items():
            close[columns] = w.ankle if end in self._wanted.stands else w.wrist
            close[SWIVELS[end]] = w.swivel
        each, changes = np.tile(close, (len(frames), 1)), np.zeros((len(frames), SIZE))
        for end, stands in self._wanted.stands.items():
            on = stands[frames]
            changes[on, ENDS[end]] = w.stand * FPS**2
            each[on, ENDS[end].stop - 1] = w.place
        return each, w.smooth * close * FPS**4, changes

    def _add_all(self, squares: _Squares, x: Array, frames: Array) -> None:
        now = self.body.at(x, frames)
        for by in self._wanted.by:
            weight = self._weights.place * by.weight[frames]
            for number, column in enumerate(range(by.columns.start, by.columns.stop)):
                squares.matrix[:, column, column] += weight
                squares.vector[:, column] += weight * by.values[frames, number]
                squares.cost += float(np.sum(weight * (by.values[frames, number] - x[:, column]) ** 2))
        for at in self._wanted.at:
            on, joint = np.flatnonzero(at.weight[frames] > 0), MODEL_SKELETON.index(at.joint)
            off, weight = at.place[frames[on]] - now.places[on, joint], self._weights.place * at.weight[frames[on]]
            squares.add_places(x, on, now.moves[on, joint], off, weight)
        self._add_reach(squares, x, frames, now)
        self._add_depth(squares, x, frames, now)
        self._add_apart(squares, x, frames, now)
        for load, beside in zip(self._wanted.loads, self._beside_load, strict=True):
            self._add_load(squares, x, frames, now, load, beside)

    def _add_reach(self, squares: _Squares, x: Array, frames: Array, now: Displaced) -> None:
        """Limbs that are too short for where their ends are wanted."""
        for end, limb in LIMBS.items():
            upper, middle, last = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
            length = float(np.linalg.norm(MODEL_SKELETON.offsets[[middle, last]], axis=1).sum())
            own = np.linalg.norm(self._places[frames, last] - self._places[frames, upper], axis=1)
            most = np.clip(own, STRETCH[end[-4:]] * length, REACH * length)
            way = now.ways[end]
            far = np.linalg.norm(way, axis=1)
            wanted = far > most
            if end in self._wanted.stands:
                wanted &= self._wanted.stands[end][frames]
            on = np.flatnonzero(wanted)
            moves = now.moves[on, last] - now.moves[on, upper]
            along = np.einsum("ni,nid->nd", way[on] / far[on, None], moves)
            squares.add(x, on, along, (most - far)[on], self._weights.reach)

    def _add_depth(self, squares: _Squares, x: Array, frames: Array, now: Displaced) -> None:
        looked = np.arange(0, len(frames), EVERY)
        found = self._collisions(now.places[looked], frames[looked])
        on = np.flatnonzero(found.depth > TOUCH)
        at, moves = looked[found.moment[on]], _of_balls(now.moves, looked[found.moment[on]], found.ball[on])
        along = np.einsum("ni,nid->nd", found.normal[on], moves)
        squares.add(x, at, along, found.depth[on] - TOUCH, EVERY * self._weights.depth)

    def _add_apart(self, squares: _Squares, x: Array, frames: Array, now: Displaced) -> None:
        """Ankles that come nearer to each other than they were, and than is well."""
        level = np.array([1.0, 1.0, 0.0])
        left, right = _ANKLES
        was = np.linalg.norm((self._places[frames, left] - self._places[frames, right]) * level, axis=1)
        way = (now.places[:, left] - now.places[:, right]) * level
        gap = np.linalg.norm(way, axis=1)
        lacking = np.minimum(was, APART) - gap
        on = np.flatnonzero(lacking > TOUCH)
        moves = now.moves[on, left] - now.moves[on, right]
        along = np.einsum("ni,nid->nd", way[on] / np.maximum(gap[on, None], TOUCH), moves)
        squares.add(x, on, along, lacking[on], self._weights.apart)

    def _add_load(self, squares: _Squares, x: Array, frames: Array, now: Displaced, load: Load, beside: Balls) -> None:
        on = np.flatnonzero(load.held[frames])
        if not len(on):
            return
        left, right = _WRISTS
        shift = now.places[on][:, _WRISTS] - self._places[frames[on]][:, _WRISTS]
        off = load.apart[frames[on]] - (shift[:, 0] - shift[:, 1])
        squares.add_places(x, on, now.moves[on, left] - now.moves[on, right], off, self._weights.place)
        looked = on[::EVERY]
        shift = shift[::EVERY].mean(axis=1)[:, None]
        points = load.points[frames[looked]] + shift
        found = load.obstacles.contacts(load.surface, points, frames[looked], NEAR)
        kept = np.flatnonzero(found.depth > -CLEAR)
        at = looked[found.moment[kept]]
        moves = (now.moves[at, left] + now.moves[at, right]) / 2
        along = np.einsum("ni,nid->nd", found.normal[kept], moves)
        # The points of a face that is in a thing count together as a few.
        many = np.bincount(found.moment[kept], minlength=1)[found.moment[kept]]
        weight = EVERY * self._weights.depth * np.minimum(FEW / np.maximum(many, 1), 1.0)
        squares.add(x, at, along, found.depth[kept] + CLEAR, weight)
        found = load.itself.contacts(beside, _points(now.places[looked]) - shift, frames[looked], NEAR)
        kept = np.flatnonzero(found.depth > TOUCH)
        at = looked[found.moment[kept]]
        moves = _of_balls(now.moves, at, found.ball[kept]) - (now.moves[at, left] + now.moves[at, right]) / 2
        along = np.einsum("ni,nid->nd", found.normal[kept], moves)
        squares.add(x, at, along, found.depth[kept] - TOUCH, EVERY * self._weights.depth)


def _held_by_hands(balls: Array, _frames: Array, _thing: int, _normals: Array) -> Array:
    """Meters (N,) by which balls (N,) may be in what the hands hold."""
    return np.where(HANDS[balls], np.inf, 0.0)


def _points(places: Array) -> Array:
    """Middles (F, P, 3) of the balls of a body with joints at places (F, J, 3)."""
    return np.asarray(places[:, _FIRST] + SHARE[:, None] * (places[:, _LAST] - places[:, _FIRST]))


def _of_balls(moves: Array, frames: Array, balls: Array) -> Array:
    """How balls (N,) at frames (N,) move: (N, 3, SIZE)."""
    first, last = moves[frames, _FIRST[balls]], moves[frames, _LAST[balls]]
    return np.asarray(first + SHARE[balls, None, None] * (last - first))


def stood(x: Array, stands: dict[str, Array]) -> Array:
    """Displacements (T, SIZE) with those of each foot the same throughout each time that it stands."""
    out = x.copy()
    for end, on in stands.items():
        stances = Stances(on[None])
        if len(stances):
            here = x[:, ENDS[end]]
            off = stances.spread(stances.mean(here)) - here
            off[~on] = 0.0
            stances.glide(off)
            out[:, ENDS[end]] += off
    return out
