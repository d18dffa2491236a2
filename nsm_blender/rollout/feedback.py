# SPDX-License-Identifier: GPL-3.0-or-later
"""What the NSM's rollout feeds back from frame to frame (NSM 4): root, future trajectory and pose.

On NumPy arrays and torch tensors alike, and for any leading axes [...]: a bake feeds back the frames of one character,
training those of a batch of sequences, by the same functions.
"""

from __future__ import annotations

from typing import Any

import array_api_compat

from ..models.nsm import DT, FUTURE, OUTPUT
from ..motion.root import angle_of, direction, to_local, to_world
from ..motion.rotations import namespace, stacked
from .nsm_features import places_from_goal

POSE_SHARE = 0.5
"""Weight of the predicted joint positions against the last ones moved by the predicted velocities."""


def piece(y: Any, name: str) -> Any:
    """A piece of an output [..., OUTPUT.size] in the shape in which it is meant, [..., *shape]."""
    return namespace(y).reshape(y[..., getattr(OUTPUT, name)], (*y.shape[:-1], *OUTPUT.shape(name)))


def next_root(y: Any, root: Any) -> Any:
    """Root [..., 4] after `root` [..., 4] by the velocity and the turn of an output, which are in its frame."""
    xy = root[..., :2] + to_world(piece(y, "root_velocity") * DT, root[..., 3])
    return stacked(xy[..., 0], xy[..., 1], root[..., 2], root[..., 3] + piece(y, "root_turn")[..., 0] * DT)


def future(y: Any, root: Any) -> tuple[Any, Any]:
    """The predicted future of the root of an output's own frame [..., 4] in the world: places [..., FUTURE, 2] and
    facing angles [..., FUTURE]."""
    angle = root[..., None, 3]
    places = to_world(piece(y, "trajectory_position"), angle) + root[..., None, :2]
    return places, angle_of(to_world(piece(y, "trajectory_direction"), angle))


def bidirectional(y: Any, places: Any, facings: Any, goal: Any, facing: Any) -> tuple[Any, Any]:
    """The future blended with the one that is predicted in the goals' frames, by lambda = w ^ (d ^ 2) (4.2), where w
    rises from now to the last sample.

    places [..., FUTURE, 2], facings [..., FUTURE]: as `future` gives them. goal [..., FUTURE, 2], facing [..., FUTURE]:
    the goal of each sample in the world. d is the distance in meters of the goal-centric prediction from the goal.
    """
    xp = namespace(y)
    aims = places_from_goal(piece(y, "goal_trajectory_position"), goal, facing)
    headings = to_world(piece(y, "goal_trajectory_direction"), facing)
    squared = xp.sum((aims - goal) ** 2, axis=-1)
    w = xp.arange(1, FUTURE + 1, dtype=squared.dtype, device=array_api_compat.device(squared)) / FUTURE
    blend = (w**squared)[..., None]
    blended = (1 - blend) * places + blend * aims
    return blended, angle_of((1 - blend) * direction(facings) + blend * headings)


def velocities(y: Any, root: Any, last_place: Any, last_facing: Any) -> Any:
    """Joint velocities [..., J, 3] in m/s in the root's frame, led to where the pose of one second ahead is predicted
    (4.2): root [..., 4] of the output's frame, last_place [..., 2] and last_facing [...] of its blended future."""
    xp = namespace(y)
    ahead = piece(y, "future_joint_position")
    flat = to_world(ahead[..., :2], (last_facing - root[..., 3])[..., None])
    flat = flat + to_local(last_place - root[..., :2], root[..., 3])[..., None, :]
    coming = xp.concat((flat, ahead[..., 2:]), axis=-1)
    return (1 - DT) * piece(y, "joint_velocity") + DT * (coming - piece(y, "joint_position"))


def next_positions(y: Any, velocity: Any, positions: Any, before: Any, root: Any) -> Any:
    """Joint positions [..., J, 3] in the frame of a root [..., 4]: the predicted ones and those of the frame before
    moved by velocities [..., J, 3], half and half. positions: [..., J, 3] of that frame, whose root is `before`."""
    xp = namespace(y)
    turn = (before[..., 3] - root[..., 3])[..., None]
    flat = to_world(positions[..., :2], turn)
    flat = flat + to_local(before[..., :2] - root[..., :2], root[..., 3])[..., None, :]
    height = positions[..., 2:] + (before[..., 2] - root[..., 2])[..., None, None]
    moved = xp.concat((flat, height), axis=-1) + velocity * DT
    return POSE_SHARE * piece(y, "joint_position") + (1 - POSE_SHARE) * moved
