# SPDX-License-Identifier: GPL-3.0-or-later
"""Furnished rooms made by code: random ones from a seed, and the one of the demo scene.

Which seeds are held out: as for the furniture, see `furniture.held_out`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..motion.root import direction
from ..motion.rotations import Array, from_yaw
from .colliders import Collider
from .furniture import Piece, door, make, piece_of
from .mesh import TriangleMesh
from .roles import Door, Surface
from .shapes import block

WALL = 0.12
"""Thickness in meters of the walls."""

WALL_HEIGHT = 2.5
"""Height in meters of the walls."""
DOORWAY_HEIGHT = 2.15
"""Height in meters of open doorways."""

FREE_RADIUS = 0.38
"""Radius in meters of a body that gets from every free spot to every other, so that a body of 0.3 m does with ease."""

BLOCKED_RADIUS = 0.2
"""Radius in meters of a body that is still too large to reach a blocked spot."""

BODY_HEIGHTS = (0.05, 1.80)
"""Heights in meters above the floor between which a cuboid is in the way of a standing body."""

_CELL = 0.05
"""Edge in meters of a cell of the floor's raster."""
_AJAR = 100.0
"""Angle in degrees by which the demo room's door opens."""
_LOOSE = (
    "table",
    "chair",
    "armchair",
    "stool",
    "bench",
    "office_chair",
    "box",
    "crate",
    "sack",
    "drum",
    "step",
    "beam",
)
"""Kinds of furniture that stand anywhere."""
_AT_WALL = ("shelf", "cupboard", "desk", "sofa", "platform", "stairs")
"""Kinds of furniture that stand against a wall."""


@dataclass(frozen=True, eq=False)
class Furnishing:
    """A piece of furniture placed in a room. place: x, y, z of its origin; angle: radians that it is turned about +Z
    from facing -Y."""

    name: str
    piece: Piece
    place: Array
    angle: float = 0.0

    def matrix(self) -> Array:
        """Transform (4, 4) from the piece's frame to the world."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        x, y, z = self.place
        return np.array([[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, z], [0, 0, 0, 1]])

    def mesh(self) -> TriangleMesh:
        """The piece's mesh in the world."""
        return self.piece.mesh.transformed(self.matrix())

    def collider(self) -> Collider:
        """The piece's boxes as a still collider, with its role and handles."""
        pose = np.concatenate([self.place, from_yaw(np.array(self.angle))])[None]
        return Collider(self.name, self.piece.boxes, pose, self.piece.role, self.piece.handles)


@dataclass(frozen=True, eq=False)
class Room:
    """A room about the origin, its floor at z = 0.

    size: meters along X and Y inside the walls. doors: names of the closed doors' leaves; open doorways have none.
    free: (N, 2) places that a walking body reaches from one another. blocked: (M, 2) places without a path from these,
    with the doors closed and without crouching or climbing. reasons: why each is blocked, "inside 'Table'" or "no way".
    """

    furnishings: list[Furnishing]
    size: tuple[float, float]
    doors: list[str]
    free: Array
    blocked: Array
    reasons: list[str]

    @property
    def colliders(self) -> list[Collider]:
        """Colliders of all furnishings, walls included."""
        return [furnishing.collider() for furnishing in self.furnishings]


def random_room(seed: int) -> Room:
    """The room that belongs to the seed.

    A main room and a side room behind an open doorway; a closet without any way in; on every third seed another closet
    behind a closed door; five to twelve pieces of furniture.
    """
    rng = np.random.default_rng([1001, seed])
    size = (float(rng.uniform(6.5, 11.0)), float(rng.uniform(5.5, 9.0)))
    walls = _Walls(size)
    across = float(rng.uniform(-0.15, 0.15) * size[0])
    gap = float(rng.uniform(-0.2, 0.35) * size[1])
    walls.along_y(across, -size[1] / 2, size[1] / 2, doorways=[(gap, float(rng.uniform(0.95, 1.3)))])
    # The closets fill two corners at the low end of Y, away from the doorway.
    depth = float(rng.uniform(1.0, 1.3))
    walls.closet(-1, depth)
    doors: list[Furnishing] = []
    if seed % 3 == 0:
        leaf = door(rng, "door", opening=0.9)
        doors = _hung("Door", leaf, np.array([size[0] / 2 - walls.closet_width / 2, depth - size[1] / 2 + WALL / 2, 0]))
        walls.closet(1, depth, opening=0.9 + 2 * 0.11)
    placed = [*walls.furnishings(), *doors]
    grid = _Floor(size)
    for item in placed:
        grid.add(item)
    placed += _furnish(rng, grid, depth + WALL, (across, gap))
    free, blocked, reasons = _spots(rng, grid, placed)
    return Room(placed, size, [item.name for item in doors if item.piece.role == "door"], free, blocked, reasons)


