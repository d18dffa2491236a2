# SPDX-License-Identifier: GPL-3.0-or-later
"""The course of the demo on ground: stairs, two platforms with a gap between them, a ramp, and a low beam."""

from __future__ import annotations

import numpy as np

from .colliders import Cuboids
from .furniture import piece_of
from .mesh import TriangleMesh
from .rooms import Furnishing
from .shapes import Solid, block

RISE, GOING, STEPS = 0.17, 0.3, 5
"""Meters from tread to tread and from riser to riser, and the number of treads, of which the last is the platform's."""
GAP = 0.45
"""Meters from platform to platform, which a step of a walk crosses."""
BEAM = (3.0, 1.45)
"""Meters: x of the low beam, and the height of its underside, under which people crouch."""
_WIDE = 0.75
"""Meters to either side of the path that stairs, platforms and ramp are broad."""
_UP, _GAP_AT, _DOWN, _FLOOR = -3.4, -0.4, 1.5, 4.1
"""Meters along x of the first riser, of the gap, and of both ends of the ramp."""
_BACK = -2.4
"""Meters along y of the way back, under the beam."""
_SLICES = 8
"""Cuboids that stand for the ramp in the viewport."""

_TOP = RISE * STEPS
PATH = (
    (-4.6, 0.0, 0.0),
    (_UP, 0.0, 0.0),
    (-2.0, 0.0, _TOP),
    (_GAP_AT, 0.0, _TOP),
    (_DOWN, 0.0, _TOP),
    (_FLOOR, 0.0, 0.0),
    (5.3, -1.2, 0.0),
    (4.1, _BACK, 0.0),
    (1.0, _BACK, 0.0),
)
"""Places in meters of the path over it, on its surfaces."""


def demo_course() -> list[Furnishing]:
    """The pieces of the course, all of them ground; each call makes the same."""
    stairs = [
        block((_UP + GOING * i, -_WIDE, 0.0), (_UP + GOING * (i + 1), _WIDE, RISE * (i + 1))) for i in range(STEPS - 1)
    ]
    landing = block((_UP + GOING * (STEPS - 1), -_WIDE, 0.0), (_GAP_AT, _WIDE, _TOP))
    far = block((_GAP_AT + GAP, -_WIDE, 0.0), (_DOWN, _WIDE, _TOP))
    x, z = BEAM
    side = (_BACK - 0.8, _BACK + 0.8)
    beam = [
        block((x - 0.1, side[0], z), (x + 0.1, side[1], z + 0.2)),
        *(block((x - 0.1, y - 0.06, 0.0), (x + 0.1, y + 0.06, z)) for y in (side[0] + 0.06, side[1] - 0.06)),
    ]
    pieces = (
        ("Stairs", "step", stairs),
        ("Platform", "platform", [landing]),
        ("Far Platform", "platform", [far]),
        ("Ramp", "ramp", [_wedge(_DOWN, _FLOOR, _TOP)]),
        ("Low Beam", "beam", beam),
    )
    return [Furnishing(name, piece_of(kind, solids, "ground"), np.zeros(3)) for name, kind, solids in pieces]


def _wedge(high: float, low: float, top: float) -> Solid:
    """A ramp along x from a height at `high` down to the floor at `low`."""
    outline = np.array([(high, 0.0), (low, 0.0), (high, top)])
    corners = np.array([(x, y, z) for y in (-_WIDE, _WIDE) for x, z in outline])
    sides = [(0, 1, 2), (3, 5, 4)]
    for a, b in ((0, 1), (1, 2), (2, 0)):
        sides += [(a, a + 3, b + 3), (a, b + 3, b)]
    share = (np.arange(_SLICES) + 0.5) / _SLICES
    half = np.array([(low - high) / _SLICES, 2 * _WIDE, 0.0]) / 2 + np.outer(top * (1 - share) / 2, (0, 0, 1))
    center = np.stack((high + share * (low - high), 0 * share, half[:, 2]), axis=1)
    return Solid(TriangleMesh(corners, np.array(sides)), Cuboids(center, half))
