# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles of colliders and their handles: what a thing is for, and where a character takes hold of it.

All places and directions are in the collider's own frame (see `colliders.Collider`): meters, unscaled; while the object
stands as in the scene, the world's +Z is the collider's `up`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Annotated, Any

import numpy as np

from ..errors import ColliderError
from ..files import Count, NotZero, OneOf, Sizes, Where, Within, record
from ..motion.rotations import Array

ROLES = ("obstacle", "seat", "door", "carryable", "surface", "climbable", "ground")
"""Roles of a collider. The order is stored in files: append only."""

SIDES = ("front", "left", "right", "back")
"""Sides from which a seat may be approached, as seen by its sitter."""

WEIGHTS = ("light", "medium", "heavy")
"""Weight classes of carried things; the order is that of rising weight."""

LARGEST_THING = 1000.0
"""Meters from a collider's origin to its farthest handle or cuboid along an axis; a thing that is larger is a mistake
of units."""
Spot = Annotated[list[float], Sizes(3), Within(-LARGEST_THING, LARGEST_THING, "m")]
"""x, y, z in a collider's frame, meters."""
Direction = Annotated[list[float], Sizes(3), Within(-2, 2), NotZero()]
"""A unit vector."""
Extent = Annotated[float, Within(0, LARGEST_THING, "m")]
"""A size in meters."""


@dataclass
class Seat:
    """A place to sit.

    place: middle of the sitting surface, where the hips come down. facing: unit vector along which the sitter looks.
    width, depth: meters across and along the facing. arm_rests: tops of the arm rests, none, one or two places.
    approaches: the free sides among SIDES.
    """

    place: Spot
    facing: Direction
    width: Extent
    depth: Extent
    arm_rests: Annotated[list[Spot], Count(0, 2)] = field(default_factory=list)
    approaches: Annotated[list[str], Count(0, len(SIDES)), OneOf(SIDES)] = field(default_factory=lambda: ["front"])


@dataclass
class Door:
    """A leaf that turns about a hinge.

    hinge: a point of the axis, at the leaf's lower edge. axis: unit vector of the axis, up. handle: where the hand
    takes hold, on the leaf's middle plane. width, height: meters of the leaf. angle: radians that it opens about the
    axis (positive is counter-clockwise from above).
    """

    hinge: Spot
    axis: Direction
    handle: Spot
    width: Extent
    height: Extent
    angle: Annotated[float, Within(-7, 7, "radians")]


@dataclass
class Carryable:
    """A thing carried between two hands.

    left, right: middles of the two opposite faces where the palms lie, as seen by the carrier. facing: unit vector from
    the thing's middle toward the carrier. weight: one of WEIGHTS.
    """

    left: Spot
    right: Spot
    facing: Direction
    weight: Annotated[str, OneOf(WEIGHTS)] = "light"


@dataclass
class Surface:
    """A surface on which a thing is put down.

    place: the middle of the free area. facing: unit vector toward the character that puts a thing there. width, depth:
    meters of the area across and along the facing. spot: place in the area that the thing is put as near to as it fits;
    empty for near the front edge.
    """

    place: Spot
    facing: Direction
    width: Extent
    depth: Extent
    spot: Annotated[list[float], Sizes(0, 3), Within(-LARGEST_THING, LARGEST_THING, "m")] = field(default_factory=list)


@dataclass
class Climbable:
    """A step or platform.

    edge: middle of the edge that is climbed over, on top. facing: unit vector of the climbing direction, horizontal.
    landing: place where the character stands afterwards. width: meters of the edge.
    """

    edge: Spot
    facing: Direction
    landing: Spot
    width: Extent


Handles = Seat | Door | Carryable | Surface | Climbable

KINDS: dict[str, type[Handles]] = {
    "seat": Seat,
    "door": Door,
    "carryable": Carryable,
    "surface": Surface,
    "climbable": Climbable,
}
"""The class of handles of each role that has handles."""


@dataclass
class Proposal:
    """Handles found on a thing, None without any; their problems as sentences; and the confidence, 0 to 1.

    also: handles of its other parts of the same use, such as other boards of a shelf or the other wing of a corner
    sofa.
    """

    handles: Handles | None
    warnings: list[str] = field(default_factory=list)
    confidence: float = 0.0
    also: list[Handles] = field(default_factory=list)


_DIRECTIONS = ("facing", "axis")
"""Fields of handles that are unit vectors."""
_PLACES = ("place", "spot", "arm_rests", "hinge", "handle", "left", "right", "edge", "landing")
"""Fields of handles that are places, or lists of places."""


def moved(handles: Handles, rotation: Array, shift: Array) -> Handles:
    """The handles in another frame: `rotation` (3, 3) turns vectors of this frame into the other, then `shift` (3,) in
    meters is added to places."""
    change: dict[str, Any] = {}
    for item in fields(handles):
        value = getattr(handles, item.name)
        if item.name in _DIRECTIONS:
            change[item.name] = (rotation @ np.array(value)).tolist()
        elif item.name in _PLACES:
            places = np.array(value, dtype=float)
            change[item.name] = (places.reshape(-1, 3) @ rotation.T + shift).reshape(places.shape).tolist()
    return replace(handles, **change)


def to_data(handles: Handles | None) -> dict[str, Any] | None:
    """The handles as plain JSON data."""
    return None if handles is None else asdict(handles)


def from_data(role: str, data: dict[str, Any] | None) -> Handles | None:
    """The handles of `role` from plain JSON data.

    Raises TypeError when the data are those of another role, and ColliderError when a field does not hold what it
    declares.
    """
    if data is None or role not in KINDS:
        return None
    names = {item.name for item in fields(KINDS[role])}
    if not isinstance(data, dict) or not set(data) <= names:
        raise TypeError(f"these are no handles of a {role}")
    return read_handles(role, data, Where(f"handles of a {role}", ColliderError))


def read_handles(role: str, data: object, where: Where) -> Handles | None:
    """The handles of `role` from plain JSON data. Raises the error of `where`, naming the field."""
    return None if data is None or role not in KINDS else record(KINDS[role], data, where)
