# SPDX-License-Identifier: GPL-3.0-or-later
"""Things carried between two hands, as modelers make them; each stands on z = 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...geometry.reach import SPAN
from ...geometry.roles import Carryable, Handles
from . import forms
from .model import Model

GRASP_HEIGHTS = (0.35, 0.75)
"""Lowest and highest share of a thing's height at which palms lie well on its sides."""


def crate(rng: np.random.Generator) -> Model:
    """A wooden crate of boards with gaps on corner posts, nailed from outside."""
    wide, deep, height = rng.uniform(0.34, 0.56), rng.uniform(0.28, 0.40), rng.uniform(0.20, 0.36)
    model = Model(role="carryable")
    board = rng.uniform(0.010, 0.015)
    x, y = wide / 2, deep / 2
    for number in range(4):
        a = -x + number * wide / 4
        model.add(forms.rounded_box((a + 0.004, -y + board, 0.0), (a + wide / 4 - 0.004, y - board, board), 0.002, 1))
    for px in (-x + board, x - board - 0.028):
        for py in (-y + board, y - board - 0.028):
            model.add(forms.rounded_box((px, py, 0.002), (px + 0.028, py + 0.028, height - 0.004), 0.003, 1))
    rows = int(rng.integers(2, 4))
    pitch = height / rows
    for z in np.arange(rows) * pitch:
        top = z + pitch - rng.uniform(0.008, 0.02) * (z + pitch < height - 1e-6)
        for side in (-1, 1):
            face = sorted((side * y, side * (y - board)))
            model.add(forms.rounded_box((-x, face[0], z), (x, face[1], top), 0.002, 1))
            face = sorted((side * x, side * (x - board)))
            model.add(forms.rounded_box((face[0], -y + 0.001, z), (face[1], y - 0.001, top), 0.002, 1))
    model.truths = _grasps(lambda z: (wide, deep), height)
    return model


def cardboard_box(rng: np.random.Generator) -> Model:
    """Single-sided sheets as walls, with flaps that stand open, hang out, or are shut with a strip of tape."""
    wide, deep, height = rng.uniform(0.30, 0.52), rng.uniform(0.26, 0.40), rng.uniform(0.20, 0.36)
    model = Model(role="carryable")
    x, y = wide / 2, deep / 2
    corners = [(-x, -y), (x, -y), (x, y), (-x, y)]
    model.add(forms.sheet([(*c, 0.0) for c in corners]))
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
        model.add(forms.sheet([(ax, ay, 0.0), (bx, by, 0.0), (bx, by, height), (ax, ay, height)]))
    if rng.random() < 0.5:
        model.add(forms.sheet([(*c, height) for c in corners], sag=0.006))
        model.add(forms.rounded_box((-x, -0.025, height), (x, 0.025, height + 0.0008), 0.0003, 1))
    else:
        for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
            out = np.array([by - ay, ax - bx]) / np.hypot(bx - ax, by - ay)
            lift = rng.uniform(-0.3, 1.35)
            flap = 0.5 * deep * np.array([*(np.cos(lift) * out), np.sin(lift)])
            a, b = np.array([ax, ay, height]), np.array([bx, by, height])
            model.add(forms.sheet([a, b, b + flap, a + flap]))
    model.truths = _grasps(lambda z: (wide, deep), height)
    return model


def basket(rng: np.random.Generator) -> Model:
    """A laundry basket: a thin shell that widens upwards, a rim, and a floor."""
    wide, deep, height = rng.uniform(0.38, 0.54), rng.uniform(0.30, 0.40), rng.uniform(0.22, 0.34)
    taper, power = rng.uniform(0.80, 0.92), rng.uniform(3.0, 6.0)
    model = Model(role="carryable")
    turn = np.linspace(0, 2 * np.pi, 49)
    ring = np.stack([np.sign(np.cos(turn)) * np.abs(np.cos(turn)) ** (2 / power) * wide / 2,
                     np.sign(np.sin(turn)) * np.abs(np.sin(turn)) ** (2 / power) * deep / 2], axis=-1)  # fmt: skip

    def scale(z: float) -> float:
        return float(taper + (1 - taper) * z / height)

    zs = np.linspace(0, height, 9)
    model.add(forms.grid(np.stack([np.column_stack([ring * scale(z), np.full(49, z)]) for z in zs])))
    model.add(forms.plate(ring[:-1] * taper, 0.0, 0.006))
    model.add(forms.rod(np.column_stack([ring, np.full(49, height)]), 0.009, 8))
    model.truths = _grasps(lambda z: (wide * scale(z), deep * scale(z)), height)
    return model


