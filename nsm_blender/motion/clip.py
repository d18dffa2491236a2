# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded piece of motion: a skeleton, local rotations and a root track."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import FileFormatError
from .rotations import Array, make_continuous, slerp
from .skeleton import Skeleton

MOST_FRAMES = 432_000
"""Frames of a clip at most: an hour at 120 fps, whose rotations take 150 MB."""


@dataclass(frozen=True, eq=False)
class Clip:
    """Motion of a skeleton at a fixed rate, in Blender's frame (Z up, meters, floor at z = 0).

    root: (T, 3) world place of joint 0. rotations: (T, J, 4) local to the parent. meta: data of the source (name, tags,
    subject, licence, ...).
    """

    skeleton: Skeleton
    root: Array
    rotations: Array
    fps: float
    meta: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.root)

    @property
    def name(self) -> str:
        """The clip's name, or an empty string."""
        return str(self.meta.get("name", ""))

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return len(self) / self.fps

    def world(self) -> tuple[Array, Array]:
        """World positions (T, J, 3) and world rotations (T, J, 4)."""
        return self.skeleton.forward(self.root, self.rotations)

    def cut(self, start: int, stop: int) -> Clip:
        """Frames start..stop-1 as a new clip."""
        return replace(self, root=self.root[start:stop], rotations=self.rotations[start:stop])

    def resampled(self, fps: float) -> Clip:
        """The same motion at `fps`: positions linear, rotations by slerp; last frame at or before the end."""
        if abs(fps - self.fps) < 1e-6 or len(self) < 2:
            return replace(self, fps=fps)
        count = sampled_frames(len(self), self.fps / fps, self.name)
        return replace(_sample(self, np.arange(count) * self.fps / fps), fps=fps)

    def time_warped(self, speed: float) -> Clip:
        """The motion at `speed` times its pace, at the same frame rate."""
        count = sampled_frames(len(self), speed, self.name)
        return _sample(self, np.arange(count) * speed)


def sampled_frames(frames: int, step: float, name: str) -> int:
    """Number of samples, every `step` frames, of so many frames. Raises FileFormatError when they are more than any
    recording has."""
    count = (frames - 1) / step + 1e-6
    if not count < MOST_FRAMES:
        raise FileFormatError(
            f"{name or 'the motion'}: at this rate it has {count:,.0f} frames; the most are {MOST_FRAMES:,}"
        )
    return int(count) + 1


def _sample(clip: Clip, times: Array) -> Clip:
    """`clip` at fractional frames `times` (N,)."""
    first = np.clip(np.floor(times).astype(int), 0, len(clip) - 2)
    t = np.clip(times - first, 0, 1)
    root = clip.root[first] * (1 - t)[:, None] + clip.root[first + 1] * t[:, None]
    rotations = slerp(clip.rotations[first], clip.rotations[first + 1], np.repeat(t[:, None], len(clip.skeleton), 1))
    return replace(clip, root=root, rotations=make_continuous(rotations))
