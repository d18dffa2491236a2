# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of what a viewer sees in a motion: for each segment, and for the whole motion.

The same functions measure recordings and bakes. Angles are in degrees, lengths in the unit that a name ends with, else
meters; accelerations in m/s^2, jerks in m/s^3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..motion.motion import Motion
from ..motion.rotations import Array, wrap_angle
from ..stepwise import Stepwise, finished
from .case import Case
from .segments import Segment, Use, pieces, segments, uses_of
from .track import FPS, Track, derivative, smooth, track_of, turning_points

Figures = dict[str, float]

DEAD_BAND = np.radians(25)
"""Angle in radians within which the facing sways to and fro without turning; hips and shoulders swing by 10 to 20
degrees."""
_POP = 1 / 30
"""Time in seconds over which a jump of the knee's angular velocity is taken."""
_BOB_OVER = 0.3
"""Standard deviation in seconds of the Gaussian mean that is subtracted from the hips' height, which leaves what is
above 0.8 Hz."""
_SLOW_TURN, _UPRIGHT = 60.0, 0.85
"""Turn rate in degrees per second up to which, and share of the height of straight legs above which, the twist of the
whole motion is taken, with both feet planted: people that spin or sit twist their legs farther."""
_STANDING_ACTIONS = ("walk", "jog", "start", "stop", "turn", "idle", "sideways", "backward", "crouch")
"""Actions of an upright body."""
_ON_FEET = ("walk", "start", "stop", "turn", "idle", "sit", "rise", "pick_up", "put_down", "open")
"""Actions in which a foot is always on the floor."""
_FREE_HANDS = ("walk", "jog", "start", "stop", "turn", "idle", "rise", "climb", "sideways", "backward")
"""Actions with free hands."""
_CORNER = 0.25
"""Deviation in meters from a straight line below which a path requires no turning."""
_ARRIVING = 0.3
"""Speed in m/s of the root below which a body that comes to use a thing has arrived at it."""
_STEADY = 0.8
"""Length, 0..1, of the mean direction of movement against the facing from which a body goes sideways or backward all
the way; below, it goes forward and then back onto a seat, and the mean says nothing."""
_WALKED = 0.5
"""Length in meters below which a path requires no other turning than from its first to its last facing."""


@dataclass(frozen=True)
class Measured:
    """Figures of a motion. parts: of each segment. whole: of all of it."""

    parts: list[tuple[Segment, Figures]]
    whole: Figures = field(default_factory=dict)

    def values(self) -> dict[tuple[str, str], list[float]]:
        """All values of each action and measure."""
        out: dict[tuple[str, str], list[float]] = {}
        for segment, figures in self.parts:
            for name, value in figures.items():
                out.setdefault((segment.action, name), []).append(value)
        return out


def measure(motion: Motion, case: Case | None = None, action: str = "") -> Measured:
    """`measuring` at once."""
    return finished(measuring(motion, case, action))


def measuring(motion: Motion, case: Case | None = None, action: str = "") -> Stepwise[Measured]:
    """Measure a bake, in pieces of work; with a case also its required turning and its contacts with things.

    action: of the whole motion, such as "strike"; "" to find segments.
    """
    track = track_of(motion)
    yield
    keys = motion.meta.get("keys", [])
    found = yield from _measuring_track(track, uses_of(motion), action, any(key["action"] == "sit" for key in keys))
    yield
    required = None if case is None else case.turning
    found.whole["excess_turning_deg"] = excess_turning(track, _legs(motion), required)
    if case is not None:
        found.whole.update(_of_case(case, motion))
    return found


def measure_track(track: Track, uses: Sequence[Use] = (), action: str = "", sits: bool = True) -> Measured:
    """Measure what needs the joints alone. action: of the whole track, "" to find segments. sits: whether seats may be
    used."""
    out = finished(_measuring_track(track, uses, action, sits))
    out.whole["excess_turning_deg"] = excess_turning(track, [(0, len(track) - 1)])
    return out


