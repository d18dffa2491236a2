# SPDX-License-Identifier: GPL-3.0-or-later
"""What of the speed, facing, place and time that were asked for a baked motion did not keep, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..motion.filters import gaussian, highest_around, runs
from ..motion.motion import Motion
from ..motion.rotations import Array, wrap_angle
from ..planning.flights import TreadPacing
from ..planning.leaps import Leaps
from ..planning.path import GroundPath
from ..planning.path_on_ground import LEAST_LANDING
from ..planning.trajectory import MOVING
from ..shot.goals import ActionKey
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
_RUNS = 0.5
"""Label of running above which a frame counts as run."""
_SMOOTHING = 0.3
"""Standard deviation in seconds of the filter that takes the sway of the steps out of speed and facing."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """What was asked for at each frame: speed (T,) in m/s, facing (T,) in radians, and whether (T,) it is to be judged,
    which the end of a path is not."""

    speed: Array
    facing: Array
    judged: Array


def unkept(
    shot: Shot,
    motion: Motion,
    path: GroundPath | None,
    treads: TreadPacing | None = None,
    leaps: Leaps | None = None,
) -> list[str]:
    """Sentences on what was missed by more than SHARE, and on the path by more than OFF_PATH; none of action keys.

    motion: of the shot, at its frame rate. path: that of a shot with one. treads, leaps: how it takes stairs and wide
    gaps.
    """
    root, on_stairs = motion.root.astype(np.float64), np.zeros(len(motion.root), dtype=bool)
    told = list[str]()
    if path is not None and shot.path is not None:
        along = path.arc_lengths(root[:, :2])
        asked, on_stairs = _along_path(shot, along, path, treads, leaps)
        told = [] if leaps is None else _over_gaps(leaps, motion, along)
    elif shot.velocity is not None:
        velocity = np.asarray(shot.velocity.velocities, dtype=np.float64)
        speed = np.linalg.norm(velocity, axis=1)
        asked = _Asked(speed, np.asarray(shot.velocity.facings, dtype=np.float64), np.full(len(speed), True))
    else:
        return []
    out = [*_speeds(asked, root, motion.fps), *_facings(asked, root, motion.fps)]
    out += [*_on_stairs(on_stairs, root, motion.fps), *told]
    return out if path is None else [*out, *_places(path, root, motion.fps)]


def _along_path(
    shot: Shot, along: Array, path: GroundPath, treads: TreadPacing | None, leaps: Leaps | None
) -> tuple[_Asked, Array]:
    """What a path asks for at arc lengths (T,), and whether (T,) the character takes stairs tread by tread."""
    follow = shot.path
    assert follow is not None
    factors = np.array([path.factor(s) for s in along])
    left = np.full(len(along), np.inf) if path.closed else path.length - along
    speed, on_stairs = np.asarray(follow.speeds, dtype=np.float64) * factors, np.zeros(len(along), dtype=bool)
    if treads is not None:
        walks = np.array(follow.gaits) != "jog"
        speed = np.minimum(speed, np.where(walks, [treads.allowed(s) for s in along], np.inf))
        on_stairs = walks & [treads.is_on(s) for s in along]
    facing = path.heading(along) + np.asarray(follow.facing_offsets, dtype=np.float64)
    judged = (np.minimum.accumulate(left) > END) & ~on_stairs
    if leaps is not None:
        judged &= ~np.array([leaps.runs_up(s) or leaps.runs_up(s - LEAST_LANDING) for s in along])
    return _Asked(speed, facing, judged), on_stairs


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


def _on_stairs(there: Array, root: Array, fps: float) -> list[str]:
    speed = np.linalg.norm(np.gradient(root[:, :2], axis=0) * fps, axis=1)
    return [
        f"{_when(a, b, fps)} the character takes stairs tread by tread, at {speed[a:b].mean():.1f} m/s."
        for a, b in runs(there)
        if b - a >= SHORTEST * fps
    ]


def _over_gaps(leaps: Leaps, motion: Motion, along: Array) -> list[str]:
    """Each leap that was made: from when to when no foot is on the ground about the gap."""
    out = []
    flies = ~(motion.contacts > 0.5).any(axis=1)
    for leap in leaps.leaps:
        over = np.flatnonzero((along > leap.gap.start) & (along < leap.gap.end))
        if len(over) and along.max() > leap.gap.end:
            flights = [run for run in runs(flies) if run[0] <= over[-1] and run[1] > over[0]]
            a, b = max(flights, key=lambda run: run[1] - run[0], default=(int(over[0]), int(over[-1]) + 1))
            out.append(f"{_when(a, b, motion.fps)} the character leaps over a gap.")
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


def unkept_keys(shot: Shot, motion: Motion) -> list[str]:
    """Sentences on what action keys missed: their arrival by more than a frame, their speed and facing by more than
    SHARE, their gait, and the animator's own route by more than OFF_PATH; none of keys that failed, which say so.

    motion: of the shot, at its frame rate, with its outcomes.
    """
    root, out = motion.root.astype(np.float64), list[str]()
    speed = np.linalg.norm(gaussian(np.gradient(root[:, :2], axis=0) * motion.fps, _SMOOTHING * motion.fps), axis=1)
    for number, (key, told) in enumerate(zip(shot.keys, motion.meta.get("keys", []), strict=False), start=1):
        if told["trouble"] or told["arrived"] is None or told["set_off"] is None:
            continue
        way = slice(max(told["set_off"], 0), told["arrived"] + 1)
        missed = [*_times(told, motion.fps), *_key_speed(key, speed[way], motion.fps), *_key_facing(told)]
        missed += [*_key_gait(key, motion, way), *_key_route(key, root[way], motion.fps)]
        out += [f"Action key {number} ({key.action}): the character {text}." for text in missed]
    return out


def _times(told: dict[str, Any], fps: float) -> list[str]:
    late = 0 if told.get("asked") is None else told["arrived"] - told["asked"]
    if abs(late) <= 1:
        return []
    return [f"arrives {abs(late) / fps:.1f} s {'late' if late > 0 else 'early'}"]


def _key_speed(key: ActionKey, speed: Array, fps: float) -> list[str]:
    """Of the way's fastest part, as bends and narrow places are taken more slowly; timed keys set their own speed."""
    if key.speed is None or key.is_timed or len(speed) < (SHORTEST + 2 * RESPONSE) * fps:
        return []
    inner = speed[round(RESPONSE * fps) : len(speed) - round(RESPONSE * fps)]
    fastest, usual = float(inner.max()), float(np.median(inner))
    if fastest < (1 - SHARE) * key.speed:
        return [f"goes at {fastest:.1f} m/s at most instead of {key.speed:.1f}"]
    return [f"goes at {usual:.1f} m/s instead of {key.speed:.1f}"] if usual > (1 + SHARE) * key.speed else []


