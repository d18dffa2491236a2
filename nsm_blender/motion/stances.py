# SPDX-License-Identifier: GPL-3.0-or-later
"""Stances of feet, the runs of frames in contact, and how offsets glide from one to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .easing import smoothstep
from .rotations import Array

_LONGEST_GLIDE = 24
"""Frames over which an offset fades to nothing when the next contact is far away."""
AFTERWARD = 10
"""Frames after a contact in which a foot takes up its own speed, and before a contact in which it gives it up."""
_STRIDE = 0.15
"""Length in meters over the ground from which a step has all of the toe's clearance."""
_LIFTS = 8
"""Frames in which a toe rises to its clearance after a contact, and sinks from it before the next."""


class Stances:
    """Runs of True in a mask (N, T), which never cross from one row to the next.

    Values over frames are (N * T, d), row after row.
    """

    def __init__(self, mask: Array) -> None:
        padded = np.zeros((len(mask), mask.shape[1] + 1), dtype=np.int8)
        padded[:, :-1] = mask
        edges = np.diff(padded.reshape(-1), prepend=0, append=0)
        width = mask.shape[1]
        starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        row = starts // (width + 1)
        self.starts, self.stops = starts - row, stops - row
        self._row = row
        self.mask = mask.reshape(-1)
        count = self.mask.size
        begins = np.zeros(count, dtype=np.int64)
        begins[self.starts] = 1
        self.last = np.cumsum(begins) - 1
        """The stance of each frame, or the one before it; -1 before the first."""
        self._frame_row = np.arange(count) // width
        self._width = width

    def __len__(self) -> int:
        return len(self.starts)

    def mean(self, values: Array) -> Array:
        """Mean (S, d) of each stance."""
        sums = np.concatenate((np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)))
        out: Array = (sums[self.stops] - sums[self.starts]) / (self.stops - self.starts)[:, None]
        return out

    def spread(self, values: Array) -> Array:
        """Values (S, d) of the stances at each frame (N * T, d); zero between."""
        out = values[self.last]
        out[~self.mask] = 0
        return out

    def glide(self, values: Array, longest: int = _LONGEST_GLIDE) -> None:
        """Fill `values` between stances, in place: smoothly from the end of one to the start of the next.

        Where stances lie more than two times `longest` frames apart, and before the first and after the last, the
        values pass through zero. At each stance they join the values' rate of change inside it: a foot that is held
        against its speed has none on either side of a contact.
        """
        gap = self._gaps()
        if gap is None:
            return
        first, last = self.starts, self.stops - 1
        # A stance of a single frame has no change inside.
        coming = values[np.minimum(first + 1, last)] - values[first]
        leaving = values[last] - values[np.maximum(last - 1, first)]
        between = gap.has_before & gap.has_after
        short = (gap.whole <= 2 * longest) & between
        share = smoothstep(gap.since / (gap.whole + 1))
        fade_out = gap.has_before * np.where(short, 1 - share, smoothstep(1 - gap.since / longest))
        fade_in = gap.has_after * np.where(short, share, smoothstep(1 - gap.until / longest))
        length = np.where(between, np.minimum(AFTERWARD, (gap.whole + 1) / 2), AFTERWARD)
        going_out = gap.has_before * gap.since * np.clip(1 - gap.since / length, 0, 1) ** 2
        going_in = gap.has_after * gap.until * np.clip(1 - gap.until / length, 0, 1) ** 2
        values[gap.frames] = (
            fade_out[:, None] * values[last[gap.before]]
            + fade_in[:, None] * values[first[gap.after]]
            + going_out[:, None] * leaving[gap.before]
            - going_in[:, None] * coming[gap.after]
        )

    def beyond(self) -> Array:
        """Frames (B,) before the first stance of their row, or after its last one."""
        gap = self._gaps()
        if gap is None:
            return np.flatnonzero(~self.mask)
        return np.asarray(gap.frames[~(gap.has_before & gap.has_after)])

    def nearest(self, frames: Array) -> Array:
        """Stances (B,) next to frames (B,) that are `beyond` them: of the same row, if it has any."""
        before = self.last[frames]
        own = (before >= 0) & (self._row[np.maximum(before, 0)] == self._frame_row[frames])
        return np.where(own, before, np.minimum(before + 1, len(self) - 1))

    def larger(self, values: Array) -> Array:
        """Values (N * T,), between two stances the larger of the values where these end and begin."""
        out, gap = values.copy(), self._gaps()
        if gap is not None:
            between = gap.has_before & gap.has_after
            ends = np.maximum(values[self.stops[gap.before] - 1], values[self.starts[gap.after]])
            out[gap.frames[between]] = ends[between]
        return out

    def swing(self, values: Array) -> Array:
        """Weight (N * T,) that is 0 in stances, and up to 1 between two stances that are _STRIDE apart in `values` (N *
        T, d)."""
        out = np.zeros(len(self.mask))
        gap = self._gaps()
        if gap is not None:
            start, end = values[self.stops[gap.before] - 1], values[self.starts[gap.after]]
            far = np.clip(np.linalg.norm(end - start, axis=1) / _STRIDE, 0, 1) * gap.has_before * gap.has_after
            lifts = np.minimum(_LIFTS, (gap.whole + 1) / 2)
            out[gap.frames] = far * smoothstep(np.minimum(gap.since, gap.until) / lifts)
        return out

    def _gaps(self) -> _Gaps | None:
        """The frames outside stances; None without such frames or without stances."""
        frames = np.flatnonzero(~self.mask)
        if not len(frames) or not len(self):
            return None
        row = self._frame_row[frames]
        before = np.maximum(self.last[frames], 0)
        after = np.minimum(self.last[frames] + 1, len(self) - 1)
        has_before = (self.last[frames] >= 0) & (self._row[before] == row)
        has_after = (self.last[frames] + 1 < len(self)) & (self._row[after] == row)
        begin = np.where(has_before, self.stops[before], row * self._width)
        end = np.where(has_after, self.starts[after], (row + 1) * self._width)
        return _Gaps(frames, before, after, has_before, has_after, frames - begin + 1, end - frames, end - begin)


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Frames (G,) outside stances.

    before, after: the stances on either side, valid where has_before and has_after. since, until: frames from the
    former and to the latter, or to the row's ends. whole: frames of the gap.
    """

    frames: Array
    before: Array
    after: Array
    has_before: Array
    has_after: Array
    since: Array
    until: Array
    whole: Array
