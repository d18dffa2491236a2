# SPDX-License-Identifier: GPL-3.0-or-later
"""A character that looks along its way and yet treads on the spot, undecided before a tight bend or short of the end,
is led on until it walks; beside the place where it is to stand it is led there."""

from __future__ import annotations

import numpy as np

from ..models.nsm import FPS, FUTURE
from ..motion.rotations import Array
from .goal_input import Stay, Steer

PATIENCE = 1.5
"""Seconds in which one gets on"""
SLOWEST, LEAST = 0.4, 0.5
"""at so many m/s, or at this share of the speed that is asked for where the way is free, or is led,"""
PACE = 0.5
"""at so many m/s,"""
COMES_IN = 0.5
"""to which it takes so many seconds, and as many to be left alone again,"""
MOST = 3.0
"""and for so many seconds of one way at most: who never walks of himself is stuck."""
NEAR = 0.25
"""Metres of way left from which nobody is led: there one has come as near as one stops."""
LOOKS = 0.5
"""How far (0..1) one looks along his way at least, who is led."""
AHEAD = 0.3
"""Metres of the way ahead to which one is led."""
STEP = 0.2
"""m/s at which the root is led to the place where the character is to stand, a slow sidestep,"""
BESIDE = (0.02, 0.4)
"""from so many meters off it on, and up to so many: farther off the character is still on its way."""
_DT = 1.0 / FPS
_AHEAD = np.linspace(0.5 / FUTURE, 0.5, FUTURE)[:, None]


def led_on(steer: Steer, root: Array, place: Array) -> Array:
    """Future places (6, 2) of one who is steered, led along his way if he does not get on; so is the root (4,), in
    place."""
    walker, seconds = steer.walker, 0.0 if steer.seen is None else steer.seen[0]
    gets_on = PATIENCE * min(SLOWEST, LEAST * walker.top)
    if walker.along - steer.mark[1] > gets_on or walker.left < NEAR or seconds < steer.rest:
        steer.mark = seconds, walker.along
    undecided = seconds - steer.mark[0] > PATIENCE and steer.led_for < MOST
    stalls = undecided and not steer.door and steer.looks_along(root) > LOOKS
    change = PACE / COMES_IN * _DT
    steer.led = min(max(steer.led + (change if stalls else -change), 0.0), PACE)
    if steer.led == 0:
        return place
    steer.led_for += _DT
    way = walker.places(np.array([walker.along + AHEAD]))[0] - root[:2]
    step = steer.led * way / max(float(np.linalg.norm(way)), 1e-9)
    root[:2] += step * _DT
    out: Array = place + step * _AHEAD
    return out


def led_there(stay: Stay, root: Array, place: Array) -> Array:
    """Future places (6, 2) of a character that is to stand somewhere, led there; so is the root (4,), in place."""
    off = stay.place[:2] - root[:2]
    away = float(np.linalg.norm(off))
    if not BESIDE[0] < away < BESIDE[1]:
        return place
    step = off * min(STEP / away, 1.0)
    root[:2] += step * _DT
    out: Array = place + step * _AHEAD
    return out
