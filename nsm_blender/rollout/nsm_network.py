# SPDX-License-Identifier: GPL-3.0-or-later
"""The shipped NSM: its weights, what its card says that it can do, and how it begins."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from ..errors import WeightsError
from ..models.nsm import FRAME
from ..models.nsm_predictor import Predictor
from ..models.nsm_predictor import load as load_weights
from ..models.weights import read_card
from ..motion.rotations import Array
from ..paths import weights_folder
from ..shot.goals import ACTIONS, LOCOMOTION

FILE = "nsm.safetensors"


def load(weights: Path | str | None = None) -> Predictor:
    """The network, by default the shipped one. Raises WeightsError."""
    return load_weights(weights or weights_folder() / FILE)


def standing_of(network: Predictor) -> Array:
    """The frame input (FRAME.size,) of a standing body, from which rollouts begin. Raises WeightsError."""
    values = np.asarray(network.card.get("standing", []), dtype=np.float32)
    if values.shape != (FRAME.size,) or not np.isfinite(values).all():
        raise WeightsError("The NSM's model card does not say how the character stands; install the extension again.")
    return values


def actions_of(card: dict[str, object]) -> tuple[str, ...]:
    """The actions of keys that the weights with this card can do, in the order of goals.ACTIONS."""
    told = card.get("actions", [])
    return tuple(action for action in ACTIONS if isinstance(told, list) and action in told)


def able(weights: Path | str | None = None) -> tuple[str, ...]:
    """The actions that keys may ask for: those of the locomotion network, and of the NSM where it is installed."""
    path = Path(weights or weights_folder() / FILE)
    return with_locomotion(actions_of(read_card(path)) if path.exists() else ())


def with_locomotion(actions: Collection[str]) -> tuple[str, ...]:
    """Actions and those of the locomotion networks, in the order of goals.ACTIONS."""
    return tuple(action for action in ACTIONS if action in LOCOMOTION or action in actions)
