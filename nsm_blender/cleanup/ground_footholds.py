# SPDX-License-Identifier: GPL-3.0-or-later
"""Footholds on any ground: each stance is moved along the foot, as little as can be, to where all of its sole has
ground under it, and lasts as long as the leg reaches it.

A rollout steps where its gait leads it: across edges of treads, with the toes over the one below or into a riser.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..geometry.ground import Ground
from ..motion.filters import runs
from ..motion.foot_lock import Heights
from ..motion.rotations import Array
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from ..motion.stances import Stances
from ..stepwise import ITEMS, Stepwise

FARTHEST = 0.2
"""Meters along the foot by which a stance is moved at most: more, and steps become visibly uneven."""
SHIFTS = 0.01 * np.array(sorted(range(-round(100 * FARTHEST), round(100 * FARTHEST) + 1), key=abs))
"""Shifts in meters that are tried, the smallest first."""
_BACK, _TIP = 0.04, 0.06
"""Meters of the sole behind the ankle and before the ball that are to have ground under them: a heel's edge and the
tips of the toes overhang without being seen to stand in the air."""
_POINTS = 7
"""Points along a sole at which the ground is looked at."""
_UNEVEN = 0.015
"""Meters by which ground may deviate from a plane under a sole that stands well: what a shoe gives way to."""
_STEEPEST = 0.75
"""Slope of the steepest ground, as rise over run, on which a sole stands: more is a riser."""
_WORTH = 0.1
"""Meters of shift that a centimeter less of unevenness under the sole is worth."""
OUT_OF_REACH = 0.02
"""Meters between a foot in contact and the ground from which the leg does not reach it: it stands there later, or
leaves sooner."""
_TOGETHER = 256
"""Places whose nearest frame is sought at once, so that a minute's rollout takes 8 MB for it."""
_SHORTEST = 4
"""Frames of a stance that are left, whatever the leg reaches: without it the foot would fly from step to step."""


@dataclass
class Foothold:
    """Where a foot stands from frame `start` to `stop`. ball: x, y (2,) of its ball in meters. along: (2,) the foot's
    direction. costs: (S,) of moving it by SHIFTS, in meters that a foot would be moved for as much. shift: meters along
    the foot by which it is moved."""

    side: str
    start: int
    stop: int
    ball: Array
    along: Array
    costs: Array
    shift: float


Choose = Callable[[Sequence[Foothold]], None]
"""Changes the shifts of footholds, in the order of their starts, where steps have to agree."""


