# SPDX-License-Identifier: GPL-3.0-or-later
"""Percentiles of each action's measures in recorded motion, computed from a data folder and kept as JSON.

The JSON contains no recording. It rests on held-out performers where these have enough of an action, else on all, and
says which; key-pose reconstructions, joined by cubics, count for accelerations, jerks and tremble only where there is
nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UserError
from ..motion.clip_file import LibraryEntry, load_clip, load_library
from ..motion.feet import level_floor
from ..motion.rotations import Array
from .measures import Figures, Measured, measure_track
from .metrics import acceleration
from .segments import USES, Use
from .track import FPS, LOW_PASS, Track, smooth, track_of_clip

FILE = Path(__file__).with_name("recorded.json")
"""The percentiles that ship with the engine."""

PERCENTILES = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
"""Percentiles of each row."""

ENOUGH, PERFORMERS = 15, 2
"""Least numbers of segments and of people in a row of held-out performers; with fewer the row is of all performers."""
ENOUGH_EXACT = 10
"""Least number of segments of exact capture for a row to leave out reconstructions."""
DYNAMIC = ("acceleration", "jerk", "tremble", "pop")
"""Parts of the names of measures that need exact capture."""
RATES = (60, 30)
"""Frame rates in Hz at which joints' accelerations are taken, those of evaluated shots: at a lower rate they are
smaller."""
RECONSTRUCTED = "_keys"
"""End of the names of clips that were rebuilt from key poses."""

_PLAIN = {"walk", "run", "idle", "turn", "turn_in_place", "start_stop", "sidestep", "backward"}
"""Tags of clips of everyday locomotion."""
_ODD = {
    *("martial", "kick", "punch", "dance", "exercise", "sport", "skip", "jump", "squat", "lie", "crawl", "roll"),
    *("kneel", "gesture", "duck", "slope", "stairs", "step_up", "step_down", "step_over", "uneven", "climb", "ladder"),
    *("push", "pull", "drag", "carry", "box", "suitcase", "manipulate", "pickup", "putdown", "open", "open_box"),
    *("sit", "sit_high", "sit_ledge", "stand_up"),
}
"""Tags of clips that are no everyday locomotion; styles are left out too."""
_TORN, _SPUN = 115.0, 600.0
"""Acceleration of a joint in m/s^2 and turn rate of the facing in degrees per second above which a recording is
damaged; most runs stay below."""
_HOLDS = {"carry", "box", "suitcase", "pickup", "putdown"}
"""Tags of clips in which a thing is held."""
_STRIKES = {"kick", "punch"}
"""Tags of clips of strikes."""
_LOCOMOTION = ("walk", "jog", "start", "stop", "turn", "idle", "sideways", "backward")
"""Actions of locomotion."""
_APART = 1.0
"""Least time in seconds between taking and putting down a thing in a clip."""


NOTES = {
    "open": "a window and boxes on a table, opened while standing; no door was recorded",
    "sit": "rebuilt from key poses that cubics join: accelerations and jerks are approximate",
    "rise": "as sit",
    "climb": "accelerations are one performer's, over boxes with hands and knees; the rest also stairs",
    "start": "everyday walks that begin and end on the floor of a studio, all performers",
    "stop": "as start",
    "whole": "joint accelerations are of all joints in all frames of all actions but strikes, not low-passed",
}
"""Remarks on the rows of an action, written into the JSON."""


@dataclass(frozen=True)
class Row:
    """Percentiles of a measure of an action. of: "held out" or "all" performers."""

    count: int
    performers: int
    of: str
    reconstructed: bool
    values: tuple[float, ...]

    def at(self, percentile: float) -> float:
        """The value at one of `PERCENTILES`."""
        return self.values[PERCENTILES.index(percentile)]


Table = dict[tuple[str, str], Row]


@lru_cache(maxsize=1)
def recorded() -> Table:
    """Read the shipped percentiles, by action and measure."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        (action, measure): Row(r["count"], r["performers"], r["of"], r["reconstructed"], tuple(r["values"]))
        for action, rows in content["actions"].items()
        for measure, r in rows.items()
    }


