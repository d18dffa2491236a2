# SPDX-License-Identifier: GPL-3.0-or-later
"""Retargets clips of any performer's proportions to the model skeleton without foot sliding."""

from __future__ import annotations

import numpy as np

from .clip import Clip
from .filters import gaussian
from .ik import LEFT_LEG, RIGHT_LEG, Limb, solve_limb
from .rotations import Array, make_continuous, rotate
from .skeleton import MODEL_SKELETON, TOE_HEIGHT, Skeleton

_HIGHER = 0.04
"""Meters by which a foot is higher than the other when it carries a share of 1/e of what the other carries."""
_SMOOTH_CORRECTION = 0.04
"""Standard deviation in seconds of the filter on the hips' correction in height, with which the carrying foot
changes."""
_SAME = 1e-5
"""Meters by which joints of a skeleton may lie beside the model's for it to be the model itself; a clip file's float32
explains a hundredth of that."""


def leg_length(skeleton: Skeleton) -> float:
    """Length in meters from hip joint to ankle along the bones, mean of both sides."""
    joints = skeleton.indices(["LeftLeg", "LeftFoot", "RightLeg", "RightFoot"])
    return float(np.linalg.norm(skeleton.offsets[joints], axis=1).sum() / 2)


def stride_ratio(skeleton: Skeleton) -> float:
    """Factor on distances over the ground, from `skeleton` to the model.

    Legs and feet together span a stride; with the legs' ratio alone a short foot is out of reach behind.
    """

    def span(s: Skeleton) -> float:
        return leg_length(s) + float(np.linalg.norm(s.offsets[s.index("LeftToe")]))

    return min(span(MODEL_SKELETON) / span(skeleton), leg_length(MODEL_SKELETON) / leg_length(skeleton))


def is_model(skeleton: Skeleton) -> bool:
    """Whether a skeleton with the model's joints has its proportions and its size."""
    order = skeleton.indices(MODEL_SKELETON.names)
    return float(np.abs(skeleton.offsets[order] - MODEL_SKELETON.offsets).max()) < _SAME


def to_model_skeleton(clip: Clip) -> Clip:
    """Retarget the clip to MODEL_SKELETON.

    World rotations are copied joint by joint. The ground plane is scaled as a whole, so a planted toe stays planted;
    the legs are then solved again (two bones) for the ankle places that belong to the scaled toes, because thigh, shin
    and foot differ in proportion. The clip's joints must be named as the model's (see `canonical`).
    """
    target = MODEL_SKELETON
    order = clip.skeleton.indices(target.names)
    positions, rotations = clip.world()
    positions, rotations = positions[:, order], rotations[:, order].copy()
    height_scale = leg_length(target) / leg_length(clip.skeleton)
    scale = np.array([1.0, 1.0, 0.0]) * stride_ratio(clip.skeleton) + np.array([0.0, 0.0, height_scale])

    hips = target.index("Hips")
    ankles = {side: _ankle_target(positions, rotations, side, scale) for side in ("Left", "Right")}
    uplegs = target.indices(["LeftUpLeg", "RightUpLeg"])
    # Over the ground the middle between the hip joints scales with the legs; in height the leg that carries
    # the weight keeps its bend.
    middle = target.offsets[uplegs].mean(0)
    root = scale * positions[:, uplegs].mean(1) - rotate(
        rotations[:, hips], np.broadcast_to(middle, positions[:, 0].shape)
    )
    heights = []
    for side, upleg in zip(("Left", "Right"), uplegs, strict=True):
        foot = target.index(side + "Foot")
        bent = scale * (positions[:, foot] - positions[:, upleg])
        offset = rotate(rotations[:, hips], np.broadcast_to(target.offsets[upleg], bent.shape))
        heights.append((ankles[side] - bent - offset)[:, 2])
    toes = height_scale * positions[:, target.indices(["LeftToe", "RightToe"]), 2]
    # Only the correction is smoothed, so that a jump keeps its height and its landing.
    missing = np.sum((np.stack(heights, axis=1) - root[:, 2:]) * _carrying(toes), axis=1)
    root[:, 2] += gaussian(missing, _SMOOTH_CORRECTION * clip.fps)

    for limb, side in ((LEFT_LEG, "Left"), (RIGHT_LEG, "Right")):
        _solve_leg(limb, root, rotations, ankles[side])
    local = make_continuous(target.local_rotations(rotations))
    return Clip(target, root, local, clip.fps, clip.meta)


def _carrying(toes: Array) -> Array:
    """Shares (T, 2) with which the feet carry the figure, by their heights (T, 2) in meters above the lower of them."""
    weights = np.exp(-(toes - toes.min(axis=1, keepdims=True)) / _HIGHER)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _ankle_target(positions: Array, rotations: Array, side: str, scale: Array) -> Array:
    """Place (T, 3) of the ankle when the toe is at its scaled place and the foot keeps its rotation."""
    toe, foot = MODEL_SKELETON.indices([side + "Toe", side + "Foot"])
    place = positions[:, toe] * scale
    place[:, 2] = TOE_HEIGHT + scale[2] * (positions[:, toe, 2] - TOE_HEIGHT)
    return place - rotate(rotations[:, foot], np.broadcast_to(MODEL_SKELETON.offsets[toe], place.shape))


def _solve_leg(limb: Limb, root: Array, rotations: Array, ankle: Array) -> None:
    """Bend one leg of world `rotations` (T, J, 4) in place so that its ankle is at `ankle` (T, 3)."""
    upper, middle = MODEL_SKELETON.indices([limb.upper, limb.middle])
    hips = MODEL_SKELETON.index("Hips")
    origin = root + rotate(rotations[:, hips], np.broadcast_to(MODEL_SKELETON.offsets[upper], root.shape))
    rotations[:, upper], rotations[:, middle], _ = solve_limb(
        limb, origin, ankle, rotations[:, upper], rotations[:, middle]
    )
