# SPDX-License-Identifier: GPL-3.0-or-later
"""Soles on the floor and hips on the seat by a rig's mesh, where its bones alone would leave them above or below.

The level on which the model's foot stands is known from its ankle and its ball; the lowest point of the rig's foot, as
it is turned, comes to that level. Toes that would go through the floor bend up.
"""

from __future__ import annotations

import numpy as np

from ..motion.easing import smoothstep
from ..motion.filters import runs
from ..motion.rotations import Array, from_axis_angle, multiply, normalize, rotate
from ..motion.skeleton import ANKLE_HEIGHT, MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS, TOE_HEIGHT, Skeleton
from .rest_pose import SIDES, RestPose
from .rig_body import RigBody, ankle_height
from .skin import SkinPoints
from .stance import Stance

_BEND = np.radians(80)
"""Largest bend of toes in radians that keeps them out of the floor."""
_FIRM = 0.8
"""Weight of a stance above which a foot is at rest."""
_LYING = 0.25
"""Quantile of a standing foot's levels that tells what it stands on: the model rises on the tips of its toes."""
_UNSTEADY = 0.04
"""Meters at the model's size by which a standing foot's level is corrected at most."""
_AHEAD_OF_BALL = 0.2
"""Share of the toes' length from which their points count: nearer to the ball a bend hardly raises them."""


class Grounding:
    """What of a rig touches the ground. A rig without flesh stands by its bones.

    part: the rig's hips and legs. numbers: of the part's joints in the whole pose. scale: the rig's leg length over the
    model's.
    """

    def __init__(self, body: RigBody, pose: RestPose, part: Skeleton, numbers: list[int], scale: float) -> None:
        self._part, self._scale = part, scale
        self._ankle = {side: numbers.index(pose.bone_of[side + "Foot"]) for side, _ in SIDES}
        self._uplegs = [numbers.index(pose.bone_of[side + "UpLeg"]) for side, _ in SIDES]
        joints = [MODEL_SKELETON.names[pose.sources[number].a] for number in numbers]
        self._toes = {side: [i for i, joint in enumerate(joints) if joint == side + "Toe"] for side, _ in SIDES}
        self._soles = {side: _renumbered(points, numbers, pose.skeleton) for side, points in body.soles.items()}
        self._seat = None if body.seat is None else _renumbered(body.seat, numbers, pose.skeleton)
        heights = [ankle_height(points, pose, side) for side, points in body.soles.items()]
        self.ankle_height = float(np.mean(heights)) if heights else pose.ankle_height
        """Height in meters of the ankles over the soles of a figure that stands."""

    @property
    def sides(self) -> frozenset[str]:
        """The sides whose soles are known."""
        return frozenset(self._soles)

    def feet(
        self,
        levels: dict[str, Array],
        root: Array,
        turns: Array,
        ankles: dict[str, Array],
        held: dict[str, Array],
    ) -> None:
        """Raise or lower ankles (T, 3), in place, so that the soles are at levels (T,); bend the toes in `turns`
        (T, P, 4), in place, where they are lower than the rest of a foot that is held (T,). root: (T, 3), any. Each
        frame is treated alone."""
        for side, points in self._soles.items():
            if side in held:
                self._bend_toes(side, points, root, turns, held[side])
            places = self._part.positions(root, turns)
            low = points.posed(places, turns)[..., 2].min(axis=1)
            ankles[side][:, 2] = levels[side] + places[:, self._ankle[side], 2] - low

    def hips_lift(self, turns: Array) -> Array:
        """Meters (T,) by which the underside of hips and thighs is lower under the hip joints than the model's, at the
        rig's size, for turns (T, P, 4)."""
        if self._seat is None:
            return np.zeros(len(turns))
        places = self._part.positions(np.zeros((len(turns), 3)), turns)
        low = self._seat.posed(places, turns)[..., 2].min(axis=1)
        deep = places[:, self._uplegs, 2].mean(axis=1) - low
        return np.asarray(deep - self._scale * SEAT_BELOW_HIP_JOINTS)

    def way(self, side: str, held: Array, off: Array) -> Array:
        """How far (T, 3) an ankle goes that is off its place by (T, 3) meters: all the way while its foot is held
        (T,), and up wherever the sole would swing lower than the model's."""
        out: Array = held[:, None] * off
        if side in self._soles:
            out[:, 2] += (1 - held) * np.maximum(off[:, 2], 0.0)
        return out

    def _bend_toes(self, side: str, points: SkinPoints, root: Array, turns: Array, held: Array) -> None:
        toes = self._toes[side]
        own = np.isin(points.owners, toes)
        if not own.any() or own.all():
            return
        places = self._part.positions(root, turns)
        posed = points.posed(places, turns)
        foot = turns[:, self._ankle[side]]
        ahead = rotate(foot, np.broadcast_to([0.0, -1.0, 0.0], (len(turns), 3)))
        ahead = normalize(ahead * [1.0, 1.0, 0.0])
        away = posed[:, own] - places[:, toes].mean(axis=1)[:, None]
        level = posed[:, ~own, 2].min(axis=1) - places[:, toes, 2].mean(axis=1)
        onward, up = np.einsum("tpi,ti->tp", away, ahead), away[..., 2]
        far = np.hypot(onward, up)
        counts = onward > _AHEAD_OF_BALL * far.max(axis=1, keepdims=True)
        needed = np.arcsin(np.clip(level[:, None] / np.maximum(far, 1e-9), -1, 1)) - np.arctan2(up, onward)
        bend = held * np.clip(np.where(counts, needed, 0.0).max(axis=1), 0.0, _BEND)
        # A turn about the axis to the left of `ahead` that is reversed lifts what lies ahead.
        across = np.stack((-ahead[:, 1], ahead[:, 0], np.zeros(len(ahead))), axis=1)
        turn = from_axis_angle(across, -bend)
        for toe in toes:
            turns[:, toe] = multiply(turn, turns[:, toe])


