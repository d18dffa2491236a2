# SPDX-License-Identifier: GPL-3.0-or-later
"""A posed body out of the things around it, from the hips outward (NSM 5.2): hips aside, the trunk leaning, knees
turned, arms drawn in.

Each is a choice among a few moves at each moment, made for a whole stretch of time together: the cheapest way through
them, from none to none, and then smooth. Where nothing is in a thing nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..geometry.body import OWNERS, SHARES, bone_points
from ..geometry.proximity import Around
from ..models.nsm import FPS
from ..motion.filters import gaussian, highest_around, runs
from ..motion.ik import LEFT_LEG, RIGHT_LEG, Limb, solve_limb
from ..motion.rotations import Array, from_axis_angle, from_exponential_map, from_yaw, multiply, normalize, rotate
from ..motion.skeleton import MODEL_SKELETON
from ..rollout.held_objects import ARMS
from .viterbi import cheapest_way

EVERY = 3
"""Frames from one moment that is looked at to the next."""
TOUCH = 0.005
"""Metres of depth that are left as they are."""
ASIDE = 0.12
"""Metres by which the hips move at most,"""
ON_SEAT = 0.03
"""and on a seat."""
_MARGIN = round(0.9 * FPS / EVERY)
"""Moments before and after, in which a move comes and goes,"""
_HOLD = round(0.15 * FPS / EVERY)
"""for how many around each a depth counts,"""
_SMOOTH = 0.1 * FPS
"""and frames over which it is smoothed."""
_WORTH, _ALL = 20.0, 0.2
"""Metres that the body may move for a metre of depth less, of the deepest point, and share that all others add."""
_CHANGE = 300.0
"""Cost of a metre more or less, squared, between two moments."""
_SHORT = 10.0
"""Cost of a metre by which an arm is too short for where its hand shall reach, or a leg for where its foot stands."""
_STRETCH = 0.96
"""Share of its length to which a leg may stretch."""
_HELD = 1e-6
"""Metres by which a hand is moved that is where it shall be."""
_NECK = 0.45
"""Metres from the spine's root to the neck: what an angle of leaning is worth,"""
_ARM, _KNEE = 0.3, 0.2
"""from a shoulder to the middle of the arm, and from the line of the leg to a bent knee."""
_LEAN = {"Spine": 0.35, "Spine1": 0.7, "Head": 0.3}
"""Shares of a lean of the joints that have not all of it: the head looks on where it did."""
_LEGS = {"Left": LEFT_LEG, "Right": RIGHT_LEG}
_LOWER = MODEL_SKELETON.indices([side + part for side in _LEGS for part in ("UpLeg", "Leg", "Foot", "Toe")])
_UPPER = [joint for joint in range(1, len(MODEL_SKELETON)) if joint not in _LOWER]

Changed = Callable[[Array, Array, Array, Array], tuple[Array, Array]]
"""Hips (F, 3) and world rotations (F, J, 4) of a body that faces angles (F,) after moves (F, D)."""


@dataclass(frozen=True, eq=False)
class Moves:
    """What one part of the body may do. choices: (C, D), none first. size: (C,) metres that it costs, weight: (P,) of
    the points of bodies.bone_points that are to come out of things; seeks: (P,) those for which it is done."""

    choices: Array
    size: Array
    weight: Array
    seeks: Array
    changed: Changed


@dataclass(frozen=True, eq=False)
class Pin:
    """A wrist that shall stay at places (T, 3), as much as weight (T,) says."""

    side: str
    place: Array
    weight: Array


