# SPDX-License-Identifier: GPL-3.0-or-later
"""Surfaces for things as modelers make them; each stands on z = 0, and its user stands at -Y."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...geometry.mesh import TriangleMesh
from ...geometry.reach import PUT_DEPTH, PUT_HEIGHTS
from ...geometry.roles import Handles, Surface
from . import forms
from .model import Model

FREE_ABOVE = 0.2
"""Free height in meters that a compartment needs to count as a place for things, as in a proposal."""


def coffee_table(rng: np.random.Generator) -> Model:
    """A low table: a board on splayed legs, some with a board below, or a block down to the floor."""
    wide, deep, height = rng.uniform(0.85, 1.25), rng.uniform(0.50, 0.65), rng.uniform(0.36, 0.46)
    model = Model(role="surface")
    board, kind = rng.uniform(0.022, 0.04), rng.random()
    model.add(forms.rounded_box((-wide / 2, -deep / 2, height - board), (wide / 2, deep / 2, height), 0.01, 3))
    if kind < 0.7:
        _legs(model, rng, wide, deep, height - board / 2, inset=0.07, splay=rng.uniform(0, 0.05))
        if kind < 0.3:
            z = rng.uniform(0.12, 0.16)
            low, high = (-wide / 2 + 0.09, -deep / 2 + 0.07, z - 0.016), (wide / 2 - 0.09, deep / 2 - 0.07, z)
            model.add(forms.rounded_box(low, high, 0.005))
    else:
        model.add(forms.rounded_box((-wide / 2 + 0.04, -deep / 2 + 0.04, 0.0), (wide / 2 - 0.04, deep / 2 - 0.04,
                                                                            height - board / 2), 0.01))  # fmt: skip
    model.truths = _around(wide, deep, height)
    return model


def dining_table(rng: np.random.Generator) -> Model:
    """A board with an apron on four legs or on trestles, or a round board on a turned column."""
    wide, deep, height = rng.uniform(1.2, 2.0), rng.uniform(0.78, 0.95), rng.uniform(0.72, 0.77)
    model = Model(role="surface")
    board, kind = rng.uniform(0.024, 0.045), rng.random()
    if kind < 0.2:
        radius = rng.uniform(0.45, 0.6)
        model.add(forms.puck((0, 0), radius, height - board, height, 0.012, 48))
        share = np.array([0.0, 0.03, 0.08, 0.14, 0.35, 0.5, 0.62, 0.8, 0.94, 1.0])
        radii = np.array([0.28, 0.27, 0.11, 0.05, 0.045, 0.075, 0.045, 0.05, 0.1, 0.16])
        model.add(forms.turned((0, 0, 0), share * (height - board / 2), radii, 32))
        side = radius * np.sqrt(2)
        model.truths = [
            Surface([0.0, 0.0, float(height)], [float(np.sin(a)), float(-np.cos(a)), 0.0], float(side), float(side))
            for a in np.linspace(0, 2 * np.pi, 36, endpoint=False)
        ]
        return model
    model.add(forms.rounded_box((-wide / 2, -deep / 2, height - board), (wide / 2, deep / 2, height), 0.012, 3))
    if kind < 0.75:
        _legs(model, rng, wide, deep, height - board / 2, inset=0.06, splay=0.0, thick=0.07)
        under = height - board - 0.075
        for y in (-deep / 2 + 0.06, deep / 2 - 0.085):
            model.add(
                forms.rounded_box((-wide / 2 + 0.07, y, under), (wide / 2 - 0.07, y + 0.025, height - 0.01), 0.004)
            )
        for x in (-wide / 2 + 0.06, wide / 2 - 0.085):
            model.add(
                forms.rounded_box((x, -deep / 2 + 0.07, under), (x + 0.025, deep / 2 - 0.07, height - 0.01), 0.004)
            )
    else:
        for x in (-wide / 2 + 0.3, wide / 2 - 0.3):
            model.add(forms.rounded_box((x - 0.05, -0.33, 0.0), (x + 0.05, 0.33, 0.06), 0.015, 3))
            model.add(forms.rounded_box((x - 0.04, -0.06, 0.05), (x + 0.04, 0.06, height - 0.05), 0.01))
            model.add(forms.rounded_box((x - 0.04, -0.3, height - 0.1), (x + 0.04, 0.3, height - 0.01), 0.015, 3))
        model.add(forms.rounded_box((-wide / 2 + 0.3, -0.02, 0.25), (wide / 2 - 0.3, 0.02, 0.37), 0.006))
    model.truths = _around(wide, deep, height)
    return model


def side_table(rng: np.random.Generator) -> Model:
    """A small table to stand beside a seat: round on three legs, or square."""
    height, half, board = rng.uniform(0.48, 0.60), rng.uniform(0.2, 0.26), 0.022
    model = Model(role="surface")
    if rng.random() < 0.5:
        model.add(forms.puck((0, 0), half, height - board, height, 0.008))
        for angle in np.arange(3) * 2 * np.pi / 3 + 0.3:
            x, y = np.cos(angle), np.sin(angle)
            foot, top = (0.95 * half * x, 0.95 * half * y, 0.0), (0.6 * half * x, 0.6 * half * y, height - 0.01)
            model.add(forms.rod([foot, top], [0.012, 0.017]))
        side = half * np.sqrt(2)
        angles = np.linspace(0, 2 * np.pi, 36, endpoint=False)
    else:
        model.add(forms.rounded_box((-half, -half, height - board), (half, half, height), 0.008, 3))
        _legs(model, rng, 2 * half, 2 * half, height - 0.01, inset=0.04, splay=0.0, thick=0.035)
        side, angles = 2 * half, np.arange(4) * np.pi / 2
    model.truths = [
        Surface([0.0, 0.0, float(height)], [float(np.sin(a)), float(-np.cos(a)), 0.0], float(side), float(side))
        for a in angles
    ]
    return model


def desk(rng: np.random.Generator) -> Model:
    """A desk with a pedestal of drawers on one side, legs on the other, and a modesty panel behind the knees."""
    wide, deep, height = rng.uniform(1.2, 1.7), rng.uniform(0.6, 0.8), rng.uniform(0.72, 0.76)
    model = Model(role="surface")
    board, side = rng.uniform(0.025, 0.035), int(rng.choice([-1, 1]))
    model.add(forms.rounded_box((-wide / 2, -deep / 2, height - board), (wide / 2, deep / 2, height), 0.008, 3))
    inner, outer = side * (wide / 2 - 0.44), side * (wide / 2 - 0.02)
    x = sorted((inner, outer))
    model.add(forms.rounded_box((x[0], -deep / 2 + 0.05, 0.04), (x[1], deep / 2 - 0.03, height - board / 2), 0.004))
    zs = np.linspace(0.06, height - board - 0.01, int(rng.integers(3, 5)) + 1)
    for low, high in pairwise(zs):
        model.add(forms.rounded_box((x[0] + 0.008, -deep / 2 + 0.03, low + 0.004), (x[1] - 0.008, -deep / 2 + 0.055,
                                                                                high - 0.004), 0.005))  # fmt: skip
        model.add(_bow_handle((x[0] + x[1]) / 2, -deep / 2 + 0.032, (low + high) / 2))
    far = -side * (wide / 2 - 0.05)
    for y in (-deep / 2 + 0.06, deep / 2 - 0.06):
        model.add(forms.square_leg((far, y, height - board / 2), (far, y, 0.0), 0.05, 0.045))
    y = deep / 2 - 0.06
    panel = sorted((far, inner))
    model.add(forms.rounded_box((panel[0], y, height - 0.40), (panel[1], y + 0.015, height - board / 2), 0.003))
    model.truths = _around(wide, deep, height)
    return model


def sideboard(rng: np.random.Generator) -> Model:
    """A low cabinet with open compartments of different depths, beside doors, on short legs."""
    bays, deep, height = int(rng.integers(2, 4)), rng.uniform(0.38, 0.46), rng.uniform(0.68, 0.86)
    each = rng.uniform(0.42, 0.58)
    wide, board, foot = bays * each + 0.02, rng.uniform(0.018, 0.026), rng.uniform(0.08, 0.16)
    model = Model(role="surface")
    low, high = -deep / 2, deep / 2
    model.add(forms.rounded_box((-wide / 2, low, height - board), (wide / 2, high, height), 0.006, 3))
    model.add(forms.rounded_box((-wide / 2 + 0.002, low + 0.004, foot), (wide / 2 - 0.002, high, foot + board), 0.004))
    for number in range(bays + 1):
        x = -wide / 2 + 0.01 + number * each
        model.add(
            forms.rounded_box((x - board / 2, low + 0.003, foot), (x + board / 2, high - 0.004, height - 0.004), 0.003)
        )
    model.add(forms.rounded_box((-wide / 2, high - 0.008, foot), (wide / 2, high, height - 0.002), 0.002))
    for x in (-wide / 2 + 0.05, wide / 2 - 0.05):
        for y in (low + 0.05, high - 0.05):
            model.add(forms.rod([(x, y, 0.0), (x, y, foot + 0.01)], [0.012, 0.019], 14))
    truths = _around(wide, deep, height)
    closed = int(rng.integers(0, bays))
    for number in range(bays):
        left, right = -wide / 2 + 0.01 + number * each + board / 2, -wide / 2 + 0.01 + (number + 1) * each - board / 2
        if number == closed:
            front = (left - 0.006, low - 0.018, foot + 0.004)
            model.add(forms.rounded_box(front, (right + 0.006, low + 0.002, height - board - 0.003), 0.004))
            grip = right - 0.05
            ends = [(low - 0.018, height - 0.25), (low - 0.045, height - 0.25), (low - 0.045, height - 0.33)]
            model.add(forms.rod([(grip, y, z) for y, z in (*ends, (low - 0.018, height - 0.33))], 0.005, 8))
            continue
        # A false back takes away from the depth of some compartments.
        back = high - 0.008 - float(rng.choice([0.0, 0.0, rng.uniform(0.08, 0.18)]))
        if back < high - 0.02:
            model.add(
                forms.rounded_box((left - 0.004, back, foot), (right + 0.004, back + 0.012, height - 0.004), 0.002)
            )
        shelves = [foot + board, *([(foot + height) / 2 + board / 2] if rng.random() < 0.4 else [])]
        for floor, ceiling in zip(shelves, [*(z - board for z in shelves[1:]), height - board], strict=True):
            if floor != shelves[0]:
                model.add(
                    forms.rounded_box(
                        (left - 0.004, low + 0.01, floor - board), (right + 0.004, back + 0.004, floor), 0.003
                    )
                )
            if ceiling - floor >= FREE_ABOVE:
                truths.append(_shelf_place(left, right, low + 0.006, back, floor))
    model.truths = truths
    return model


def shelf(rng: np.random.Generator) -> Model:
    """An open shelf of metal posts and boards, without back or sides."""
    wide, deep, height = rng.uniform(0.75, 1.1), rng.uniform(0.32, 0.42), rng.uniform(1.2, 1.8)
    model = Model(role="surface")
    levels = np.linspace(0.12, height - 0.02, int(rng.integers(4, 6)))
    for x in (-wide / 2 + 0.018, wide / 2 - 0.018):
        for y in (-deep / 2 + 0.018, deep / 2 - 0.018):
            model.add(forms.rounded_box((x - 0.016, y - 0.016, 0.0), (x + 0.016, y + 0.016, height + 0.01), 0.003))
    board = rng.uniform(0.02, 0.03)
    truths: list[Handles] = []
    for z in levels:
        model.add(forms.rounded_box((-wide / 2, -deep / 2, z - board), (wide / 2, deep / 2, z), 0.004))
    model.add(
        forms.rod(
            [(-wide / 2 + 0.02, deep / 2 - 0.01, 0.15), (wide / 2 - 0.02, deep / 2 - 0.01, height - 0.1)], 0.005, 8
        )
    )
    for z in sorted(levels[:-1], key=lambda z: abs(z - 0.9)):
        if PUT_HEIGHTS[0] <= z <= PUT_HEIGHTS[1]:
            # It is open in front, behind, and at its sides between the posts.
            truths += _around(wide - 0.07, deep - 0.02, float(z))
    if levels[-1] <= PUT_HEIGHTS[1]:
        truths += _around(wide, deep, float(levels[-1]))
    model.truths = truths
    return model


def bookcase(rng: np.random.Generator) -> Model:
    """Thin boards between sides, a thin back, and books in some of its compartments, which leave part of them free."""
    wide, deep, height = rng.uniform(0.7, 1.0), rng.uniform(0.26, 0.34), rng.uniform(1.4, 2.0)
    model = Model(role="surface")
    board, low, high = rng.uniform(0.015, 0.02), -deep / 2, deep / 2
    for x in (-wide / 2, wide / 2 - board):
        model.add(forms.rounded_box((x, low, 0.0), (x + board, high, height), 0.003))
    # A single-sided sheet closes the back.
    model.add(forms.sheet([(-wide / 2, high - 0.004, 0.04), (wide / 2, high - 0.004, 0.04),
                           (wide / 2, high - 0.004, height), (-wide / 2, high - 0.004, height)], 8, 8))  # fmt: skip
    levels = np.linspace(0.08, height - 0.002, int(rng.integers(5, 7)))
    for z in levels:
        model.add(
            forms.rounded_box((-wide / 2 + 0.01, low + 0.002, z - board), (wide / 2 - 0.01, high - 0.004, z), 0.003)
        )
    truths: list[Handles] = []
    left, right = -wide / 2 + board, wide / 2 - board
    spaces = list(zip(levels[:-1], levels[1:] - board, strict=True))
    filled = set(rng.choice(len(spaces), int(rng.integers(0, len(spaces) - 2)), replace=False).tolist())
    for number in sorted(range(len(spaces)), key=lambda n: abs(spaces[n][0] - 0.9)):
        floor, ceiling = spaces[number]
        start = left
        if number in filled:
            end = left + rng.uniform(0.4, 1.0) * (right - left)
            start = _books(model, rng, left, end, low + 0.03, floor, min(ceiling - floor - 0.01, 0.30))
        if right - start > 0.25 and ceiling - floor >= FREE_ABOVE and PUT_HEIGHTS[0] <= floor <= PUT_HEIGHTS[1]:
            truths.append(_shelf_place(start, right, low + 0.004, high - 0.004, float(floor)))
    model.truths = truths
    return model


def kitchen_counter(rng: np.random.Generator) -> Model:
    """A worktop over cabinets with fronts and bar handles, a plinth that stands back, and a splashback."""
    bays, each, deep = int(rng.integers(2, 4)), 0.6, rng.uniform(0.60, 0.65)
    height, wide = rng.uniform(0.86, 0.94), bays * each
    model = Model(role="surface")
    low, high, board = -deep / 2, deep / 2, rng.uniform(0.03, 0.04)
    model.add(forms.rounded_box((-wide / 2 - 0.01, low, height - board), (wide / 2 + 0.01, high, height), 0.006, 3))
    model.add(forms.rounded_box((-wide / 2, low + 0.045, 0.10), (wide / 2, high, height - board / 2), 0.003))
    model.add(forms.rounded_box((-wide / 2 + 0.005, low + 0.10, 0.0), (wide / 2 - 0.005, low + 0.115, 0.11), 0.002))
    for number in range(bays):
        x = -wide / 2 + number * each
        top = height - board - 0.01
        split = top - 0.17
        for a, b in ((0.11, split - 0.004), (split, top)):
            model.add(forms.rounded_box((x + 0.003, low + 0.024, a), (x + each - 0.003, low + 0.046, b), 0.004))
            model.add(_bow_handle(x + each / 2, low + 0.025, b - 0.05))
    model.add(
        forms.rounded_box(
            (-wide / 2, high - 0.012, height - 0.01), (wide / 2, high, height + rng.uniform(0.3, 0.5)), 0.002
        )
    )
    model.truths = [
        Surface([0.0, -0.006, float(height)], [0.0, -1.0, 0.0], float(wide), float(deep - 0.012)),
        *_around(wide, deep - 0.012, height)[2:],
    ]
    return model


def _around(wide: float, deep: float, height: float) -> list[Handles]:
    """Handles of a rectangular top from its front, its back, and from those ends that are within reach."""
    place = [0.0, 0.0, float(height)]
    out: list[Handles] = [Surface(place, [0.0, y, 0.0], float(wide), float(deep)) for y in (-1.0, 1.0)]
    if wide / 2 <= PUT_DEPTH:
        out += [Surface(place, [x, 0.0, 0.0], float(deep), float(wide)) for x in (-1.0, 1.0)]
    else:
        # From an end, things are put down within reach of it.
        at = wide / 2 - PUT_DEPTH / 2
        out += [Surface([x * at, 0.0, float(height)], [x, 0.0, 0.0], float(deep), PUT_DEPTH) for x in (-1.0, 1.0)]
    return out


def _shelf_place(left: float, right: float, front: float, back: float, floor: float) -> Surface:
    place = [float((left + right) / 2), float((front + back) / 2), float(floor)]
    return Surface(place, [0.0, -1.0, 0.0], float(right - left), float(back - front))


def _legs(
    model: Model, rng: np.random.Generator, wide: float, deep: float, height: float, inset: float, splay: float,
    thick: float = 0.05,
) -> None:  # fmt: skip
    tapered, is_round = rng.uniform(0.5, 0.9), rng.random() < 0.5
    for x in (-1, 1):
        for y in (-1, 1):
            top = (x * (wide / 2 - inset), y * (deep / 2 - inset), height)
            foot = (top[0] + x * splay, top[1] + y * splay, 0.0)
            if is_round:
                model.add(forms.rod([foot, top], [tapered * thick / 2, thick / 2], 16))
            else:
                model.add(forms.square_leg(top, foot, thick, tapered * thick))


def _bow_handle(x: float, y: float, z: float) -> TriangleMesh:
    """A bar handle that stands out of a front toward -Y."""
    return forms.rod([(x - 0.06, y, z), (x - 0.06, y - 0.028, z), (x + 0.06, y - 0.028, z), (x + 0.06, y, z)], 0.005, 8)


def _books(
    model: Model, rng: np.random.Generator, left: float, right: float, front: float, floor: float, tallest: float
) -> float:
    """Add upright books from `left` on, and return where they end."""
    x = left + 0.004
    while x < right - 0.045:
        thick, tall, deep = rng.uniform(0.018, 0.042), rng.uniform(0.7, 1.0) * tallest, rng.uniform(0.14, 0.2)
        model.add(forms.rounded_box((x, front, floor), (x + thick, front + deep, floor + tall), 0.002, 1, 1))
        x += thick + rng.uniform(0.0005, 0.003)
    return x
