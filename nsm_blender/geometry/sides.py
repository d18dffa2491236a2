# SPDX-License-Identifier: GPL-3.0-or-later
"""The other sides from which a thing can be used, beside the side that its handles name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..motion.rotations import Array, normalize
from .colliders import Cuboids
from .reach import PUT_DEPTH, SPAN
from .roles import SIDES, Carryable, Seat, Surface

_PALM = 0.06
"""Half the size in meters of the patch that a palm lies on."""
_LEVEL = 0.03
"""Largest difference in height in meters between parts of one level top."""
_RIM = 0.05
"""Largest rise in meters of a rim over a top over which things are put on it."""
_ABOVE = 0.5
"""Height in meters over the top that has to be free for putting a thing on it."""
_WIDE = 0.25
"""Distance in meters to either side within which the space over the top has to be free."""
_BEYOND = 0.3
"""Distance in meters beyond the edge in which no part of the thing itself may be in the way of a body."""
_SQUARE = 1.4
"""Ratio of length to breadth from which a seat is only sat on across."""
_NARROWEST = 0.12
"""Least depth in meters of an area on which things are put down."""


def other_grasps(grasp: Carryable, cuboids: Cuboids) -> list[Carryable]:
    """Grasps of the thing from its opposite side, between the same faces, and from those faces' sides, between the two
    others, where hands span these. All in the frame of `cuboids`, the thing's own."""
    left, right, facing = (np.array(v, dtype=float) for v in (grasp.left, grasp.right, grasp.facing))
    out = [replace(grasp, left=grasp.right, right=grasp.left, facing=(-facing).tolist())]
    middle, across = (left + right) / 2, normalize(left - right)
    facing = normalize(facing - (facing @ across) * across)
    palms = _on_surface(cuboids, middle, facing)
    if palms is None or not SPAN[0] <= palms[1] - palms[0] <= SPAN[1]:
        return out
    behind, before = (middle + along * facing for along in palms)
    # Seen from where the left palm was, the thing's front is at the right.
    out.append(replace(grasp, left=behind.tolist(), right=before.tolist(), facing=across.tolist()))
    out.append(replace(grasp, left=before.tolist(), right=behind.tolist(), facing=(-across).tolist()))
    return out


def other_surfaces(surface: Surface, cuboids: Cuboids, up: Array) -> list[Surface]:
    """Surfaces for the same top from its left, right and back, as far as these are open. All in the frame of `cuboids`,
    in which `up` (3,) is up."""
    front = normalize(np.array(surface.facing, dtype=float))
    left = normalize(np.cross(up, front))
    sizes = ((left, surface.width, surface.depth), (-left, surface.width, surface.depth))
    found = [
        _from_side(surface, cuboids, up, side, along, across)
        for side, along, across in (*sizes, (-front, surface.depth, surface.width))
    ]
    return [other for other in found if other is not None]


def other_seats(seat: Seat, up: Array) -> list[Seat]:
    """Seats on the same place that look back, left and right; none with a back or arm rests, and sideways only where it
    is about as wide as deep. All in the thing's own frame, in which `up` (3,) is up."""
    if set(seat.approaches) != set(SIDES) or seat.arm_rests:
        return []
    front = np.array(seat.facing, dtype=float)
    left = np.cross(up, front)
    out = [replace(seat, facing=(-front).tolist())]
    if max(seat.width, seat.depth) < _SQUARE * min(seat.width, seat.depth):
        turned = replace(seat, width=seat.depth, depth=seat.width)
        out += [replace(turned, facing=side.tolist()) for side in (left, -left)]
    return out


def _on_surface(cuboids: Cuboids, middle: Array, along: Array) -> tuple[float, float] | None:
    """Lowest and highest coordinate in meters along a direction (3,) of the cuboids on the line through `middle`
    (3,)."""
    away = cuboids.center - middle
    beside: Array = away - (away @ along)[:, None] * along
    on_line = (np.abs(beside) - cuboids.half < _PALM).all(axis=1)
    if not on_line.any():
        return None
    reach, at = cuboids.half[on_line] @ np.abs(along), away[on_line] @ along
    return float((at - reach).min()), float((at + reach).max())


def _from_side(
    surface: Surface, cuboids: Cuboids, up: Array, side: Array, along: float, across: float
) -> Surface | None:
    """The top used from `side` (3,), along which its free area is `along` meters deep; None where that side is
    closed."""
    place = np.array(surface.place, dtype=float)
    aside = np.cross(up, side)
    away, half = cuboids.center - place, cuboids.half
    out, reach = away @ side, half @ np.abs(side)
    beside = np.abs(away @ aside) - half @ np.abs(aside)
    top, bottom = away @ up + half @ np.abs(up), away @ up - half @ np.abs(up)
    level = (np.abs(top) < _LEVEL) & (beside < _PALM)
    if not level.any():
        return None
    edge = float((out + reach)[level].max())
    rises = (top > _RIM) & (bottom < _ABOVE) & (beside < min(across / 2, _WIDE))
    if (rises & (out + reach > 0) & (out - reach < edge + _BEYOND)).any():
        return None
    depth = min(edge + along / 2, PUT_DEPTH)
    if depth < _NARROWEST:
        return None
    middle = place + (edge - depth / 2) * side
    return Surface(middle.tolist(), side.tolist(), across, depth, surface.spot)
