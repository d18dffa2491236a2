# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundled styles: Gram matrices of recorded walks (section 7.2 of Holden et al. 2016)."""

from __future__ import annotations

import datetime
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from ..errors import UserError
from ..files import write_whole
from ..manifold.frames import to_frames
from ..manifold.style import Style, gram_matrix, triangle
from ..manifold.tempo import Tempo
from ..models.manifold import FPS, FRAME, Autoencoder, Float32
from ..motion.clip_file import LibraryEntry, load_clip, load_library
from ..motion.contacts import foot_contacts
from ..motion.feet import level_feet
from ..motion.filters import gaussian
from ..motion.foot_lock import plant_feet
from ..motion.retarget import to_model_skeleton
from ..motion.root import root_track
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON, TOE_HEIGHT
from .cards import current_commit, licence_of

STYLES: Mapping[str, Sequence[tuple[str, float, float]]] = {
    "old": (("cmu_142_07_keys", 0, 12), ("cmu_142_07b_keys", 0, 99)),
    "depressed": (("cmu_142_05_keys", 0, 10),),
    "sad": (("cmu_142_15_keys", 0, 99),),
    "injured": (("cmu_142_12_keys", 0, 8),),
    "drunk": (("cmu_137_16_keys", 0, 99),),
    "zombie": (("cmu_104_03_keys", 0, 99),),
    "strong": (("cmu_137_42_keys", 0, 99),),
    "childlike": (("cmu_142_01_keys", 0, 99),),
    "happy": (("cmu_142_08_keys", 0, 99), ("cmu_142_08b_keys", 0, 99)),
    "sneaking": (("cmu_139_29_keys", 0, 99),),
    "angry": (("s100_angry_fw", 0, 99),),
    "elated": (("s100_elated_fw", 0, 99),),
    "rushed": (("s100_rushed_fw", 0, 99),),
}
"""Clips of each style, with the seconds that show it."""

_STANDS = 10
"""Percentile of a toe's heights that is its height while it stands."""
_BEND, _SMOOTHING = 0.7, 1 / 3
"""Turn in rad/s from which a way bends, at 1.4 m/s a circle of 2 m, and seconds of the filter that tells it from the
sway of the steps."""


def build(
    data: Path, autoencoder: Autoencoder, styles: Mapping[str, Sequence[tuple[str, float, float]]]
) -> list[Style]:
    """The styles of clips in a data folder. Raises UserError when a clip is not there."""
    library = {entry.name: entry for entry in load_library(data)}
    missing = [clip for parts in styles.values() for clip, _, _ in parts if clip not in library]
    if missing:
        raise UserError(f"{data} lacks the clip '{missing[0]}', which a style is taken from.")
    return [_style(name, parts, library, autoencoder) for name, parts in styles.items()]


def write(styles: Sequence[Style], out: Path) -> None:
    """Write styles of one autoencoder as a weights file with a card, for `manifold.style.load_styles`."""
    write_whole(out, save({style.name: triangle(style.gram) for style in styles}))
    card: dict[str, Any] = {
        "model": "styles",
        "paper": "Holden, Saito, Komura: A Deep Learning Framework for Character Motion Synthesis and Editing, 2016",
        "licence": licence_of([style.licence for style in styles]),
        "autoencoder": styles[0].autoencoder,
        "styles": {
            style.name: {
                "source": style.source,
                "licence": style.licence,
                "speed": round(style.tempo.speed, 3),
                "cadence": round(style.tempo.cadence, 3),
            }
            for style in styles
        },
        "training": {
            "command": shlex.join(["nsm-blender", "train", "styles", "--data", "DIR", "--out", f"weights/{out.name}"]),
            "commit": current_commit(),
            "date": datetime.date.today().isoformat(),
        },
    }
    write_whole(out.with_suffix(".json"), json.dumps(card, indent=1) + "\n")


def _style(
    name: str,
    parts: Sequence[tuple[str, float, float]],
    library: Mapping[str, LibraryEntry],
    autoencoder: Autoencoder,
) -> Style:
    frames = [_part(recorded(library[clip]), start, stop) for clip, start, stop in parts]
    straight = [_straight(part) for part in frames]
    # Whole parts are encoded, or each stretch would begin and end in the mean pose; then the turns are left out.
    encoded = [autoencoder.encode(part) for part in frames]
    hidden = [rows[on.reshape(len(rows), -1).all(axis=1)] for rows, on in zip(encoded, straight, strict=True)]
    licences = sorted({library[clip].licence for clip, _, _ in parts})
    sources = ", ".join(clip for clip, _, _ in parts)
    gram = gram_matrix(np.concatenate(hidden))
    tempo = Tempo.of(np.concatenate(frames), np.concatenate(straight))
    return Style(name, gram, sources, "; ".join(licences), autoencoder.hash, tempo)


def recorded(entry: LibraryEntry) -> Float32:
    """Frames (T, FRAME.size) of a clip in which each foot stands still, and on the floor.

    In transcribed walks one foot stands up to 5 cm above the other: by its height it would never touch the ground.
    So contacts are found as high as each foot stands, and then the feet are planted by them.
    """
    clip = to_model_skeleton(level_feet(load_clip(entry.path)).resampled(FPS))
    positions, rotations = clip.world()
    lowered = positions.copy()
    for side in ("Left", "Right"):
        foot, toe = MODEL_SKELETON.indices((side + "Foot", side + "Toe"))
        above = max(float(np.percentile(positions[:, toe, 2], _STANDS)) - TOE_HEIGHT, 0.0)
        lowered[:, [foot, toe], 2] -= above
    contacts = foot_contacts(lowered, FPS)
    planted, _ = plant_feet(
        positions[None, :, 0].astype(np.float64), rotations[None].astype(np.float64), contacts[None]
    )
    return to_frames(planted[0], root_track(positions, FPS), contacts)


def _part(frames: Float32, start: float, stop: float) -> Float32:
    """The frames from one second to another, as many as there are, and an even number."""
    first, last = round(start * FPS), min(round(stop * FPS), len(frames))
    return frames[first : last - (last - first) % 2]


def _straight(frames: Float32) -> Array:
    """(T,) where the character turns no more than its steps do: a bend of the way is not part of a style."""
    turn = gaussian(frames[:, FRAME.root_turn].astype(np.float64), _SMOOTHING * FPS)[:, 0]
    out: Array = np.abs(turn) < _BEND
    return out