def _measuring_track(track: Track, uses: Sequence[Use], action: str, sits: bool) -> Stepwise[Measured]:
    """`measure_track` in pieces of work, without the turning."""
    found = pieces(action, [(0, len(track))]) if action else segments(track, uses, sits)
    yield
    curves = _Curves.of(track)
    parts = []
    for segment in found:
        yield
        parts.append((segment, _of_segment(track, curves, segment)))
    whole: Figures = {}
    slow = track.planted.all(axis=1) & (track.height > _UPRIGHT) & (curves.yaw_speed < _SLOW_TURN)
    twist = track.twist[slow]
    twist = twist[np.isfinite(twist)]
    if len(twist):
        whole["planted_twist_deg"] = float(np.degrees(twist.max()))
    for name, off in track.tremble.items():
        whole[f"{name}_tremble_mm"] = 1000 * float(np.sqrt(np.square(off).sum(-1).mean(0).max()))
    return Measured(parts, whole)


@dataclass(frozen=True, eq=False)
class _Curves:
    """Curves (T,) over a track that segments are measured on."""

    acceleration: dict[str, Array]
    jerk: dict[str, Array]
    speed: Array
    yaw_speed: Array
    knee: Array
    head_off_way: Array

    @staticmethod
    def of(track: Track) -> _Curves:
        """Compute the curves of a track."""
        acceleration, jerk = {}, {}
        for name, places in track.parts.items():
            second = derivative(derivative(places))
            acceleration[name] = np.linalg.norm(second, axis=-1).max(axis=1)
            jerk[name] = np.linalg.norm(derivative(second), axis=-1).max(axis=1)
        knee = np.degrees(derivative(track.knees))
        step = max(round(_POP * FPS / 2), 1)
        pop = np.zeros(knee.shape)
        if len(knee) > 2 * step:
            pop[step:-step] = np.abs(knee[2 * step :] - knee[: -2 * step])
        way = np.arctan2(track.velocity[:, 0], -track.velocity[:, 1])
        look = np.arctan2(track.look[:, 0], -track.look[:, 1])
        return _Curves(
            acceleration,
            jerk,
            np.linalg.norm(track.velocity, axis=-1),
            np.degrees(np.abs(derivative(track.facing))),
            np.where(track.planted, pop, 0).max(axis=1),
            np.degrees(np.abs(wrap_angle(look - way))),
        )


def _of_segment(track: Track, curves: _Curves, segment: Segment) -> Figures:
    s = slice(segment.start, segment.stop)
    out: Figures = {"root_speed": float(curves.speed[s].max()), "yaw_speed": float(curves.yaw_speed[s].max())}
    for name in track.parts:
        out[f"{name}_acceleration"] = float(curves.acceleration[name][s].max())
        out[f"{name}_jerk"] = float(curves.jerk[name][s].max())
    out["hips_bob"] = 100 * float(np.ptp(track.hips[s, 2] - smooth(track.hips[s, 2], _BOB_OVER)))
    out["knee_pop"] = float(curves.knee[s].max())
    for name, off in track.tremble.items():
        out[f"{name}_tremble_mm"] = 1000 * float(np.sqrt(np.square(off[s]).sum(-1).mean(0).max()))
    if segment.action in _STANDING_ACTIONS:
        twist = track.twist[s][track.planted[s]]
        twist = twist[np.isfinite(twist)]
        if len(twist):
            out["planted_twist_deg"] = float(np.degrees(twist.max()))
    above = track.feet_above_floor[s]
    if segment.action in _ON_FEET and np.isfinite(above).any():
        out["feet_above_floor_cm"] = 100 * float(np.nanmax(above))
    if segment.action in _FREE_HANDS and not track.carrying[s].any():
        out["hand_height"] = float(np.percentile(track.hand_height[s], 95))
        out["hand_aside"] = float(np.percentile(track.hand_aside[s], 95))
    if segment.action in ("walk", "jog"):
        out |= _steps(track, curves, s)
    if segment.action in ("walk", "jog") and not track.carrying[s].any():
        out["elbow_deg"] = float(np.degrees(np.median(track.elbows[s])))
    if segment.action == "idle" and not track.carrying[s].any():
        out["bent_elbow_deg"] = float(np.degrees(np.median(track.elbows[s].max(axis=1))))
    if segment.action == "start":
        head = track.parts["head"][s, 0, 2]
        out["head_drop_cm"] = 100 * float((np.maximum.accumulate(head) - head).max())
    if segment.event is not None or segment.action == "idle":
        out["lean_deg"] = float(np.degrees(track.lean[s].max()))
    if segment.action in ("idle", "seated"):
        path = np.linalg.norm(derivative(smooth(track.hips, 0.1))[s, :2], axis=-1)
        out["hips_travel_cm_per_s"] = 100 * float(path.mean())
    if segment.seconds is not None:
        out["seconds"] = segment.seconds
    if segment.event is not None and (waited := _waited(curves.speed, segment)) is not None:
        out["wait_s"] = waited
    if segment.event is not None and segment.action in ("pick_up", "put_down", "open"):
        side = int(track.reach[segment.event].argmax())
        out["head_off_deg"] = float(np.degrees(track.head_to(track.parts["hands"][segment.event, side], segment.event)))
    elif segment.action in ("walk", "jog"):
        moving = curves.speed[s] > 0.5
        if moving.any():
            out["head_off_deg"] = float(np.median(curves.head_off_way[s][moving]))
    return out


