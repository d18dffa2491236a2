# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done in a clip besides walking, found as the templates of episodes find it: for a person to correct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...labels.marks import BESIDES_WALKING, TOUCHING, Scene
from ...models.nsm import FPS
from ...motion.clip import Clip
from ...motion.clip_file import INDEX_NAME, LibraryEntry, load_library
from ...motion.labels import Labels, label
from ...motion.rotations import Array
from .captures import Capture, load_capture
from .climbing import captured_flight, first_frame, shows_climbing, standing_feet
from .lifting import captured_lifts, shows_lifting
from .opening import captured_openings, shows_opening
from .sitting import scene_of_sits, shows_sitting
from .track import Track

_HANDS = [TOUCHING.index("LeftHand"), TOUCHING.index("RightHand")]
_REACH = 0.55
"""Seconds in which a hand comes to a handle."""


def labels_of(clip: Clip, path: Path) -> tuple[Labels, Scene]:
    """All labels of a clip in its own frames, found anew whatever was corrected before.

    path: the clip's file. Sits, lifts, doors and climbs are looked for where its tags and the objects beside it say so;
    any other motion file has none. Raises FileFormatError when what is told beside it does not fit.
    """
    labels = label(clip)
    if path.suffix.lower() != ".npz":
        return labels, Scene.nothing(len(clip))
    entry = _entry(clip, path)
    capture = load_capture(entry, corrected=False)
    at = np.round(np.arange(len(clip)) * FPS / clip.fps).astype(int)
    at = np.minimum(at, len(capture.track) - 1)
    if shows_climbing(entry):
        # A foot on a step is not on the floor.
        labels = replace(labels, contacts=standing_feet(capture.track.positions())[at])
    return labels, _found(entry, capture).sampled(at)


def _entry(clip: Clip, path: Path) -> LibraryEntry:
    """The clip as its library's index describes it, or as it does itself."""
    library = path.resolve().parent.parent
    if (library / INDEX_NAME).is_file():
        for entry in load_library(library):
            if entry.path == path.resolve():
                return entry
    tags = tuple(str(tag) for tag in clip.meta.get("tags", ()))
    return LibraryEntry(path.stem, path, clip.fps, len(clip), tags, "", "")


def _found(entry: LibraryEntry, capture: Capture) -> Scene:
    """At 60 fps."""
    scene = Scene.nothing(len(capture.track))
    transitions: list[tuple[int, int]] = []
    if shows_sitting(entry):
        transitions += _sits(capture.track, scene)
    if shows_lifting(entry):
        transitions += _lifts(capture, scene)
    if shows_opening(entry):
        for opening in captured_openings(capture):
            span = (max(opening.swing.touch - round(_REACH * FPS), 0), opening.swing.release)
            _mark(scene.besides, "open", [span])
            _mark(scene.touching, f"{opening.side}Hand", [(opening.swing.touch, opening.swing.release)])
            transitions.append(span)
    if shows_climbing(entry):
        first = first_frame(capture)
        spans = [(a + first, b + first - 1) for a, b in captured_flight(capture).climbing]
        _mark(scene.besides, "climb", spans)
    return Scene(scene.besides, scene.touching, tuple(_apart(transitions)))


def _sits(track: Track, scene: Scene) -> list[tuple[int, int]]:
    seated, transitions = scene_of_sits(track)
    _mark(scene.touching, "Hips", seated)
    for first, last in seated:
        down = [a for a, b in transitions if b == first]
        up = [b for a, b in transitions if a == last]
        _mark(scene.besides, "sit", [(down[0] if down else first, up[0] if up else last)])
    return transitions


def _lifts(capture: Capture, scene: Scene) -> list[tuple[int, int]]:
    """A box is held from a pick-up to the next put-down, or to the end; from the begin where it is only put down."""
    lifts = sorted(captured_lifts(capture), key=lambda lift: lift.grasp)
    begin: tuple[int, int] | None = (0, 0)
    for lift in lifts:
        if lift.way == "up":
            begin = (lift.span[0], lift.grasp)
        elif begin is not None:
            _carried(scene, begin, (lift.span[1], lift.grasp))
            begin = None
    if begin is not None and lifts and lifts[-1].way == "up":
        last = len(capture.track) - 1
        _carried(scene, begin, (last, last))
    return [lift.span for lift in lifts]


def _carried(scene: Scene, begin: tuple[int, int], end: tuple[int, int]) -> None:
    _mark(scene.besides, "carry", [(begin[0], end[0])])
    scene.touching[begin[1] : end[1] + 1, _HANDS] = 1


_COLUMNS: Mapping[str, int] = {name: i for names in (BESIDES_WALKING, TOUCHING) for i, name in enumerate(names)}


def _mark(labels: Array, name: str, spans: Iterable[tuple[int, int]]) -> None:
    for first, last in spans:
        labels[first : last + 1, _COLUMNS[name]] = 1


def _apart(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, each beginning after the one before."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        start = max(first, out[-1][1] + 1) if out else first
        if start <= last:
            out.append((start, last))
    return out
