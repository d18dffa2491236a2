# SPDX-License-Identifier: GPL-3.0-or-later
"""Approach poses: where to stand before a thing that is used, by its role and handles, in the world."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..geometry.colliders import Collider, Surroundings
from ..geometry.roles import SIDES, Carryable, Climbable, Door, Handles, Seat, Surface
from ..geometry.scene_state import pose_at
from ..geometry.sides import other_grasps, other_seats, other_surfaces
from ..geometry.spots import abreast, at_spot
from ..motion.root import angle_of
from ..motion.rotations import Array, normalize, rotate
from ..shot.goals import Goal
from .occupancy_grid import Footprints

BEFORE = 0.05
"""Metres between the body's outline and the thing that one stands before."""
AISLE = (0.3, 0.25, 0.2, 0.16, 0.12)
"""Meters from a seat's front edge at which the root may stand, its back to the seat, where a thing before the seat
leaves no more room than for shins."""
STRAIGHT = 0.2
"""Meters aside of straight before a seat from which a body sits down more surely than from the aisle at its edge."""
ALONG_SEAT = (0.0, 0.2, -0.2)
"""Meters beside the seat's middle at which it may stand there."""
RISES = 0.08
"""Meters over a seat by which a part of it must rise to be a back or an arm rest."""
LEVEL = 0.05
"""Metres by which a top may differ in height from the landing of the thing that is climbed."""
_UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Stand:
    """A place (2,) to stand, and the facing angle that one has there or None: as one arrives.

    outward: unit vector (2,) away from the thing that one stands before; zero where it is none. handles: of the thing
    as it is used from here, in its own frame. sideways: the body comes there sideways, between the thing and another.
    aside: meters by which it may stand beside the place where that is not free.
    """

    place: Array
    facing: float | None
    outward: Array
    handles: Handles | None = None
    sideways: bool = False
    aside: float = math.inf

    def moved(self, out: float, aside: float) -> Array:
        """The place (2,) so many metres further out from the thing and aside."""
        x, y = self.outward
        return self.place + out * self.outward + aside * np.array([-y, x])


def stands(goal: Goal, collider: Collider | None, frame: float, distance: float) -> list[Stand]:
    """Where a body may stand that goes to `goal`, best first; towards the thing that it is on, if it is on one.

    collider: the goal's, or None for a free goal. distance: metres from the used part to the middle of the body.
    """
    if collider is None or collider.handles is None:
        return [Stand(np.array(goal.place[:2], dtype=np.float64), goal.facing, np.zeros(2))]
    pose = pose_at(collider, frame)
    used = used_handles(goal, collider, pose)
    assert used is not None
    return _before(goal, collider, pose, used, distance)


def used_handles(goal: Goal, collider: Collider, pose: Array) -> Handles | None:
    """The handles by which a thing at a pose (7,) is used for a goal: of the part at which the goal points, else the
    thing's own."""
    if collider.handles is None or not goal.by_place:
        return collider.handles
    back = pose[3:] * [1.0, -1, -1, -1]
    return at_spot(collider.handles, collider.also, rotate(back, np.array(goal.place) - pose[:3]), rotate(back, _UP))


def other_stands(goal: Goal, collider: Collider, frame: float, distance: float) -> list[list[Stand]]:
    """Where a body may stand, too, that uses a thing otherwise than its handles say: takes a box, or puts one on a
    surface, from another side. As `stands`, for each way to use it."""
    pose = pose_at(collider, frame)
    up = rotate(pose[3:] * [1.0, -1, -1, -1], _UP)
    others: Sequence[Handles] = []
    handles = used_handles(goal, collider, pose)
    if isinstance(handles, Carryable):
        others = other_grasps(handles, collider.cuboids)
    elif isinstance(handles, Surface):
        others = other_surfaces(handles, collider.cuboids, up)
    return [_before(goal, collider, pose, one, distance) for one in others]


def seat_stands(goal: Goal, collider: Collider, frame: float, distance: float) -> list[list[list[Stand]]]:
    """Where a body may stand that sits down: tiers of lists as those of `other_stands`, the best tier first.

    Before the seat's front; at all sides that its handles name, as it is or, where it is open all around, as its sitter
    looks another way; in the aisle along its front edge (see AISLE); farther aside of the sides that its handles name;
    at sides that they do not name, but that neither a back nor an arm rest closes. Handles that name no side leave all
    open ones. Arguments as for `stands`.
    """
    pose = pose_at(collider, frame)
    up = rotate(pose[3:] * [1.0, -1, -1, -1], _UP)
    used = used_handles(goal, collider, pose)
    assert isinstance(used, Seat)
    open_sides = _open_sides(used, collider, up)
    own = replace(used, approaches=used.approaches or open_sides)
    seats: list[Seat] = [own, *other_seats(own, up)]

    def before(seat: Seat, sides: Sequence[str], aside: float = math.inf) -> list[list[Stand]]:
        places = _before(goal, collider, pose, replace(seat, approaches=list(sides)), distance) if sides else []
        return [[replace(stand, handles=seat, aside=aside) for stand in places]] if places else []

    others = [side for side in open_sides if side not in own.approaches and side != "back"]
    return [
        before(own, ["front"] if "front" in own.approaches else [], STRAIGHT),
        [side for seat in seats for side in before(seat, seat.approaches, STRAIGHT)],
        [side for seat in seats for side in _in_aisle(goal, seat, pose)],
        [side for seat in seats for side in before(seat, seat.approaches)],
        before(own, others),
    ]


