# SPDX-License-Identifier: GPL-3.0-or-later
"""A leaf that turns and a body that goes through: it does not swing through the body, nor the body walk through it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.colliders import QUATERNION, Collider
from ..geometry.roles import Door
from ..geometry.scene_state import to_world
from ..motion.rotations import Array, normalize, rotate

LEAVES = 0.04
"""Metres that a leaf that swings keeps off the body."""
THICK = 0.025
"""Metres from a leaf's middle plane to its faces, about."""


@dataclass(frozen=True, eq=False)
class Doorway:
    """A door from above. hinge: (2,). along: (2,) unit vector to the free edge of the shut leaf. swings: (2,) unit
    vector to where it opens. width: metres. turned: radians by which it stands open."""

    hinge: Array
    along: Array
    swings: Array
    width: float
    turned: float

    def flat(self, points: Array) -> Array:
        """Points (..., 2) of the ground in metres from the hinge along the shut leaf and towards where it opens."""
        out: Array = (points - self.hinge) @ np.stack((self.along, self.swings), axis=1)
        return out

    def room(self, points: Array, radii: Array) -> float:
        """Radians that the leaf may turn on before it is LEAVES from what it swings towards: points (P, 2) of the
        ground with radii (P,). Infinite where there is nothing."""
        angle, half = self._seen(points, radii + LEAVES)
        free = np.where((angle > 0) & (half > 0), angle - half, np.inf)
        return float(free.min())

    def way(self, points: Array, radii: Array) -> float:
        """Radians that the leaf has to turn on to be LEAVES from what comes from behind it, 0 where it has not to."""
        angle, half = self._seen(points, radii + LEAVES)
        return float(np.where((half > 0) & (np.abs(angle) < half), angle + half, 0.0).max())

    def _seen(self, points: Array, radii: Array) -> tuple[Array, Array]:
        """Angles (P,) from the leaf to points, as seen from the hinge, and half of what they take up; 0 beyond it."""
        flat = self.flat(points)
        return np.arctan2(flat[..., 1], flat[..., 0]) - self.turned, self._taken(np.linalg.norm(flat, axis=-1), radii)

    def _taken(self, away: Array, radii: Array) -> Array:
        """Radians to either side of points, `away` metres from the hinge, in which the leaf is nearer to them than
        their radii, as far as there is a side: 0 beyond the free edge, and at the hinge."""
        near = radii + THICK
        beside = np.arcsin(np.clip(near / np.maximum(away, 1e-6), 0, 1))
        # Where the leaf is too short to be met square on, its edge is met.
        edge = (away**2 + self.width**2 - near**2) / np.maximum(2 * away * self.width, 1e-6)
        out = np.where(away * np.cos(beside) < self.width, beside, np.arccos(np.clip(edge, -1, 1)))
        return np.where((away > near) & (away < self.width + near), out, 0.0)


def doorway(door: Collider, pose: Array) -> Doorway:
    """A door whose leaf stands at a pose (7,)."""
    handles, shut = door.handles, np.asarray(door.poses[0], dtype=float)
    assert isinstance(handles, Door)
    hinge, handle = np.array(handles.hinge), np.array(handles.handle)
    along, across = handle - hinge, np.cross(np.array(handles.axis), handle - hinge) * np.sign(handles.angle)
    first = normalize(rotate(shut[QUATERNION], along)[:2])
    towards = normalize(rotate(shut[QUATERNION], across)[:2])
    now = normalize(rotate(pose[QUATERNION], along)[:2])
    turned = float(np.arctan2(now @ towards, now @ first))
    return Doorway(to_world(hinge, pose)[:2], first, towards, handles.width, turned)
