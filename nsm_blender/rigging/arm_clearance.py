# SPDX-License-Identifier: GPL-3.0-or-later
"""Arms out of a rig's own hips, trunk and thighs: each arm turns about its shoulder by a smooth displacement curve.

The model's arms hang beside a body as slim as the model's. Gauss-Newton over the control points of B-splines (Lee and
Shin 1999), as in the whole-body solver, weighs what is inside against closeness to the motion and smoothness.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..cleanup.displacement import Descent, Displacement, NormalEquations, descend
from ..motion.filters import highest_around, runs
from ..motion.rotations import Array, conjugate, from_exponential_map, multiply, rotate
from ..motion.viterbi import viterbi
from ..stepwise import Stepwise, by_frames
from .rest_pose import SIDES, RestPose
from .rig_body import DIRECTIONS, RigBody


@dataclass(frozen=True)
class _Weights:
    """What counts in the sum of squares, in a frame and at the model's size."""

    turn: float = 0.08
    """Of an arm that turns, per rad^2: it moves a wrist by half a meter a radian, and a wrist is 0.3 per m^2 in the
    whole-body solver."""
    held: float = 50.0
    """Factor on that for a hand that holds something."""
    smooth: float = 4e-4
    """Of an acceleration of 1 rad/s^2, in proportion to what a turn costs: the whole-body solver's."""
    firm: float = 600.0
    """Of a point inside the body, per m^2: the whole-body solver's."""
    still: float = 600.0
    """Of the control points at both ends of a run, where the displacement comes from nothing and goes to nothing."""


