# SPDX-License-Identifier: GPL-3.0-or-later
"""The legs of a rig: places of its hips and feet for a motion of the model, and back.

Legs of other proportions that only take the model's rotations put the feet beside their places. Where a foot is at rest
the leg is solved again (two bones), and the hips follow the standing leg, so that its bend stays what it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.easing import smoothstep
from ..motion.filters import gaussian, highest_around
from ..motion.ik import Limb, solve_limb
from ..motion.retarget import leg_length
from ..motion.rotations import Array, between, multiply, normalize, rotate
from ..motion.skeleton import ANKLE_HEIGHT, MODEL_SKELETON, Skeleton
from ..stepwise import Stepwise, by_frames, finished
from .grounding import Grounding, feet_of, standing_levels
from .rest_pose import SIDES, RestPose
from .rig_body import RigBody
from .stance import Foot, Stance, stances

_SMOOTH_HIPS = (0.04, 0.02)
"""Standard deviations in seconds of the filters on the hips' shift, in the first pass and in the second."""
_SITTING, _STANDING = 0.55, 0.75
"""Heights of the hip joints over the ankles, in leg lengths: below the first the hips belong on a seat, and above the
second over the feet."""
_SURE = 0.9
"""Label of sitting, as a network gives it, from which on the character sits and its feet bear nothing."""
_UPRIGHT = 0.97
"""Height of the hip joints over the ankles, in leg lengths, from which a character that sits down still stands."""
_UNDER, _BEFORE = 0.25, 0.4
"""Distances over the ground from hips to feet, in leg lengths, of a crouching figure and of a sitting figure."""
_LARGEST_SHIFT = 0.15
"""Largest shift of the hips in leg lengths."""
_STIFFEST = 0.1
"""Sine of a knee's bend below which all legs count as equally straight."""
_REST = 0.3
"""Weight that keeps the hips in place, relative to the weight 1 of a foot."""
_STRAIGHT, _STRETCHED = 0.9985, 0.999
"""Share of a leg's length up to which the hips sink for it, and largest share to which it is then stretched."""
_KNEE = (0.0, -1.0, 0.0)
"""Direction of the knee in the thigh's frame."""
_BESIDE = 0.02
"""Offset of a knee in leg lengths from the line between hip and ankle, from which this offset alone gives the bending
plane."""
_MOST_TURNED = np.radians(2.7)
"""Turn in radians of thigh or shin from which a foot stays away from its place instead."""
_GIVE_ROUNDS = 3
"""Number of rounds in which it is found how far away."""
_SUNK, _SITTER = 0.004, 0.009
"""Largest distances in leg lengths that a foot stays above or below its place for that: one whose sole is known by the
rig's mesh, and a sitter's, as its hips stay on the seat."""
_PIECE = 250
"""Frames of a mesh's corners in one piece of work: 40 ms."""
_PARTS = ("UpLeg", "Leg", "Foot")
"""Bones of a leg that are solved."""


def part_of(skeleton: Skeleton, ends: list[int]) -> tuple[Skeleton, list[int]]:
    """The skeleton of some joints and their ancestors, and the indices of its joints in the whole skeleton."""
    kept: set[int] = set()
    for joint in ends:
        while joint >= 0:
            kept.add(joint)
            joint = skeleton.parents[joint]
    numbers = sorted(kept)
    parents = tuple(numbers.index(skeleton.parents[j]) if skeleton.parents[j] >= 0 else -1 for j in numbers)
    return Skeleton(tuple(skeleton.names[j] for j in numbers), parents, skeleton.offsets[numbers]), numbers


MODEL_LEGS, MODEL_NUMBERS = part_of(MODEL_SKELETON, MODEL_SKELETON.indices(["LeftToe", "RightToe"]))
"""The model's hips and legs as a skeleton, and the indices of its joints in the model."""


@dataclass(frozen=True, eq=False)
class _Leg:
    """Differences of the rig's leg from the model's at the rig's size, (3,) meters in the T-pose.

    numbers: of thigh, shin and foot in the rig's part. ball: from ankle to ball of the rig's foot. longer: the ball's
    difference from the model's. aside: distance by which the hip joint is farther out.
    """

    limb: Limb
    numbers: tuple[int, int, int]
    ball: Array
    longer: Array
    aside: Array


