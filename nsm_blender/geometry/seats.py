# SPDX-License-Identifier: GPL-3.0-or-later
"""Seats of a thing, found from its form: place, facing, arm rests and free sides."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from .arm_rests import arm_rest
from .clearance import distance, standing_room
from .colliders import Placed
from .form import SEAT_ROOM, SIDES, Form, Level, largest_rectangle
from .pillows import with_hidden
from .reach import SIT_HEIGHTS, STANDING
from .roles import Handles, Proposal, Seat, moved

_USUAL = 0.45
"""Usual height in meters of a seat over the floor."""
_LOW_BACK = 0.08
"""Mean height in meters from which something beside a seat is a back or an arm rest."""
_ROUNDED = 0.12
"""Distance in meters within which the edge of a cushion or a mattress is rounded off."""
_ARMED = 1.4
"""Factor by which a level is likelier a seat when it lies between two arms."""
_FREE = 0.38
"""Least width and depth in meters between the pillows on a seat, for a sitter that leaves them alone."""
_WING = 0.4
"""Least width and depth in meters of a corner sofa's other wing."""
_MARGIN, _BACK = 0.1, 0.01
"""For a seat that is known by its back rest: meters beyond the usual sitting heights, and least share of the surface
that its back rest has."""
_TRUNK, _IN_THE_WAY = 0.14, 0.002
"""Meters to all sides of the hips that a trunk needs, and largest share of a thing's surface that may be there."""
_DEEP, _EDGE = 0.8, 0.28
"""Meters: a deeper seat than the first is sat on at its edge, with the hips the second distance from it."""
_LONG = 1.35
"""Ratio of length to depth beyond which a seat is only sat on across."""


def propose_seat(form: Form, around: Placed | None) -> Proposal:
    """Propose a seat in the form's aligned frame; none when no level place is large enough.

    The other places to sit, such as a corner sofa's other wing or a bed's other edges, are the proposal's `also`.
    """
    whole = _sitting_level(form)
    if whole is None:
        return Proposal(None, ["No level place to sit on was found: give the object another role."])
    level = _without_corners(form, whole)
    lean = _back_direction(form, level)
    if form.aligned < 0.3 and lean is not None:
        # A round seat shows no sides, but what rises beside it does.
        turned = form.aligned_to(lean)
        found = propose_seat(turned, around)
        return _turned_back(found, turned, form)
    walls = np.minimum(form.walls(level), 0.5)
    side, backed = _facing(form, level, walls, around)
    seat = _seat(form, level, side, walls, around)
    warnings = []
    if np.rad2deg(form.slope(level)) > 8:
        warnings.append(f"The seat leans by {np.rad2deg(form.slope(level)):.0f} degrees: is the object tilted?")
    sure = (0.95 if backed else 0.6) * (1.0 if SIT_HEIGHTS[0] <= level.height - form.floor <= SIT_HEIGHTS[1] else 0.5)
    also: list[Handles] = []
    if level.extent[1 if side % 2 == 0 else 0] > _DEEP:
        edges = [other for other in range(4) if other != side and walls[other] < _LOW_BACK]
        also += [_seat(form, level, other, walls, around) for other in edges]
    also += [wing for wing in _wings(form, whole, level, around) if wing.approaches]
    return Proposal(seat, warnings, sure, also)


def is_backed(seat: Seat, form: Form) -> bool:
    """Whether something rises behind a seat in the form's aligned frame, and people sit at about its height."""
    low, high = SIT_HEIGHTS
    if not low - _MARGIN <= seat.place[2] - form.floor <= high + _MARGIN:
        return False
    away = form.points - np.array(seat.place)
    facing = np.array(seat.facing)
    back, rise = -(away @ facing), away[:, 2]
    beside = np.abs(away @ np.cross([0.0, 0.0, 1.0], facing)) < seat.width / 3
    behind = beside & (back > seat.depth / 2 - 0.08) & (back < seat.depth / 2 + 0.3) & (rise > 0.15) & (rise < 0.8)
    return bool(behind.sum() > _BACK * len(away))


def is_open(seat: Seat, form: Form) -> bool:
    """Whether a body has room on a seat in the form's aligned frame: nothing of the thing itself is above its middle or
    before it, as in a cupboard or between the boards of a shelf."""
    away = form.points - np.array(seat.place)
    facing = np.array(seat.facing)
    front, beside, rise = away @ facing, np.abs(away @ np.cross([0.0, 0.0, 1.0], facing)), away[:, 2]
    above = (np.abs(front) < _TRUNK) & (beside < _TRUNK) & (rise > 0.5) & (rise < 1.2)
    before = (front > seat.depth / 2 - 0.05) & (front < seat.depth / 2 + 0.3) & (beside < _TRUNK)
    before &= (rise > 0.15) & (rise < 0.8)
    return bool(max(above.sum(), before.sum()) < _IN_THE_WAY * len(away))


