# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded sits as templates: where the hips come down, when, and what leads there and away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...models.nsm import ACTIONS, FPS
from ...motion.clip_file import load_clip, load_library
from ...motion.feet import level_feet
from ...motion.filters import gaussian, runs, velocity
from ...motion.retarget import to_model_skeleton
from ...motion.rotations import Array, wrap_angle
from .track import Track, from_clip

SIT_TAGS = {"sit", "sit_high", "stand_up"}
_LEAST_DROP = 0.07
"""Metres that the hips come down at least; a high stool is hardly lower than standing."""
_LEAST_SECONDS = 0.5
_SETTLED = 0.05
"""m/s of the hips, up or down, below which they rest."""
_STEADY = 0.2
"""m/s of the hips over the ground below which one sits and does not walk crouched."""


@dataclass(frozen=True, eq=False)
class Sit:
    """One time of sitting down, sitting and getting up.

    track: with what was recorded before and after. down: first and last frame of sitting down, up: of getting up;
    None where the clip begins or ends seated. hips: (3,) place of the hips while seated, facing: their angle.
    """

    name: str
    subject: str
    track: Track
    down: tuple[int, int] | None
    up: tuple[int, int] | None
    hips: Array
    facing: float

    @property
    def seated(self) -> tuple[int, int]:
        """First and last frame of being seated."""
        start = 0 if self.down is None else self.down[1]
        end = len(self.track) - 1 if self.up is None else self.up[0]
        return start, end

    def in_seat_frame(self) -> Sit:
        """Turned and moved so that the hips sit over the origin and face -Y."""
        track = self.track.moved(-self.facing, self.hips[:2], -self.hips[:2])
        return Sit(self.name, self.subject, track, self.down, self.up, np.array([0.0, 0.0, self.hips[2]]), 0.0)

    def mirrored(self) -> Sit:
        """As seen in a mirror; in the seat's frame."""
        sit = self.in_seat_frame()
        return Sit(sit.name + "_mirrored", sit.subject, sit.track.mirrored(), sit.down, sit.up, sit.hips, 0.0)


def recorded_sits(data: Path) -> list[Sit]:
    """All sits in the clips of a data folder, each in its seat's frame."""
    found: list[Sit] = []
    for entry in load_library(data):
        if not SIT_TAGS & set(entry.tags):
            continue
        clip = to_model_skeleton(level_feet(load_clip(data / "clips" / f"{entry.name}.npz")).resampled(FPS))
        track = from_clip(clip)
        found += sits_of(track, entry.name, str(entry.subject))
    return found


def sits_of(track: Track, name: str, subject: str) -> list[Sit]:
    """The sits in one track, each with the frames from the one before to the one after."""
    root = track.root()
    height = gaussian(track.hips[:, 2], 0.1 * FPS)
    speed = np.linalg.norm(gaussian(velocity(root[:, :2], FPS), 0.15 * FPS), axis=1)
    fall = gaussian(velocity(height, FPS), 0.05 * FPS)
    low = _seated(height, speed, fall)
    found = []
    for i, (start, stop) in enumerate(low):
        down = _descent(fall, start, low[i - 1][1] if i else 0) if start > 0 else None
        up = _rise(fall, stop - 1, low[i + 1][0] if i + 1 < len(low) else len(track)) if stop < len(track) else None
        first = low[i - 1][1] if i else 0
        last = low[i + 1][0] if i + 1 < len(low) else len(track)
        hips = np.append(np.median(track.hips[start:stop, :2], axis=0), np.median(track.hips[start:stop, 2]))
        facing = float(np.median(root[start:stop, 3]))
        cut = track.cut(first, last)
        begin = down[0] if down else start
        end = up[1] if up else stop
        cut = cut.relabelled(begin - first, end - first, "sit")
        sit = Sit(
            name, subject, cut, _shifted(down, first), _shifted(up, first), hips, float(wrap_angle(np.array(facing)))
        )
        found.append(sit.in_seat_frame())
    return found


def _seated(height: Array, speed: Array, fall: Array) -> list[tuple[int, int]]:
    """Frames at which the hips rest, lower than standing."""
    # The height at which most of the upper half of the clip is spent is that of standing.
    counts, edges = np.histogram(height, bins=np.arange(0.3, 1.6, 0.02))
    upper = edges[:-1] > 0.8
    standing = float(edges[:-1][upper][counts[upper].argmax()]) + 0.01
    resting = (height < standing - _LEAST_DROP) & (np.abs(fall) < _SETTLED) & (speed < _STEADY)
    return [(a, b) for a, b in runs(_bridged(resting, height, standing)) if b - a >= _LEAST_SECONDS * FPS]


def _bridged(resting: Array, height: Array, standing: float) -> Array:
    """Runs of rest joined over moments between them in which one did not get up."""
    out = resting.copy()
    for a, b in runs(~resting):
        if a > 0 and b < len(out) and height[a:b].max() < standing - _LEAST_DROP * 0.6:
            level = (height[a - 1] + height[b]) / 2
            out[a:b] = np.abs(height[a:b] - level).max() < 0.12
    return out


def _descent(fall: Array, seated: int, earliest: int) -> tuple[int, int]:
    """Frames of the movement down that ends at `seated`."""
    start = seated
    while start > earliest and fall[start - 1] > -_SETTLED:
        start -= 1
    while start > earliest and fall[start - 1] < -_SETTLED:
        start -= 1
    return start, seated


def _rise(fall: Array, seated: int, latest: int) -> tuple[int, int]:
    end = seated
    while end < latest - 1 and fall[end + 1] < _SETTLED:
        end += 1
    while end < latest - 1 and fall[end + 1] > _SETTLED:
        end += 1
    return seated, end


def _shifted(span: tuple[int, int] | None, by: int) -> tuple[int, int] | None:
    return None if span is None else (span[0] - by, span[1] - by)


def is_seated(track: Track) -> Array:
    """(T,) whether the label is sitting."""
    out: Array = track.actions[:, ACTIONS.index("sit")] > 0.5
    return out
