# SPDX-License-Identifier: GPL-3.0-or-later
"""Seats for several as modelers make them; each stands on z = 0, and sitters look along -Y, in a corner also along
X."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...geometry.mesh import TriangleMesh
from ...geometry.reach import ARM_REST
from ...geometry.roles import Handles, Seat
from . import forms
from .model import Model

BESIDE = 0.24
"""Distance in meters to either side of its middle that a sitter's place takes: half the breadth of the hips and
thighs."""

_BED_DEPTHS = (0.22, 0.28, 0.34)
"""Distances in meters from the edge of a bed at which the hips may come down."""

_EVERY = 0.06
"""Distance in meters between the places of a long seat that count as right."""


def sofa(rng: np.random.Generator) -> Model:
    """A sofa for two or three: a frame, a cushion for each place, back cushions, arms, and pillows at its ends."""
    seats = int(rng.integers(2, 4))
    each, deep, height = rng.uniform(0.62, 0.74), rng.uniform(0.50, 0.58), rng.uniform(0.41, 0.46)
    inner, back, arm = seats * each, rng.uniform(0.18, 0.26), rng.uniform(0.12, 0.22)
    rest, top = height + rng.uniform(0.14, 0.22), height + rng.uniform(0.34, 0.46)
    low, high, outer = -deep / 2, deep / 2 + back, inner / 2 + arm
    model = Model(role="seat")
    _frame(model, -outer, outer, low, high, height, rng)
    model.add(forms.rounded_box((-outer + 0.01, high - 0.09, 0.10), (outer - 0.01, high, top - 0.05), 0.03, 3))
    round_arms = rng.random() < 0.4
    for side in (-1, 1):
        ends = sorted((side * inner / 2, side * outer))
        _arm(model, ends[0], ends[1], low - 0.01, high - 0.03, rest, round_arms)
    gap = 0.004
    for number in range(seats):
        x = -inner / 2 + number * each
        _cushions(model, x + gap, x + each - gap, low - 0.02, deep / 2, height, top, rng)
    free = [(-inner / 2, inner / 2)]
    if rng.random() < 0.6:
        free = _end_pillows(model, free[0], deep / 2, height, rng)
    rests = [(side * (inner / 2 + arm / 2), rest) for side in (-1, 1)]
    model.truths = _places(model, free, low - 0.02, deep / 2, height, rests)
    return model


def corner_sofa(rng: np.random.Generator) -> Model:
    """Two places along the back wall and another at right angles beside them; the corner itself is no good seat."""
    each, deep, height = rng.uniform(0.66, 0.76), rng.uniform(0.55, 0.62), rng.uniform(0.40, 0.44)
    back, arm = rng.uniform(0.18, 0.24), rng.uniform(0.12, 0.2)
    rest, top = height + rng.uniform(0.14, 0.20), height + rng.uniform(0.34, 0.42)
    model = Model(role="seat")
    # The long part lies along X with its back at high Y, the side part along Y with its back at low X.
    long_, more = 2 * each, each
    low, high, left = -deep / 2, deep / 2 + back, -long_ / 2
    _frame(model, left - deep - back, long_ / 2 + arm, low, high, height, rng)
    _frame(model, left - deep - back, left, low - more - arm, low + 0.02, height, rng)
    model.add(forms.rounded_box((left - deep - back, high - 0.09, 0.10), (long_ / 2 + arm, high, top - 0.05), 0.03, 3))
    model.add(
        forms.rounded_box(
            (left - deep - back, low - more - arm, 0.10), (left - deep - back + 0.09, high, top - 0.05), 0.03, 3
        )
    )
    _arm(model, long_ / 2, long_ / 2 + arm, low - 0.01, high - 0.03, rest, False)
    side_arm = forms.rounded_box(
        (left - deep - back + 0.02, low - more - arm, 0.10), (left, low - more, rest), 0.035, 3
    )  # fmt: skip
    model.add(side_arm)
    gap = 0.004
    for number in range(2):
        x = left + number * each
        _cushions(model, x + gap, x + each - gap, low - 0.02, deep / 2, height, top, rng)
    # The corner and the side part, made along X and turned by a quarter to the left.
    corner = Model()
    corner.add(
        forms.cushion((left - deep + gap, low, height - 0.13), (left - gap, deep / 2, height - 0.012), 0.035, 0.014)
    )
    model.add(*corner.parts)
    model.add(forms.cushion((left - deep, deep / 2, height - 0.06), (left, high - 0.05, top), 0.07, 0.02, 0.05))
    side = Model()
    _cushions(side, -more / 2 + gap, more / 2 - gap, low - 0.02, deep / 2, height, top, rng)
    at = (left - deep / 2, low - more / 2, 0.0)
    model.add(*[forms.moved(part, at, np.pi / 2) for part in side.parts])
    free = [(left, long_ / 2)]
    first = _places(model, free, low - 0.02, deep / 2, height, [(long_ / 2 + arm / 2, rest)], ("front",))
    # On the side part the sitter looks along X.
    turned: list[Handles] = []
    x, seats = left - deep / 2 + 0.01, side_seat(model, height)
    for y in np.arange(low - more + BESIDE, low - BESIDE + 1e-6, _EVERY):
        place = [float(x), float(y), forms.top_at(seats, (x, y), forms.PATCH)]
        away = float(y - low + more + arm / 2)
        arms = [[float(x), float(low - more - arm / 2), float(rest)]] if away < ARM_REST else []
        turned.append(Seat(place, [1.0, 0.0, 0.0], float(more), float(deep + 0.02), arms, ["front"]))
    model.truths = [*first, *turned]
    return model


def side_seat(model: Model, height: float) -> list[TriangleMesh]:
    """The parts that end at the height of the seat."""
    return [part for part in model.parts if part.vertices[:, 2].max() < height + 0.05]


def bench(rng: np.random.Generator) -> Model:
    """A garden bench of slats with a leaning back of slats; some have arm rests."""
    wide, height, slats = rng.uniform(1.2, 1.7), rng.uniform(0.41, 0.46), int(rng.integers(5, 7))
    slat, gap = rng.uniform(0.055, 0.07), rng.uniform(0.012, 0.022)
    deep = slats * slat + (slats - 1) * gap
    low, high = -deep / 2, deep / 2
    model = Model(role="seat")
    for y in low + np.arange(slats) * (slat + gap):
        model.add(forms.rounded_box((-wide / 2, y, height - 0.025), (wide / 2, y + slat, height), 0.007))
    lean, top = rng.uniform(0.08, 0.14), height + rng.uniform(0.36, 0.46)
    sides = [-wide / 2 + 0.07, wide / 2 - 0.07]
    for x in [*sides, *([0.0] if wide > 1.5 else [])]:
        model.add(forms.square_leg((x, low + 0.04, height - 0.02), (x, low + 0.02, 0.0), 0.055, 0.05))
        model.add(forms.square_leg((x, high - 0.01, height), (x, high + 0.05, 0.0), 0.055, 0.05))
        model.add(forms.rounded_box((x - 0.025, low + 0.02, height - 0.085), (x + 0.025, high, height - 0.02), 0.006))
        model.add(forms.square_leg((x, high + 0.035 + lean, top), (x, high + 0.035, height - 0.05), 0.04, 0.05))
    for z in np.linspace(height + 0.12, top - 0.05, 4):
        y = high + lean * (z - height) / (top - height)
        model.add(forms.rounded_box((-wide / 2, y - 0.012, z - 0.03), (wide / 2, y + 0.012, z + 0.03), 0.006))
    rests = []
    if rng.random() < 0.5:
        rest = height + rng.uniform(0.19, 0.24)
        for x in sides:
            model.add(forms.rounded_box((x - 0.03, low - 0.01, rest - 0.03), (x + 0.03, high + 0.06, rest), 0.009))
            model.add(forms.square_leg((x, low + 0.03, rest - 0.02), (x, low + 0.03, height), 0.04, 0.04))
        rests = [(x, rest) for x in sides]
    inside = (sides[0] + 0.03, sides[1] - 0.03) if rests else (-wide / 2, wide / 2)
    model.truths = _places(model, [inside], low, high - 0.012, height, rests)
    return model


def bed(rng: np.random.Generator) -> Model:
    """A mattress in a frame with a headboard, a blanket that hangs over its edges, and pillows at its head."""
    wide, long_, height = rng.choice([0.9, 1.4, 1.6]), 2.0, rng.uniform(0.44, 0.55)
    model = Model(role="seat")
    x, low, high = wide / 2, -long_ / 2, long_ / 2
    for side in (-1, 1):
        for y in (low + 0.06, high - 0.02):
            model.add(forms.square_leg((side * (x - 0.03), y, 0.22), (side * (x - 0.03), y, 0.0), 0.07, 0.05))
        rail = sorted((side * (x + 0.03), side * x))
        model.add(forms.rounded_box((rail[0], low - 0.03, 0.16), (rail[1], high, 0.32), 0.01))
    model.add(forms.rounded_box((-x - 0.03, low - 0.03, 0.16), (x + 0.03, low, 0.32), 0.01))
    model.add(forms.rounded_box((-x, low, 0.20), (x, high, 0.24), 0.005))
    model.add(
        forms.rounded_box((-x - 0.05, high, 0.05), (x + 0.05, high + 0.06, height + rng.uniform(0.35, 0.55)), 0.02)
    )
    model.add(forms.cushion((-x + 0.01, low + 0.01, 0.22), (x - 0.01, high - 0.01, height - 0.02), 0.05, 0.004))
    blanket = np.linspace(-x - 0.02, x + 0.02, 16)
    ys = np.linspace(low + 0.005, high - 0.55, 14)
    fall = np.where(np.abs(blanket) > x - 0.01, height - 0.16, height)
    points = np.stack(
        [np.column_stack([np.full(14, bx), ys, np.full(14, z)]) for bx, z in zip(blanket, fall, strict=True)]
    )
    points[1:-1, :, 2] += 0.005 * np.sin(5 * ys)[None]
    model.add(forms.grid(points))
    count = 1 if wide < 1.2 else 2
    for px in (np.arange(count) - (count - 1) / 2) * wide / count:
        pillow = forms.cushion((-0.32, -0.19, 0.0), (0.32, 0.19, 0.09), 0.044, 0.05)
        model.add(forms.moved(pillow, (px, high - 0.25, height - 0.03), float(rng.uniform(-0.06, 0.06))))
    truths: list[Handles] = []
    top = side_seat(model, height)
    for facing, inward in (((1.0, 0.0), np.array([-1.0, 0.0])), ((-1.0, 0.0), np.array([1.0, 0.0]))):
        for y in np.arange(low + 0.25, high - 0.6, 0.07):
            for deep in _BED_DEPTHS:
                px = -inward[0] * x + inward[0] * deep
                truths.append(_edge_seat(top, px, float(y), facing, long_, 2 * deep))
    for px in np.arange(-x + 0.25, x - 0.25 + 1e-6, 0.07):
        for deep in _BED_DEPTHS:
            truths.append(_edge_seat(top, float(px), low + deep, (0.0, -1.0), float(wide), 2 * deep))
    model.truths = truths
    return model


def _edge_seat(
    top: Sequence[TriangleMesh], x: float, y: float, facing: tuple[float, float], width: float, depth: float
) -> Seat:
    return Seat([x, y, forms.top_at(top, (x, y), forms.PATCH)], [*facing, 0.0], width, depth, [], ["front"])


def _frame(
    model: Model, left: float, right: float, low: float, high: float, height: float, rng: np.random.Generator
) -> None:
    """A box under the cushions, on short feet."""
    model.add(forms.rounded_box((left + 0.01, low, 0.09), (right - 0.01, high - 0.02, height - 0.12), 0.02))
    legs = rng.random() < 0.5
    for x in (left + 0.06, right - 0.06):
        for y in (low + 0.06, high - 0.08):
            if legs:
                model.add(forms.rod([(x, y, 0.0), (x, y, 0.11)], [0.014, 0.024], 14))
            else:
                model.add(forms.rounded_box((x - 0.03, y - 0.03, 0.0), (x + 0.03, y + 0.03, 0.10), 0.004))


def _arm(model: Model, left: float, right: float, low: float, high: float, rest: float, is_round: bool) -> None:
    if not is_round:
        model.add(forms.cushion((left, low, 0.09), (right, high, rest), 0.035, 0.0))
        return
    radius, middle = (right - left) / 2, (left + right) / 2
    model.add(forms.rod([(middle, low, rest - radius), (middle, high, rest - radius)], radius, 24))
    model.add(forms.rounded_box((left + 0.015, low + 0.015, 0.09), (right - 0.015, high, rest - radius), 0.02))


def _cushions(
    model: Model,
    left: float,
    right: float,
    low: float,
    back: float,
    height: float,
    top: float,
    rng: np.random.Generator,
) -> None:
    """A seat cushion, which goes a little way into frame and back, and a leaning back cushion behind it."""
    crown = 0.014
    model.add(forms.cushion((left, low, height - 0.15), (right, back + 0.04, height - crown), 0.035, crown))
    thick = rng.uniform(0.14, 0.18)
    lower = forms.cushion((left, back, height - 0.04), (right, back + thick, top), 0.055, 0.02, rng.uniform(0.04, 0.09))
    model.add(lower)


def _end_pillows(
    model: Model, inside: tuple[float, float], back: float, height: float, rng: np.random.Generator
) -> list[tuple[float, float]]:
    """Add pillows that lean in one or both ends, and return the free ranges of X between them."""
    left, right = inside
    ends = [(-1, 1), (-1,), (1,)][int(rng.integers(3))]
    for end in ends:
        size, thick = rng.uniform(0.36, 0.44), rng.uniform(0.10, 0.14)
        angle = -end * rng.uniform(0.15, 0.6)
        x = (left if end < 0 else right) - end * (0.42 * size)
        place = (x, back - 0.02 - 0.5 * size * abs(np.sin(angle)) * 0.5, height + 0.46 * size)
        model.add(forms.moved(forms.throw_pillow(size, thick), place, angle, -0.25))
        if end < 0:
            left += 0.85 * size
        else:
            right -= 0.85 * size
    return [(left, right)]


def _places(
    model: Model,
    free: Sequence[tuple[float, float]],
    low: float,
    back: float,
    height: float,
    rests: Sequence[tuple[float, float]],
    approaches: Sequence[str] = ("front",),
) -> list[Handles]:
    """Seats looking along -Y everywhere along the free ranges of X, the middle seat first.

    low, back: Y of the front edge and of the back's surface. rests: X and height of the arm rests' middles.
    """
    out: list[Handles] = []
    y, top = (low + back) / 2, side_seat(model, height)
    for left, right in free:
        half = max((right - left) / 2 - BESIDE, 0.0)
        steps = np.arange(0.0, half + 1e-6, _EVERY)
        for off in sorted({*steps.tolist(), *(-steps).tolist()}, key=abs):
            x = float((left + right) / 2 + off)
            place = [x, float(y), forms.top_at(top, (x, y), forms.PATCH)]
            arms = [[float(at), float(y), float(rest)] for at, rest in rests if abs(at - x) < ARM_REST]
            out.append(Seat(place, [0.0, -1.0, 0.0], float(right - left), float(back - low), arms, list(approaches)))
    return out
