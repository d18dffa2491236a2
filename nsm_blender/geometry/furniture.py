# SPDX-License-Identifier: GPL-3.0-or-later
"""Furniture made from a seed, with the truth about how it is used: for tests, figures, demo scenes and training.

Seeds that are multiples of 5 are held out (`held_out`): no network is trained on them, and figures are reported on
them. All shapes are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import seating
from .colliders import Cuboids
from .mesh import TriangleMesh
from .reach import LANDING, PUT_DEPTH, SPAN
from .roles import Carryable, Climbable, Door, Handles, Surface
from .seating import Seating
from .shapes import Solid, block, drum, joined_boxes, pillow

_ROUND = 1.2
"""Largest ratio of length to width at which a round thing can be grasped from anywhere."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of furniture that stands on z = 0 about the origin, its front to -Y, in meters.

    mesh: all of what plays the role; parts: its solids. boxes: cuboids that fill the solids. handles: how it is used,
    None for an obstacle; also: other handles that are just as right (the other sides of a table). odd: what is odd
    about it, "" for nothing. fixture: what it hangs in and what does not move with it, such as a door's frame, in the
    same frame.
    """

    kind: str
    mesh: TriangleMesh
    parts: list[TriangleMesh]
    boxes: Cuboids
    role: str
    handles: Handles | None = None
    also: list[Handles] = field(default_factory=list)
    odd: str = ""
    fixture: Piece | None = None


def held_out(seed: int) -> bool:
    """Whether figures are reported on this seed, so that nothing may be trained on it."""
    return seed % 5 == 0


def make(kind: str, seed: int) -> Piece:
    """Make the piece of furniture of `kind` (one of KINDS) that belongs to the seed. Raises KeyError on another
    kind."""
    return _MAKERS[kind](np.random.default_rng([KINDS.index(kind), seed]), kind)


def piece_of(
    kind: str,
    solids: list[Solid],
    role: str = "obstacle",
    handles: Handles | None = None,
    also: list[Handles] | None = None,
    fixture: Piece | None = None,
) -> Piece:
    """Build a piece from its solids."""
    parts = [solid.mesh for solid in solids]
    mesh = TriangleMesh.joined(parts)
    return Piece(kind, mesh, parts, joined_boxes(solids), role, handles, also or [], "", fixture)


def door(rng: np.random.Generator, kind: str, opening: float | None = None) -> Piece:
    """Make a door leaf with handles on both sides, and its frame as the fixture. opening: meters inside the frame."""
    width = (opening or rng.uniform(0.76, 1.0)) - 0.01
    height, thick, side = rng.uniform(1.96, 2.10), rng.uniform(0.035, 0.055), 1 if rng.random() < 0.5 else -1
    grip, free = rng.uniform(0.98, 1.08), -side * (width / 2 - rng.uniform(0.05, 0.08))
    solids = [block((-width / 2, -thick / 2, 0.005), (width / 2, thick / 2, height))]
    # Where the lever ends; the hand lies on its middle.
    inner = free + side * 0.12
    for face in (-1.0, 1.0):
        y = face * (thick / 2 + 0.05)
        solids.append(_bar((free - 0.012, 0.0, grip - 0.012), (free + 0.012, y, grip + 0.012)))
        solids.append(_bar((free, y - 0.01, grip - 0.012), (inner, y + 0.01, grip + 0.012)))
    post, deep = rng.uniform(0.05, 0.10), rng.uniform(0.10, 0.16)
    frame = [
        block((-width / 2 - 0.005 - post, -deep / 2, 0.0), (-width / 2 - 0.005, deep / 2, height + 0.005)),
        block((width / 2 + 0.005, -deep / 2, 0.0), (width / 2 + 0.005 + post, deep / 2, height + 0.005)),
        block(
            (-width / 2 - 0.005 - post, -deep / 2, height + 0.005),
            (width / 2 + 0.005 + post, deep / 2, height + 0.005 + post),
        ),
    ]
    opens = np.pi / 2 * (1 if rng.random() < 0.5 else -1)
    handles = Door(
        [float(side * width / 2), 0.0, 0.005],
        [0.0, 0.0, 1.0],
        [float(free + inner) / 2, 0.0, float(grip)],
        float(width),
        float(height - 0.005),
        float(opens),
    )
    return piece_of(kind, solids, "door", handles, fixture=piece_of("door_frame", frame))


def _table(rng: np.random.Generator, kind: str) -> Piece:
    width, depth, height = rng.uniform(0.7, 1.8), rng.uniform(0.6, 0.95), rng.uniform(0.68, 0.78)
    if rng.random() < 0.25:
        height = rng.uniform(0.38, 0.50)
    thick, leg = rng.uniform(0.02, 0.06), rng.uniform(0.04, 0.08)
    if rng.random() < 0.25:
        radius = depth / 2
        solids = [drum((0, 0), radius, height - thick, height), drum((0, 0), leg, 0.02, height - thick)]
        solids.append(drum((0, 0), radius * 0.6, 0.0, 0.03))
        # The largest square in the disc is the free area.
        width = depth = radius * np.sqrt(2)
        turns = np.linspace(0, 2 * np.pi, 36, endpoint=False)
        handles = [Surface([0, 0, height], _around(t), float(width), float(depth)) for t in turns]
        return piece_of(kind, solids, "surface", handles[0], list(handles[1:]))
    solids = [block((-width / 2, -depth / 2, height - thick), (width / 2, depth / 2, height))]
    if rng.random() < 0.7:
        solids += [
            block((x, y, 0.0), (x + leg, y + leg, height - thick))
            for x in (-width / 2, width / 2 - leg)
            for y in (-depth / 2, depth / 2 - leg)
        ]
    else:
        solids += [
            block((x, -depth / 2 + 0.05, 0.0), (x + leg, depth / 2 - 0.05, height - thick))
            for x in (-width / 2 + 0.05, width / 2 - 0.05 - leg)
        ]
    front, *others = _surfaces(width, depth, height)
    return piece_of(kind, solids, "surface", front, list(others))


def _desk(rng: np.random.Generator, kind: str) -> Piece:
    width, depth, height = rng.uniform(1.0, 1.7), rng.uniform(0.6, 0.8), rng.uniform(0.70, 0.78)
    thick, panel = rng.uniform(0.02, 0.04), 0.03
    solids = [
        block((-width / 2, -depth / 2, height - thick), (width / 2, depth / 2, height)),
        block((-width / 2, -depth / 2 + 0.03, 0.0), (-width / 2 + panel, depth / 2, height - thick)),
        block((width / 2 - panel, -depth / 2 + 0.03, 0.0), (width / 2, depth / 2, height - thick)),
        block((-width / 2, depth / 2 - 0.08, 0.25), (width / 2, depth / 2 - 0.06, height - thick)),
    ]
    if rng.random() < 0.5:
        solids.append(block((width / 2 - 0.42, -depth / 2 + 0.03, 0.08), (width / 2, depth / 2 - 0.05, height - thick)))
    front, *others = _surfaces(width, depth, height)
    return piece_of(kind, solids, "surface", front, list(others))


def _shelf(rng: np.random.Generator, kind: str) -> Piece:
    width, depth, height = rng.uniform(0.6, 1.2), rng.uniform(0.26, 0.42), rng.uniform(1.3, 2.0)
    thick, count = rng.uniform(0.02, 0.035), int(rng.integers(4, 6))
    levels = np.linspace(0.08, height, count)
    solids = [block((-width / 2, -depth / 2, z - thick), (width / 2, depth / 2, z)) for z in levels]
    solids += [block((x, -depth / 2, 0.0), (x + thick, depth / 2, height)) for x in (-width / 2, width / 2 - thick)]
    solids.append(block((-width / 2, depth / 2 - 0.012, 0.0), (width / 2, depth / 2, height)))
    boards = [
        Surface([0.0, -0.006, float(z)], [0.0, -1.0, 0.0], float(width - 2 * thick), float(depth - 0.012))
        for z in sorted(levels, key=lambda z: abs(z - 1.0))
        if 0.3 < z < 1.45
    ]
    return piece_of(kind, solids, "surface", boards[0], list(boards[1:]))


def _cupboard(rng: np.random.Generator, kind: str) -> Piece:
    width, depth = rng.uniform(0.6, 1.4), rng.uniform(0.38, 0.55)
    height = rng.uniform(0.7, 1.2) if rng.random() < 0.5 else rng.uniform(1.7, 2.1)
    solids = [block((-width / 2, -depth / 2, 0.0), (width / 2, depth / 2, height))]
    for x in (-0.06, 0.03):
        solids.append(block((x, -depth / 2 - 0.02, height * 0.5), (x + 0.03, -depth / 2, height * 0.5 + 0.12)))
    if height > 1.5:
        return piece_of(kind, solids)
    front, *others = _surfaces(width, depth, height)
    return piece_of(kind, solids, "surface", front, list(others))


def _box(rng: np.random.Generator, kind: str) -> Piece:
    width, depth, height = rng.uniform(0.28, 0.6), rng.uniform(0.22, 0.45), rng.uniform(0.15, 0.45)
    solids = [block((-width / 2, -depth / 2, 0.0), (width / 2, depth / 2, height))]
    return _carried(kind, solids, width, depth, height)


def _crate(rng: np.random.Generator, kind: str) -> Piece:
    width, depth, height = rng.uniform(0.34, 0.6), rng.uniform(0.26, 0.42), rng.uniform(0.20, 0.40)
    wall = rng.uniform(0.012, 0.025)
    solids = [block((-width / 2, -depth / 2, 0.0), (width / 2, depth / 2, wall))]
    boards = int(rng.integers(2, 4))
    pitch = height / boards
    for z in np.arange(boards) * pitch:
        top = z + pitch - 0.015
        solids += [block((-width / 2, y, z), (width / 2, y + wall, top)) for y in (-depth / 2, depth / 2 - wall)] + [
            block((x, -depth / 2, z), (x + wall, depth / 2, top)) for x in (-width / 2, width / 2 - wall)
        ]
    solids += [
        block((x, y, 0.0), (x + 0.03, y + 0.03, height - 0.015))
        for x in (-width / 2 + wall, width / 2 - wall - 0.03)
        for y in (-depth / 2 + wall, depth / 2 - wall - 0.03)
    ]
    return _carried(kind, solids, width, depth, height - 0.015)


def _sack(rng: np.random.Generator, kind: str) -> Piece:
    width, depth, height = rng.uniform(0.35, 0.6), rng.uniform(0.25, 0.40), rng.uniform(0.18, 0.35)
    solids = [pillow((0, 0, height / 2), (width / 2, depth / 2, height / 2), power=rng.uniform(2.3, 3.5))]
    if max(width, depth) < _ROUND * min(width, depth):
        return piece_of(kind, solids, "carryable", *_grasps_around(width, depth, height))
    return _carried(kind, solids, width, depth, height)


def _drum(rng: np.random.Generator, kind: str) -> Piece:
    radius, height = rng.uniform(0.12, 0.25), rng.uniform(0.25, 0.5)
    solids = [drum((0, 0), radius, 0.0, height)]
    return piece_of(kind, solids, "carryable", *_grasps_around(2 * radius, 2 * radius, height))


def _step(rng: np.random.Generator, kind: str) -> Piece:
    width, depth, height = rng.uniform(0.6, 1.2), rng.uniform(0.35, 0.55), rng.uniform(0.15, 0.35)
    return _climbed(kind, [block((-width / 2, -depth / 2, 0.0), (width / 2, depth / 2, height))], width, depth, height)


def _platform(rng: np.random.Generator, kind: str) -> Piece:
    width, depth, height = rng.uniform(1.0, 2.0), rng.uniform(0.8, 1.6), rng.uniform(0.35, 0.95)
    if rng.random() < 0.5:
        solids = [block((-width / 2, -depth / 2, 0.0), (width / 2, depth / 2, height))]
    else:
        solids = [block((-width / 2, -depth / 2, height - 0.1), (width / 2, depth / 2, height))]
        solids += [
            block((x, y, 0.0), (x + 0.1, y + 0.1, height - 0.1))
            for x in (-width / 2, width / 2 - 0.1)
            for y in (-depth / 2, depth / 2 - 0.1)
        ]
    return _climbed(kind, solids, width, depth, height)


def _stairs(rng: np.random.Generator, kind: str) -> Piece:
    width, rise = rng.uniform(0.6, 1.2), rng.uniform(0.15, 0.22)
    tread, top = rng.uniform(0.26, 0.34), rng.uniform(0.40, 0.8)
    low, high = -(tread + top) / 2, (tread + top) / 2
    solids = [
        block((-width / 2, low, 0.0), (width / 2, low + tread, rise)),
        block((-width / 2, low + tread, 0.0), (width / 2, high, 2 * rise)),
    ]
    edge = low + tread
    handles = Climbable(
        [0.0, float(edge), float(2 * rise)], [0.0, 1.0, 0.0],
        [0.0, float(edge + min(LANDING, top / 2)), float(2 * rise)], float(width),
    )  # fmt: skip
    return piece_of(kind, solids, "climbable", handles)


def _beam(rng: np.random.Generator, kind: str) -> Piece:
    width, under, thick = rng.uniform(1.4, 2.4), rng.uniform(1.15, 1.45), rng.uniform(0.12, 0.25)
    solids = [block((-width / 2, -thick / 2, under), (width / 2, thick / 2, under + thick))]
    solids += [block((x, -thick / 2, 0.0), (x + thick, thick / 2, under)) for x in (-width / 2, width / 2 - thick)]
    return piece_of(kind, solids)


def _bar(a: tuple[float, float, float], b: tuple[float, float, float]) -> Solid:
    """The box between two opposite corners, in any order."""
    ends = np.sort(np.array([a, b]), axis=0)
    return block(tuple(ends[0]), tuple(ends[1]))


def _around(angle: float) -> list[float]:
    return [float(np.sin(angle)), float(-np.cos(angle)), 0.0]


def _surfaces(width: float, depth: float, height: float) -> list[Surface]:
    """Handles of a rectangular top from its front, its back, and from those ends that are within reach."""
    out = [Surface([0.0, 0.0, float(height)], [0.0, y, 0.0], float(width), float(depth)) for y in (-1.0, 1.0)]
    if width / 2 <= PUT_DEPTH:
        out += [Surface([0.0, 0.0, float(height)], [x, 0.0, 0.0], float(depth), float(width)) for x in (-1.0, 1.0)]
    return out


def _grasp(facing: list[float], width: float, height: float, weight: str) -> Carryable:
    """Palms at half the height, `width` meters apart. Seen from behind, the carrier's left hand is on the left."""
    left = np.array([facing[1], -facing[0], 0.0]) * width / 2 + np.array([0.0, 0.0, height / 2])
    right = left * [-1.0, -1.0, 1.0]
    return Carryable(left.tolist(), right.tolist(), facing, weight)


