# SPDX-License-Identifier: GPL-3.0-or-later
"""An imported motion in Z-up axes, with its joints mapped to the model skeleton's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .imported import ImportedMotion
from .rotations import Array, conjugate, rotate
from .skeleton import MODEL_SKELETON

NAMES = MODEL_SKELETON.names
"""Joint names of the model skeleton."""
PARENT = {name: NAMES[p] if p >= 0 else "" for name, p in zip(NAMES, MODEL_SKELETON.parents, strict=True)}
"""The joint above each joint of the model skeleton, "" above the hips."""
_SAMPLES = 400
"""Number of frames from which directions are averaged."""


@dataclass(frozen=True, eq=False)
class Source:
    """The imported motion in Z-up axes and its own units, and the joints found in it.

    positions: (T, J, 3). rotations: (T, J, 4) world. rest: (J, 3) places in the file's rest pose. rest_turn: (4,) world
    rotation of every joint in the rest pose. bones: joint name -> index. ends: joint index -> index of the end joint
    below it, where that gives a direction.
    """

    motion: ImportedMotion
    positions: Array
    rotations: Array
    rest: Array
    rest_turn: Array
    bones: Mapping[str, int]
    ends: Mapping[int, int]

    @property
    def sample(self) -> slice:
        """Slice of some hundred frames, spread over the motion."""
        return slice(None, None, max(len(self.positions) // _SAMPLES, 1))

    def bone(self, upper: str, lower: int) -> Array:
        """Vector (frames, 3) from joint `upper` to joint index `lower`, in the frame of `upper`, in sampled frames."""
        top, s = self.bones[upper], self.sample
        return rotate(conjugate(self.rotations[s, top]), self.positions[s, lower] - self.positions[s, top])

    def hand(self, side: str) -> int | None:
        """Index of the wrist, or of the end of the forearm where the skeleton has no hands."""
        return self.bones.get(side + "Hand", self.ends.get(self.bones[side + "ForeArm"]))


def found_above(name: str, found: Mapping[str, int]) -> str:
    """The nearest joint above `name` that the source has."""
    above = PARENT[name]
    while above not in found:
        above = PARENT[above]
    return above
