# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded pick-ups and put-downs as templates: when the hands close on a box, and where it goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from ...errors import FileFormatError
from ...geometry.colliders import Cuboids
from ...geometry.roles import Carryable
from ...labels.marks import Scene, transition_at
from ...models.nsm import FPS
from ...motion.clip_file import LibraryEntry, load_library
from ...motion.filters import gaussian, runs, velocity
from ...motion.root import direction
from ...motion.rotations import Array
from .boxes import Box
from .captures import Capture, load_capture
from .episode import sharpest
from .props import Prop, kinds_beside
from .reach import hand_places, palm
from .standing import stands
from .track import Track

TAGS = {"pickup", "putdown"}
"""Tags of the clips in which something is lifted or put down."""
CLIPS = ("accad_", "cmu_115", "cmu_143_11")
"""Takes in which a box was really held; others mime, or hold something in one hand."""
_LOW = 0.75
"""Height of the hands in meters below which a box is taken or left."""
_STEADY_WIDTH = 0.025
"""Largest standard deviation in meters of the distance between hands that hold a box."""
_HELD = 0.8
"""Seconds over which that distance is watched."""
_MOVING = 0.12
"""Speed in m/s of the hands, up or down, below which the movement down has ended."""
_IN_FRONT = 0.25
"""Least meters from the hips to hands that hold a box, since hands that swing at the sides are nearer."""
_VIOLENT = 80.0
"""Acceleration in m/s^2 from which a recorded lift leaves no room for fitting it to another box."""
_STANDS_OFF = 0.35
"""Meters from the middle of a standing character to the box."""
_STOOD = 1.3
"""Seconds of standing in which something may be taken from a table."""
_REACHING = 0.65
"""Seconds before and after the grasp that taking something while standing lasts."""
_NEAR = 30
"""Most frames from the told second to corrected contacts and transitions."""
_OFF_BOX = 0.35
"""Largest meters from the middle between the palms to that of a told box, beyond half its width."""

_AROUND = round(0.1 * FPS)
"""Frames before and after a movement that are played backward with it, where it is joined to ways."""
_COMING = 0.5, 0.1
"""Seconds before a movement, and meters that a performer who comes walking covers in them at least."""

Way = Literal["up", "down"]
Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Lift:
    """A pick-up or put-down. In its frame the box is over the origin and the carrier, at +Y, faces it (-Y).

    span: first and last frame of the whole movement; grasp: the frame at which the box changes from lying to being
    held, or back. height, width: mean height (m) and distance (m) of the wrists then. standing: whether one only
    stood there, with nothing in the hands. box: what was lifted, where it was told, and lying: meters of the middle of
    its sides while it lies.
    """

    name: str
    subject: str
    way: Way
    track: Track
    span: Span
    grasp: int
    height: float
    width: float
    standing: bool = False
    box: Box | None = None
    lying: float = 0.0

    @property
    def comes_walking(self) -> bool:
        """Whether the performer was walking right before the movement."""
        root, start = self.track.root(), self.span[0]
        seconds, far = _COMING
        before = max(start - round(seconds * FPS), 0)
        return float(np.linalg.norm(root[start, :2] - root[before, :2])) > far

    def mirrored(self) -> Lift:
        """As seen in a mirror."""
        box = self.box
        if box is not None:
            box = replace(box, cuboids=Cuboids(box.cuboids.center * np.array([-1.0, 1.0, 1.0]), box.cuboids.half))
        return replace(self, name=self.name + "_mirrored", track=self.track.mirrored(), box=box)

    def reversed(self) -> Lift:
        """The movement alone, played backward: a character that took a box puts it down from standing."""
        first, last = max(self.span[0] - _AROUND, 0), min(self.span[1] + _AROUND, len(self.track) - 1)
        way: Way = "down" if self.way == "up" else "up"
        span = last - self.span[1], last - self.span[0]
        track = self.track.cut(first, last + 1).reversed()
        return replace(self, name=self.name + "_reversed", way=way, track=track, span=span, grasp=last - self.grasp)

    def moved_back(self, by: float) -> Lift:
        """With the carrier `by` meters farther from the box."""
        return replace(self, track=self.track.moved(0.0, np.zeros(2), np.array([0.0, by])))


def shows_lifting(entry: LibraryEntry) -> bool:
    """Whether lifts are looked for in a clip: it is one of the public ones, or a box is told beside it."""
    return (bool(TAGS & set(entry.tags)) and entry.name.startswith(CLIPS)) or "box" in kinds_beside(entry.path)


def recorded_lifts(data: Path) -> list[Lift]:
    """All pick-ups and put-downs in the clips of a data folder. Raises FileFormatError when a box is told where no
    hands are."""
    found = [
        lift for entry in load_library(data) if shows_lifting(entry) for lift in captured_lifts(load_capture(entry))
    ]
    return [lift for lift in found if sharpest(lift.track.cut(*lift.span)) < _VIOLENT]


