# SPDX-License-Identifier: GPL-3.0-or-later
"""Easing curves: weights that rise smoothly from 0 to 1, and offsets that fade."""

from __future__ import annotations

import numpy as np

from .rotations import Array


def smoothstep(t: Array) -> Array:
    """Evaluate 3 t^2 - 2 t^3 for `t` (...) clipped to 0..1: it rises from 0 to 1 without speed at either end."""
    t = np.clip(t, 0.0, 1.0)
    out: Array = t * t * (3 - 2 * t)
    return out


def eased(count: int, start: float, full: float, full_end: float, end: float) -> Array:
    """Weight (count,) that rises from frame `start` to `full` and falls from `full_end` to `end` as people's hands go
    from place to place: with the least jerk (Flash and Hogan 1985)."""
    at = np.arange(count, dtype=float)
    rise = (at - start) / max(full - start, 1e-6)
    fall = (end - at) / max(end - full_end, 1e-6)
    t = np.clip(np.minimum(rise, fall), 0.0, 1.0)
    out: Array = t**3 * (10 + t * (6 * t - 15))
    return out


def critically_damped(off: Array, rate: Array, speed: float, seconds: Array | float) -> tuple[Array, Array]:
    """An offset (...) with a rate of change (...) per second as it fades in a critically damped spring, and its rate,
    after some time. speed: of the spring, 1/s. seconds: a number or an array that broadcasts with the offset."""
    push, left = rate + speed * off, np.exp(-speed * seconds)
    return (off + push * seconds) * left, (rate - speed * push * seconds) * left
