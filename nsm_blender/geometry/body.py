# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies as capsules: how deep they are in the things around them, and what they are for others: moving colliders."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array, between, make_continuous
from ..motion.skeleton import MODEL_SKELETON
from .colliders import Collider, Cuboids, Surroundings


@dataclass(frozen=True)
class BodySize:
    """Sizes of a standing body in metres, with which ways and places are planned.

    height, crouched: of the crown over the soles, upright, and walking crouched as low as can be. hips: over the soles,
    below which a thing is met by the legs alone. ankle: over the soles, below which things are stepped over unnoticed.
    radius: that ways keep free about the root. half_width: of shoulders and arms, that a body which acts in one place
    needs. trunk: about the middle of a body that bends. chest: from a backrest to what a sitter slides in behind.
    shuffling: from the root to low things that a body needs which goes sideways past them: an aisle of 24 cm between a
    sofa and a coffee table is the narrowest that people shuffle along.
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
GIVE = 0.05
"""Metres by which these parts may be in what is used before that counts as depth: flesh and upholstery give way."""
ARMS_GIVE = 0.015
"""Metres by which arms may be in what a body sits on: they rest on wood as well."""
_SHARES = np.array([0.1, 0.4, 0.7, 1.0])
_REACH = 1.6
_ENDS = np.array([MODEL_SKELETON.indices(bone[:2]) for bone in CAPSULES])
RADII = np.repeat([radius for _, _, radius in CAPSULES], len(_SHARES))
"""Metres (P,): radii at the points of `bone_points`,"""
OWNERS = np.repeat([bone[0] for bone in CAPSULES], len(_SHARES))
"""and the bones (P,) that they are on."""
SHARES = np.tile(_SHARES, len(CAPSULES))
"""Shares (P,) of its bone's length at which each lies."""
_SITS, _ARMS = np.isin(OWNERS, SITTING), np.char.endswith(OWNERS, "Arm")


def depth(
    places: Array,
    frame: float,
    surroundings: Surroundings,
    used: Collection[str],
    sits: bool,
    handles: bool,
    give: float = GIVE,
) -> float:
    """Deepest metres by which a body with joints at `places` (J, 3) is in a thing, outside intended contacts.

    frame: of the things' poses. used: names of the things that are used: while the body sits, the parts that it sits
    with may press by `give` meters into them, and while it handles things, the arms. Measured from points on the
    bones: a point inside of a cuboid counts with its radius and its way out.
    """
    points = bone_points(places)
    near = surroundings.near(frame, places[0], _REACH)
    if not len(near):
        return 0.0
    off = np.einsum("pni,nij->pnj", points[:, None] - near.centre, near.rotation)
    gap = np.abs(off) - near.half
    away = np.linalg.norm(np.maximum(gap, 0), axis=-1) + np.minimum(gap.max(axis=-1), 0)
    deep = RADII[:, None] - away
    own = np.isin(near.owner, [near.names.index(name) for name in used])
    deep -= np.minimum(gives(np.array(sits), np.array(handles)), give)[:, None] * own
    return max(float(deep.max()), 0.0)


def bone_points(places: Array) -> Array:
    """Points (..., P, 3) along the bones of bodies with joints at `places` (..., J, 3), whose radii are RADII."""
    first, last = places[..., _ENDS[:, 0], None, :], places[..., _ENDS[:, 1], None, :]
    return np.asarray((first + _SHARES[:, None] * (last - first)).reshape(*places.shape[:-2], -1, 3))


def gives(sits: Array, handles: Array) -> Array:
    """Metres (..., P) by which points of a body that sits (...), or handles (...) a thing, are let be in what it uses:
    infinite for the parts that sit and for arms that handle it."""
    sits, handles = np.asarray(sits)[..., None], np.asarray(handles)[..., None]
    free = (sits & _SITS) | (handles & _ARMS)
    return np.where(free, np.inf, np.where(sits & _ARMS, ARMS_GIVE, 0.0))


def solid(places: Array) -> tuple[Array, Array]:
    """Points (P, 3) along the bones of trunk, head and legs of a body with joints at `places` (J, 3), and their radii
    (P,): the arms, which reach for things, are left out."""
    return bone_points(places)[~_ARMS], RADII[~_ARMS]


def as_colliders(name: str, places: Array) -> list[Collider]:
    """A body that moves with its joints at `places` (F, J, 3) as a thing that others walk round: trunk, head, legs.

    name: of the character. The arms, which swing, are left out.
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
    return poses[:1] if np.ptp(poses, axis=0).max() < 1e-4 else poses