class _Walls:
    """Walls as pieces; places are those of the walls' middle planes."""

    def __init__(self, size: tuple[float, float]) -> None:
        self.size = size
        self.closet_width = 1.4
        x, y = size[0] / 2 + WALL / 2, size[1] / 2 + WALL / 2
        self._boxes: list[tuple[tuple[float, float, float], tuple[float, float, float]]] = []
        for side in (-1, 1):
            self._x_wall(side * y, -x - WALL / 2, x + WALL / 2)
            self.along_y(side * x, -y, y, [])

    def along_y(self, x: float, low: float, high: float, doorways: list[tuple[float, float]]) -> None:
        """Add a wall at `x`. doorways: (middle, width) along Y."""
        start = low
        for middle, width in sorted(doorways):
            self._add((x, start), (x, middle - width / 2))
            self._add((x, middle - width / 2), (x, middle + width / 2), DOORWAY_HEIGHT)
            start = middle + width / 2
        self._add((x, start), (x, high))

    def closet(self, side: int, depth: float, opening: float | None = None) -> None:
        """Wall off the corner at the low end of Y on the low (-1) or high (1) X side. opening: meters, for a door."""
        end, inner = side * self.size[0] / 2, side * (self.size[0] / 2 - self.closet_width)
        low = -self.size[1] / 2
        self._add((inner, low), (inner, low + depth + WALL))
        y, middle = low + depth + WALL / 2, (end + inner) / 2
        if opening is None:
            self._x_wall(y, min(end, inner), max(end, inner))
            return
        self._x_wall(y, min(end, inner), middle - opening / 2)
        self._x_wall(y, middle + opening / 2, max(end, inner))
        self._add_x(y, middle - opening / 2, middle + opening / 2, DOORWAY_HEIGHT + 0.05)

    def furnishings(self) -> list[Furnishing]:
        """The walls as furnishings."""
        return [
            Furnishing(f"Wall {n + 1}", piece_of("wall", [block(low, high)]), np.zeros(3))
            for n, (low, high) in enumerate(self._boxes)
        ]

    def _x_wall(self, y: float, low: float, high: float) -> None:
        self._add_x(y, low, high, 0.0)

    def _add_x(self, y: float, low: float, high: float, bottom: float) -> None:
        self._boxes.append(((low, y - WALL / 2, bottom), (high, y + WALL / 2, WALL_HEIGHT)))

    def _add(self, a: tuple[float, float], b: tuple[float, float], bottom: float = 0.0) -> None:
        self._boxes.append(((a[0] - WALL / 2, a[1], bottom), (a[0] + WALL / 2, b[1], WALL_HEIGHT)))


class _Floor:
    """A raster of the floor: meters from each cell's middle to the nearest cuboid in a body's way."""

    def __init__(self, size: tuple[float, float]) -> None:
        self.size = size
        self.x = np.arange(-size[0] / 2 + _CELL / 2, size[0] / 2, _CELL)
        self.y = np.arange(-size[1] / 2 + _CELL / 2, size[1] / 2, _CELL)
        self.places = np.stack(np.meshgrid(self.x, self.y, indexing="ij"), axis=-1)
        self.distance = np.full(self.places.shape[:2], np.inf)

    def add(self, item: Furnishing) -> None:
        """Add a furnishing's distances."""
        near = self.near(item)
        self.distance[near] = np.minimum(self.distance[near], footprint_distance(item, self.places[near]))

    def near(self, item: Furnishing) -> tuple[slice, slice]:
        """The cells within half a meter of a furnishing; farther distances are not needed."""
        outline = item.mesh().vertices[:, :2]
        corner = self.places[0, 0]
        low = np.floor((outline.min(axis=0) - 0.5 - corner) / _CELL).astype(int)
        high = np.ceil((outline.max(axis=0) + 0.5 - corner) / _CELL).astype(int) + 1
        x, y = (slice(max(a, 0), max(b, 0)) for a, b in zip(low.tolist(), high.tolist(), strict=True))
        return x, y

    def reached(self, start: tuple[int, int], radius: float) -> Array:
        """Cells that a disc of `radius` meters reaches from a cell."""
        open_ = self.distance > radius
        seen = np.zeros_like(open_)
        seen[start] = open_[start]
        while True:
            grown = seen.copy()
            grown[1:] |= seen[:-1]
            grown[:-1] |= seen[1:]
            grown[:, 1:] |= seen[:, :-1]
            grown[:, :-1] |= seen[:, 1:]
            grown &= open_
            if np.array_equal(grown, seen):
                return seen
            seen = grown

    def largest(self, radius: float) -> Array:
        """The largest set of cells that a disc of `radius` meters reaches from one another."""
        best = np.zeros_like(self.distance, dtype=bool)
        left = self.distance > radius
        while left.sum() > best.sum():
            first = np.unravel_index(int(np.argmax(left)), left.shape)
            part = self.reached((int(first[0]), int(first[1])), radius)
            best = part if part.sum() > best.sum() else best
            left &= ~part
        return best


