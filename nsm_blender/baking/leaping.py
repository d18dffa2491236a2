# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaps that fit their gaps: the way about a gap is stretched until the feet leave it before one edge and come down
behind the other (path warping, Gleicher 2001)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..models.pfnn import FPS
from ..motion.easing import smoothstep
from ..motion.filters import runs
from ..motion.root import direction
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..planning.leaps import Leap
from ..planning.path import GroundPath
from ..planning.path_on_ground import LEAST_LANDING
from ..rollout.pfnn import Record
from ..rollout.pose import decode, joint_places
from .gaps import BEFORE, BEHIND

_BALLS = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
_HIGH, _STEPPING = 0.05, 1.5
"""Meters of the ball of a foot above the ground, and its m/s over it, from which the foot does not stand."""
_SETTLES = 1.5
"""Meters behind a leap on which the way is no longer stretched."""


@dataclass(frozen=True, eq=False)
class _Stance:
    """A foot that stands from a frame to another. ball: arc length in meters of its ball."""

    start: int
    stop: int
    ball: float


@dataclass(frozen=True, eq=False)
class _Stretch:
    """How far the root is moved along its way, in meters: nothing from `begin` on, `off` where a foot leaves the
    ground at arc length `leaves`, `on` where the other comes down at `lands`, and nothing `settles` meters behind."""

    begin: float
    leaves: float
    off: float
    lands: float
    on: float
    settles: float

    def at(self, s: Array) -> Array:
        """Meters (T,) at arc lengths s (T,)."""
        out = self.off * smoothstep((s - self.begin) / (self.leaves - self.begin))
        out += (self.on - self.off) * smoothstep((s - self.leaves) / (self.lands - self.leaves))
        out -= self.on * smoothstep((s - self.lands) / self.settles)
        return out


def fitted(record: Record, rotation_reference: Array, path: GroundPath, leaps: Sequence[Leap]) -> Record:
    """A rollout along a path whose leaps clear their gaps."""
    if not leaps:
        return record
    root = record.root.astype(np.float64)
    along = path.arc_lengths(root[:, :2])
    # The path's points are two centimeters apart.
    along += ((root[:, :2] - path.position(along)) * direction(path.heading(along))).sum(axis=1)
    shift = np.zeros(len(root))
    ends = [*(leap.run_up for leap in leaps[1:]), np.inf if path.closed else path.length]
    for leap, end in zip(leaps, ends, strict=True):
        here = np.flatnonzero((along > leap.run_up) & (along < leap.gap.end + LEAST_LANDING))
        if not len(here) or along[-1] < leap.gap.end:
            continue
        near = slice(int(here[0]), int(here[-1]) + 1)
        stretch = _stretch(_stances(record, near, rotation_reference, path, along[near]), along[near], leap, end)
        if stretch is not None:
            shift += stretch.at(along)
    moved = along + shift
    place = path.position(moved) - path.position(along)
    turned = np.unwrap(path.heading(moved) - path.heading(along))
    ahead = np.maximum.accumulate(along)
    height = np.interp(np.clip(moved, ahead[0], ahead[-1]), ahead, root[:, 2])
    return replace(record, root=np.column_stack((root[:, :2] + place, height, root[:, 3] + turned)))


def _stances(record: Record, near: slice, rotation_reference: Array, path: GroundPath, along: Array) -> list[_Stance]:
    """The stances of both feet in a span of frames about a gap, in their order. along: arc lengths (T,) of the root in
    it. Labels of contact tell little there, where the ground that is felt is a plank."""
    part = Record(record.root[near], record.y[near], record.phase[near], record.gait[near])
    hips, rotations, _ = decode(part, rotation_reference)
    places = joint_places(hips, rotations)[:, _BALLS]
    speeds = np.linalg.norm(np.gradient(places[..., :2], axis=0), axis=-1) * FPS
    stands = (places[..., 2] < part.root[:, 2:3] + _HIGH) & (speeds < _STEPPING)
    found = [
        _Stance(start, stop, path.project(np.median(places[start:stop, side, :2], axis=0), along[(start + stop) // 2]))
        for side in range(2)
        for start, stop in runs(stands[:, side])
    ]
    return sorted(found, key=lambda one: one.start)


def _stretch(stances: Sequence[_Stance], along: Array, leap: Leap, end: float) -> _Stretch | None:
    """What makes the longest flight over a leap's gap clear it; None where there is none. along: arc lengths (T,) of
    the root. end: that up to which the way may be stretched."""
    flights = [
        (a, b)
        for a, b in pairwise(stances)
        if a.stop <= b.start and a.ball < min(b.ball, leap.gap.end) and along[b.start] > leap.gap.start
    ]
    if not flights:
        return None
    off, on = max(flights, key=lambda pair: pair[1].start - pair[0].stop)
    most, least = leap.gap.start - BEFORE - off.ball, leap.gap.end + BEHIND - on.ball
    both = min(max(0.0, least), most)
    leaves, lands = (float(along[(one.start + one.stop) // 2]) for one in (off, on))
    return _Stretch(leap.run_up, leaves, min(both, most), lands, max(both, least), min(_SETTLES, end - lands))
