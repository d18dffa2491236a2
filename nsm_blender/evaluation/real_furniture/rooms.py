# SPDX-License-Identifier: GPL-3.0-or-later
"""Furniture in usual settings: a table before the sofa, a chair under a table, an armchair in a corner, a whole room.

Colliders get the handles that the extension proposes for them where they stand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...geometry.colliders import Collider, Surroundings
from ...geometry.furniture import Piece, piece_of
from ...geometry.mesh import TriangleMesh
from ...geometry.proposals import propose
from ...geometry.roles import KINDS as ROLES_WITH_HANDLES
from ...geometry.roles import Carryable, Climbable, Door, Handles, Seat, Surface, moved
from ...geometry.rooms import Furnishing
from ...geometry.shapes import block
from ...motion.root import angle_of, direction
from ...motion.rotations import Array, from_yaw
from .catalog import make

APART = 0.015
"""Least distance in meters between two pieces."""

WALL, WALL_HEIGHT, DOORWAY_HEIGHT = 0.12, 2.5, 2.1
"""Thickness and height in meters of walls, and height of an opening without a door."""

CLEAR = 0.36
"""Distance in meters between a standing character's axis and everything around it."""

_BODY = (0.1, 0.4, 0.7, 1.0, 1.4)
"""Heights in meters at which a standing character is clear."""

SIDEWAYS = 0.23
"""Distance in meters to either side of the axis that a body needs to go sideways."""

_LOW_BODY, _CELL = (0.15, 0.45, 0.75, 1.05), 0.07
"""Heights in meters at which a path is sought, and edge in meters of the raster's cells."""

_POINTS = 1500
"""Number of points of a piece's surface that are tested for overlap."""


@dataclass
class Setting:
    """The things in a scene, in order.

    used: names of the things whose handles are proposed as for an animator; the others keep the true handles. chosen:
    handles that the animator set instead, in the piece's frame.
    """

    things: list[Furnishing] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    chosen: dict[str, Handles] = field(default_factory=dict)

    def add(self, *things: Furnishing) -> None:
        """Add things without a test for overlap."""
        self.things += things

    def add_if_free(self, thing: Furnishing) -> bool:
        """Add a thing unless it would overlap another."""
        if any(overlap(thing, other) for other in self.things):
            return False
        self.things.append(thing)
        return True

    def thing(self, name: str) -> Furnishing:
        """The thing with a name."""
        return next(thing for thing in self.things if thing.name == name)

    def meshes(self) -> dict[str, list[TriangleMesh]]:
        """The true loose parts by name, in each collider's frame."""
        return {thing.name: thing.piece.parts for thing in self.things}

    def colliders(self) -> list[Collider]:
        """All things as colliders. Where nothing can be proposed, the animator sets the true handles by hand."""
        plain = [collider_of(thing, thing.piece.handles) for thing in self.things]
        out = []
        for thing, collider in zip(self.things, plain, strict=True):
            role = thing.piece.role
            if thing.name in self.chosen:
                collider = replace(collider, handles=self.chosen[thing.name])
            elif thing.name in self.used and role in ROLES_WITH_HANDLES:
                around = Surroundings([other for other in plain if other is not collider]).at(0)
                found = propose(role, thing.piece.mesh, around, collider.poses[0])
                collider = replace(collider, handles=found.handles or thing.piece.handles)
            out.append(collider)
        return out

    def clear_place(
        self, rng: np.random.Generator, about: Array, near: float, far: float, front: float, spread: float,
        colliders: Sequence[Collider] | None = None,
    ) -> Array | None:  # fmt: skip
        """A free place (2,) to stand, `near` to `far` meters from a place, within `spread` radians of an angle; None
        where 60 tries find none."""
        plain = [collider_of(thing, None) for thing in self.things] if colliders is None else colliders
        around = Surroundings(list(plain)).at(0)
        for _ in range(60):
            place = about[:2] + rng.uniform(near, far) * direction(np.array(front + rng.uniform(-spread, spread)))
            if around.distance(np.array([[*place, z] for z in _BODY])).min() > CLEAR:
                return np.asarray(place)
        return None

    def connected(self, start: Array, places: Sequence[tuple[Array, float]]) -> bool:
        """Whether a body that goes sideways where it must gets from `start` (2,) to within the given distance in meters
        of each of the places (2,), around everything that stands there."""
        around = Surroundings([collider_of(thing, None) for thing in self.things]).at(0)
        every = np.array([start, *(place for place, _ in places)])
        low, high = every.min(0) - 1.0, every.max(0) + 1.0
        x, y = (np.arange(a, b, _CELL) for a, b in zip(low, high, strict=True))
        cells = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
        at = [np.concatenate([cells, np.full((*cells.shape[:2], 1), z)], axis=-1).reshape(-1, 3) for z in _LOW_BODY]
        free = np.min([around.distance(level) for level in at], axis=0).reshape(cells.shape[:2]) > SIDEWAYS
        seen = free & (np.linalg.norm(cells - start, axis=-1) < 2 * _CELL)
        while True:
            grown = seen.copy()
            grown[1:] |= seen[:-1]
            grown[:-1] |= seen[1:]
            grown[:, 1:] |= seen[:, :-1]
            grown[:, :-1] |= seen[:, 1:]
            grown &= free
            if np.array_equal(grown, seen):
                break
            seen = grown
        reached = cells[seen]
        return len(reached) > 0 and all(
            float(np.linalg.norm(reached - place, axis=1).min()) < near + _CELL for place, near in places
        )