def suitcase(rng: np.random.Generator) -> Model:
    """A hard suitcase lying on its broad side: ribs, a handle, wheels and a seam around it."""
    wide, deep, height = rng.uniform(0.48, 0.62), rng.uniform(0.34, 0.44), rng.uniform(0.18, 0.25)
    model = Model(role="carryable")
    x, y = wide / 2, deep / 2
    model.add(forms.rounded_box((-x, -y, 0.0), (x, y, 0.49 * height), 0.045, 4, 4))
    model.add(forms.rounded_box((-x, -y, 0.48 * height), (x, y, height), 0.045, 4, 4))
    model.add(forms.rounded_box((-x - 0.003, -y - 0.003, 0.47 * height), (x + 0.003, y + 0.003, 0.51 * height), 0.004))
    for px in np.linspace(-0.35, 0.35, 5) * wide:
        model.add(
            forms.rounded_box((px - 0.012, -0.8 * y, height - 0.01), (px + 0.012, 0.8 * y, height + 0.004), 0.005)
        )
    grip = [(-0.06, -y, 0.5 * height), (-0.05, -y - 0.03, 0.5 * height), (0.05, -y - 0.03, 0.5 * height),
            (0.06, -y, 0.5 * height)]  # fmt: skip
    model.add(forms.rod(grip, 0.010, 10))
    model.truths = _grasps(lambda z: (wide, deep), height)
    return model


def drum(rng: np.random.Generator) -> Model:
    """A round body with hoops, a hat box, a small keg or a floor tom, that can be grasped from anywhere."""
    radius, height = rng.uniform(0.14, 0.22), rng.uniform(0.24, 0.42)
    model = Model(role="carryable")
    bulge = rng.choice([0.0, rng.uniform(0.02, 0.035)])
    share = np.linspace(0, 1, 15)
    radii = radius - bulge * (2 * share - 1) ** 2
    model.add(forms.turned((0, 0, 0), share * height, radii, 40))
    for at in (0.06, 0.94):
        hoop = radius - bulge * (2 * at - 1) ** 2 + 0.005
        model.add(forms.puck((0, 0), float(hoop), (at - 0.04) * height, (at + 0.04) * height, 0.004, 40))

    def across(z: float) -> float:
        return float(2 * (radius - bulge * (2 * z / height - 1) ** 2))

    model.truths = [
        _grasp(float(angle), across(z), z)
        for z in _heights(height)
        for angle in np.linspace(0, 2 * np.pi, 72, endpoint=False)
    ]
    return model


def _heights(height: float) -> list[float]:
    """Heights of the palms, half the height first."""
    low, high = GRASP_HEIGHTS
    return [float(share * height) for share in sorted(np.linspace(low, high, 9), key=lambda s: abs(s - 0.5))]


def _grasps(size: Callable[[float], tuple[float, float]], height: float) -> list[Handles]:
    """Grasps of a box's two pairs of sides from either side. size: function of a height that gives width and depth
    there."""
    out: list[Handles] = []
    for z in _heights(height):
        wide, deep = size(z)
        for angle, across in ((0.0, wide), (np.pi, wide), (np.pi / 2, deep), (-np.pi / 2, deep)):
            if across <= SPAN[1]:
                out.append(_grasp(angle, across, z))
    return out


def _grasp(angle: float, across: float, z: float) -> Carryable:
    """A grasp with palms `across` meters apart at a height; the carrier stands at `angle` from -Y,
    counter-clockwise."""
    facing = [float(np.sin(angle)), float(-np.cos(angle)), 0.0]
    left = np.array([facing[1], -facing[0]]) * across / 2
    return Carryable([float(left[0]), float(left[1]), z], [float(-left[0]), float(-left[1]), z], facing, "light")