def _in_aisle(goal: Goal, seat: Seat, pose: Array) -> list[list[Stand]]:
    """Places along a seat's front edge, the back to it, the nearest to its middle first, and of each the one farthest
    from the edge first. pose: (7,) of the thing."""
    place, front = rotate(pose[3:], np.array(seat.place)) + pose[:3], rotate(pose[3:], np.array(seat.facing))
    out = normalize(front[:2])
    facing = float(angle_of(out)) if goal.facing is None else goal.facing
    edge = Stand(place[:2] + seat.depth / 2 * out, facing, out, seat, sideways=True)
    asides = [aside for aside in ALONG_SEAT if abs(aside) < seat.width / 2]
    return [[replace(edge, place=edge.moved(far, aside)) for far in AISLE] for aside in asides]


def _open_sides(seat: Seat, collider: Collider, up: Array) -> list[str]:
    """The SIDES of a seat at which no part of the thing rises that is in the way of sitting down."""
    front, place = normalize(np.array(seat.facing)), np.array(seat.place)
    left = np.cross(up, front)
    away, half = collider.cuboids.centre - place, collider.cuboids.half
    rises = away @ up + half @ np.abs(up) > RISES
    along, aside = (np.abs(away @ way) - half @ np.abs(way) for way in (front, left))
    out = []
    for name, way, reach, beside, width in (
        ("front", front, seat.depth / 2, aside, seat.width / 2),
        ("left", left, seat.width / 2, along, seat.depth / 2),
        ("right", -left, seat.width / 2, along, seat.depth / 2),
        ("back", -front, seat.depth / 2, aside, seat.width / 2),
    ):
        closed = rises & (beside < width - RISES) & (away @ way + half @ np.abs(way) > reach - RISES)
        out += [] if closed.any() else [name]
    return out


def is_up(place: Array, thing: Collider, pose: Array) -> bool:
    """Whether a place (2,) is on top of a thing that is climbed, at a pose (7,): where it is as high as its landing."""
    handles = thing.handles
    if not isinstance(handles, Climbable):
        return False
    parts = Footprints.of(Surroundings([replace(thing, poses=pose[None])]).at(0))
    top = parts.high[parts.distances(place[None])[0] <= 0].max(initial=-np.inf)
    landing = rotate(pose[3:], np.array(handles.landing)) + pose[:3]
    return bool(abs(top - landing[2]) < LEVEL)


def _before(goal: Goal, collider: Collider, pose: Array, handles: Handles, distance: float) -> list[Stand]:
    """Where a body may stand before a thing at a pose (7,) that uses it by `handles`."""
    out = []
    before = distance + _steps(collider) if isinstance(handles, Climbable) else distance
    for place, outward in _sides(handles, before):
        world = rotate(pose[3:], place) + pose[:3]
        away = normalize(rotate(pose[3:], outward)[:2])
        out.append(Stand(world[:2], float(angle_of(-away)) if goal.facing is None else goal.facing, away, handles))
    return out


def _steps(collider: Collider) -> float:
    """Metres by which the lower steps of a flight lie before the edge over which it is climbed."""
    handles = collider.handles
    assert isinstance(handles, Climbable)
    back = -normalize(np.array(handles.facing))
    left = np.cross(back, _UP)
    away, half = collider.cuboids.centre - np.array(handles.edge), collider.cuboids.half
    before = np.abs(away @ left) - half @ np.abs(left) < 0.5 * handles.width - BEFORE
    return float((away @ back + half @ np.abs(back))[before].max(initial=0.0))


def _sides(handles: Handles, distance: float) -> list[tuple[Array, Array]]:
    """Places (3,) to stand and the directions (3,) from the thing to there, in the collider's frame."""
    if isinstance(handles, Seat):
        middle, front = np.array(handles.place), normalize(np.array(handles.facing))
        left = np.cross(_UP, front)
        deep, wide = 0.5 * handles.depth + distance, 0.5 * handles.width + distance
        ways = {"front": deep * front, "back": -deep * front, "left": wide * left, "right": -wide * left}
        return [(middle + ways[side], normalize(ways[side])) for side in handles.approaches or SIDES]
    if isinstance(handles, Surface):
        front = normalize(np.array(handles.facing))
        return [(abreast(handles, _UP) + (0.5 * handles.depth + distance) * front, front)]
    if isinstance(handles, Climbable):
        back = -normalize(np.array(handles.facing))
        return [(np.array(handles.edge) + distance * back, back)]
    if isinstance(handles, Carryable):
        middle, front = 0.5 * (np.array(handles.left) + np.array(handles.right)), normalize(np.array(handles.facing))
        return [(middle + distance * front, front)]
    assert isinstance(handles, Door)
    handle = np.array(handles.handle)
    across = normalize(np.cross(np.array(handles.axis), handle - np.array(handles.hinge)))
    return [(handle + sign * distance * across, sign * across) for sign in (1.0, -1.0)]
