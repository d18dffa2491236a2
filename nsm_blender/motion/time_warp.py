# SPDX-License-Identifier: GPL-3.0-or-later
"""A gentle change of a finished motion's pace, so that what happens at one frame happens at another."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .rotations import Array

MOST = 0.09
"""Largest share by which a warp stretches or shortens time: played 9.9 % faster or 8.3 % slower, which is below the
10 % up to which a changed pace looks recorded."""
_RAMP = 0.15
"""Share of a stretch at either end over which its change of pace sets in, so that limbs are not jerked."""


@dataclass(frozen=True)
class Stretch:
    """From frame `first` to frame `last` of a rollout, time is shifted by and by, in the end by `shift` frames."""

    first: float
    last: float
    shift: float

    def at(self, frames: Array) -> Array:
        """Shift (T,) of frames (T,)."""
        share = np.clip((frames - self.first) / max(self.last - self.first, 1e-9), 0.0, 1.0)
        ends = np.minimum(share, 1.0 - share)
        risen = np.where(ends < _RAMP, ends**2 / (2 * _RAMP), ends - _RAMP / 2) / (1 - _RAMP)
        out: Array = self.shift * np.where(share <= 0.5, risen, 1.0 - risen)
        return out


@dataclass(frozen=True)
class TimeWarp:
    """When the frames of a rollout are shown. stretches: one after the other, none overlapping."""

    stretches: tuple[Stretch, ...] = ()

    def time(self, frame: float) -> float:
        """When a frame of the rollout is shown, in frames at the rollout's rate."""
        return float(self.times(np.array(float(frame)))) if self.stretches else frame

    def times(self, frames: Array) -> Array:
        """When frames (T,) of the rollout are shown."""
        return frames + sum(stretch.at(frames) for stretch in self.stretches)

    def frames(self, times: Array) -> Array:
        """Frames (T,) of the rollout that are shown at times (T,); the inverse of `times`."""
        if not self.stretches:
            return times
        end = int(np.ceil(max(stretch.last for stretch in self.stretches)))
        known = np.arange(end + 1.0)
        shown = self.times(known)
        within = np.interp(times, shown, known)
        return np.where(times > shown[-1], times - shown[-1] + end, within)

    def brought(self, first: float, last: float, time: float) -> TimeWarp:
        """The warp that shows frame `last` of the rollout at a time, as far as `MOST` lets it, and leaves all up to
        frame `first` as it is, where the last stretch so far has ended."""
        shift = time - self.time(last)
        most = room(first, last)
        shift = min(max(shift, -most), most)
        return self if shift == 0 else replace(self, stretches=(*self.stretches, Stretch(first, last, shift)))


def room(first: float, last: float) -> float:
    """Frames by which a warp can shift what happens at frame `last`, when it begins at frame `first`."""
    return MOST * (1 - _RAMP) * max(last - first, 0.0)
