# SPDX-License-Identifier: GPL-3.0-or-later
"""Things to carry and what they stand on, put before a carrier that faces -Y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...geometry.colliders import Collider, Cuboids
from ...geometry.furniture import Piece, held_out, make
from ...geometry.roles import Carryable, Surface
from ...motion.root import angle_of
from ...motion.rotations import from_yaw, rotate

BOXES = ("box", "crate", "sack", "drum")
SUPPORTS = ("table", "desk", "shelf", "cupboard", "platform", "step")
_LOWEST, HIGHEST = 0.2, 1.15
"""Meters between which the tops are that things are taken from and put on."""
_WIDTHS = (0.2, 0.62)
"""Meters between the palms, from the narrowest box to the widest."""
_BACK = (-0.02, 0.05)
"""Meters by which the box stands back from the support's edge, from the least to the most."""
_SQUARE = 0.999
"""Share of a unit facing along one axis from which the facing counts as square, since cuboids of round things are
turned by right angles only."""
_ASIDE, _HAND_ROOM = 0.15, 0.12
"""Meters that the box is off the middle of a wide top at most, and meters that each hand needs beside it."""
_ABOVE = 0.1
"""Meters of room that a box needs above it to be lifted."""
_TRIES = 12
"""Attempts to find a support for a box before the episode is given up."""


@dataclass(frozen=True, eq=False)
class Box:
    """A thing to carry.

    cuboids: its frame's origin is the middle between the palms, the carrier is at +Y. width: meters between the
    palms. bottom: meters from the palms down to its underside. near: from the palms toward the carrier to its
    nearest point. handles: how it is held, in its frame.
    """

    name: str
    cuboids: Cuboids
    width: float
    bottom: float
    near: float
    handles: Carryable


@dataclass(frozen=True, eq=False)
class Support:
    """What a box stands on. top: meters of height, edge: y of its edge toward the carrier."""

    collider: Collider
    top: float
    edge: float


def random_box(rng: np.random.Generator, name: str) -> Box:
    """Something that two hands can hold, not of the held-out seeds."""
    while True:
        piece = _made(BOXES, rng)
        ways = [way for way in [piece.handles, *piece.also] if isinstance(way, Carryable)]
        ways = [way for way in ways if max(abs(way.facing[0]), abs(way.facing[1])) > _SQUARE]
        way = ways[int(rng.integers(len(ways)))]
        width = float(np.linalg.norm(np.array(way.left) - np.array(way.right)))
        if _WIDTHS[0] < width < _WIDTHS[1]:
            return _in_palm_frame(piece, way, width, name)


def random_support(rng: np.random.Generator, box: Box) -> Support | None:
    """Something on whose front edge the box, whose frame is the world's, stands."""
    wanted = float(rng.uniform(_LOWEST, HIGHEST))
    found: list[tuple[Piece, Surface]] = []
    for _ in range(_TRIES):
        piece = _made(SUPPORTS, rng)
        tops = [way for way in [piece.handles, *piece.also] if isinstance(way, Surface)] or [_whole_top(piece)]
        tops = [way for way in tops if abs(way.facing[1] + 1) < 1e-6 and _LOWEST < way.place[2] < HIGHEST]
        found += [(piece, way) for way in tops if _fits(piece, way, box)]
    if not found:
        return None
    piece, top = min(found, key=lambda item: abs(item[1].place[2] - wanted))
    turn = from_yaw(np.array(np.pi))
    edge = box.near + min(float(rng.uniform(*_BACK)), top.depth - 2 * box.near)
    was = rotate(turn, np.array(top.place)) + np.array([0.0, top.depth / 2, 0.0])
    room = min((top.width - box.width) / 2 - _HAND_ROOM, _ASIDE)
    shift = np.array([float(rng.uniform(-room, room)) - was[0], edge - was[1], 0.0])
    pose = np.concatenate((shift, turn))[None]
    return Support(Collider("support", piece.boxes, pose, "surface", top), float(top.place[2]), edge)


def _whole_top(piece: Piece) -> Surface:
    """The top of a block that is there for something else."""
    low, high = (piece.boxes.center - piece.boxes.half).min(0), (piece.boxes.center + piece.boxes.half).max(0)
    width, depth, _ = (high - low).tolist()
    return Surface([*((low + high) / 2)[:2].tolist(), float(high[2])], [0.0, -1.0, 0.0], width, depth)


def _fits(piece: Piece, top: Surface, box: Box) -> bool:
    """Whether the box finds room on the top, under whatever is above it, with hands beside it."""
    size = (box.cuboids.center + box.cuboids.half).max(0) - (box.cuboids.center - box.cuboids.half).min(0)
    if top.width < box.width + 2 * _HAND_ROOM or top.depth < size[1] - _BACK[1]:
        return False
    low, high = piece.boxes.center - piece.boxes.half, piece.boxes.center + piece.boxes.half
    above = low[:, 2] > top.place[2] + 0.01
    over = (np.abs(piece.boxes.center[:, 0] - top.place[0]) < piece.boxes.half[:, 0] + size[0] / 2) & above
    in_front = high[:, 1] > top.place[1] - top.depth / 2 - 0.6
    return not (over & in_front & (low[:, 2] < top.place[2] + size[2] + _ABOVE)).any()


def _made(kinds: tuple[str, ...], rng: np.random.Generator) -> Piece:
    seed = int(rng.integers(1, 100000))
    while held_out(seed):
        seed = int(rng.integers(1, 100000))
    return make(kinds[int(rng.integers(len(kinds)))], seed)


def _in_palm_frame(piece: Piece, way: Carryable, width: float, name: str) -> Box:
    middle = (np.array(way.left) + np.array(way.right)) / 2
    # The carrier is to be at +Y.
    turn = np.pi - float(angle_of(np.array(way.facing[:2])))
    turns = round(turn / (np.pi / 2))
    yaw = from_yaw(np.array(turns * np.pi / 2))
    center = rotate(np.broadcast_to(yaw, (len(piece.boxes.center), 4)), piece.boxes.center - middle)
    half = piece.boxes.half[:, [1, 0, 2]] if turns % 2 else piece.boxes.half
    low = (center - half).min(0)
    high = (center + half).max(0)
    handles = Carryable([width / 2, 0.0, 0.0], [-width / 2, 0.0, 0.0], [0.0, 1.0, 0.0], way.weight)
    return Box(f"{name} {piece.kind}", Cuboids(center, half), width, float(-low[2]), float(high[1]), handles)
