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
_CHEST = MODEL_SKELETON.index("Spine2")
_ROUNDS = 6
"""Most rounds in which the spine bends to bring the shoulders within reach, and then the arms."""
_NEAR_ENOUGH = 0.004
"""Meters from the hands to their places at which no further round is needed."""
_SHARE = 0.4
"""Share of the missing reach that each joint of the spine takes up in a round."""
_STRETCH = 0.97
"""Share of its length to which an arm stretches before the spine bends."""

_SOFTENED = 0.05
"""Meters around that stretch in which the spine begins to bend, without a kink."""


@dataclass(frozen=True, eq=False)
class Target:
    """Where a hand shall be: place (T, 3) world, weight (T,) 0 to 1 between its own way and the place. palm: meters
    from the wrist, along the hand, of what shall be there; 0: the wrist itself."""

    place: Array
    weight: Array
    palm: float = 0.0


def reaching(track: Track, hips: Array, hands: Mapping[str, Target], feet: Mapping[str, Array] | None = None) -> Track:
    """The track with its hips moved by `hips` (T, 3), its hands on their targets and its ankles where they were.

    Where a hand is between its own way and its place, joints are between both poses, so that it comes over as smoothly
    as its weight. feet: ankles (T, 3) by side where they shall be instead.
    """
    before = track.positions()
    ankles = {side: before[:, MODEL_SKELETON.index(side + "Foot")] for side in ("Left", "Right")} | dict(feet or {})
    new_hips, rotations = track.hips + hips, track.rotations
    wanted = {
        side: replace(target, place=target.place - new_hips) for side, target in hands.items() if target.weight.any()
    }
    rotations = _blended(rotations, _reached(rotations, wanted), wanted) if wanted else rotations.copy()
    return replace(track, hips=new_hips, rotations=make_continuous(reach_ankles(new_hips, rotations, ankles)))


def _reached(rotations: Array, wanted: Mapping[str, Target]) -> Array:
    """Rotations with the hands on their targets, relative to the hips, wherever these have a weight."""
    out = rotations.copy()
    for _ in range(_ROUNDS):
        _bend_spine(out, wanted)
        off = 0.0
        for side, target in wanted.items():
            _bend_arm(out, side, target)
            away = _hand(out, side, target.palm) - target.place
            off = max(off, float(np.linalg.norm(away[target.weight > 0], axis=1).max()))
        if off < _NEAR_ENOUGH:
            break
    return out


def _blended(rotations: Array, reached: Array, wanted: Mapping[str, Target]) -> Array:
    """Between two poses by the weights of the targets: the arms each by its own, all else by the largest."""
    most = np.max([target.weight for target in wanted.values()], axis=0)
    turn = multiply(reached[:, _CHEST], conjugate(rotations[:, _CHEST]))
    toward = reached.copy()
    for side, limb in ARMS.items():
        arm = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
        hangs = multiply(np.broadcast_to(turn[:, None], rotations[:, arm].shape), rotations[:, arm])
        own = wanted[side].weight if side in wanted else np.zeros_like(most)
        toward[:, arm] = held(hangs, reached[:, arm], own / np.maximum(most, 1e-6))
    return held(rotations, toward, most)


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
            wrist = target.place - (_hand(rotations, side, target.palm) - places[:, end])
            away = wrist - places[:, upper]
            distance = np.linalg.norm(away, axis=1)
            used = (target.weight > 0).astype(float)
            beyond = distance - _STRETCH * length
            missing = 0.5 * (beyond + np.sqrt(beyond**2 + _SOFTENED**2)) * used
            shift += away * (missing / np.maximum(distance, 1e-6))[:, None]
            shoulders += places[:, upper] * used[:, None]
            total += used
        count = np.maximum(total, 1.0)[:, None]
        joint = MODEL_SKELETON.index(name)
        arm = shoulders / count - places[:, joint]
        turn = between(arm, arm + _SHARE * shift / count)
        none = np.broadcast_to(np.array([1.0, 0, 0, 0]), turn.shape)
        turn = np.where(total[:, None] > 0, turn, none)
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
    wrist = target.place - (_hand(rotations, side, target.palm) - places[:, end])
    goal = np.where((target.weight > 0)[:, None], wrist, places[:, end])
    new_upper, new_middle, _ = solve_limb(limb, places[:, upper], goal, rotations[:, upper], rotations[:, middle])
    turn = multiply(new_middle, conjugate(rotations[:, middle]))
    rotations[:, end] = multiply(turn, rotations[:, end])
    rotations[:, upper], rotations[:, middle] = new_upper, new_middle


def _hand(rotations: Array, side: str, length: float) -> Array:
    """What is `length` meters from the wrist (T, 3) along the hand, relative to the hips."""
    hand = MODEL_SKELETON.index(side + "Hand")
    out = np.array([length if side == "Left" else -length, 0.0, 0.0])
    turned = rotate(rotations[:, hand], np.broadcast_to(out, (len(rotations), 3)))
    places: Array = MODEL_SKELETON.positions(np.zeros(3), rotations)[:, hand] + turned
    return places


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
    return _hand(track.rotations, side, length) + track.hips