def joint_acceleration(fps: float) -> Row:
    """Percentiles in m/s^2 of the accelerations of all joints in all frames, not low-passed, at one of `RATES`."""
    return recorded()["whole", _joint_acceleration(round(fps))]


def _joint_acceleration(rate: int) -> str:
    return f"joint_acceleration_{rate}_fps"


@dataclass(frozen=True)
class _Value:
    """What was measured in a segment: a number, or as many as it has frames and joints."""

    value: float | Array
    subject: str
    exact: bool


def compute(data: Path, held_out: Sequence[str], log: Callable[[str], None] = print) -> dict[str, Any]:
    """Compute the content of the JSON from a data folder. Raises UserError."""
    values: dict[tuple[str, str], list[_Value]] = {}
    seconds = 0.0
    entries = [entry for entry in load_library(data) if entry.meta.get("mocap", True)]
    for entry in entries:
        kind = _kind(entry)
        if not kind:
            continue
        seconds += entry.seconds
        for key, found in _values(entry, kind).items():
            values.setdefault(key, []).extend(found)
    if not values:
        raise UserError(f"{data} has no recording of anything that is measured.")
    actions: dict[str, dict[str, Any]] = {}
    for (action, measure), found in sorted(values.items()):
        actions.setdefault(action, {})[measure] = _row(found, held_out, any(word in measure for word in DYNAMIC))
    for action, rows in actions.items():
        row = rows.get("root_speed", next(iter(rows.values())))
        log(f"{action:10s} {row['count']:5d} segments, {row['performers']:3d} performers ({row['of']})")
    return {
        "meta": {
            "minutes": round(seconds / 60, 1),
            "held_out": sorted(held_out),
            "low_pass_s": LOW_PASS,
            "fps": FPS,
            "percentiles": list(PERCENTILES),
            "notes": NOTES,
        },
        "actions": actions,
    }


def save(content: dict[str, Any], path: Path = FILE) -> None:
    """Write the JSON, a row a line."""
    lines = ["{", f'"meta": {json.dumps(content["meta"])},', '"actions": {']
    actions = content["actions"]
    for number, (action, rows) in enumerate(actions.items()):
        lines.append(f'"{action}": {{')
        body = [f'"{measure}": {json.dumps(row)}' for measure, row in rows.items()]
        lines.append(",\n".join(body))
        lines.append("}" + ("," if number + 1 < len(actions) else ""))
    path.write_text("\n".join([*lines, "}", "}"]) + "\n", encoding="utf-8")


def _kind(entry: LibraryEntry) -> str:
    """Kind of a clip: locomotion, sitting, uses of things, climbing, strikes; "" for none of these."""
    tags = set(entry.tags)
    if any(tag.startswith("style:") for tag in tags):
        return ""
    if tags & {"sit", "stand_up"} and not tags & {"sit_high", "sit_ledge", "stairs"}:
        return "sit"
    if tags & {"pickup", "putdown"} and not tags & {"manipulate", "gesture", "run"}:
        return "use"
    if tags & {"open", "open_box"}:
        return "open"
    if tags & {"step_up", "step_down", "stairs"} and not tags & {"jump", "crawl", "uneven", "slope", "ladder"}:
        return "climb"
    if tags & _STRIKES:
        return "strike"
    if not tags & _PLAIN or tags & _ODD:
        return ""
    return "run" if "run" in tags and "walk" not in tags else "plain"


def everyday_walks(data: Path) -> list[LibraryEntry]:
    """The clips of a data folder that show everyday locomotion, walks among it."""
    return [entry for entry in load_library(data) if _kind(entry) == "plain" and "walk" in entry.tags]


_TAKEN = {
    "plain": (*_LOCOMOTION, "crouch", "whole"),
    "run": ("jog",),
    "sit": ("sit", "seated", "rise"),
    "use": ("pick_up", "put_down"),
    "open": ("open",),
    "climb": ("climb",),
    "strike": ("strike",),
}
"""Actions that are taken from each kind of clip."""


