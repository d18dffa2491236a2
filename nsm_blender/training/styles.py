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
from safetensors.numpy import save_file

from ..editing.style import Style, gram_matrix, triangle
from ..errors import UserError
from ..models.manifold import FPS, Autoencoder, Float32
from ..motion.clip_file import LibraryEntry, load_library
from .autoencoder import clip_frames
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
"""Clips of each style, with the seconds that show it; turns on the spot at the end are left out."""


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
    """Write styles of one autoencoder as a weights file with a card, for `editing.style.load_styles`."""
    save_file({style.name: triangle(style.gram) for style in styles}, out)
    card: dict[str, Any] = {
        "model": "styles",
        "paper": "Holden, Saito, Komura: A Deep Learning Framework for Character Motion Synthesis and Editing, 2016",
        "licence": licence_of([style.licence for style in styles]),
        "autoencoder": styles[0].autoencoder,
        "styles": {style.name: {"source": style.source, "licence": style.licence} for style in styles},
        "training": {
            "command": shlex.join(["nsm-blender", "train", "styles", "--data", "DIR", "--out", f"weights/{out.name}"]),
            "commit": current_commit(),
            "date": datetime.date.today().isoformat(),
        },
    }
    out.with_suffix(".json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


def _style(
    name: str,
    parts: Sequence[tuple[str, float, float]],
    library: Mapping[str, LibraryEntry],
    autoencoder: Autoencoder,
) -> Style:
    hidden = [_hidden(library[clip], start, stop, autoencoder) for clip, start, stop in parts]
    licences = sorted({library[clip].licence for clip, _, _ in parts})
    sources = ", ".join(clip for clip, _, _ in parts)
    return Style(name, gram_matrix(np.concatenate(hidden)), sources, "; ".join(licences), autoencoder.hash)


def _hidden(entry: LibraryEntry, start: float, stop: float, autoencoder: Autoencoder) -> Float32:
    frames = clip_frames(entry)
    last = min(round(stop * FPS), len(frames))
    first = round(start * FPS)
    return autoencoder.encode(frames[first : last - (last - first) % 2])
