# SPDX-License-Identifier: GPL-3.0-or-later
"""Seats with something before, over or beside them: settings in which a body has little room to sit down."""

from __future__ import annotations

import numpy as np

from ...geometry.roles import Seat
from ...motion.root import direction
from ..real_furniture.catalog import make
from ..real_furniture.rooms import (
    WALL,
    WALL_HEIGHT,
    Setting,
    before,
    extents,
    overlap,
    stood,
    under,
    wall,
    wall_behind,
)

TORSO = 0.30
"""Least distance in meters between a chair's back and the edge of a table for a sitting body: a chest is 22 to 26 cm
deep, and it must slide in."""

TORSO_EASY = 0.36
"""Distance in meters with which a body surely fits between a back and an edge; cases lie outside the two limits."""

LEGS = 0.12
"""Distance in meters between a seat and a table before it that is too narrow to sit down: a shin with its foot is
longer."""

LEGS_EASY = 0.27
"""Distance in meters between a seat and a table before it that surely has room for feet and shins."""

Blocked = tuple[Setting | None, str]
"""A setting, None where its pieces overlap, and the words that a refusal must contain."""


def sofa_behind_table(rng: np.random.Generator, furniture: int, front: float) -> Blocked:
    """A sofa, or a bench, with a low table 5 to 60 cm before it; half of the sofas stand at a wall."""
    sofa = stood("Seat", make(str(rng.choice(["sofa", "sofa", "bench"])), furniture), np.zeros(2), front)
    gap = float(rng.uniform(0.05, LEGS) if rng.random() < 0.2 else rng.uniform(LEGS_EASY, 0.60))
    table = before(sofa, "Table", make("coffee_table", furniture), gap, float(rng.uniform(-0.25, 0.25)))
    setting = Setting([sofa, table], {"Seat"})
    if rng.random() < 0.5:
        setting.add(wall_behind("Wall", sofa, front))
    return (None if overlap(sofa, table) else setting), ("move" if gap <= LEGS else "")


def chair_under_table(rng: np.random.Generator, furniture: int, front: float) -> Blocked:
    """A chair pushed 2 to 20 cm under a table or a desk; where its back leaves no room for a body, it must be moved."""
    chair = make(str(rng.choice(["dining_chair", "slatted_chair"])), furniture)
    table = stood("Table", make(str(rng.choice(["dining_table", "desk"])), furniture), np.zeros(2), front + np.pi)
    depth = float(rng.uniform(0.02, 0.20))
    thing = under(table, "Seat", chair, depth, float(rng.uniform(-0.3, 0.3)), front)
    assert isinstance(chair.handles, Seat)
    room_left = chair.handles.depth - depth
    if overlap(thing, table) or TORSO < room_left < TORSO_EASY:
        return None, ""
    return Setting([thing, table], {"Seat"}), ("move" if room_left <= TORSO else "")


def armchair_in_corner(rng: np.random.Generator, furniture: int, front: float) -> Blocked:
    """An armchair at an angle in a corner of a room, a side table beside it, a pouffe or a table before it."""
    chair = stood("Seat", make("classic_armchair", furniture), np.zeros(2), front)
    turn = front + np.pi / 4 + float(rng.uniform(-0.3, 0.3))
    setting = Setting([chair], {"Seat"})
    vertices = chair.mesh().vertices[:, :2]
    # Two walls that meet behind the chair, each 3 cm from it.
    first, second = (float((vertices @ -direction(np.array(angle))).max()) + 0.03 for angle in (turn, turn - np.pi / 2))
    setting.add(
        wall("Wall 1", (-3.0, first, 0.0), (second + WALL, first + WALL, WALL_HEIGHT), turn),
        wall("Wall 2", (-first, second, 0.0), (3.0, second + WALL, WALL_HEIGHT), turn - np.pi / 2),
    )
    kind = ("pouffe", "coffee_table")[int(rng.integers(2))]
    if not setting.add_if_free(before(chair, "Table", make(kind, furniture), float(rng.uniform(LEGS_EASY, 0.6)), 0.0)):
        return None, ""
    side = make("side_table", furniture)
    for sign in rng.permutation([-1.0, 1.0]):
        away = (extents(chair.piece)[0] + extents(side)[0]) / 2 + 0.06
        place = away * sign * direction(np.array(front + np.pi / 2)) + 0.15 * direction(np.array(front))
        if setting.add_if_free(stood("Side Table", side, place, front)):
            break
    return setting, ""


def seat_before_cupboard(rng: np.random.Generator, furniture: int, front: float) -> Blocked:
    """A chair, stool or armchair facing a sideboard or a bed 35 to 60 cm before it, or a crate in the way."""
    kind = str(rng.choice(["dining_chair", "slatted_chair", "office_chair", "classic_armchair", "bench"]))
    seat = stood("Seat", make(kind, furniture), np.zeros(2), front)
    other = str(rng.choice(["sideboard", "bed", "crate", "suitcase"]))
    gap = float(rng.uniform(0.38, 0.60))
    thing = before(seat, "Cupboard", make(other, furniture), gap, float(rng.uniform(-0.2, 0.2)))
    return (None if overlap(seat, thing) else Setting([seat, thing], {"Seat"})), ""
