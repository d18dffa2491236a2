# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips on disk: one .npz a clip, and the index.json of a folder of them.

Arrays of a clip file: `root` (T, 3) float32 meters, `rotations` (T, 22, 4) int16 (w, x, y, z times 32767, local to the
parent), `offsets` (22, 3) float32 meters, `fps`, `meta` (JSON text). On disk +Y is up, the figure faces +Z and its left
hand points to +X; no other file uses these axes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ..errors import FileFormatError
from ..files import (
    ArraySpec,
    Count,
    Where,
    Within,
    locked,
    make_folder,
    parse_json,
    read_arrays,
    read_json,
    record,
    write_arrays,
    write_whole,
)
from .clip import MOST_FRAMES, Clip
from .rotations import Array, make_continuous
from .skeleton import MODEL_SKELETON, Skeleton

INDEX_NAME = "index.json"
"""File name of a library's index."""
CLIPS_FOLDER = "clips"
"""Folder of a library's clips."""
INDEX_FORMAT = 1
"""Version of the index's format."""

_MOST_CLIPS = 100_000
"""Clips of a library at most: forty times CMU's."""
_LEGS = list(MODEL_SKELETON.indices(["LeftLeg", "LeftFoot", "LeftToe", "RightLeg", "RightFoot", "RightToe"]))
"""Joints at the ends of a leg's bones, by whose lengths clips are brought to the model skeleton."""
_SHORTEST_BONE = 1e-3
"""Meters below which a leg's bone has no length; a toddler's foot has 10 cm."""
_FARTHEST = 1e5
"""Meters from the origin at which a clip's root is believed."""
_FASTEST_FPS = 2000.0
"""Highest frame rate in Hz that is believed."""
_ROWS = 1 << 14
"""Frames that are converted at once, so that no more than these are held as float64."""
_ARRAYS = {
    "root": ArraySpec("fiu", ("frames", 3), 3 * MOST_FRAMES),
    "rotations": ArraySpec("fiu", ("frames", len(MODEL_SKELETON), 4), 4 * len(MODEL_SKELETON) * MOST_FRAMES),
    "offsets": ArraySpec("fiu", (len(MODEL_SKELETON), 3)),
    "fps": ArraySpec("fiu", ()),
    "meta": ArraySpec("U", ()),
}
"""Arrays of a clip file."""
_SCALE = 32767.0
"""Integer that stands for 1 in stored quaternions, the largest of int16."""


@dataclass(frozen=True)
class LibraryEntry:
    """A clip of a library folder. `path` is its file; `meta` is its whole entry in the index."""

    name: str
    path: Path
    fps: float
    frames: int
    tags: tuple[str, ...]
    subject: str
    licence: str
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return self.frames / self.fps


def up_y_to_z(v: Array) -> Array:
    """Vectors [..., 3] from +Y up, facing +Z, to Blender's frame: (x, y, z) -> (x, -z, y)."""
    return np.stack((v[..., 0], -v[..., 2], v[..., 1]), axis=-1)


def up_z_to_y(v: Array) -> Array:
    """Vectors [..., 3] from Blender's frame to +Y up, facing +Z: (x, y, z) -> (x, z, -y)."""
    return np.stack((v[..., 0], v[..., 2], -v[..., 1]), axis=-1)


def load_clip(path: Path | str) -> Clip:
    """Read a clip file.

    Returns a Clip on the performer's own bone lengths with the model skeleton's 22 joints, in Blender's
    frame, float32. Raises FileFormatError, naming the file.
    """
    path = Path(path)
    arrays = read_arrays(path, "a clip file", _ARRAYS)
    root, rotations, offsets, fps, meta = (arrays[k] for k in _ARRAYS)
    if not len(root):
        raise FileFormatError(f"{path}: 'root' must be (frames, 3) with at least one frame, it is {root.shape}")
    if np.abs(root).max() > _FARTHEST or np.abs(offsets).max() > _FARTHEST:
        raise FileFormatError(f"{path}: 'root' or 'offsets' lead more than {_FARTHEST / 1000:g} km away")
    if np.linalg.norm(offsets[_LEGS], axis=1).min() < _SHORTEST_BONE:
        raise FileFormatError(f"{path}: 'offsets' holds a leg's bone without length")
    if not 0 < float(fps) <= _FASTEST_FPS:
        raise FileFormatError(f"{path}: 'fps' must be one number above zero, at most {_FASTEST_FPS:g}")
    quaternions = np.empty(rotations.shape, dtype=np.float32)
    for start in range(0, len(rotations), _ROWS):
        quaternions[start : start + _ROWS] = _unit(rotations[start : start + _ROWS], start, path)
    skeleton = Skeleton(MODEL_SKELETON.names, MODEL_SKELETON.parents, up_y_to_z(offsets.astype(np.float64)))
    return Clip(
        skeleton=skeleton,
        root=up_y_to_z(root).astype(np.float32),
        rotations=make_continuous(quaternions),
        fps=float(fps),
        meta=_read_meta(meta, path),
    )


