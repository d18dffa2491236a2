# SPDX-License-Identifier: GPL-3.0-or-later
"""World places of frames with their tangents and exact gradients, through the integrated root.

Constraints in the world depend on every root velocity and turn before them: tangents are cumulative sums forward in
time, and gradients the same sums backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..models.manifold import FPS, FRAME
from ..motion.root import to_local, to_world
from ..motion.rotations import Array
from .frames import integrate_root, joint_places


class Kinematics:
    """A motion's frames at a point of a solve.

    frames: (T, FRAME.size) in physical units. start: the first frame's root x, y, z and facing angle.
    """

    def __init__(self, frames: Array, start: tuple[float, float, float, float]) -> None:
        self.frames, self.start = frames, start
        self.places = joint_places(frames)

    @cached_property
    def root(self) -> Array:
        """(T, 4) x, y, z, facing angle, float64."""
        return integrate_root(self.frames, self.start)

    @cached_property
    def _steps(self) -> Array:
        """Root velocities (T, 2) turned into the world, m/s."""
        return to_world(self.frames[:, FRAME.root_velocity].astype(np.float64), self.root[:, 3])

    def world(self, joints: Sequence[int]) -> Array:
        """World places (T, n, 3) of n joints, float64."""
        out = self._turned(self.places[:, joints].astype(np.float64))
        return out + self.root[:, None, :3]

    def world_tangent(self, change: Array, joints: Sequence[int]) -> Array:
        """Change (T, n, 3) of `world`, to first order, for a change (T, FRAME.size) of the frames."""
        turn, path = self.root_tangent(change)
        out = self._turned(joint_places(change)[:, joints].astype(np.float64))
        arm = self._turned(self.places[:, joints].astype(np.float64))
        out[..., :2] += quarter_turn(arm[..., :2]) * turn[:, None, None] + path[:, None]
        return out

    def world_gradient(self, gradient: Array, joints: Sequence[int], out: Array) -> None:
        """Add to `out` (T, FRAME.size) the gradient of a cost with the gradient (T, n, 3) w.r.t. `world`."""
        local = gradient.astype(np.float64)
        arm = self._turned(self.places[:, joints].astype(np.float64))
        turn = (gradient[..., :2] * quarter_turn(arm[..., :2])).sum((1, 2))
        local[..., :2] = to_local(local[..., :2], self.root[:, None, 3])
        joint_places(out)[:, joints] += local
        self.root_gradient(turn, gradient[..., :2].sum(1), out)

    def root_tangent(self, change: Array) -> tuple[Array, Array]:
        """Changes of the facing angle (T,) and of the root's place (T, 2) for a `change` (T, FRAME.size) of the
        frames."""
        turn = _before(change[:, FRAME.root_turn][:, 0]) / FPS
        velocity = to_world(change[:, FRAME.root_velocity].astype(np.float64), self.root[:, 3])
        return turn, _before(velocity + quarter_turn(self._steps) * turn[:, None]) / FPS

    def root_gradient(self, turn: Array, path: Array, out: Array) -> None:
        """Add to `out` the gradient of a cost with the gradients `turn` (T,) and `path` (T, 2) w.r.t. the root."""
        later = _after(path) / FPS
        out[:, FRAME.root_velocity] += to_local(later, self.root[:, 3])
        turn = turn + (later * quarter_turn(self._steps)).sum(1)
        out[:, FRAME.root_turn.start] += _after(turn) / FPS

    def _turned(self, places: Array) -> Array:
        """Vectors (T, n, 3) of the root's frame turned into the world, in place."""
        places[..., :2] = to_world(places[..., :2], self.root[:, None, 3])
        return places


def quarter_turn(v: Array) -> Array:
    """Ground-plane vectors [..., 2] turned by +90 degrees, the derivative of turning them."""
    return np.stack((-v[..., 1], v[..., 0]), axis=-1)


def _before(x: Array) -> Array:
    """Sum of all frames before each: (T, ...), zero first, float64."""
    out = np.zeros(x.shape)
    np.cumsum(x[:-1], axis=0, dtype=np.float64, out=out[1:])
    return out


def _after(x: Array) -> Array:
    """Sum of all frames after each: (T, ...), zero last; the transpose of `_before`."""
    out = np.zeros(x.shape)
    out[:-1] = np.cumsum(x[:0:-1], axis=0, dtype=np.float64)[::-1]
    return out
