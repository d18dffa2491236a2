# SPDX-License-Identifier: GPL-3.0-or-later
"""How far hips, palms and boxes were off their places, before the clean-up and after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array, rotate, wrap_angle
from ..motion.skeleton import MODEL_SKELETON
from ..rollout.held_objects import PALM_THICKNESS, Hold, between_palms, grasp_of
from .seating import HIP_JOINTS, Seating, sitting_place

FARTHEST = 0.03
"""Meters by which sitting hips, or palms at a box, are corrected."""


@dataclass(frozen=True)
class Correction:
    """How far one thing was off, before the last correction (raw) and after it. key: number of the key that asked for
    it; what: "hips", or "hands" with a box taken, or "box" put down."""

    key: int
    what: str
    raw_cm: float
    raw_deg: float
    cm: float
    deg: float


def allowed(shift: Array, turn: Array, half: Array | float, angle: Array) -> tuple[Array, Array]:
    """How much of a shift (..., 3) and of a turn (...) about +Z moves neither of two points farther than FARTHEST.

    The points lie `half` meters to both sides of the middle that is shifted, on a level line at `angle` (...) about +Z.
    The turn comes first: what is askew shows more than what is a little beside its place.
    """
    most = 2 * np.arcsin(np.clip(FARTHEST / (2 * np.asarray(half)), 0, 1))
    turn = np.clip(turn, -most, most)
    across = angle + turn / 2
    moved = np.stack((-np.sin(across), np.cos(across), np.zeros_like(across)), axis=-1)
    moved *= (2 * half * np.sin(turn / 2))[..., None]
    squared = np.maximum(np.sum(shift * shift, axis=-1), 1e-12)
    along = np.abs(np.sum(shift * moved, axis=-1))
    room = np.maximum(FARTHEST**2 - np.sum(moved * moved, axis=-1), 0)
    share = np.clip((np.sqrt(along**2 + squared * room) - along) / squared, 0, 1)
    return share[..., None] * shift, turn


def seat_offset(seating: Seating, hips: Array, rotations: Array, facing: float) -> tuple[Array, float]:
    """Meters (3,) and radians by which a body with hips (3,) and world rotations (J, 4) that faces an angle is off its
    seat, toward it."""
    turned = np.tile(rotations[0], (len(HIP_JOINTS), 1))
    sits = sitting_place(hips, hips + rotate(turned, MODEL_SKELETON.offsets[HIP_JOINTS]))
    return seating.aim.place - sits, float(wrap_angle(np.array(seating.aim.facing - facing)))


def seat_error(seating: Seating, hips: Array, rotations: Array, root: Array) -> tuple[float, float]:
    """By how many centimeters and degrees a body that has sat down is off its seat."""
    first = seating.settled
    off, turn = seat_offset(seating, hips[first], rotations[first], float(root[first, 3]))
    return 100 * float(np.linalg.norm(off)), float(np.degrees(abs(turn)))


def held(hold: Hold, before: tuple[Array, Array], after: tuple[Array, Array]) -> list[Correction]:
    """How far the palms were off a box when it was taken, and the box off its place when it was put down. before, after
    the correction: joint places (T, J, 3) and world rotations (T, J, 4).

    Where palms are taken farther than a correction may, so that nothing comes to them by itself, what is told of a
    grasp is what such a correction leaves.
    """

    def meets(frame: int, pose: Array, key: int, what: str) -> Correction:
        wanted, square = grasp_of(hold.handles, pose)
        errors = []
        for places, rotations in (before, after):
            middle, angle = between_palms(places[frame], rotations[frame])
            turn = float(wrap_angle(np.array(square - angle)))
            errors.append((wanted - middle, turn, angle))
        (off, turn, angle), (end, end_turn, _) = errors
        cm, deg = 100 * float(np.linalg.norm(end)), float(np.degrees(abs(end_turn)))
        if what == "hands":
            half = float(np.linalg.norm(np.array(hold.handles.left) - np.array(hold.handles.right))) / 2
            shift, turned = allowed(off, np.array(turn), half + PALM_THICKNESS, angle)
            cm = max(cm, 100 * float(np.linalg.norm(off - shift)))
            deg = max(deg, float(np.degrees(abs(turn - turned))))
        return Correction(key, what, 100 * float(np.linalg.norm(off)), float(np.degrees(abs(turn))), cm, deg)

    out = [meets(hold.taken, hold.lying, hold.key_taken, "hands")]
    if hold.goal is not None and hold.left is not None and hold.key_left is not None:
        out.append(meets(hold.left - 1, hold.goal, hold.key_left, "box"))
    return out
