# SPDX-License-Identifier: GPL-3.0-or-later
"""A leaf that turns and a body that goes through: it does not swing through the body, nor the body walk through it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.colliders import QUATERNION, Collider, Placed
from ..geometry.roles import Door
from ..geometry.scene_state import to_world
from ..motion.rotations import Array, normalize, rotate

BESIDE = 0.3
"""Distance in meters that the root keeps off the leaf's middle plane."""
COMES = 0.3
"""Radians from which on the root keeps the whole of that: before, the hand would be torn off the handle."""
LANE = 0.3
"""Distance in meters that the root keeps off the posts, as far as the door is wide enough."""
THRESHOLD = 0.25
"""Distance in meters from the leaf's plane within which it does; farther off it keeps less, at 45 degrees."""
CLEAR = 0.15
"""Distance in meters from the lane's edge from which a root would go into a post, and over which it is held off."""
WALL = 0.42
"""Distance in meters that the root keeps before a post, the wall, or a leaf that comes: legs swing."""
SHOULDERS = 0.3
"""Distance in meters that the root keeps off what stands beside the door, past the free edge: arms need room."""
LEAVES = 0.04
"""Distance in meters that a leaf that swings keeps off the body."""
THICK = 0.025
"""Half the thickness in meters of a leaf."""
_BESIDE, _STEP = 1.0, 0.05
"""Reach in meters beside a leaf's free edge in which things are looked for, and the steps of that."""
_BEFORE, _ROWS, _HEIGHTS = 0.3, 0.15, (0.3, 1.0)
"""Distance in meters before the leaf's plane, past the frame, from which they are looked for, the steps of that, and
the heights above the floor."""


@dataclass(frozen=True, eq=False)
class Doorway:
    """A door from above. hinge: (2,). along: (2,) unit vector to the free edge of the shut leaf. swings: (2,) unit
    vector to where it opens. width: meters. turned: radians by which it stands open."""

    hinge: Array
    along: Array
    swings: Array
    width: float
    turned: float

    def flat(self, points: Array) -> Array:
        """Points (..., 2) of the ground in meters from the hinge along the shut leaf and toward where it opens."""
        out: Array = (points - self.hinge) @ np.stack((self.along, self.swings), axis=1)
        return out

    def world(self, shifts: Array) -> Array:
        """The opposite, for vectors (..., 2)."""
        out: Array = shifts @ np.stack((self.along, self.swings))
        return out

    def room(self, points: Array, radii: Array) -> float:
        """Radians that the leaf may turn on before it is LEAVES from what it swings toward: points (P, 2) of the
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
        """Radians to either side of points, `away` meters from the hinge, in which the leaf is nearer to them than
        their radii, as far as there is a side: 0 beyond the free edge, and at the hinge."""
        near = radii + THICK
        beside = np.arcsin(np.clip(near / np.maximum(away, 1e-6), 0, 1))
        # Where the leaf is too short to be met square on, its edge is met.
        edge = (away**2 + self.width**2 - near**2) / np.maximum(2 * away * self.width, 1e-6)
        out = np.where(away * np.cos(beside) < self.width, beside, np.arccos(np.clip(edge, -1, 1)))
        return np.where((away > near) & (away < self.width + near), out, 0.0)

    def beside(self, things: Placed, floor: float) -> float:
        """Meters from the hinge along the shut leaf up to which the root has room before what stands beside the door on
        the side to which it swings. things: what stands there, without leaf and frame."""
        past, off = np.meshgrid(np.arange(0.0, _BESIDE, _STEP), np.arange(_BEFORE, self.width, _ROWS))
        flat = np.stack((self.width + past, off), axis=-1)
        ground = self.hinge + self.world(flat)
        places = np.concatenate([np.insert(ground.reshape(-1, 2), 2, floor + z, axis=1) for z in _HEIGHTS])
        free = (things.distance(places) > 0).reshape(len(_HEIGHTS), *past.shape).all(axis=(0, 1))
        return np.inf if free.all() else float(self.width + past[0, free.argmin()]) - _STEP - SHOULDERS

    def round_leaf(self, points: Array, room: float = np.inf) -> Array:
        """How far (N, 2) places (N, 2) of the root are to be moved that are too near the leaf: those toward which it
        swings out of its reach round the free edge, the others straight off it. room: meters along the shut leaf up to
        which there is any; where that ends, one steps back."""
        flat = self.flat(points)
        leaf = np.array([np.cos(self.turned), np.sin(self.turned)])
        side = np.array([-leaf[1], leaf[0]])
        out, off = flat @ leaf, flat @ side
        far = np.linalg.norm(flat, axis=-1)
        # A root where the leaf comes is led aside in time; far from it, or beyond a right angle, it need not be.
        swept = (off > 0) & (flat[..., 0] > 0)
        reach = self.width + WALL
        along = np.minimum(flat[..., 0] * np.maximum(reach / np.maximum(far, 1e-6), 1), max(room, 0.0))
        round_edge = np.stack((along, np.sqrt(np.maximum(reach**2 - along**2, 0))), axis=-1) - flat
        near = np.clip((2.5 * BESIDE - off) / BESIDE, 0, 1) * min(self.turned / COMES, 1.0) * (swept & (far < reach))
        outward = near[..., None] * round_edge
        lack = np.maximum(BESIDE - np.abs(off), 0) * ((out > 0) & (out < self.width + BESIDE / 2))
        away = np.where(off > 0, lack, -lack)[..., None] * side
        return self.world(np.where(swept[..., None], outward, away))

    def in_lane(self, points: Array) -> Array:
        """How far (N, 2) places (N, 2) of the root are to be moved along the shut leaf to keep between the posts."""
        flat = self.flat(points)
        free = min(LANE, 0.48 * self.width)
        # Alongside there is wall: the lane widens away from the threshold.
        widens = np.maximum(np.abs(flat[..., 1]) - THRESHOLD, 0)
        lack = np.clip(flat[..., 0], free - widens, self.width - free + widens) - flat[..., 0]
        lack = np.where(np.abs(flat[..., 1]) < THRESHOLD + free, lack, 0)
        return self.world(np.stack((lack, np.zeros_like(lack)), axis=-1))

    def off_wall(self, points: Array) -> Array:
        """How far (N, 2) places (N, 2) of the root before a post or the wall beside it are to be moved back from it."""
        along, off = self.flat(points).T
        share = np.clip((np.maximum(along - self.width, -along) + LANE - CLEAR) / CLEAR, 0, 1)
        lack = share * np.maximum(WALL - np.abs(off), 0) * np.where(off < 0, -1, 1)
        return self.world(np.stack((np.zeros_like(lack), lack), axis=-1))


def doorway(door: Collider, pose: Array) -> Doorway:
    """A door whose leaf stands at a pose (7,)."""
    handles, shut = door.handles, np.asarray(door.poses[0], dtype=float)
    assert isinstance(handles, Door)
    hinge, handle = np.array(handles.hinge), np.array(handles.handle)
    along, across = handle - hinge, np.cross(np.array(handles.axis), handle - hinge) * np.sign(handles.angle)
    first = normalize(rotate(shut[QUATERNION], along)[:2])
    toward = normalize(rotate(shut[QUATERNION], across)[:2])
    now = normalize(rotate(pose[QUATERNION], along)[:2])
    turned = float(np.arctan2(now @ toward, now @ first))
    return Doorway(to_world(hinge, pose)[:2], first, toward, handles.width, turned)