class BodyClear:
    """A body that faces angles (T,) among things, at every EVERY-th frame. pins: of the hands."""

    def __init__(self, things: Around, facing: Array, pins: list[Pin]) -> None:
        self._things, self._facing, self._pins = things, facing, pins

    def hips(self, places: Array, rotations: Array, limit: Array) -> Array:
        """Metres (T, 2) by which the hips are to move, no more than limit (T,); the feet stay."""
        return self._way(places, rotations, HIPS, limit)

    def above(self, places: Array, rotations: Array) -> tuple[Array, Array]:
        """Places (T, J, 3) and rotations (T, J, 4) with the trunk leaning and knees turned out of things."""
        for moves in (LEAN, *KNEES):
            places, rotations = self._done(places, rotations, moves)
        return self._pinned(places, rotations)

    def arms(self, places: Array, rotations: Array) -> tuple[Array, Array]:
        """The same, with free arms drawn out of things."""
        for side, moves in SWINGS.items():
            free = np.where([pin.weight > 0 for pin in self._pins if pin.side == side], 0.0, np.inf)
            places, rotations = self._done(places, rotations, moves, free.min(axis=0, initial=np.inf))
        return places, rotations

    def _done(
        self, places: Array, rotations: Array, moves: Moves, limit: Array | float = np.inf
    ) -> tuple[Array, Array]:
        way = self._way(places, rotations, moves, limit)
        on = np.flatnonzero(way.any(axis=1))
        if not len(on):
            return places, rotations
        places, rotations = places.copy(), rotations.copy()
        hips, rotations[on] = moves.changed(places[on, 0], rotations[on], self._facing[on], way[on])
        places[on] = MODEL_SKELETON.positions(hips, rotations[on])
        return places, rotations

    def _pinned(self, places: Array, rotations: Array) -> tuple[Array, Array]:
        """The arms bent so that hands which take hold do so where they did; they keep their directions."""
        for pin in self._pins:
            limb = ARMS[pin.side]
            upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
            off = pin.weight[:, None] * (pin.place - places[:, end])
            on = np.flatnonzero(np.abs(off).max(axis=1) > _HELD)
            if not len(on):
                continue
            places, rotations = places.copy(), rotations.copy()
            target, turned = places[on, end] + off[on], rotations[on]
            turned[:, upper], turned[:, middle], _ = solve_limb(
                limb, places[on, upper], target, turned[:, upper], turned[:, middle]
            )
            rotations[on] = turned
            places[on] = MODEL_SKELETON.positions(places[on, 0], turned)
        return places, rotations

    def _way(self, places: Array, rotations: Array, moves: Moves, limit: Array | float) -> Array:
        """The moves (T, D) to make."""
        out = np.zeros((len(places), moves.choices.shape[1]))
        keys = np.arange(0, len(places), EVERY)
        limits = np.broadcast_to(limit, len(places))[keys]
        sought = self._things.at(np.arange(len(keys)), moves.seeks)
        deep = sought.depths(bone_points(places[keys])).max(axis=1) > TOUCH
        changes = _CHANGE * np.sum((moves.choices[:, None] - moves.choices) ** 2, axis=-1) * _unit(moves) ** 2
        for start, stop in runs(highest_around(deep, _MARGIN)):
            costs = self._costs(start, stop, places, rotations, moves)
            costs[moves.size > limits[start:stop, None] + 1e-9] = np.inf
            chosen = cheapest_way(costs, changes, start > 0, stop < len(keys))
            frames = np.arange(keys[start], min(keys[stop - 1] + EVERY, len(places)))
            way = moves.choices[chosen]
            out[frames] = np.stack([np.interp(frames, keys[start:stop], column) for column in way.T], axis=1)
        return gaussian(out, _SMOOTH) if out.any() else out

    def _costs(self, start: int, stop: int, places: Array, rotations: Array, moves: Moves) -> Array:
        """(F, C) of each choice at each of the moments."""
        out = np.zeros((stop - start, len(moves.choices)))
        frames = np.arange(start, stop) * EVERY
        near = self._things.at(np.arange(start, stop), moves.weight > 0)
        matters = np.isin(np.arange(stop - start), near.moment)
        for pin in self._pins:
            matters |= pin.weight[frames] > 0
        at = np.flatnonzero(matters)
        near, frames = near.at(at, moves.weight > 0), frames[at]
        hips, turned, facing = places[frames, 0], rotations[frames], self._facing[frames]
        for number, choice in enumerate(moves.choices):
            tried = moves.changed(hips, turned, facing, np.broadcast_to(choice, (len(frames), len(choice))))
            body = MODEL_SKELETON.positions(*tried)
            depth = moves.weight * np.maximum(near.depths(bone_points(body)) - TOUCH, 0)
            out[at, number] = _WORTH * (depth.max(axis=1) + _ALL * depth.sum(axis=1))
            out[at, number] += _SHORT * (self._missed(frames, body) + _stretched(places[frames], body))
        return highest_around(out, _HOLD) + moves.size

    def _missed(self, frames: Array, body: Array) -> Array:
        """Metres (F,) by which the arms are too short for where their hands shall stay."""
        out = np.zeros(len(frames))
        for pin in self._pins:
            limb = ARMS[pin.side]
            upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
            length = float(np.linalg.norm(MODEL_SKELETON.offsets[[middle, end]], axis=1).sum())
            away = np.linalg.norm(pin.place[frames] - body[:, upper], axis=1)
            out += pin.weight[frames] * np.maximum(away - length, 0)
        return out


def _stretched(before: Array, after: Array) -> Array:
    """Metres (F,) by which legs are too short that were long enough: feet stay, at joint places (F, J, 3)."""
    out = np.zeros(len(before))
    for limb in _LEGS.values():
        upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
        length = float(np.linalg.norm(MODEL_SKELETON.offsets[[middle, end]], axis=1).sum())
        was, away = (np.linalg.norm(body[:, upper] - before[:, end], axis=1) for body in (before, after))
        out += np.maximum(away - np.maximum(was, _STRETCH * length), 0)
    return out


def _unit(moves: Moves) -> float:
    """Metres that a unit of the choices is worth."""
    return float((moves.size[1:] / np.linalg.norm(moves.choices[1:], axis=1)).max())


def _rays(ways: int, sizes: list[float]) -> Array:
    """Choices (C, 2): none, and of each size in so many ways."""
    angle = np.arange(ways) * (2 * np.pi / ways)
    ray = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    return np.concatenate((np.zeros((1, 2)), (np.array(sizes)[:, None, None] * ray).reshape(-1, 2)))


