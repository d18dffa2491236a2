# SPDX-License-Identifier: GPL-3.0-or-later
"""Label files of the commands: written, checked, and taken along when a motion file comes into a library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...labels.marks import Scene, load_corrected, load_marks, marks_beside, save_marks
from ...motion.clip import Clip
from ...motion.label_file import Labeled
from ...motion.labels import Labels
from .scene_labels import labels_of


@dataclass(frozen=True, eq=False)
class ClipLabels:
    """Labels of a clip in its own frames. scene: None where nothing is told of what is done besides walking."""

    clip: Labeled
    labels: Labels
    scene: Scene | None

    def write(self, path: Path) -> None:
        """Write them as the label file `path`."""
        save_marks(self.labels, self.scene, self.clip, path)

    def write_beside(self, clip: Path) -> None:
        """Write them beside the clip's file, where training looks for them."""
        self.write(marks_beside(clip))

    @property
    def summary(self) -> str:
        """How much there is, in words."""
        transitions = 0 if self.scene is None else len(self.scene.transitions)
        return (
            f"labels of {self.clip.frames} frames, {transitions} transitions, "
            f"{len(self.labels.doubts)} doubtful stretches"
        )


def automatic(clip: Clip, path: Path) -> ClipLabels:
    """The labels of a clip, read from the file `path`, found anew. Raises FileFormatError."""
    return ClipLabels(Labeled.of(clip), *labels_of(clip, path))


def beside(path: Path, source: Clip, clip: Clip) -> ClipLabels | None:
    """The corrected labels beside the motion file `path`, which was read as `source`, in the frames of `clip`, which is
    the same at another rate; None where there are none. Raises FileFormatError."""
    file = marks_beside(path)
    if not file.is_file():
        return None
    labels, scene = load_corrected(file, source)
    at = np.minimum(np.round(np.arange(len(clip)) * source.fps / clip.fps).astype(int), len(source) - 1)
    return ClipLabels(Labeled.of(clip), labels.sampled(at), None if scene is None else scene.sampled(at))


def check(path: Path, clip: Clip) -> int:
    """Read a label file of a clip as training does; returns the number of its frames. Raises FileFormatError."""
    return len(load_marks(path, clip).contacts)
