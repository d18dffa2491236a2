# SPDX-License-Identifier: GPL-3.0-or-later
"""Level tops for putting things down and for climbing, found from a thing's form."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from .clearance import distance, standing_room
from .colliders import Placed
from .form import SIDES, STEP_ROOM, TOP_ROOM, Form, Level, largest_rectangle
from .reach import CLIMB_HEIGHTS, LANDING, PUT_DEPTH, PUT_HEIGHTS, STANDING
from .roles import Climbable, Handles, Proposal, Surface
from .stairs import flight, is_flight, stairs_text

_EASY_HEIGHT = 0.9
"""Height in meters over the floor at which things are put down most easily."""
_NARROWEST, _OTHER = 0.12, 0.2
"""Least width and depth in meters of the free area of a thing's best surface, and of its other surfaces."""
_UP = np.array([0.0, 0.0, 1.0])


def propose_surface(form: Form, around: Placed | None) -> Proposal:
    """Propose a free area to put a thing down, in the form's aligned frame; none when no level place is large enough.

    The other areas, such as a shelf's other boards, are the proposal's `also`.
    """
    areas = []
    for level in form.levels(TOP_ROOM, area=0.03):
        low, high = _free_area(form, level)
        if (high - low).min() < _NARROWEST:
            continue
        likely = 0.02 + np.exp(-(((level.height - form.floor - _EASY_HEIGHT) / 0.35) ** 2))
        areas.append((float(likely * min(np.prod(high - low), 0.3)), level, low, high))
    if not areas:
        return Proposal(None, ["No level place to put things on was found: give the object another role."])
    areas.sort(key=lambda area: -area[0])
    _, best, low, high = areas[0]
    surface, open_ = _surface(form, best, low, high, around)
    warnings = [] if open_ else ["Every side of the surface is closed: nothing can be put down there."]
    lean = np.rad2deg(form.slope(best))
    if lean > 5:
        warnings.append(f"The surface leans by {lean:.0f} degrees: things would slide off it.")
    also: list[Handles] = []
    for _, level, low, high in areas[1:]:
        if PUT_HEIGHTS[0] <= level.height - form.floor <= PUT_HEIGHTS[1] and (high - low).min() >= _OTHER:
            other, free = _surface(form, level, low, high, around)
            also += [other] if free else []
    return Proposal(surface, warnings, 0.9 if open_ else 0.3, also)


def _surface(form: Form, level: Level, low: Array, high: Array, around: Placed | None) -> tuple[Surface, bool]:
    """The part of a free area that is within reach of its best side, and whether that side is open."""
    side, open_ = _user_side(form, level, low, high, around)
    along, sign = (1 if side % 2 == 0 else 0), float(SIDES[side].sum())
    place = np.array([*(low + high) / 2, level.height])
    depth = float((high - low)[along])
    if depth / 2 > PUT_DEPTH:
        # The middle is out of reach: the area within reach of this side.
        edge = high[along] if sign > 0 else low[along]
        place[along] = edge - sign * PUT_DEPTH / 2
        depth = PUT_DEPTH
    return Surface(place.tolist(), [*SIDES[side].tolist(), 0.0], float((high - low)[1 - along]), depth), open_


def check_surface(surface: Surface, form: Form | None, floor: float, around: Placed | None) -> list[str]:
    """List the problems of a surface in the world, one sentence each. form: of the thing. floor: height in meters on
    which the character stands."""
    place, facing = np.array(surface.place), np.array(surface.facing)
    out = []
    height = place[2] - floor
    if height > PUT_HEIGHTS[1]:
        out.append(f"The surface is {height:.2f} m high: too high, things are put down at up to {PUT_HEIGHTS[1]} m.")
    if min(surface.width, surface.depth) < 0.15:
        out.append(
            f"The free area is only {100 * surface.width:.0f} x {100 * surface.depth:.0f} cm: few things fit on it."
        )
    above = place + np.array([0.0, 0.0, 1.0]) * np.arange(0.06, TOP_ROOM + 0.05, 0.05)[:, None]
    if distance(around, above).min() < 0.02:
        out.append("Something stands on the place where things go down: clear it, or move the handle.")
    stand = place + facing * (surface.depth / 2 + 0.3)
    stand[2] = floor
    if standing_room(around, stand) < STANDING:
        out.append("There is no room to stand before the surface: turn its facing to a free side.")
    if form is not None:
        local = place @ form.world
        near = (np.linalg.norm(form.points[:, :2] - local[:2], axis=1) < 0.15) & (
            np.abs(form.points[:, 2] - local[2]) < 0.06
        )
        if not near.any():
            out.append("There is no surface under the handle: move it onto the top.")
    return out


def propose_climb(form: Form, around: Placed | None) -> Proposal:
    """Propose the edge to climb over and the landing, in the form's aligned frame; none when there is no top to stand
    on.

    For stairs higher than what is climbed in one go, the edge is that of the lowest step, and the landing lies on the
    highest step.
    """
    steps = flight(form)
    if steps is not None and steps.treads[-1].height - form.floor > CLIMB_HEIGHTS[1]:
        return Proposal(steps.climb(), [], 0.9)
    levels = form.levels(STEP_ROOM, area=0.05)
    tops = [level for level in levels if level.extent.min() >= 0.18]
    if not tops:
        return Proposal(None, ["No level top to stand on was found: give the object another role."])
    low = [level for level in tops if level.height - form.floor <= CLIMB_HEIGHTS[1] + 0.2]
    top = max(low or tops, key=lambda level: level.height if low else -level.height)
    side = _climbing_side(form, top, tops, around)
    along = 1 if side % 2 == 0 else 0
    facing = -SIDES[side]
    reach = top.extent[along] / 2
    edge = np.array([*(top.middle[:2] - facing * reach), top.height])
    landing = edge + np.array([*facing, 0.0]) * min(LANDING, reach)
    climb = Climbable(edge.tolist(), [*facing.tolist(), 0.0], landing.tolist(), float(top.extent[1 - along]))
    return Proposal(climb, [], 0.9)


