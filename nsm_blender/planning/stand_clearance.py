# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether there is room to use a thing from a side: for a body that bends over it, for hands beside it, for knees."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ..geometry.colliders import Collider, Placed
from ..geometry.roles import Carryable, Seat, Surface
from ..geometry.scene_state import to_world
from ..geometry.spots import abreast
from ..motion.rotations import Array, normalize, rotate
from ..tasks.interaction_targets import corners
from .approach_poses import Stand
from .occupancy_grid import ANKLE, Footprints

STANDS = 0.45, 0.55
"""Metres from the middle between the palms to that of a body that takes a box and lifts it,"""
BEFORE_EDGE = 0.25
"""and from the edge of a surface to one who puts a box on it."""
TRUNK = 0.2
"""Metres about the middle of a body that bends,"""
HEIGHTS = (0.15, 0.45, 0.8, 1.1, 1.4)
"""at these heights."""
BESIDE_PALM, HAND = 0.05, 0.04
"""Metres beside a face at which the hand on it is, and about it."""
SITS, BACK = (0.4, 0.6, 0.8), 0.1
"""Metres over a seat at which the back and the head of its sitter are, and about them;"""
BELLY = (0.2, 0.3, 0.4)
"""Meters over a seat at which a table's edge meets the belly."""
CHEST = 0.33
"""Meters from a seat's back to a table's edge that a body needs to slide in between."""
LEANS = 0.35
"""Meters before the hips at which the head is while a body sits down;"""
KNEES, BEYOND_SEAT = 0.43, 0.08
"""Meters before the hips at which the knees are, and before the edge of the seat at which the feet are, at least;"""
APART, SHIN = 0.1, 0.05
"""to either side, and about them."""
BENEATH = 0.05
"""Metres under a thing within which is what it stands on."""
COMFORTABLE, ROUND = 0.45, 0.05
"""Meters before a seat that are asked for where there is no room to sit down, in such steps."""
_RAY = 0.005
"""Meters between the points of a ray."""
_REACH = 2.0
"""Metres around a thing in which others matter."""
_UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Hindrance:
    """What leaves too little room. name: of the collider. metres: that it lies from where a part of the body would be.
    needed: that this part needs."""

    name: str
    metres: float
    needed: float

    @property
    def lacking(self) -> float:
        """Metres."""
        return self.needed - self.metres


def hindrance(stand: Stand, thing: Collider, pose: Array, things: Placed, ground: float) -> Hindrance | None:
    """What hinders one most who uses a thing, whose pose is (7,), from a stand; None when there is room.

    things: all that stand around, of which those that the thing itself stands on hinder nobody.
    """
    if isinstance(stand.handles, Carryable):
        parts = _taking(stand, stand.handles, pose, ground)
    elif isinstance(stand.handles, Surface):
        edge = to_world(abreast(stand.handles, _UP), pose)[:2] + stand.handles.depth / 2 * stand.outward
        parts = [(_columns(edge + BEFORE_EDGE * stand.outward, ground), TRUNK)]
    elif isinstance(stand.handles, Seat):
        parts = _sitting(stand.handles, pose, ground)
    else:
        return None
    around = things.near(pose[:3], _REACH).without({thing.name, *_under(thing, pose, things)} & set(things.names))
    found = [
        Hindrance(things.names[owner], float(around.of([int(owner)]).distance(points).min()), needed)
        for points, needed in parts
        for owner in np.unique(around.owner)
    ]
    worst = max(found, key=lambda one: one.lacking, default=None)
    return worst if worst is not None and worst.lacking > 0 else None


