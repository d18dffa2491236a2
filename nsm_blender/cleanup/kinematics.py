# SPDX-License-Identifier: GPL-3.0-or-later
"""A posed body that is displaced: where its joints come, and how they move with each displacement.

The hips move and turn, the trunk turns on them, ankles move in the world, wrists move with the trunk and besides, and
each knee and elbow turns about the line between the ends of its limb.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..motion.ik import ARMS, LEGS, REACH, Limb, solve_limb
from ..motion.rotations import Array, from_exponential_map, multiply, normalize, rotate, to_matrix
from ..motion.skeleton import MODEL_SKELETON


def _vectors(names: Sequence[str]) -> list[slice]:
    """The three columns of each of some displacements, which follow each other."""
    return [slice(3 * number, 3 * number + 3) for number in range(len(names))]


LIMBS: dict[str, Limb] = {limb.end: limb for limb in (*LEGS.values(), *ARMS.values())}
"""The limbs by the joints at their ends."""
HIPS, PELVIS, TRUNK, *_ENDS = _vectors(("hips", "pelvis", "trunk", *LIMBS))
"""Columns of displacements of a frame: meters of the hips, rotation vectors in the world of the pelvis, and of the
trunk on it."""
ENDS = dict(zip(LIMBS, _ENDS, strict=True))
"""Columns of meters of the ankles in the world, and of the wrists beyond how they ride on the trunk."""
SWIVELS = {end: _ENDS[-1].stop + number for number, end in enumerate(LIMBS)}
"""Columns of radians by which a limb's middle joint turns about the line from its upper joint to its end."""
SIZE = _ENDS[-1].stop + len(SWIVELS)
"""Displacements of one frame."""
SHARES = {"Hips": 0.0, "Spine": 0.35, "Spine1": 0.7, "Head": 0.3}
"""Shares of the trunk's rotation that bones have which have not all of it: the spine bends over its length, and the
head looks on where it did."""
_NAMES, _PARENTS = MODEL_SKELETON.names, MODEL_SKELETON.parents
_CHAIN = [
    j
    for j, name in enumerate(_NAMES)
    if j
    and (
        name.endswith("UpLeg")
        or "Spine" in name
        or name in ("Neck", "Head", "LeftShoulder", "RightShoulder", "LeftArm", "RightArm")
    )
]
"""Joints that the pelvis and the trunk carry."""
_CARRIED = [j for j, name in enumerate(_NAMES) if not name.endswith(("Leg", "Foot", "Toe"))]
"""Bones that turn with the pelvis or the trunk: all but those of the legs, whose feet stay."""
_LEAST_BEND = 0.05
"""Share of its upper bone's length that a middle joint is taken to be aside at least: that of a straight limb would
move without bound."""
_TINY = 1e-6


def cross_matrix(v: Array) -> Array:
    """Matrices (..., 3, 3) whose products with w are the cross products of vectors v (..., 3) and w."""
    out = np.zeros((*v.shape, 3))
    out[..., 0, 1], out[..., 0, 2] = -v[..., 2], v[..., 1]
    out[..., 1, 0], out[..., 1, 2] = v[..., 2], -v[..., 0]
    out[..., 2, 0], out[..., 2, 1] = -v[..., 1], v[..., 0]
    return out


@dataclass(frozen=True, eq=False)
class Displaced:
    """A body at F frames. places: (F, J, 3) joints. moves: (F, J, 3, SIZE), how they move with each displacement, or
    (0, J, 3, SIZE). ways: for each limb's end, (F, 3) from the upper joint to where the end is wanted, within the
    limb's reach or not."""

    places: Array
    moves: Array
    ways: dict[str, Array]


