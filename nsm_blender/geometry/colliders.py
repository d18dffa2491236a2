# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders: things in the scene as sets of cuboids that move with them (NSM 4.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..motion.rotations import Array
from .roles import Handles, from_data, to_data

STILL = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])


@dataclass(frozen=True, eq=False)
class Cuboids:
    """N cuboids along the axes of one frame. centre, half: (N, 3) float64 metres, half being half the edge lengths."""

    centre: Array
    half: Array


@dataclass(frozen=True, eq=False)
class Collider:
    """One thing in the scene.

    The collider's frame is the object's, with its scale (and shear) applied to the cuboids: metres, rigid.
    poses: (1, 7) or (F, 7), one per scene frame: place x, y, z and quaternion w, x, y, z of the frame in the world.
    role: one of roles.ROLES. handles: what belongs to the role, in the collider's frame; None for an obstacle.
    """

    name: str
    cuboids: Cuboids
    poses: Array = field(default_factory=lambda: STILL)
    role: str = "obstacle"
    handles: Handles | None = None

    def to_data(self) -> dict[str, Any]:
        """The collider as JSON's plain data."""
        return {
            "name": self.name,
            "centre": np.asarray(self.cuboids.centre).tolist(),
            "half": np.asarray(self.cuboids.half).tolist(),
            "poses": np.asarray(self.poses).tolist(),
            "role": self.role,
            "handles": to_data(self.handles),
        }

    @staticmethod
    def from_data(data: dict[str, Any]) -> Collider:
        """The collider again. Raises KeyError, TypeError or ValueError when the data are not a collider's."""
        return Collider(
            data["name"],
            Cuboids(
                np.array(data["centre"], dtype=float).reshape(-1, 3), np.array(data["half"], dtype=float).reshape(-1, 3)
            ),
            np.array(data["poses"], dtype=float).reshape(-1, 7),
            data["role"],
            from_data(data["role"], data["handles"]),
        )
