# SPDX-License-Identifier: GPL-3.0-or-later
"""A library of ground patches made by formula, from which those are taken that fit a recorded motion (PFNN 4.2).

The paper samples height maps of game levels. Here each kind of ground is a formula with random parameters, evaluated at
any place: no grid, no edge, no limit of resolution, and steps as sharp as they are built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...motion.rotations import Array

_WAVES = 6
"""Sine waves of which a patch of noise is made, enough for no repetition to be seen within a stride."""


@dataclass(frozen=True, eq=False)
class Patches:
    """Patches of one kind.

    kind: key of KINDS. turn: (P,) radians about +Z. shift: (P, 2) meters, of the patch's origin. numbers: (P, n) the
    kind's parameters.
    """

    kind: str
    turn: Array
    shift: Array
    numbers: Array

    def __len__(self) -> int:
        return len(self.turn)

    def heights(self, places: Array) -> Array:
        """Heights (P, N) in meters at places (N, 2)."""
        c, s = np.cos(self.turn)[:, None], np.sin(self.turn)[:, None]
        x, y = (places[None, :, i] - self.shift[:, i, None] for i in (0, 1))
        return _SHAPES[self.kind](c * x + s * y, -s * x + c * y, self.numbers.T[:, :, None])

    def __getitem__(self, numbers: Array) -> Patches:
        """Some of the patches."""
        return Patches(self.kind, self.turn[numbers], self.shift[numbers], self.numbers[numbers])


def _flat(u: Array, _v: Array, p: Array) -> Array:
    return 0 * u + p[0]


def _ramp(u: Array, _v: Array, p: Array) -> Array:
    """A slope p[0] between two levels, over p[1] meters."""
    return p[0] * np.clip(u, 0, p[1])


def _stairs(u: Array, _v: Array, p: Array) -> Array:
    """p[2] steps up, each p[0] high and p[1] deep; then p[3] meters of landing and, where p[4] says so, down again."""
    up = np.clip(np.ceil(u / p[1]), 0, p[2])
    down = np.clip(np.ceil((u - p[2] * p[1] - p[3]) / p[1]), 0, p[2])
    return p[0] * (up - p[4] * down)


def _ridge(u: Array, _v: Array, p: Array) -> Array:
    """Rounded ridges p[0] high, p[1] wide, every p[2] meters."""
    away = np.abs((u + 0.5 * p[2]) % p[2] - 0.5 * p[2])
    return p[0] * np.maximum(1 - (2 * away / p[1]) ** 2, 0)


def _beam(u: Array, _v: Array, p: Array) -> Array:
    """Beams (or, with p[0] below 0, trenches) p[0] high, p[1] wide, every p[2] meters, with upright sides."""
    away = np.abs((u + 0.5 * p[2]) % p[2] - 0.5 * p[2])
    return np.where(2 * away < p[1], p[0], 0.0)


def _blocks(u: Array, v: Array, p: Array) -> Array:
    """Square blocks p[1] wide, each of its own height up to p[0]: pavement, rubble, crates."""
    i, j = np.floor(u / p[1]), np.floor(v / p[1])
    # The usual hash of shader programs: a large sine's fraction is as good as random from cell to cell.
    return p[0] * ((np.sin(12.9898 * i + 78.233 * j + p[2]) * 43758.5453) % 1.0)


def _noise(u: Array, v: Array, p: Array) -> Array:
    """Waves of random directions: p holds amplitude, wave numbers along u and v, and offset of each."""
    amplitude, ku, kv, offset = np.split(p, 4)
    out = np.zeros(np.broadcast_shapes(u.shape, v.shape))
    for a, m, n, o in zip(amplitude, ku, kv, offset, strict=True):
        out += a * np.sin(m * u + n * v + o)
    return out


_SHAPES: dict[str, Callable[[Array, Array, Array], Array]] = {
    "flat": _flat,
    "ramp": _ramp,
    "stairs": _stairs,
    "ridge": _ridge,
    "beam": _beam,
    "blocks": _blocks,
    "noise": _noise,
}


def _draw(kind: str, count: int, rng: np.random.Generator) -> Array:
    """Parameters (count, n) of random patches of a kind."""

    def between(low: float, high: float) -> Array:
        return rng.uniform(low, high, count)

    if kind == "flat":
        return np.zeros((count, 1))
    if kind == "ramp":  # to 30 degrees, beyond what is walked upright
        return np.stack((between(0.05, 0.58), between(0.5, 5.0)), axis=1)
    if kind == "stairs":
        numbers = between(0.1, 0.3), between(0.24, 0.6), rng.integers(1, 12, count), between(0.3, 4.0)
        return np.stack((*numbers, rng.integers(0, 2, count)), axis=1)
    if kind == "ridge":
        width = between(0.2, 1.2)
        return np.stack((between(0.03, 0.5), width, width + between(0.2, 3.0)), axis=1)
    if kind == "beam":
        width = between(0.1, 1.5)
        height = between(0.05, 0.8) * rng.choice([-1.0, 1.0], count)
        return np.stack((height, width, width + between(0.25, 4.0)), axis=1)
    if kind == "blocks":
        return np.stack((between(0.02, 0.35), between(0.25, 1.5), between(0, 100)), axis=1)
    length = np.exp(rng.uniform(np.log(0.35), np.log(6.0), (count, _WAVES)))
    way = rng.uniform(0, 2 * np.pi, (count, _WAVES))
    # Long waves are high and short ones low, as on grown ground: the slope is what is alike.
    amplitude = between(0.005, 0.06)[:, None] * length * rng.uniform(0.3, 1.0, (count, _WAVES))
    wave = 2 * np.pi / length
    offset = rng.uniform(0, 2 * np.pi, (count, _WAVES))
    return np.concatenate((amplitude, wave * np.cos(way), wave * np.sin(way), offset), axis=1)


SHARES = {"flat": 0.002, "ramp": 0.14, "stairs": 0.2, "ridge": 0.14, "beam": 0.17, "blocks": 0.14, "noise": 0.208}
"""Share of each kind in a library: edges teach where to step, so those with edges are half of it."""


class Library:
    """Random patches of all kinds, numbered through."""

    def __init__(self, count: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.parts: list[Patches] = []
        for kind, share in SHARES.items():
            n = max(round(share * count), 1)
            turn, shift = rng.uniform(0, 2 * np.pi, n), rng.uniform(-1.5, 1.5, (n, 2))
            self.parts.append(Patches(kind, turn, shift, _draw(kind, n, rng)))

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def heights(self, places: Array) -> Array:
        """Heights (P, N) of all patches at places (N, 2) about their middles."""
        return np.concatenate([part.heights(places) for part in self.parts])

    def kind(self, number: int) -> str:
        """The kind of a patch."""
        return self._part(number)[0].kind

    def chosen(self, number: int, places: Array) -> Array:
        """Heights (N,) of one patch at places (N, 2) about its middle."""
        part, inside = self._part(number)
        out: Array = part[np.array([inside])].heights(places)[0]
        return out

    def _part(self, number: int) -> tuple[Patches, int]:
        for part in self.parts:
            if number < len(part):
                return part, number
            number -= len(part)
        raise IndexError(f"the library has {len(self)} patches")
