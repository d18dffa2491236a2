# SPDX-License-Identifier: GPL-3.0-or-later
"""Joint hierarchies, forward kinematics, and the model skeleton that all three systems share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .rotations import Array, multiply, rotate


@dataclass(frozen=True, eq=False)
class Skeleton:
    """A joint tree; parents come before children, joint 0 is the root.

    Frame: Blender's (right-handed, Z up, meters). In the rest pose all world rotations are the identity; the figure
    stands in a T-pose and faces -Y, and its left hand points to +X. names: J joint names. parents: J parent indices, -1
    for the root. offsets: (J, 3) float64 meters, each joint's place relative to its parent in the rest pose.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets: Array

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Index of joint `name`; ValueError when there is none."""
        return self.names.index(name)

    def indices(self, names: Sequence[str]) -> list[int]:
        """Indices of several joints, in the order given."""
        return [self.names.index(n) for n in names]

    def children(self, joint: int) -> list[int]:
        """Indices of the joints with parent `joint`."""
        return [i for i, p in enumerate(self.parents) if p == joint]

    @cached_property
    def levels(self) -> tuple[tuple[Array, Array], ...]:
        """(joints, their parents) of each depth below the root, so that FK runs level by level."""
        depth = [0] * len(self)
        for j, p in enumerate(self.parents):
            depth[j] = 0 if p < 0 else depth[p] + 1
        out = []
        for d in range(1, max(depth) + 1):
            joints = [j for j in range(len(self)) if depth[j] == d]
            out.append((np.array(joints), np.array([self.parents[j] for j in joints])))
        return tuple(out)

    def rest_positions(self) -> Array:
        """Joint places (J, 3) in the rest pose, root at the origin."""
        out = np.zeros((len(self), 3))
        for j, p in enumerate(self.parents):
            out[j] = self.offsets[j] + (out[p] if p >= 0 else 0)
        return out

    def forward(self, root: Array, local: Array) -> tuple[Array, Array]:
        """Forward kinematics.

        root: (..., 3) world place of joint 0. local: (..., J, 4) rotations local to the parent.
        Returns world positions (..., J, 3) and world rotations (..., J, 4).
        """
        rotations = np.empty_like(local)
        rotations[..., 0, :] = local[..., 0, :]
        for joints, parents in self.levels:
            rotations[..., joints, :] = multiply(rotations[..., parents, :], local[..., joints, :])
        return self.positions(root, rotations), rotations

    def positions(self, root: Array, rotations: Array) -> Array:
        """World joint positions (..., J, 3) from the root place (..., 3) and world rotations (..., J, 4)."""
        offsets = self.offsets.astype(rotations.dtype)
        parents = np.array(self.parents[1:])
        bones = rotate(
            rotations[..., parents, :], np.broadcast_to(offsets[1:], (*rotations.shape[:-2], len(self) - 1, 3))
        )
        out = np.empty((*rotations.shape[:-1], 3), dtype=rotations.dtype)
        out[..., 0, :] = root
        for joints, above in self.levels:
            out[..., joints, :] = out[..., above, :] + bones[..., joints - 1, :]
        return out

    def local_rotations(self, rotations: Array) -> Array:
        """World rotations (..., J, 4) to rotations local to the parent."""
        out = rotations.copy()
        parents = np.array(self.parents[1:])
        inverse = rotations[..., parents, :] * np.array([1, -1, -1, -1], dtype=rotations.dtype)
        out[..., 1:, :] = multiply(inverse, rotations[..., 1:, :])
        return out


# (name, parent, offset): hip to ankle 0.838 m; Head is the base of the skull, the crown about 0.22 m higher.
# Proportions are the mean of seven performers; the forearm ends at the wrist.
_MODEL = (
    ("Hips", -1, (0.0, 0.0, 0.0)),
    ("LeftUpLeg", 0, (0.09414, -0.03948, -0.101)),
    ("LeftLeg", 1, (0.0, 0.0, -0.40642)),
    ("LeftFoot", 2, (0.0, 0.0, -0.43132)),
    ("LeftToe", 3, (0.0, -0.11816, -0.0318)),
    ("RightUpLeg", 0, (-0.09414, -0.03948, -0.101)),
    ("RightLeg", 5, (0.0, 0.0, -0.40642)),
    ("RightFoot", 6, (0.0, 0.0, -0.43132)),
    ("RightToe", 7, (0.0, -0.11816, -0.0318)),
    ("Spine", 0, (0.0, 0.0, 0.0)),
    ("Spine1", 9, (0.0, 0.0, 0.11635)),
    ("Spine2", 10, (0.0, 0.0, 0.11616)),
    ("Neck", 11, (0.0, -0.00092, 0.11635)),
    ("Head", 12, (0.0, 0.0, 0.18502)),
    ("LeftShoulder", 11, (0.0, -0.00092, 0.11635)),
    ("LeftArm", 14, (0.1852, 0.00807, 0.05765)),
    ("LeftForeArm", 15, (0.29527, 0.0, 0.0)),
    ("LeftHand", 16, (0.2545, 0.0, 0.0)),
    ("RightShoulder", 11, (0.0, -0.00092, 0.11635)),
    ("RightArm", 18, (-0.1852, 0.00807, 0.05765)),
    ("RightForeArm", 19, (-0.29527, 0.0, 0.0)),
    ("RightHand", 20, (-0.2545, 0.0, 0.0)),
)
"""Name, parent and offset in meters of each joint of the model skeleton."""

MODEL_SKELETON = Skeleton(
    names=tuple(name for name, _, _ in _MODEL),
    parents=tuple(parent for _, parent, _ in _MODEL),
    offsets=np.array([offset for _, _, offset in _MODEL]),
)
"""The skeleton of 22 joints that all models are trained on."""

TOE_HEIGHT = 0.02
"""Height in meters of the toe joint (ball of the foot) above the ground in stance."""

ANKLE_HEIGHT = TOE_HEIGHT + 0.0318
"""Height in meters of the foot joint (ankle) above the ground when the foot is flat."""

HIPS_HEIGHT = ANKLE_HEIGHT + 0.40642 + 0.43132 + 0.101
"""Height in meters of Hips when standing with straight legs."""

SEAT_BELOW_HIP_JOINTS = 0.087
"""Height in meters of a sitter's hip joints (LeftUpLeg, RightUpLeg) over the seat: the thigh and the flesh under it."""


CONTACT_JOINTS = ("LeftFoot", "LeftToe", "RightFoot", "RightToe")
"""Joints with a ground contact label: heel (at the ankle) and toe, left then right."""


def mirror_indices(names: Sequence[str]) -> list[int]:
    """Index of each joint's mirror image (Left... <-> Right...); its own index in the middle."""
    other = {"Left": "Right", "Right": "Left"}
    out = []
    for i, name in enumerate(names):
        for side, opposite in other.items():
            if name.startswith(side):
                out.append(names.index(opposite + name[len(side) :]))
                break
        else:
            out.append(i)
    return out