def _key_facing(told: dict[str, Any]) -> list[str]:
    off = told.get("error_deg") or 0.0
    return [f"faces {off:.0f} degrees aside from where it is to"] if off > SHARE * 180 else []


def _key_gait(key: ActionKey, motion: Motion, way: slice) -> list[str]:
    """A run that is too slow to be one is walked."""
    runs_by = next((motion.action_names.index(name) for name in ("jog", "run") if name in motion.action_names), None)
    if runs_by is None or key.is_timed or not (key.gait == "jog" or (key.action == "run" and key.gait == "walk")):
        return []
    ran = motion.actions[way, runs_by] > _RUNS
    long_enough = way.stop - way.start > (SHORTEST + 2 * RESPONSE) * motion.fps
    return ["walks where it was to run"] if long_enough and not ran.any() else []


def _key_route(key: ActionKey, root: Array, fps: float) -> list[str]:
    if not key.route or len(root) < SHORTEST * fps:
        return []
    away = GroundPath(np.vstack((root[0, :2], np.asarray(key.route)[:, :2]))).distance(root[:, :2])
    return [
        f"is up to {away[a:b].max():.1f} m beside its route"
        for a, b in runs(away > OFF_PATH)
        if b - a >= SHORTEST * fps
    ]


def _when(start: int, stop: int, fps: float) -> str:
    return f"From {start / fps:.1f} to {stop / fps:.1f} s"
