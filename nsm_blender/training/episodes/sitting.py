# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded sits as templates: where the hips come down, when, and what leads there and away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...errors import FileFormatError
from ...geometry.colliders import Collider, Cuboids
from ...geometry.roles import Seat
from ...labels.marks import Scene, transition_at
from ...models.nsm import FPS
from ...motion.clip_file import LibraryEntry, load_library
from ...motion.feet import lowest_foot
from ...motion.filters import gaussian, runs, velocity
from ...motion.rotations import Array, wrap_angle
from ...motion.skeleton import MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from .captures import Capture, load_capture
from .props import Prop, kinds_beside
from .track import Track

SIT_TAGS = {"sit", "sit_high", "stand_up"}
"""Tags of the clips in which a performer sits."""
_LEAST_DROP = 0.07
"""Least meters that the hips come down, little because a high stool is hardly lower than standing."""
_OFTEN = 0.25
"""Share of the time at the most usual height above seats from which a height counts as that of standing."""
_LEAST_SECONDS = 0.5
"""Least seconds that the hips rest on a seat."""
_SETTLED = 0.05
"""Speed in m/s of the hips, up or down, below which they rest."""
_STEADY = 0.2
"""Speed in m/s of the hips over the ground below which a low body sits and does not walk crouched."""
_NEAR = 15
"""Most frames that a corrected transition is from the contact of the hips."""
_OFF_SEAT = (0.4, 0.25)
"""Largest meters of the hips from the middle of a told seat, and above or below where they belong."""
_CARRIED = 0.03
"""Largest meters of the lower foot above the floor while the feet carry the body onto a seat or off it."""
_HIP_JOINTS = MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])

Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class SeatShape:
    """The seat that was recorded, in the frame of its sit: on the floor under the hips, facing -Y."""

    cuboids: Cuboids
    seat: Seat

    def mirrored(self) -> SeatShape:
        """As seen in a mirror."""
        flip = np.array([-1.0, 1.0, 1.0])
        rests = [(flip * rest).tolist() for rest in self.seat.arm_rests]
        return SeatShape(Cuboids(self.cuboids.center * flip, self.cuboids.half), replace(self.seat, arm_rests=rests))

    def collider(self, name: str) -> Collider:
        """As it stood."""
        return Collider(name, self.cuboids, role="seat", handles=self.seat)


@dataclass(frozen=True, eq=False)
class Sit:
    """A time of sitting down, sitting and getting up.

    track: with what was recorded before and after. down: first and last frame of sitting down, up: of getting up;
    None where the clip begins or ends seated. hips: (3,) place of the hips while seated, facing: their angle. shape:
    the seat, where it was told.
    """

    name: str
    subject: str
    track: Track
    down: Span | None
    up: Span | None
    hips: Array
    facing: float
    shape: SeatShape | None = None

    @property
    def seat_height(self) -> float:
        """Meters of the sitting surface: as told, or as the hips say."""
        if self.shape is not None:
            return self.shape.seat.place[2]
        first, last = self.seated
        joints = self.track.cut(first, last + 1).positions()[:, _HIP_JOINTS, 2]
        return float(np.median(joints)) - SEAT_BELOW_HIP_JOINTS

    @property
    def seated(self) -> tuple[int, int]:
        """First and last frame of being seated."""
        start = 0 if self.down is None else self.down[1]
        end = len(self.track) - 1 if self.up is None else self.up[0]
        return start, end

    def in_seat_frame(self) -> Sit:
        """Turned and moved so that the hips sit over the origin and face -Y."""
        track = self.track.moved(-self.facing, self.hips[:2], -self.hips[:2])
        return replace(self, track=track, hips=np.array([0.0, 0.0, self.hips[2]]), facing=0.0)

    def mirrored(self) -> Sit:
        """As seen in a mirror; in the seat's frame."""
        sit = self.in_seat_frame()
        shape = None if sit.shape is None else sit.shape.mirrored()
        return replace(sit, name=sit.name + "_mirrored", track=sit.track.mirrored(), shape=shape)


def shows_sitting(entry: LibraryEntry) -> bool:
    """Whether sits are looked for in a clip: its tags say so, or a seat is told beside it."""
    return bool(SIT_TAGS & set(entry.tags)) or "seat" in kinds_beside(entry.path)


def recorded_sits(data: Path) -> list[Sit]:
    """All sits in the clips of a data folder, each in its seat's frame, but for those whose sitting down or rising
    begins on lifted feet: on another seat these would float. Raises FileFormatError when a seat is told where no
    sitting is found."""
    found = [sit for entry in load_library(data) if shows_sitting(entry) for sit in captured_sits(load_capture(entry))]
    return [sit for sit in found if _carried_by_feet(sit)]


def captured_sits(capture: Capture) -> list[Sit]:
    """The sits of one clip, on the seats that are told beside it."""
    scene = None if capture.marks is None else capture.marks.scene
    found = [_placed(sit, at, capture) for sit, at in _sits_at(capture.track, capture.name, capture.subject, scene)]
    if capture.of_kind("seat") and all(sit.shape is None for sit in found):
        raise FileFormatError(
            f"{capture.name}: no sitting down was found on the seat that is told beside it; write its labels with "
            "nsm-blender data label, correct them and put them beside the clip"
        )
    return [sit.in_seat_frame() for sit in found]


