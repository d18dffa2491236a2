# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps, stairs, podiums and doors as modelers make them; each stands on z = 0, its front to -Y."""

from __future__ import annotations

import numpy as np

from ...geometry.mesh import TriangleMesh
from ...geometry.reach import LANDING
from ...geometry.roles import Climbable, Door, Handles
from . import forms
from .model import Model

STEPS = 12
"""Number of steps of a flight of stairs."""


def closed_stairs(rng: np.random.Generator) -> Model:
    """Twelve steps with risers between two stringers; some have a handrail."""
    return _stairs(rng, with_risers=True)


def open_stairs(rng: np.random.Generator) -> Model:
    """Twelve treads between two stringers, open behind; some have a handrail."""
    return _stairs(rng, with_risers=False)


def step_stool(rng: np.random.Generator) -> Model:
    """Two treads between side panels, as in a kitchen or a library."""
    wide, rise, tread = rng.uniform(0.42, 0.55), rng.uniform(0.19, 0.26), rng.uniform(0.22, 0.27)
    top = rng.uniform(0.26, 0.34)
    model = Model(role="climbable")
    low, edge, high = -(tread + top) / 2, (tread - top) / 2, (tread + top) / 2
    board, side = rng.uniform(0.018, 0.03), 0.022
    model.add(forms.rounded_box((-wide / 2, low - 0.01, rise - board), (wide / 2, edge + 0.02, rise), 0.006, 3))
    model.add(forms.rounded_box((-wide / 2, edge - 0.01, 2 * rise - board), (wide / 2, high, 2 * rise), 0.006, 3))
    for x in (-wide / 2 + 0.02, wide / 2 - 0.02 - side):
        model.add(forms.rounded_box((x, low + 0.01, 0.0), (x + side, edge + 0.02, rise - board / 2), 0.004))
        model.add(forms.rounded_box((x, edge, 0.0), (x + side, high - 0.015, 2 * rise - board / 2), 0.004))
    model.add(forms.rounded_box((-wide / 2 + 0.03, high - 0.05, 0.08), (wide / 2 - 0.03, high - 0.03, 0.16), 0.005))
    landing = edge - 0.01 + min(LANDING, (high - edge + 0.01) / 2)
    model.truths = [
        Climbable([0.0, float(edge - 0.01), float(2 * rise)], [0.0, 1.0, 0.0],
                  [0.0, float(landing), float(2 * rise)], float(wide))
    ]  # fmt: skip
    return model


def podium(rng: np.random.Generator, heights: tuple[float, float] = (0.16, 0.60)) -> Model:
    """A stage: a beveled top over a frame with legs, or over panels all around; climbed over any edge. heights: lowest
    and highest in meters."""
    wide, deep, height = rng.uniform(1.1, 2.0), rng.uniform(0.9, 1.6), rng.uniform(*heights)
    model = Model(role="climbable")
    x, y, board = wide / 2, deep / 2, rng.uniform(0.03, 0.06)
    model.add(forms.rounded_box((-x, -y, height - board), (x, y, height), 0.01, 3))
    if rng.random() < 0.5:
        for side in (-1, 1):
            panel = sorted((side * (x - 0.03), side * (x - 0.012)))
            model.add(forms.rounded_box((panel[0], -y + 0.012, 0.0), (panel[1], y - 0.012, height - board), 0.003))
            panel = sorted((side * (y - 0.03), side * (y - 0.012)))
            model.add(forms.rounded_box((-x + 0.012, panel[0], 0.0), (x - 0.012, panel[1], height - board), 0.003))
    else:
        for px in (-x + 0.06, x - 0.06):
            for py in (-y + 0.06, y - 0.06):
                model.add(forms.square_leg((px, py, height - board / 2), (px, py, 0.0), 0.07, 0.07))
            model.add(forms.rod([(px, -y + 0.06, height - board - 0.03), (px, y - 0.06, height - board - 0.03)], 0.02))
    ways: list[Handles] = []
    for facing, across, along in (
        ((0.0, 1.0), wide, deep), ((0.0, -1.0), wide, deep), ((1.0, 0.0), deep, wide), ((-1.0, 0.0), deep, wide),
    ):  # fmt: skip
        way, top = np.array([*facing, 0.0]), np.array([0.0, 0.0, height])
        edge, landing = top - way * along / 2, top - way * (along / 2 - min(LANDING, along / 2))
        ways.append(Climbable(edge.tolist(), [*facing, 0.0], landing.tolist(), float(across)))
    model.truths = ways
    return model


