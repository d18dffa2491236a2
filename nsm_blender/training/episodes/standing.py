# SPDX-License-Identifier: GPL-3.0-or-later
"""Stretches of standing in locomotion, in which the hands may do something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...models.nsm import ACTIONS, FPS
from ...motion.filters import runs
from .track import Track

_TOO_TURNED = 0.25
"""Largest turn in radians of the body in a stretch of standing."""
_AROUND = 1.3
"""Seconds before and after a stretch that are kept."""


@dataclass(frozen=True, eq=False)
class Stand:
    """A stretch of standing. track: with a little before and after; span: first frame and the one after the last;
    source: number of the track that it was cut from."""

    track: Track
    span: tuple[int, int]
    source: int


def stands(tracks: Sequence[Track], seconds: float) -> list[Stand]:
    """All stretches of at least `seconds` of standing with hardly a turn."""
    found: list[Stand] = []
    for number, track in enumerate(tracks):
        facing = track.root()[:, 3]
        for start, end in runs(track.actions[:, ACTIONS.index("idle")] > 0.5):
            if end - start < seconds * FPS or np.ptp(facing[start:end]) > _TOO_TURNED:
                continue
            first = max(start - round(_AROUND * FPS), 0)
            last = min(end + round(_AROUND * FPS), len(track))
            found.append(Stand(track.cut(first, last), (start - first, end - first), number))
    return found
