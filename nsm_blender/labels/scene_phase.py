# SPDX-License-Identifier: GPL-3.0-or-later
"""The NSM's phase: 0, pi, 2 pi at left, right, left strikes; 0 to 2 pi over a transition (NSM 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..models.nsm import FPS
from ..motion.phase import STANDING_CYCLE, foot_strikes
from ..motion.rotations import Array

_CYCLE = 2 * np.pi
_NOMINAL = _CYCLE / (STANDING_CYCLE * FPS)
"""Radians that the phase advances in a frame where no foot strikes."""
_PLANTED = 0.55
"""Contact label above which a foot counts as on the ground."""


def phase_of(contacts: Array, transitions: Sequence[tuple[int, int]]) -> Array:
    """Unwrapped phase (T,) in radians, never falling.

    contacts: (T, 4) of CONTACT_JOINTS. transitions: first and last frame of each acyclic action, in order. Between
    the known values it is interpolated; where nothing steps it goes on cycling, by whole cycles.
    """
    inside = np.zeros(len(contacts), dtype=bool)
    for start, end in transitions:
        inside[start : end + 1] = True
    # (frame, phase within the cycle, whether the stretch up to here is a transition)
    known = [
        (frame, 0.0 if is_left else np.pi, False) for frame, is_left in foot_strikes(contacts, FPS) if not inside[frame]
    ]
    known += [(start, 0.0, False) for start, _ in transitions] + [(end, 0.0, True) for _, end in transitions]
    known.sort(key=lambda entry: (entry[0], entry[2]))
    if not known:
        return np.arange(len(contacts)) * _NOMINAL
    planted = (contacts[:, :2].max(1) > 0.5) & (contacts[:, 2:].max(1) > 0.5)
    frames, phases = [known[0][0]], [known[0][1]]
    for (before, earlier, _), (frame, later, is_transition) in pairwise(known):
        span = frame - before
        advance = (later - earlier) % _CYCLE or (_CYCLE if span > 1 else 0.0)
        if not is_transition and span > 1 and (planted | inside)[before:frame].mean() > _PLANTED:
            advance += _CYCLE * max(round((span * _NOMINAL - advance) / _CYCLE), 0)
        if span == 0:
            continue
        frames.append(frame)
        phases.append(phases[-1] + advance)
    at = np.arange(len(contacts))
    phase = np.interp(at, frames, phases)
    head, tail = frames[0], frames[-1]
    phase[:head] = phases[0] - (head - at[:head]) * _NOMINAL
    phase[tail:] = phases[-1] + (at[tail:] - tail) * _NOMINAL
    return phase