def collider_of(thing: Furnishing, handles: Handles | None) -> Collider:
    """A thing as a still collider with these handles."""
    pose = np.concatenate([thing.place, from_yaw(np.array(thing.angle))])[None]
    return Collider(thing.name, thing.piece.boxes, pose, thing.piece.role, handles)


def front_of(piece: Piece) -> float:
    """Angle about +Z, 0 for -Y, from which a piece is used, in its own frame."""
    match piece.handles:
        case Seat() | Surface() | Carryable():
            way = np.array(piece.handles.facing[:2])
        case Climbable():
            way = -np.array(piece.handles.facing[:2])
        case Door():
            along = np.subtract(piece.handles.handle, piece.handles.hinge)[:2]
            way = np.array([along[1], -along[0]])
        case None:
            way = np.array([0.0, -1.0])
    return float(angle_of(way))


def stood(name: str, piece: Piece, at: Array, front: float, anchor: Array | None = None, z: float = 0.0) -> Furnishing:
    """Place a piece with its front to the angle `front`, its `anchor` over the place `at` (2,), and its lowest point at
    the height `z`. anchor: (3,) in the piece's frame, by default the middle of its outline."""
    low = float(piece.mesh.vertices[:, 2].min())
    if anchor is None:
        anchor = _outline_middle(piece)
    angle = front - front_of(piece)
    c, s = math.cos(angle), math.sin(angle)
    turned = np.array([c * anchor[0] - s * anchor[1], s * anchor[0] + c * anchor[1]])
    return Furnishing(name, piece, np.array([*(np.asarray(at)[:2] - turned), z - low]), angle)


def in_world(thing: Furnishing, place: Sequence[float]) -> Array:
    """A place (3,) of the piece's frame in the world."""
    matrix = thing.matrix()
    return np.asarray(matrix[:3, :3] @ np.asarray(place, dtype=float) + matrix[:3, 3])


def handles_in_world(thing: Furnishing, handles: Handles) -> Handles:
    """Handles of the piece's frame in the world."""
    return moved(handles, thing.matrix()[:3, :3], np.asarray(thing.place, dtype=float))


def extents(piece: Piece) -> Array:
    """Extents (3,) in meters across the front, along it, and up."""
    local = _along_front(piece)
    return np.asarray(np.ptp(local, axis=0))