class Legs:
    """The legs of a rig. scale: the rig's leg length over the model's.

    bones: numbers in the rig's pose of the P bones that determine the feet's places. ankle_lift: meters by which the
    rig's ankles are higher than the model's at the rig's size.
    """

    def __init__(self, pose: RestPose, body: RigBody | None = None) -> None:
        self.scale = pose.leg_length / leg_length(MODEL_SKELETON)
        self.length = pose.leg_length
        self._part, self.bones = part_of(pose.skeleton, [*feet_of(pose)])
        self._grounding = Grounding(body or RigBody(), pose, self._part, self.bones, self.scale)
        self.ankle_lift = self._grounding.ankle_height - self.scale * ANKLE_HEIGHT
        self._legs = {side: self._leg(pose, side, sign) for side, sign in SIDES}
        self._uplegs = [leg.numbers[0] for leg in self._legs.values()]

    def solved(self) -> list[int]:
        """Numbers in the rig's part of the bones that `posed` turns: thigh, shin and foot of both sides."""
        return [number for leg in self._legs.values() for number in leg.numbers]

    def middle(self, root: Array, turns: Array) -> Array:
        """The middle (T, 3) between the hip joints, from root (T, 3) and turns (T, P, 4)."""
        out: Array = self._part.positions(root, turns)[:, self._uplegs].mean(1)
        return out

    def posed(
        self,
        positions: Array,
        turns: Array,
        stances: dict[str, Stance],
        fps: float,
        sitting: Array | float = 0.0,
        steady: bool = True,
    ) -> tuple[Array, Array]:
        """`posing` at once."""
        return finished(self.posing(positions, turns, stances, fps, sitting, steady))

    def posing(
        self,
        positions: Array,
        turns: Array,
        stances: dict[str, Stance],
        fps: float,
        sitting: Array | float = 0.0,
        steady: bool = True,
    ) -> Stepwise[tuple[Array, Array]]:
        """Root place (T, 3) and world rotations (T, P, 4) against the T-pose for a motion on the model, in pieces of
        work.

        positions: (T, 9, 3) of MODEL_LEGS. turns: (T, P, 4), the model's rotations; not modified. sitting: (T,) 0 to 1
        where the motion tells that the character sits down, sits or rises. steady: whether soles keep one level and
        toes lie flat while a foot stands, though the model's do not.
        """
        turns = turns.copy()
        hips = positions[:, _UPLEGS].mean(1) * self.scale
        ankles = {}
        for side, leg in self._legs.items():
            ankles[side], turns[:, leg.numbers[2]] = self._foot(
                side, positions, turns[:, leg.numbers[2]], stances[side]
            )
            yield
        steadied = stances if steady else {}
        levels = standing_levels(positions, MODEL_LEGS, steadied, self.scale)
        for start in range(0, len(turns), _PIECE):
            yield
            now = slice(start, start + _PIECE)
            level, ankle = ({side: part[now] for side, part in parts.items()} for parts in (levels, ankles))
            held = {side: stance.held[now] for side, stance in steadied.items()}
            self._grounding.feet(level, hips[now], turns[now], ankle, held)
        lift = yield from by_frames(self._grounding.hips_lift, turns, size=_PIECE)
        yield
        sits = self._sits(hips, ankles, sitting)
        hips[:, 2] += self.ankle_lift * (1 - sits) + lift * sits
        root = hips - self.middle(np.zeros_like(hips), turns)
        yield
        standing = {side: (1 - sits) * stands.held for side, stands in stances.items()}
        for seconds in _SMOOTH_HIPS:
            root = root + self._hips_shift(root, turns, ankles, standing, seconds * fps)
            yield
        root = root - self._hips_drop(root, turns, ankles, standing, fps)[:, None] * [0.0, 0.0, 1.0]
        yield
        yield from self._planting(root, turns, ankles, stances, sits)
        return root, turns

    def stances(self, root: Array, turns: Array, hips: Array, fps: float) -> dict[str, Stance]:
        """Stances of the rig's feet in its pose: root (T, 3), turns (T, P, 4), and the rotation (T, 4) of the model's
        hips."""
        places, feet = self._part.positions(root, turns), {}
        for side, leg in self._legs.items():
            turn = turns[:, leg.numbers[2]]
            ankle = places[:, leg.numbers[2]]
            ball = ankle + rotate(turn, np.broadcast_to(leg.ball, ankle.shape))
            feet[side] = Foot(ankle / self.scale, ball / self.scale, turn)
        return stances(feet, hips, fps)

    def _leg(self, pose: RestPose, side: str, sign: float) -> _Leg:
        bones = [pose.bone_of[side + part] for part in _PARTS]
        names = [pose.bones[bone] for bone in bones]
        model = self.scale * MODEL_LEGS.offsets[MODEL_LEGS.index(side + "Toe")]
        ball = pose.offset(side + "Toe") if side + "Toe" in pose.bone_of else model
        rest = pose.skeleton.rest_positions()
        width = abs(rest[pose.bone_of["LeftUpLeg"], 0] - rest[pose.bone_of["RightUpLeg"], 0]) / 2
        aside = sign * (width - self.scale * abs(MODEL_LEGS.offsets[MODEL_LEGS.index("LeftUpLeg"), 0]))
        upper, lower, foot = (self.bones.index(bone) for bone in bones)
        limb = Limb(names[0], names[1], names[2], _KNEE)
        return _Leg(limb, (upper, lower, foot), ball, ball - model, np.array([aside, 0.0, 0.0]))

    def _foot(self, side: str, positions: Array, turn: Array, stands: Stance) -> tuple[Array, Array]:
        """Place (T, 3) of a foot's ankle, and its rotation (T, 4) from the model's, `turn`.

        The ankle is at the model's scaled place. If the foot is longer or shorter than the model's, its ball is then
        beside its place; the stiller of the two ends keeps its own place, and two equally still ends share the
        difference.
        """
        leg = self._legs[side]
        shape, lift = (len(positions), 3), np.array([0.0, 0.0, self.ankle_lift])
        moved = rotate(stands.facing, np.broadcast_to(leg.aside, shape)) + lift
        ankle = positions[:, MODEL_LEGS.index(side + "Foot")] * self.scale + moved
        ball = positions[:, MODEL_LEGS.index(side + "Toe")] * self.scale + moved
        longer = np.broadcast_to(leg.longer, shape)
        length = float(np.linalg.norm(leg.ball))
        bone = rotate(turn, np.broadcast_to(leg.ball, shape))
        aim = length * normalize(ball + rotate(stands.along, longer) - ankle)
        aimed = length * normalize(bone + stands.ball[:, None] * (aim - bone))
        there = ball + rotate(stands.heading, longer) - aimed
        return ankle + stands.ball[:, None] * (there - ankle), multiply(between(bone, aimed), turn)

    def _sits(self, hips: Array, ankles: dict[str, Array], sitting: Array | float) -> Array:
        """Weight (T,) with which hips (T, 3) belong on a seat and not over the feet: low ones with the feet ahead, and
        all but upright ones of a character that is known to sit."""
        away = (ankles["Left"] + ankles["Right"]) / 2 - hips
        low = np.minimum(ankles["Left"][:, 2], ankles["Right"][:, 2])
        height = (hips[:, 2] - low) / self.length
        ahead = np.hypot(away[:, 0], away[:, 1]) / self.length
        seen = smoothstep((_STANDING - height) / (_STANDING - _SITTING)) * smoothstep(
            (ahead - _UNDER) / (_BEFORE - _UNDER)
        )
        told = np.clip(np.asarray(sitting) / _SURE, 0.0, 1.0)
        return np.maximum(seen, told * smoothstep((_UPRIGHT - height) / (_UPRIGHT - _STANDING)))

    def _hips_shift(
        self, root: Array, turns: Array, ankles: dict[str, Array], holds: dict[str, Array], sigma: float
    ) -> Array:
        """Shift (T, 3) of the hips in meters with which standing legs keep their bend though thigh and shin differ.

        The least squares of both feet's distances to their places, each in its leg's own measure: along a straight leg
        a centimeter costs a large turn of thigh and shin; across it, or along a bent leg, a small turn.
        """
        places = self._part.positions(root, turns)
        normal, right = np.zeros((len(root), 3, 3)), np.zeros((len(root), 3))
        for side, leg in self._legs.items():
            hip, knee, ankle = (places[:, number] for number in leg.numbers)
            bend = np.linalg.norm(np.cross(normalize(knee - hip), normalize(ankle - knee)), axis=1)
            along = normalize(ankle - hip)
            stiffness = (holds[side] / (bend + _STIFFEST) ** 2)[:, None, None]
            weight = stiffness * along[:, :, None] * along[:, None, :] + holds[side][:, None, None] * np.eye(3)
            normal += weight
            right += np.einsum("tij,tj->ti", weight, ankles[side] - ankle)
        mean = np.linalg.solve(gaussian(normal, sigma) + _REST * np.eye(3), gaussian(right, sigma)[..., None])[..., 0]
        longest = _LARGEST_SHIFT * self.length
        out: Array = mean * np.minimum(1.0, longest / np.maximum(np.linalg.norm(mean, axis=1), 1e-9))[:, None]
        return out

    def _hips_drop(
        self, root: Array, turns: Array, ankles: dict[str, Array], holds: dict[str, Array], fps: float
    ) -> Array:
        """Drop (T,) of the hips in meters with which held feet stay within the legs' reach."""
        places = self._part.positions(root, turns)
        need = np.zeros(len(root))
        for side, leg in self._legs.items():
            upper, _, end = leg.numbers
            away = ankles[side] - places[:, upper]
            # A leg that the motion itself stretches farther may be stretched as far here.
            own = np.linalg.norm(places[:, end] - places[:, upper], axis=1)
            length = np.maximum(self._whole(leg) * _STRAIGHT, own)
            flat = np.minimum(np.hypot(away[:, 0], away[:, 1]), 0.95 * length)
            need = np.maximum(need, holds[side] * (-away[:, 2] - np.sqrt(length * length - flat * flat)))
        radius = max(round(_SMOOTH_HIPS[0] * fps), 1)
        return gaussian(highest_around(np.clip(need, 0.0, _LARGEST_SHIFT * self.length), radius), radius / 2)

    def _planting(
        self, root: Array, turns: Array, ankles: dict[str, Array], stances: dict[str, Stance], sits: Array
    ) -> Stepwise[None]:
        """Bend the legs in `turns` so that held feet are at their places. sits: (T,) weight of sitting."""
        places = self._part.positions(root, turns)
        for side, leg in self._legs.items():
            upper, lower, end = leg.numbers
            most = np.full(len(turns), _SUNK) if side in self._grounding.sides else _SITTER / np.maximum(sits, 1e-3)
            most *= self.length / _GIVE_ROUNDS
            # The foot goes as much of the way to its place as it is held.
            way = self._grounding.way(side, stances[side].held, ankles[side] - places[:, end])
            own = turns[:, [upper, lower]]
            yield
            bent = self._bent(leg, places, own, way)
            for _ in range(_GIVE_ROUNDS):
                yield
                turned = _angles(own, bent).max(axis=1)
                far = np.flatnonzero(turned > _MOST_TURNED)
                if not len(far):
                    break
                given = (1 - _MOST_TURNED / turned[far])[:, None] * way[far]
                given[:, 2] = np.clip(given[:, 2], -most[far], most[far])
                way[far] -= given
                bent[far] = self._bent(leg, places[far], own[far], way[far])
            turns[:, [upper, lower]] = bent

    def _bent(self, leg: _Leg, places: Array, own: Array, way: Array) -> Array:
        """Thigh and shin (T, 2, 4) of a leg with its ankle moved by `way` (T, 3); own: (T, 2, 4) their present
        rotations."""
        upper, _, end = leg.numbers
        target = places[:, end] + way
        # A leg that the motion itself makes straighter than the limit may be as straight here.
        reach = np.linalg.norm(places[:, end] - places[:, upper], axis=1, keepdims=True) / self._whole(leg)
        thigh, shin, _ = solve_limb(
            leg.limb,
            places[:, upper],
            target,
            own[:, 0],
            own[:, 1],
            self._part,
            _bends_to(places[:, leg.numbers], target, own[:, 0]),
            np.clip(reach, _STRETCHED, 1.0),
        )
        return np.stack((thigh, shin), axis=1)

    def _whole(self, leg: _Leg) -> float:
        """Length in meters of a straight leg."""
        return sum(float(np.linalg.norm(self._part.offsets[number])) for number in leg.numbers[1:])


