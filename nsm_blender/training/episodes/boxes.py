# SPDX-License-Identifier: GPL-3.0-or-later
"""Things to carry and what they stand on, put before a carrier that faces -Y."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...geometry.colliders import Collider, Cuboids
from ...geometry.furniture import Piece, held_out, make
from ...geometry.roles import Carryable, Surface
from ...motion.root import angle_of
from ...motion.rotations import from_yaw, rotate

BOXES = ("box", "crate", "sack", "drum")
SUPPORTS = ("table", "desk", "shelf", "cupboard", "platform", "step")
_LOWEST, HIGHEST = 0.02, 1.25
"""Meters between which the tops are that things are taken from and put on."""
_STRETCHED = (0.7, 1.4)
"""Shares of its height, from the least to the most, to which a piece of furniture is stretched so that its top is as
high as wanted."""
_SOLID = ("platform", "step")
"""Pieces that are blocks at any height, down to a board on the floor."""
_WIDTHS = (0.2, 0.62)
"""Meters between the palms, from the narrowest box to the widest."""
_BACK = (-0.02, 0.18)
"""Meters by which the box stands back from the support's edge, from the least to the most that people reach over."""
_OVERHANG = 0.05
"""Meters by which a box may be deeper than what it stands on."""
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
    found: list[tuple[float, Cuboids, Surface]] = []
    for _ in range(_TRIES):
        piece = _made(SUPPORTS, rng)
        tops = [way for way in [piece.handles, *piece.also] if isinstance(way, Surface)] or [_whole_top(piece)]
        for top in tops:
            factor = wanted / top.place[2]
            if abs(top.facing[1] + 1) < 1e-6 and (_within(factor) or (piece.kind in _SOLID and factor < 1)):
                item = _stretched(piece.boxes, top, factor)
                found += [(abs(math.log(factor)), *item)] if _fits(*item, box) else []
    if not found:
        return None
    _, boxes, top = min(found, key=lambda item: item[0])
    turn = from_yaw(np.array(np.pi))
    edge = box.near + min(float(rng.uniform(*_BACK)), top.depth - 2 * box.near)
    was = rotate(turn, np.array(top.place)) + np.array([0.0, top.depth / 2, 0.0])
    room = min((top.width - box.width) / 2 - _HAND_ROOM, _ASIDE)
    shift = np.array([float(rng.uniform(-room, room)) - was[0], edge - was[1], 0.0])
    pose = np.concatenate((shift, turn))[None]
    return Support(Collider("support", boxes, pose, "surface", top), float(top.place[2]), edge)


def _within(factor: float) -> bool:
    """Whether a piece may be stretched so far."""
    return _STRETCHED[0] < factor < _STRETCHED[1]


def _stretched(boxes: Cuboids, top: Surface, factor: float) -> tuple[Cuboids, Surface]:
    """A piece's cuboids and a top of it with all heights over the floor times a factor."""
    scale = np.array([1.0, 1.0, factor])
    place = (np.array(top.place) * scale).tolist()
    return Cuboids(boxes.center * scale, boxes.half * scale), replace(top, place=place)


def _whole_top(piece: Piece) -> Surface:
    """The top of a block that is there for something else."""
    low, high = (piece.boxes.center - piece.boxes.half).min(0), (piece.boxes.center + piece.boxes.half).max(0)
    width, depth, _ = (high - low).tolist()
    return Surface([*((low + high) / 2)[:2].tolist(), float(high[2])], [0.0, -1.0, 0.0], width, depth)


def _fits(boxes: Cuboids, top: Surface, box: Box) -> bool:
    """Whether the box finds room on the top, under whatever is above it, with hands beside it."""
    size = (box.cuboids.center + box.cuboids.half).max(0) - (box.cuboids.center - box.cuboids.half).min(0)
    if top.width < box.width + 2 * _HAND_ROOM or top.depth < size[1] - _OVERHANG:
        return False
    low, high = boxes.center - boxes.half, boxes.center + boxes.half
    above = low[:, 2] > top.place[2] + 0.01
    over = (np.abs(boxes.center[:, 0] - top.place[0]) < boxes.half[:, 0] + size[0] / 2) & above
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