class Body:
    """A body with joints at places (T, J, 3) and world rotations (T, J, 4), whose bones are rigid."""

    def __init__(self, places: Array, rotations: Array) -> None:
        self._places, self._rotations = places, rotations
        self._offsets = places[:, 1:] - places[:, list(_PARENTS[1:])]
        self._poles = {end: _pole(limb, places, rotations) for end, limb in LIMBS.items()}

    def at(self, x: Array, frames: Array, derive: bool = True) -> Displaced:
        """The body at frames (F,) under displacements x (F, SIZE). derive: whether `moves` is wanted."""
        count = len(frames)
        places = self._places[frames].copy()
        moves = np.zeros((count if derive else 0, len(_NAMES), 3, SIZE))
        out = Displaced(places, moves, {})
        places[:, 0] += x[:, HIPS]
        moves[:, 0, :, HIPS] = np.eye(3)
        pelvis = to_matrix(from_exponential_map(x[:, PELVIS]))
        turns = {share: self._turned(share, x, pelvis) for share in (*SHARES.values(), 1.0)}
        for joint in _CHAIN:
            parent = _PARENTS[joint]
            share = SHARES.get(_NAMES[parent], 1.0)
            bone = np.einsum("fij,fj->fi", turns[share], self._offsets[frames, joint - 1])
            places[:, joint] = places[:, parent] + bone
            if derive:
                turned = -cross_matrix(bone)
                moves[:, joint] = moves[:, parent]
                moves[:, joint, :, PELVIS] += turned
                moves[:, joint, :, TRUNK] += share * turned
        for side in LEGS:
            self._leg(side, x, frames, out)
        for side in ARMS:
            self._arm(side, x, frames, turns[1.0], out)
        return out

    def posed(self, x: Array) -> tuple[Array, Array]:
        """Joint places (T, J, 3) and world rotations (T, J, 4) under displacements x (T, SIZE) of all frames. Hands
        keep their directions in the world as far as their wrists are moved, and else turn with the trunk."""
        places = self.at(x, np.arange(len(x)), derive=False).places
        out = self._rotations.copy()
        for joint in _CARRIED:
            share = SHARES.get(_NAMES[joint], 1.0)
            whole = share if _NAMES[joint] == "Head" else 1.0
            turn = multiply(from_exponential_map(share * x[:, TRUNK]), from_exponential_map(whole * x[:, PELVIS]))
            out[:, joint] = multiply(turn, out[:, joint])
        for limb in LIMBS.values():
            upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
            origin, target = places[:, upper], places[:, end]
            out[:, upper], out[:, middle], _ = solve_limb(
                limb, origin, target, out[:, upper], out[:, middle], pole=normalize(places[:, middle] - origin)
            )
        return MODEL_SKELETON.positions(places[:, 0], out), out

    def _turned(self, share: float, x: Array, pelvis: Array) -> Array:
        if not share:
            return pelvis
        return np.asarray(to_matrix(from_exponential_map(share * x[:, TRUNK])) @ pelvis)

    def _leg(self, side: str, x: Array, frames: Array, out: Displaced) -> None:
        upper, middle, end, toe = MODEL_SKELETON.indices([side + part for part in ("UpLeg", "Leg", "Foot", "Toe")])
        own, name = self._places[frames], side + "Foot"
        there = own[:, end] + x[:, ENDS[name]]
        if len(out.moves):
            out.moves[:, end, :, ENDS[name]] = np.eye(3)
        plane = own[:, end] - own[:, upper], self._poles[name][frames]
        self._bend(name, (upper, middle, end), plane, there, x[:, SWIVELS[name], None], out)
        out.places[:, toe] = out.places[:, end] + own[:, toe] - own[:, end]
        if len(out.moves):
            out.moves[:, toe] = out.moves[:, end]

    def _arm(self, side: str, x: Array, frames: Array, turn: Array, out: Displaced) -> None:
        upper, middle, end = MODEL_SKELETON.indices([side + part for part in ("Arm", "ForeArm", "Hand")])
        own, name = self._places[frames], side + "Hand"
        line = np.einsum("fij,fj->fi", turn, own[:, end] - own[:, upper])
        pole = np.einsum("fij,fj->fi", turn, self._poles[name][frames])
        there = out.places[:, upper] + line + x[:, ENDS[name]]
        if len(out.moves):
            turned = -cross_matrix(line)
            out.moves[:, end] = out.moves[:, upper]
            out.moves[:, end, :, PELVIS] += turned
            out.moves[:, end, :, TRUNK] += turned
            out.moves[:, end, :, ENDS[name]] += np.eye(3)
        self._bend(name, (upper, middle, end), (line, pole), there, x[:, SWIVELS[name], None], out)

    def _bend(
        self,
        name: str,
        joints: tuple[int, int, int],
        plane: tuple[Array, Array],
        there: Array,
        angle: Array,
        out: Displaced,
    ) -> None:
        """Bend a limb to an end at `there` (F, 3): its plane, in which its line and its pole (F, 3) were, turns the
        shortest way with the line, and then by the angle (F, 1) about it."""
        upper, middle, end = joints
        places, moves = out.places, out.moves
        line, pole = plane
        a, b = (float(np.linalg.norm(MODEL_SKELETON.offsets[joint])) for joint in (middle, end))
        way = out.ways[name] = there - places[:, upper]
        far = np.sqrt(_dot(way, way))
        along, was = way / np.maximum(far, 1e-6), normalize(line)
        # A limb that was stretched farther by the network may stay so.
        most = np.clip(np.sqrt(_dot(line, line)), REACH * (a + b), (1 - _TINY) * (a + b))
        far = np.clip(far, abs(a - b) + _LEAST_BEND, most)
        places[:, end] = places[:, upper] + far * along
        share = _dot(along, pole) / np.maximum(1 + _dot(along, was), _LEAST_BEND)
        turned = pole - share * (along + was)
        turned = normalize(turned - along * _dot(along, turned))
        side = np.cross(along, turned)
        pole, side = np.cos(angle) * turned + np.sin(angle) * side, np.cos(angle) * side - np.sin(angle) * turned
        onward = (a * a - b * b + far * far) / (2 * far)
        aside = np.sqrt(np.maximum(a * a - onward * onward, 0))
        places[:, middle] = places[:, upper] + onward * along + aside * pole
        if not len(moves):
            return
        stretch = 0.5 - (a * a - b * b) / (2 * far * far)
        fold = -onward * stretch / np.maximum(aside, _LEAST_BEND * a)
        across = np.eye(3) - along[:, :, None] * along[:, None]
        bend = (onward / far)[..., None] * across + along[:, :, None] * (stretch * along)[:, None]
        bend += pole[:, :, None] * (fold * along)[:, None] - along[:, :, None] * (aside / far * pole)[:, None]
        relative = moves[:, end] - moves[:, upper]
        moves[:, middle] = moves[:, upper] + bend @ relative
        moves[:, middle, :, SWIVELS[name]] += aside * side
        if name.endswith("Hand"):
            # An arm's plane turns with the trunk, also about the arm's own line.
            for turn in (PELVIS, TRUNK):
                moves[:, middle, :, turn] += (aside * side)[:, :, None] * along[:, None]


def _dot(a: Array, b: Array) -> Array:
    """Products (F, 1) of vectors (F, 3)."""
    return np.asarray(np.einsum("fi,fi->f", a, b))[:, None]


def _pole(limb: Limb, places: Array, rotations: Array) -> Array:
    """Unit vectors (T, 3) at right angles to a limb's line, on which its middle joint is aside."""
    upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
    along = normalize(places[:, end] - places[:, upper])
    knee = places[:, middle] - places[:, upper]
    own = rotate(rotations[:, upper], np.broadcast_to(np.asarray(limb.pole), along.shape))
    aside = knee - along * _dot(along, knee)
    lacking = _LEAST_BEND * float(np.linalg.norm(MODEL_SKELETON.offsets[middle])) - np.linalg.norm(aside, axis=1)
    aside = aside + np.maximum(lacking, 0)[:, None] * own
    return normalize(aside - along * _dot(along, aside))
