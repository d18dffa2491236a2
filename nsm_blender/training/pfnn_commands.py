# SPDX-License-Identifier: GPL-3.0-or-later
"""What would have been asked of recorded performers: the inputs by which the rollout commands (PFNN 6), in training.

The future trajectory of a recorded frame is what the performer did. That of a rollout is mostly what an animator asks
for, at once and without the sway of a step. A network that has seen only the first follows a sudden command as nobody
moves, so it is also trained on commands that lead to the recorded motion: each asks for what the performer does LEAD
seconds later.
"""

from __future__ import annotations

import numpy as np

from ..models.pfnn import CURRENT, FPS, FUTURE, INPUT
from ..motion.filters import gaussian
from ..motion.gait import GAITS
from ..motion.root import direction, to_local
from ..motion.rotations import Array
from ..planning.trajectory import AHEAD, WALK_FEEDBACK
from ..rollout.pfnn import blend_weights

LEAD = 0.3
"""Seconds that a performer takes from a command to doing what it asks for, about."""
SWAY = 0.15
"""Standard deviation in seconds of the filter that takes the sway of steps out of what is asked for."""
BIASES = ((0.5, 2.0), (2.0, 5.0), (5.0, 10.0))
"""Responsiveness tau_v and tau_d at which shots are baked (table 2): one is drawn for each frame."""
SHARE = 0.5
"""Share of the frames whose future is commanded; the others keep the recorded one, as predictions are like it."""
SPAN = 60
"""Frames that are commanded alike, or not at all."""
_STEERED = 0.3
"""m/s below which a way tells nothing of the facing."""
_PLACES = 2 * (FUTURE - 1)
SIZE = 2 * _PLACES + len(GAITS)
"""Numbers of a command: places and directions at the future samples, and the gait."""
WAYS = 2
"""Commands of each frame: by a velocity, and along a path."""


def asked(root: Array, gait: Array, frames: Array) -> Array:
    """Commands (N, WAYS, SIZE) for a performer at `frames` (N,), in the root frames.

    root: (T, 4) x, y, z, facing angle at 60 fps. gait: (T, 5) weights.
    """
    count = len(root)
    later = np.minimum(frames + round(LEAD * FPS), count - 1)
    way = gaussian(root[:, :2], SWAY * FPS)
    velocity = np.gradient(way, axis=0) * FPS
    facing = root[:, 3]
    wanted = velocity[later] + WALK_FEEDBACK * (velocity[later] - velocity[frames])
    by_velocity = _command(
        wanted[:, None] * AHEAD[:, None],
        np.repeat(facing[later, None], len(AHEAD), axis=1),
        facing[frames],
        gait[later],
    )
    length = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))))
    speed = np.linalg.norm(velocity, axis=1)
    pace = np.maximum(speed[later] + WALK_FEEDBACK * (speed[later] - speed[frames]), 0)
    reached = np.interp(
        length[frames, None] + pace[:, None] * AHEAD, length + np.arange(count) * 1e-9, np.arange(count)
    )
    at = np.clip(reached, frames[:, None], count - 1)
    below = np.minimum(at.astype(int), count - 2)
    share = (at - below)[..., None]
    places = (1 - share) * way[below] + share * way[below + 1]
    turned = (1 - share[..., 0]) * facing[below] + share[..., 0] * facing[below + 1]
    turned = np.where(pace[:, None] < _STEERED, facing[later, None], turned)
    on_path = _command(places - root[frames, None, :2], turned, facing[frames], gait[later])
    return np.stack((by_velocity, on_path), axis=1).astype(np.float32)


def _command(offsets: Array, facings: Array, angle: Array, gait: Array) -> Array:
    """Commands (N, SIZE) of offsets (N, 5, 2) and facings (N, 5) in the world, for roots that face `angle` (N,)."""
    places = to_local(offsets, angle[:, None])
    ahead = direction(facings - angle[:, None])
    return np.concatenate((places.reshape(len(angle), -1), ahead.reshape(len(angle), -1), gait), axis=1)


def command(x: Array, commands: Array, rng: np.random.Generator) -> None:
    """Put commands (N, WAYS, SIZE) into inputs x (N, n) of a part of the frames, in place, as the rollout blends them
    with what is predicted (eq. 9)."""
    span = np.arange(len(x)) // SPAN
    count = len(x) // SPAN + 1
    chosen = np.flatnonzero((rng.random(count) < SHARE)[span])
    wanted = commands[chosen, rng.integers(0, WAYS, count)[span[chosen]]]
    bias = rng.integers(0, len(BIASES), count)[span[chosen]]
    position, ahead = (np.array([blend_weights(one[k]) for one in BIASES])[bias][..., None] for k in (0, 1))
    places, directions = (
        np.arange(part.start, part.stop).reshape(-1, 2)[CURRENT + 1 :].ravel()
        for part in (INPUT.trajectory_position, INPUT.trajectory_direction)
    )

    def blended(features: Array, values: Array, share: Array) -> Array:
        recorded = x[np.ix_(chosen, features)].reshape(len(chosen), FUTURE - 1, 2)
        return (1 - share) * recorded + share * values.reshape(recorded.shape)

    x[np.ix_(chosen, places)] = blended(places, wanted[:, :_PLACES], position).reshape(len(chosen), _PLACES)
    turned = blended(directions, wanted[:, _PLACES : 2 * _PLACES], ahead)
    turned /= np.maximum(np.linalg.norm(turned, axis=-1, keepdims=True), 1e-6)
    x[np.ix_(chosen, directions)] = turned.reshape(len(chosen), _PLACES)
    gaits = np.arange(INPUT.gait.start, INPUT.gait.stop).reshape(-1, len(GAITS))[CURRENT:].ravel()
    x[np.ix_(chosen, gaits)] = np.tile(wanted[:, 2 * _PLACES :], FUTURE)
