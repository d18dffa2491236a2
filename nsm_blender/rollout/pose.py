# SPDX-License-Identifier: GPL-3.0-or-later
"""Network outputs to world transforms with rigid bones, for a whole rollout at once (PFNN 6)."""

from __future__ import annotations

import numpy as np

from ..models.pfnn import OUTPUT
from ..motion.filters import gaussian
from ..motion.ik import LEFT_LEG, RIGHT_LEG, Limb, solve_limb
from ..motion.rotations import (
    Array,
    between,
    conjugate,
    from_exponential_map,
    from_yaw,
    multiply,
    rotate,
    to_exponential_map,
    wrap_angle,
)
from ..motion.skeleton import MODEL_SKELETON
from ..stepwise import Stepwise, by_frames, finished
from .pfnn import Record

COMFORTABLE, FARTHEST_ASIDE = np.radians(25), np.radians(34)
"""Radians between foot and pelvis, seen from above, up to which a foot stays as it is, and which it never passes: it
pivots on its ball instead."""
_LEVEL = 0.5
"""Share of a foot's length over the ground from which its direction counts in full."""
_TURNS = 0.05
"""Seconds over which the pivoting is smoothed."""
LEGS: dict[str, Limb] = {"Left": LEFT_LEG, "Right": RIGHT_LEG}


def decode(record: Record, rotation_reference: Array) -> tuple[Array, Array, Array]:
    """World pose of every frame of a rollout.

    Returns hips (T, 3), world rotations (T, J, 4) and the network's own joint places (T, J, 3); all
    float64. Rotations alone give rigid bones; the places are what the feet should meet.
    """
    return finished(decoding(record, rotation_reference))


def decoding(record: Record, rotation_reference: Array) -> Stepwise[tuple[Array, Array, Array]]:
    """`decode` in pieces."""
    joints = len(MODEL_SKELETON)

    def yawed(root: Array) -> Array:
        return np.broadcast_to(from_yaw(root[:, 3])[:, None], (len(root), joints, 4))

    def turned(y: Array, root: Array) -> Array:
        maps = y[:, OUTPUT.joint_rotation].reshape(len(y), joints, 3).astype(np.float64)
        reference = np.broadcast_to(rotation_reference.astype(np.float64), (len(y), joints, 4))
        return multiply(yawed(root), multiply(reference, from_exponential_map(maps)))

    def placed(y: Array, root: Array) -> Array:
        places = y[:, OUTPUT.joint_position].reshape(len(y), joints, 3).astype(np.float64)
        return rotate(yawed(root), places) + root[:, None, :3]

    rotations = yield from by_frames(turned, record.y, record.root)
    yield
    world = yield from by_frames(placed, record.y, record.root)
    return world[:, 0], rotations, world


def joint_places(hips: Array, rotations: Array) -> Array:
    """Forward kinematics of the model skeleton: (T, J, 3) from hips (T, 3) and world rotations (T, J, 4)."""
    return MODEL_SKELETON.positions(hips, rotations)


def toe_of(ankle: Array, foot_rotation: Array, side: str) -> Array:
    """Place of the toe joint (T, 3) for an ankle (T, 3) and the foot's world rotation (T, 4)."""
    toe = MODEL_SKELETON.index(side + "Toe")
    return ankle + rotate(foot_rotation, np.broadcast_to(MODEL_SKELETON.offsets[toe], ankle.shape))


def hip_joint(hips: Array, rotations: Array, side: str) -> Array:
    """Place of the upper leg joint (T, 3)."""
    upper = MODEL_SKELETON.index(side + "UpLeg")
    return hips + rotate(rotations[:, 0], np.broadcast_to(MODEL_SKELETON.offsets[upper], hips.shape))


def limit_elbows(rotations: Array) -> Array:
    """World rotations (T, J, 4) whose elbows are not bent backward; the hand turns with its forearm."""
    out = rotations.copy()
    for side in ("Left", "Right"):
        arm, forearm, hand = MODEL_SKELETON.indices([side + "Arm", side + "ForeArm", side + "Hand"])
        bone = np.broadcast_to(MODEL_SKELETON.offsets[hand], out[:, 0, :3].shape)
        now = rotate(out[:, forearm], bone)
        seen = rotate(conjugate(out[:, arm]), now)
        # Seen from the upper arm in the T-pose, a bent forearm points forward, which is -y.
        seen[:, 1] = np.minimum(seen[:, 1], 0)
        turn = between(now, rotate(out[:, arm], seen))
        out[:, forearm] = multiply(turn, out[:, forearm])
        out[:, hand] = multiply(turn, out[:, hand])
    return out


