# SPDX-License-Identifier: GPL-3.0-or-later
"""The networks of locomotion: one for nearly everything, beside it one that can jump and knows several performers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import ShotError
from ..models.pfnn_kernels import PFNN
from ..motion.gait import GAITS
from ..paths import weights_folder
from .pfnn import Performer

FILE = "pfnn.safetensors"
"""Weights of one performer on level ground: the smoothest, used wherever they can do what is asked for."""
_SEVERAL = "_terrain"
"""What the name of a weights file is followed by in that of the one that can jump, of several performers on ground of
all kinds."""


def load(weights: Path | str | None = None, performer: str = "") -> PFNN:
    """The network of a weights file, of the shipped one without. performer: where that network knows one alone, the
    network beside it that knows several, if there is one. Raises WeightsError."""
    network = PFNN.load(_file(weights))
    if performer and network.character is None:
        return _beside(weights) or network
    return network


def that_jumps(network: PFNN, weights: Path | str | None = None) -> PFNN | None:
    """The network that jumps and leaps for one of a weights file: itself where it can, else the one beside it, None
    where there is none. Raises WeightsError."""
    return network if network.knows_gait("jump") else _beside(weights)


def performer_of(network: PFNN, name: str, blend: float = 0.0) -> Performer | None:
    """The manner of a performer that the weights' card lists; None, the weights' own, without a name.

    blend: share of the weights' own performer in it. Raises ShotError when the card lists no such performer.
    """
    if not name:
        return None
    known = network.card.get("performers", {}) if network.character is not None else {}
    if name not in known or network.character is None:
        choice = f"choose one of {', '.join(sorted(known))}" if known else "they know one alone; leave it out"
        raise ShotError(f"The weights know no performer '{name}': {choice}.")
    own = network.character
    value = own + (1 - blend) * (np.asarray(known[name], dtype=np.float32) - own)
    gaits = network.card.get("performer_gaits", {}).get(name, GAITS)
    return Performer(value, np.array([float(gait in gaits) for gait in GAITS]))


def _beside(weights: Path | str | None) -> PFNN | None:
    file = _file(weights)
    beside = file.with_stem(file.stem + _SEVERAL)
    return PFNN.load(beside) if beside.is_file() else None


def _file(weights: Path | str | None) -> Path:
    return Path(weights or weights_folder() / FILE)
