# SPDX-License-Identifier: GPL-3.0-or-later
"""Ergonomics of an adult in meters: reach, spans, sitting and climbing heights, for furniture and for proposals
alike."""

from __future__ import annotations

SIT_HEIGHTS = (0.28, 0.65)
"""Lowest and highest seat over the floor on which people sit without climbing or squatting."""

ARM_REST = 0.55
"""Farthest distance from the middle of the seat at which a hand still lies on an arm rest."""

PUT_DEPTH = 0.6
"""Farthest distance from the edge of a surface at which the character still puts a thing down."""

PUT_HEIGHTS = (0.10, 1.45)
"""Lowest and highest surface over the floor on which the character puts a thing down."""

GRIP_HEIGHTS = (0.7, 1.35)
"""Lowest and highest door handle over the floor."""

SPAN = (0.06, 0.70)
"""Least and largest distance between two palms that hold a thing."""

LIFT_HEIGHT = 1.7
"""Greatest height over the floor at which people take hold of a thing to lift it."""

CLIMB_HEIGHTS = (0.08, 1.0)
"""Lowest and highest edge over the floor that the character climbs in one go."""

LANDING = 0.35
"""Distance behind the edge at which the character stands after climbing."""

STANDING = 0.22
"""Radius about the body's axis that standing needs."""
