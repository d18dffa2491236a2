# SPDX-License-Identifier: GPL-3.0-or-later
"""Single seats as modelers make them; each stands on z = 0, and its sitter looks along -Y."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...geometry.mesh import TriangleMesh
from ...geometry.roles import Seat
from ...motion.rotations import Array
from . import forms
from .model import Model


def dining_chair(rng: np.random.Generator) -> Model:
    """A padded seat on tapered, splayed legs with a curved upholstered back, or a single-sided plastic shell."""
    wide, deep, height = rng.uniform(0.42, 0.50), rng.uniform(0.40, 0.46), rng.uniform(0.44, 0.49)
    model = Model(role="seat")
    low, high = -deep / 2, deep / 2
    splay, leg = rng.uniform(0.0, 0.05), rng.uniform(0.032, 0.045)
    for x in (-1, 1):
        for y in (low + 0.04, high - 0.04):
            knee = (x * (wide / 2 - 0.045), y, height - 0.05)
            foot = (knee[0] + x * splay, y + np.sign(y) * splay, 0.0)
            round_leg = forms.rod([foot, knee], [0.55 * leg / 2, leg / 2], 14)
            model.add(round_leg if rng.random() < 0.5 else forms.square_leg(knee, foot, leg, 0.6 * leg))
    lean, top = rng.uniform(0.05, 0.12), height + rng.uniform(0.36, 0.48)
    shell = rng.random() < 0.3
    if shell:
        profile = _shell_profile(low, high, height, top, lean)
        xs = np.linspace(-wide / 2, wide / 2, 12)
        # The sides of the shell curl up a little.
        curl = 0.03 * (2 * np.abs(xs) / wide) ** 4
        points = np.stack([np.column_stack([np.full(len(profile), x), profile]) for x in xs])
        points[..., 2] += curl[:, None]
        model.add(forms.grid(points))
        model.add(forms.rounded_box((-wide / 2 + 0.04, low + 0.05, height - 0.06), (wide / 2 - 0.04, high - 0.05,
                                                                                   height - 0.035), 0.008))  # fmt: skip
    else:
        model.add(forms.rounded_box((-wide / 2, low, height - 0.085), (wide / 2, high, height - 0.03), 0.01))
        model.add(forms.cushion((-wide / 2, low - 0.01, height - 0.055), (wide / 2, high, height - 0.012), 0.02, 0.014))
        y = high - 0.035
        zs = np.linspace(height - 0.05, top, 10)
        bend = lean * ((zs - zs[0]) / (zs[-1] - zs[0])) ** 1.5
        model.add(forms.slab(np.column_stack([y + bend, zs]), np.column_stack([y + 0.04 + bend, zs]), -0.46 * wide,
                             0.46 * wide, 9))  # fmt: skip
    back = high - (0.02 if shell else 0.035)
    model.truths = [_seat(model, 0.0, (low + back) / 2, wide, back - low)]
    return model


def slatted_chair(rng: np.random.Generator) -> Model:
    """A wooden chair with turned front legs, stretchers, and a back of upright or level slats between bent posts."""
    wide, deep, height = rng.uniform(0.40, 0.47), rng.uniform(0.38, 0.44), rng.uniform(0.43, 0.47)
    model = Model(role="seat")
    low, high, top = -deep / 2, deep / 2, height + rng.uniform(0.42, 0.56)
    model.add(forms.rounded_box((-wide / 2, low, height - 0.03), (wide / 2, high, height), 0.012, 3))
    lean = rng.uniform(0.06, 0.12)
    for x in (-1, 1):
        side = x * (wide / 2 - 0.035)
        model.add(_turned_leg((side, low + 0.04, 0.0), height - 0.02))
        post = [(side, high + 0.03, 0.0), (side, high - 0.02, height), (side, high - 0.02 + lean, top)]
        model.add(forms.rod(post, [0.014, 0.019, 0.013]))
        model.add(forms.rod([(side, low + 0.04, 0.14), (side, high + 0.02, 0.14)], 0.011))
    model.add(forms.rod([(-wide / 2 + 0.03, 0.0, 0.15), (wide / 2 - 0.03, 0.0, 0.15)], 0.011))
    inner = wide / 2 - 0.035
    if rng.random() < 0.5:
        for z in np.linspace(height + 0.14, top - 0.03, int(rng.integers(2, 5))):
            y = high - 0.02 + lean * (z - height) / (top - height)
            model.add(forms.rounded_box((-inner, y - 0.009, z - 0.03), (inner, y + 0.009, z + 0.03), 0.006))
    else:
        model.add(forms.rod([(-inner - 0.02, high - 0.02 + lean, top), (inner + 0.02, high - 0.02 + lean, top)], 0.018))
        for x in np.linspace(-inner, inner, int(rng.integers(4, 7)) + 2)[1:-1]:
            model.add(forms.rod([(x, high - 0.025, height - 0.01), (x, high - 0.02 + lean, top)], 0.008, 8))
    back = high - 0.035
    model.truths = [_seat(model, 0.0, (low + back) / 2, wide, back - low)]
    return model


def office_chair(rng: np.random.Generator) -> Model:
    """A five-star base with casters, a gas lift, a contoured seat and a leaning back; most have arm rests."""
    wide, deep, height = rng.uniform(0.46, 0.52), rng.uniform(0.44, 0.49), rng.uniform(0.44, 0.53)
    model = Model(role="seat")
    reach, start = rng.uniform(0.28, 0.34), rng.uniform(0, 2 * np.pi)
    for angle in start + np.arange(5) * 2 * np.pi / 5:
        x, y = reach * np.cos(angle), reach * np.sin(angle)
        model.add(forms.rod([(0, 0, 0.12), (0.6 * x, 0.6 * y, 0.10), (x, y, 0.075)], [0.032, 0.024, 0.016]))
        wheel = forms.turned((0, 0, 0), [-0.022, -0.018, 0.018, 0.022], [0.018, 0.027, 0.027, 0.018], 16)
        model.add(forms.moved(wheel, (x, y, 0.027), float(rng.uniform(0, 6.28)), np.pi / 2))
        model.add(forms.rod([(x, y, 0.03), (x, y, 0.08)], 0.008, 8))
    model.add(forms.turned((0, 0, 0), [0.06, 0.07, 0.24, 0.245, height - 0.09], [0.03, 0.04, 0.03, 0.018, 0.018], 20))
    model.add(forms.rounded_box((-0.10, -0.10, height - 0.10), (0.10, 0.12, height - 0.06), 0.012))
    low, high = -deep / 2, deep / 2
    model.add(forms.cushion((-wide / 2, low, height - 0.08), (wide / 2, high, height - 0.01), 0.034, 0.014))
    top, lean = height + rng.uniform(0.45, 0.65), rng.uniform(0.04, 0.10)
    model.add(
        forms.rod([(0, 0.1, height - 0.085), (0, high + 0.07, height - 0.06), (0, high + 0.075, height + 0.25)], 0.022)
    )
    zs = np.linspace(height + 0.06, top, 12)
    share = (zs - zs[0]) / (zs[-1] - zs[0])
    bow = 0.03 + lean * share - 0.035 * np.sin(np.pi * share)
    half = 0.22 * wide + 0.2 * wide * np.sin(np.pi * (0.25 + 0.6 * share))
    for y, flipped in ((high - 0.015, False), (high + 0.035, True)):
        cols = np.linspace(-1, 1, 9)
        pts = np.stack(
            [np.stack([half * c, y + bow + 0.02 * (1 - c**2) * (1 if flipped else 0.4), zs], axis=-1) for c in cols]
        )
        model.add(forms.grid(pts, flipped))
    back = high - 0.02
    seat = _seat(model, 0.0, (low + back) / 2, wide, back - low)
    if rng.random() < 0.75:
        rest = height + rng.uniform(0.18, 0.25)
        for side in (-1, 1):
            x = side * (wide / 2 + 0.035)
            bar = [(side * 0.1, 0.05, height - 0.08), (x, 0.05, height - 0.07), (x, 0.04, rest - 0.02)]
            model.add(forms.rod(bar, 0.016))
            model.add(forms.rounded_box((x - 0.04, -0.13, rest - 0.03), (x + 0.04, 0.13, rest), 0.013, 3))
            seat.arm_rests.append([float(x), 0.0, float(rest)])
        seat.approaches = ["front"]
    model.truths = [seat]
    return model


def bar_stool(rng: np.random.Generator) -> Model:
    """A high round seat on splayed legs with a foot ring, or on a column with a trumpet base; every side is its
    front."""
    # Heights between the two ranges are left out: they are at the limit of what people sit down on.
    height, radius = rng.uniform(*((0.58, 0.63), (0.68, 0.80))[int(rng.integers(2))]), rng.uniform(0.16, 0.20)
    model = Model(role="seat")
    if rng.random() < 0.5:
        model.add(forms.puck((0, 0), radius, height - 0.035, height, 0.014))
        splay, ring = rng.uniform(0.04, 0.09), 0.24
        for angle in np.pi / 4 + np.arange(4) * np.pi / 2:
            a, b = np.array([np.cos(angle), np.sin(angle)]) * 0.75 * radius, np.array([np.cos(angle), np.sin(angle)])
            foot = a + splay * b
            model.add(forms.rod([(*foot, 0.0), (*a, height - 0.03)], [0.013, 0.018]))
        about = np.linspace(0, 2 * np.pi, 25)
        at = 0.75 * radius + splay * (1 - ring / height)
        model.add(forms.rod(np.column_stack([at * np.cos(about), at * np.sin(about), np.full(25, ring)]), 0.008, 8))
    else:
        base = 0.19
        model.add(forms.turned((0, 0, 0), [0.0, 0.012, 0.03, 0.08], [base, base, 0.06, 0.028], 32))
        model.add(forms.rod([(0, 0, 0.05), (0, 0, height - 0.06)], 0.024))
        model.add(forms.puck((0, 0), radius, height - 0.075, height, 0.03))
    first = _seat(model, 0.0, 0.0, 2 * radius, 2 * radius, ("front", "left", "right", "back"))
    model.truths = _any_way(first)
    return model


def pouffe(rng: np.random.Generator) -> Model:
    """A soft round or square seat without a back, with a seam around it."""
    height, half = rng.uniform(0.36, 0.45), rng.uniform(0.20, 0.30)
    model = Model(role="seat")
    if rng.random() < 0.5:
        heights = np.linspace(0.0, height, 12)
        share = 2 * heights / height - 1
        radii = half * (0.80 + 0.20 * (1 - share**2) ** 0.5)
        model.add(forms.turned((0, 0, 0), heights, radii, 32))
        model.add(forms.turned((0, 0, 0), [0.49 * height, 0.5 * height, 0.51 * height],
                               [half * 0.99, half * 1.012, half * 0.99], 32))  # fmt: skip
        ways = _any_way(_seat(model, 0.0, 0.0, 1.6 * half, 1.6 * half, ("front", "left", "right", "back")))
    else:
        model.add(forms.cushion((-half, -half, 0.05), (half, half, height - 0.02), 0.05, 0.02))
        for x in (-1, 1):
            for y in (-1, 1):
                model.add(
                    forms.rod([(0.8 * x * half, 0.8 * y * half, 0), (0.8 * x * half, 0.8 * y * half, 0.07)], 0.02)
                )
        ways = _any_way(_seat(model, 0.0, 0.0, 2 * half, 2 * half, ("front", "left", "right", "back")), 4)
    model.truths = ways
    return model


def classic_armchair(rng: np.random.Generator) -> Model:
    """Rolled arms, wings beside the back, a loose seat cushion, turned feet, and a pillow on some."""
    inner, deep, height = rng.uniform(0.50, 0.58), rng.uniform(0.50, 0.58), rng.uniform(0.42, 0.47)
    roll, back = rng.uniform(0.055, 0.08), rng.uniform(0.10, 0.15)
    rest = height + rng.uniform(0.14, 0.20)
    model = Model(role="seat")
    low, high, outer = -deep / 2, deep / 2 + back, inner / 2 + 2 * roll
    top, lean = height + rng.uniform(0.50, 0.65), rng.uniform(0.05, 0.12)
    for x in (-outer + 0.06, outer - 0.06):
        model.add(_foot((x, low + 0.06), 0.13), _foot((x, high - 0.07), 0.13))
    model.add(forms.rounded_box((-outer + 0.03, low + 0.02, 0.11), (outer - 0.03, high - 0.02, height - 0.10), 0.025))
    gap = 0.006
    model.add(forms.cushion((-inner / 2 + gap, low - 0.03, height - 0.13), (inner / 2 - gap, deep / 2 + 0.03,
                                                                          height - 0.02), 0.04, 0.025))  # fmt: skip
    for side in (-1, 1):
        x = side * (inner / 2 + roll)
        model.add(forms.rod([(x, low - 0.01, rest - roll), (x, low + 0.1, rest - roll), (x, high - 0.08, rest - roll)],
                            roll, 24))  # fmt: skip
        inside = sorted((side * (inner / 2 + 0.004), side * (inner / 2 + 1.5 * roll)))
        model.add(forms.rounded_box((inside[0], low + 0.01, 0.12), (inside[1], high - 0.04, rest - roll), 0.02))
    zs = np.linspace(height - 0.12, top, 12)
    share = (zs - zs[0]) / (zs[-1] - zs[0])
    near = deep / 2 + lean * share - 0.02 * np.sin(np.pi * share)
    model.add(forms.slab(np.column_stack([near, zs]), np.column_stack([deep / 2 + back + lean * share, zs]),
                         -inner / 2 - 0.04, inner / 2 + 0.04, 10))  # fmt: skip
    if rng.random() < 0.7:
        wing = np.linspace(rest - 0.03, top - 0.02, 8)
        part = (wing - wing[0]) / (wing[-1] - wing[0])
        fore = deep / 2 + lean - rng.uniform(0.12, 0.2) * np.sin(np.pi * (0.15 + 0.75 * part))
        for side in (-1, 1):
            ends = sorted((side * (inner / 2 + 0.01), side * (inner / 2 + 0.07)))
            model.add(forms.slab(np.column_stack([fore, wing]), np.column_stack([np.full(8, deep / 2 + back), wing]),
                                 ends[0], ends[1], 4))  # fmt: skip
    seat = _seat(model, 0.0, (low - 0.03 + deep / 2) / 2, inner, deep + 0.03, ("front",))
    seat.arm_rests = [[float(s * (inner / 2 + roll)), 0.0, float(rest)] for s in (-1, 1)]
    if rng.random() < 0.5:
        size = rng.uniform(0.36, 0.44)
        pillow = forms.throw_pillow(size, rng.uniform(0.10, 0.14))
        model.add(
            forms.moved(pillow, (0.03, deep / 2 - 0.06, height + 0.46 * size), float(rng.uniform(-0.1, 0.1)), -0.2)
        )
    model.truths = _forward(seat, model.parts)
    return model


def _forward(seat: Seat, parts: Sequence[TriangleMesh]) -> list[Seat]:
    """The seat, and the same some centimeters farther forward: a pillow at the back takes away from its depth."""
    out = [seat]
    for ahead in (0.04, 0.08):
        x, y, _ = seat.place
        place = [x, y - ahead, forms.top_at(_without_high(parts, seat.place[2] + 0.05), (x, y - ahead), forms.PATCH)]
        out.append(Seat(place, seat.facing, seat.width, seat.depth - 2 * ahead, seat.arm_rests, seat.approaches))
    return out


def _without_high(parts: Sequence[TriangleMesh], height: float) -> list[TriangleMesh]:
    return [part for part in parts if part.vertices[:, 2].max() < height]


def _shell_profile(low: float, high: float, height: float, top: float, lean: float) -> Array:
    """Middle line (N, 2) of a plastic shell: y and z from the front edge over the seat up the back."""
    points = [
        (low, height - 0.03), (low + 0.03, height - 0.004), (low + 0.10, height + 0.004), (0.0, height),
        (high - 0.10, height - 0.004), (high - 0.05, height + 0.01), (high - 0.015, height + 0.06),
        (high, height + 0.14), (high + 0.5 * lean, (height + top) / 2 + 0.05), (high + lean, top),
    ]  # fmt: skip
    return np.array(points)


def _turned_leg(foot: tuple[float, float, float], height: float) -> TriangleMesh:
    share = np.array([0, 0.03, 0.08, 0.12, 0.3, 0.55, 0.6, 0.63, 0.68, 0.72, 0.85, 1.0])
    radii = np.array([0.011, 0.014, 0.016, 0.011, 0.014, 0.020, 0.021, 0.014, 0.021, 0.015, 0.020, 0.021])
    return forms.turned(foot, share * height, radii, 16)


def _foot(place: tuple[float, float], height: float) -> TriangleMesh:
    """A short turned foot under upholstery."""
    share = np.array([0.0, 0.1, 0.35, 0.6, 1.0])
    return forms.turned((*place, 0.0), share * height, [0.018, 0.026, 0.032, 0.026, 0.036], 16)


def _seat(
    model: Model, x: float, y: float, width: float, depth: float,
    approaches: Sequence[str] = ("front", "left", "right"),
) -> Seat:  # fmt: skip
    """The seat at a place of the model, at the height of the surface there."""
    place = [float(x), float(y), forms.top_at(model.parts, (x, y), forms.PATCH)]
    return Seat(place, [0.0, -1.0, 0.0], float(width), float(depth), [], list(approaches))


def _any_way(seat: Seat, ways: int = 36) -> list[Seat]:
    """The seat with sitters that look to any side."""
    out = []
    for angle in np.linspace(0, 2 * np.pi, ways, endpoint=False):
        facing = [float(np.sin(angle)), float(-np.cos(angle)), 0.0]
        out.append(Seat(seat.place, facing, seat.width, seat.depth, [], seat.approaches))
    return out
