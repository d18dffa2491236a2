# SPDX-License-Identifier: GPL-3.0-or-later
"""Where and how one sits on a thing, found from its form."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from .around import distance, standing_room
from .colliders import Placed
from .form import SIDES, Form, Level, largest_rectangle
from .reach import ARM_REST, SIT_HEIGHTS, STANDING
from .roles import Proposal, Seat, moved

_USUAL = 0.45
_LOW_BACK = 0.08
"""Metres that something beside a seat must rise on average to be a back or an arm rest."""
_DEEP, _EDGE = 0.8, 0.3
"""Metres: a seat deeper than the first is sat on at its edge, with the hips so far from it."""
_LONG = 1.35
"""How many times as long as deep a seat is on which one only sits across."""


def propose_seat(form: Form, around: Placed | None) -> Proposal:
    """A seat in the form's aligned frame; none when no level place is large enough."""
    level = _sitting_level(form)
    if level is None:
        return Proposal(None, ["No level place to sit on was found: give the object another role."])
    lean = _back_direction(form, level)
    if form.aligned < 0.3 and lean is not None:
        # A round seat shows no sides, but what rises beside it does.
        turned = form.aligned_to(lean)
        found = propose_seat(turned, around)
        return _turned_back(found, turned, form)
    walls = np.minimum(form.walls(level), 0.5)
    side, backed = _facing(form, level, walls, around)
    along = 1 if side % 2 == 0 else 0
    place, width, depth = level.middle, level.extent[1 - along], level.extent[along]
    if depth > _DEEP:
        # On a bed one sits at its edge.
        place[:2] += SIDES[side] * (depth / 2 - _EDGE)
        depth = 2 * _EDGE
    facing = [*SIDES[side].tolist(), 0.0]
    arms = [arm for turn in (1, 3) if (arm := _arm_rest(form, level, (side + turn) % 4)) is not None]
    seat = Seat(place.tolist(), facing, float(width), float(depth), arms, _approaches(form, level, side, walls, around))
    warnings = []
    if np.rad2deg(form.slope(level)) > 8:
        warnings.append(f"The seat leans by {np.rad2deg(form.slope(level)):.0f} degrees: is the object tilted?")
    sure = (0.95 if backed else 0.6) * (1.0 if SIT_HEIGHTS[0] <= level.height - form.floor <= SIT_HEIGHTS[1] else 0.5)
    return Proposal(seat, warnings, sure)


def check_seat(seat: Seat, form: Form | None, floor: float, around: Placed | None) -> list[str]:
    """What is wrong with a seat, in words. seat: in the world. form: of the thing, aligned to the seat's facing.
    floor: height on which the sitter's feet stand."""
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
    best, most = None, 0.0
    for level in form.levels(clearance=0.5, area=0.035):
        height = level.height - form.floor
        likely = 0.02 + np.exp(-(((height - _USUAL) / 0.25) ** 2))
        if height < 0.5 * SIT_HEIGHTS[0]:
            # A foot or a base is far more likely than a seat so low.
            likely *= 0.05
        large = min(level.area, 0.3) / 0.3 * np.clip(level.extent.min() / 0.3, 0, 1) ** 2
        backed = 1.5 if form.walls(level).max() > 0.2 else 1.0
        if likely * large * backed > most:
            best, most = level, float(likely * large * backed)
    return None if best is None else _without_corners(form, best)


def _without_corners(form: Form, level: Level) -> Level:
    """The largest rectangle of a level that is no single one, such as that of a corner sofa; else the level."""
    if level.area > 0.7 * float(np.prod(level.extent)):
        return level
    x0, y0, x1, y1 = largest_rectangle(level.mask)
    mask = np.zeros_like(level.mask)
    mask[x0:x1, y0:y1] = True
    return form.part(level, mask)


def _facing(form: Form, level: Level, walls: Array, around: Placed | None) -> tuple[int, bool]:
    """The side that the sitter looks to, and whether a back says so."""
    # Looking away from what rises highest, and never at anything: arms as high as the back leave one way.
    leaning = np.array([walls[(side + 2) % 4] - 2 * walls[side] for side in range(4)])
    # Of two backs as high as each other one leans against the longer one.
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
    """Where one stands beside a side of the seat, on the floor."""
    reach = level.extent[0 if side % 2 else 1] / 2 + out
    return np.array([*(level.middle[:2] + SIDES[side] * reach), form.floor])


def _approaches(form: Form, level: Level, side: int, walls: Array, around: Placed | None) -> list[str]:
    out = []
    for name, turn in (("front", 0), ("left", 1), ("right", 3), ("back", 2)):
        to = (side + turn) % 4
        if walls[to] < _LOW_BACK and standing_room(around, form.to_world(_beside(form, level, to))) > STANDING:
            out.append(name)
    return out


def _back_direction(form: Form, level: Level) -> Array | None:
    """From what rises over the seat to its middle, (2,); None when it rises about evenly or not at all."""
    points = form.points
    rise = points[:, 2] - level.height
    near = (rise > 0.12) & (rise < 0.8)
    if near.sum() < 0.01 * len(points):
        return None
    away = level.middle[:2] - points[near, :2].mean(axis=0)
    return away if np.linalg.norm(away) > 0.25 * level.extent.min() else None


def _turned_back(found: Proposal, turned: Form, form: Form) -> Proposal:
    """A proposal made in one aligned frame, in the aligned frame of the other form."""
    if found.handles is not None:
        found.handles = moved(found.handles, form.world.T @ turned.world, np.zeros(3))
    return found


def _arm_rest(form: Form, level: Level, side: int) -> list[float] | None:
    """The middle of the arm rest on a side of the seat, if there is one."""
    across = 0 if side % 2 else 1
    sign = SIDES[side][across]
    edge = level.middle[across] + sign * level.extent[across] / 2
    points = form.points
    out = (points[:, across] - edge) * sign
    along = np.abs(points[:, 1 - across] - level.middle[1 - across])
    rise = points[:, 2] - level.height
    near = (out > -0.05) & (out < 0.28) & (along < 0.42 * level.extent[1 - across]) & (rise > 0.08) & (rise < 0.38)
    if near.sum() < 20:
        return None
    # The top of what rises there; a rest is level, so its top holds many points.
    top = float(np.quantile(rise[near], 0.97))
    rest = points[near & (np.abs(rise - top) < 0.02)]
    if np.ptp(rest[:, 1 - across]) < 0.12 or np.ptp(rest[:, across]) < 0.02:
        return None
    place = (rest.max(axis=0) + rest.min(axis=0)) / 2
    place[2] = float(np.median(rest[:, 2]))
    return None if abs(place[across] - level.middle[across]) > ARM_REST else [float(v) for v in place]


def _against_form(place: Array, form: Form) -> list[str]:
    """What the thing itself says against a seat that looks along the form's -Y."""
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
