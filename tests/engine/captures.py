# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures made by formula, of which it is known what stood around, as clips of a data folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from nsm_blender.models.nsm import FPS
from nsm_blender.motion.clip import Clip
from nsm_blender.motion.clip_file import CLIPS_FOLDER, update_library
from nsm_blender.motion.easing import eased
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from nsm_blender.training.episodes.captures import Capture, load_capture
from nsm_blender.training.episodes.props import objects_beside
from nsm_blender.training.episodes.reach import reaching
from nsm_blender.training.episodes.track import Track

HIP_JOINTS = MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])
SEATED = (5.2, 6.6)
"""Seconds between which the character of `sits_down` is seated."""


def clip_of(track: Track, name: str, subject: str = "", tags: tuple[str, ...] = ()) -> Clip:
    """A track as a clip of a library."""
    meta = {"name": name, "subject": subject, "tags": list(tags), "licence": "CC0"}
    return Clip(MODEL_SKELETON, track.hips, MODEL_SKELETON.local_rotations(track.rotations), FPS, meta)


def keep(folder: Path, clip: Clip, objects: list[dict[str, Any]] | None = None) -> Path:
    """Put a clip into a library, and objects beside it; returns the clip's file."""
    update_library(folder, [clip])
    path = folder / CLIPS_FOLDER / f"{clip.name}.npz"
    if objects is not None:
        objects_beside(path).write_text(json.dumps(objects), encoding="utf-8")
    return path


def capture_of(folder: Path, name: str) -> Capture:
    """A clip of a library as templates are found in it."""
    from nsm_blender.motion.clip_file import load_library

    return load_capture(next(entry for entry in load_library(folder) if entry.name == name))


def sits_down(standing: Track) -> tuple[Track, Array]:
    """The track of a standing character that, from the fourth to the eighth second, sits down behind its heels and gets
    up again; and the place (3,) where the sitting surface must have been."""
    down, up = SEATED
    weight = eased(len(standing), (down - 1.1) * FPS, down * FPS, up * FPS, (up + 1.1) * FPS)
    facing = standing.root()[round(6 * FPS), 3]
    back = np.array([-np.sin(facing), np.cos(facing), 0.0])
    track = reaching(standing, weight[:, None] * (0.4 * back - [0.0, 0.0, 0.3]), {})
    seated = track.positions()[round(6 * FPS), HIP_JOINTS].mean(0)
    return track, seated - [0.0, 0.0, SEAT_BELOW_HIP_JOINTS]