def feet_of(pose: RestPose) -> list[int]:
    """Indices in the pose of the bones of feet and toes."""
    joints = {side + part for side, _ in SIDES for part in ("Foot", "Toe")}
    return [i for i, source in enumerate(pose.sources) if MODEL_SKELETON.names[source.a] in joints]


def standing_levels(positions: Array, legs: Skeleton, stances: dict[str, Stance], scale: float) -> dict[str, Array]:
    """Heights (T,) in meters, at the rig's size, of what the model's feet stand on or hover over, by side: under the
    lower of ankle and ball, and steady while a foot with a stance stands. positions: (T, J, 3) of the model's legs."""
    out = {}
    for side, _ in SIDES:
        ankle, ball = (positions[:, legs.index(side + part), 2] for part in ("Foot", "Toe"))
        level = scale * np.minimum(ankle - ANKLE_HEIGHT, ball - TOE_HEIGHT)
        out[side] = _steadied(level, stances[side].held, scale) if side in stances else level
    return out


def _steadied(level: Array, held: Array, scale: float) -> Array:
    """A foot's level (T,), the same throughout each time at rest (held (T,) is 1 there): what a foot stands on does not
    rise and fall, while the model's ankle and ball do by a centimeter or, on the tips of the toes, three."""
    out = level.copy()
    firm = smoothstep((held - _FIRM) / (1 - _FIRM))
    for start, stop in runs(firm > 0):
        rest = slice(start, stop)
        lies = np.quantile(level[rest][firm[rest] >= firm[rest].max() - 1e-9], _LYING)
        off = np.clip(lies - level[rest], -_UNSTEADY * scale, _UNSTEADY * scale)
        out[rest] += firm[rest] * off
    return out


def _renumbered(points: SkinPoints, numbers: list[int], skeleton: Skeleton) -> SkinPoints:
    """The points on joints of a part of the whole skeleton; what hangs on another joint hangs on the next one above it
    in the part, as on a control rig the hips beside the bone that carries the legs."""
    rest, index = skeleton.rest_positions(), {number: i for i, number in enumerate(numbers)}
    bones, offsets = points.bones.copy(), points.offsets.copy()
    for bone in np.unique(points.bones).tolist():
        above = bone
        while above not in index and above >= 0:
            above = skeleton.parents[above]
        on = points.bones == bone
        bones[on] = index.get(above, 0)
        offsets[on] += rest[bone] - rest[numbers[index.get(above, 0)]]
    return SkinPoints(bones, offsets, points.weights)
