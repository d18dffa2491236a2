# SPDX-License-Identifier: GPL-3.0-or-later
"""Training the network of punches and kicks (Holden et al. 2016, sections 6 and 8): it copies recordings, and it hits.

Few strikes are recorded. So beside them the network is given ways to targets near the recorded ones, just as the
extension gives them, and is told by how much the hand or foot that it makes leaves these ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..models.manifold import DECODER_REACH, FPS, FRAME
from ..models.synthesis import FEED_FORWARD_REACH, REACH, STRIKE_FRAMES, EndEffectors, strike_inputs, strike_window
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from .strike_data import EFFECTOR_JOINTS, REACH_PIECES, Fight, Strike, end_effector_constants, strike_examples
from .synthesis import (
    WINDOW,
    FeedForwardTraining,
    Settings,
    decode,
    feed_forward,
)

VERSIONS = 10
"""How often each fight is seen: as recorded, and with its strikes at other places."""
TARGETS = 8
"""Targets that are aimed at in each step, beside the recordings."""
SPREAD = 0.15
"""Standard deviation in meters of these targets around the recorded ones."""
_HEIGHTS = (0.3, 1.9)
"""Heights in meters between which these targets are."""
_MARGIN = FEED_FORWARD_REACH + DECODER_REACH
_HIT_FRAMES = (100, 140)
"""Frames of a window between which the hit is."""
_AROUND = 12
"""Frames before and after the hit in which the way counts, the less the farther away."""
_NEAR, _LENGTH, _HEIGHT = 0.2, 0.02, 0.02
"""Errors in meters of the way, of bones and of the supporting foot that count as much as a deviation of a feature."""
_FLOOR = (0.0, 0.04)
"""Heights in meters between which the lower toe stays, since a jump would be an easy way to a high target."""
_TOES = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
_JOINTS = FRAME.shape("joint_position")


@dataclass(frozen=True)
class Weights:
    """How much counts, against the recordings' error: to keep to the way (`hit`: the same again at the hit itself),
    bones' lengths, a foot on the floor, and to move as in the recording of the strike whose target was moved."""

    hit: float = 1.0
    bones: float = 2.0
    floor: float = 1.0
    recording: float = 0.5


@dataclass(frozen=True, eq=False)
class _Aims:
    """N targets: inputs (N, REACH.size, T), frames of the hits (N,), joints (N,) that hit, ways (N, n, 3) around the
    hit, and normalized recordings (N, FRAME.size, WINDOW)."""

    inputs: torch.Tensor
    hits: Array
    joints: Array
    ways: torch.Tensor
    recordings: torch.Tensor