_WEIGHTS = _Weights()
_TOUCH = 0.004
"""Meters of depth, at the model's size, that are left: a hand that lies on a thigh touches it."""
_MARGIN = 0.8
"""Seconds before and after a touch in which an arm gives way to it."""
_EVERY = 0.03
"""Seconds between two frames that are looked at: a hand at 2 m/s moves its own width meanwhile."""
_DESCENT = Descent(steps=24, damping=_WEIGHTS.turn, converged=0.01, farthest=0.2)
"""An arm that turns by more than 0.2 radians in one step meets other flesh."""
_FEW = 4.0
"""Points that count in full, of all of an arm that are inside at a frame."""
_LEADS = 0.35
"""Cosine between a plane's direction and the side on which an arm leaves the body, from which the plane leads there."""
_FAR = 0.5
"""Meters of a way out beyond which no more is told apart."""
_CHANGE = 0.1
"""Cost, in m^2 of a way out at one frame that is looked at, of leaving the body on another side than before."""
_EPISODE = 0.4
"""Seconds without a touch after which an arm may leave the body on another side for nothing."""
_PIECE = 400
"""Frames that are looked at in one piece of work: of all corners of an arm, in all flesh, 30 ms."""
_WAYS = ((0.0, -1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
"""Sides on which an arm can leave the body besides outward, in the hips' frame: to the front, to the back, upward."""


class ArmClearance:
    """The arms of a rig with a body. scale: the rig's leg length over the model's."""

    def __init__(self, body: RigBody, pose: RestPose, scale: float) -> None:
        self._body, self._pose, self._scale = body, pose, scale
        self._chains = {
            side: [bone for bone in range(len(pose.bones)) if self._hangs_on(bone, pose.bone_of[side + "Arm"])]
            for side, _ in SIDES
            if side in body.arms
        }

    def keeping_clear(self, root: Array, turns: Array, fps: float, held: Array | None) -> Stepwise[None]:
        """Turn the arms in `turns` (T, B, 4), in place, so that they are not in the body, in pieces of work. root:
        (T, 3) of the first bone. held: (T, 2) 0 to 1, whether the left and the right hand hold something."""
        if not self._body.trunk:
            return
        places = self._pose.skeleton.positions(root, turns)
        for number, (side, sign) in enumerate(SIDES):
            if side not in self._chains:
                continue
            grip = np.zeros(len(turns)) if held is None else np.clip(held[:, number], 0.0, 1.0)
            hips, upper = (self._pose.bone_of[joint] for joint in ("Hips", side + "Arm"))
            shoulder, ways = places[:, upper], np.stack(([sign, 0.0, 0.0], *_WAYS))
            yield
            posed = yield from by_frames(self._body.arms[side].posed, places, turns, size=_PIECE)
            away = (posed - shoulder[:, None]) / self._scale
            yield
            trunk = [
                _Placed(
                    (places[:, flesh.bone] - shoulder) / self._scale, turns[:, flesh.bone], flesh.heights / self._scale
                )
                for flesh in self._body.trunk
            ]
            turned = rotate(np.broadcast_to(turns[:, hips, None], (len(turns), len(ways), 4)), ways[None])
            yield
            arm = _Arm(away, trunk, turned, grip, fps)
            yield from arm.choosing_ways()
            turn = from_exponential_map((yield from arm.displacing()))
            for bone in self._chains[side]:
                turns[:, bone] = multiply(turn, turns[:, bone])

    def _hangs_on(self, bone: int, above: int) -> bool:
        while bone >= 0 and bone != above:
            bone = self._pose.skeleton.parents[bone]
        return bone == above


@dataclass(frozen=True, eq=False)
class _Placed:
    """Flesh over T frames, at the model's size. place: (T, 3) of its bone from the shoulder. turn: (T, 4) from the
    T-pose. heights: (K,) as of `Flesh`."""

    place: Array
    turn: Array
    heights: Array


class _Arm:
    """One arm over T frames, at the model's size.

    away: (T, P, 3) its points from the shoulder. ways: (T, W, 3) unit vectors of the sides on which it can leave the
    body. grip: (T,) 0 to 1, whether the hand holds something.
    """

    def __init__(self, away: Array, trunk: list[_Placed], ways: Array, grip: Array, fps: float) -> None:
        self._away, self._trunk, self._ways = away, trunk, ways
        self._fps, self._every = fps, max(round(_EVERY * fps), 1)
        self._close = _WEIGHTS.turn * (1 + _WEIGHTS.held * grip)
        self._way = ways[:, 0].copy()
        self._touched = np.arange(0, len(away), self._every)

    def displacing(self) -> Stepwise[Array]:
        """Rotation vectors (T, 3) in the world by which the arm turns; 0 where nothing is near. In pieces of work."""
        count = len(self._away)
        out, needs = np.zeros((count, 3)), np.zeros(count, dtype=bool)
        needs[self._touched] = True
        for start, stop in runs(highest_around(needs, round(_MARGIN * self._fps))):
            out[start:stop] = yield from self._solving(np.arange(start, stop), stop < count)
        return out

    def _solving(self, frames: Array, goes: bool) -> Stepwise[Array]:
        size = _PIECE * self._every

        def squares(x: Array) -> Stepwise[tuple[float, Array, Array]]:
            parts = []
            for start in range(0, len(frames), size):
                yield
                parts.append(self._squares(x[start : start + size], frames[start : start + size]))
            costs, matrices, vectors = zip(*parts, strict=True)
            return sum(costs), np.concatenate(matrices), np.concatenate(vectors)

        curves = Displacement(len(frames), 3)
        yield
        return (yield from descend(curves, self._own(curves, frames, goes), squares, _DESCENT))

    def _own(self, curves: Displacement, frames: Array, goes: bool) -> NormalEquations:
        """What displacements cost by themselves. goes: whether the motion goes on after the frames."""
        out = NormalEquations(curves)
        close = np.repeat(self._close[frames, None], 3, axis=1)
        matrices = np.zeros((len(frames), 3, 3))
        matrices[:, range(3), range(3)] = close
        out.add(matrices, np.zeros(close.shape))
        out.add_accelerations(_WEIGHTS.smooth * _WEIGHTS.turn * self._fps**4 * np.ones(close.shape))
        still = np.zeros(curves.control.shape)
        still[:3] = _WEIGHTS.still * (frames[0] > 0)
        still[-3:] = _WEIGHTS.still * goes
        out.add_control(still, np.zeros_like(still))
        return out

    def _squares(self, x: Array, frames: Array) -> tuple[float, Array, Array]:
        """Cost of points inside the body under rotation vectors x (F, 3), and its normal equations: matrices
        (F, 3, 3) and vectors (F, 3)."""
        looked = np.arange(0, len(frames), self._every)
        turn = from_exponential_map(x[looked])
        own = self._away[frames[looked]]
        away = rotate(np.broadcast_to(turn[:, None], (*own.shape[:2], 4)), own)
        moment, point, depth, normal = self._inside(away, frames[looked])
        along = np.cross(away[moment, point], normal)
        many = np.bincount(moment, minlength=len(looked))[moment]
        weight = _WEIGHTS.firm * self._every * np.minimum(_FEW / np.maximum(many, 1), 1.0)
        off = depth - _TOUCH
        matrices, vectors = np.zeros((len(frames), 3, 3)), np.zeros((len(frames), 3))
        at = looked[moment]
        np.add.at(matrices, at, weight[:, None, None] * along[:, :, None] * along[:, None])
        wanted = np.einsum("nd,nd->n", along, x[at]) + off
        np.add.at(vectors, at, (weight * wanted)[:, None] * along)
        return float(np.sum(weight * off * off)), matrices, vectors

    def _inside(self, away: Array, frames: Array) -> tuple[Array, Array, Array, Array]:
        """Points (F, P, 3) from the shoulder that are in some flesh at frames (F,): numbers (N,) of frame and point,
        meters (N,) of depth along the frame's way and unit vectors (N, 3) of the way out."""
        found = []
        for (moment, point, room), flesh in zip(self._rooms(away, frames), self._trunk, strict=True):
            turn = flesh.turn
            room = np.where(self._leads(turn[frames], self._way[frames])[moment], room, np.inf)
            nearest = room.argmin(axis=1)
            depth = room[np.arange(len(room)), nearest]
            kept = depth > _TOUCH
            normal = rotate(turn[frames[moment[kept]]], DIRECTIONS[nearest[kept]])
            found.append((moment[kept], point[kept], depth[kept], normal))
        moment, point, depth, normal = (np.concatenate(columns) for columns in zip(*found, strict=True))
        return moment, point, depth, normal

    def _rooms(self, away: Array, frames: Array) -> Iterator[tuple[Array, Array, Array]]:
        """For each flesh, the points (F, P, 3) in it: numbers (N,) of frame and point, meters (N, K) to its planes."""
        for flesh in self._trunk:
            back = np.broadcast_to(conjugate(flesh.turn[frames])[:, None], (*away.shape[:2], 4))
            local = rotate(back, away - flesh.place[frames][:, None])
            moment, point = np.nonzero(((local < flesh.heights[:3]) & (local > -flesh.heights[3:6])).all(axis=2))
            room: Array = flesh.heights - local[moment, point] @ DIRECTIONS.T
            deep = room.min(axis=1) > _TOUCH
            yield moment[deep], point[deep], room[deep]

    @staticmethod
    def _leads(turn: Array, way: Array) -> Array:
        """Whether (F, K) planes of flesh that is turned by (F, 4) lead out along ways (F, 3)."""
        return np.asarray(rotate(conjugate(turn), way) @ DIRECTIONS.T > _LEADS)

    def choosing_ways(self) -> Stepwise[None]:
        """Choose for each frame the side on which the arm leaves the body: the cheapest over the frames that follow
        each other, so that an arm that swings past the hips does not leave them behind and then before. In pieces of
        work, before `displacing`."""
        every = self._touched
        costs = yield from by_frames(self._costs, every, size=_PIECE)
        touched = np.flatnonzero(costs.any(axis=1))
        self._touched = every[touched]
        changes = _CHANGE * (1 - np.eye(costs.shape[1]))
        gap = round(_EPISODE * self._fps / self._every)
        for rows in np.split(touched, np.flatnonzero(np.diff(touched) > gap) + 1):
            if len(rows):
                yield
                chosen = viterbi(costs[rows] ** 2, changes)
                near = slice(max(every[rows[0]] - gap, 0), every[rows[-1]] + gap + 1)
                frames = np.arange(len(self._way))[near]
                between = (every[rows][1:] + every[rows][:-1]) / 2
                number = chosen[np.searchsorted(between, frames)]
                self._way[near] = self._ways[frames, number]

    def _costs(self, frames: Array) -> Array:
        """Meters (F, W) out of the body along each way at frames (F,)."""
        costs = np.zeros((len(frames), self._ways.shape[1]))
        for (moment, _, room), flesh in zip(self._rooms(self._away[frames], frames), self._trunk, strict=True):
            for number in range(costs.shape[1]):
                leads = self._leads(flesh.turn[frames], self._ways[frames, number])
                out = np.where(leads[moment], room, np.inf).min(axis=1)
                np.maximum.at(costs[:, number], moment, np.minimum(out, _FAR))
        return costs
