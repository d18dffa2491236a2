# SPDX-License-Identifier: GPL-3.0-or-later
"""The animator's body: what a rig's mesh needs to stand on the floor, sit on a seat and keep its hands out of itself.

Each bone's flesh is the convex body between planes that touch the vertices which hang on it; its corners stand for the
vertices. That serves a mesh of 200 vertices as well as one of 200,000.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from ..geometry.body import CAPSULES
from ..motion.retarget import leg_length
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from .joints import RigInfo
from .rest_pose import SIDES, RestPose
from .skin import Skin, SkinPoints, hung

_PLANES = 96
"""Directions in which a bone's flesh is bounded: 20 degrees from one to the next, which rounds a thigh to 2 mm."""
_LEAST = 8
"""Vertices on a bone below which it counts as without flesh."""
_FARTHEST = 0.55
"""Share of the leg's length from a bone beyond which vertices are no flesh: skirts, capes, wings, what is carried."""
_LOWEST = 0.4
"""Share of the leg's length below the ankle to which a sole may reach."""
_SEATED = 0.3
"""Share of the thigh, from the hip joint on, that lies on a seat."""
_OUTER = 0.5
"""Share of the forearm from which it is to keep out of the body. Nearer to the shoulder flesh gives way: to get
out by a centimeter there the arm would swing by many degrees."""
_SPREAD = 0.03
"""Share of the leg's length, 2.5 cm at the model's, within which each vertex of an arm has a point that keeps out of
the body: an edge of a thigh reaches into the flat side of a broad hand between its corners."""
_MOST = 70
"""Percentile of the vertices' distances from a bone's axis that is its girth: a belt and a pocket are beyond."""
_MODEL_GIRTHS = np.array([0.1361, 0.0524, 0.0815, 0.0815, 0.0505, 0.0505, 0.05, 0.05, 0.0396, 0.0396])
"""Girths in meters of the bundled character's mesh, so measured, of CAPSULES."""
_THICKER = (0.5, 2.5)
"""Least and largest factor on the model's radii."""
_ALIKE = 0.1
"""Relative difference of girths up to which a figure counts as slim as the model."""
_TRUNK = ("Hips", "Spine", "Spine1", "Spine2", "LeftUpLeg", "RightUpLeg")
_NAMES = MODEL_SKELETON.names


def _evenly(count: int) -> Array:
    """Unit vectors (N, 3) spread evenly over the sphere, in a Fibonacci spiral, and the six along the axes."""
    number = np.arange(count - 6) + 0.5
    height = 1 - 2 * number / len(number)
    angle = np.pi * (1 + np.sqrt(5)) * number
    flat = np.sqrt(1 - height * height)
    spiral = np.stack((flat * np.cos(angle), flat * np.sin(angle), height), axis=1)
    return np.concatenate((np.eye(3), -np.eye(3), spiral))


DIRECTIONS = _evenly(_PLANES)
"""Outward directions (K, 3) of the planes that bound a bone's flesh, in the T-pose."""
_FINE = _evenly(600)
_DOWNWARD = np.concatenate((DIRECTIONS[DIRECTIONS[:, 2] < 0.6], _FINE[_FINE[:, 2] < -0.8]))
"""Directions in which soles, hips and thighs can touch the ground or a seat: heels and thighs turn far, and most of the
time soles are nearly level."""
_AROUND = _evenly(30)
"""Directions in which flesh can touch the body or things."""


@dataclass(frozen=True, eq=False)
class Flesh:
    """The flesh of one bone. bone: its index. heights: (K,) meters from the bone's head to the planes along
    DIRECTIONS."""

    bone: int
    heights: Array


@dataclass(frozen=True, eq=False)
class RigBody:
    """A rig's flesh, each part empty where nothing hangs on its bones.

    soles: by side, the corners of foot and toes. seat: of the hips and the thighs' upper parts. arms: by side, of the
    hand and the forearm's outer half, and points between them. trunk: what these keep out of. surface: corners of all
    flesh. owners: (P,) joints that move them. radii: meters of the capsules `geometry.body.CAPSULES` at the model's
    size, none where the figure is as slim as the model.
    """

    soles: dict[str, SkinPoints] = field(default_factory=dict)
    seat: SkinPoints | None = None
    arms: dict[str, SkinPoints] = field(default_factory=dict)
    trunk: tuple[Flesh, ...] = ()
    surface: SkinPoints | None = None
    owners: tuple[str, ...] = ()
    radii: tuple[float, ...] = ()


def rig_body(skin: Skin, rig: RigInfo, pose: RestPose) -> RigBody:
    """The body of a rig with a skin, in its T-pose."""
    return _Maker(hung(skin, rig, pose), pose).body()


