# SPDX-License-Identifier: GPL-3.0-or-later
"""The phase of locomotion from foot strikes: 0 at the right strike, pi at the left strike (PFNN 4.1)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .filters import runs, without_short_runs
from .rotations import Array

STANDING_CYCLE = 1.0
"""Seconds of a cycle while standing, where no foot strikes: near a slow walk's, so that the first step after standing
needs no jump in the phase's speed."""
MINIMUM_CYCLE = 0.25
"""Shortest cycle in seconds (PFNN 4.1)."""
_REFRACTORY = 0.12
"""Shortest time in seconds between two strikes of the same foot."""


def foot_strikes(contacts: Array, fps: float) -> list[tuple[int, bool]]:
    """Frames at which a foot comes down, in order, as (frame, is_left).

    contacts: (T, 4) labels of CONTACT_JOINTS. A foot is down while its heel or toe is.
    """
    shortest = max(round(0.06 * fps), 2)
    strikes = []
    for is_left, columns in ((True, contacts[:, :2]), (False, contacts[:, 2:])):
        down = without_short_runs(columns.max(1) > 0.5, shortest, shortest)
        strikes += [(start, is_left) for start, _ in runs(down) if start > 0]
    strikes.sort()
    kept: list[tuple[int, bool]] = []
    for frame, is_left in strikes:
        if kept:
            # Both feet landing together are one strike; the same foot needs a moment before it strikes again.
            shortest_step = _REFRACTORY if kept[-1][1] == is_left else MINIMUM_CYCLE / 2
            if frame - kept[-1][0] < shortest_step * fps:
                continue
        kept.append((frame, is_left))
    return kept


def phase_track(contacts: Array, fps: float) -> Array:
    """Unwrapped phase (T,) float64 in radians, never falling.

    Interpolated between strikes. Where both feet stay planted it goes on cycling, by as many whole
    cycles as bring the cycle's length nearest to STANDING_CYCLE.
    """
    count = len(contacts)
    strikes = foot_strikes(contacts, fps)
    nominal = 2 * np.pi / (STANDING_CYCLE * fps)
    if not strikes:
        return np.arange(count) * nominal
    planted = (contacts[:, :2].max(1) > 0.5) & (contacts[:, 2:].max(1) > 0.5)
    frames, phases = [strikes[0][0]], [np.pi if strikes[0][1] else 0.0]
    for (before, was_left), (frame, is_left) in pairwise(strikes):
        span = frame - before
        advance = np.pi if is_left != was_left else 2 * np.pi
        if planted[before:frame].mean() > 0.55:
            cycles = max(round((span * nominal - advance) / (2 * np.pi)), 0)
            advance += 2 * np.pi * cycles
        frames.append(frame)
        phases.append(phases[-1] + advance)
    phase = np.interp(np.arange(count), frames, phases)
    head, tail = frames[0], frames[-1]
    phase[:head] = phases[0] - (head - np.arange(head)) * nominal
    phase[tail:] = phases[-1] + np.arange(count - tail) * nominal
    return phase