def _seat(form: Form, level: Level, side: int, walls: Array, around: Placed | None) -> Seat:
    """The seat on a level between its arm rests, with the sitter looking to a side."""
    along = 1 if side % 2 == 0 else 0
    across = 1 - along
    place, width, depth = level.middle, float(level.extent[across]), float(level.extent[along])
    if depth > _DEEP:
        # On a bed the sitter is at its edge.
        place[along] = _outer_edge(form, level, side) - SIDES[side][along] * _EDGE
        depth = 2 * _EDGE
    arms, ends = [], [float(level.low[across]), float(level.high[across])]
    for turn in (1, 3):
        beside = (side + turn) % 4
        found = arm_rest(form, level, beside)
        if found is not None:
            arms.append(found[0])
            low = SIDES[beside][across] < 0
            ends[0 if low else 1] = max(ends[0], found[1]) if low else min(ends[1], found[1])
    if arms:
        place[across], width = (ends[0] + ends[1]) / 2, ends[1] - ends[0]
    facing = [*SIDES[side].tolist(), 0.0]
    return Seat(place.tolist(), facing, width, depth, arms, _approaches(form, level, side, walls, around))


def _outer_edge(form: Form, level: Level, side: int) -> float:
    """Coordinate of the outermost surface along an edge of a level: edges of cushions are rounded off."""
    along = 1 if side % 2 == 0 else 0
    sign, points = SIDES[side][along], form.points
    edge = level.middle[along] + sign * level.extent[along] / 2
    out = (points[:, along] - edge) * sign
    near = (np.abs(out) < _ROUNDED) & (np.abs(points[:, 2] - level.height + _ROUNDED / 2) < _ROUNDED / 2 + 0.01)
    near &= np.abs(points[:, 1 - along] - level.middle[1 - along]) < 0.3 * level.extent[1 - along]
    return float(edge + sign * np.quantile(out[near], 0.98)) if near.sum() > 20 else float(edge)


def _wings(form: Form, whole: Level, used: Level, around: Placed | None) -> list[Seat]:
    """Seats on the parts of a level beside the rectangle in use, such as the other wing of a corner sofa."""
    out: list[Seat] = []
    left = whole.mask & ~used.mask
    while True:
        x0, y0, x1, y1 = largest_rectangle(left)
        if min(x1 - x0, y1 - y0) * form.voxels.size < _WING:
            return out
        mask = np.zeros_like(left)
        mask[x0:x1, y0:y1] = True
        left &= ~mask
        part = form.part(whole, mask)
        walls = np.minimum(form.walls(part), 0.5)
        out.append(_seat(form, part, _facing(form, part, walls, around)[0], walls, around))


def check_seat(seat: Seat, form: Form | None, floor: float, around: Placed | None) -> list[str]:
    """List the problems of a seat in the world, one sentence each. form: of the thing, aligned to the seat's facing.
    floor: height in meters on which the sitter's feet stand."""
    place, facing = np.array(seat.place), np.array(seat.facing)
    out = []
    height = place[2] - floor
    if height > SIT_HEIGHTS[1]:
        out.append(
            f"The seat is {height:.2f} m high: people sit at {SIT_HEIGHTS[0]:.2f} to {SIT_HEIGHTS[1]:.2f} m. Lower it."
        )
    elif height < SIT_HEIGHTS[0]:
        out.append(
            f"The seat is only {height:.2f} m high: people sit at {SIT_HEIGHTS[0]:.2f} to {SIT_HEIGHTS[1]:.2f} m."
        )
    if seat.width < 0.26 or seat.depth < 0.20:
        out.append(f"The seat is only {100 * seat.width:.0f} x {100 * seat.depth:.0f} cm: too small to sit on safely.")
    if abs(facing[2]) > 0.3:
        out.append("The facing points up or down: turn its handle level.")
    if form is not None:
        out += _against_form(place, form)
    front = place + facing * (0.15 + np.arange(4)[:, None] * 0.1)
    torso = (front + np.array([0.0, 0.0, 1.0]) * np.array([0.4, 0.6, 0.8])[:, None, None]).reshape(-1, 3)
    if distance(around, torso).min() < 0.05:
        out.append("The sitter faces a wall or another thing: turn the facing, or move the seat away from it.")
    above = place + np.array([0.0, 0.0, 1.0]) * np.arange(0.2, 0.85, 0.1)[:, None]
    if distance(around, above).min() < 0.02:
        out.append("Something hangs over the seat: there is no room for the head and the body.")
    if not seat.approaches:
        out.append("The seat is blocked on all sides: clear the floor in front of it or beside it.")
    return out


