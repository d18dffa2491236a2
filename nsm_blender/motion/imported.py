# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion as read from a file, before `canonical`: any skeleton, any unit, any axis up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .rotations import Array, multiply, rotate

MOST_SAMPLES = 3_000_000
"""Frames times joints of a recording at most, half an hour of 27 joints at 60 fps: converting them takes 0.9 GB."""


@dataclass(frozen=True, eq=False)
class ImportedMotion:
    """Motion in the axes and units of its file. Parents come before children, joint 0 is the root.

    source: the file's name. names: J names, not always unique. parents: J indices, -1 for the root. offsets: (J, 3)
    place relative to the parent, in the parent's frame. is_end: J flags of bone ends without channels. rotations: (T,
    J, 4) local quaternions, identity in the file's rest pose. translations: joint -> (T, 3), replaces the offset of
    joints that move; always has the root. unit: meters per unit as stated by the file, or None. posed: whether the rest
    pose is a frame of the motion, so that it does not define the T-pose. All float64.
    """

    source: str
    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets: Array
    is_end: tuple[bool, ...]
    rotations: Array
    fps: float
    translations: Mapping[int, Array] = field(default_factory=dict)
    unit: float | None = None
    posed: bool = False

    def __len__(self) -> int:
        return len(self.rotations)

    def world(self) -> tuple[Array, Array]:
        """World positions (T, J, 3) and world rotations (T, J, 4), in the file's axes and units."""
        rotations = np.empty_like(self.rotations)
        positions = np.empty((*self.rotations.shape[:-1], 3))
        for j, parent in enumerate(self.parents):
            local = self.translations.get(j, self.offsets[j])
            if parent < 0:
                rotations[:, j] = self.rotations[:, j]
                positions[:, j] = local
            else:
                rotations[:, j] = multiply(rotations[:, parent], self.rotations[:, j])
                bone = np.broadcast_to(local, (len(self), 3))
                positions[:, j] = positions[:, parent] + rotate(rotations[:, parent], bone)
        return positions, rotations

    def rest_positions(self) -> Array:
        """Joint places (J, 3) in the file's rest pose, root at the origin."""
        out = np.zeros((len(self.names), 3))
        for j, parent in enumerate(self.parents):
            if parent >= 0:
                out[j] = out[parent] + self.offsets[j]
        return out


def shared_prefix(words: Sequence[str]) -> str:
    """The longest beginning that all `words` have."""
    if not words:
        return ""
    first, last = min(words), max(words)
    count = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:count]