def footholds_on_ground(
    places: Array, contacts: Array, ground: Ground, root: Array, choose: Choose | None = None
) -> Stepwise[Array]:
    """Joint places (T, J, 3) with the toes moved to where their feet stand on ground, and over it from one such place
    to the next, in pieces of work.

    contacts: (T, 4) of CONTACT_JOINTS. root: (T, 4), whose height tells the storey.
    """
    out, found = places.copy(), list[Foothold]()
    stands = {side: _stands(contacts, side) for side in ("Left", "Right")}
    for side, mask in stands.items():
        ankle, toe = MODEL_SKELETON.indices([side + "Foot", side + "Toe"])
        for index, (start, stop) in enumerate(runs(mask)):
            if index % ITEMS == 0:
                yield
            heel, ball = (np.median(places[start:stop, joint, :2], axis=0) for joint in (ankle, toe))
            near = float(root[(start + stop) // 2, 2])
            found.append(Foothold(side, start, stop, ball, *_fits(heel, ball, ground, near)))
    found.sort(key=lambda one: one.start)
    if choose is not None:
        choose(found)
    for side, mask in stands.items():
        shift, rise = np.zeros((len(places), 3)), np.zeros((len(places), 1))
        for one in found:
            if one.side == side:
                near = float(root[(one.start + one.stop) // 2, 2])
                shift[one.start : one.stop, :2] = one.shift * one.along
                rise[one.start : one.stop] = ground.height(one.ball + one.shift * one.along, near)
        toe = MODEL_SKELETON.index(side + "Toe")
        stances = Stances(mask[None])
        stances.glide(shift)
        # A foot goes from the height of one foothold to that of the next, while the root goes its own way: in a stance
        # it is as high over its foothold as the network has it over a level floor.
        stances.glide(rise, longest=len(rise))
        between = np.ones(len(rise), dtype=bool)
        between[stances.beyond()] = False
        out[:, toe] += shift
        out[:, toe, 2] += np.where(between, rise[:, 0] - root[:, 2], 0.0)
    return out


def _stands(contacts: Array, side: str) -> Array:
    """Whether (T,) a foot stands, of contacts (T, 4) of CONTACT_JOINTS."""
    columns = [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]
    return np.asarray((contacts[:, columns] > 0).any(axis=1))


def _fits(heel: Array, ball: Array, ground: Ground, near: float) -> tuple[Array, Array, float]:
    """How a stance fits whose ankle and ball are over places (2,) of ground near a height: the foot's direction (2,),
    costs (S,) of moving it by SHIFTS, and the cheapest shift in meters."""
    along = ball - heel
    length = float(np.linalg.norm(along))
    if length < 1e-6:
        return np.zeros(2), np.abs(SHIFTS), 0.0
    along = along / length
    sole = np.linspace(-_BACK, length + _TIP, _POINTS)
    at = heel + (SHIFTS[:, None] + sole)[..., None] * along
    uneven = _unevenness(ground.height(at, near), sole)
    costs = np.abs(SHIFTS) + 100 * _WORTH * np.maximum(uneven - _UNEVEN, 0)
    return along, costs, float(SHIFTS[int(costs.argmin())])


def _unevenness(heights: Array, sole: Array) -> Array:
    """Largest deviations (N,) in meters of heights (N, P) under soles from planes that are not too steep; sole: (P,)
    meters along them."""
    off = sole - sole.mean()
    slope = np.clip((heights * off).sum(axis=1) / (off * off).sum(), -_STEEPEST, _STEEPEST)
    plane = heights.mean(axis=1, keepdims=True) + slope[:, None] * off
    out: Array = np.abs(heights - plane).max(axis=1)
    return out


def reached_contacts(places: Array, contacts: Array, ground: Heights) -> Array:
    """Contacts (T, 4) without those at the beginning and end of a stance in which the foot, at joint places (T, J, 3),
    is over the ground: the leg does not reach it there."""
    out = contacts.copy()
    for side in ("Left", "Right"):
        columns = [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]
        joints = MODEL_SKELETON.indices([side + "Foot", side + "Toe"])
        on = contacts[:, columns] > 0
        above = np.stack(
            [
                places[:, joint, 2] - high - ground(places[:, joint, :2])
                for joint, high in zip(joints, (ANKLE_HEIGHT, TOE_HEIGHT), strict=True)
            ],
            axis=1,
        )
        reached = (on & (above < OUT_OF_REACH)).any(axis=1)
        for start, stop in runs(on.any(axis=1)):
            there = np.flatnonzero(reached[start:stop])
            if not len(there):
                out[start:stop, columns] = 0
                continue
            first, last = start + int(there[0]), start + int(there[-1]) + 1
            if last - first >= _SHORTEST:
                out[start:first, columns] = 0
                out[last:stop, columns] = 0
    return out


def surface_along(ground: Ground, root: Array) -> Heights:
    """Heights of the ground at the storey on which a root (T, 4) walks.

    A place's storey is that of the nearest frame from above: a way that crosses itself on two storeys has its feet on
    one of them there.
    """
    if len(ground.levels) == 1:
        return ground.height

    def height(places: Array) -> Array:
        # Of a place for each frame, each is that frame's.
        if len(places) == len(root):
            return ground.height(places, root[:, 2])
        near = np.empty(len(places))
        for start in range(0, len(places), _TOGETHER):
            part = places[start : start + _TOGETHER, None] - root[:, :2]
            near[start : start + _TOGETHER] = root[np.einsum("ptd,ptd->pt", part, part).argmin(axis=1), 2]
        return ground.height(places, near)

    return height
