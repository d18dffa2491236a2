# SPDX-License-Identifier: GPL-3.0-or-later
"""Training the NSM end to end (3.3): AdamW with warm restarts, mean squared error on normalized features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import UserError
from ..models.nsm import (
    CONTACTS,
    ENCODERS,
    FRAME,
    GATING_SIZES,
    INTERACTION,
    LAYERS,
    OUTPUT,
    Gating,
    forward,
)
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from .loop import Training, cosine
from .nsm_batches import INTERACTION_USED, Batches, sequence_starts, statistics
from .nsm_data import KINDS, Packed
from .nsm_sequences import Sequences

PIECES = {
    "root_velocity": 6.0,
    "root_turn": 6.0,
    "phase_change": 6.0,
    "contact": 2.0,
    "trajectory_position": 2.0,
    "trajectory_direction": 2.0,
    "goal_position": 0.1,
    "goal_direction": 0.1,
    "goal_action": 0.1,
}
"""Weights of pieces of the output in the loss, 1 for others: what steers the rollout is a hundredth of the numbers, and
the next goal is not read, as goals come from the scene."""


@dataclass(frozen=True)
class Emphasis:
    """How much more some errors count in the loss than PIECES says, by frame."""

    near: float = 0.5
    """Meters from the goal within which errors of what is predicted in its frame count more, by the inverse square."""
    nearest: float = 0.09
    """Meters from the goal within which they count no more than there, so that it pays to learn centimeters."""
    standoff: Mapping[str, float] = field(default_factory=lambda: {"carry": 0.4, "open": 0.4})
    """Meters from the goal of the root that has come to it, by kind of episode: there the goal is in the hands."""
    touching: float = 5.0
    """Factor, less 1, on the place and the rotation of a joint that touches something."""


_EMPHASIS = Emphasis()
_CONTACT_JOINTS = MODEL_SKELETON.indices(CONTACTS)
_LEAST_RATE = 1e-3
"""Share of the learning rate that is left at the end of a cycle."""


@dataclass
class Settings:
    """Hyperparameters. The paper's are h = 512, K = 8 or 10, encoders 512, 128, 256, 512, batch 32, rate 1e-4, weight
    decay 2.5e-3, 70 epochs with restarts at 11 and 31 (3.3, 6)."""

    experts: int = 8
    hidden: int = 256
    gating_hidden: int = 128
    encoders: dict[str, int] = field(
        default_factory=lambda: {"frame": 256, "goal": 64, "interaction": 128, "environment": 256}
    )
    gating: Gating = "kronecker"
    without: list[str] = field(default_factory=list)
    """Encoders whose input is left at zero: the ablations of Table 3."""
    batch: int = 1024
    """Frames in a step, in sequences of `lengths`."""
    half: bool = True
    """Whether matrix products use bfloat16, twice as fast on processors that support it."""
    learning_rate: float = 1e-3
    weight_decay: float = 2.5e-3
    first_cycle: int = 3
    """Epochs before the first warm restart; each cycle is twice as long as the one before."""
    epochs: int = 21
    dropout: float = 0.0
    noise: float = 0.1
    """Standard deviation of noise on the normalized pose, in place of the rollout's own errors."""
    lengths: list[int] = field(default_factory=lambda: [1, 8, 16, 32])
    """Frames of the sequences in which the network meets its own errors, over equal parts of the run: they grow, as
    what a new network makes of 32 frames teaches nothing."""
    gradient: int = 8
    """Frames after which gradients are cut: what was fed back longer ago counts as given."""
    seed: int = 1