def captured_lifts(capture: Capture) -> list[Lift]:
    """The pick-ups and put-downs of one clip: of the boxes that are told beside it, else those that the hands show."""
    boxes = capture.of_kind("box")
    if not boxes:
        return lifts_of(capture.track, capture.name, capture.subject)
    return [lift for prop in boxes for lift in _lifts_of_box(capture, prop)]


def lifts_of(track: Track, name: str, subject: str) -> list[Lift]:
    """The pick-ups and put-downs of one track."""
    wrists = hand_places(track)
    left, right = wrists["Left"], wrists["Right"]
    height, rise = _heights(track)
    width = np.linalg.norm(left - right, axis=1)
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
        found.append(_in_box_frame(lift, middle[:2], float(track.root()[frame, 3])))
    return found


def _lifts_of_box(capture: Capture, prop: Prop) -> list[Lift]:
    """Taking a told box and leaving it."""
    track = capture.track
    scene = None if capture.marks is None else capture.marks.scene
    wrists = hand_places(track)
    height, rise = _heights(track)
    facing = track.root()[:, 3]
    ends: list[tuple[Way, float | None, Array]] = [
        ("up", prop.start, prop.place),
        ("down", prop.stop, prop.place if prop.put is None else prop.put),
    ]
    first = next(second for _, second, _ in ends if second is not None)
    # The carrier comes from where the box faces; where no facing is told, the box faces the carrier.
    toward = _from_side(prop) if prop.facing is not None else float(facing[min(round(first * FPS), len(track) - 1)])
    found = []
    for way, second, place in ends:
        if second is None:
            continue
        grasp, span = _grasp(capture.name, prop, scene, way, round(second * FPS), len(track))
        box = _box_of(prop, toward)
        middle = (palm(track, "Left")[grasp] + palm(track, "Right")[grasp]) / 2
        away = float(np.linalg.norm(middle - place - [0.0, 0.0, box.bottom]))
        if away > _OFF_BOX + box.width / 2:
            raise FileFormatError(
                f"{capture.name}: the hands are {away:.2f} m from {prop.name} at {second:.1f} s; check its position, "
                "seconds, axes and unit"
            )
        span = _movement(rise, height, grasp) if span is None else span
        width = float(np.linalg.norm(wrists["Left"][grasp] - wrists["Right"][grasp]))
        lift = Lift(capture.name, capture.subject, way, track, span, grasp, float(height[grasp]), width)
        lift = replace(lift, box=box, lying=float(place[2]) + box.bottom)
        comes = toward if way == "up" or prop.put is None else float(facing[grasp])
        found.append(_in_box_frame(lift, place[:2], comes))
    return found


def _grasp(name: str, prop: Prop, scene: Scene | None, way: Way, told: int, count: int) -> tuple[int, Span | None]:
    """The frame of the grasp, and the whole movement where corrected labels say it."""
    if not 0 < told < count:
        raise FileFormatError(f"{name}: {prop.name} is taken or left at {told / FPS:.1f} s, outside of the clip")
    if scene is None:
        return told, None
    held = runs(scene.touching[:, :2].min(1) > 0.5)
    near = [start if way == "up" else stop - 1 for start, stop in held]
    grasp = min(near, key=lambda frame: abs(frame - told), default=told)
    grasp = grasp if abs(grasp - told) <= _NEAR else told
    return grasp, transition_at(scene, grasp, _NEAR)


def _from_side(prop: Prop) -> float:
    """The facing angle of the carrier that takes a box."""
    assert prop.facing is not None
    return prop.facing + np.pi


def _box_of(prop: Prop, toward: float) -> Box:
    """A told box in the frame of its palms, for a carrier that faces the angle `toward`."""
    cuboids = prop.solid(toward)
    low, high = (cuboids.center - cuboids.half).min(0), (cuboids.center + cuboids.half).max(0)
    middle = (low + high) / 2
    width = float(high[0] - low[0])
    handles = Carryable([width / 2, 0.0, 0.0], [-width / 2, 0.0, 0.0], [0.0, 1.0, 0.0])
    centered = Cuboids(cuboids.center - middle, cuboids.half)
    return Box(prop.name, centered, width, float(middle[2] - low[2]), float(high[1] - middle[1]), handles)


def _heights(track: Track) -> tuple[Array, Array]:
    """Mean height (T,) of the wrists, meters, and how fast it rises, m/s."""
    wrists = hand_places(track)
    height = gaussian((wrists["Left"] + wrists["Right"])[:, 2] / 2, 0.05 * FPS)
    return height, gaussian(velocity(height, FPS), 0.05 * FPS)


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


def _movement(rise: Array, height: Array, frame: int) -> Span:
    """First and last frame of going down and coming up again round `frame`."""
    start, end = frame, frame
    while start > 0 and (rise[start - 1] < -_MOVING or height[start] < height[frame] + 0.1):
        start -= 1
    while end < len(rise) - 1 and (rise[end + 1] > _MOVING or height[end] < height[frame] + 0.1):
        end += 1
    return start, end


def _in_box_frame(lift: Lift, middle: Array, facing: float) -> Lift:
    """With the box, which was over `middle` (2,) before a carrier that faced an angle, over the origin."""
    return replace(lift, track=lift.track.moved(-facing, middle, -middle))