def _values(entry: LibraryEntry, kind: str) -> dict[tuple[str, str], list[_Value]]:
    clip = load_clip(entry.path)
    track = track_of_clip(clip if kind == "climb" else level_floor(clip), bool(_HOLDS & set(entry.tags)))
    uses = _uses(entry, track, kind)
    measured = measure_track(track, uses, "strike" if kind == "strike" else "")
    exact = not entry.name.endswith(RECONSTRUCTED)
    out: dict[tuple[str, str], list[_Value]] = {}
    sound = replace(measured, parts=[(s, f) for s, f in measured.parts if kind == "strike" or not _damaged(f)])
    found = sound.values() | {("whole", name): [value] for name, value in measured.whole.items()}
    for (action, measure), numbers in found.items():
        if action in _TAKEN[kind]:
            out[action, measure] = [_Value(value, entry.subject, exact) for value in numbers]
    if kind != "strike":
        for rate, segments in _joint_accelerations(track, sound, _TAKEN[kind]).items():
            out["whole", _joint_acceleration(rate)] = [_Value(values, entry.subject, exact) for values in segments]
    return out


def _joint_accelerations(track: Track, sound: Measured, actions: Sequence[str]) -> dict[int, list[Array]]:
    """Accelerations (N,) in m/s^2 of all joints in each segment of some actions, at those of RATES that the track's
    source has: between its frames there is nothing but the spline."""
    return {
        rate: [
            acceleration(track.raw[s.start : s.stop : round(FPS / rate)], rate).ravel()
            for s, _ in sound.parts
            if s.action in actions
        ]
        for rate in RATES
        if track.source_fps >= rate
    }


def _damaged(figures: Figures) -> bool:
    """Whether a joint jumps, as where two takes were joined or a marker was lost."""
    fastest = max(value for name, value in figures.items() if name.endswith("_acceleration"))
    return fastest > _TORN or figures["yaw_speed"] > _SPUN


def _uses(entry: LibraryEntry, track: Track, kind: str) -> list[Use]:
    """Spans of a clip in which a thing is used, from its tags and the hands."""
    last = len(track) - 1
    if kind == "open":
        return [Use("open", 0, last)]
    if kind != "use":
        return []
    wanted = [action for tag, action in zip(("pickup", "putdown"), USES, strict=False) if tag in entry.tags]
    if len(wanted) == 1:
        return [Use(wanted[0], 0, last)]
    first, second = _two_peaks(smooth(track.reach.max(axis=1), 0.1))
    between = (first + second) // 2
    return [Use(wanted[0], 0, between), Use(wanted[1], between + 1, last)]


def _two_peaks(curve: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Frames of the two highest maxima of a curve that are at least _APART seconds apart, in order."""
    inner = np.flatnonzero((curve[1:-1] >= curve[:-2]) & (curve[1:-1] > curve[2:])) + 1
    best = int(curve.argmax())
    others = inner[np.abs(inner - best) > _APART * FPS]
    other = int(others[curve[others].argmax()]) if len(others) else len(curve) - 1
    return min(best, other), max(best, other)


def _row(found: Sequence[_Value], held_out: Sequence[str], dynamic: bool) -> dict[str, Any]:
    """A row's percentiles, from the values that count."""
    exact = [v for v in found if v.exact]
    reconstructed = any(not v.exact for v in found)
    if dynamic and len(exact) >= ENOUGH_EXACT:
        found, reconstructed = exact, False
    kept = [v for v in found if v.subject in held_out]
    enough = len(kept) >= ENOUGH and len({v.subject for v in kept}) >= PERFORMERS
    used = kept if enough else list(found)
    numbers = np.percentile(np.concatenate([np.ravel(v.value) for v in used]), PERCENTILES)
    return {
        "count": len(used),
        "performers": len({v.subject for v in used}),
        "of": "held out" if enough else "all",
        "reconstructed": reconstructed and any(not v.exact for v in used),
        "values": [float(f"{x:.4g}") for x in numbers],
    }