def no_room_to_sit(stand: Stand, thing: Collider, pose: Array, things: Placed, ground: float) -> str:
    """A sentence about what stands before, over or beside a seat, whose pose is (7,), and leaves no room to sit
    down on it from any side, and what to do. things: as for `hindrance`."""
    seat = stand.handles
    assert isinstance(seat, Seat)
    around = things.near(pose[:3], _REACH).without({thing.name, *_under(thing, pose, things)} & set(things.names))
    sitting = to_world(np.array(seat.place), pose)
    front = normalize(rotate(pose[3:], np.array(seat.facing)) * [1.0, 1.0, 0.0])
    left = np.array([-front[1], front[0], 0.0])
    # Rays from over the seat's back to what is first met before it, seen from above.
    met = Footprints.of(around).between(ground + ANKLE, sitting[2] + SITS[-1])
    out = np.arange(-seat.depth / 2, COMFORTABLE + _RAY, _RAY)
    aside = np.linspace(-1.0, 1.0, 5) * min(seat.width / 2, TRUNK)
    rays = sitting + (seat.depth / 2 + out)[:, None, None] * front + aside[:, None] * left
    away = met.distances(rays[..., :2].reshape(-1, 2)).reshape(len(out), len(aside), len(met.low)).min(1)
    name, nearest = "", COMFORTABLE
    if (away <= 0).any():
        first = int((away <= 0).any(1).argmax())
        name, nearest = things.names[met.owner[int(away[first].argmin())]], float(out[first])
    if not name:
        return f"There is no room to sit down on '{thing.name}'. Free the floor before it, or beside it."
    where = f"stands {100 * nearest:.0f} cm before it" if nearest > _RAY else "reaches over it"
    back = math.ceil((COMFORTABLE - nearest) / ROUND) * ROUND
    return (
        f"There is no room to sit down on '{thing.name}': '{name}' {where}. "
        f"Move '{thing.name}' back, or '{name}' away, by about {100 * back:.0f} cm."
    )


def _taking(stand: Stand, grasp: Carryable, pose: Array, ground: float) -> list[tuple[Array, float]]:
    """Points (P, 3) of one who takes a box, and the room about them."""
    left, right = to_world(np.array(grasp.left), pose), to_world(np.array(grasp.right), pose)
    across = normalize(left - right)
    hands = np.array([left + BESIDE_PALM * across, right - BESIDE_PALM * across])
    middle = ((left + right) / 2)[:2]
    return [(_columns(np.array([middle + far * stand.outward for far in STANDS]), ground), TRUNK), (hands, HAND)]


def _sitting(seat: Seat, pose: Array, ground: float) -> list[tuple[Array, float]]:
    """Points (P, 3) of one who sits, and the room about them."""
    place = to_world(np.array(seat.place), pose)
    front = normalize(rotate(pose[3:], np.array(seat.facing)) * [1.0, 1.0, 0.0])
    left = np.array([-front[1], front[0], 0.0])
    up = np.array([0.0, 0.0, 1.0])
    back, belly = (place + np.multiply.outer(np.array(heights), up) for heights in (SITS, BELLY))
    belly += max(CHEST - BACK - seat.depth / 2, 0.0) * front
    trunk = np.vstack((back, belly, place + LEANS * front + SITS[1] * up))
    # From the feet, close to the seat, up to the knees.
    foot, knee = seat.depth / 2 + BEYOND_SEAT, max(KNEES, seat.depth / 2 + BEYOND_SEAT)
    shin = [(foot, ground + SHIN), ((foot + knee) / 2, (ground + SHIN + place[2]) / 2), (knee, place[2])]
    legs = np.array(
        [[*(place + out * front + side * APART * left)[:2], height] for side in (1, -1) for out, height in shin]
    )
    return [(trunk, BACK), (legs, SHIN)]


def _columns(places: Array, ground: float) -> Array:
    """Points (P, 3) over places (2,) or (N, 2) of the ground at the heights of a body."""
    return np.array([[*place, ground + height] for place in np.atleast_2d(places) for height in HEIGHTS])


def _under(thing: Collider, pose: Array, things: Placed) -> Collection[str]:
    """Names of what a thing stands on."""
    outline = corners(thing, pose)
    foot = np.array([*outline[:, :2].mean(axis=0), outline[:, 2].min()])
    beneath = foot - np.multiply.outer(np.linspace(0.0, BENEATH, 4), [0.0, 0.0, 1.0])
    owners = np.unique(things.owner).tolist()
    return [things.names[owner] for owner in owners if things.of([owner]).distance(beneath).min() == 0]
