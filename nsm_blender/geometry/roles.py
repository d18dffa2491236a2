# SPDX-License-Identifier: GPL-3.0-or-later
"""What a thing in the scene is for, and where a character takes hold of it: roles and their handles.

All places and directions are in the collider's own frame (see `colliders.Collider`): metres, unscaled, and with
the object standing as in the scene +Z of the world is the collider's `up`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from ..motion.rotations import Array

ROLES = ("obstacle", "seat", "door", "carryable", "surface", "climbable", "ground")
"""What a collider is for. The order is stored in files: append only."""

SIDES = ("front", "left", "right", "back")
"""Sides from which a seat may be approached, as its sitter sees them."""

WEIGHTS = ("light", "medium", "heavy")


@dataclass
class Seat:
    """Where one sits.

    place: middle of the sitting surface, where the hips come down. facing: unit vector along which the sitter looks.
    width, depth: metres across and along the facing. arm_rests: tops of the arm rests, none, one or two places.
    approaches: the free ones of SIDES.
    """

    place: list[float]
    facing: list[float]
    width: float
    depth: float
    arm_rests: list[list[float]] = field(default_factory=list)
    approaches: list[str] = field(default_factory=lambda: ["front"])


@dataclass
class Door:
    """A leaf that turns about a hinge.

    hinge: a point of the axis, at the leaf's lower edge. axis: unit vector of the axis, up. handle: where the hand
    takes hold, on the leaf's middle plane. width, height: metres of the leaf. angle: radians that it opens about the
    axis (positive is counter-clockwise from above).
    """

    hinge: list[float]
    axis: list[float]
    handle: list[float]
    width: float
    height: float
    angle: float


@dataclass
class Carryable:
    """A thing taken between two hands.

    left, right: middles of the two opposite faces where the palms lie, as the carrier sees them. facing: unit vector
    from the thing's middle towards the carrier. weight: one of WEIGHTS.
    """

    left: list[float]
    right: list[float]
    facing: list[float]
    weight: str = "light"


@dataclass
class Surface:
    """Where a thing is put down.

    place: the middle of the free area. facing: unit vector towards the character that puts it there. width, depth:
    metres of the area across and along the facing. spot: where in the area, as near as the thing fits; empty: near
    the front edge.
    """

    place: list[float]
    facing: list[float]
    width: float
    depth: float
    spot: list[float] = field(default_factory=list)


@dataclass
class Climbable:
    """A step or platform. edge: middle of the edge that is climbed over, on top. facing: unit vector of the
    climbing, horizontal. landing: where one stands afterwards. width: metres of the edge."""

    edge: list[float]
    facing: list[float]
    landing: list[float]
    width: float


Handles = Seat | Door | Carryable | Surface | Climbable

KINDS: dict[str, type[Handles]] = {
    "seat": Seat,
    "door": Door,
    "carryable": Carryable,
    "surface": Surface,
    "climbable": Climbable,
}
"""The handles of each role that has any."""


@dataclass
class Proposal:
    """Handles that were found on a thing, None when none were; what is wrong with them, in words; how sure, 0 to 1.

    also: handles of its other parts of the same use: other boards of a shelf, the other wing of a corner sofa.
    """

    handles: Handles | None
    warnings: list[str] = field(default_factory=list)
    confidence: float = 0.0
    also: list[Handles] = field(default_factory=list)


_DIRECTIONS = ("facing", "axis")
_PLACES = ("place", "spot", "arm_rests", "hinge", "handle", "left", "right", "edge", "landing")


def moved(handles: Handles, rotation: Array, shift: Array) -> Handles:
    """The handles in another frame: `rotation` (3, 3) turns this frame's vectors into that frame's, then `shift` (3,)
    in metres is added to places."""
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
    """Handles as JSON's plain data."""
    return None if handles is None else asdict(handles)


def from_data(role: str, data: dict[str, Any] | None) -> Handles | None:
    """The handles of `role` again. Raises TypeError when the data are not those of the role."""
    return None if data is None or role not in KINDS else KINDS[role](**data)