def _waited(speed: Array, segment: Segment) -> float | None:
    """Time in seconds from standing still before a thing to taking or leaving it, or to the start of sitting down; None
    where the body does not walk up to it. speed: (T,) m/s of the root."""
    if segment.action not in ("sit", "pick_up", "put_down", "open") or segment.event is None:
        return None
    begins = segment.event if segment.seconds is None else segment.event - round(segment.seconds * FPS)
    walks = np.flatnonzero(speed[: max(begins, 0)] > _ARRIVING)
    return None if not len(walks) else (begins - int(walks[-1])) / FPS


def _steps(track: Track, curves: _Curves, s: slice) -> Figures:
    """Width of steps, lift of the heel, steps a minute, and step length over cadence, a ratio that people keep at any
    speed."""
    planted = track.planted[s]
    pitch = track.foot_pitch[s]
    out: Figures = {}
    strikes: list[tuple[int, int]] = []
    for side in (0, 1):
        strikes += [(int(f) + 1, side) for f in np.flatnonzero(planted[1:, side] & ~planted[:-1, side])]
        on = planted[:, side]
        if on.any():
            flat = np.percentile(track.foot_pitch[track.planted[:, side], side], 10)
            out["heel_off_deg"] = max(out.get("heel_off_deg", 0.0), float(np.degrees(pitch[on, side].max() - flat)))
    strikes.sort()
    ankles, velocity = track.parts["feet"][s], track.course[s]
    widths = []
    for (_, other), (frame, side) in pairwise(strikes):
        speed = float(np.linalg.norm(velocity[frame]))
        if side == other or speed < 0.3:
            continue
        left = np.array([-velocity[frame, 1], velocity[frame, 0]]) / speed
        sign = 1.0 if side == 0 else -1.0
        widths.append(sign * float((ankles[frame, side, :2] - ankles[frame, other, :2]) @ left))
    if widths:
        out["step_width_cm"] = 100 * float(np.median(widths)) / track.scale
    if len(strikes) >= 3 and all(a[1] != b[1] for a, b in pairwise(strikes)):
        seconds = (strikes[-1][0] - strikes[0][0]) / FPS
        cadence = 60 * (len(strikes) - 1) / seconds
        way = float(curves.speed[s][strikes[0][0] : strikes[-1][0]].mean()) * seconds
        out["cadence_per_min"] = cadence
        out["step_length_cm"] = 100 * way / (len(strikes) - 1) / track.scale
        out["walk_ratio_mm_min"] = 10 * out["step_length_cm"] / cadence
    return out


