# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion files into a library of clips: for `nsm-blender data import`, and for training on a folder of captures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import UserError
from ..models.nsm import FPS
from ..motion.clip import Clip
from ..motion.clip_file import INDEX_NAME, update_library
from ..motion.load import DEFAULTS, ImportOptions, load_motion
from ..training.episodes import label_files
from ..training.episodes.pool import LOCOMOTION
from ..training.episodes.props import Frame, ImportedProp, imported_props, objects_beside, write_props


def import_folder(folder: Path, out: Path) -> None:
    """Make a library of the motion files in a folder: those in a folder of their own are one performer's, named after
    it, and what has no object told beside it is locomotion. Raises UserError when there are none."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".bvh", ".amc"))
    if not files:
        raise UserError(
            f"{folder}: neither a motion data folder ({INDEX_NAME}), nor composed episodes, nor motion files"
        )
    sources = []
    for path in files:
        subject = "" if path.parent == folder else path.parent.name
        tags = [] if objects_beside(path).is_file() else [LOCOMOTION]
        sources.append(read(path, DEFAULTS, FPS, {"subject": subject, "tags": tags}))
    write(sources, out)


@dataclass(frozen=True, eq=False)
class Source:
    """A motion file that was read. props: what is told beside it. labels: those that a person corrected, in the clip's
    frames; None where there are none beside it."""

    path: Path
    clip: Clip
    props: list[ImportedProp] | None
    labels: label_files.ClipLabels | None


def read(path: Path, options: ImportOptions, fps: float, given: dict[str, Any]) -> Source:
    """Read a motion file and what is told beside it, at `fps`, with `given` entries of its description."""
    clip = load_motion(path, options)
    meta = {"name": clip.name, "tags": [], "subject": "", "source": path.name, "licence": "", **clip.meta}
    meta |= {key: value for key, value in given.items() if value}
    described = replace(clip.resampled(fps), meta=meta)
    print(_summary(path, clip, described))
    told = objects_beside(path)
    # A clip of a library is in Blender's frame already, wherever it came from.
    frame = Frame() if path.suffix.lower() == ".npz" else Frame.of(clip.meta.get("import"))
    props = imported_props(told, frame) if told.is_file() else None
    return Source(path, described, props, label_files.beside(path, clip, described))


def write(sources: Sequence[Source], out: Path) -> None:
    """Make or add to the library `out`. Raises UserError when two clips have one name."""
    clips: dict[str, Clip] = {}
    for source in sources:
        name = source.clip.name
        if name in clips:
            raise UserError(f"{source.path}: a clip of the name {name} is already among the files; rename one")
        clips[name] = source.clip
    props = {source.clip.name: source.props for source in sources if source.props is not None}
    labels = {source.clip.name: source.labels for source in sources if source.labels is not None}

    def beside(clip: Clip, place: Path) -> None:
        if clip.name in props:
            write_props(props[clip.name], place)
        if clip.name in labels:
            labels[clip.name].write_beside(place)

    update_library(out, clips.values(), beside)
    print(f"{len(clips)} clips written to {out}")


def _summary(path: Path, source: Clip, clip: Clip) -> str:
    line = f"{path.name}: {len(source)} frames at {source.fps:.6g} fps, {source.seconds:.2f} s"
    found = source.meta.get("import")
    if found:
        line += f", {found['up'].upper()} up, {found['metres_per_unit']:g} m per unit"
    if len(clip) != len(source):
        line += f" -> {len(clip)} frames at {clip.fps:.6g} fps"
    return "\n".join([line, *(f"  {note}" for note in (found or {}).get("notes", ()))])