class Trainer(Training):
    """A training run of the NSM, see `loop.Training`.

    It begins with random parameters, or with the `tensors` of a weights file, whose statistics are kept, as the
    network's numbers mean what they meant; a gating that reads something else begins anew. Raises UserError when the
    tensors are those of a network of other sizes.
    """

    largest_gradient = 1.0

    def __init__(
        self,
        data: Packed,
        settings: Settings,
        folder: Path,
        held_out: Packed | None = None,
        device: str = "cpu",
        resume: bool = False,
        tensors: Mapping[str, Array] | None = None,
    ) -> None:
        self.data, self.held_out, self.settings = data, held_out, settings
        self.scaling = statistics(data, settings.gating)
        initial = _initial(settings)
        if tensors is not None:
            known = _known(tensors, settings.gating)
            self.scaling |= _scaling_of(known)
            _begin_with(initial, known)
        self._weights = _output_weights().to(device)
        self._standoff = torch.tensor([_EMPHASIS.standoff.get(kind, 0.0) for kind in KINDS], device=device)
        self._starts = {length: sequence_starts(data, length) for length in set(settings.lengths)}
        # Data that was added since does not change what the network's numbers mean: a resumed run keeps the scaling.
        parts = (("mean", 0), ("scale", 1))
        kept = {f"{name}_{part}": pair[i] for name, pair in self.scaling.items() for part, i in parts}
        super().__init__(folder, initial, asdict(settings), settings.seed, device, resume, kept)
        self._batches = Batches(data, self.scaling, settings.gating, device)

    @property
    def epochs(self) -> int:
        """Number of epochs of the whole run."""
        return self.settings.epochs

    def new_optimizer(self) -> torch.optim.Optimizer:
        """AdamW, which lets the weights decay and not the biases."""
        biases = [p for name, p in self.parameters.items() if "_b" in name or name.startswith("b")]
        weights = [p for name, p in self.parameters.items() if not ("_b" in name or name.startswith("b"))]
        groups: list[dict[str, Any]] = [{"params": weights}, {"params": biases, "weight_decay": 0.0}]
        s = self.settings
        return torch.optim.AdamW(groups, s.learning_rate, weight_decay=s.weight_decay, fused=True)

    def learning_rate(self, progress: float) -> float:
        """Half a cosine over each cycle, and a restart; each cycle is twice as long as the one before (3.3)."""
        length = float(self.settings.first_cycle)
        while progress >= length:
            progress -= length
            length *= 2
        rate = self.settings.learning_rate
        return cosine(rate, 0.0, progress / length) + _LEAST_RATE * rate

    def batches(self) -> Sequence[Array]:
        """First rows of the sequences of each batch."""
        length = self._length
        order = self._order(length)
        size = max(self.settings.batch // length, 1)
        return [np.sort(order[i * size : (i + 1) * size]) for i in range(len(order) // size)]

    def loss(self, batch: Array) -> torch.Tensor:
        """Weighted squared error of the sequences from the rows `batch` on."""
        return self._unrolled(batch, self._length)

    def figures(self) -> dict[str, float]:
        """The error on the held-out data, where there are any."""
        return {} if self.held_out is None else {"held_out": self.measured(self.held_out)}

    @property
    def _length(self) -> int:
        """Frames of the sequences of the current epoch."""
        lengths = self.settings.lengths
        return lengths[min(self.epoch * len(lengths) // self.settings.epochs, len(lengths) - 1)]

    def _order(self, length: int) -> Array:
        """First rows of the sequences of one epoch: so many that each frame counts once, rarer kinds more often."""
        starts = self._starts[length]
        kind = self.data.kind[starts]
        counts = np.bincount(self.data.kind, minlength=len(KINDS)).astype(float)
        weight = np.sqrt(counts.max() / np.maximum(counts, 1))[kind]
        return self.rng.choice(starts, len(self.data) // length, p=weight / weight.sum())

    def measured(self, data: Packed, most: int = 20000) -> float:
        """Mean squared error on normalized outputs, one frame at a time, without noise."""
        rows = np.linspace(0, len(data) - 1, min(most, len(data))).astype(int)
        batches = Batches(data, self.scaling, self.settings.gating, self.device)
        total = 0.0
        with torch.no_grad():
            for part in np.array_split(rows, max(len(rows) // 2048, 1)):
                raw, phase, target = batches.raw(part)
                inputs, gating = batches.normalized(raw, phase, self.settings.without, half=False)
                error = forward(self.parameters, inputs, gating) - batches.normal("output", target)
                total += float((error**2).mean()) * len(part)
        return total / len(rows)

    def _unrolled(self, rows: Array, length: int) -> torch.Tensor:
        """Weighted squared error over `length` frames from `rows` on, in closed loop: each but the first is predicted
        from what was predicted before."""
        settings, batches = self.settings, self._batches
        parameters = self._cast()
        sequences = Sequences(batches, rows, self.noise, self._pose_noise(len(rows)))
        total = torch.zeros((), device=self.device)
        for step in range(length):
            raw, phase = sequences.inputs()
            inputs, gating = batches.normalized(raw, phase, settings.without, settings.half)
            predicted = forward(parameters, inputs, gating).float()
            target = sequences.advance(batches.natural("output", predicted), (step + 1) % settings.gradient != 0)
            error = (predicted - batches.normal("output", target)) ** 2
            total = total + (error * self._weights * self._importance(rows + step, target)).mean()
        return total / length

    def _importance(self, rows: Array, target: torch.Tensor) -> torch.Tensor:
        """Weight (N, OUTPUT.size) of the errors of outputs in natural units (N, OUTPUT.size): by how near the goal is,
        and by what touches something."""
        out = torch.ones_like(target)
        shape = OUTPUT.shape("goal_trajectory_position")
        standoff = self._standoff[torch.from_numpy(self.data.kind[rows].astype(np.int64)).to(self.device)]
        away = target[:, OUTPUT.goal_trajectory_position].reshape(-1, *shape).norm(dim=2, keepdim=True)
        weight = (_EMPHASIS.near / (away - standoff[:, None, None]).clamp(_EMPHASIS.nearest, _EMPHASIS.near)) ** 2
        for name in ("goal_trajectory_position", "goal_trajectory_direction"):
            out[:, getattr(OUTPUT, name)] = weight.expand(-1, *shape).flatten(1)
        touch = 1 + _EMPHASIS.touching * target[:, OUTPUT.contact].clamp(0, 1)
        for name in ("joint_position", "joint_rotation"):
            part = out[:, getattr(OUTPUT, name)].reshape(-1, *OUTPUT.shape(name)).flatten(2)
            part[:, _CONTACT_JOINTS] = touch[:, :, None].expand(-1, -1, part.shape[2])
            out[:, getattr(OUTPUT, name)] = part.flatten(1)
        return out

    def _cast(self) -> dict[str, torch.Tensor]:
        """The parameters as the products read them. The gating is small, and its gates want to be exact."""
        if not self.settings.half:
            return self.parameters
        return {name: p if name.startswith("gating") else p.to(torch.bfloat16) for name, p in self.parameters.items()}

    def _pose_noise(self, count: int) -> torch.Tensor:
        """Noise (count, FRAME.size) on the poses with which sequences begin."""
        out = torch.zeros(count, FRAME.size, device=self.device)
        for name in ("joint_position", "joint_rotation", "joint_velocity"):
            part = getattr(FRAME, name)
            drawn = torch.randn(count, part.stop - part.start, generator=self.noise).to(self.device)
            out[:, part] = drawn * self._batches.scale("frame")[part] * self.settings.noise
        return out

    def export(self) -> dict[str, Array]:
        """Tensors of a weights file, see `models.nsm.shapes`."""
        out = {name: p.detach().cpu().numpy().astype(np.float32) for name, p in self.parameters.items()}
        for name in self.settings.without:
            out[f"{name}_w0"] = np.zeros_like(out[f"{name}_w0"])
        for name, (mean, scale) in self.scaling.items():
            out[f"{name}_mean"], out[f"{name}_scale"] = mean, scale
        used = INTERACTION_USED
        weights = np.zeros((len(out["interaction_w0"]), INTERACTION.size), dtype=np.float32)
        weights[:, used] = out["interaction_w0"]
        mean, scale = np.zeros(INTERACTION.size, np.float32), np.ones(INTERACTION.size, np.float32)
        mean[used], scale[used] = out["interaction_mean"], out["interaction_scale"]
        out |= {"interaction_w0": weights, "interaction_mean": mean, "interaction_scale": scale}
        return out


def _output_weights() -> torch.Tensor:
    """Weight (OUTPUT.size,) of each number of the output, one in the mean."""
    out = torch.ones(OUTPUT.size)
    for name, weight in PIECES.items():
        out[getattr(OUTPUT, name)] = weight
    return out / out.mean()


def _known(tensors: Mapping[str, Array], gating: Gating) -> dict[str, Array]:
    """What a training can go on from of a weights file: all, but for a gating that reads something else."""
    same = tensors["gating_w0"].shape[1] == GATING_SIZES[gating]
    return {name: value for name, value in tensors.items() if same or not name.startswith("gating")}


def _scaling_of(tensors: Mapping[str, Array]) -> dict[str, tuple[Array, Array]]:
    """Mean and scale, in a weights file, of what training reads and predicts."""
    out = {}
    for name in (*ENCODERS, "gating", "output"):
        if f"{name}_mean" in tensors:
            out[name] = (tensors[f"{name}_mean"], tensors[f"{name}_scale"])
    mean, scale = out["interaction"]
    return out | {"interaction": (mean[INTERACTION_USED], scale[INTERACTION_USED])}


def _begin_with(parameters: dict[str, torch.Tensor], tensors: Mapping[str, Array]) -> None:
    """Put those of a weights file in the place of random ones. Raises UserError when they are of other sizes."""
    for name in parameters.keys() & tensors.keys():
        value = tensors[name][:, INTERACTION_USED] if name == "interaction_w0" else tensors[name]
        if value.shape != tuple(parameters[name].shape):
            raise UserError(
                f"The weights to begin with are of another size: {name} is {value.shape}, not "
                f"{tuple(parameters[name].shape)}; give the same --hidden and --encoders as when they were trained."
            )
        parameters[name].copy_(torch.from_numpy(np.array(value, dtype=np.float32)))


def _initial(settings: Settings) -> dict[str, torch.Tensor]:
    """Random parameters by the names of `models.nsm.shapes`."""
    generator = torch.Generator().manual_seed(settings.seed)

    def uniform(*shape: int) -> torch.Tensor:
        bound = math.sqrt(6.0 / (shape[-1] + shape[-2]))
        return (torch.rand(*shape, generator=generator) * 2 - 1) * bound

    out: dict[str, torch.Tensor] = {}
    sizes = {name: layout.size for name, layout in ENCODERS.items()} | {"interaction": len(INTERACTION_USED)}
    for name, size in sizes.items():
        own = settings.encoders[name]
        for layer in range(LAYERS):
            out[f"{name}_w{layer}"] = uniform(own, size if layer == 0 else own)
            out[f"{name}_b{layer}"] = torch.zeros(own)
    own = settings.gating_hidden
    widths = (GATING_SIZES[settings.gating], own, own, settings.experts)
    for layer in range(LAYERS):
        out[f"gating_w{layer}"] = uniform(widths[layer + 1], widths[layer])
        out[f"gating_b{layer}"] = torch.zeros(widths[layer + 1])
    h, k = settings.hidden, settings.experts
    widths = (sum(settings.encoders.values()), h, h, OUTPUT.size)
    for layer in range(LAYERS):
        out[f"w{layer}"] = uniform(k, widths[layer + 1], widths[layer])
        out[f"b{layer}"] = torch.zeros(k, widths[layer + 1])
    return out
