# SPDX-License-Identifier: GPL-3.0-or-later
"""Segments of a track by action, from its joints alone: recordings and bakes are cut by the same rules.

Only the use of a thing needs a hint, the span in which it happens: a recorded thing leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..motion.filters import highest_around, runs, without_short_runs
from ..motion.motion import Motion
from ..motion.rotations import Array, wrap_angle
from .track import FPS, Track, derivative, smooth

ACTIONS = (
    "walk",
    "jog",
    "start",
    "stop",
    "turn",
    "idle",
    "sit",
    "seated",
    "rise",
    "pick_up",
    "put_down",
    "open",
    "climb",
    "sideways",
    "backward",
    "crouch",
)
"""Actions of segments: "sit" is sitting down, "seated" what follows, "turn" any change of facing by 40 degrees at
walking speed or on the spot."""

USES = ("pick_up", "put_down", "open")
"""Actions with a thing, which need a hint."""

STANDING = 0.2
"""Speed in m/s of the hips, over 0.25 s, below which the body stands."""
WALKING = 0.6
"""Least speed in m/s of the hips within a second of setting off to walk; a step to turn or to shift weight is
slower."""
JOGGING = 2.1
"""Speed in m/s of the hips, over 0.4 s, above which the body jogs; a lunge of a few frames within a walk stays part of
the walk."""
JOG_ENDS = 0.7
"""Time in seconds before and after a run in which speed is gained or lost, and which is no walk."""
CROUCHED = 0.87
"""Share of the height of straight legs below which the hips of a crouch are."""
SEATED_HEIGHT = 0.8
"""Share of the height of straight legs below which the hips of a sitter are; a high stool on which the body hardly
comes down is not found."""
SEATED_AHEAD = 0.1
"""Least distance in meters of the ankles before the hips in a seat; in a squat they are under the body."""
SEATED_LEAN = np.radians(50)
"""Largest lean in radians of the trunk in a seat; with more, the body bends down."""
UPRIGHT = 0.92
"""Share of the height of straight legs that the hips reach when sitting down begins and rising ends."""
CLIMBING = 0.12
"""Change in meters of the ground under the feet within 1.5 s from which the body climbs."""
TURNING = np.radians(35)
"""Turn rate in radians per second of the facing, over 0.2 s, above which the body turns."""
TURNED = np.radians(40)
"""Least angle in radians of a turn."""
LONGEST = 2.0
"""Length in seconds to which long segments of steady actions are cut, so that the largest value within a segment does
not grow with the length of the recording."""
SHORTEST = 0.5
"""Shortest piece in seconds of a steady action."""
AROUND_USE = 1.0
"""Time in seconds before and after the moment of grasping or letting go that belongs to picking up or putting down."""
LEAD = 0.5
"""Time in seconds before the descent that belongs to sitting down, and after the ascent that belongs to rising."""

BEFORE_DONE = 1.5
"""Time in seconds before the end of a key within which its thing was used, where the thing does not move."""
TAKING, LETTING_GO = 0.5, 0.3
"""Times in seconds before a thing begins to move, or after it stops, and on the other side of that moment, within which
the hand is farthest out."""
MOVING = 0.02
"""Change of a pose in a second, in meters or in a quaternion's parts, above which a thing moves."""

Span = tuple[int, int]


@dataclass(frozen=True)
class Segment:
    """Frames start..stop-1 of a track with an action.

    event: frame of the grasp, the release or the seat's contact; None without such a frame. seconds: duration of
    sitting down or rising itself.
    """

    action: str
    start: int
    stop: int
    event: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Use:
    """A hint that a thing is used within frames first..last of the track."""

    action: str
    first: int
    last: int


def uses_of(motion: Motion) -> list[Use]:
    """The uses of things in a bake, from its keys and the things' movement; frames at 60 fps."""
    out: list[Use] = []
    rate, fps, moving = FPS / motion.fps, motion.fps, _moving(motion)
    for key in motion.meta.get("keys", []):
        if key["action"] not in USES or key.get("arrived") is None:
            continue
        done = key["done"] if key.get("done") is not None else len(motion) - 1
        moved = np.flatnonzero(moving[: done + 1])
        moved = moved[moved >= (key.get("set_off") or 0)].tolist()
        first, last = done - BEFORE_DONE * fps, float(done)
        if moved and key["action"] == "pick_up":
            first, last = moved[0] - TAKING * fps, moved[0] + LETTING_GO * fps
        elif moved and key["action"] == "put_down":
            first, last = moved[-1] - LETTING_GO * fps, moved[-1] + TAKING * fps
        elif moved:
            first = moved[0] - TAKING * fps
        out.append(Use(key["action"], max(round(first * rate), 0), round(last * rate)))
    return out