def excess_turning(track: Track, legs: Sequence[tuple[int, int]], required: float | None = None) -> float:
    """Largest excess turning in degrees of the legs of a path over what the path requires, without the sway of walking.

    legs: first and last frame of each. required: radians of turning that all legs together require; None measures it on
    each leg's path: from its first facing into the path, along its corners, and from there to its last facing.
    """
    facing = smooth(track.facing, 0.15)
    totals, needed = [], []
    for first, last in legs:
        if last - first < 2:
            continue
        part = facing[first : last + 1]
        points = np.array(turning_points(part, DEAD_BAND))
        totals.append(float(np.abs(np.diff(points)).sum()))
        needed.append(_required_turning(track.hips[first : last + 1, :2], part))
    if not totals:
        return 0.0
    if required is not None:
        return max(float(np.degrees(sum(totals) - required)), 0.0)
    return max(max(float(np.degrees(t - w)), 0.0) for t, w in zip(totals, needed, strict=True))


def _required_turning(way: Array, facing: Array) -> float:
    """Turning in radians that a path (T, 2) requires, from its first to its last facing."""
    across = abs(float(wrap_angle(facing[-1] - facing[0])))
    corners = way[_corners(way, _CORNER)]
    legs = np.diff(corners, axis=0)
    legs = legs[np.linalg.norm(legs, axis=-1) > _CORNER]
    if np.linalg.norm(np.diff(way[::6], axis=0), axis=-1).sum() < _WALKED or not len(legs):
        return across
    ways = np.arctan2(legs[:, 0], -legs[:, 1])
    moving = np.linalg.norm(np.gradient(way, axis=0), axis=-1) * FPS > 0.3
    offset = 0.0
    if moving.any():
        steps = np.gradient(way, axis=0)[moving]
        off = np.arctan2(steps[:, 0], -steps[:, 1]) - facing[moving]
        mean = complex(np.cos(off).mean(), np.sin(off).mean())
        offset = float(np.angle(mean)) if abs(mean) > _STEADY else 0.0
    angles = np.concatenate((facing[:1], ways - offset, facing[-1:]))
    return float(np.abs(wrap_angle(np.diff(angles))).sum())


def _corners(way: Array, tolerance: float) -> list[int]:
    """Indices of the corners of a path (T, 2) simplified to a tolerance (Douglas and Peucker 1973), ends included."""
    keep = {0, len(way) - 1}
    spans = [(0, len(way) - 1)]
    while spans:
        a, b = spans.pop()
        if b - a < 2:
            continue
        along = way[b] - way[a]
        length = float(np.linalg.norm(along))
        off = way[a + 1 : b] - way[a]
        if length < 1e-6:
            distance = np.linalg.norm(off, axis=-1)
        else:
            t = np.clip(off @ along / length**2, 0, 1)
            distance = np.linalg.norm(off - t[:, None] * along, axis=-1)
        worst = int(distance.argmax())
        if distance[worst] > tolerance:
            keep.add(a + 1 + worst)
            spans += [(a, a + 1 + worst), (a + 1 + worst, b)]
    return sorted(keep)


def _legs(motion: Motion) -> list[tuple[int, int]]:
    """First and last frame, at 60 fps, of the leg that leads to each key's end; the whole motion without keys."""
    last = int((len(motion) - 1) * FPS / motion.fps)
    ends = [round(key["done"] * FPS / motion.fps) for key in motion.meta.get("keys", []) if key.get("done") is not None]
    edges = [0, *(min(end, last) for end in ends)]
    if not ends or last - edges[-1] > FPS:
        edges.append(last)
    return [(a, b) for a, b in pairwise(edges) if b > a]


def _of_case(case: Case, motion: Motion) -> Figures:
    """Distance from the end of the shot's path, or from a goal to walk to, at which the character came to stand."""
    out: Figures = {}
    ends: list[float] = []
    path = case.shot.path
    if path is not None and not path.closed:
        points = np.array(path.points)
        length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        factor = min(1.0, float(np.mean(path.speed_factors))) if path.speed_factors else 1.0
        if factor * sum(path.speeds) / case.shot.fps > length:
            ends.append(100 * float(np.linalg.norm(motion.root[-1, :2] - points[-1, :2])))
    for key in motion.meta.get("keys", []):
        if key["action"] in ("walk", "run") and key.get("error_cm") is not None:
            ends.append(float(key["error_cm"]))
    if ends:
        out["path_end_cm"] = max(ends)
    return out