def _turns(sizes: list[float]) -> Array:
    """Choices (C, 3): none, and of each size about the axes and the lines between three of them."""
    every = np.stack(np.meshgrid(*[[-1, 0, 1]] * 3), axis=-1).reshape(-1, 3)
    ray = normalize(every[np.isin(np.abs(every).sum(axis=1), (1, 3))].astype(float))
    return np.concatenate((np.zeros((1, 3)), (np.array(sizes)[:, None, None] * ray).reshape(-1, 3)))


def _aside(hips: Array, rotations: Array, facing: Array, moves: Array) -> tuple[Array, Array]:
    """Hips moved by metres (F, 2) over feet that stay."""
    shift = np.concatenate((moves, np.zeros((len(moves), 1))), axis=1)
    places, out = MODEL_SKELETON.positions(hips, rotations), rotations.copy()
    for limb in _LEGS.values():
        upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
        origin = places[:, upper] + shift
        out[:, upper], out[:, middle], _ = solve_limb(
            limb, origin, places[:, end], rotations[:, upper], rotations[:, middle]
        )
    return hips + shift, out


def _turn(facing: Array, moves: Array) -> Array:
    """Rotations (F, 4) by vectors (F, 3) that are seen by who faces angles (F,): to the left, backward, up."""
    return from_exponential_map(rotate(from_yaw(facing), moves))


def _leaning(hips: Array, rotations: Array, facing: Array, moves: Array) -> tuple[Array, Array]:
    """The trunk tilted, from the lower back up."""
    out = rotations.copy()
    # Ahead, and to the left.
    tilt = np.stack((moves[:, 0], moves[:, 1], np.zeros(len(moves))), axis=1)
    for joint in _UPPER:
        share = _LEAN.get(MODEL_SKELETON.names[joint], 1.0)
        out[:, joint] = multiply(_turn(facing, share * tilt), rotations[:, joint])
    return hips, out


def _knee_turned(limb: Limb) -> Changed:
    upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])

    def changed(hips: Array, rotations: Array, facing: Array, moves: Array) -> tuple[Array, Array]:
        out = rotations.copy()
        thigh, shin = (np.broadcast_to(MODEL_SKELETON.offsets[joint], hips.shape) for joint in (middle, end))
        axis = normalize(rotate(rotations[:, upper], thigh) + rotate(rotations[:, middle], shin))
        turn = from_axis_angle(axis, moves[:, 0])
        for joint in (upper, middle):
            out[:, joint] = multiply(turn, rotations[:, joint])
        return hips, out

    return changed


def _arm_swung(side: str) -> Changed:
    joints = MODEL_SKELETON.indices([side + part for part in ("Arm", "ForeArm", "Hand")])

    def changed(hips: Array, rotations: Array, facing: Array, moves: Array) -> tuple[Array, Array]:
        out, turn = rotations.copy(), _turn(facing, moves)
        for joint in joints:
            out[:, joint] = multiply(turn, rotations[:, joint])
        return hips, out

    return changed


def _weights(**parts: float) -> Array:
    """(P,) of points whose bones' names end so; 0 for all others."""
    out = np.zeros(len(OWNERS))
    for part, weight in parts.items():
        out[np.char.endswith(OWNERS, part)] = weight
    return out


_SHOULDERS = np.isin(OWNERS, [limb.upper for limb in ARMS.values()]) & (SHARES < 0.2)
_AWAY = _rays(8, [0.03, 0.06, 0.09, ASIDE])
HIPS = Moves(
    _AWAY,
    np.linalg.norm(_AWAY, axis=1),
    _weights(Hips=1, Neck=1, UpLeg=1, Leg=1, Arm=0.3),
    _weights(Hips=1, Neck=1, UpLeg=1) > 0,
    _aside,
)
_LEANS = _rays(8, [0.06, 0.13, 0.21, 0.3])
LEAN = Moves(
    _LEANS,
    _NECK * np.linalg.norm(_LEANS, axis=1) * np.where(_LEANS[:, 0] < -0.01, 1.5, 1.0),
    np.maximum(_weights(Hips=1, Neck=1, Arm=0.2), _SHOULDERS),
    (_weights(Hips=1, Neck=1) > 0) | _SHOULDERS,
    _leaning,
)
_TURNS = np.array([0.0, *(sign * angle for angle in (0.15, 0.3, 0.45, 0.6, 0.8) for sign in (-1, 1))])[:, None]
KNEES = [
    Moves(
        _TURNS,
        _KNEE * np.abs(_TURNS[:, 0]),
        np.where(np.char.startswith(OWNERS, side), _weights(Leg=1), 0),
        np.char.startswith(OWNERS, side) & (_weights(Leg=1) > 0),
        _knee_turned(limb),
    )
    for side, limb in _LEGS.items()
]
_SWUNG = _turns([0.12, 0.24, 0.36, 0.5])
SWINGS = {
    side: Moves(
        _SWUNG,
        _ARM * np.linalg.norm(_SWUNG, axis=1),
        np.where(np.char.startswith(OWNERS, side), _weights(Arm=1), 0),
        np.char.startswith(OWNERS, side) & (_weights(Arm=1) > 0),
        _arm_swung(side),
    )
    for side in ARMS
}
