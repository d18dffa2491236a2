# SPDX-License-Identifier: GPL-3.0-or-later
"""Footholds on steps: each foot that stands near them stands on the floor or on a tread, whichever is nearer, and
before risers, not in them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..geometry.colliders import Placed
from ..motion.filters import runs
from ..motion.foot_lock import stance_heights
from ..motion.rotations import Array
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from ..motion.stances import Stances
from ..stepwise import ITEMS, Stepwise, finished

TIP = 0.06
"""Meters from the toe's joint to the tip of the foot."""
BEFORE = 0.02
"""Meters between a riser and the toes of a foot that stands before it."""
ON = 0.04
"""Meters from a tread's edge within which no ball of a foot stands."""
FARTHEST = 0.4
"""Meters by which a stance moves over the ground at most."""
CLOSE = 0.6
"""Meters from a step beyond which a stance stays where it is: the ground has no edge there."""
BESIDE = 0.5
"""Meters up or down that count as much as one over the ground, where a foot may stand on the one or the other."""
RISE = 0.03
"""Meters between two heights that make a riser."""
SHORTEST = 8
"""Frames of a stance beside steps, less than which the label flickers."""


def footholds(
    places: Array, contacts: Array, near: Callable[[int], Placed], floor: float
) -> tuple[Array, dict[str, Array]]:
    """Where feet stand on steps.

    places: (T, J, 3) joints. contacts: (T, 4) of CONTACT_JOINTS. near: the cuboids around the body at a frame that
    carry it. floor: height of the ground beside them. Returns contacts without those that flicker, and by how many
    meters (T, 3) the foot of each side moves, smoothly from one stance to the next; no sides where none moves.
    """
    return finished(finding_footholds(places, contacts, near, floor))


def finding_footholds(
    places: Array, contacts: Array, near: Callable[[int], Placed], floor: float
) -> Stepwise[tuple[Array, dict[str, Array]]]:
    """`footholds` in pieces."""
    contacts, out = contacts.copy(), {}
    for side in ("Left", "Right"):
        soles = _soles(side, places)
        columns = [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]
        stands = (contacts[:, columns] > 0).any(axis=1)
        # As high over each foothold as the foot lock will have it.
        toe = places[:, MODEL_SKELETON.index(side + "Toe")]
        heights = stance_heights(toe, contacts[:, columns[1]] > 0, Stances(stands[None]))
        shift = np.zeros((len(places), 3))
        for index, (start, stop) in enumerate(runs(stands)):
            if index % ITEMS == 0:
                yield
            placed = near((start + stop) // 2)
            if not len(placed):
                continue
            if stop - start < SHORTEST:
                contacts[start:stop, columns], stands[start:stop] = 0, False
                continue
            sole = np.median(soles[start:stop], axis=0)
            sole[:, 2] += heights[start] - sole[1, 2]
            shift[start:stop] = _foothold(sole, placed, floor)
        Stances(stands[None]).glide(shift)
        out[side] = shift
    return contacts, out if any(shift.any() for shift in out.values()) else {}


def _soles(side: str, places: Array) -> Array:
    """(T, 3, 3): under the ankle, under the toe's joint and at the tip of a foot."""
    ankle, toe = (places[:, MODEL_SKELETON.index(side + part)] for part in ("Foot", "Toe"))
    along = (toe - ankle) * [1, 1, 0]
    tip = toe + TIP * along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-6)
    out = np.stack((ankle, toe, tip), axis=1)
    out[..., 2] -= [ANKLE_HEIGHT, TOE_HEIGHT, TOE_HEIGHT]
    return out


def _foothold(sole: Array, placed: Placed, floor: float) -> Array:
    """By how much (3,) a sole (3, 3) moves to stand on the floor or on a tread, whichever is nearer."""
    best, least = np.zeros(3), np.inf
    tops = placed.center[:, 2] + placed.half[:, 2]
    ways = [way_onto(placed, number, sole[1, :2]) for number in range(len(placed))]
    if min(float(np.linalg.norm(way)) for way in ways) > CLOSE:
        return best
    for top, onto in zip((floor, *tops), (np.zeros(2), *ways), strict=True):
        aside = onto + _beside(placed, sole[:, :2] + onto, float(top))
        far, rise = float(np.linalg.norm(aside)), float(top) - float(sole[1, 2])
        cost = far * BESIDE + abs(rise)
        if cost < least and far <= FARTHEST:
            best, least = np.append(aside, rise), cost
    return best


def way_onto(placed: Placed, number: int, place: Array) -> Array:
    """The shortest way (2,) from a place (2,) to where a cuboid carries the ball of a foot, or a hand."""
    turn, half = placed.rotation[number][:2, :2], placed.half[number, :2]
    local = (place - placed.center[number, :2]) @ turn
    room = np.maximum(half - ON, 0)
    out: Array = turn @ (np.clip(local, -room, room) - local)
    return out


def _beside(placed: Placed, sole: Array, level: float) -> Array:
    """The shortest way (2,) of a sole (3, 2) that stands at a level out of what rises from there."""
    out = np.zeros(2)
    for rotation, center, half in zip(placed.rotation, placed.center, placed.half, strict=True):
        if center[2] + half[2] - level < RISE:
            continue
        turn = rotation[:2, :2]
        local = (sole + out - center[:2]) @ turn
        # Meters to go to be out over the low and over the high side of each axis.
        past = np.stack((local.max(axis=0) + half[:2], half[:2] - local.min(axis=0))) + BEFORE
        if past.min() > 0:
            high, axis = np.unravel_index(int(past.argmin()), past.shape)
            step = np.zeros(2)
            step[axis] = past[high, axis] if high else -past[high, axis]
            out = out + turn @ step
    return out
