# SPDX-License-Identifier: GPL-3.0-or-later
"""The networks of locomotion: one for nearly everything, and beside it one that can jump."""

from __future__ import annotations

from pathlib import Path

from ..models.pfnn_kernels import PFNN
from ..paths import weights_folder

FILE = "pfnn.safetensors"
"""Weights of one performer on level ground: the smoothest, used wherever they can do what is asked for."""
_JUMPING = "_terrain"
"""What the name of a weights file is followed by in that of the one that can jump, of several performers on ground of
all kinds."""


def load(weights: Path | str | None = None) -> PFNN:
    """The network of a weights file, of the shipped one without. Raises WeightsError."""
    return PFNN.load(_file(weights))


def load_jumping(weights: Path | str | None = None) -> PFNN | None:
    """The network that jumps and leaps for that of a weights file: itself where it can, else the one beside it, None
    where there is none. Raises WeightsError."""
    network, file = load(weights), _file(weights)
    if network.knows_gait("jump"):
        return network
    beside = file.with_stem(file.stem + _JUMPING)
    return PFNN.load(beside) if beside.is_file() else None


def _file(weights: Path | str | None) -> Path:
    return Path(weights or weights_folder() / FILE)