def limit_feet(rotations: Array, fps: float) -> Array:
    """World rotations (T, J, 4) whose feet point no farther aside from where the pelvis faces than hips turn."""
    out = rotations.copy()
    # Both hip joints lie on the pelvis' x-axis, which tells where it faces even while it leans.
    yaw = _yaw(rotations[:, 0], np.array([1.0, 0.0, 0.0]))[0] - np.pi / 2
    for side in ("Left", "Right"):
        foot, toe = MODEL_SKELETON.indices([side + "Foot", side + "Toe"])
        bone = MODEL_SKELETON.offsets[toe].astype(np.float64)
        pointing, level = _yaw(rotations[:, foot], bone / np.linalg.norm(bone))
        aside = wrap_angle(pointing - yaw)
        beyond = np.maximum(np.abs(aside) - COMFORTABLE, 0) / (FARTHEST_ASIDE - COMFORTABLE)
        limited = COMFORTABLE + (FARTHEST_ASIDE - COMFORTABLE) * (1 - np.exp(-beyond))
        turn = np.where(beyond > 0, np.sign(aside) * limited - aside, 0)
        # A foot that hangs down points nowhere.
        turn = gaussian(turn * np.clip(level / _LEVEL, 0, 1), _TURNS * fps)
        out[:, [foot, toe]] = multiply(from_yaw(turn)[:, None], out[:, [foot, toe]])
    return out


def pivoted(places: Array, rotations: Array) -> Array:
    """Joint places (T, J, 3) whose ankles are where the feet's world rotations (T, J, 4) put them about the balls."""
    out = places.copy()
    for side in ("Left", "Right"):
        foot, toe = MODEL_SKELETON.indices([side + "Foot", side + "Toe"])
        out[:, foot] = 2 * out[:, toe] - toe_of(out[:, toe], rotations[:, foot], side)
    return out


def _yaw(rotations: Array, direction: Array) -> tuple[Array, Array]:
    """Angles (T,) about +Z of a direction (3,) under rotations (T, 4), and its share (T,) over the ground."""
    seen = rotate(rotations, np.broadcast_to(direction, (len(rotations), 3)))
    return np.arctan2(seen[:, 0], -seen[:, 1]), np.hypot(seen[:, 0], seen[:, 1])


def reach_ankles(hips: Array, rotations: Array, ankles: dict[str, Array]) -> Array:
    """World rotations (T, J, 4) with the legs bent so that the ankles are at `ankles[side]` (T, 3)."""
    out = rotations.copy()
    for side, limb in LEGS.items():
        upper, middle = MODEL_SKELETON.indices([limb.upper, limb.middle])
        out[:, upper], out[:, middle], _ = solve_limb(
            limb, hip_joint(hips, rotations, side), ankles[side], rotations[:, upper], rotations[:, middle]
        )
    return out


NECK_SHARE = 0.4
"""Share of a turn of the head that the neck has."""
GAZE_LIMIT = np.radians(70)
"""Radians from where the chest points by which the face turns away at most."""
_AHEAD = np.array([0.0, -1.0, 0.0])
_NECK, _HEAD, _CHEST = MODEL_SKELETON.indices(["Neck", "Head", "Spine2"])


def look_at(places: Array, rotations: Array, targets: Array, weight: Array) -> Array:
    """World rotations (T, J, 4) with the face turned toward targets (T, 3), as much as weight (T,) says.

    places: (T, J, 3) joints. Neck and head share the turn; the face stays within GAZE_LIMIT of where the chest points.
    """
    on = np.flatnonzero(weight > 0)
    out = rotations.copy()
    if not len(on):
        return out
    chest, face = (rotate(rotations[on, joint], np.broadcast_to(_AHEAD, (len(on), 3))) for joint in (_CHEST, _HEAD))
    turn = to_exponential_map(between(chest, targets[on] - places[on, _HEAD]))
    angle = np.linalg.norm(turn, axis=1, keepdims=True)
    wanted = rotate(from_exponential_map(turn * np.minimum(1, GAZE_LIMIT / np.maximum(angle, 1e-9))), chest)
    turn = weight[on, None] * to_exponential_map(between(face, wanted))
    for joint, share in ((_NECK, NECK_SHARE), (_HEAD, 1.0)):
        out[on, joint] = multiply(from_exponential_map(share * turn), rotations[on, joint])
    return out
