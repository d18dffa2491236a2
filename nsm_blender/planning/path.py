# SPDX-License-Identifier: GPL-3.0-or-later
"""A curve on the ground, measured by arc length."""

from __future__ import annotations

import numpy as np

from ..errors import ShotError
from ..motion.root import angle_of
from ..motion.rotations import Array

SPACING = 0.02
"""Meters between the points of the resampled curve."""
_TANGENT_SPAN = 0.05
"""Meters before and behind a point between which its heading is taken."""
_SEARCH = 0.6
"""Meters of arc length before and behind the last nearest point in which the next is searched."""


class GroundPath:
    """A polyline in the ground plane with places, headings and factors by arc length s in meters.

    points: (N, 2) or (N, 3) in walking order; z is ignored. closed: s runs round and round.
    factors: (N,) numbers carried along the curve, such as a speed factor; default 1.
    """

    def __init__(self, points: Array, closed: bool = False, factors: Array | None = None) -> None:
        corners = np.asarray(points, dtype=np.float64)[:, :2]
        values = np.ones(len(corners)) if factors is None or not len(factors) else np.asarray(factors, dtype=np.float64)
        keep = np.concatenate(([True], np.linalg.norm(np.diff(corners, axis=0), axis=1) > 1e-6))
        corners, values = corners[keep], values[keep]
        if closed and np.linalg.norm(corners[0] - corners[-1]) > 1e-6:
            corners, values = np.vstack((corners, corners[:1])), np.append(values, values[0])
        along = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))))
        self.length = float(along[-1])
        if len(corners) < 2 or self.length < 1e-3:
            raise ShotError("The path seen from above has no length; draw it along the ground.")
        self.closed = closed
        self._s = np.linspace(0, self.length, max(int(np.ceil(self.length / SPACING)), 2) + 1)
        self._xy = np.stack([np.interp(self._s, along, corners[:, i]) for i in range(2)], axis=1)
        self._factor = np.interp(self._s, along, values)

    def _inside(self, s: Array) -> Array:
        return s % self.length if self.closed else np.clip(s, 0, self.length)

    def position(self, s: Array) -> Array:
        """Places (..., 2) at arc lengths s (...); clamped to the ends of an open path."""
        s = self._inside(np.asarray(s, dtype=np.float64))
        x = s / self._s[1]
        i = np.minimum(x.astype(int), len(self._s) - 2)
        t = (x - i)[..., None]
        out: Array = self._xy[i] * (1 - t) + self._xy[i + 1] * t
        return out

    def heading(self, s: Array) -> Array:
        """Facing angles (...) along the path at arc lengths s (...), radians about +Z."""
        s = np.asarray(s, dtype=np.float64)
        if not self.closed:
            s = np.clip(s, _TANGENT_SPAN, max(self.length - _TANGENT_SPAN, _TANGENT_SPAN))
        before, after = self.position(np.array((s - _TANGENT_SPAN, s + _TANGENT_SPAN)))
        out: Array = angle_of(after - before)
        return out

    def factor(self, s: float) -> float:
        """The carried number at arc length s."""
        inside = s % self.length if self.closed else min(max(s, 0.0), self.length)
        return float(self._factor[min(int(inside / self._s[1]), len(self._factor) - 1)])

    def project(self, place: Array, near: float) -> float:
        """Arc length of the nearest point to `place` (2,), searched around arc length `near`.

        The search is local so that a path that crosses itself is followed in order. On a closed path
        the result goes on counting beyond the length.
        """
        step = float(self._s[1])
        reach = int(_SEARCH / step)
        center = round(near / step)
        candidates = np.arange(center - reach, center + reach + 1)
        if self.closed:
            index = candidates % (len(self._s) - 1)
        else:
            candidates = candidates[(candidates >= 0) & (candidates < len(self._s))]
            if not len(candidates):
                return min(max(near, 0.0), self.length)
            index = candidates
        d = self._xy[index] - place
        return float(candidates[int(np.argmin(d[:, 0] ** 2 + d[:, 1] ** 2))] * step)

    def arc_lengths(self, places: Array) -> Array:
        """Arc lengths (T,) of a walk at places (T, 2) that begins where the path does, see `project`."""
        out, s = np.empty(len(places)), 0.0
        for frame, place in enumerate(places):
            out[frame] = s = self.project(place, s)
        return out

    def distance(self, places: Array) -> Array:
        """Distances (T,) in meters of places (T, 2) from the nearest point of the whole path."""
        out = np.empty(len(places))
        for start in range(0, len(places), 256):
            d = places[start : start + 256, None] - self._xy[None]
            out[start : start + 256] = np.sqrt((d * d).sum(-1).min(1))
        return out
