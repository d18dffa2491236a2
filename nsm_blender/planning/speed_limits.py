# SPDX-License-Identifier: GPL-3.0-or-later
"""How slowly and how fast a network's character goes, as the card of its weights tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..models.weights import read_card
from ..paths import weights_folder

LOCOMOTION_FILE, SCENE_FILE = "pfnn.safetensors", "nsm.safetensors"
"""Files of the shipped weights of the two networks that carry out action keys."""
FIGURE = "{system}.speed_limit_m_per_s.{gait}.{end}"
"""Name of a limit among the results in a card. end: "least" or "most"."""


@dataclass(frozen=True)
class Range:
    """Least and greatest steady speed in m/s."""

    least: float
    most: float


_MEASURED: Mapping[str, Mapping[str, Range]] = {
    "pfnn": {"walk": Range(0.5, 2.1), "jog": Range(2.3, 3.5), "crouch": Range(0.5, 0.8)},
    "nsm": {"walk": Range(0.5, 1.6), "jog": Range(1.9, 3.1), "crouch": Range(0.5, 0.7)},
}
"""Of the weights for which this was first measured, for a card that tells nothing of it."""


@dataclass(frozen=True)
class SpeedLimits:
    """Steady speeds in m/s on level ground by gait: "walk", "jog" and "crouch"."""

    by_gait: Mapping[str, Range]

    @property
    def fastest(self) -> float:
        """In any gait."""
        return max(gait.most for gait in self.by_gait.values())


def limits_of(card: Mapping[str, Any], system: str) -> SpeedLimits:
    """The limits that a card tells. system: "pfnn" or "nsm"."""
    results = card.get("results", {})
    out = {}
    for gait, known in _MEASURED[system].items():
        least, most = (results.get(FIGURE.format(system=system, gait=gait, end=end)) for end in ("least", "most"))
        told = isinstance(least, int | float) and isinstance(most, int | float) and 0 < least <= most
        out[gait] = Range(float(least), float(most)) if told else known
    return SpeedLimits(out)


def shipped(system: str) -> SpeedLimits:
    """The limits of the shipped weights. Raises WeightsError when their card cannot be read."""
    return limits_of(read_card(weights_folder() / _file(system)), system)


def _file(system: str) -> Path:
    return Path(SCENE_FILE if system == "nsm" else LOCOMOTION_FILE)
