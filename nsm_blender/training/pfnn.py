# SPDX-License-Identifier: GPL-3.0-or-later
"""Training the PFNN by phase blocks (PFNN 5.3): the weights are blended once per block, not per sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import UserError
from ..models.pfnn import CONTROL_POINTS, FPS, INPUT, JOINT_INPUT_SCALE, OUTPUT, forward, forward_each
from ..motion.rotations import Array
from .loop import Training, cosine
from .pfnn_data import DataSet, Features, balance
from .pose_offset import ASTRAY, PoseOffset
from .terrain.data import HEIGHTS_IN, HEIGHTS_OUT, GroundSet

BLOCKS = 16
"""Phase blocks in a batch."""
BLOCK_SIZE = 64
"""Samples in a phase block: their phases are nearly equal, so that they share one set of blended weights."""
SEQUENCES = 128
"""Sequences in a batch."""
_POSE_IN = slice(INPUT.joint_position.start, INPUT.joint_velocity.stop)
_POSE_OUT = slice(OUTPUT.joint_position.start, OUTPUT.joint_velocity.stop)
"""The pose that goes in, and the one that comes out and goes into the next frame."""
_BODY_OUT = slice(OUTPUT.joint_position.start, OUTPUT.joint_rotation.stop)
"""The same with the rotations of joints."""


@dataclass
class Settings:
    """Hyperparameters. The paper's are batch 32, 20 epochs, Adam at its default rate (5.3)."""

    hidden: int = 512
    epochs: int = 40
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-5
    keep: float = 0.7
    """Dropout's retention probability, for frames on their own: in sequences the network's own errors do the same."""
    l1: float = 0.01
    """Factor gamma of eq. 8 on the mean absolute weight."""
    noise: float = 0.0
    """Standard deviation of noise on the normalized joint inputs: the rollout's own errors, rehearsed."""
    lengths: list[int] = field(default_factory=lambda: [1])
    """Frames of sequences in which the network goes on from its own pose, over equal parts of the run; 1: each frame
    from the recorded one, as in the paper."""
    kept: float = 0.0
    """Share of the weights that were begun with in those that are written (Wortsman et al. 2022): networks that learned
    in sequences alone follow commands sooner, but lunge, and keep to the pose that they are in."""
    seed: int = 1


def sequence_starts(x: Array, y: Array, length: int) -> Array:
    """Frames (S,) from which on `length` frames follow each other in a clip, of features x (N, n) and y (N, m): the
    pose that comes out of each goes into the next."""
    follows = (x[1:, INPUT.joint_position] == y[:-1, OUTPUT.joint_position]).all(axis=1)
    count = np.concatenate(([0], np.cumsum(follows)))
    return np.flatnonzero(count[length - 1 :] - count[: max(len(count) - length + 1, 0)] == length - 1)


