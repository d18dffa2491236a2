# SPDX-License-Identifier: GPL-3.0-or-later
"""A rig's mesh as plain data, and points of it that move with the keyed bones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array, rotate
from .joints import RigInfo
from .rest_pose import RestPose

_WEIGHTS = 4
"""Bones that move a vertex at most, as in game engines: the strongest ones."""
_ALONG = 0.98
"""Cosine of the angle between two bones from which one can show what the other does."""
_BESIDE = 0.02
"""Share of the leg's length within which a bone's middle lies on another bone that it shows."""


@dataclass(frozen=True, eq=False)
class Skin:
    """The meshes that an armature moves, in the rest pose.

    vertices: (V, 3) in the armature's space. bones: names. owners: (V, W) indices in `bones`. weights: (V, W) of these,
    not negative; 0 where a vertex has fewer.
    """

    vertices: Array
    bones: tuple[str, ...]
    owners: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class SkinPoints:
    """P points that hang on bones of a rig as an armature moves them: by the weighted mean of their places.

    bones: (P, W) indices. offsets: (P, W, 3) meters from each bone's head in the T-pose. weights: (P, W) that sum to 1.
    """

    bones: Array
    offsets: Array
    weights: Array

    def __len__(self) -> int:
        return len(self.bones)

    def of(self, numbers: Array) -> SkinPoints:
        """Those of some numbers (N,)."""
        return SkinPoints(self.bones[numbers], self.offsets[numbers], self.weights[numbers])

    @property
    def owners(self) -> Array:
        """The bone (P,) with the largest weight of each."""
        return np.asarray(self.bones[np.arange(len(self)), self.weights.argmax(axis=1)])

    @property
    def own_offsets(self) -> Array:
        """Meters (P, 3) from the head of that bone in the T-pose."""
        return np.asarray(self.offsets[np.arange(len(self)), self.weights.argmax(axis=1)])

    def posed(self, places: Array, turns: Array) -> Array:
        """Places (T, P, 3), where the bones' heads are at (T, B, 3) and the bones turned by (T, B, 4) from the
        T-pose."""
        out = np.zeros((len(places), len(self), 3))
        for column in range(self.bones.shape[1]):
            on = np.flatnonzero(self.weights[:, column] > 0)
            bones, offsets = self.bones[on, column], self.offsets[on, column]
            moved = rotate(turns[:, bones], np.broadcast_to(offsets, (len(turns), len(on), 3)))
            out[:, on] += self.weights[on, column, None] * (places[:, bones] + moved)
        return out


def hung(skin: Skin, rig: RigInfo, pose: RestPose) -> SkinPoints:
    """All vertices that keyed bones move, themselves or through bones that follow them."""
    follows = _follows(rig, pose)
    number = np.array([follows.get(name, -1) for name in skin.bones], dtype=int)
    strongest = np.argsort(-skin.weights, axis=1, kind="stable")[:, :_WEIGHTS]
    weights = np.take_along_axis(skin.weights, strongest, axis=1).astype(np.float64)
    bones = number[np.take_along_axis(skin.owners, strongest, axis=1)]
    weights[bones < 0] = 0.0
    kept = weights.sum(axis=1) > 0
    bones, weights = np.maximum(bones[kept], 0), weights[kept]
    weights /= weights.sum(axis=1, keepdims=True)
    rests = np.array([rig.bones[rig.numbers[name]].rest for name in pose.bones])
    heads = np.array([rig.heads[rig.numbers[name]] for name in pose.bones])
    away = (skin.vertices[kept].astype(np.float64)[:, None] - heads[bones]) * rig.size
    offsets = rotate(pose.axes[bones], np.einsum("pwji,pwj->pwi", rests[bones], away))
    return SkinPoints(bones, offsets, weights)


def _follows(rig: RigInfo, pose: RestPose) -> dict[str, int]:
    """Bone -> index of the keyed bone that moves it: itself, one that lies where it lies, or its parent's."""
    keyed = {name: number for number, name in enumerate(pose.bones)}
    numbers = [rig.numbers[name] for name in pose.bones]
    heads, tails = rig.heads[numbers], rig.tails[numbers]
    length = np.maximum(np.linalg.norm(tails - heads, axis=1), 1e-12)
    along = (tails - heads) / length[:, None]
    near = _BESIDE * pose.leg_length / rig.size
    out: dict[str, int] = {}
    for bone in rig.bones:
        if bone.name in keyed:
            out[bone.name] = keyed[bone.name]
            continue
        middle = (bone.head + bone.tail) / 2
        share = np.einsum("ki,ki->k", middle - heads, along)
        beside = np.linalg.norm(heads + np.clip(share, 0, length)[:, None] * along - middle, axis=1)
        beside[along @ ((bone.tail - bone.head) / max(bone.length, 1e-12)) < _ALONG] = np.inf
        if beside.min() < near:
            out[bone.name] = int(beside.argmin())
        elif bone.parent in out:
            out[bone.name] = out[bone.parent]
    return out