def footprint_distance(item: Furnishing, places: Array) -> Array:
    """Distances (...) in meters from places (..., 2) on the floor to a furnishing's cuboids between ankle and crown; 0
    inside."""
    c, s = np.cos(item.angle), np.sin(item.angle)
    local = (places - item.place[:2]) @ np.array([[c, -s], [s, c]])
    out = np.full(places.shape[:-1], np.inf)
    for center, half in zip(item.piece.boxes.center, item.piece.boxes.half, strict=True):
        z = item.place[2] + center[2]
        if z + half[2] > BODY_HEIGHTS[0] and z - half[2] < BODY_HEIGHTS[1]:
            beyond = np.maximum(np.abs(local - center[:2]) - half[:2], 0.0)
            out = np.minimum(out, np.sqrt(np.einsum("...i,...i->...", beyond, beyond)))
    return out


def _furnish(rng: np.random.Generator, floor: _Floor, closets: float, doorway: tuple[float, float]) -> list[Furnishing]:
    """Place five to twelve pieces, some along the walls and some loose, none in another, in the doorway or in the
    closets.

    closets: meters that the closets reach along Y. doorway: middle (2,) of the doorway.
    """
    placed: list[Furnishing] = []
    wanted = int(rng.integers(5, 13))
    passage = np.linalg.norm(floor.places - np.array(doorway), axis=-1) < 0.8
    for _ in range(40 * wanted):
        if len(placed) == wanted:
            break
        at_wall = rng.random() < 0.4
        kind = str(rng.choice(_AT_WALL if at_wall else _LOOSE))
        piece = make(kind, int(rng.integers(0, 1_000_000)))
        item = Furnishing(
            f"{kind.replace('_', ' ').title()} {len(placed) + 1}", piece, *_pose(rng, floor, piece, at_wall)
        )
        outline = np.abs(item.mesh().vertices[:, :2]) - np.array(floor.size) / 2
        if outline.max() > 0 or item.mesh().vertices[:, 1].min() < closets - floor.size[1] / 2:
            continue
        near = floor.near(item)
        under = footprint_distance(item, floor.places[near])
        # Loose pieces may stand close together, which makes tight places, but never in one another.
        if floor.distance[near][under < 0.03].min(initial=1.0) > 0.03 and under[passage[near]].min(initial=1.0) > 0:
            placed.append(item)
            floor.add(item)
    return placed


def _pose(rng: np.random.Generator, floor: _Floor, piece: Piece, at_wall: bool) -> tuple[Array, float]:
    x, y = floor.size[0] / 2, floor.size[1] / 2
    if not at_wall:
        return np.array([rng.uniform(-x, x), rng.uniform(-y, y), 0.0]), float(rng.uniform(-np.pi, np.pi))
    angle = float(rng.integers(0, 4) * np.pi / 2)
    back = piece.mesh.vertices[:, 1].max() + 0.06
    along, out = rng.uniform(-0.9, 0.9), direction(np.array(angle))
    place = np.array([along * x, along * y]) * (1 - np.abs(out)) - out * (np.array([x, y]) - back)
    return np.array([*place, 0.0]), angle


def _spots(rng: np.random.Generator, floor: _Floor, placed: list[Furnishing]) -> tuple[Array, Array, list[str]]:
    """At least 20 free spots, the blocked ones (inside furniture, or without a path), and the reasons of these."""
    free = floor.largest(FREE_RADIUS)
    # A slim body reaches the cell of one free spot if it reaches any.
    start = np.unravel_index(int(np.argmax(free)), free.shape)
    slim = floor.reached((int(start[0]), int(start[1])), BLOCKED_RADIUS)
    closed = (floor.distance > FREE_RADIUS) & ~slim
    blocked = _pick(rng, floor.places[closed], 4)
    reasons = ["no way"] * len(blocked)
    inside = []
    for item in placed:
        if item.piece.kind in ("wall", "door", "door_frame", "beam"):
            continue
        near = floor.places[floor.near(item)]
        solid = near[footprint_distance(item, near) == 0]
        if len(solid):
            inside.append(solid[rng.integers(len(solid))])
            reasons.append(f"inside {item.name!r}")
    return _pick(rng, floor.places[free], 24), np.concatenate([blocked, np.reshape(inside, (-1, 2))]), reasons


