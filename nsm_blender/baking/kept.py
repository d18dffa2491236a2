# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a path's or a command's speed, facing and place a baked motion did not keep, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..motion.filters import gaussian, highest_around, runs
from ..motion.motion import Motion
from ..motion.rotations import Array, wrap_angle
from ..planning.path import GroundPath
from ..planning.trajectory import MOVING
from ..shot.shot import Shot

SHARE = 0.1
"""Share of the speed that was asked for, and of a half turn, by which a motion may differ before it is told."""
OFF_PATH = 0.3
"""Meters beside the path from which it is told: more than the root sways and cuts bends, less than a body's width."""
SHORTEST = 1.5
"""Seconds that something must last to be told, about three steps: no body keeps anything within a step."""
RESPONSE = 1.2
"""Seconds after a change of the speed asked for in which a body may still be getting there."""
END = 1.0
"""Meters before the end of a path in which the character slows down to stop there."""
_SMOOTHING = 0.3
"""Standard deviation in seconds of the filter that takes the sway of the steps out of speed and facing."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """What was asked for at each frame: speed (T,) in m/s, facing (T,) in radians, and whether (T,) it is to be judged,
    which the end of a path is not."""

    speed: Array
    facing: Array
    judged: Array


def unkept(shot: Shot, motion: Motion, path: GroundPath | None) -> list[str]:
    """Sentences on what was missed by more than SHARE, and on the path by more than OFF_PATH; none of action keys.

    motion: of the shot, at its frame rate. path: that of a shot with one.
    """
    root = motion.root.astype(np.float64)
    if path is not None and shot.path is not None:
        asked = _along_path(shot, root, path)
    elif shot.velocity is not None:
        velocity = np.asarray(shot.velocity.velocities, dtype=np.float64)
        speed = np.linalg.norm(velocity, axis=1)
        asked = _Asked(speed, np.asarray(shot.velocity.facings, dtype=np.float64), np.full(len(speed), True))
    else:
        return []
    out = [*_speeds(asked, root, motion.fps), *_facings(asked, root, motion.fps)]
    return out if path is None else [*out, *_places(path, root, motion.fps)]


def _along_path(shot: Shot, root: Array, path: GroundPath) -> _Asked:
    follow = shot.path
    assert follow is not None
    along, s = np.empty(len(root)), 0.0
    for frame, place in enumerate(root[:, :2]):
        along[frame] = s = path.project(place, s)
    factors = np.array([path.factor(s) for s in along])
    left = np.full(len(along), np.inf) if path.closed else path.length - along
    return _Asked(
        np.asarray(follow.speeds, dtype=np.float64) * factors,
        path.heading(along) + np.asarray(follow.facing_offsets, dtype=np.float64),
        np.minimum.accumulate(left) > END,
    )


def _speeds(asked: _Asked, root: Array, fps: float) -> list[str]:
    got = np.linalg.norm(gaussian(np.gradient(root[:, :2], axis=0) * fps, _SMOOTHING * fps), axis=1)
    frames = round(RESPONSE * fps)
    highest, lowest = (highest_around(sign * asked.speed, frames) * sign for sign in (1, -1))
    steady = (highest - lowest <= SHARE * highest) & (asked.speed > MOVING) & asked.judged
    # The character stands before the first frame, which is as much of a change as any.
    steady[:frames] = False
    out = []
    for a, b in runs(steady):
        mean, wanted = float(got[a:b].mean()), float(asked.speed[a:b].mean())
        if b - a >= SHORTEST * fps and abs(mean - wanted) > SHARE * wanted:
            out.append(f"{_when(a, b, fps)} the character goes at {mean:.1f} m/s instead of {wanted:.1f}.")
    return out


def _facings(asked: _Asked, root: Array, fps: float) -> list[str]:
    off = np.unwrap(wrap_angle(root[:, 3] - asked.facing))
    off = np.abs(wrap_angle(gaussian(off, _SMOOTHING * fps)))
    out = []
    for a, b in runs((off > SHARE * math.pi) & asked.judged):
        if b - a >= SHORTEST * fps:
            usual = math.degrees(float(np.median(off[a:b])))
            out.append(f"{_when(a, b, fps)} the character faces {usual:.0f} degrees aside from where it is to.")
    return out


def _places(path: GroundPath, root: Array, fps: float) -> list[str]:
    away = path.distance(root[:, :2])
    return [
        f"{_when(a, b, fps)} the character is up to {away[a:b].max():.1f} m beside the path."
        for a, b in runs(away > OFF_PATH)
        if b - a >= SHORTEST * fps
    ]


def _when(start: int, stop: int, fps: float) -> str:
    return f"From {start / fps:.1f} to {stop / fps:.1f} s"
