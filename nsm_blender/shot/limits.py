# SPDX-License-Identifier: GPL-3.0-or-later
"""How long, how far and how many a shot may be; what lies beyond is refused in words, before anything is allocated."""

from __future__ import annotations

from typing import Annotated

from ..files import Count, Sizes, Within
from ..geometry.body import CAPSULES

LONGEST_SHOT = 1800.0
"""Seconds of the longest shot: half an hour at 60 fps takes 0.7 GB while it is baked."""
MOST_FRAMES = 108_000
"""Frames of the longest shot at any frame rate: half an hour at 60 fps, for the same reason."""
FARTHEST_PLACE = 10_000.0
"""Meters from the world's origin to the farthest place along an axis: there the steps of float32, in which motions are
stored, are 1 mm."""
LONGEST_PATH = 11_000.0
"""Meters of the longest path or route: as far as the fastest run comes in the longest shot."""
FARTHEST_START = 10.0
"""Meters from the path to the farthest start: from there the hips come back at 4 m/s, from 20 m at 9 m/s, which is
faster than any run."""
FARTHEST_GOAL = 200.0
"""Meters between the start and a goal, or two goals: beyond, the route's grid is coarser than the gaps between
furniture."""
MOST_THINGS = 10_000
"""Colliders, goals or action keys of a shot at most; a furnished flat has a hundred colliders."""
MOST_POSES = 2_000_000
"""Poses of all moving colliders at most, each counted with the frames of the longest: they take 0.3 GB."""

Place = Annotated[list[float], Sizes(3), Within(-FARTHEST_PLACE, FARTHEST_PLACE, "m")]
"""World x, y, z in meters."""
PerFrame = Count(0, MOST_FRAMES)
"""One entry for each frame of a shot."""
Distinct = Count(0, MOST_THINGS)
"""One entry for each thing of a kind."""
Angle = Annotated[float, Within(-1e4, 1e4, "radians")]
"""An angle in radians; after 1,600 turns float32 is off by a milliradian."""
BodyRadii = Annotated[list[Annotated[float, Within(0.005, 0.6, "m")]], Count(0, len(CAPSULES))]
"""A radius for each capsule of a body at the model's size, or none. Below 5 mm it is no limb, above 60 cm no trunk."""
