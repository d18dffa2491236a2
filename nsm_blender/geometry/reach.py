# SPDX-License-Identifier: GPL-3.0-or-later
"""What a grown-up person reaches, spans, sits on and climbs, in metres: one place for furniture and for proposals."""

from __future__ import annotations

SIT_HEIGHTS = (0.28, 0.65)
"""Over the floor, between which people sit without climbing or squatting."""

ARM_REST = 0.55
"""From the middle of the seat, at which a hand still lies on an arm rest."""

PUT_DEPTH = 0.6
"""From the edge of a surface, to where one still puts a thing down."""

PUT_HEIGHTS = (0.10, 1.45)
"""Over the floor, between which one puts a thing down."""

GRIP_HEIGHTS = (0.7, 1.35)
"""Over the floor, between which the handles of doors are."""

SPAN = (0.06, 0.70)
"""Between two palms that hold a thing."""

LIFT_HEIGHT = 1.7
"""Over the floor, up to which people take hold of things to lift them."""

CLIMB_HEIGHTS = (0.08, 1.0)
"""Over the floor, that one climbs in one go."""

LANDING = 0.35
"""Behind the edge, at which one stands after climbing."""

STANDING = 0.22
"""About the middle of a body, that it needs to stand."""