def _pick(rng: np.random.Generator, places: Array, count: int) -> Array:
    return places[rng.choice(len(places), min(count, len(places)), replace=False)]


def _hung(name: str, leaf: Piece, place: Array) -> list[Furnishing]:
    """A door's leaf and its frame."""
    frame = [] if leaf.fixture is None else [Furnishing(f"{name} Frame", leaf.fixture, place)]
    return [Furnishing(name, leaf, place), *frame]


def demo_room(door_open: bool = True) -> list[Furnishing]:
    """The furnished room of the demo scene, 7 x 6 m, open toward -Y where the camera is; the door is open or shut.

    Each call makes the same pieces: walls, the door's leaf and frame, a table with a box on it, a chair, a desk with a
    stool half under it, a shelf, an armchair behind a low beam, and a step.
    """
    x, y, middle, opening = 3.5, 3.0, -0.6, 1.06
    walls = [
        block((-x - WALL, y, 0.0), (x + WALL, y + WALL, WALL_HEIGHT)),
        block((-x - WALL, -y, 0.0), (-x, y, WALL_HEIGHT)),
        block((x, -y, 0.0), (x + WALL, middle - opening / 2, WALL_HEIGHT)),
        block((x, middle + opening / 2, 0.0), (x + WALL, y, WALL_HEIGHT)),
        block((x, middle - opening / 2, DOORWAY_HEIGHT), (x + WALL, middle + opening / 2, WALL_HEIGHT)),
    ]
    names = ("Wall Back", "Wall Left", "Wall Right Front", "Wall Right Back", "Wall Right Lintel")
    out = [Furnishing(name, piece_of("wall", [wall]), np.zeros(3)) for name, wall in zip(names, walls, strict=True)]
    out += _room_door(np.array([x + WALL / 2, middle, 0.0]), door_open)
    for name, kind, seed, place, degrees in (
        ("Table", "table", 27, (-0.9, -0.7), 0.0),
        ("Chair", "chair", 6, (-0.9, 0.0), 0.0),
        ("Armchair", "armchair", 7, (2.5, 2.0), -30.0),
        ("Desk", "desk", 8, (-1.6, 2.6), 0.0),
        ("Stool", "stool", 3, (-2.0, 2.2), 0.0),
        ("Shelf", "shelf", 28, (-3.3, 0.5), 90.0),
        ("Low Beam", "beam", 2, (0.7, 1.1), 115.0),
        ("Step", "step", 2, (-0.1, 2.65), 0.0),
    ):
        out.append(Furnishing(name, make(kind, seed), np.array([*place, 0.0]), float(np.deg2rad(degrees))))
    table = next(item for item in out if item.name == "Table")
    out.append(Furnishing("Box", make("box", 17), table.place + np.array([0.05, -0.22, _top(table.piece)])))
    return out


def _top(piece: Piece) -> float:
    """Height in meters of a surface on which a thing stands, raised a hair so that touching is not penetrating."""
    assert isinstance(piece.handles, Surface)
    return piece.handles.place[2] + 0.002


def _room_door(middle: Array, is_open: bool) -> list[Furnishing]:
    """A door in a wall along Y, about `middle` (3,), with a leaf that turns by _AJAR degrees into the room, to -X."""
    # This seed's frame fits the opening, and its hinge is on the camera's side.
    leaf = make("door", 3)
    handles, frame = leaf.handles, leaf.fixture
    assert isinstance(handles, Door) and frame is not None
    ajar = float(np.deg2rad(_AJAR))
    # Using an open door shuts it.
    leaf = replace(leaf, handles=replace(handles, angle=-ajar if is_open else ajar))
    shut = Furnishing("Door", leaf, middle, np.pi / 2)
    framed = Furnishing("Door Frame", frame, middle, shut.angle)
    if not is_open:
        return [shut, framed]
    opened = replace(shut, angle=shut.angle + ajar)
    hinge = np.array([*handles.hinge[:2], 0.0])
    place = middle + (shut.matrix() - opened.matrix())[:3, :3] @ hinge
    return [replace(opened, place=place), framed]