def reach_forward(piece: Piece, place: Sequence[float]) -> float:
    """Distance in meters from a place of the piece's frame to its foremost point, along its front."""
    way = direction(np.array(front_of(piece)))
    return float(((piece.mesh.vertices[:, :2] - np.asarray(place)[:2]) @ way).max())


def overlap(a: Furnishing, b: Furnishing) -> bool:
    """Whether two things overlap, or are closer than APART."""
    first, second = a.mesh().vertices, b.mesh().vertices
    if (first.min(0) > second.max(0) + APART).any() or (second.min(0) > first.max(0) + APART).any():
        return False
    return any(
        float(Surroundings([collider_of(one, None)]).at(0).distance(_surface(other)).min()) < APART
        for one, other in ((a, b), (b, a))
    )


def wall(name: str, low: Sequence[float], high: Sequence[float], angle: float = 0.0) -> Furnishing:
    """An upright box of a wall between two corners, turned about the world's origin by `angle`."""
    return Furnishing(name, piece_of("wall", [block(_three(low), _three(high))]), np.zeros(3), angle)


def wall_behind(name: str, thing: Furnishing, front: float, length: float = 3.5) -> Furnishing:
    """A wall 2 cm behind a thing that faces `front`."""
    out = direction(np.array(front))
    behind = float((-(thing.mesh().vertices[:, :2] @ out)).max()) + 0.02
    middle = float(np.median(thing.mesh().vertices[:, :2] @ np.array([-out[1], out[0]])))
    return wall(name, (middle - length / 2, behind, 0.0), (middle + length / 2, behind + WALL, WALL_HEIGHT), front)


def wall_with_door(rng: np.random.Generator, leaf: Piece, middle: Array, front: float) -> list[Furnishing]:
    """A shut door in a wall, its front to the angle `front`: "Door", "Door Frame", and the wall beside it and over
    it."""
    assert isinstance(leaf.handles, Door) and leaf.fixture is not None
    hinge, grip = np.array(leaf.handles.hinge), np.array(leaf.handles.handle)
    along = (grip - hinge)[:2] / np.linalg.norm((grip - hinge)[:2])
    anchor = np.array([*(hinge[:2] + along * leaf.handles.width / 2), hinge[2]])
    # The sill: the frame's lowest point is the floor's.
    floor = float(leaf.fixture.mesh.vertices[:, 2].min())
    door = stood("Door", leaf, middle, front, anchor, z=float(leaf.mesh.vertices[:, 2].min()) - floor)
    frame = Furnishing("Door Frame", leaf.fixture, door.place, door.angle)
    out, side = direction(np.array(front)), direction(np.array(front + np.pi / 2))
    vertices = frame.mesh().vertices
    half = float(np.abs((vertices[:, :2] - middle[:2]) @ side).max()) - 0.045
    high = float(vertices[:, 2].max()) - 0.04
    thick = rng.uniform(0.09, 0.11)
    # In the wall's frame, X runs along it and the front is -Y.
    center = np.array([middle[:2] @ side, -(middle[:2] @ out)])
    parts = []
    for name, low, upper, bottom in (
        ("Wall Left", -half - rng.uniform(1.2, 2.0), -half, 0.0),
        ("Wall Right", half, half + rng.uniform(1.2, 2.0), 0.0),
        ("Wall Over", -half, half, high),
    ):
        parts.append(
            wall(name, (center[0] + low, center[1] - thick / 2, bottom),
                 (center[0] + upper, center[1] + thick / 2, WALL_HEIGHT), front)
        )  # fmt: skip
    return [door, frame, *parts]