def _moving(motion: Motion) -> Array:
    """Mask (T,) of the frames in which a thing of the scene moves from the frame before."""
    out = np.zeros(len(motion), dtype=bool)
    for poses in motion.meta.get("things", {}).values():
        steps = np.abs(np.diff(np.array(poses, dtype=float), axis=0)).max(axis=1) * motion.fps > MOVING
        out[1 : len(steps) + 1] |= steps[: len(out) - 1]
    return out


def segments(track: Track, uses: Sequence[Use] = (), sits: bool = True) -> list[Segment]:
    """All segments, in order of time; each frame is in at most one. sits: whether seats may be used; without, a low
    body crouches."""
    if len(track) < SHORTEST * FPS:
        return []
    free = np.ones(len(track), dtype=bool)
    out: list[Segment] = []

    def take(found: Sequence[Segment]) -> None:
        for segment in found:
            if free[segment.start : segment.stop].all():
                out.append(segment)
                free[segment.start : segment.stop] = False

    used = [_around(track, use) for use in uses]
    take([s for s in used if s is not None and s.action != "open"])
    for s in used:
        if s is not None and s.action == "open":
            parts = pieces("open", _within(free, s.start, s.stop))
            take([replace(part, event=_event(part, s.event)) for part in parts])
    climbing = _climbing(track)
    take(pieces("climb", _runs(free & climbing)))
    seated = _seated(track) & ~climbing & sits
    take([s for a, b in runs(seated) if (s := _sitting_down(track, a)) is not None])
    take([s for a, b in runs(seated) if (s := _rising(track, b)) is not None])
    take(pieces("seated", _runs(free & seated)))

    speed = np.linalg.norm(smooth(derivative(track.hips[:, :2]), 0.25), axis=-1)
    stands = without_short_runs(speed < STANDING, int(0.2 * FPS), int(0.2 * FPS))
    jogs = (np.linalg.norm(smooth(derivative(track.hips[:, :2]), 0.4), axis=-1) > JOGGING) & track.may_jog
    near_jog = highest_around(jogs[:, None], round(JOG_ENDS * FPS))[:, 0]
    low = smooth(track.height, 0.3) < CROUCHED
    sideways, backward = _directions(track, stands)
    take(_starts_and_stops(speed, stands, near_jog | low | sideways | backward | ~free))
    turning = _turning(track) & ~jogs & ~low
    take(pieces("turn", _runs(free & turning)))
    take(pieces("jog", _runs(free & jogs & ~sideways & ~backward)))
    take(pieces("crouch", _runs(free & low & ~stands)))
    take(pieces("backward", _runs(free & backward & ~low)))
    take(pieces("sideways", _runs(free & sideways & ~low)))
    take(pieces("walk", _runs(free & ~stands & ~near_jog & ~low & ~sideways & ~backward)))
    take(pieces("idle", _runs(free & stands & ~low)))
    return sorted(out, key=lambda s: s.start)


def _runs(mask: Array) -> list[Span]:
    return [(a, b) for a, b in runs(mask) if b - a >= SHORTEST * FPS]


def pieces(action: str, spans: Sequence[Span]) -> list[Segment]:
    """Cut spans into segments of at most `LONGEST`, equally long."""
    out = []
    for a, b in spans:
        count = max(int(np.ceil((b - a) / (LONGEST * FPS))), 1)
        edges = np.linspace(a, b, count + 1).round().astype(int).tolist()
        out += [Segment(action, c, d) for c, d in pairwise(edges)]
    return out


def _event(part: Segment, event: int | None) -> int | None:
    """The event of the whole segment, if it is in this part."""
    return event if event is not None and part.start <= event < part.stop else None


def _within(free: Array, start: int, stop: int) -> list[Span]:
    """Runs of free frames in a span."""
    mask = np.zeros_like(free)
    mask[start:stop] = free[start:stop]
    return _runs(mask)


def _around(track: Track, use: Use) -> Segment | None:
    """The frames around the moment in which a hand is farthest from its resting place; for opening, the whole span."""
    first, last = max(use.first, 0), min(use.last, len(track) - 1)
    if last <= first:
        return None
    event = first + int(smooth(track.reach.max(axis=1), 0.1)[first : last + 1].argmax())
    around = round(AROUND_USE * FPS)
    if use.action == "open":
        return Segment("open", max(first - round(LEAD * FPS), 0), last + 1, event)
    return Segment(use.action, max(event - around, 0), min(event + around, len(track)), event)


