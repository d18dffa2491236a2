# SPDX-License-Identifier: GPL-3.0-or-later
"""A capture with its labels, to look at and to correct: those of the file beside it, else the automatic ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import LabelError
from ..files import is_file
from ..motion.clip_file import CLIPS_FOLDER, INDEX_NAME
from ..motion.data_report import SHORTEST
from ..motion.label_file import Labeled
from ..motion.labels import Labels, label
from ..motion.load import load_motion
from ..motion.motion import Motion
from ..motion.phase import phase_track
from ..motion.recorded import motion_of
from .marks import Scene, load_corrected, marks_beside

_SAME_PHASE = 1e-4
"""Radians by which a phase may differ from that of the contacts and still follow from them: label files round to half
of that."""
_LONGEST = 100_000
"""Frames of a capture at most that a timeline shows."""


@dataclass(frozen=True, eq=False)
class LabeledCapture:
    """A capture of T frames. motion: on the model skeleton, at the capture's rate. scene: None where nothing is told of
    what is done besides walking. was_corrected: whether the labels were read from the file beside the capture."""

    motion: Motion
    clip: Labeled
    labels: Labels
    scene: Scene | None
    was_corrected: bool

    @property
    def phase_follows(self) -> bool:
        """Whether the phase is the one that follows from the contacts."""
        expected = phase_track(self.labels.contacts, self.clip.fps)
        return bool(np.abs(expected - self.labels.phase).max() < _SAME_PHASE)


def read_capture(path: Path) -> LabeledCapture:
    """Read a capture (.bvh, .amc with its .asf, or .npz) with its labels, in its own frames.

    Raises FileFormatError or RigError for the capture or the file beside it, and LabelError for a capture that is too
    short or too long.
    """
    clip = load_motion(path)
    if len(clip) < SHORTEST:
        raise LabelError(f"{path}: {len(clip)} frames are too few to label, at least {SHORTEST} are needed.")
    if len(clip) > _LONGEST:
        raise LabelError(f"{path}: {len(clip):,} frames are more than {_LONGEST:,}; cut the capture.")
    beside = marks_beside(path)
    told = is_file(beside)
    labels, scene = load_corrected(beside, clip) if told else (label(clip), None)
    return LabeledCapture(motion_of(clip, path.stem), Labeled.of(clip), labels, scene, told)


def data_folder(path: Path) -> Path:
    """The folder that training reads a capture from: its library's, else its own."""
    library = path.parent.parent
    is_in_library = path.parent.name == CLIPS_FOLDER and is_file(library / INDEX_NAME)
    return library if is_in_library else path.parent
