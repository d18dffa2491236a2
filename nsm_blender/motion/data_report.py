# SPDX-License-Identifier: GPL-3.0-or-later
"""Report of a clip: length, gaits, speeds, and the frames that a person should look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .clip import Clip
from .filters import runs
from .gait import GAITS
from .labels import Doubt, Labels, label
from .rotations import Array, normalize, rotate
from .skeleton import CONTACT_JOINTS, TOE_HEIGHT

SPEED_PERCENTILES = (5, 25, 50, 75, 95)
"""Percentiles of the speed that are reported."""
SHORTEST = 10
"""Length in frames below which a clip is not labeled."""
_KNEE_BACKWARD = np.radians(-12)
"""Bend in radians below which a knee bends backward."""
_ON_FLOOR = 0.015
"""Height in meters above its place in stance up to which a heel or toe may carry weight."""
_SLIDE_SPEED = 0.25
"""Speed in m/s from which a foot on the floor slides."""
_SHORTEST_SLIDE = 0.1
"""Shortest slide in seconds that is reported."""
_FASTEST_JOINT = 16.0
"""Speed in m/s from which a joint jumps; a hard punch or kick reaches 14 m/s."""


@dataclass(frozen=True)
class ClipReport:
    """Figures of a clip. speeds: m/s over the ground at SPEED_PERCENTILES; gait_seconds: by name of the gait."""

    name: str
    frames: int
    fps: float
    seconds: float
    gait_seconds: dict[str, float]
    speeds: tuple[float, ...]
    doubts: tuple[Doubt, ...]

    def as_dict(self) -> dict[str, object]:
        """The report as plain JSON data."""
        return {
            "name": self.name,
            "frames": self.frames,
            "fps": round(self.fps, 4),
            "seconds": round(self.seconds, 3),
            "gait_seconds": {k: round(v, 3) for k, v in self.gait_seconds.items()},
            "speed_m_per_s": {f"p{p}": round(v, 3) for p, v in zip(SPEED_PERCENTILES, self.speeds, strict=True)},
            "doubtful": [{"start": d.start, "stop": d.stop, "reason": d.reason} for d in self.doubts],
        }


def report(clip: Clip) -> ClipReport:
    """Label and check a clip of the 22 joints. A clip below SHORTEST frames gets no gaits and no label doubts."""
    speeds = np.zeros(1)
    if len(clip) > 1:
        speeds = np.linalg.norm(np.diff(clip.root[:, :2], axis=0), axis=1) * clip.fps
    gaits = dict.fromkeys(GAITS, 0.0)
    doubts = motion_doubts(clip)
    if len(clip) >= SHORTEST:
        labels: Labels = label(clip)
        for index, name in enumerate(GAITS):
            gaits[name] = float(np.count_nonzero(labels.gait == index)) / clip.fps
        doubts += labels.doubts
    return ClipReport(
        name=clip.name,
        frames=len(clip),
        fps=clip.fps,
        seconds=clip.seconds,
        gait_seconds=gaits,
        speeds=tuple(float(v) for v in np.percentile(speeds, SPEED_PERCENTILES)),
        doubts=tuple(sorted(doubts, key=lambda d: (d.start, d.reason))),
    )


def motion_doubts(clip: Clip) -> tuple[Doubt, ...]:
    """Find frames in which the recording itself looks wrong: joints that jump, feet that slide, knees that bend
    backward."""
    positions, rotations = clip.world()
    found = []
    for side in ("Left", "Right"):
        bend = _knee_bend(clip, positions, rotations, side)
        found += [Doubt(a, b, f"the {side.lower()} knee bends backward") for a, b in runs(bend < _KNEE_BACKWARD)]
    if len(clip) > 1:
        speed = np.linalg.norm(np.diff(positions, axis=0), axis=-1) * clip.fps
        for a, b in runs(speed.max(1) > _FASTEST_JOINT):
            joint = clip.skeleton.names[int(np.argmax(speed[a:b].max(0)))]
            found.append(Doubt(a, b + 1, f"{joint} jumps"))
        found += [
            Doubt(a, b, "the supporting foot slides")
            for a, b in runs(_sliding(clip, positions))
            if b - a >= _SHORTEST_SLIDE * clip.fps
        ]
    return tuple(found)


def _sliding(clip: Clip, positions: Array) -> Array:
    """Mask (T,) of the frames in which a toe is on the floor and no low toe or heel rests."""
    joints = clip.skeleton.indices(CONTACT_JOINTS)
    height = positions[:, joints, 2] - np.array(
        [
            -clip.skeleton.offsets[j + 1, 2] if n.endswith("Foot") else 0.0
            for j, n in zip(joints, CONTACT_JOINTS, strict=True)
        ]
    )
    low = height < TOE_HEIGHT + _ON_FLOOR
    speed = np.linalg.norm(np.gradient(positions[:, joints, :2], axis=0), axis=-1) * clip.fps
    slowest = np.where(low, speed, np.inf).min(axis=1)
    out: Array = (slowest > _SLIDE_SPEED) & np.isfinite(slowest)
    return out


def _knee_bend(clip: Clip, positions: Array, rotations: Array, side: str) -> Array:
    """Bend (T,) of a knee in radians, negative to the front, about the thigh's own side-to-side axis."""
    hip, knee, ankle = clip.skeleton.indices((side + "UpLeg", side + "Leg", side + "Foot"))
    thigh = normalize(positions[:, knee] - positions[:, hip])
    shin = normalize(positions[:, ankle] - positions[:, knee])
    across = rotate(rotations[:, hip], np.broadcast_to(np.array([1, 0, 0], rotations.dtype), thigh.shape))
    out: Array = np.arctan2(np.sum(np.cross(thigh, shin) * across, axis=1), np.sum(thigh * shin, axis=1))
    return out


def table(reports: Sequence[ClipReport]) -> str:
    """Format a readable table, a line a clip, totals below."""
    width = max([len(r.name) for r in reports] + [5])
    gaits = " ".join(g.rjust(7) for g in GAITS)
    lines = [f"{'clip'.ljust(width)} frames   fps seconds {gaits}   p50 m/s p95 m/s doubts"]
    for r in reports:
        gaits = " ".join(f"{r.gait_seconds[g]:7.1f}" for g in GAITS)
        lines.append(
            f"{r.name.ljust(width)} {r.frames:6d} {r.fps:5.4g} {r.seconds:7.1f} {gaits} "
            f"{r.speeds[2]:9.2f} {r.speeds[4]:7.2f} {len(r.doubts):6d}"
        )
    if len(reports) > 1:
        gaits = " ".join(f"{sum(r.gait_seconds[g] for r in reports):7.1f}" for g in GAITS)
        lines.append(
            f"{'total'.ljust(width)} {sum(r.frames for r in reports):6d}       "
            f"{sum(r.seconds for r in reports):7.1f} {gaits} {'':17} {sum(len(r.doubts) for r in reports):6d}"
        )
    return "\n".join(lines)


def doubt_lines(doubts: Iterable[Doubt]) -> list[str]:
    """Format a line for each doubtful range of frames, counted from 0, the last frame included."""
    return [f"  frames {d.start} to {d.stop - 1}: {d.reason}" for d in doubts]
