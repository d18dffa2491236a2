# SPDX-License-Identifier: GPL-3.0-or-later
"""The body as capsules: its depth in colliders, and a moving body as a collider for other characters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array, between, make_continuous
from ..motion.skeleton import MODEL_SKELETON
from .colliders import Collider, Cuboids, Surroundings


@dataclass(frozen=True)
class BodySize:
    """Sizes of a standing body in meters, used for planning.

    height, crouched: of the crown over the soles, upright and in the deepest crouch of a walk. hips: over the soles; a
    thing below them meets the legs alone. ankle: over the soles; a thing below them is stepped over. radius: that paths
    keep free about the root. half_width: of shoulders and arms, needed by a body that acts in place. trunk: radius
    about the axis of a body that bends. chest: from a backrest to a thing that a sitter slides in behind. shuffling:
    from the root to low things beside a body that goes sideways past them: an aisle of 24 cm between a sofa and a
    coffee table is the narrowest that people shuffle along.
    """

    height: float = 1.75
    crouched: float = 1.3
    hips: float = 0.8
    ankle: float = 0.08
    radius: float = 0.3
    half_width: float = 0.25
    trunk: float = 0.2
    chest: float = 0.33
    shuffling: float = 0.12


BODY = BodySize()
"""The sizes of the model skeleton's body."""

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
"""The body's capsules: first joint, last joint and radius in meters of each."""
SITTING = ("Hips", "LeftUpLeg", "RightUpLeg")
"""Capsules that rest on the seat while the body sits, and on which the hands may lie."""
GIVE = 0.05
"""Depth in meters that an intended contact may have before it counts: flesh and upholstery give way."""
ARMS_GIVE = 0.015
"""Depth in meters that arms may have in the seat that the body uses: arms rest on wood as well as on upholstery."""
_SHARES = np.array([0.1, 0.4, 0.7, 1.0])
"""Shares of a bone's length at which its capsule is sampled."""
_REACH = 1.6
"""Distance in meters from the hips within which colliders can touch the body."""
_ENDS = np.array([MODEL_SKELETON.indices(bone[:2]) for bone in CAPSULES])
"""First and last joint index (C, 2) of each capsule."""
RADII = np.repeat([radius for _, _, radius in CAPSULES], len(_SHARES))
"""Capsule radii (P,) in meters at the points of `bone_points`."""
OWNERS = np.repeat([bone[0] for bone in CAPSULES], len(_SHARES))
"""Names (P,) of the bones that the points of `bone_points` lie on."""
SHARES = np.tile(_SHARES, len(CAPSULES))
"""Shares (P,) of the bone's length at which the points of `bone_points` lie."""
_ARM_JOINTS = tuple(side + part for side in ("Left", "Right") for part in ("Arm", "ForeArm", "Hand"))
"""Joints of the arms."""
_ARMS = np.isin(OWNERS, _ARM_JOINTS)
"""Mask (P,) of the points on the arms."""


def depth(
    places: Array,
    frame: float,
    surroundings: Surroundings,
    used: Collection[str],
    sits: bool,
    handles: bool,
    give: float = GIVE,
) -> float:
    """Deepest penetration in meters of a body with joints at `places` (J, 3) into colliders, intended contacts
    excepted.

    frame: of the colliders' poses. used: names of the colliders in use: while the body sits, its sitting capsules may
    press `give` meters into them, and while it handles them, its arms may. Measured at points on the bones: a point
    inside a cuboid counts with its radius and its way out.
    """
    points = bone_points(places)
    return depth_of_points(points, RADII, OWNERS, places[0], frame, surroundings, used, sits, handles, give)


def depth_of_points(
    points: Array,
    radii: Array | float,
    owners: Array,
    middle: Array,
    frame: float,
    surroundings: Surroundings,
    used: Collection[str],
    sits: bool,
    handles: bool,
    give: float = GIVE,
) -> float:
    """The same of balls of radii (P,) around points (P, 3) of a body with its hips at `middle` (3,). owners: (P,) names
    of the joints that move them."""
    near = surroundings.near(frame, middle, _REACH)
    if not len(near):
        return 0.0
    off = np.einsum("pni,nij->pnj", points[:, None] - near.center, near.rotation)
    gap = np.abs(off) - near.half
    away = np.linalg.norm(np.maximum(gap, 0), axis=-1) + np.minimum(gap.max(axis=-1), 0)
    deep = np.reshape(radii, (-1, 1)) - away
    own = np.isin(near.owner, [near.names.index(name) for name in used])
    allowed = np.minimum(gives(np.array(sits), np.array(handles), owners), give)
    deep -= np.where(own, allowed[:, None], 0.0)  # no product: an infinite depth may be allowed
    return max(float(deep.max()), 0.0)


def bone_points(places: Array) -> Array:
    """Points (..., P, 3) along the bones of bodies with joints at `places` (..., J, 3); RADII are their radii."""
    first, last = places[..., _ENDS[:, 0], None, :], places[..., _ENDS[:, 1], None, :]
    return np.asarray((first + _SHARES[:, None] * (last - first)).reshape(*places.shape[:-2], -1, 3))


def radii_of(capsules: Sequence[float]) -> Array:
    """Radii (P,) at the points of `bone_points` of a body whose capsules have these; none takes the model's."""
    return np.repeat(np.asarray(capsules, dtype=float), len(_SHARES)) if len(capsules) else RADII


def gives(sits: Array, handles: Array, owners: Array = OWNERS) -> Array:
    """Depths (..., P) in meters that intended contacts allow the body's points in the collider in use.

    sits, handles: (...) whether the body sits on it, and whether it handles it. owners: (P,) names of the joints that
    move the points. The depth is infinite for sitting capsules and for arms that handle the collider.
    """
    sits, handles = np.asarray(sits)[..., None], np.asarray(handles)[..., None]
    sitting, arms = np.isin(owners, SITTING), np.isin(owners, _ARM_JOINTS)
    free = (sits & sitting) | (handles & arms)
    return np.where(free, np.inf, np.where(sits & arms, ARMS_GIVE, 0.0))


def solid(places: Array) -> tuple[Array, Array]:
    """Points (P, 3) along the bones of trunk, head and legs of a body with joints at `places` (J, 3), and their radii
    (P,) in meters. The arms are left out: they reach for things."""
    return bone_points(places)[~_ARMS], RADII[~_ARMS]


def as_colliders(name: str, places: Array) -> list[Collider]:
    """A body that moves with its joints at `places` (F, J, 3) as colliders that other characters avoid: trunk, head,
    legs.

    name: of the character. The arms are left out: they swing.
    """
    out = []
    for start, end, radius in CAPSULES:
        if "Arm" in start:
            continue
        first, last = (places[:, MODEL_SKELETON.index(joint)].astype(float) for joint in (start, end))
        up = first - last if "Leg" in start else last - first
        half = np.array([radius, radius, float(np.linalg.norm(up, axis=1).max()) / 2 + radius])
        poses = np.concatenate(((first + last) / 2, _upright(up)), axis=1)
        out.append(Collider(f"{name} ({start})", Cuboids(np.zeros((1, 3)), half[None]), _short(poses)))
    return out


def _upright(along: Array) -> Array:
    """Quaternions (F, 4) that turn +Z along vectors (F, 3)."""
    up = np.broadcast_to([0.0, 0.0, 1.0], along.shape)
    return make_continuous(between(up, along))


def _short(poses: Array) -> Array:
    """The first pose alone where poses (F, 7) do not change."""
    return poses[:1] if np.ptp(poses, axis=0).max() < 1e-4 else poses
