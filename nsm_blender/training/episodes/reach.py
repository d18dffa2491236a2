# SPDX-License-Identifier: GPL-3.0-or-later
"""Full-body inverse kinematics for moved key joints: root first, then down the hierarchy (NSM 5.2, step 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...motion.ik import Limb, solve_limb
from ...motion.rotations import Array, between, conjugate, make_continuous, multiply, rotate, slerp
from ...motion.skeleton import MODEL_SKELETON
from ...rollout.pose import reach_ankles
from .track import Track

ARMS: dict[str, Limb] = {
    # In the T-pose the forearms bend forward, so that the elbows point back.
    "Left": Limb("LeftArm", "LeftForeArm", "LeftHand", (0.0, 1.0, 0.0)),
    "Right": Limb("RightArm", "RightForeArm", "RightHand", (0.0, 1.0, 0.0)),
}
_SPINE = ("Spine", "Spine1", "Spine2")
_ROUNDS = 2
"""Number of times that the spine's joints bend in turn to bring the shoulders within reach."""
_SHARE = 0.4
"""Share of the missing reach that each joint of the spine takes up in a round."""
_STRETCH = 0.97
"""Share of its length to which an arm stretches before the spine bends."""


@dataclass(frozen=True, eq=False)
class Target:
    """Where a joint shall be: place (T, 3) world, weight (T,) 0 to 1 between its own way and the place."""

    place: Array
    weight: Array


def reaching(track: Track, hips: Array, hands: Mapping[str, Target], feet: Mapping[str, Array] | None = None) -> Track:
    """The track with its hips moved by `hips` (T, 3), its hands on their targets and its ankles where they were.

    feet: ankles (T, 3) by side where they shall be instead.
    """
    before = track.positions()
    ankles = {side: before[:, MODEL_SKELETON.index(side + "Foot")] for side in ("Left", "Right")} | dict(feet or {})
    new_hips, rotations = track.hips + hips, track.rotations.copy()
    wanted = {
        side: Target(target.place - new_hips, target.weight) for side, target in hands.items() if target.weight.any()
    }
    for _ in range(_ROUNDS if wanted else 0):
        _bend_spine(rotations, wanted)
    for side, target in wanted.items():
        _bend_arm(rotations, side, target)
    return replace(track, hips=new_hips, rotations=make_continuous(reach_ankles(new_hips, rotations, ankles)))


def _bend_spine(rotations: Array, wanted: Mapping[str, Target]) -> None:
    """Bring the shoulders within reach, in place; targets are relative to the hips."""
    for name in _SPINE:
        places = MODEL_SKELETON.positions(np.zeros(3), rotations)
        shift, total = np.zeros((len(rotations), 3)), np.zeros(len(rotations))
        shoulders = np.zeros_like(shift)
        for side, target in wanted.items():
            limb = ARMS[side]
            upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
            length = sum(float(np.linalg.norm(MODEL_SKELETON.offsets[joint])) for joint in (middle, end))
            away = target.place - places[:, upper]
            distance = np.linalg.norm(away, axis=1)
            missing = np.maximum(distance - _STRETCH * length, 0) * target.weight
            shift += away * (missing / np.maximum(distance, 1e-6))[:, None]
            shoulders += places[:, upper] * target.weight[:, None]
            total += target.weight
        used = np.maximum(total, 1e-6)[:, None]
        joint = MODEL_SKELETON.index(name)
        arm = shoulders / used - places[:, joint]
        turn = between(arm, arm + _SHARE * shift / np.maximum(used, 1.0))
        none = np.broadcast_to(np.array([1.0, 0, 0, 0]), turn.shape)
        turn = np.where(total[:, None] > 1e-6, turn, none)
        above = [j for j in range(len(MODEL_SKELETON)) if _is_above(j, joint)]
        rotations[:, above] = multiply(np.broadcast_to(turn[:, None], rotations[:, above].shape), rotations[:, above])


def _is_above(joint: int, base: int) -> bool:
    while joint >= 0:
        if joint == base:
            return True
        joint = MODEL_SKELETON.parents[joint]
    return False


def _bend_arm(rotations: Array, side: str, target: Target) -> None:
    """Put a hand on its target, relative to the hips, in place; the hand turns with its forearm."""
    limb = ARMS[side]
    upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
    places = MODEL_SKELETON.positions(np.zeros(3), rotations)
    goal = places[:, end] + target.weight[:, None] * (target.place - places[:, end])
    new_upper, new_middle, _ = solve_limb(limb, places[:, upper], goal, rotations[:, upper], rotations[:, middle])
    turn = multiply(new_middle, conjugate(rotations[:, middle]))
    rotations[:, end] = multiply(turn, rotations[:, end])
    rotations[:, upper], rotations[:, middle] = new_upper, new_middle


def held(rotations: Array, toward: Array, weight: Array) -> Array:
    """Rotations (T, ..., 4) blended to `toward` by `weight` (T,)."""
    share = np.broadcast_to(weight.reshape(-1, *(1,) * (rotations.ndim - 2)), rotations.shape[:-1])
    return slerp(rotations, np.broadcast_to(toward, rotations.shape).astype(rotations.dtype), share)


def hand_places(track: Track) -> dict[str, Array]:
    """Wrists (T, 3) by side."""
    places = track.positions()
    return {side: places[:, MODEL_SKELETON.index(side + "Hand")] for side in ARMS}


def palm(track: Track, side: str, length: float = 0.09) -> Array:
    """Middle of the palm (T, 3): beyond the wrist along the hand."""
    hand = MODEL_SKELETON.index(side + "Hand")
    out = np.array([length if side == "Left" else -length, 0.0, 0.0])
    turned = rotate(track.rotations[:, hand], np.broadcast_to(out, (len(track), 3)))
    places: Array = track.positions()[:, hand] + turned
    return places
