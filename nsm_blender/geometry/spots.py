# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a thing that a goal points at: another cushion, board, edge or side.

All places and directions are in the thing's own frame, in which `up` (3,) is up, in meters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..motion.rotations import Array, normalize
from .body import BODY
from .roles import Climbable, Handles, Seat, Surface
from .sides import other_seats

ASIDE = 0.05
"""Distance in meters from a seat's middle beyond which a spot chooses the side to which the sitter looks, and from
which the way to a shifted seat is no longer the same from both sides."""
_UNDER = 3.0
"""Factor on the distance of a surface above the spot: goals stand on surfaces, not under them."""


def at_spot(handles: Handles, also: Sequence[Handles], spot: Array, up: Array) -> Handles:
    """The handles of the part of a thing that is nearest to a spot (3,).

    handles: the thing's. also: those of its other parts. A seat is shifted along its width, an edge along itself; a
    surface keeps the spot. Handles for carrying and opening are the same at every spot.
    """
    alike = [handles, *(other for other in also if type(other) is type(handles))]
    if isinstance(handles, Seat):
        seats = [one for seat in alike if isinstance(seat, Seat) for one in (seat, *other_seats(seat, up))]
        return min((_seat_at(seat, spot, up) for seat in seats), key=lambda seat: _off_seat(seat, spot))
    if isinstance(handles, Surface):
        tops = [replace(top, spot=spot.tolist()) for top in alike if isinstance(top, Surface)]
        return min(tops, key=lambda top: _off_surface(top, spot, up))
    if isinstance(handles, Climbable):
        edges = [_edge_at(edge, spot, up) for edge in alike if isinstance(edge, Climbable)]
        return min(edges, key=lambda edge: float(np.linalg.norm(np.array(edge.landing) - spot)))
    return handles


def abreast(surface: Surface, up: Array) -> Array:
    """The place (3,) of a surface, or the point of its middle line that is abreast of its spot."""
    place = np.array(surface.place, dtype=float)
    if not surface.spot:
        return place
    across = normalize(np.cross(up, np.array(surface.facing, dtype=float)))
    away = float((np.array(surface.spot) - place) @ across)
    out: Array = place + np.clip(away, -surface.width / 2, surface.width / 2) * across
    return out


def _seat_at(seat: Seat, spot: Array, up: Array) -> Seat:
    """The part of a seat that is abreast of a spot, as far as a sitter has room on both sides."""
    place, front = np.array(seat.place, dtype=float), normalize(np.array(seat.facing, dtype=float))
    left = normalize(np.cross(up, front))
    away = spot - place
    free = max(seat.width / 2 - BODY.half_width, 0.0)
    shift = float(np.clip(away @ left, -free, free))
    # More of the seat is on the far side; the way over the back belongs to a sitter that looks the other way.
    closed = {"right"} if shift > ASIDE else {"left"} if shift < -ASIDE else set()
    if away @ front > ASIDE:
        closed.add("back")
    approaches = [side for side in seat.approaches if side not in closed] or ["front"]
    moved = (place + shift * left).tolist()
    return replace(seat, place=moved, width=seat.width - 2 * abs(shift), approaches=approaches)


def _off_seat(seat: Seat, spot: Array) -> float:
    """Distance in meters from a spot to a point a little before a seat's middle: of two ways to sit on it the spot
    chooses one."""
    before = np.array(seat.place) + min(ASIDE, seat.depth / 4) * np.array(seat.facing)
    return float(np.linalg.norm(spot - before))


def _off_surface(surface: Surface, spot: Array, up: Array) -> float:
    """Distance in meters from a spot to the area of a surface, plus that from there to the edge at which its user
    stands."""
    front = normalize(np.array(surface.facing, dtype=float))
    across = np.cross(up, front)
    away = spot - np.array(surface.place)
    out, aside, high = float(away @ front), float(away @ across), float(away @ up)
    beyond = np.hypot(max(abs(out) - surface.depth / 2, 0.0), max(abs(aside) - surface.width / 2, 0.0))
    deep = float(np.clip(surface.depth / 2 - out, 0.0, surface.depth))
    return float(np.hypot(beyond, high if high > 0 else _UNDER * high)) + deep


def _edge_at(edge: Climbable, spot: Array, up: Array) -> Climbable:
    """The part of an edge that is abreast of a spot, and the landing behind it."""
    across = normalize(np.cross(up, np.array(edge.facing, dtype=float)))
    free = max(edge.width / 2 - BODY.half_width, 0.0)
    shift = float(np.clip((spot - np.array(edge.edge)) @ across, -free, free))
    moved = [(np.array(place) + shift * across).tolist() for place in (edge.edge, edge.landing)]
    return replace(edge, edge=moved[0], landing=moved[1], width=edge.width - 2 * abs(shift))
