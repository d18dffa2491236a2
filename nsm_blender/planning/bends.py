# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast a character goes round the bends of a way, and from where on it slows down for what lies ahead."""

from __future__ import annotations

import math

import numpy as np

from ..motion.rotations import Array
from .path import GroundPath

SPAN = 0.25
"""Meters before and behind a place over which a bend is measured."""


def bends(path: GroundPath, along: Array) -> Array:
    """Radians by which the heading changes in a meter of the way at arc lengths (N,)."""
    span = np.minimum(SPAN, 0.5 * path.length)
    turn = path.heading(along + span) - path.heading(along - span)
    out: Array = np.abs((turn + math.pi) % (2 * math.pi) - math.pi) / (2 * span)
    return out


def braked(speed: Array, step: float, braking: float) -> Array:
    """Speeds (N,) in m/s at arc lengths `step` meters apart from which each lower one behind is come down to with a
    deceleration of `braking` m/s^2."""
    out = speed.copy()
    for i in range(len(out) - 2, -1, -1):
        out[i] = min(out[i], math.sqrt(out[i + 1] ** 2 + 2 * braking * step))
    return out
