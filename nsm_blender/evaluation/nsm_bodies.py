# SPDX-License-Identifier: GPL-3.0-or-later
"""How deep a moving body is in the things around it, and how lively it moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..geometry.colliders import Surroundings
from ..models.nsm import ACTIONS, FPS
from ..motion.motion import Motion
from ..motion.rotations import Array, conjugate, multiply, to_exponential_map
from ..motion.skeleton import MODEL_SKELETON

CAPSULES = (
    ("Hips", "Spine2", 0.11),
    ("Neck", "Head", 0.07),
    ("LeftUpLeg", "LeftLeg", 0.07),
    ("RightUpLeg", "RightLeg", 0.07),
    ("LeftLeg", "LeftFoot", 0.05),
    ("RightLeg", "RightFoot", 0.05),
    ("LeftArm", "LeftForeArm", 0.04),
    ("RightArm", "RightForeArm", 0.04),
    ("LeftForeArm", "LeftHand", 0.03),
    ("RightForeArm", "RightHand", 0.03),
)
"""Bones from joint to joint, and their radii in metres."""
SITTING = ("Hips", "LeftUpLeg", "RightUpLeg")
"""Bones that lie on what one sits on, and hands rest on it; arms touch what is carried or opened."""
_SHARES = np.array([0.1, 0.4, 0.7, 1.0])
_ACTIVE = 0.2
_EVERY = 3
_REACH = 1.6


def penetration(motion: Motion, surroundings: Surroundings, used: Sequence[str]) -> Array:
    """Deepest metres (F,) by which the body is in a thing, every third frame, outside intended contacts.

    used: names of the things that the motion uses: while it sits, the parts that one sits with may touch them, and
    while it carries or opens, the arms. Measured from points on the bones: a point inside counts with its radius.
    """
    ends = [MODEL_SKELETON.indices(bone[:2]) for bone in CAPSULES]
    radii = np.repeat([radius for _, _, radius in CAPSULES], len(_SHARES))
    owners = np.repeat([bone[0] for bone in CAPSULES], len(_SHARES))
    sits, arms = np.isin(owners, SITTING), np.char.endswith(owners, "Arm")
    columns = [ACTIONS.index(name) for name in ("sit", "carry", "open")]
    out = []
    for frame in range(0, len(motion), _EVERY):
        p = motion.positions[frame].astype(float)
        points = np.concatenate([p[a] + _SHARES[:, None] * (p[b] - p[a]) for a, b in ends])
        sitting, *handling = motion.actions[frame, columns] > _ACTIVE
        near = surroundings.near(frame * 1.0, p[0], _REACH)
        allowed = (sits | arms if sitting else np.zeros(len(points), dtype=bool)) | (arms if any(handling) else False)
        depth = np.maximum(radii - near.without(list(used)).distance(points), 0)
        own = np.maximum(radii - near.of(list(used)).distance(points), 0)
        own[allowed] = 0
        out.append(max(depth.max(), own.max()))
    return np.array(out)


def motion_detail(motion: Motion) -> float:
    """Mean change in degrees of a joint's angle from frame to frame at 60 fps."""
    above = [max(parent, 0) for parent in motion.parents]
    local = multiply(conjugate(motion.rotations[:, above]), motion.rotations)[:, 1:]
    change = to_exponential_map(multiply(local[1:], conjugate(local[:-1])))
    return float(np.degrees(np.linalg.norm(change, axis=-1).mean()) * motion.fps / FPS)