def _angles(a: Array, b: Array) -> Array:
    """Angles in radians between rotations (..., 4)."""
    out: Array = 2 * np.arccos(np.clip(np.abs(np.sum(a * b, axis=-1)), 0.0, 1.0))
    return out


def _bends_to(places: Array, target: Array, thigh: Array) -> Array:
    """Direction (T, 3) of the knee when the ankle goes to `target` (T, 3): the leg keeps its bending plane.

    places: (T, 3, 3) of hip, knee and ankle. thigh: (T, 4) its rotation, which gives the plane of a straight leg.
    """
    hip, knee, ankle = places[:, 0], places[:, 1], places[:, 2]
    line = normalize(ankle - hip)
    beside = (knee - hip) - line * np.sum(line * (knee - hip), axis=1, keepdims=True)
    beside = beside / np.linalg.norm(ankle - hip, axis=1, keepdims=True)
    ahead = rotate(thigh, np.broadcast_to(_KNEE, hip.shape))
    ahead = ahead - line * np.sum(line * ahead, axis=1, keepdims=True)
    unsure = np.maximum(_BESIDE - np.linalg.norm(beside, axis=1, keepdims=True), 0.0)
    return rotate(between(line, normalize(target - hip)), beside + unsure * ahead)


_UPLEGS = MODEL_LEGS.indices([side + "UpLeg" for side, _ in SIDES])


def model_stances(positions: Array, joints: Array, fps: float) -> dict[str, Stance]:
    """Stances of the model's feet: places (T, 9, 3) and world rotations (T, 9, 4) of MODEL_LEGS."""
    feet = {}
    for side, _ in SIDES:
        foot, toe = MODEL_LEGS.index(side + "Foot"), MODEL_LEGS.index(side + "Toe")
        feet[side] = Foot(positions[:, foot], positions[:, toe], joints[:, foot])
    return stances(feet, joints[:, 0], fps)
