# SPDX-License-Identifier: GPL-3.0-or-later
"""One trajectory solver for a whole body: spacetime constraints over smooth displacements of a motion.

What is wanted of the motion is data: joints at places, displacements that are known, feet that stand, a thing between
the hands, obstacles. Gauss-Newton over the control points of displacement curves (Gleicher 1997; Lee and Shin 1999)
weighs it against closeness to the motion as the network made it, and smoothness.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..models.nsm import FPS
from ..motion.filters import highest_around, runs
from ..motion.rotations import Array
from ..motion.stances import Stances
from ..stepwise import Stepwise, finished
from .displacement import Descent, Displacement, NormalEquations, descend
from .kinematics import ENDS, HIPS, PELVIS, SIZE, SWIVELS, TRUNK, Body
from .squares import Squares
from .terms import BodyCollisions, HeldBetween, LimbReach, LoadCollisions, Targets, Term, Wanted


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
    firm: float = 600.0
    """Of a joint that is off the place where it is wanted, a ball of the body or a point of what it carries that is in
    a thing, and a limb that is too short, per m^2: 1 cm is left of half a meter."""


WEIGHTS = Weights()
"""The weights that are used."""

DESCENT = Descent(steps=60, damping=0.1, converged=0.005, negligible=0.01, farthest=0.08)
"""A carried thing that is to come out of a table by 35 cm takes 35 steps; a displacement that changes by more than 8 cm
in one step meets other things; half a centimeter in one frame costs 0.01."""
MARGIN = 50
"""Frames before and after a need in which the body gives way to it."""
BODY, LOADS, REACHES, SMOOTH = SOLVER_TERMS = (
    "body_collisions",
    "carried_object_collisions",
    "limb_reach",
    "smoothness",
)
"""Names of the terms that can be left out."""


class WholeBody:
    """A body with joints at places (T, J, 3) and world rotations (T, J, 4), of which something is wanted. without:
    SOLVER_TERMS that are left out."""

    def __init__(
        self, places: Array, rotations: Array, wanted: Wanted, without: Collection[str] = (), weights: Weights = WEIGHTS
    ) -> None:
        self.body = Body(places, rotations)
        self.posed, self.stands = self.body.posed, wanted.stands
        self._count = len(places)
        self._weights = replace(weights, smooth=0.0) if SMOOTH in without else weights
        self._terms = [term for name, term in _terms(places, wanted, weights) if name not in without]

    def displacements(self) -> Array:
        """(T, SIZE) of each frame: 0 where nothing is wanted and nothing is in the way."""
        return finished(self.displacing())

    def displacing(self) -> Stepwise[Array]:
        """`displacements` in pieces."""
        out, needs = np.zeros((self._count, SIZE)), np.zeros(self._count, dtype=bool)
        for term in self._terms:
            yield
            needs[term.needed(np.arange(self._count))] = True
        for start, stop in runs(highest_around(needs, MARGIN)):
            out[start:stop] = yield from self._solved(np.arange(start, stop))
        return out

    def _solved(self, frames: Array) -> Stepwise[Array]:
        def squares(x: Array) -> Stepwise[tuple[float, Array, Array]]:
            out = Squares(len(frames))
            now = self.body.at(x, frames)
            for term in self._terms:
                yield
                term.add(out, x, frames, now)
            yield
            return out.cost, out.matrix, out.vector

        curves = Displacement(len(frames), SIZE)
        return (yield from descend(curves, self._own(curves, frames), squares, DESCENT))

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
        still[:3] = self._weights.firm * (frames[0] > 0)
        still[-3:] = self._weights.firm * (frames[-1] < self._count - 1)
        out.add_control(still, np.zeros_like(still))
        return out

    def _closeness(self, frames: Array) -> tuple[Array, Array, Array]:
        """Weights (F, SIZE) of displacements, (SIZE,) of accelerations per frame^2, and (F, SIZE) of changes."""
        w = self._weights
        close = np.zeros(SIZE)
        close[HIPS], close[PELVIS], close[TRUNK] = [w.hips, w.hips, w.height], w.pelvis, w.trunk
        for end, columns in ENDS.items():
            close[columns] = w.ankle if end in self.stands else w.wrist
            close[SWIVELS[end]] = w.swivel
        each, changes = np.tile(close, (len(frames), 1)), np.zeros((len(frames), SIZE))
        for end, stands in self.stands.items():
            on = stands[frames]
            changes[on, ENDS[end]] = w.stand * FPS**2
            each[on, ENDS[end].stop - 1] = w.firm
        return each, w.smooth * close * FPS**4, changes


def _terms(places: Array, wanted: Wanted, weights: Weights) -> Iterator[tuple[str, Term]]:
    """The terms of the sum, each under its name among SOLVER_TERMS, or "" for what is always wanted."""
    yield "", Targets(wanted.at, wanted.by, weights.firm)
    yield REACHES, LimbReach(places, wanted.stands, weights.firm)
    yield BODY, BodyCollisions(places, wanted.obstacles, wanted.gives, weights.firm, wanted.radii)
    for load in wanted.loads:
        yield "", HeldBetween(places, load, weights.firm)
        yield LOADS, LoadCollisions(places, load, weights.firm, wanted.radii)


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
