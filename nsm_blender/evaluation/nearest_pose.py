# SPDX-License-Identifier: GPL-3.0-or-later
"""How near the poses of the PFNN's walks are to recorded ones, beside those of held-out performers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np

from ..errors import UserError
from ..models.pfnn import FPS
from ..motion.clip_file import load_clip
from ..motion.motion import Motion
from ..motion.root import root_track
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..naturalness.metrics import settled_speed
from ..naturalness.recorded import everyday_walks
from ..rollout.nsm_features import points_to_root

WALKING = (0.9, 1.8)
"""Speeds in m/s of the root between which people walk, as they and the network are compared."""
_EVERY = 6
"""Frames between two poses that are compared: neighbors differ by less than performers do."""
_AT_ONCE = 256
"""Poses that are compared with all recorded ones at once, for which 64 MB are enough."""

Figures = dict[str, float]
Log = Callable[[str], None]


def walking_poses(positions: Array) -> Array:
    """(N, J, 3) joints in the frames of the roots, where these walk, of motions of joints at (T, J, 3) at 60 fps."""
    if len(positions) < FPS:
        return np.zeros((0, *positions.shape[1:]))
    root = root_track(positions.astype(float), FPS)
    speed = settled_speed(root, FPS)
    walks = np.flatnonzero((speed > WALKING[0]) & (speed < WALKING[1]))[::_EVERY]
    return points_to_root(positions[walks].astype(float), root[walks])


def nearest(poses: Array, known: Array) -> Array:
    """Distance (N,) in meters, root mean square over joints, of poses (N, J, 3) from the nearest of (M, J, 3)."""
    flat, others = poses.reshape(len(poses), -1), known.reshape(len(known), -1)
    squares, out = (others**2).sum(axis=1), np.empty(len(flat))
    for start in range(0, len(flat), _AT_ONCE):
        some = flat[start : start + _AT_ONCE]
        away = (some**2).sum(axis=1)[:, None] + squares - 2 * some @ others.T
        out[start : start + _AT_ONCE] = np.sqrt(np.maximum(away.min(axis=1), 0) / poses.shape[1])
    return out


def nearest_figures(made: Sequence[Motion], data: Path, held_out: Collection[str], log: Log) -> Figures:
    """Figures `pfnn.nearest_pose_cm.*.median`: of walks at 60 fps, and of those of the performers held out, the median
    distance of their poses from the nearest one of all other performers in a data folder. Raises UserError when the
    folder has no walks of either."""
    groups: dict[bool, list[Array]] = {True: [], False: []}
    for entry in everyday_walks(data):
        places, rotations = load_clip(entry.path).resampled(FPS).world()
        alike = MODEL_SKELETON.positions(places[:, 0], rotations)
        groups[entry.subject in held_out].append(walking_poses(alike))
    if not all(groups.values()):
        raise UserError(f"{data}: walks are needed both to compare with and of held-out performers (split.json).")
    known = np.concatenate(groups[False])
    walked = [walking_poses(one.positions) for one in made]
    out = {
        f"pfnn.nearest_pose_cm.{name}.median": 100 * float(np.median(nearest(np.concatenate(poses), known)))
        for name, poses in (("walk", walked), ("recorded", groups[True]))
    }
    for name, value in out.items():
        log(f"{name} {value:.2f}")
    return out
