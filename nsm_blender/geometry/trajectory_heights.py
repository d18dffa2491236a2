# SPDX-License-Identifier: GPL-3.0-or-later
"""Heights of the ground under a trajectory, as the PFNN is told them (PFNN 4.1, 4.3), in training and in rollouts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..motion.rotations import Array

ASIDE = 0.25
"""Meters from the trajectory to the points at its sides (PFNN 4.1)."""
Sample = Callable[[Array], Array]
"""Heights (...) in meters of the ground at places (..., 2)."""
_SIDES = np.array([-ASIDE, 0.0, ASIDE])
"""Offsets in meters toward the character's left: right, center, left."""


def places_beside(positions: Array, directions: Array) -> Array:
    """Places (..., t, 3, 2) at the right of, on and at the left of trajectory samples, across their facing.

    positions: (..., t, 2) in the world. directions: (..., t, 2) unit facings.
    """
    # Facing -y, the left is +x: a quarter turn counter-clockwise.
    left = np.stack((-directions[..., 1], directions[..., 0]), axis=-1)
    out: Array = positions[..., None, :] + _SIDES[:, None] * left[..., None, :]
    return out


def trajectory_heights(sample: Sample, positions: Array, directions: Array) -> Array:
    """World heights (..., t, 3) of the ground at `places_beside` a trajectory."""
    return sample(places_beside(positions, directions))


def root_height(heights: Array) -> Array:
    """Height (...) of the root over world heights (..., t, 3): the mean along the trajectory's middle.

    The ground right below the root rises over stairs by whole steps, and a pose told from there would jump with it; the
    mean over two seconds rises evenly.
    """
    out: Array = heights[..., 1].mean(axis=-1)
    return out
