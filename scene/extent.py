# SPDX-License-Identifier: GPL-3.0-or-later
"""How far from the world's origin a shot may lie."""

from __future__ import annotations

import numpy as np

from ..nsm_blender.errors import ShotError
from ..nsm_blender.motion.rotations import Array

FARTHEST = 10_000.0
"""Meters from the world's origin: farther out Blender's places, float32, are coarser than the millimeter to which a
bake is measured."""


def check(places: Array, said: str) -> None:
    """Raise ShotError for places (..., 3) in world meters that are no numbers or too far away. said: what is there."""
    if not np.isfinite(places).all():
        raise ShotError(f"{said} has a location that is not a finite number; clear its transform.")
    if np.abs(places).max(initial=0.0) > FARTHEST:
        raise ShotError(
            f"{said} reaches beyond {FARTHEST / 1000:.0f} km from the world's origin, where Blender's places are too "
            "coarse for a bake; move it nearer."
        )