def furnished_room(rng: np.random.Generator, seed: int) -> Setting:
    """A living room of 5 to 6.5 m by 4.5 to 5.5 m about the origin, with a doorway in its -Y wall.

    "Sofa" at the back wall with a "Coffee Table" 35 to 45 cm before it, "Sideboard" or "Counter" at a side wall with a
    "Crate" beside it, "Dining Table" with chairs pushed under it and a single chair pulled out ("Chair 1"), "Armchair"
    at an angle in a corner with a "Side Table", and a "Bookcase".
    """
    x, y = rng.uniform(2.5, 3.25), rng.uniform(2.3, 2.75)
    setting = Setting()
    side = 1 if rng.random() < 0.5 else -1
    gap, wide = -side * rng.uniform(0.3, 0.5) * x, rng.uniform(0.95, 1.2)
    setting.add(
        wall("Wall Back", (-x - WALL, y, 0), (x + WALL, y + WALL, WALL_HEIGHT)),
        wall("Wall Left", (-x - WALL, -y, 0), (-x, y, WALL_HEIGHT)),
        wall("Wall Right", (x, -y, 0), (x + WALL, y, WALL_HEIGHT)),
        wall("Wall Front 1", (-x - WALL, -y - WALL, 0), (gap - wide / 2, -y, WALL_HEIGHT)),
        wall("Wall Front 2", (gap + wide / 2, -y - WALL, 0), (x + WALL, -y, WALL_HEIGHT)),
        wall("Wall Over", (gap - wide / 2, -y - WALL, DOORWAY_HEIGHT), (gap + wide / 2, -y, WALL_HEIGHT)),
    )
    sofa = against("Sofa", make("sofa", seed), np.array([side * rng.uniform(0.3, 0.8), y]), 0.0)
    setting.add_if_free(sofa)
    setting.add_if_free(before(sofa, "Coffee Table", make("coffee_table", seed), rng.uniform(0.35, 0.45), 0.0))
    armchair = make("classic_armchair", seed)
    corner = np.array([-side * (x - 0.75), y - 0.75])
    if setting.add_if_free(stood("Armchair", armchair, corner, side * np.pi / 4 * rng.uniform(0.7, 1.2))):
        _try(setting, [
            stood("Side Table", make("side_table", seed), corner + np.array([side * dx, -dy]), 0.0)
            for dx, dy in ((0.85, -0.25), (0.1, 0.95), (0.95, -0.35))
        ])  # fmt: skip
    kind = "kitchen_counter" if rng.random() < 0.25 else "sideboard"
    # At the wall on the sofa's side, looking across the room.
    at_wall = np.array([side * x, rng.uniform(-0.9, -0.2)])
    _try(setting, [against("Sideboard", make(kind, seed), at_wall + np.array([0.0, off]), -side * np.pi / 2)
                   for off in (0.0, -0.3, 0.3)])  # fmt: skip
    crate = make(str(rng.choice(["crate", "cardboard_box", "basket"])), seed)
    half = extents(crate)[0] / 2
    _try(setting, [stood("Crate", crate, np.array([side * (x - half - 0.12), -y + up]), -side * np.pi / 2)
                   for up in (0.4, 0.5, 0.6)])  # fmt: skip
    _dining(setting, rng, seed, np.array([-side * rng.uniform(0.9, 1.2), rng.uniform(-0.5, -0.2)]))
    _try(setting, [against("Bookcase", make("bookcase", seed), np.array([-side * x, at]), side * np.pi / 2)
                   for at in (0.6, -0.2, -1.0, -1.5)])  # fmt: skip
    return setting


def against(name: str, piece: Piece, at: Array, front: float) -> Furnishing:
    """A piece that faces `front`, with its back 2 cm before a wall through `at` (2,)."""
    thing = stood(name, piece, at, front)
    out = direction(np.array(front))
    behind = float(((thing.mesh().vertices[:, :2] - at) @ -out).max())
    return replace(thing, place=thing.place + np.array([*(out * (behind + 0.02)), 0.0]))


def before(thing: Furnishing, name: str, piece: Piece, gap: float, aside: float) -> Furnishing:
    """A piece `gap` meters before the front edge of a thing, `aside` meters along that edge, parallel to it."""
    front = thing.angle + front_of(thing.piece)
    out, side = direction(np.array(front)), direction(np.array(front + np.pi / 2))
    edge = float((thing.mesh().vertices[:, :2] @ out).max())
    middle = _seat_middle(thing)
    other = stood(name, piece, middle + aside * side, front)
    near = float((other.mesh().vertices[:, :2] @ out).min())
    return replace(other, place=other.place + np.array([*(out * (edge + gap - near)), 0.0]))


