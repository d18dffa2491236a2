# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels as a JSON file that a person can correct: ranges of frames instead of a value a frame."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ..errors import FileFormatError
from ..files import Where, Within, read_json, record, shown, write_whole
from .clip import Clip
from .filters import runs
from .gait import GAITS
from .labels import Labels, label
from .rotations import Array
from .skeleton import CONTACT_JOINTS

FORMAT = 1
"""Version of the label file's format."""


@dataclass(frozen=True)
class Labeled:
    """What a label file tells of the clip that it is about: its name, its rate and the number of its frames."""

    name: str
    fps: float
    frames: int

    @staticmethod
    def of(clip: Clip) -> Labeled:
        """What is told of a clip."""
        return Labeled(clip.name, clip.fps, len(clip))


def save_labels(labels: Labels, clip: Labeled, path: Path | str, more: Mapping[str, Any] | None = None) -> None:
    """Write the labels of `clip`.

    `contacts`: for each contact joint the ranges [first, last] in which it is planted. `gaits`: [first, last, name],
    covering all frames. `phase`: radians, a value a frame. `doubtful`: for the reader only. Frames count from 0, and
    the last frame belongs to the range. more: other entries of the file.
    """
    edges = [0, *(np.flatnonzero(np.diff(labels.gait)) + 1).tolist(), len(labels.gait)]
    gaits = [[a, b - 1, GAITS[int(labels.gait[a])]] for a, b in pairwise(edges)]
    document = {
        "format": FORMAT,
        "clip": clip.name,
        "fps": round(clip.fps, 4),
        "frames": clip.frames,
        "contacts": {name: stretches(labels.contacts[:, c] > 0.5) for c, name in enumerate(CONTACT_JOINTS)},
        "gaits": gaits,
        "phase": [round(float(p), 4) for p in labels.phase],
        "doubtful": [[d.start, d.stop - 1, d.reason] for d in labels.doubts],
        **(more or {}),
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in document.items()]
    write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n")


def load_labels(path: Path | str, clip: Clip) -> Labels:
    """Read labels, corrected by a person, for `clip`; the doubts count as settled.

    Raises FileFormatError that names the file and the faulty entry.
    """
    path = Path(path)
    document = read_document(path)
    if document.get("frames") != len(clip):
        raise FileFormatError(f"{path}: labels of {shown(document.get('frames'))} frames, but the clip has {len(clip)}")
    contacts = flags(document, "contacts", CONTACT_JOINTS, len(clip), path)
    gait = np.full(len(clip), -1)
    for first, last, name in checked_stretches(document.get("gaits"), 3, "gaits", len(clip), path):
        if name not in GAITS:
            raise FileFormatError(f"{path}: {shown(name)} is not a gait; choose one of {', '.join(GAITS)}")
        gait[first : last + 1] = GAITS.index(name)
    if np.any(gait < 0):
        raise FileFormatError(f"{path}: frame {int(np.argmax(gait < 0))} has no gait")
    phase = _phase(document.get("phase"), len(clip), path)
    return replace(label(clip), contacts=contacts, gait=gait, phase=phase, doubts=())


def stretches(on: Array) -> list[list[int]]:
    """Ranges [first, last] of frames in which `on` (T,) is true."""
    return [[int(a), int(b) - 1] for a, b in runs(on)]


def flags(document: Mapping[str, Any], key: str, names: Sequence[str], frames: int, path: Path) -> Array:
    """Flags (frames, names) float32, 1 in the document's ranges for each name. Raises FileFormatError."""
    out = np.zeros((frames, len(names)), dtype=np.float32)
    given = document.get(key)
    if not isinstance(given, dict) or set(given) != set(names):
        raise FileFormatError(f"{path}: '{key}' must have exactly {', '.join(names)}")
    for column, name in enumerate(names):
        for first, last in checked_stretches(given[name], 2, f"{key} of {name}", frames, path):
            out[first : last + 1, column] = 1
    return out


def read_document(path: Path) -> dict[str, Any]:
    """Read the entries of a label file. Raises FileFormatError when it is none."""
    document = read_json(path, dict, "a label file")
    if document.get("format") != FORMAT:
        raise FileFormatError(f"{path}: not a label file of format {FORMAT}")
    return document


def checked_stretches(value: object, size: int, what: str, frames: int, path: Path) -> list[Any]:
    """Check that a list of [first, last, ...] is in order and without overlap. Raises FileFormatError."""
    if not isinstance(value, list):
        raise FileFormatError(f"{path}: {what} must be a list of stretches")
    before = -1
    for stretch in value:
        fits = isinstance(stretch, list) and len(stretch) == size and all(type(f) is int for f in stretch[:2])
        if not fits or not before < stretch[0] <= stretch[1] < frames:
            raise FileFormatError(
                f"{path}: {what}: {json.dumps(stretch)[:40]} is no stretch [first, last] of the frames "
                f"{before + 1} to {frames - 1}"
            )
        before = stretch[1]
    return value


@dataclass
class _Phase:
    """The phase of a label file: radians, rising."""

    phase: Annotated[list[float], Within(-1e7, 1e7, "radians")]


def _phase(value: object, frames: int, path: Path) -> Array:
    if not isinstance(value, list) or len(value) != frames:
        raise FileFormatError(f"{path}: 'phase' must be a list of {frames} numbers")
    told = record(_Phase, {"phase": value}, Where(str(path)))
    phase = np.array(told.phase, dtype=np.float64)
    back = np.flatnonzero(np.diff(phase) < -1e-3)
    if len(back):
        raise FileFormatError(f"{path}: the phase runs backward after frame {int(back[0])}")
    return phase
