# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads any motion file as a clip, by its extension."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import FileFormatError
from ..files import is_file
from .asf_amc import AMC_FPS, find_asf, load_asf_amc
from .bvh import load_bvh
from .canonical import to_canonical, unit_of_leg
from .clip import Clip
from .clip_file import load_clip
from .retarget import leg_length


@dataclass(frozen=True)
class ImportOptions:
    """Options for files that leave units, axes or frame rate open.

    up: "auto", "y" or "z". scale: meters per unit, None guesses. skeletons: .asf files to choose from. amc_fps: frame
    rate of AMC files.
    """

    up: str = "auto"
    scale: float | None = None
    skeletons: tuple[Path, ...] = ()
    amc_fps: float = AMC_FPS


DEFAULTS = ImportOptions()


def load_motion(path: Path | str, options: ImportOptions = DEFAULTS) -> Clip:
    """Read a .bvh, .amc (with its .asf) or .npz file as a clip of the 22 joints, named as the file.

    Raises FileFormatError or RigError with one sentence.
    """
    path = Path(path)
    if not is_file(path):
        raise FileFormatError(f"{path}: there is no such file")
    kind = path.suffix.lower()
    if kind == ".npz":
        clip = in_meters(load_clip(path), options.scale, path.name)
    elif kind == ".bvh":
        clip = to_canonical(load_bvh(path), options.up, options.scale)
    elif kind == ".amc":
        asf = options.skeletons[0] if len(options.skeletons) == 1 else find_asf(path, list(options.skeletons))
        clip = to_canonical(load_asf_amc(asf, path, options.amc_fps), options.up, options.scale)
    else:
        raise FileFormatError(f"{path}: motion is read from .bvh, .amc with .asf, and .npz files")
    if not (np.isfinite(clip.root).all() and np.isfinite(clip.rotations).all()):
        raise FileFormatError(f"{path}: its values cannot be posed; export the motion again")
    return replace(clip, meta={**clip.meta, "name": path.stem})


def in_meters(clip: Clip, scale: float | None, name: str) -> Clip:
    """The clip with its places in meters. scale: meters per unit of the file; None takes the legs' length for it, as
    files of other programs come in centimeters."""
    unit = unit_of_leg(leg_length(clip.skeleton), 1.0, name) if scale is None else scale
    if unit == 1.0:
        return clip
    skeleton = replace(clip.skeleton, offsets=clip.skeleton.offsets * unit)
    return replace(clip, skeleton=skeleton, root=clip.root * np.float32(unit))
