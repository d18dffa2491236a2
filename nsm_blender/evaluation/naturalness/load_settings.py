# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads to carry: where they lie, the surface for them, and whether they fit there."""

from __future__ import annotations

import numpy as np

from ...geometry.form import Form
from ...geometry.furniture import Piece
from ...geometry.mesh_distance import MeshDistance
from ...geometry.roles import Carryable, Seat, Surface
from ...motion.root import angle_of, direction
from ...motion.rotations import Array
from ..real_furniture.catalog import LOADS, make
from ..real_furniture.rooms import Setting, extents, in_world, reach_forward, stood, wall_behind

TOO_BIG = 0.04
"""Least excess in meters of a thing that does not fit over the space for it."""

ROOM = (0.08, 0.02, 0.08)
"""Meters by which the space for a thing is larger across (for the hands), along, and above it."""

HIGHEST = 1.05
"""Height in meters over the floor up to which things are put down."""

_ABOUT = 0.05
"""Meters about the middle of a surface in which its free height is measured, from half as far over it."""

CABINETS = ("sideboard", "bookcase", "shelf", "kitchen_counter", "desk")
"""Surfaces that stand at walls."""


def load_on_floor_or_table(
    setting: Setting, rng: np.random.Generator, furniture: int, at: Array, beside: float = 0.15
) -> Array | None:
    """Put a "Load" on the floor, beside a sideboard, or on a table near its edge, about a place (2,).

    beside: share of the loads that stand beside a sideboard at a wall. Returns the place (2,) of the load; None where
    it overlaps another thing.
    """
    load = make(LOADS[int(rng.integers(len(LOADS)))], furniture)
    where = rng.random()
    if where < 0.4:
        return at if setting.add_if_free(stood("Load", load, at, random_angle(rng))) else None
    if where < 0.4 + beside:
        front = random_angle(rng)
        cupboard = stood("Cupboard", make("sideboard", furniture), at, front)
        away = (extents(cupboard.piece)[0] + extents(load)[0]) / 2 + float(rng.uniform(0.06, 0.2))
        place = at + away * float(rng.choice([-1, 1])) * direction(np.array(front + np.pi / 2))
        setting.add(cupboard, wall_behind("Wall", cupboard, front))
        return place if setting.add_if_free(stood("Load", load, place, front)) else None
    kind = str(rng.choice(["coffee_table", "dining_table", "desk", "kitchen_counter", "bench"]))
    front = random_angle(rng)
    table = stood("Table", make(kind, furniture), at, front)
    top = table.piece.handles
    assert isinstance(top, Surface | Seat)
    height = in_world(table, top.place)[2]
    size = extents(load)
    # Its near side lies 2 to 10 cm behind the table's edge.
    inward = reach_forward(table.piece, top.place) - size[1] / 2 - float(rng.uniform(0.02, 0.10))
    aside = float(rng.uniform(-1, 1)) * max(0.0, min(top.width, extents(table.piece)[0]) / 2 - size[0] / 2 - 0.05)
    place = in_world(table, top.place)[:2] + inward * direction(np.array(front))
    place = place + aside * direction(np.array(front + np.pi / 2))
    if size[1] > top.depth + 0.05:
        return None
    setting.add(table, stood("Load", load, place, front, z=float(height)))
    return np.asarray(place)


def chosen_surface(rng: np.random.Generator, piece: Piece) -> Surface | None:
    """A right place of a piece, no higher than things are lifted; the goal or handle is moved there. Cabinets are used
    from their front, tables from any side."""
    floor = float(piece.mesh.vertices[:, 2].min())
    every = [one for one in (piece.handles, *piece.also) if isinstance(one, Surface)]
    if piece.kind in CABINETS:
        every = [one for one in every if np.dot(one.facing, every[0].facing) > 0.9]
    # Each height is equally likely, whatever the number of sides.
    heights = sorted({round(found.place[2], 3) for found in every if found.place[2] - floor <= HIGHEST})
    if not heights:
        return None
    height = heights[int(rng.integers(len(heights)))]
    same = [one for one in every if round(one.place[2], 3) == height]
    return same[int(rng.integers(len(same)))]


def height_above(piece: Piece, surface: Surface) -> float:
    """Free height in meters over the middle of a surface; infinite without anything over it."""
    grid = np.linspace(-_ABOUT, _ABOUT, 5)
    # From a little over the surface, which is not over itself.
    points = np.array(surface.place) + np.array([[x, y, _ABOUT / 2] for x in grid for y in grid])
    return float(MeshDistance([piece.mesh]).first_hit(points, np.array([0.0, 0.0, 1.0])).min()) + _ABOUT / 2


def _sizes(load: Piece, grasp: Carryable) -> tuple[float, float, float]:
    """Sizes in meters of a load from palm to palm, along the carrier's direction, and up."""
    along = float(angle_of(np.array(grasp.facing[:2])))
    side, out = direction(np.array(along + np.pi / 2)), direction(np.array(along))
    vertices = load.mesh.vertices
    return (
        float(np.ptp(vertices[:, :2] @ side)),
        float(np.ptp(vertices[:, :2] @ out)),
        float(np.ptp(vertices[:, 2])),
    )


def fits_on(load: Piece, grasp: Carryable, surface: Surface, above: float, room: tuple[float, float, float]) -> bool:
    """Whether a load, held by its grasp, fits on a surface with room to spare."""
    across, along, tall = _sizes(load, grasp)
    return across + room[0] <= surface.width and along + room[1] <= surface.depth and tall + room[2] <= above


def too_big_for(load: Piece, surface: Surface, above: float, is_open: bool) -> bool:
    """Whether a load, turned either way, is surely too large for the space of a surface. is_open: whether things may
    stick out behind and in front."""
    form = Form(load.mesh)
    size = np.sort(np.ptp(form.points[:, :2], axis=0))
    tall = float(np.ptp(form.points[:, 2]))
    space = np.sort([surface.width, surface.depth])
    if is_open:
        return bool(size[0] > surface.width + TOO_BIG or tall > above + TOO_BIG)
    return bool((size > space + TOO_BIG).any() or tall > above + TOO_BIG)


def random_angle(rng: np.random.Generator) -> float:
    """An angle in radians, -pi to pi, drawn evenly."""
    return float(rng.uniform(-np.pi, np.pi))
