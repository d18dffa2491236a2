# SPDX-License-Identifier: GPL-3.0-or-later
"""Postural sway: how the body moves about its mean pose while people stand and wait.

A network that predicts the next frame predicts the mean of what people do next, and stands like a statue. What is left
over is a random process; its principal components and their spectra were measured in recordings. A sample is a sum of
sines of these components, with random frequencies and phases, and never repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..motion.rotations import Array
from ..stepwise import Stepwise, finished
from .weights import check_shapes, read_tensors

TRUNK = "trunk"
"""Name of the group that the hips travel with."""
GROUPS = {
    TRUNK: ("Hips", "Spine", "Spine1", "Spine2", "LeftShoulder", "RightShoulder"),
    "head": ("Neck", "Head"),
    "left_arm": ("LeftArm", "LeftForeArm", "LeftHand"),
    "right_arm": ("RightArm", "RightForeArm", "RightHand"),
}
"""Groups of joints that sway together, each by itself: arms hang and the head stays upright however the trunk leans."""
BANDS = np.array([0.05, 0.15, 0.3, 0.6, 1.0, 1.6, 2.6, 4.0])
"""Edges in Hz of the bands in which the spectrum is told: faster movement is noise of the recordings."""
SINES = 6
"""Sines of each component in each band: with fewer the eye finds a beat."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Sway of T frames. hips: (T, 3) meters in the root frame. turns: by group the rotation vectors (T, joints, 3) of
    its joints about their mean pose, in the root frame."""

    hips: Array
    turns: dict[str, Array]


@dataclass(frozen=True, eq=False)
class Sway:
    """components: by group (K, numbers): TRUNK's hips in meters, and rotation vectors. deviation: by group (K, bands),
    standard deviation of each component in each of BANDS."""

    components: dict[str, Array]
    deviation: dict[str, Array]

    @classmethod
    def load(cls, path: Path | str) -> Sway:
        """Read a weights file. Raises WeightsError."""
        tensors = read_tensors(path)
        shapes: dict[str, tuple[int | str, ...]] = {}
        for group in GROUPS:
            shapes[f"{group}_components"] = (f"{group} components", size(group))
            shapes[f"{group}_deviation"] = (f"{group} components", len(BANDS) - 1)
        check_shapes(tensors, shapes, path)
        parts = [{group: tensors[f"{group}_{part}"] for group in GROUPS} for part in ("components", "deviation")]
        return cls(*parts)

    def sample(self, seed: int | Sequence[int], count: int, fps: float, share: float = 1.0) -> Sample:
        """`count` frames at `fps`; each seed gives others, the same seed the same. share: of it that is left."""
        return finished(self.sampling(seed, count, fps, share))

    def sampling(self, seed: int | Sequence[int], count: int, fps: float, share: float = 1.0) -> Stepwise[Sample]:
        """`sample` in pieces."""
        random, times = np.random.default_rng(seed), np.arange(count) / fps
        values = {}
        for group in GROUPS:
            amplitude = share * np.sqrt(2 / SINES) * self.deviation[group]
            shape = (SINES, *amplitude.shape)
            frequency = random.uniform(BANDS[:-1], BANDS[1:], shape).reshape(SINES, -1)
            phase = random.uniform(0, 2 * np.pi, shape).reshape(SINES, -1)
            total = np.zeros((count, amplitude.size))
            for one, begins in zip(frequency, phase, strict=True):
                yield
                total += np.cos(2 * np.pi * times[:, None] * one + begins)
            each = (total * amplitude.ravel()).reshape(count, *amplitude.shape).sum(axis=2)
            values[group] = each @ self.components[group]
        hips, values[TRUNK] = np.split(values[TRUNK], [3], axis=1)
        return Sample(hips, {group: value.reshape(count, -1, 3) for group, value in values.items()})


def size(group: str) -> int:
    """Numbers that tell how a group sways."""
    return 3 * len(GROUPS[group]) + (3 if group == TRUNK else 0)