def check_climb(climb: Climbable, form: Form | None, floor: float, around: Placed | None) -> list[str]:
    """List the problems of a climb in the world, one sentence each. form: of the thing. floor: height in meters on
    which the character stands."""
    edge, facing, landing = (np.array(v, dtype=float) for v in (climb.edge, climb.facing, climb.landing))
    height = edge[2] - floor
    out = []
    stairs = is_flight(climb, _UP)
    if stairs:
        out.append(stairs_text(float(landing[2]) - floor))
    elif height > CLIMB_HEIGHTS[1]:
        out.append(f"The edge is {height:.2f} m high: people climb up to {CLIMB_HEIGHTS[1]:.1f} m in one go.")
    elif height < CLIMB_HEIGHTS[0]:
        out.append(f"The edge is only {100 * height:.0f} cm high: the character walks over it without climbing.")
    if climb.width < 0.4:
        out.append(f"The edge is only {100 * climb.width:.0f} cm wide: a body needs 40 cm.")
    ahead = float((landing - edge) @ facing)
    if ahead < 0.1:
        out.append("The landing does not lie behind the edge as the facing looks: turn the facing or move the landing.")
    if not stairs and abs(landing[2] - edge[2]) > 0.15:
        out.append("The landing is not at the height of the edge: move it onto the top.")
    if standing_room(around, landing) < STANDING:
        out.append("There is no room to stand on the landing.")
    before = edge - facing * 0.4
    before[2] = floor
    if standing_room(around, before) < STANDING:
        out.append("There is no room to stand before the edge: climb over another one.")
    if form is not None:
        local = landing @ form.world
        below = np.linalg.norm(form.points[:, :2] - local[:2], axis=1) < 0.2
        if not (below & (np.abs(form.points[:, 2] - local[2]) < 0.08)).any():
            out.append("There is nothing to stand on under the landing: move it onto the top.")
    return out


def _free_area(form: Form, level: Level) -> tuple[Array, Array]:
    """Low and high corner (2,) of the largest rectangle of the level, meters."""
    x0, y0, x1, y1 = largest_rectangle(level.mask)
    size, origin = form.voxels.size, form.voxels.origin[:2]
    return origin + size * np.array([x0, y0]), origin + size * np.array([x1, y1])


def _user_side(form: Form, level: Level, low: Array, high: Array, around: Placed | None) -> tuple[int, bool]:
    """The side from which things are put down, and whether that side is open."""
    origin = form.voxels.origin[:2]
    first, last = (np.round((corner - origin) / form.voxels.size).astype(int) for corner in (low, high))
    area = np.zeros_like(level.mask)
    area[first[0] : last[0], first[1] : last[1]] = True
    walls = form.walls(form.part(level, area), above=0.04, reach=TOP_ROOM)
    ways = []
    for side in range(4):
        along = 1 if side % 2 == 0 else 0
        size = high - low
        stand = np.array([*((low + high) / 2 + SIDES[side] * (size[along] / 2 + 0.3)), form.floor])
        room = min(standing_room(around, form.to_world(stand)), 0.5)
        ways.append(
            (
                bool(walls[side] < 0.05),
                bool(room > STANDING),
                bool(size[along] / 2 <= PUT_DEPTH),
                round(float(size[1 - along]), 1),
                _knee_room(form, level, side),
                float(SIDES[side] @ SIDES[form.front]),
                side,
            )
        )
    best = max(ways)
    return best[-1], best[0]


def _knee_room(form: Form, level: Level, side: int) -> bool:
    """Whether the space under the level's edge is open on this side."""
    points, across = form.points, 0 if side % 2 else 1
    out = (points[:, :2] - level.middle[:2]) @ SIDES[side] - level.extent[across] / 2
    under = (out > -0.12) & (out < 0.05) & (points[:, 2] < level.height - 0.08) & (points[:, 2] > form.floor + 0.1)
    aside = np.abs(points[:, 1 - across] - level.middle[1 - across]) < 0.3 * level.extent[1 - across]
    return not bool((under & aside).sum() > 10)


def _climbing_side(form: Form, top: Level, tops: list[Level], around: Placed | None) -> int:
    """The side to climb from: where a lower tread leads up, else where there is most room, else the thing's own
    front."""
    walls = form.walls(top)
    ways = []
    for side in range(4):
        along = 1 if side % 2 == 0 else 0
        edge = top.middle[:2] + SIDES[side] * top.extent[along] / 2
        before = edge + SIDES[side] * 0.1
        tread = any(
            level.height < top.height - 0.05 and (level.low < before).all() and (before < level.high).all()
            for level in tops
        )
        stand = np.array([*(edge + SIDES[side] * (0.7 if tread else 0.4)), form.floor])
        room = min(standing_room(around, form.to_world(stand)), 0.5)
        wide = min(float(top.extent[1 - along]), 0.6)
        ways.append(
            (
                bool(walls[side] < 0.1),
                tread,
                bool(room > STANDING),
                round(wide, 1),
                float(SIDES[side] @ SIDES[form.front]),
                side,
            )
        )
    return max(ways)[-1]
