# SPDX-License-Identifier: GPL-3.0-or-later
"""The shipped networks of locomotion: that of level ground, and that of terrain, which can jump."""

from __future__ import annotations

from pathlib import Path

from ..models.pfnn_kernels import PFNN
from ..paths import weights_folder

FILE = "pfnn.safetensors"
"""Of one performer on level ground; the smoothest, and used wherever it can do what is asked for."""
TERRAIN_FILE = "pfnn_terrain.safetensors"
"""Of several performers on ground of all kinds, who jump, too."""


def load(weights: Path | str | None = None) -> PFNN:
    """The network of a weights file, or the shipped one for level ground. Raises WeightsError."""
    return PFNN.load(weights or weights_folder() / FILE)


def load_jumping() -> PFNN | None:
    """The shipped network that can jump, None where it is not installed. Raises WeightsError."""
    path = weights_folder() / TERRAIN_FILE
    return PFNN.load(path) if path.is_file() else None


def jumps(network: PFNN) -> bool:
    """Whether a network has learned to jump."""
    return network.knows_gait("jump")
