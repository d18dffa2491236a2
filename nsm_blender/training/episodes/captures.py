# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips of a data folder as templates are found in them: a track, what stood around, and labels a person corrected."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...labels.marks import Marks, load_marks, marks_beside
from ...models.nsm import FPS
from ...motion.clip_file import LibraryEntry, load_clip
from ...motion.feet import level_feet, level_floor
from ...motion.retarget import leg_length, stride_ratio, to_model_skeleton
from ...motion.skeleton import MODEL_SKELETON
from .props import Prop, read_props, told_beside
from .track import Track, from_clip


@dataclass(frozen=True, eq=False)
class Capture:
    """A clip on the model skeleton at 60 fps. props: what stood around, as told beside the clip. marks: corrected
    labels, None where none were corrected."""

    name: str
    subject: str
    track: Track
    props: tuple[Prop, ...]
    marks: Marks | None

    def of_kind(self, kind: str) -> list[Prop]:
        """The props of one kind."""
        return [prop for prop in self.props if prop.kind == kind]


def load_capture(entry: LibraryEntry, *, level: bool = True, corrected: bool = True) -> Capture:
    """A clip with all that is told beside it. level: set its feet level, see `level_feet`, and its floor too where
    nothing that was measured stands on it, see `level_floor`. corrected: take the labels that a person corrected,
    where there are any.

    Raises FileFormatError when a file beside it is wrong.
    """
    clip = load_clip(entry.path)
    # The clip grows or shrinks to the model skeleton, and the things in it likewise.
    stride, height = stride_ratio(clip.skeleton), leg_length(MODEL_SKELETON) / leg_length(clip.skeleton)
    told = told_beside(entry.path)
    props = [] if told is None else read_props(told)
    labels = marks_beside(entry.path)
    marks = load_marks(labels, clip) if corrected and labels.is_file() else None
    if level:
        clip = level_feet(clip if props else level_floor(clip))
    track = from_clip(to_model_skeleton(clip.resampled(FPS)))
    if marks is not None:
        at = np.round(np.arange(len(track)) * clip.fps / FPS).astype(int)
        marks = marks.sampled(np.minimum(at, len(clip) - 1))
        track = replace(track, contacts=marks.contacts, actions=marks.actions)
    factors = np.array([stride, stride, height])
    return Capture(entry.name, str(entry.subject), track, tuple(prop.scaled(factors) for prop in props), marks)