def _unit(stored: Array, start: int, path: Path) -> Array:
    """Unit quaternions (T, 22, 4) in Blender's frame of stored ones, whose first frame is number `start`."""
    quaternions = stored.astype(np.float64)
    norm = np.linalg.norm(quaternions, axis=-1, keepdims=True)
    if not (norm >= 1e-6).all() or not np.isfinite(norm).all():
        frame = start + int(np.argwhere(~((norm[..., 0] >= 1e-6) & np.isfinite(norm[..., 0])))[0, 0])
        raise FileFormatError(f"{path}: a rotation in frame {frame} has length zero")
    quaternions /= norm
    return np.concatenate((quaternions[..., :1], up_y_to_z(quaternions[..., 1:])), axis=-1)


def save_clip(clip: Clip, path: Path | str) -> None:
    """Write `clip`, which must have the model skeleton's joints, as a clip file.

    Rotations are stored in steps of 1/32767 (below 0.004 degrees). The file appears whole or not at all.
    """
    if clip.skeleton.names != MODEL_SKELETON.names:
        raise ValueError("only clips with the model skeleton's joints can be saved")
    rotations = make_continuous(np.asarray(clip.rotations, dtype=np.float64))
    rotations = np.concatenate((rotations[..., :1], up_z_to_y(rotations[..., 1:])), axis=-1)
    arrays = {
        "root": up_z_to_y(clip.root).astype(np.float32),
        "rotations": np.rint(rotations * _SCALE).astype(np.int16),
        "offsets": up_z_to_y(clip.skeleton.offsets).astype(np.float32),
        "fps": np.float32(clip.fps),
        "meta": np.array(json.dumps(clip.meta)),
    }
    write_arrays(path, arrays)


@dataclass
class _Entry:
    """What the index must tell of a clip; it may tell more."""

    name: str
    fps: Annotated[float, Within(0.001, _FASTEST_FPS)]
    frames: Annotated[int, Within(1, MOST_FRAMES)]
    tags: Annotated[list[str], Count(0, 1000)] = field(default_factory=list)
    subject: str = ""
    licence: str = ""


def load_library(folder: Path | str) -> list[LibraryEntry]:
    """Read the entries of FOLDER/index.json, in its order. Raises FileFormatError when it is missing or malformed."""
    folder = Path(folder)
    path = folder / INDEX_NAME
    index = _read_index(path)
    entries = []
    for number, entry in enumerate(index["clips"]):
        where = Where(str(path), FileFormatError).at("clips").at(number)
        told = record(_Entry, entry, where, more=True)
        if not is_file_name(told.name):
            where.at("name").refuse(f"is {told.name[:40]!r}, which is no name of a file")
        clip = folder / CLIPS_FOLDER / f"{told.name}.npz"
        entries.append(
            LibraryEntry(
                told.name, clip, float(told.fps), told.frames, tuple(told.tags), told.subject, told.licence, dict(entry)
            )
        )
    return entries


def is_file_name(name: str) -> bool:
    """Whether a name from outside is that of a file, which leads out of no folder, on any system."""
    unfit = set('/\\:*?"<>|') | {chr(number) for number in range(32)}
    return bool(name.strip(". ")) and not unfit & set(name) and len(name.encode("utf-8", "replace")) < 200


def update_library(
    folder: Path | str, clips: Iterable[Clip], beside: Callable[[Clip, Path], None] | None = None
) -> None:
    """Save `clips` under FOLDER/clips and put their entries into FOLDER/index.json, replacing entries of the same name.

    Every clip needs a name in its meta. beside: called with each clip and its file, to write what belongs to it. The
    index is written last, and one process at a time writes into a library. Raises FileFormatError when an existing
    index is malformed, then nothing is written; and UserError when the folder cannot be written.
    """
    folder = Path(folder)
    path = folder / INDEX_NAME
    if path.exists():
        _read_index(path)
    make_folder(folder / CLIPS_FOLDER)
    with locked(folder):
        index: dict[str, Any] = _read_index(path) if path.exists() else {"format": INDEX_FORMAT, "clips": []}
        entries = {str(e.get("name")): e for e in index["clips"]}
        for clip in clips:
            if not is_file_name(clip.name):
                raise FileFormatError(f"'{clip.name[:40]}' is not a valid name for a clip's file; rename the source")
            entry = {**clip.meta, "fps": round(clip.fps, 4), "frames": len(clip), "seconds": round(clip.seconds, 2)}
            place = folder / CLIPS_FOLDER / f"{clip.name}.npz"
            save_clip(Clip(clip.skeleton, clip.root, clip.rotations, clip.fps, entry), place)
            if beside is not None:
                beside(clip, place)
            entries[clip.name] = entry
        index |= {"count": len(entries), "clips": list(entries.values())}
        write_whole(path, json.dumps(index, indent=1, ensure_ascii=False) + "\n")


def _read_meta(meta: Array, path: Path) -> dict[str, Any]:
    return parse_json(str(meta), dict, "a description of a clip", f"{path}, 'meta'")


def _read_index(path: Path) -> dict[str, Any]:
    index = read_json(path, dict, f"the {INDEX_NAME} of a clip library")
    clips = index.get("clips")
    if not isinstance(clips, list) or len(clips) > _MOST_CLIPS or not all(isinstance(entry, dict) for entry in clips):
        raise FileFormatError(f"{path}: must be an object with a list 'clips' of objects")
    return index