def _climbing(track: Track) -> Array:
    """Mask (T,) of the frames in which the ground under the feet changes its height."""
    half = round(LONGEST / 2 * 0.75 * FPS)
    at = np.arange(len(track))
    ahead, behind = track.support[np.minimum(at + half, len(at) - 1)], track.support[np.maximum(at - half, 0)]
    return without_short_runs(np.abs(ahead - behind) > CLIMBING, int(0.5 * FPS), int(0.2 * FPS))


def _seated(track: Track) -> Array:
    """Mask (T,) of the frames in which the body rests on a seat."""
    slow = np.linalg.norm(smooth(derivative(track.hips), 0.1), axis=-1) < 0.2
    low = track.height < SEATED_HEIGHT
    sits = low & slow & (track.feet_ahead > SEATED_AHEAD) & (track.lean < SEATED_LEAN)
    return without_short_runs(sits, int(0.5 * FPS), int(0.4 * FPS))


def _sitting_down(track: Track, settled: int) -> Segment | None:
    """The descent that ends in being seated from a frame on; None where the track begins seated."""
    sinking = smooth(derivative(track.hips[:, 2]), 0.1) < -0.06
    frame = settled
    while frame > 0 and settled - frame < 4 * FPS and (track.height[frame] < UPRIGHT or sinking[frame]):
        frame -= 1
    if track.height[frame] < UPRIGHT - 0.02 or frame == settled:
        return None
    return Segment(
        "sit", max(frame - round(LEAD * FPS), 0), settled, event=settled - 1, seconds=(settled - frame) / FPS
    )


def _rising(track: Track, left: int) -> Segment | None:
    """The ascent that begins at a frame in which the body leaves a seat; None where the track ends seated."""
    lifting = smooth(derivative(track.hips[:, 2]), 0.1) > 0.06
    last = len(track) - 1
    frame = min(left, last)
    while frame < last and frame - left < 4 * FPS and (track.height[frame] < UPRIGHT or lifting[frame]):
        frame += 1
    if track.height[frame] < UPRIGHT - 0.02 or frame == left:
        return None
    return Segment("rise", left, min(frame + round(LEAD * FPS), last + 1), event=left, seconds=(frame - left) / FPS)


def _starts_and_stops(speed: Array, stands: Array, not_walking: Array) -> list[Segment]:
    """Segments from 0.3 s before the hips set off to 1 s after, and the same backwards where they come to rest."""
    out = []
    before, after, count = round(0.3 * FPS), round(1.0 * FPS), len(stands)
    for a, b in runs(~stands):
        if b - a < 0.8 * FPS:
            continue
        spans = []
        if a >= 0.2 * FPS:
            spans.append(("start", a - before, a + after))
        if count - b >= 0.2 * FPS and (not spans or b - after >= a + after):
            spans.append(("stop", b - after, b + before))
        for action, first, last in spans:
            first, last = max(first, 0), min(last, count)
            if not not_walking[first:last].any() and speed[first:last].max() > WALKING:
                out.append(Segment(action, first, last))
    return out


def _turning(track: Track) -> Array:
    """Mask (T,) of the frames in which the body turns by at least `TURNED`."""
    facing = smooth(track.facing, 0.2)
    out = np.zeros(len(track), dtype=bool)
    for sign in (1, -1):
        fast = without_short_runs(sign * derivative(facing) > TURNING, int(0.15 * FPS), 0)
        for a, b in runs(fast):
            if abs(facing[b - 1] - facing[a]) > TURNED:
                out[a:b] = True
    return out


def _directions(track: Track, stands: Array) -> tuple[Array, Array]:
    """Masks (T,) of the frames in which the body steps sideways, and backward."""
    velocity = smooth(derivative(track.hips[:, :2]), 0.3)
    way = np.arctan2(velocity[:, 0], -velocity[:, 1])
    off = np.abs(wrap_angle(way - track.facing))
    shortest = int(SHORTEST * FPS)
    sideways = without_short_runs((off > np.radians(50)) & (off < np.radians(130)) & ~stands, shortest, shortest)
    backward = without_short_runs((off >= np.radians(130)) & ~stands, shortest, shortest)
    return sideways & ~backward, backward
