# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded pick-ups and put-downs as templates: when the hands close on a box, and where it goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from ...models.nsm import FPS
from ...motion.clip_file import load_clip, load_library
from ...motion.feet import level_feet
from ...motion.filters import gaussian, velocity
from ...motion.retarget import to_model_skeleton
from ...motion.root import direction
from ...motion.rotations import Array
from .episode import sharpest
from .reach import hand_places
from .standing import stands
from .track import Track, from_clip

TAGS = {"pickup", "putdown"}
CLIPS = ("accad_", "cmu_115", "cmu_143_11")
"""Takes in which a box was really held; others mime, or hold something in one hand."""
_LOW = 0.75
"""Metres of the hands: where a box is taken or left."""
_STEADY_WIDTH = 0.025
"""Metres, deviation of the distance between hands that hold a box, over _HELD seconds."""
_HELD = 0.8
_MOVING = 0.12
"""m/s of the hands, up or down, below which the movement down has ended."""
_IN_FRONT = 0.25
"""Metres from the hips to hands that hold a box; hands that swing at the sides are nearer."""
_VIOLENT = 80.0
"""m/s^2: a lift that was recorded so leaves no room for fitting it to another box."""
_STANDS_OFF = 0.35
"""Metres from the middle of one who stands to the box."""
_STOOD = 1.3
"""Seconds of standing in which something may be taken from a table."""
_REACHING = 0.65
"""Seconds before and after the grasp that taking something while standing takes."""

Way = Literal["up", "down"]


@dataclass(frozen=True, eq=False)
class Lift:
    """One pick-up or put-down. In its frame the box is over the origin and the carrier, at +Y, faces it (-Y).

    span: first and last frame of the whole movement; grasp: the frame at which the box changes from lying to being
    held, or back. height, width: mean height (m) and distance (m) of the wrists then. standing: whether one only
    stood there, with nothing in the hands.
    """

    name: str
    subject: str
    way: Way
    track: Track
    span: tuple[int, int]
    grasp: int
    height: float
    width: float
    standing: bool = False

    def mirrored(self) -> Lift:
        """As seen in a mirror."""
        return replace(self, name=self.name + "_mirrored", track=self.track.mirrored())

    def moved_back(self, by: float) -> Lift:
        """With the carrier `by` metres farther from the box."""
        return replace(self, track=self.track.moved(0.0, np.zeros(2), np.array([0.0, by])))


def recorded_lifts(data: Path) -> list[Lift]:
    """All pick-ups and put-downs in the clips of a data folder."""
    found: list[Lift] = []
    for entry in load_library(data):
        if not TAGS & set(entry.tags) or not entry.name.startswith(CLIPS):
            continue
        clip = to_model_skeleton(level_feet(load_clip(data / "clips" / f"{entry.name}.npz")).resampled(FPS))
        found += lifts_of(from_clip(clip), entry.name, str(entry.subject))
    return [lift for lift in found if sharpest(lift.track.cut(*lift.span)) < _VIOLENT]


def lifts_of(track: Track, name: str, subject: str) -> list[Lift]:
    """The pick-ups and put-downs of one track."""
    wrists = hand_places(track)
    left, right = wrists["Left"], wrists["Right"]
    height = gaussian((left + right)[:, 2] / 2, 0.05 * FPS)
    width = np.linalg.norm(left - right, axis=1)
    rise = gaussian(velocity(height, FPS), 0.05 * FPS)
    held = round(_HELD * FPS)
    found = []
    for frame in _lowest(height):
        after = width[frame + 5 : frame + held].std() if frame + held < len(track) else np.inf
        before = width[frame - held : frame - 5].std() if frame >= held else np.inf
        if min(after, before) > _STEADY_WIDTH:
            continue
        way: Way = "up" if after < before else "down"
        start, end = _movement(rise, height, frame)
        middle = (left[frame] + right[frame]) / 2
        if np.linalg.norm(middle[:2] - track.hips[frame, :2]) < _IN_FRONT:
            continue
        lift = Lift(name, subject, way, track, (start, end), frame, float(height[frame]), float(width[frame]))
        found.append(_in_box_frame(lift, middle))
    return found


def standing_lifts(tracks: Sequence[Track]) -> list[Lift]:
    """Stretches of standing in which a box may be taken from a table, or put on one, by the hands alone."""
    found: list[Lift] = []
    for stand in stands(tracks, _STOOD):
        grasp, reach = sum(stand.span) // 2, round(_REACHING * FPS)
        root = stand.track.root()[grasp]
        middle = root[:2] + _STANDS_OFF * direction(root[3])
        cut = stand.track.moved(-float(root[3]), middle, -middle)
        height = float(hand_places(cut)["Left"][grasp, 2])
        span = (grasp - reach, grasp + reach)
        name = f"standing {stand.source}"
        found += [Lift(name, "", way, cut, span, grasp, height, 0.3, True) for way in get_args(Way)]
    return found


def _lowest(height: Array) -> list[int]:
    """Frames at which the hands are lowest, each the one in the middle of a stop."""
    inner = (height[1:-1] <= height[:-2]) & (height[1:-1] < height[2:]) & (height[1:-1] < _LOW)
    frames = (np.flatnonzero(inner) + 1).tolist()
    kept: list[int] = []
    for frame in frames:
        if kept and frame - kept[-1] < FPS:
            kept[-1] = frame if height[frame] < height[kept[-1]] else kept[-1]
        else:
            kept.append(frame)
    return kept


def _movement(rise: Array, height: Array, frame: int) -> tuple[int, int]:
    """First and last frame of going down and coming up again round `frame`."""
    start, end = frame, frame
    while start > 0 and (rise[start - 1] < -_MOVING or height[start] < height[frame] + 0.1):
        start -= 1
    while end < len(rise) - 1 and (rise[end + 1] > _MOVING or height[end] < height[frame] + 0.1):
        end += 1
    return start, end


def _in_box_frame(lift: Lift, middle: Array) -> Lift:
    root = lift.track.root()[lift.grasp]
    track = lift.track.moved(-float(root[3]), middle[:2], -middle[:2])
    return Lift(lift.name, lift.subject, lift.way, track, lift.span, lift.grasp, lift.height, lift.width)