def scene_of_sits(track: Track) -> tuple[list[Span], list[Span]]:
    """Frames (first, last) of the hips on a seat, and of the movements down and up, as they are found in a track."""
    found = _found(track, None)
    spans = [span for _, _, down, up in found for span in (down, up) if span is not None]
    return [(start, stop - 1) for start, stop, _, _ in found], spans


def _sits_at(track: Track, name: str, subject: str, scene: Scene | None) -> list[tuple[Sit, float]]:
    """The sits in one track where they were recorded, and the second in the middle of each."""
    root = track.root()
    low = _found(track, scene)
    found = []
    for i, (start, stop, down, up) in enumerate(low):
        first = low[i - 1][1] if i else 0
        last = low[i + 1][0] if i + 1 < len(low) else len(track)
        hips = np.append(np.median(track.hips[start:stop, :2], axis=0), np.median(track.hips[start:stop, 2]))
        facing = float(np.median(root[start:stop, 3]))
        cut = track.cut(first, last)
        begin = down[0] if down else start
        end = up[1] if up else stop
        cut = cut.relabeled(begin - first, end - first, "sit")
        angle = float(wrap_angle(np.array(facing)))
        sit = Sit(name, subject, cut, _shifted(down, first), _shifted(up, first), hips, angle)
        found.append((sit, (start + stop) / 2 / FPS))
    return found


def _found(track: Track, scene: Scene | None) -> list[tuple[int, int, Span | None, Span | None]]:
    """First frame of being seated and the one after the last, and the frames of the movements down and up."""
    if scene is not None:
        return [
            (
                start,
                stop,
                None if start == 0 else transition_at(scene, start, _NEAR),
                None if stop == len(track) else transition_at(scene, stop - 1, _NEAR),
            )
            for start, stop in runs(scene.touching[:, 2] > 0.5)
        ]
    root = track.root()
    height = gaussian(track.hips[:, 2], 0.1 * FPS)
    speed = np.linalg.norm(gaussian(velocity(root[:, :2], FPS), 0.15 * FPS), axis=1)
    fall = gaussian(velocity(height, FPS), 0.05 * FPS)
    low = _seated(height, speed, fall)
    found = []
    for i, (start, stop) in enumerate(low):
        down = _descent(fall, start, low[i - 1][1] if i else 0) if start > 0 else None
        up = _rise(fall, stop - 1, low[i + 1][0] if i + 1 < len(low) else len(track)) if stop < len(track) else None
        found.append((start, stop, down, up))
    return found


def _placed(sit: Sit, second: float, capture: Capture) -> Sit:
    """With the seat that is told for this time, if there is one: it says the facing, and the hips where on it."""
    prop = next((prop for prop in capture.of_kind("seat") if _during(prop, second)), None)
    if prop is None:
        return sit
    joints = sit.hips[2] + float(MODEL_SKELETON.offsets[_HIP_JOINTS, 2].mean())
    aside = float(np.linalg.norm(prop.place[:2] - sit.hips[:2]))
    above = joints - SEAT_BELOW_HIP_JOINTS - float(prop.place[2])
    if aside > _OFF_SEAT[0] or abs(above) > _OFF_SEAT[1]:
        raise FileFormatError(
            f"{capture.name}: {prop.name} is {aside:.2f} m aside of and {abs(above):.2f} m "
            f"{'below' if above > 0 else 'above'} the hips that sit at {second:.1f} s; check position, axes and unit"
        )
    facing = sit.facing if prop.facing is None else prop.facing
    shape = SeatShape(prop.solid(facing, sit.hips[:2]), prop.seat(facing, sit.hips[:2]))
    return replace(sit, facing=facing, shape=shape)


def _during(prop: Prop, second: float) -> bool:
    return (prop.start is None or prop.start <= second) and (prop.stop is None or second <= prop.stop)


def _seated(height: Array, speed: Array, fall: Array) -> list[tuple[int, int]]:
    """Frames at which the hips rest, lower than standing."""
    # Standing is the highest of the heights at which much time is spent: hips on a high stool are above
    # 0.8 m, too.
    counts, edges = np.histogram(height, bins=np.arange(0.3, 1.6, 0.02))
    upper = edges[:-1] > 0.8
    often = upper & (counts >= _OFTEN * counts[upper].max())
    standing = float(edges[:-1][often][-1]) + 0.01
    resting = (height < standing - _LEAST_DROP) & (np.abs(fall) < _SETTLED) & (speed < _STEADY)
    return [(a, b) for a, b in runs(_bridged(resting, height, standing)) if b - a >= _LEAST_SECONDS * FPS]


def _bridged(resting: Array, height: Array, standing: float) -> Array:
    """Runs of rest joined over moments between them without getting up."""
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


def _carried_by_feet(sit: Sit) -> bool:
    """Whether a foot is on the floor in all frames of sitting down and rising."""
    spans = [span for span in (sit.down, sit.up) if span is not None]
    return all(float(lowest_foot(sit.track.cut(a, b + 1).positions()).max()) < _CARRIED for a, b in spans)


def _shifted(span: Span | None, by: int) -> Span | None:
    return None if span is None else (span[0] - by, span[1] - by)
