# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips on disk: one .npz a clip, and the index.json of a folder of them.

Arrays of a clip file: `root` (T, 3) float32 meters, `rotations` (T, 22, 4) int16 (w, x, y, z times 32767, local to the
parent), `offsets` (22, 3) float32 meters, `fps`, `meta` (JSON text). On disk +Y is up, the figure faces +Z and its left
hand points to +X; no other file uses these axes.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileFormatError
from ..files import parse_json, read_json, write_whole
from .clip import Clip
from .rotations import Array, make_continuous
from .skeleton import MODEL_SKELETON, Skeleton

INDEX_NAME = "index.json"
"""File name of a library's index."""
CLIPS_FOLDER = "clips"
"""Folder of a library's clips."""
INDEX_FORMAT = 1
"""Version of the index's format."""

_KEYS = ("root", "rotations", "offsets", "fps", "meta")
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
    arrays = _read_arrays(path)
    root, rotations, offsets, fps, meta = (arrays[k] for k in _KEYS)
    joints = len(MODEL_SKELETON)
    if root.ndim != 2 or root.shape[1] != 3 or len(root) == 0:
        raise FileFormatError(f"{path}: 'root' must be (frames, 3) with at least one frame, it is {root.shape}")
    if rotations.shape != (len(root), joints, 4):
        raise FileFormatError(f"{path}: 'rotations' must be ({len(root)}, {joints}, 4), it is {rotations.shape}")
    if offsets.shape != (joints, 3):
        raise FileFormatError(f"{path}: 'offsets' must be ({joints}, 3), it is {offsets.shape}")
    for key in ("root", "rotations", "offsets", "fps"):
        if arrays[key].dtype.kind not in "fiu" or not np.isfinite(arrays[key]).all():
            raise FileFormatError(f"{path}: '{key}' holds values that are not finite numbers")
    if fps.size != 1 or float(fps) <= 0:
        raise FileFormatError(f"{path}: 'fps' must be one number above zero")

    quaternions = rotations.astype(np.float64)
    norm = np.linalg.norm(quaternions, axis=-1, keepdims=True)
    if np.any(norm < 1e-6):
        frame = int(np.argwhere(norm[..., 0] < 1e-6)[0, 0])
        raise FileFormatError(f"{path}: a rotation in frame {frame} has length zero")
    quaternions /= norm
    quaternions = np.concatenate((quaternions[..., :1], up_y_to_z(quaternions[..., 1:])), axis=-1)
    skeleton = Skeleton(MODEL_SKELETON.names, MODEL_SKELETON.parents, up_y_to_z(offsets.astype(np.float64)))
    return Clip(
        skeleton=skeleton,
        root=up_y_to_z(root).astype(np.float32),
        rotations=make_continuous(quaternions.astype(np.float32)),
        fps=float(fps),
        meta=_read_meta(meta, path),
    )


def save_clip(clip: Clip, path: Path | str) -> None:
    """Write `clip`, which must have the model skeleton's joints, as a clip file.

    Rotations are stored in steps of 1/32767 (below 0.004 degrees). The file appears whole or not at all.
    """
    if clip.skeleton.names != MODEL_SKELETON.names:
        raise ValueError("only clips with the model skeleton's joints can be saved")
    rotations = make_continuous(np.asarray(clip.rotations, dtype=np.float64))
    rotations = np.concatenate((rotations[..., :1], up_z_to_y(rotations[..., 1:])), axis=-1)
    path = Path(path)
    temporary = path.with_name(path.name + ".part")
    try:
        with temporary.open("wb") as f:
            np.savez_compressed(
                f,
                root=up_z_to_y(clip.root).astype(np.float32),
                rotations=np.rint(rotations * _SCALE).astype(np.int16),
                offsets=up_z_to_y(clip.skeleton.offsets).astype(np.float32),
                fps=np.float32(clip.fps),
                meta=np.array(json.dumps(clip.meta)),
            )
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load_library(folder: Path | str) -> list[LibraryEntry]:
    """Read the entries of FOLDER/index.json, in its order. Raises FileFormatError when it is missing or malformed."""
    folder = Path(folder)
    path = folder / INDEX_NAME
    index = _read_index(path)
    entries = []
    for number, entry in enumerate(index["clips"]):
        try:
            name = str(entry["name"])
            if Path(name).name != name:  # a name from outside must not lead out of the folder
                raise ValueError(name)
            entries.append(
                LibraryEntry(
                    name=name,
                    path=folder / CLIPS_FOLDER / f"{name}.npz",
                    fps=float(entry["fps"]),
                    frames=int(entry["frames"]),
                    tags=tuple(str(t) for t in entry.get("tags", ())),
                    subject=str(entry.get("subject", "")),
                    licence=str(entry.get("licence", "")),
                    meta=dict(entry),
                )
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"{path}: clip number {number + 1} lacks a valid name, fps or frames") from error
    return entries


def update_library(folder: Path | str, clips: Iterable[Clip]) -> None:
    """Save `clips` under FOLDER/clips and put their entries into FOLDER/index.json, replacing entries of the same name.

    Every clip needs a name in its meta. Raises FileFormatError when an existing index is malformed; then nothing is
    written.
    """
    folder = Path(folder)
    path = folder / INDEX_NAME
    index: dict[str, Any] = _read_index(path) if path.exists() else {"format": INDEX_FORMAT, "clips": []}
    entries = {str(e.get("name")): e for e in index["clips"]}
    (folder / CLIPS_FOLDER).mkdir(parents=True, exist_ok=True)
    for clip in clips:
        entry = {**clip.meta, "fps": round(clip.fps, 4), "frames": len(clip), "seconds": round(clip.seconds, 2)}
        save_clip(
            Clip(clip.skeleton, clip.root, clip.rotations, clip.fps, entry), folder / CLIPS_FOLDER / f"{clip.name}.npz"
        )
        entries[clip.name] = entry
    index |= {"count": len(entries), "clips": list(entries.values())}
    write_whole(path, json.dumps(index, indent=1, ensure_ascii=False) + "\n")


def _read_arrays(path: Path) -> dict[str, Array]:
    if not path.is_file():
        raise FileFormatError(f"{path}: there is no such file")
    try:
        with np.load(path, allow_pickle=False) as z:
            missing = [k for k in _KEYS if k not in z.files]
            if missing:
                raise FileFormatError(f"{path}: not a clip file, it lacks {', '.join(missing)}")
            return {k: z[k] for k in _KEYS}
    except (
        OSError,
        ValueError,
        TypeError,
        AttributeError,
        EOFError,
        NotImplementedError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise FileFormatError(f"{path}: cannot be read as a clip file ({error})") from error


def _read_meta(meta: Array, path: Path) -> dict[str, Any]:
    return parse_json(str(meta), dict, "a description of a clip", f"{path}, 'meta'")


def _read_index(path: Path) -> dict[str, Any]:
    index = read_json(path, dict, f"the {INDEX_NAME} of a clip library")
    if not isinstance(index.get("clips"), list) or not all(isinstance(entry, dict) for entry in index["clips"]):
        raise FileFormatError(f"{path}: must be an object with a list 'clips' of objects")
    return index
