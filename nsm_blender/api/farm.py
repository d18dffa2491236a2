# SPDX-License-Identifier: GPL-3.0-or-later
"""Baking many shot files at once: in processes of this machine, or on a Dask cluster of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ..baking.nsm import Model
from ..errors import UserError
from ..files.writing import check_folder, check_writable, make_folder
from ..shot.shot import Shot
from ..workers import each
from .baking import bake
from .manifold import synthesize

MOTION_SUFFIX = ".npz"
"""Ending of the name of a motion file."""


@dataclass(frozen=True)
class FileBake:
    """What became of a shot file. shot, out: the files. error: why there is no motion file, "" where there is. frames,
    fps, meta: of the motion."""

    shot: Path
    out: Path
    error: str = ""
    frames: int = 0
    fps: float = 0.0
    meta: dict[str, Any] = field(default_factory=dict)


def bake_files(
    shots: Sequence[Path | str],
    folder: Path | str,
    model: Model | Literal["manifold"] = "auto",
    *,
    weights: Path | str | None = None,
    processes: int = 2,
    cluster: str | None = None,
) -> Iterator[FileBake]:
    """Bake shot files into motion files of the same names in a folder, as they are done; a shot that is at fault keeps
    no other from it.

    model, weights: as of `bake`; "manifold" is `synthesize`. processes: that bake at the same time on this machine.
    cluster: address of a Dask scheduler, such as tcp://host:8786, whose workers bake instead; they find files at the
    same paths. Raises UserError when two shots have the same name, the folder cannot be written, or no scheduler
    answers.
    """
    # Workers elsewhere have another working folder.
    files, into = [Path(shot).absolute() for shot in shots], Path(folder).absolute()
    twice = [name for name, times in Counter(file.stem for file in files).items() if times > 1]
    if twice:
        raise UserError(f"More than one of the shots is called {twice[0]}, and they would be the same motion file.")
    check_folder(into)
    make_folder(into)
    work = partial(_baked, into, model, None if weights is None else Path(weights).absolute())
    for _, found in each(work, files, processes, cluster):
        yield found


def _baked(folder: Path, model: Model | Literal["manifold"], weights: Path | None, file: Path) -> FileBake:
    out = folder / (file.stem + MOTION_SUFFIX)
    try:
        check_writable(out)
        shot = Shot.load(file)
        motion = synthesize(shot) if model == "manifold" else bake(shot, model, weights=weights)
        motion.save(out)
    except UserError as error:
        return FileBake(file, out, str(error))
    return FileBake(file, out, "", len(motion), motion.fps, motion.meta)