def door_leaf(rng: np.random.Generator, opening: float | None = None) -> Model:
    """A leaf with raised panels and lever handles in a single mesh; the frame is a second mesh. opening: meters of
    clear width in the frame."""
    width = (opening or float(rng.uniform(0.78, 0.98))) - 0.008
    height, thick, side = rng.uniform(1.98, 2.08), rng.uniform(0.038, 0.05), int(rng.choice([-1, 1]))
    model = Model(role="door")
    x = width / 2
    model.add(forms.rounded_box((-x, -thick / 2, 0.006), (x, thick / 2, height), 0.003))
    fields = (((0.14, 0.86), (1.12, 1.88)), ((0.14, 1.86),), ())
    for low, high in fields[int(rng.integers(3))]:
        for face in (-1, 1):
            y = sorted((face * (thick / 2 - 0.002), face * (thick / 2 + 0.008)))
            for left, right in ((-x + 0.12, -0.04), (0.04, x - 0.12)):
                model.add(forms.rounded_box((left, y[0], low), (right, y[1], high), 0.004))
    grip, free = rng.uniform(0.98, 1.07), -side * (x - rng.uniform(0.05, 0.07))
    reach = side * rng.uniform(0.11, 0.14)
    for face in (-1, 1):
        plate = forms.turned((0, 0, 0), [0.0, 0.006, 0.008], [0.026, 0.026, 0.022], 20)
        # The rosette's axis is turned from upright to across the leaf.
        model.add(forms.moved(plate, (free, face * thick / 2, grip), 0.0, face * -np.pi / 2))
        out = face * (thick / 2 + 0.05)
        lever = [(free, face * thick / 2, grip), (free, out, grip), (free + reach, out, grip)]
        model.add(forms.rod(lever, [0.009, 0.010, 0.008]))
    for z in (0.22, height - 0.25):
        model.add(forms.rod([(side * x, thick / 2 + 0.004, z - 0.05), (side * x, thick / 2 + 0.004, z + 0.05)], 0.007))
    model.fixture = _door_frame(rng, x + 0.004, height + 0.004)
    opens = np.pi / 2 * float(rng.choice([-1, 1]))
    model.truths = [
        Door([float(side * x), 0.0, 0.006], [0.0, 0.0, 1.0], [float(free + reach / 2), 0.0, float(grip)], float(width),
             float(height - 0.006), opens)
    ]  # fmt: skip
    return model


def door_in_frame(rng: np.random.Generator) -> Model:
    """Leaf, handles and frame in a single mesh, as in many files: the leaf cannot turn without its frame."""
    model = door_leaf(rng)
    model.add(*model.fixture)
    model.fixture = []
    return model


def _door_frame(rng: np.random.Generator, half: float, height: float) -> list[TriangleMesh]:
    post, deep = rng.uniform(0.03, 0.05), rng.uniform(0.11, 0.16)
    parts = [
        forms.rounded_box((side[0], -deep / 2, 0.0), (side[1], deep / 2, height + post), 0.002)
        for side in ((-half - post, -half), (half, half + post))
    ]
    parts.append(forms.rounded_box((-half - post, -deep / 2, height), (half + post, deep / 2, height + post), 0.002))
    trim = rng.uniform(0.05, 0.08)
    for face in (-1, 1):
        y = sorted((face * deep / 2, face * (deep / 2 + 0.012)))
        for low, high in ((-half - trim, -half - 0.006), (half + 0.006, half + trim)):
            parts.append(forms.rounded_box((low, y[0], 0.0), (high, y[1], height + trim), 0.004))
        parts.append(forms.rounded_box((-half - trim, y[0], height + 0.006), (half + trim, y[1], height + trim), 0.004))
    return parts


def _stairs(rng: np.random.Generator, with_risers: bool) -> Model:
    """A straight flight up along +Y, climbed from its lowest step to the top, but too high to be climbed at once."""
    wide, rise, tread = rng.uniform(0.8, 1.2), rng.uniform(0.16, 0.19), rng.uniform(0.26, 0.29)
    model = Model(role="climbable")
    board, nose = rng.uniform(0.03, 0.045), 0.02
    start = -STEPS * tread / 2
    for number in range(STEPS):
        y, z = start + number * tread, (number + 1) * rise
        model.add(forms.rounded_box((-wide / 2, y - nose, z - board), (wide / 2, y + tread + 0.01, z), 0.008, 3))
        if with_risers:
            model.add(forms.rounded_box((-wide / 2, y, z - rise), (wide / 2, y + 0.015, z - board / 2), 0.003))
    foot, end = start - 0.05, start + STEPS * tread
    top = STEPS * rise
    for side in (-1, 1):
        x = sorted((side * (wide / 2 - 0.003), side * (wide / 2 + 0.035)))
        ys = np.linspace(foot, end, 13)
        line = (ys - start) * rise / tread
        below = np.clip(line - 0.16, 0.0, top - 0.1)
        over = np.clip(line + rise + 0.05, 0.12, top + 0.03)
        model.add(forms.slab(np.column_stack([ys, below]), np.column_stack([ys, over]), x[0], x[1], 3))
    if rng.random() < 0.4:
        rail = float(rng.choice([-1, 1])) * (wide / 2 + 0.015)
        model.add(forms.rod([(rail, start, rise + 0.9), (rail, end, top + 0.9)], 0.022))
        for number in range(0, STEPS + 1, 2):
            y, z = start + number * tread, number * rise
            model.add(forms.rod([(rail, y, z), (rail, y, z + rise + 0.88)], 0.012, 8))
    last = start + (STEPS - 1) * tread - nose
    landing = [0.0, float(last + min(LANDING, (tread + nose + 0.01) / 2)), float(top)]
    model.truths = [Climbable([0.0, float(start - nose), float(rise)], [0.0, 1.0, 0.0], landing, float(wide))]
    return model