class StrikeTraining(FeedForwardTraining):
    """The network of punches and kicks, for the strikes that `strike_data.fights` has found."""

    def __init__(
        self,
        found: Sequence[Fight],
        autoencoder: Mapping[str, Array],
        settings: Settings,
        folder: Path,
        weights: Weights | None = None,
        **options: Any,
    ) -> None:
        self._weights = weights or Weights()
        self._strikes = [(fight, strike) for fight in found for strike in fight.strikes]
        self._kinds = [[i for i, (_, s) in enumerate(self._strikes) if s.effector // 2 == kind] for kind in range(2)]
        self._tables = end_effector_constants(found)
        self._mean, self._scale = autoencoder["mean"], autoencoder["scale"]
        examples = strike_examples(found, VERSIONS, settings.seed)
        super().__init__(examples, REACH_PIECES, autoencoder, settings, folder, **options)
        shapes = {name: value.detach().cpu().numpy() for name, value in self.parameters.items()}
        self._paths = EndEffectors(shapes | {"x_mean": self._x[0], "x_scale": self._x[1]} | self._tables)
        self._recorded = [self._recording(fight, strike) for fight, strike in self._strikes]
        bones = np.linalg.norm(MODEL_SKELETON.offsets[1:], axis=1)
        self._bones = torch.from_numpy(bones).float().to(self.device)

    def loss(self, batch: int) -> torch.Tensor:
        """The error of the recordings, and that of targets."""
        return super().loss(batch) + self._aimed(self._aims(TARGETS))

    def constants(self) -> Mapping[str, Array]:
        """Normalization, the ways of hands and feet and their usual targets."""
        return {**super().constants(), **self._tables}

    def _recording(self, fight: Fight, strike: Strike) -> Array:
        """Normalised frames around a strike, as many as any window with it can hold."""
        frames = fight.frames()
        first, last = strike.frame - _HIT_FRAMES[1], strike.frame + WINDOW - _HIT_FRAMES[0]
        near = frames[np.clip(np.arange(first, last), 0, len(frames) - 1)]
        out: Array = ((near - self._mean) / self._scale).astype(np.float32)
        return out

    def _aims(self, count: int) -> _Aims:
        """Targets near recorded ones, as many of hands as of feet."""
        hits = self.rng.integers(*_HIT_FRAMES, count)
        inputs = np.zeros((count, WINDOW + 2 * _MARGIN, REACH.size), dtype=np.float32)
        joints, ways, recordings = [], [], []
        for i, hit in enumerate(hits):
            chosen = int(self.rng.choice(self._kinds[self.rng.integers(2)]))
            fight, strike = self._strikes[chosen]
            target = fight.path(strike)[strike.frame] + self.rng.normal(0, SPREAD, 3)
            target[2] = np.clip(target[2], *_HEIGHTS)
            way = self._paths.path(strike.effector, target)
            path = np.zeros((inputs.shape[1], 3), dtype=np.float32)
            path[_MARGIN + hit - STRIKE_FRAMES : _MARGIN + hit + STRIKE_FRAMES + 1] = way
            inputs[i] = strike_inputs(path, [_MARGIN + hit], [strike.effector])
            joints.append(EFFECTOR_JOINTS[strike.effector])
            ways.append(way[STRIKE_FRAMES - _AROUND : STRIKE_FRAMES + _AROUND + 1])
            recordings.append(self._recorded[chosen][_HIT_FRAMES[1] - hit :][:WINDOW].T)
        normal = ((inputs - self._x[0]) / self._x[1]).transpose(0, 2, 1)
        tensors = (torch.from_numpy(np.ascontiguousarray(a, dtype=np.float32)) for a in (normal, ways, recordings))
        x, y, z = (tensor.to(self.device) for tensor in tensors)
        return _Aims(x, hits, np.array(joints), y, z)

    def _aimed(self, aims: _Aims) -> torch.Tensor:
        """The error of what the network makes of targets."""
        with torch.autocast(self.device, dtype=torch.bfloat16):
            out = decode(self._kernel, feed_forward(self.parameters, aims.inputs))
        out = out.float() + self._offset[:, None]
        scale, mean = (torch.from_numpy(a).float().to(self.device)[:, None] for a in (self._scale, self._mean))
        frames = out * scale + mean
        places = frames[:, FRAME.joint_position].reshape(len(out), *_JOINTS, WINDOW)
        window = _window(aims.hits).to(self.device)
        parents = list(MODEL_SKELETON.parents[1:])
        lengths = (places[:, 1:] - places[:, parents]).norm(dim=2)
        low = places[:, _TOES, 2].amin(dim=1)
        off_floor = torch.relu(low - _FLOOR[1]) + torch.relu(_FLOOR[0] - low)
        apart = (out - aims.recordings) ** 2 * window[:, None]
        speeds = (out.diff(dim=2) - aims.recordings.diff(dim=2)) ** 2 * window[:, None, 1:]
        w = self._weights
        return (
            w.hit * way_error(frames, aims.hits, aims.joints, aims.ways)
            + w.bones * (((lengths - self._bones[:, None]) / _LENGTH) ** 2).mean()
            + w.floor * ((off_floor / _HEIGHT) ** 2).mean()
            + w.recording * (apart.mean() + self.settings.speed_weight * speeds.mean())
        )


def way_error(frames: torch.Tensor, hits: Array, joints: Array, ways: torch.Tensor) -> torch.Tensor:
    """Mean squared distance of hands and feet from their ways, in units of _NEAR: half of it that at the hit.

    frames: (N, FRAME.size, T) in physical units. hits: (N,) frames, joints: (N,) of the model skeleton. ways:
    (N, n, 3) places around the root before, for the n frames around the hit. As in the extension, the root goes and
    turns only around the strike.
    """
    device, half = frames.device, ways.shape[1] // 2
    window = _window(hits, frames.shape[2]).to(device)
    places = frames[:, FRAME.joint_position].reshape(len(frames), *_JOINTS, -1)
    turn = frames[:, FRAME.root_turn][:, 0] * window / FPS
    angle = torch.cumsum(turn, 1) - turn
    step = _turned(frames[:, FRAME.root_velocity] * window[:, None] / FPS, angle)
    root = torch.cumsum(step, 2) - step
    span = np.arange(-half, half + 1)
    rows = torch.arange(len(hits), device=device)[:, None]
    at, joint = (torch.from_numpy(a).to(device) for a in (hits[:, None] + span, joints[:, None]))
    hand = places[rows, joint, :, at].transpose(1, 2)
    ground = _turned(hand[:, :2], angle[rows, at]) + root[rows, :, at].transpose(1, 2)
    error = torch.cat((ground, hand[:, 2:]), dim=1).transpose(1, 2) - ways
    distance = (error**2).sum(-1) / _NEAR**2
    near = torch.from_numpy(np.exp(-0.5 * (span / (half / 2)) ** 2)).float().to(device)
    return 0.5 * (distance[:, half].mean() + (distance * near / near.sum()).sum(1).mean())


def _window(hits: Array, frames: int = WINDOW) -> torch.Tensor:
    """How much (N, frames), 0..1, of the strikes is told at each frame."""
    return torch.from_numpy(strike_window(np.arange(frames) - hits[:, None]))


def _turned(vectors: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """Ground-plane vectors (N, 2, T) turned by angles (N, T)."""
    cos, sin = torch.cos(angle), torch.sin(angle)
    x, y = vectors[:, 0], vectors[:, 1]
    return torch.stack((cos * x - sin * y, sin * x + cos * y), dim=1)
