# SPDX-License-Identifier: GPL-3.0-or-later
"""Rooms: their free and blocked spots are what they are called, and the demo room is furnished as promised."""

from __future__ import annotations

import json
from collections import deque

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Surroundings
from nsm_blender.geometry.proposals import check
from nsm_blender.geometry.rooms import demo_room, random_room

CELL = 0.1
RADIUS = 0.3


def walked(placed, size, start):
    """Cells of a grid that a disc of RADIUS reaches from a place, by breadth-first search, and the grid's axes."""
    axes = [np.arange(-edge / 2 + CELL / 2, edge / 2, CELL) for edge in size]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    open_ = np.ones(grid.shape[:2], dtype=bool)
    for z in np.arange(0.1, 1.8, 0.2):
        places = np.concatenate([grid, np.full((*grid.shape[:2], 1), z)], axis=-1).reshape(-1, 3)
        open_ &= (placed.distance(places) > RADIUS).reshape(open_.shape)
    first = tuple(int(np.abs(axis - at).argmin()) for axis, at in zip(axes, start, strict=True))
    seen = np.zeros_like(open_)
    todo = deque([first])
    while todo:
        x, y = todo.popleft()
        if 0 <= x < seen.shape[0] and 0 <= y < seen.shape[1] and open_[x, y] and not seen[x, y]:
            seen[x, y] = True
            todo += [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
    return seen, axes


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_free_spots_are_reached_from_each_other_and_blocked_ones_are_not(seed):
    room = random_room(seed)
    seen, axes = walked(Surroundings(room.colliders).at(0), room.size, room.free[0])

    def reached(place):
        return seen[tuple(int(np.abs(axis - at).argmin()) for axis, at in zip(axes, place, strict=True))]

    assert len(room.free) >= 20
    assert all(reached(place) for place in room.free)
    assert len(room.blocked) == len(room.reasons) and "no way" in room.reasons
    assert not any(reached(place) for place in room.blocked)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_a_room_is_the_same_again_and_has_five_to_twelve_pieces_inside_its_walls(seed):
    room, again = random_room(seed), random_room(seed)
    assert [c.to_data() for c in room.colliders] == [c.to_data() for c in again.colliders]
    pieces = [item for item in room.furnishings if item.piece.kind not in ("wall", "door", "door_frame")]
    assert 5 <= len(pieces) <= 12
    for item in pieces:
        assert (np.abs(item.mesh().vertices[:, :2]) <= np.array(room.size) / 2).all()
    assert len({collider.name for collider in room.colliders}) == len(room.colliders)
    assert room.doors == [collider.name for collider in room.colliders if collider.role == "door"]
    assert bool(room.doors) == (seed % 3 == 0)


def test_the_demo_room_has_all_that_the_demo_needs():
    room = demo_room()
    roles = {item.name: item.piece.role for item in room}
    assert len(roles) == len(room)
    assert [name for name, role in roles.items() if role == "seat"] == ["Chair", "Armchair", "Stool"]
    assert roles["Table"] == roles["Desk"] == roles["Shelf"] == "surface"
    assert (roles["Door"], roles["Box"], roles["Step"], roles["Low Beam"]) == (
        "door", "carryable", "climbable", "obstacle"
    )  # fmt: skip
    for item in room:
        collider = item.collider()
        again = Collider.from_data(json.loads(json.dumps(collider.to_data())))
        assert again.to_data() == collider.to_data()


def test_the_character_walks_into_the_demo_room_through_its_door():
    placed = Surroundings([item.collider() for item in demo_room()]).at(0)
    seen, axes = walked(placed, (9.0, 6.0), (4.2, -0.6))

    def reached(x, y):
        return seen[int(np.abs(axes[0] - x).argmin()), int(np.abs(axes[1] - y).argmin())]

    assert reached(-0.9, -1.6) and reached(-2.6, 0.7) and reached(1.1, 1.4)


def test_the_demo_rooms_things_can_be_used_as_they_stand():
    room = demo_room()
    for item in room:
        around = Surroundings([other.collider() for other in room if other is not item]).at(0)
        collider = item.collider()
        assert check(item.piece.handles, item.piece.role, item.piece.mesh, around, collider.poses[0]) == [], item.name
