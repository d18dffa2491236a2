# SPDX-License-Identifier: GPL-3.0-or-later
"""Seating made from random numbers: each piece stands on z = 0, and its sitter looks along -Y."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from .reach import ARM_REST
from .roles import Seat
from .shapes import Solid, block, drum, leaning, spoke


@dataclass
class Seating:
    """Solids of a seat, its handles, and the other handles that are just as good."""

    solids: list[Solid]
    seat: Seat
    also: list[Seat] = field(default_factory=list)


def turned(seat: Seat, angles: list[float]) -> list[Seat]:
    """Handles of the seat for sitters that look the given angles (radians, about +Z) away from its facing."""
    out = []
    for angle in angles:
        c, s = np.cos(angle), np.sin(angle)
        x, y = seat.facing[:2]
        swap = abs(s) > abs(c)
        size = (seat.depth, seat.width) if swap else (seat.width, seat.depth)
        facing = [float(c * x - s * y), float(s * x + c * y), 0.0]
        out.append(replace(seat, facing=facing, width=size[0], depth=size[1]))
    return out


def chair(rng: np.random.Generator) -> Seating:
    """A chair with a back: four legs, two panels or a solid foot; the back a board or slats."""
    width, depth, height = rng.uniform(0.38, 0.50), rng.uniform(0.38, 0.48), rng.uniform(0.40, 0.50)
    back, lean = rng.uniform(0.03, 0.06), rng.uniform(0.0, 0.12)
    low, high = -depth / 2, depth / 2 + back
    top = height + rng.uniform(0.30, 0.60)
    solids = _foot(rng, width, low, high, height - rng.uniform(0.03, 0.07))
    solids.append(block((-width / 2, low, height - 0.06), (width / 2, high, height)))
    solids += _back(rng, width, high - back, high, height, top, lean)
    return Seating(_centered(solids, back / 2), _seat(width, depth, height, -back / 2))


def armchair(rng: np.random.Generator) -> Seating:
    """A chair with two arm rests, upholstered down to the floor or on legs."""
    width, depth, height = rng.uniform(0.48, 0.60), rng.uniform(0.45, 0.55), rng.uniform(0.38, 0.46)
    return _with_arms(rng, width, depth, height, arms=(True, True))


def sofa(rng: np.random.Generator) -> Seating:
    """A sofa for two to four; one arm is missing on some."""
    width, depth, height = rng.uniform(1.2, 2.2), rng.uniform(0.48, 0.65), rng.uniform(0.36, 0.46)
    missing = int(rng.integers(0, 4))
    return _with_arms(rng, width, depth, height, arms=(missing != 0, missing != 1))


def stool(rng: np.random.Generator) -> Seating:
    """A stool without a back, round or square; its sitter may look anywhere."""
    height = rng.uniform(0.38, 0.52)
    if rng.random() < 0.5:
        radius = rng.uniform(0.15, 0.22)
        solids = [drum((0, 0), radius, height - rng.uniform(0.03, 0.08), height)]
        if rng.random() < 0.5:
            solids += [drum((0, 0), 0.03, 0.02, height - 0.03, 12), drum((0, 0), radius * 0.9, 0.0, 0.025)]
        else:
            solids += _legs(1.3 * radius, -0.65 * radius, 0.65 * radius, height - 0.03, 0.035)
        seat = _seat(2 * radius, 2 * radius, height, 0.0, ("front", "left", "right", "back"))
        return Seating(solids, seat, turned(seat, list(np.linspace(0, 2 * np.pi, 36, endpoint=False)[1:])))
    width = rng.uniform(0.30, 0.42)
    solids = _foot(rng, width, -width / 2, width / 2, height - 0.04)
    solids.append(block((-width / 2, -width / 2, height - 0.04), (width / 2, width / 2, height)))
    seat = _seat(width, width, height, 0.0, ("front", "left", "right", "back"))
    return Seating(solids, seat, turned(seat, [np.pi / 2, np.pi, -np.pi / 2]))


def bench(rng: np.random.Generator) -> Seating:
    """A bench for two or three; half have a back, and on the others the sitter may look both ways."""
    width, depth, height = rng.uniform(1.0, 1.8), rng.uniform(0.30, 0.42), rng.uniform(0.40, 0.48)
    solids = _foot(rng, width, -depth / 2, depth / 2, height - 0.05)
    solids.append(block((-width / 2, -depth / 2, height - 0.05), (width / 2, depth / 2, height)))
    if rng.random() < 0.5:
        seat = _seat(width, depth, height, 0.0, ("front", "left", "right", "back"))
        return Seating(solids, seat, turned(seat, [np.pi]))
    back = rng.uniform(0.03, 0.06)
    solids += _back(rng, width, depth / 2, depth / 2 + back, height - 0.05, height + rng.uniform(0.30, 0.45), 0.06)
    return Seating(_centered(solids, back / 2), _seat(width, depth, height, -back / 2))


def office_chair(rng: np.random.Generator) -> Seating:
    """A round seat on a column with five feet, a narrow back on a bar, some with arm rests."""
    radius, height = rng.uniform(0.21, 0.26), rng.uniform(0.42, 0.54)
    turn, reach = rng.uniform(0, 2 * np.pi), rng.uniform(0.26, 0.33)
    solids = [drum((0, 0), radius, height - 0.07, height), drum((0, 0), 0.03, 0.07, height - 0.07, 12)]
    for angle in turn + np.arange(5) * 2 * np.pi / 5:
        end = (float(reach * np.cos(angle)), float(reach * np.sin(angle)))
        solids += [spoke((0, 0, 0.08), (*end, 0.08), 0.045), drum(end, 0.03, 0.0, 0.06, 10)]
    wide, top = rng.uniform(0.15, 0.22), height + rng.uniform(0.40, 0.60)
    solids.append(block((-0.03, radius - 0.04, height - 0.06), (0.03, radius + 0.07, height - 0.02)))
    solids.append(block((-0.03, radius + 0.03, height - 0.06), (0.03, radius + 0.07, top - 0.1)))
    solids.append(leaning((-wide, radius - 0.02, height + 0.14), (wide, radius + 0.03, top), 0.03))
    seat = _seat(2 * radius, 2 * radius, height, 0.0)
    if rng.random() < 0.5:
        rest = height + rng.uniform(0.18, 0.25)
        for side in (-1.0, 1.0):
            x = side * (radius + 0.05)
            solids.append(block((x - 0.03, -0.12, rest - 0.03), (x + 0.03, 0.12, rest)))
            solids.append(block((x - 0.02, -0.02, height - 0.06), (x + 0.02, 0.02, rest - 0.03)))
            solids.append(block((min(0.0, x), -0.02, height - 0.06), (max(0.0, x), 0.02, height - 0.03)))
            seat.arm_rests.append([x, 0.0, float(rest)])
        seat.approaches = ["front"]
    return Seating(solids, seat)


def tub_chair(rng: np.random.Generator) -> Seating:
    """A round seat with a back that runs round it and ends in arm rests of the same height."""
    radius, height = rng.uniform(0.24, 0.30), rng.uniform(0.40, 0.46)
    rise, thick = rng.uniform(0.22, 0.32), rng.uniform(0.03, 0.06)
    solids = [drum((0, 0), radius, height - 0.10, height), drum((0, 0), 0.04, 0.02, height - 0.1, 12)]
    solids.append(drum((0, 0), 0.8 * radius, 0.0, 0.03))
    round_ = np.linspace(-1.0, 1.0, 15) * rng.uniform(1.7, 2.0)
    shell = (radius + thick / 2) * np.stack([np.sin(round_), np.cos(round_)], axis=-1)
    low, high = height - 0.08, height + rise
    for a, b in pairwise(shell):
        solids.append(spoke((*a, (low + high) / 2), (*b, (low + high) / 2), thick, high - low))
    rests = [[side * float(radius + thick / 2), 0.0, float(high)] for side in (-1.0, 1.0)]
    seat = replace(_seat(2 * radius, 2 * radius, height, 0.0, ("front",)), arm_rests=rests)
    return Seating(solids, seat)


def slatted_bench(rng: np.random.Generator) -> Seating:
    """A garden bench of slats with gaps between them, with a back of slats."""
    width, height, slats = rng.uniform(1.1, 1.7), rng.uniform(0.40, 0.47), int(rng.integers(4, 6))
    slat, gap = rng.uniform(0.06, 0.08), rng.uniform(0.015, 0.03)
    depth = slats * slat + (slats - 1) * gap
    low = -depth / 2
    solids = [
        block((-width / 2, y, height - 0.03), (width / 2, y + slat, height))
        for y in low + np.arange(slats) * (slat + gap)
    ]
    for x in (-width / 2 + 0.08, width / 2 - 0.14):
        solids.append(block((x, low, 0.0), (x + 0.06, low + 0.06, height - 0.03)))
        solids.append(block((x, -low, 0.0), (x + 0.06, 0.06 - low, height + 0.42)))
        solids.append(block((x, low, height - 0.09), (x + 0.06, -low, height - 0.03)))
    for z in height + np.array([0.12, 0.24, 0.36]):
        solids.append(block((-width / 2, -low - 0.025, z), (width / 2, -low, z + 0.07)))
    return Seating(_centered(solids, 0.03), _seat(width, depth - 0.025, height, -0.0425))


def _with_arms(rng: np.random.Generator, width: float, depth: float, height: float, arms: tuple[bool, bool]) -> Seating:
    back, arm, rest = rng.uniform(0.06, 0.20), rng.uniform(0.05, 0.18), height + rng.uniform(0.16, 0.28)
    low, high, top = -depth / 2, depth / 2 + back, height + rng.uniform(0.35, 0.55)
    solid = rng.random() < 0.5
    under = 0.06 if solid else height - 0.14
    outer = width / 2 + arm
    solids = _legs(2 * outer if all(arms) else width, low, high, under + 0.02, 0.05)
    solids.append(block((-width / 2, low, under), (width / 2, high, height)))
    solids.append(leaning((-width / 2, high - back, height), (width / 2, high, top), rng.uniform(0.0, 0.10)))
    seat = _seat(width, depth, height, -back / 2)
    for present, side in zip(arms, (-1.0, 1.0), strict=True):
        if not present:
            continue
        x0, x1 = sorted((side * width / 2, side * outer))
        foot = under if solid else rest - 0.05
        solids.append(block((x0, low, foot), (x1, high, rest)))
        if not solid:
            solids.append(block((x0, low, under - 0.02), (x1, low + 0.05, rest)))
            solids.append(block((x0, high - 0.05, under - 0.02), (x1, high, rest)))
        if width / 2 + arm / 2 <= ARM_REST:
            seat.arm_rests.append([side * (width + arm) / 2, -back / 2, float(rest)])
    # The sitter looks along -Y, so that the left hand is at +X.
    seat.approaches = ["front"] + [name for name, present in zip(("right", "left"), arms, strict=True) if not present]
    return Seating(_centered(solids, back / 2), seat)


def _seat(
    width: float, depth: float, height: float, y: float, approaches: tuple[str, ...] = ("front", "left", "right")
) -> Seat:
    return Seat(
        [0.0, float(y), float(height)], [0.0, -1.0, 0.0], float(width), float(depth), approaches=list(approaches)
    )


def _centered(solids: list[Solid], shift: float) -> list[Solid]:
    """The solids moved by -`shift` meters along Y, so that seat and back together are centered."""
    move = np.eye(4)
    move[1, 3] = -shift
    return [
        Solid(s.mesh.transformed(move), replace(s.boxes, center=s.boxes.center + np.array([0.0, -shift, 0.0])))
        for s in solids
    ]


def _legs(width: float, low: float, high: float, height: float, thickness: float) -> list[Solid]:
    return [
        block((x, y, 0.0), (x + thickness, y + thickness, height))
        for x in (-width / 2, width / 2 - thickness)
        for y in (low, high - thickness)
    ]


def _foot(rng: np.random.Generator, width: float, low: float, high: float, height: float) -> list[Solid]:
    """What carries the seat: four legs (mostly), two side panels, or a solid block."""
    kind, thickness = rng.random(), rng.uniform(0.03, 0.06)
    if kind < 0.6:
        return _legs(width, low, high, height, thickness)
    if kind < 0.85:
        return [block((x, low, 0.0), (x + thickness, high, height)) for x in (-width / 2, width / 2 - thickness)]
    return [block((-width / 2 + 0.02, low + 0.02, 0.0), (width / 2 - 0.02, high - 0.02, height))]


def _back(
    rng: np.random.Generator, width: float, low: float, high: float, bottom: float, top: float, lean: float
) -> list[Solid]:
    """A board, or two posts with rails between them."""
    if rng.random() < 0.5:
        return [leaning((-width / 2, low, bottom), (width / 2, high, top), lean)]
    post = 0.04
    solids = [leaning((x, low, bottom), (x + post, high, top), lean) for x in (-width / 2, width / 2 - post)]
    count = int(rng.integers(2, 4))
    for level in np.linspace(bottom + 0.4 * (top - bottom), top - 0.05, count):
        y = lean * (level - bottom) / (top - bottom)
        solids.append(block((-width / 2, low + y, level - 0.04), (width / 2, high + y, level + 0.04)))
    return solids
