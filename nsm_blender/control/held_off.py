# SPDX-License-Identifier: GPL-3.0-or-later
"""What is carried is held off the body: before the thighs and the trunk, not in them."""

from __future__ import annotations

import numpy as np

from ..geometry.colliders import PLACE, QUATERNION, Cuboids
from ..models.nsm import FPS
from ..motion.filters import gaussian, highest_around
from ..motion.root import direction
from ..motion.rotations import Array, conjugate, rotate
from ..motion.skeleton import MODEL_SKELETON
from .bodies import CAPSULES

FARTHEST = 0.34
"""Metres by which a thing is held farther from the body at most."""
TOUCH = 0.005
"""Metres of depth that are left as they are."""
_STEPS = 18
_SHARES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
_WIDEN, _SMOOTH = round(0.15 * FPS), 0.12 * FPS
"""Frames to both sides over which the farthest counts, and over which it comes and goes."""
_BONES = [bone for bone in CAPSULES if "Leg" in bone[0] or bone[0] == "Hips"]
_ENDS = np.array([MODEL_SKELETON.indices(bone[:2]) for bone in _BONES])
_RADII = np.repeat([radius for _, _, radius in _BONES], len(_SHARES))


def held_off(poses: Array, cuboids: Cuboids, places: Array, facing: Array) -> Array:
    """Metres (T, 3) to move a thing with poses (T, 7) straight ahead, so that it is out of legs and trunk.

    cuboids: of the thing, in its own frame. places: (T, J, 3) joints. facing: (T,) angles of the body.
    """
    ahead = np.concatenate((direction(facing), np.zeros((len(facing), 1))), axis=1)
    first, last = places[:, _ENDS[:, 0], None], places[:, _ENDS[:, 1], None]
    points = (first + _SHARES[:, None] * (last - first)).reshape(len(places), -1, 3) - poses[:, None, PLACE]
    back = conjugate(poses[:, QUATERNION])[:, None]
    local, way = rotate(np.broadcast_to(back, (*points.shape[:2], 4)), points), rotate(back[:, 0], ahead)
    chosen, least, left = np.zeros(len(poses)), np.full(len(poses), np.inf), np.arange(len(poses))
    for metres in np.linspace(0.0, FARTHEST, _STEPS):
        depth = _depth(local[left] - metres * way[left, None], cuboids)
        # Where no move is enough, the one that leaves the least is taken.
        better = depth < least[left]
        chosen[left[better]], least[left[better]] = metres, depth[better]
        left = left[depth > TOUCH]
    off = gaussian(highest_around(chosen, _WIDEN), _SMOOTH)
    return np.asarray(off[:, None] * ahead)


def _depth(points: Array, cuboids: Cuboids) -> Array:
    """Metres (T,) by which points (T, P, 3), in the cuboids' frame, are in them at the deepest."""
    out = np.zeros(len(points))
    for centre, half in zip(cuboids.centre, cuboids.half, strict=True):
        outside = np.linalg.norm(np.maximum(np.abs(points - centre) - half, 0), axis=-1)
        out = np.maximum(out, (_RADII - outside).max(axis=1))
    return out