def under(table: Furnishing, name: str, piece: Piece, depth: float, aside: float, front: float) -> Furnishing:
    """A chair that faces `front` at a table, with the front edge of its seat `depth` meters under the table's edge."""
    out, side = direction(np.array(front)), direction(np.array(front + np.pi / 2))
    assert isinstance(piece.handles, Seat)
    vertices = table.mesh().vertices[:, :2]
    edge, middle = float((vertices @ out).min()), (vertices.min(0) + vertices.max(0)) / 2
    seat = np.array(piece.handles.place)
    chair = stood(name, piece, middle + aside * side, front, seat)
    ahead = float(np.asarray(middle + aside * side) @ out) + piece.handles.depth / 2
    return replace(chair, place=chair.place + np.array([*(out * (edge + depth - ahead)), 0.0]))


def _dining(setting: Setting, rng: np.random.Generator, seed: int, middle: Array) -> None:
    """A table with chairs at its long sides: a single chair pulled out by 30 to 45 cm, the others pushed under it."""
    table = stood("Dining Table", make("dining_table", seed), middle, float(rng.choice([0.0, np.pi / 2])))
    if not setting.add_if_free(table):
        return
    kind = str(rng.choice(["dining_chair", "slatted_chair"]))
    fronts = table.angle + front_of(table.piece) + np.array([0.0, np.pi])
    number = 1
    for front in fronts[rng.permutation(2)]:
        for aside in (-0.32, 0.32):
            depth = -rng.uniform(0.30, 0.45) if number == 1 else rng.uniform(0.05, 0.20)
            chair = under(table, f"Chair {number}", make(kind, seed), float(depth), aside, float(front) + np.pi)
            number += setting.add_if_free(chair)


def _try(setting: Setting, things: Sequence[Furnishing]) -> bool:
    """Add the first of the things that overlaps no other."""
    return any(setting.add_if_free(thing) for thing in things)


def _seat_middle(thing: Furnishing) -> Array:
    """Middle (2,) of a thing's front, averaged over the seats along it."""
    low, high = _along_front(thing.piece).min(0), _along_front(thing.piece).max(0)
    front = front_of(thing.piece)
    side, out = direction(np.array(front + np.pi / 2)), direction(np.array(front))
    local = (low[0] + high[0]) / 2 * side + (low[1] + high[1]) / 2 * out
    return in_world(thing, [*local, 0.0])[:2]


def _outline_middle(piece: Piece) -> Array:
    """Middle (3,) of a piece's outline seen along its front."""
    local = _along_front(piece)
    middle = (local.min(0) + local.max(0)) / 2
    front = front_of(piece)
    side, out = direction(np.array(front + np.pi / 2)), direction(np.array(front))
    return np.array([*(middle[0] * side + middle[1] * out), 0.0])


def _along_front(piece: Piece) -> Array:
    """Vertices (V, 3) in meters to the side of the front, along it, and up."""
    front = front_of(piece)
    side, out = direction(np.array(front + np.pi / 2)), direction(np.array(front))
    vertices = piece.mesh.vertices
    return np.column_stack([vertices[:, :2] @ side, vertices[:, :2] @ out, vertices[:, 2]])


def _surface(thing: Furnishing) -> Array:
    """Points of a thing's surface in the world, spread by area, the same at every call."""
    mesh = thing.mesh()
    corners = mesh.vertices[mesh.triangles]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    rng = np.random.default_rng(0)
    which = np.minimum(np.searchsorted(np.cumsum(area), rng.random(_POINTS) * area.sum()), len(area) - 1)
    a, b = np.sort(rng.random((2, _POINTS, 1)), axis=0)
    return np.asarray(a * corners[which, 0] + (b - a) * corners[which, 1] + (1 - b) * corners[which, 2])


def _three(place: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in place)
    return x, y, z
