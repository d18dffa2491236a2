# SPDX-License-Identifier: GPL-3.0-or-later
"""What predicts a character's frames in a rollout: the NSM, or one of the networks that it is compared with."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import WeightsError
from .matmul import Float32
from .nsm import ENCODERS
from .nsm_baselines import (
    NETWORKS,
    RECURRENT,
    State,
    condition,
    condition_of,
    encoders_of,
    forward,
    omega,
    shapes,
)
from .nsm_kernels import NSM
from .weights import check_shapes, file_hash, read_card, read_tensors

_NSM = NETWORKS[0]


class Predictor(Protocol):
    """A trained network that predicts frame after frame for one character. card: the model card. hash: of the weights
    file. omega: (K,) weights of what the last prediction blended."""

    card: dict[str, Any]
    hash: str
    omega: Float32

    def predict(
        self, frame: Float32, goal: Float32, interaction: Float32, environment: Float32, phase: float
    ) -> Float32:
        """The next frame, see `NSM.predict`."""

    def begun(self) -> Predictor:
        """The network for another character, which remembers nothing yet."""

    def fork(self) -> Predictor:
        """The network for a copy of its character, which remembers the same."""


class Baseline:
    """A `Predictor` of any of `nsm_baselines.BASELINES`, which shows what it is worth and is not made to be fast."""

    def __init__(self, tensors: Mapping[str, Float32], card: Mapping[str, Any], hash: str = "") -> None:
        self.card, self.hash = dict(card), hash
        self.omega: Float32 = np.ones(1, dtype=np.float32)
        self._network = str(card["network"])
        self._condition = condition_of(self._network, "kronecker")
        self._tensors = tensors
        self._state: State = None

    def predict(
        self, frame: Float32, goal: Float32, interaction: Float32, environment: Float32, phase: float
    ) -> Float32:
        """The next frame, see `NSM.predict`."""
        values = (frame, goal, interaction, environment)
        inputs = {name: self._normal(name, x[None]) for name, x in zip(ENCODERS, values, strict=True)}
        now = np.array([phase], dtype=np.float32)
        gating = None
        if self._condition is not None:
            gating = self._normal("gating", condition(self._condition, frame[None], goal[None], now))
        y, self._state = forward(self._network, self._tensors, inputs, gating, now, self._state)
        if self._network not in RECURRENT:
            self.omega = omega(self._network, self._tensors, inputs["frame"], gating, now)[0]
        out: Float32 = y[0] * self._tensors["output_scale"] + self._tensors["output_mean"]
        return out

    def begun(self) -> Baseline:
        """The network for another character, which remembers nothing yet."""
        out = self.fork()
        out._state = None
        return out

    def fork(self) -> Baseline:
        """The network for a copy of its character. A memory is never written into, so that both may have it."""
        return copy.copy(self)

    def _normal(self, name: str, value: Float32) -> Float32:
        out: Float32 = (value - self._tensors[f"{name}_mean"]) / self._tensors[f"{name}_scale"]
        return out


def of_tensors(tensors: Mapping[str, Float32], card: Mapping[str, Any]) -> Predictor:
    """The network that a card names."""
    return NSM(tensors, card) if card.get("network", _NSM) == _NSM else Baseline(tensors, card)


def load(path: Path | str) -> Predictor:
    """Read a weights file and the card beside it, which names the network. Raises WeightsError."""
    card = read_card(path)
    network = card.get("network", _NSM)
    if network == _NSM:
        return NSM.load(path)
    if network not in NETWORKS:
        raise WeightsError(f"{path}: its card names an unknown network; install the extension again.")
    tensors = read_tensors(path)
    sizes = check_shapes(tensors, shapes(network), path)
    if sizes["n"] != encoders_of(tensors) or sizes.get("4 h", 4 * sizes["h"]) != 4 * sizes["h"]:
        raise WeightsError(f"{path}: the layers do not fit each other; train the weights again.")
    for name in tensors:
        if name.endswith("_scale") and not (tensors[name] > 0).all():
            raise WeightsError(f"{path}: the tensor '{name}' holds a scale that is not positive.")
    return Baseline(tensors, card, file_hash(path))
