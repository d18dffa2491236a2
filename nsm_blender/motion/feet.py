# SPDX-License-Identifier: GPL-3.0-or-later
"""Leveling of a recording's floor, and of feet whose rest pose does not define their roll, from the frames in which the
feet stand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .clip import Clip
from .rotations import Array, between, conjugate, from_axis_angle, make_continuous, multiply, normalize, rotate
from .skeleton import ANKLE_HEIGHT, MODEL_SKELETON, TOE_HEIGHT

_SLOW = 0.25
"""Speed in m/s below which the toe stands."""
_ABOVE = 0.04
"""Height in meters of heel and toe above their standing height up to which the foot stands flat and not on its tip."""
_LEAST_SECONDS = 0.2
"""Least time in seconds that a foot must stand in a clip to be leveled."""
_MOST_ROLL = np.radians(50)
"""Largest roll in radians that is believed."""
_PLANTED = 0.15
"""Speed in m/s below which a toe is planted on the floor."""
_HIGHEST_FLOOR = 0.1
"""Height in meters above z = 0 up to which a planted toe may stand on the floor of a badly calibrated capture."""
_FIT_WIDTHS = np.geomspace(0.04, 0.01, 12)
"""Distances in meters from the plane at which a planted toe counts for a quarter, from the first fit to the last."""
_USUAL_SLOPE = 0.03
"""Slope of a floor, as a number, that a capture's calibration easily leaves (measured: up to 0.08)."""
_STEPS = 6
"""Independent places that the planted toes of a clip are worth against `_USUAL_SLOPE`."""
_LEAST_SHARE = 0.5
"""Least share of the planted toes that lie within 2 cm of the plane when there is one floor and no stairs."""


def level_floor(clip: Clip) -> Clip:
    """Move and tilt the clip as a whole so that the floor under its planted toes is the plane z = 0.

    Optical captures are calibrated to a centimeter or two: the floors of ACCAD's box takes slope by up to 8 % and lie 2
    to 5 cm too high, so that a character that crosses them floats. A plane is fitted robustly to the planted toes,
    from the lowest tenth on, with slopes drawn to zero where the clip hardly leaves its place. A clip that stands on
    several levels is left alone, as is one whose feet are hardly ever planted. The clip's joints carry the model's
    names.
    """
    if len(clip) < 2:
        return clip
    positions, _ = clip.world()
    toes = positions[:, clip.skeleton.indices(("LeftToe", "RightToe"))]
    speed = np.linalg.norm(np.gradient(toes, axis=0), axis=-1) * clip.fps
    planted = toes[(speed < _PLANTED) & (toes[..., 2] < TOE_HEIGHT + _HIGHEST_FLOOR)]
    if len(planted) < _LEAST_SECONDS * clip.fps:
        return clip
    middle = np.append(planted[:, :2].mean(0), 0.0)
    terms = np.concatenate([np.ones((len(planted), 1)), planted[:, :2] - middle[:2]], axis=1)
    plane = np.array([np.percentile(planted[:, 2], 10), 0.0, 0.0])
    for width in _FIT_WIDTHS:
        weights = 1 / (1 + ((planted[:, 2] - terms @ plane) / width) ** 2) ** 2
        steadying = np.array([0.0, 1.0, 1.0]) * weights.sum() * (width / _USUAL_SLOPE) ** 2 / _STEPS
        normal = terms.T @ (terms * weights[:, None]) + np.diag(steadying)
        plane = np.linalg.solve(normal, terms.T @ (weights * planted[:, 2]))
    if np.mean(np.abs(planted[:, 2] - terms @ plane) < 2 * _FIT_WIDTHS[-1]) < _LEAST_SHARE:
        return clip
    upward = normalize(np.array([-plane[1], -plane[2], 1.0]))
    turn = between(upward, np.array([0.0, 0.0, 1.0])).astype(clip.rotations.dtype)
    middle[2] = plane[0]
    root = rotate(np.broadcast_to(turn, (len(clip), 4)), clip.root - middle) + np.append(middle[:2], TOE_HEIGHT)
    rotations = clip.rotations.copy()
    rotations[:, 0] = multiply(np.broadcast_to(turn, (len(clip), 4)), rotations[:, 0])
    return replace(clip, root=root.astype(clip.root.dtype), rotations=make_continuous(rotations))


def level_feet(clip: Clip) -> Clip:
    """Roll each foot about the line from ankle to toe so that it is level, on average, in stance.

    No joint moves; only the meaning of "not rolled" changes. Recordings whose rest pose has the legs apart come with
    feet that stand on their edges by as much (20 degrees in CMU's). A foot that hardly stands in the clip is left
    alone. The clip's joints carry the model's names; the floor is at z = 0.
    """
    positions, rotations = clip.world()
    skeleton = clip.skeleton
    out = rotations.copy()
    for side in ("Left", "Right"):
        foot, toe = skeleton.indices((side + "Foot", side + "Toe"))
        stance = _stance(positions[:, foot], positions[:, toe], -skeleton.offsets[toe, 2], clip.fps)
        if np.count_nonzero(stance) < _LEAST_SECONDS * clip.fps:
            continue
        turns = rotations[stance, foot]
        up = rotate(conjugate(turns), np.broadcast_to(np.array([0, 0, 1], turns.dtype), (len(turns), 3))).mean(0)
        roll = _angle_about(normalize(skeleton.offsets[toe]), np.array([0.0, 0.0, 1.0]), up)
        if abs(roll) > _MOST_ROLL:
            continue
        turn = from_axis_angle(normalize(skeleton.offsets[toe]), np.asarray(roll)).astype(rotations.dtype)
        for joint in (foot, toe):
            out[:, joint] = multiply(rotations[:, joint], np.broadcast_to(turn, rotations[:, joint].shape))
    return replace(clip, rotations=make_continuous(skeleton.local_rotations(out)))


def lowest_foot(positions: Array) -> Array:
    """Height (T,) in meters above z = 0 of the lower foot's lower end, of joints (T, J, 3) of the model skeleton: about
    zero while a foot stands, on its tip, its heel or flat."""
    joints = MODEL_SKELETON.indices(("LeftToe", "RightToe", "LeftFoot", "RightFoot"))
    above = positions[:, joints, 2] - [TOE_HEIGHT, TOE_HEIGHT, ANKLE_HEIGHT, ANKLE_HEIGHT]
    return np.asarray(above.min(axis=1))


def _stance(ankle: Array, toe: Array, rise: float, fps: float) -> Array:
    """Mask (T,) of the frames in which a foot stands flat. rise: of the ankle above the toe in the rest pose, in
    meters."""
    if len(toe) < 2:
        return np.zeros(len(toe), dtype=bool)
    speed = np.linalg.norm(np.gradient(toe, axis=0), axis=-1) * fps
    highest = max(TOE_HEIGHT + rise, ANKLE_HEIGHT) + _ABOVE
    out: Array = (speed < _SLOW) & (toe[:, 2] < TOE_HEIGHT + _ABOVE) & (ankle[:, 2] < highest)
    return out


def _angle_about(axis: Array, a: Array, b: Array) -> float:
    """Angle in radians about the unit `axis` that turns `a` nearest to `b`."""
    a, b = a - axis * (axis @ a), b - axis * (axis @ b)
    return float(np.arctan2(axis @ np.cross(a, b), a @ b))