def phase_blocks(phase: Array, weights: Array, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """One epoch of batches: (samples (BLOCKS, BLOCK_SIZE), phases (BLOCKS,)).

    Each sample comes `weights` times on average. Samples are sorted by phase with a little jitter, so
    that blocks are narrow (the weights are exact to about 0.02 rad) and differ from epoch to epoch.
    """
    copies = np.floor(weights + rng.random(len(weights))).astype(int)
    index = np.repeat(np.arange(len(phase)), copies)
    order = index[np.argsort((phase[index] + rng.normal(0, 0.02, len(index))) % (2 * np.pi), kind="stable")]
    blocks = order[: len(order) // BLOCK_SIZE * BLOCK_SIZE].reshape(-1, BLOCK_SIZE)
    angles = np.exp(1j * phase[blocks]).mean(1)
    centers = np.angle(angles) % (2 * np.pi)
    shuffled = rng.permutation(len(blocks))
    for start in range(0, len(shuffled) - BLOCKS + 1, BLOCKS):
        chosen = shuffled[start : start + BLOCKS]
        yield blocks[chosen], centers[chosen]


def faded(off: PoseOffset, frame: int) -> Array:
    """What is left (S, 9 J) of offsets of the poses that went into the first frame, in positions, velocities and
    rotations as they come out of the frame with this index: its rotations are those of the pose that went in."""
    out = off.after((frame + 1) / FPS)
    return np.concatenate((out.place, out.rate, off.after(frame / FPS).turn), axis=1)


class Trainer(Training):
    """A training run of the PFNN, see `loop.Training`."""

    def __init__(
        self,
        data: DataSet,
        settings: Settings,
        folder: Path,
        device: str = "cpu",
        resume: bool = False,
        earlier: Mapping[str, Array] | None = None,
    ) -> None:
        """earlier: tensors of the weights file to go on from, which `data` are normalized for.

        Raises UserError when the data are too few for a single batch, see also `loop.Training`."""
        if len(data.train.phase) < BLOCKS * BLOCK_SIZE or len(data.held_out.phase) < BLOCK_SIZE:
            raise UserError(
                f"The clips are too short to train on: they give {len(data.train.phase):,} frames and "
                f"{len(data.held_out.phase):,} that are held out, where {BLOCKS * BLOCK_SIZE:,} and {BLOCK_SIZE} are "
                "the least; add clips of 40 seconds or more."
            )
        self.data, self.settings, self.l1 = data, settings, settings.l1
        self._x = torch.from_numpy((data.train.x - data.x_mean) / data.x_scale).float().to(device)
        self._y = torch.from_numpy((data.train.y - data.y_mean) / data.y_scale).float().to(device)
        self._shares = balance(data.train.kind)
        initial = _initial(settings, data.train.x.shape[1])
        if earlier is not None:
            _begin_with(initial, earlier)
        self._begun = {name: value.numpy().copy() for name, value in initial.items()}
        base = self._base
        self._starts = {n: sequence_starts(base.x, base.y, n) for n in set(settings.lengths) if n > 1}
        if not all(len(starts) for starts in self._starts.values()):
            raise UserError(f"No clip has {max(settings.lengths)} frames to train on; give shorter sequences.")
        super().__init__(folder, initial, asdict(settings), settings.seed, device, resume)

    @property
    def epochs(self) -> int:
        """Number of epochs of the whole run."""
        return self.settings.epochs

    @property
    def length(self) -> int:
        """Frames of the sequences of the present epoch."""
        lengths = self.settings.lengths
        return lengths[min(self.epoch * len(lengths) // self.settings.epochs, len(lengths) - 1)]

    @property
    def _base(self) -> Features:
        """The features as they were recorded."""
        return self.data.train

    def new_optimizer(self) -> torch.optim.Optimizer:
        """Adam (5.3)."""
        return torch.optim.Adam(self.parameters.values(), self.settings.learning_rate)

    def learning_rate(self, progress: float) -> float:
        """Half a cosine over the run."""
        s = self.settings
        return cosine(s.learning_rate, s.final_learning_rate, progress / s.epochs)

    def batches(self) -> Sequence[tuple[Array, Array]]:
        """Phase blocks, see `phase_blocks`; or the first frames (SEQUENCES,) of sequences and their phases."""
        phase, length = self.data.train.phase, self.length
        if length == 1:
            return list(phase_blocks(phase, self._shares, self.rng))
        starts = self._starts[length]
        share = self._shares[starts] / self._shares[starts].sum()
        count = max(len(starts) // (length * SEQUENCES), 1)
        return [(first, phase[first]) for first in self.rng.choice(starts, (count, SEQUENCES), p=share)]

    def loss(self, batch: tuple[Array, Array]) -> torch.Tensor:
        """Mean squared error of a batch of phase blocks, with dropout (5.3), or of sequences."""
        if self.length > 1:
            return self._rolled_out(batch[0])
        s = self.settings
        index = torch.from_numpy(batch[0]).to(self.device)
        x, y = self._x[index], self._y[index]
        if s.noise > 0:
            joints = slice(INPUT.joint_position.start, INPUT.joint_velocity.stop)
            x[..., joints] += s.noise * JOINT_INPUT_SCALE * torch.randn_like(x[..., joints])
        phase = torch.from_numpy(batch[1].astype(np.float32)).to(self.device)
        with torch.autocast(self.device, dtype=torch.bfloat16):
            out = forward(self.parameters, x, phase, lambda h: torch.nn.functional.dropout(h, 1 - s.keep))
        return ((out.float() - y) ** 2).mean()

    def _rolled_out(self, first: Array) -> torch.Tensor:
        """Mean squared error of sequences that begin at `first` (S,): each frame goes on from the pose before."""
        total = torch.zeros((), device=self.device)
        off = self.astray(first)
        pose = self._x[torch.from_numpy(first).to(self.device), _POSE_IN] + self._scaled(
            np.concatenate((off.place, off.rate), axis=1), self.data.x_scale[_POSE_IN]
        )
        for frame in range(self.length):
            index = torch.from_numpy(first + frame).to(self.device)
            x = self._x[index]
            x = torch.cat((x[:, : _POSE_IN.start], pose, x[:, _POSE_IN.stop :]), dim=1)
            phase = torch.from_numpy(self.data.train.phase[first + frame]).float().to(self.device)
            out = forward_each(self.parameters, x, phase)
            y = self._y[index]
            y[:, _BODY_OUT] += self._scaled(faded(off, frame), self.data.y_scale[_BODY_OUT])
            total = total + ((out - y) ** 2).mean()
            pose = self._going_in(out[:, _POSE_OUT], first + frame)
        return total / self.length

    def astray(self, first: Array) -> PoseOffset:
        """Offsets of the poses at `first` (S,) to those of other sequences at about the same phase, in whatever gait;
        zero for all but a share `ASTRAY`."""
        base, order = self._base, np.argsort(self.data.train.phase[first])
        other = np.empty_like(first)
        other[order] = np.roll(first[order], 1)
        before, after, turn = base.x[:, INPUT.joint_position], base.y[:, OUTPUT.joint_position], OUTPUT.joint_rotation
        off = PoseOffset(
            before[other] - before[first],
            ((after[other] - before[other]) - (after[first] - before[first])) * FPS,
            base.y[other, turn] - base.y[first, turn],
            ((base.y[other + 1, turn] - base.y[other, turn]) - (base.y[first + 1, turn] - base.y[first, turn])) * FPS,
        )
        some = (self.rng.random(len(first)) < ASTRAY)[:, None]
        return PoseOffset(off.place * some, off.rate * some, off.turn * some, off.turn_rate * some)

    def _scaled(self, values: Array, scale: Array) -> torch.Tensor:
        return torch.from_numpy(values / scale).float().to(self.device)

    def _going_in(self, pose: torch.Tensor, frames: Array) -> torch.Tensor:
        """Poses (S, p) that came out at `frames` (S,) as they go into the next."""
        d = self.data
        scale = torch.from_numpy(d.y_scale[_POSE_OUT] / d.x_scale[_POSE_IN]).float().to(self.device)
        shift = torch.from_numpy((d.y_mean[_POSE_OUT] - d.x_mean[_POSE_IN]) / d.x_scale[_POSE_IN]).float()
        return pose * scale + shift.to(self.device)

    def figures(self) -> dict[str, float]:
        """The error on held-out frames."""
        return {"held_out": self.held_out_loss()}

    @torch.no_grad()
    def held_out_loss(self) -> float:
        """Mean squared error on the held-out frames, normalized, without dropout."""
        data: Features = self.data.held_out
        order = np.argsort(data.phase)[: len(data.phase) // BLOCK_SIZE * BLOCK_SIZE].reshape(-1, BLOCK_SIZE)
        x = torch.from_numpy((data.x[order] - self.data.x_mean) / self.data.x_scale).float().to(self.device)
        y = torch.from_numpy((data.y[order] - self.data.y_mean) / self.data.y_scale).float().to(self.device)
        phase = torch.from_numpy(data.phase[order].mean(1)).float().to(self.device)
        parts = [slice(i, i + BLOCKS) for i in range(0, len(x), BLOCKS)]
        errors = [((forward(self.parameters, x[part], phase[part]) - y[part]) ** 2).mean() for part in parts]
        return float(torch.stack(errors).mean())

    def export(self) -> dict[str, Array]:
        """All tensors of the weights file, float32."""
        kept = self.settings.kept
        own = {name: value.detach().cpu().numpy() for name, value in self.parameters.items()}
        out = {name: (1 - kept) * value + kept * self._begun[name] for name, value in own.items()}
        d = self.data
        # Features that never vary (terrain on flat ground) teach nothing; their weights are only noise.
        out["w0"][:, :, d.train.x.std(0) == 0] = 0
        out |= {
            "x_mean": d.x_mean,
            "x_scale": d.x_scale,
            "y_mean": d.y_mean,
            "y_scale": d.y_scale,
            "rotation_reference": d.rotation_reference,
        }
        return out


class GroundTrainer(Trainer):
    """A run on any ground: each epoch sees every frame on another of the grounds that fit it (4.2)."""

    def __init__(
        self,
        data: GroundSet,
        settings: Settings,
        folder: Path,
        device: str = "cpu",
        resume: bool = False,
        earlier: Mapping[str, Array] | None = None,
    ) -> None:
        """As `Trainer`."""
        self.grounds = data.grounds
        self._datum = np.zeros(len(data.grounds.base.x), dtype=np.float32)
        super().__init__(data.data, settings, folder, device, resume, earlier)

    @property
    def _base(self) -> Features:
        return self.grounds.base

    def begin_epoch(self) -> None:
        """Draw the grounds."""
        d, base = self.data, self.grounds.base
        number = self.rng.integers(0, self.grounds.heights.shape[1], len(base.x))
        heights, datum = self.grounds.chosen(number)
        self._datum = datum

        def normalized(values: Array, features: Any, mean: Array, scale: Array) -> torch.Tensor:
            return torch.from_numpy((values - mean[features]) / scale[features]).float().to(self.device)

        above = base.x[:, HEIGHTS_IN] - datum[:, None], base.y[:, HEIGHTS_OUT] - datum[:, None]
        self._x[:, INPUT.terrain_height] = normalized(heights, INPUT.terrain_height, d.x_mean, d.x_scale)
        self._x[:, HEIGHTS_IN] = normalized(above[0], HEIGHTS_IN, d.x_mean, d.x_scale)
        self._y[:, HEIGHTS_OUT] = normalized(above[1], HEIGHTS_OUT, d.y_mean, d.y_scale)

    def _going_in(self, pose: torch.Tensor, frames: Array) -> torch.Tensor:
        """As of a `Trainer`, above the root's height on the next frame's ground."""
        pose = super()._going_in(pose, frames)
        rise = (self._datum[frames] - self._datum[frames + 1])[:, None] / self.data.x_scale[HEIGHTS_IN]
        out = pose.clone()
        out[:, HEIGHTS_IN - _POSE_IN.start] += torch.from_numpy(rise).float().to(self.device)
        return out


def _initial(settings: Settings, inputs: int) -> dict[str, torch.Tensor]:
    """Random control points by fan-in and fan-out, named as in `models.pfnn.SHAPES`."""
    generator = torch.Generator().manual_seed(settings.seed)
    sizes = (inputs, settings.hidden, settings.hidden, OUTPUT.size)
    out = {}
    for layer, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        bound = (6.0 / (fan_in + fan_out)) ** 0.5
        out[f"w{layer}"] = (torch.rand(CONTROL_POINTS, fan_out, fan_in, generator=generator) * 2 - 1) * bound
        out[f"b{layer}"] = torch.zeros(CONTROL_POINTS, fan_out)
    return out


def _begin_with(initial: dict[str, torch.Tensor], earlier: Mapping[str, Array]) -> None:
    """Put earlier weights in the place of random ones; they know nothing of inputs that came after them.

    Raises UserError when they are of other sizes.
    """
    for name, value in initial.items():
        known = torch.from_numpy(earlier[name])
        if name == "w0":
            value.zero_()
            value = value[:, :, : known.shape[2]]
        if value.shape != known.shape:
            raise UserError(
                f"The weights to go on from have '{name}' of shape {list(known.shape)}, not {list(value.shape)}; give "
                "those of a network with as many hidden units."
            )
        value.copy_(known)
