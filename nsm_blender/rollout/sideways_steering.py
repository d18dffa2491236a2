# SPDX-License-Identifier: GPL-3.0-or-later
"""Sideways through a gap with the NSM: its root is led where the network alone would stop, or not turn far enough."""

from __future__ import annotations

import numpy as np

from ..models.nsm import FPS, FUTURE, SAMPLE_FRAMES
from ..motion.root import direction
from ..motion.rotations import Array, wrap_angle
from ..planning.speed_profile import Walker

FOLLOWS = 0.7
"""Share by which what the network foresees for in a second is moved to the way, less for what is nearer."""
KEEPS_ON = 0.6
"""Share of the speed that one lacks, or has too much of, by which it is made up."""
MOST = 0.6
"""m/s of it at most."""
TURNS, FASTEST = 3.0, 2.0
"""1/s and rad/s at which one is turned aside, and back."""
AHEAD = 0.25
"""Seconds by which one turns before the way asks for it."""
OVER = 1.5
"""1/s at which one comes to the middle of the gap."""
_TIMES = np.arange(1, FUTURE + 1) * (SAMPLE_FRAMES / FPS)
_DT = 1.0 / FPS


def led_through(walker: Walker, before: Array, root: Array, place: Array, heading: Array) -> tuple[Array, Array]:
    """The future places and headings (6, 2), led along the way of one who goes sideways; so is the root (4,), in place.

    before: the root in the last frame.
    """
    share = walker.aside
    if share == 0:
        return place, heading
    speed = walker.speed
    along = walker.along + speed * np.concatenate(([0.0, AHEAD], _TIMES))
    places, facing = walker.places(along), walker.facing(along)
    way = direction(walker.path.heading(np.array(walker.along)))
    pace = float((root[:2] - before[:2]) @ way) * FPS
    off = places[0] - root[:2]
    off -= (off @ way) * way
    lack = float(np.clip(KEEPS_ON * (speed - pace), -MOST, MOST))
    root[:2] += share * (lack * way + OVER * off) * _DT
    root[3] += share * float(np.clip(TURNS * wrap_angle(facing[1] - root[3]), -FASTEST, FASTEST)) * _DT
    blend = (FOLLOWS * share * np.arange(1, FUTURE + 1) / FUTURE)[:, None]
    heading = heading / np.maximum(np.linalg.norm(heading, axis=1, keepdims=True), 1e-9)
    return (1 - blend) * place + blend * places[2:], (1 - blend) * heading + blend * direction(facing[2:])