class _Maker:
    def __init__(self, points: SkinPoints, pose: RestPose) -> None:
        near = np.linalg.norm(points.own_offsets, axis=1) < _FARTHEST * pose.leg_length
        self._points, self._pose = points.of(np.flatnonzero(near)), pose
        self._owners, self._offsets = self._points.owners, self._points.own_offsets
        self._joints = np.array([_NAMES[source.a] for source in pose.sources])

    def body(self) -> RigBody:
        soles = {side: self._sole(side) for side, _ in SIDES}
        arms = {side: self._arm(side) for side, _ in SIDES}
        seat = self._seat()
        trunk = [flesh for flesh in map(self._flesh, self._bones(_TRUNK)) if flesh is not None]
        every = self._corners(_NAMES, _AROUND)
        return RigBody(
            {side: points for side, points in soles.items() if points is not None},
            seat,
            {side: points for side, points in arms.items() if len(points)},
            tuple(trunk),
            self._points.of(every) if len(every) else None,
            tuple(self._joints[self._owners[every]].tolist()),
            self._radii(),
        )

    def _radii(self) -> tuple[float, ...]:
        """The model's radii, each multiplied by how much thicker the flesh is than the model's own mesh; none where no
        girth differs by much."""
        scale = self._pose.leg_length / leg_length(MODEL_SKELETON)
        girths = np.array([self._girth(first, last) for first, last, _ in CAPSULES]) / scale
        thicker = np.where(np.isnan(girths), 1.0, girths / _MODEL_GIRTHS).clip(*_THICKER)
        if np.abs(thicker - 1).max() < _ALIKE:
            return ()
        return tuple((thicker * [radius for _, _, radius in CAPSULES]).round(4).tolist())

    def _girth(self, first: str, last: str) -> float:
        """Meters from a capsule's axis within which most of its vertices lie; not a number where there are none."""
        chain, joint = [], last
        while joint != first:
            joint = _NAMES[MODEL_SKELETON.parents[_NAMES.index(joint)]]
            chain.append(joint)
        bones, rest = self._bones(chain), self._pose.skeleton.rest_positions()
        on = np.isin(self._owners, bones)
        if on.sum() < _LEAST or first not in self._pose.bone_of or last not in self._pose.bone_of:
            return float("nan")
        ends = rest[[self._pose.bone_of[first], self._pose.bone_of[last]]]
        along = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
        away = rest[self._owners[on]] + self._offsets[on] - ends[0]
        share = np.clip(away @ along, 0, np.linalg.norm(ends[1] - ends[0]))
        return float(np.percentile(np.linalg.norm(away - share[:, None] * along, axis=1), _MOST))

    def _bones(self, joints: Collection[str]) -> list[int]:
        return np.flatnonzero(np.isin(self._joints, list(joints))).tolist()

    def _flesh(self, bone: int) -> Flesh | None:
        on = self._owners == bone
        if on.sum() < _LEAST:
            return None
        return Flesh(bone, (self._offsets[on] @ DIRECTIONS.T).max(axis=0))

    def _corners(self, joints: Collection[str], directions: Array) -> Array:
        """Numbers (N,) of the points that lie farthest in some direction among those on a bone."""
        found = []
        for bone in self._bones(joints):
            on = np.flatnonzero(self._owners == bone)
            if len(on) >= _LEAST:
                found.append(on[np.unique((self._offsets[on] @ directions.T).argmax(axis=0))])
        return np.concatenate(found) if found else np.zeros(0, dtype=int)

    def _sole(self, side: str) -> SkinPoints | None:
        """None also where the lowest point is no sole: a robe, or a figure without feet."""
        corners = self._points.of(self._corners((side + "Foot", side + "Toe"), _DOWNWARD))
        if not len(corners) or side + "Foot" not in self._pose.bone_of:
            return None
        deep = ankle_height(corners, self._pose, side)
        return corners if 0 < deep < _LOWEST * self._pose.leg_length else None

    def _seat(self) -> SkinPoints | None:
        bones = {side: self._pose.bone_of[side + "UpLeg"] for side, _ in SIDES}
        corners = self._corners(("Hips", *(side + "UpLeg" for side, _ in SIDES)), _DOWNWARD)
        length = np.array([np.linalg.norm(self._pose.offset(side + "Leg")) for side, _ in SIDES]).mean()
        thigh = np.isin(self._owners[corners], list(bones.values()))
        kept = ~thigh | (-self._offsets[corners, 2] < _SEATED * length)
        return self._points.of(corners[kept]) if kept.any() else None

    def _arm(self, side: str) -> SkinPoints:
        corners = self._corners([side + part for part in ("ForeArm", "Hand")], _AROUND)
        lower, hand = (self._pose.bone_of.get(side + part) for part in ("ForeArm", "Hand"))
        if side + "Arm" not in self._pose.bone_of or lower is None or hand is None:
            return self._points.of(corners[:0])
        half = _OUTER * np.linalg.norm(self._pose.skeleton.offsets[hand])

        def outer(numbers: Array) -> Array:
            return np.asarray(numbers[(self._owners[numbers] != lower) | (np.abs(self._offsets[numbers, 0]) > half)])

        corners = outer(corners)
        every = outer(np.flatnonzero(np.isin(self._owners, self._bones([side + "ForeArm", side + "Hand"]))))
        return self._points.of(self._between(corners, every) if len(corners) else corners)

    def _between(self, chosen: Array, every: Array) -> Array:
        """Numbers (N,) of points, `chosen` and some of `every`, so that all of those are near one."""
        places = self._pose.skeleton.rest_positions()[self._owners] + self._offsets
        away = np.full(len(every), np.inf)
        for number in chosen:
            away = np.minimum(away, np.linalg.norm(places[every] - places[number], axis=1))
        found = list(chosen)
        while len(every) and away.max() > _SPREAD * self._pose.leg_length:
            found.append(every[away.argmax()])
            away = np.minimum(away, np.linalg.norm(places[every] - places[found[-1]], axis=1))
        return np.array(found)


def ankle_height(sole: SkinPoints, pose: RestPose, side: str) -> float:
    """Height in meters of the ankle over the sole of a foot that stands flat."""
    rest = pose.skeleton.rest_positions()[None]
    turns = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (1, len(pose.bones), 4))
    low = sole.posed(rest, turns)[0, :, 2].min()
    return float(rest[0, pose.bone_of[side + "Foot"], 2] - low)