def _sitting_level(form: Form) -> Level | None:
    """The level on which people most likely sit; parts hidden by pillows belong to it where too little is free."""
    best, most = None, 0.0
    for free in form.levels(SEAT_ROOM, area=0.035):
        level = with_hidden(form, free)
        height = level.height - form.floor
        likely = 0.02 + np.exp(-(((height - _USUAL) / 0.25) ** 2))
        if height < 0.5 * SIT_HEIGHTS[0]:
            # A foot or a base is far more likely than a seat so low.
            likely *= 0.05
        large = min(level.area, 0.3) / 0.3 * np.clip(level.extent.min() / 0.3, 0, 1) ** 2
        walls = form.walls(level)
        backed = 1.5 if walls.max() > 0.2 else 1.0
        # Between two arms there is a seat, on top of them there is none.
        armed = _ARMED if max(walls[::2].min(), walls[1::2].min()) > _LOW_BACK else 1.0
        if likely * large * backed * armed > most:
            best, most = (free, level), float(likely * large * backed * armed)
    if best is None:
        return None
    return best[0] if _without_corners(form, best[0]).extent.min() >= _FREE else best[1]


def _without_corners(form: Form, level: Level) -> Level:
    """The rectangle of a level that is sat on: its extent, or, where that is far from full, the largest rectangle on
    it, as on a corner sofa with wings of the same length."""
    low, high = (
        np.round((end - form.voxels.origin[:2]) / form.voxels.size).astype(int) for end in (level.low, level.high)
    )
    mask = np.zeros_like(level.mask)
    mask[low[0] : high[0], low[1] : high[1]] = True
    if (level.mask & mask).sum() < 0.7 * mask.sum():
        mask[:] = False
        x0, y0, x1, y1 = largest_rectangle(level.mask)
        mask[x0:x1, y0:y1] = True
    return form.part(level, level.mask & mask)


def _facing(form: Form, level: Level, walls: Array, around: Placed | None) -> tuple[int, bool]:
    """The side that the sitter looks to, and whether a back tells it."""
    # The sitter looks away from what rises highest, and never at anything: arms as high as the back leave one side.
    leaning = np.array([walls[(side + 2) % 4] - 2 * walls[side] for side in range(4)])
    # Of two backs of the same height the longer is the backrest.
    leaning += 0.05 * np.array([level.extent[side % 2] for side in range(4)]) / level.extent.max()
    if leaning.max() > _LOW_BACK + 0.05:
        return int(np.argmax(leaning)), True
    ways = [0, 1, 2, 3]
    if level.extent.max() > _LONG * level.extent.min():
        ways = [0, 2] if level.extent[0] > level.extent[1] else [1, 3]
    free = [round(min(standing_room(around, form.to_world(_beside(form, level, side))), 1.0), 1) for side in ways]
    own = [float(SIDES[side] @ SIDES[form.front]) for side in ways]
    return max(zip(ways, free, own, strict=True), key=lambda way: (way[1], way[2]))[0], False


def _beside(form: Form, level: Level, side: int, out: float = 0.35) -> Array:
    """The place (3,) on the floor where the character stands beside a side of the seat."""
    reach = level.extent[0 if side % 2 else 1] / 2 + out
    return np.array([*(level.middle[:2] + SIDES[side] * reach), form.floor])


def _approaches(form: Form, level: Level, side: int, walls: Array, around: Placed | None) -> list[str]:
    """The sides of the seat, as seen by its sitter, from which the character may come."""
    out = []
    for name, turn in (("front", 0), ("left", 1), ("right", 3), ("back", 2)):
        to = (side + turn) % 4
        if walls[to] < _LOW_BACK and standing_room(around, form.to_world(_beside(form, level, to))) > STANDING:
            out.append(name)
    return out


def _back_direction(form: Form, level: Level) -> Array | None:
    """Direction (2,) from what rises over the seat to its middle; None when it rises about evenly or not at all."""
    points = form.points
    rise = points[:, 2] - level.height
    near = (rise > 0.12) & (rise < 0.8)
    if near.sum() < 0.01 * len(points):
        return None
    away = level.middle[:2] - points[near, :2].mean(axis=0)
    return away if np.linalg.norm(away) > 0.25 * level.extent.min() else None


def _turned_back(found: Proposal, turned: Form, form: Form) -> Proposal:
    """Transform a proposal from one aligned frame into that of the other form."""
    if found.handles is not None:
        into = form.world.T @ turned.world
        found.handles = moved(found.handles, into, np.zeros(3))
        found.also = [moved(part, into, np.zeros(3)) for part in found.also]
    return found


def _against_form(place: Array, form: Form) -> list[str]:
    """List the conflicts of the thing's form with a seat that looks along the form's -Y."""
    local = place @ form.world
    points = form.points - local
    rise = points[:, 2]
    out = []
    middle = np.abs(points[:, 0]) < 0.15
    before = middle & (points[:, 1] < -0.12) & (points[:, 1] > -0.6) & (rise > 0.15) & (rise < 0.7)
    if before.sum() > 0.004 * len(points):
        out.append("The sitter faces a part of the seat, perhaps its back rest: turn the facing round.")
    under = (np.hypot(points[:, 0], points[:, 1]) < 0.15) & (np.abs(rise) < 0.06)
    if not under.any():
        out.append("There is no surface under the seat's handle: move it onto the seat.")
    return out