def _grasps_around(width: float, depth: float, height: float) -> tuple[Handles, list[Handles]]:
    """Grasps of a round thing from anywhere: the first, and the others."""
    first, *others = (
        _grasp(_around(turn), float(np.hypot(width * np.cos(turn), depth * np.sin(turn))), height, "light")
        for turn in np.linspace(0, 2 * np.pi, 72, endpoint=False)
    )
    return first, list(others)


def _carried(kind: str, solids: list[Solid], width: float, depth: float, height: float) -> Piece:
    grasps: list[Handles] = [
        _grasp(facing, across, height, "light")
        for facing, across in (
            ([0.0, -1.0, 0.0], width), ([0.0, 1.0, 0.0], width), ([1.0, 0.0, 0.0], depth), ([-1.0, 0.0, 0.0], depth)
        )
        if across <= SPAN[1]
    ]  # fmt: skip
    return piece_of(kind, solids, "carryable", grasps[0], grasps[1:])


def _climbed(kind: str, solids: list[Solid], width: float, depth: float, height: float) -> Piece:
    """A rectangular top that is climbed over any of its edges."""
    ways: list[Handles] = []
    for facing, across, along in (
        ([0.0, 1.0, 0.0], width, depth), ([0.0, -1.0, 0.0], width, depth),
        ([1.0, 0.0, 0.0], depth, width), ([-1.0, 0.0, 0.0], depth, width),
    ):  # fmt: skip
        way = np.array(facing)
        top = np.array([0.0, 0.0, height])
        edge, landing = top - way * along / 2, top - way * (along / 2 - min(LANDING, along / 2))
        ways.append(Climbable(edge.tolist(), facing, landing.tolist(), float(across)))
    return piece_of(kind, solids, "climbable", ways[0], ways[1:])


def _seated(build: Callable[[np.random.Generator], Seating]) -> Callable[[np.random.Generator, str], Piece]:
    def maker(rng: np.random.Generator, kind: str) -> Piece:
        made = build(rng)
        return piece_of(kind, made.solids, "seat", made.seat, list(made.also))

    return maker


_MAKERS: dict[str, Callable[[np.random.Generator, str], Piece]] = {
    "chair": _seated(seating.chair),
    "armchair": _seated(seating.armchair),
    "stool": _seated(seating.stool),
    "sofa": _seated(seating.sofa),
    "bench": _seated(seating.bench),
    "office_chair": _seated(seating.office_chair),
    "table": _table,
    "desk": _desk,
    "shelf": _shelf,
    "cupboard": _cupboard,
    "door": door,
    "box": _box,
    "crate": _crate,
    "sack": _sack,
    "drum": _drum,
    "step": _step,
    "platform": _platform,
    "stairs": _stairs,
    "beam": _beam,
    "tub_chair": _seated(seating.tub_chair),
    "slatted_bench": _seated(seating.slatted_bench),
}

KINDS = tuple(_MAKERS)
"""Kinds of furniture. The order decides what a seed makes: append only."""
