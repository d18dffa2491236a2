# SPDX-License-Identifier: GPL-3.0-or-later
"""Training the NSM end to end (3.3): AdamW with warm restarts, mean squared error on normalised features."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..control.nsm_features import CORNERS
from ..models.layout import Layout
from ..models.nsm import (
    CELLS,
    CURRENT,
    ENCODERS,
    ENVIRONMENT,
    FRAME,
    GATING_SIZES,
    GOAL,
    INTERACTION,
    LAYERS,
    OCCUPANCY,
    OUTPUT,
    TO_ROOT,
    Gating,
    forward,
    gating_input,
)
from ..motion.rotations import Array
from .nsm_data import KINDS, OCCUPANCY_STEPS, Packed

_CORNER_CELLS = np.array([0, (CELLS - 1) * CELLS * CELLS, (CELLS - 1) * CELLS, CELLS - 1])
"""Cells whose vectors are those of `nsm_features.corner_vectors`."""
_INTERACTION_USED = np.concatenate(
    (
        np.arange(CELLS**3) * INTERACTION.shape("cell")[1] + OCCUPANCY,
        (_CORNER_CELLS[:, None] * INTERACTION.shape("cell")[1] + np.arange(3)[TO_ROOT]).ravel(),
    )
)
"""The numbers of the interaction input that training reads: all occupancies, and the vectors from which those of all
cells follow, so that what is learned is as general as with all 2048 at a quarter of the cost."""
_STATISTICS = 20000
_LARGEST_GRADIENT = 1.0


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
    batch: int = 2048
    """Frames in a step, in sequences of `unroll`."""
    half: bool = True
    """bfloat16 for the products: twice as fast where the processor has it."""
    learning_rate: float = 1e-3
    weight_decay: float = 2.5e-3
    first_cycle: int = 10
    """Epochs before the first warm restart; each cycle is twice as long as the one before."""
    epochs: int = 30
    dropout: float = 0.0
    noise: float = 0.1
    """Standard deviation of noise on the normalised pose, in place of the rollout's own errors."""
    unroll: int = 8
    """Frames that are predicted one from the other, so that the network meets its own errors; 1 is teacher forcing."""
    warm_up: int = 2
    """Epochs of teacher forcing before."""
    seed: int = 1


class Trainer:
    """A resumable training run: `run()` trains to the end, writing a checkpoint after each epoch."""

    def __init__(
        self,
        data: Packed,
        settings: Settings,
        folder: Path,
        held_out: Packed | None = None,
        device: str = "cpu",
        resume: bool = False,
    ) -> None:
        torch.manual_seed(settings.seed)
        self.data, self.held_out, self.settings, self.folder, self.device = data, held_out, settings, folder, device
        folder.mkdir(parents=True, exist_ok=True)
        self._rng = np.random.default_rng(settings.seed)
        self.scaling = statistics(data, settings.gating)
        self._scaling = {
            name: (torch.from_numpy(mean).to(device), torch.from_numpy(scale).to(device))
            for name, (mean, scale) in self.scaling.items()
        }
        self.parameters = {name: p.to(device).requires_grad_(True) for name, p in _initial(settings).items()}
        biases = [p for name, p in self.parameters.items() if "_b" in name or name.startswith("b")]
        weights = [p for name, p in self.parameters.items() if not ("_b" in name or name.startswith("b"))]
        groups: list[dict[str, Any]] = [{"params": weights}, {"params": biases, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, settings.learning_rate, weight_decay=settings.weight_decay)
        self._starts = sequence_starts(data, settings.unroll)
        self.epoch = 0
        self.history: list[dict[str, float]] = []
        if resume and self._checkpoint.exists():
            self._load()

    @property
    def _checkpoint(self) -> Path:
        return self.folder / "checkpoint.pt"

    def run(
        self,
        log: Callable[[str], None] = print,
        after_epoch: Callable[[Trainer], dict[str, float]] | None = None,
    ) -> dict[str, Array]:
        """Train the remaining epochs; returns the tensors of a weights file."""
        while self.epoch < self.settings.epochs:
            started = time.perf_counter()
            row = {"epoch": float(self.epoch + 1), "loss": self._epoch()}
            self.epoch += 1
            if self.held_out is not None:
                row["held_out"] = self.loss(self.held_out)
            if after_epoch is not None:
                row |= after_epoch(self)
            row["seconds"] = time.perf_counter() - started
            self.history.append(row)
            log("  ".join(f"{k} {v:.4g}" for k, v in row.items()))
            self._save()
        return self.export()

    def _epoch(self) -> float:
        unroll = self.settings.unroll if self.epoch >= self.settings.warm_up else 1
        order = self._order(unroll)
        batch = max(self.settings.batch // unroll, 1)
        steps = len(order) // batch
        total = 0.0
        for step in range(steps):
            for group in self.optimizer.param_groups:
                group["lr"] = self.settings.learning_rate * self._rate(self.epoch + step / steps)
            rows = np.sort(order[step * batch : (step + 1) * batch])
            loss = self._unrolled(rows, unroll)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.parameters.values(), _LARGEST_GRADIENT)
            self.optimizer.step()
            total += float(loss.detach())
        return total / max(steps, 1)

    def _order(self, unroll: int) -> Array:
        """First rows of the sequences of one epoch: so many that each frame counts once, rarer kinds more often."""
        starts = self._starts if unroll > 1 else np.arange(len(self.data))
        kind = self.data.kind[starts]
        counts = np.bincount(self.data.kind, minlength=len(KINDS)).astype(float)
        weight = np.sqrt(counts.max() / np.maximum(counts, 1))[kind]
        return self._rng.choice(starts, len(self.data) // unroll, p=weight / weight.sum())

    def _rate(self, epoch: float) -> float:
        """Share of the learning rate: half a cosine over each cycle, and a restart."""
        length = float(self.settings.first_cycle)
        while epoch >= length:
            epoch -= length
            length *= 2
        return 0.5 * (1 + math.cos(math.pi * epoch / length)) + 1e-3

    def loss(self, data: Packed, most: int = 20000) -> float:
        """Mean squared error on normalised outputs, without noise."""
        rows = np.linspace(0, len(data) - 1, min(most, len(data))).astype(int)
        with torch.no_grad():
            parts = [
                float(self._loss(*self._batch(data, rows[i : i + 2048]))) * len(rows[i : i + 2048])
                for i in range(0, len(rows), 2048)
            ]
        return sum(parts) / len(rows)

    def _unrolled(self, rows: Array, unroll: int) -> torch.Tensor:
        """Mean squared error over `unroll` frames from `rows` on, each but the first with the pose and the future
        trajectory that were predicted for it."""
        total = torch.zeros((), device=self.device)
        predicted: torch.Tensor | None = None
        for step in range(unroll):
            raw, phase, target = self._raw(self.data, rows + step)
            if predicted is not None:
                raw["frame"] = fed_back(raw["frame"], self._natural("output", predicted))
            inputs, gating = self._normalised(raw, phase)
            if step == 0 and self.settings.noise:
                noise = torch.randn_like(inputs["frame"]) * self.settings.noise
                inputs["frame"] = inputs["frame"] + noise * self._noisy
            # Half precision only pays for large products; what is added up and fed back stays in full.
            with torch.autocast(self.device.partition(":")[0], torch.bfloat16, enabled=self.settings.half):
                predicted = forward(self.parameters, inputs, gating)
            predicted = predicted.float()
            total = total + torch.mean((predicted - target) ** 2)
        return total / unroll

    def _loss(self, inputs: dict[str, torch.Tensor], gating: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return torch.mean((forward(self.parameters, inputs, gating) - target) ** 2)

    @property
    def _noisy(self) -> torch.Tensor:
        out = torch.zeros(FRAME.size, device=self.device)
        for name in ("joint_position", "joint_rotation", "joint_velocity"):
            out[getattr(FRAME, name)] = 1
        return out

    def _batch(self, data: Packed, rows: Array) -> tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor]:
        raw, phase, target = self._raw(data, rows)
        return *self._normalised(raw, phase), target

    def _raw(self, data: Packed, rows: Array) -> tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor]:
        """Inputs in natural units, phase, and normalised outputs."""

        def tensor(values: Array) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(values[rows])).to(self.device).float()

        raw = {
            "frame": tensor(data.frame),
            "goal": tensor(data.goal),
            "interaction": torch.cat((tensor(data.occupied) / OCCUPANCY_STEPS, tensor(data.corners)), dim=1),
            "environment": tensor(data.around) / OCCUPANCY_STEPS,
        }
        return raw, tensor(data.phase), self._normal("output", tensor(data.output))

    def _normalised(
        self, raw: dict[str, torch.Tensor], phase: torch.Tensor
    ) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        gating = gating_input(raw["frame"], raw["goal"], phase, self.settings.gating)
        inputs = {name: self._normal(name, value) for name, value in raw.items()}
        for name in self.settings.without:
            inputs[name] = torch.zeros_like(inputs[name])
        return inputs, self._normal("gating", gating)

    def _natural(self, name: str, value: torch.Tensor) -> torch.Tensor:
        mean, scale = self._scaling[name]
        return value * scale + mean

    def _normal(self, name: str, value: torch.Tensor) -> torch.Tensor:
        mean, scale = self._scaling[name]
        return (value - mean) / scale

    def export(self) -> dict[str, Array]:
        """Tensors of a weights file, see `models.nsm.shapes`."""
        out = {name: p.detach().cpu().numpy().astype(np.float32) for name, p in self.parameters.items()}
        for name in self.settings.without:
            out[f"{name}_w0"] = np.zeros_like(out[f"{name}_w0"])
        for name, (mean, scale) in self.scaling.items():
            out[f"{name}_mean"], out[f"{name}_scale"] = mean, scale
        used = _INTERACTION_USED
        weights = np.zeros((len(out["interaction_w0"]), INTERACTION.size), dtype=np.float32)
        weights[:, used] = out["interaction_w0"]
        mean, scale = np.zeros(INTERACTION.size, np.float32), np.ones(INTERACTION.size, np.float32)
        mean[used], scale[used] = out["interaction_mean"], out["interaction_scale"]
        out |= {"interaction_w0": weights, "interaction_mean": mean, "interaction_scale": scale}
        return out

    def _save(self) -> None:
        torch.save(
            {
                "parameters": {n: p.detach() for n, p in self.parameters.items()},
                "optimizer": self.optimizer.state_dict(),
                "epoch": self.epoch,
                "history": self.history,
                "rng": self._rng.bit_generator.state,
                "settings": asdict(self.settings),
            },
            self._checkpoint,
        )
        (self.folder / "history.json").write_text(json.dumps(self.history, indent=1), encoding="utf-8")

    def _load(self) -> None:
        state: dict[str, Any] = torch.load(self._checkpoint, map_location=self.device, weights_only=False)
        with torch.no_grad():
            for name, p in self.parameters.items():
                p.copy_(state["parameters"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.history = state["epoch"], state["history"]
        self._rng.bit_generator.state = state["rng"]


def fed_back(frame: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
    """A frame input (N, FRAME.size) whose pose and future trajectory are those of the output (N, OUTPUT.size) before
    it, as in a rollout. The root is taken to be where it was recorded."""
    out = frame.clone()
    for name in ("joint_position", "joint_rotation", "joint_velocity"):
        out[:, getattr(FRAME, name)] = predicted[:, getattr(OUTPUT, name)]
    for name, first in (("trajectory_position", 1), ("trajectory_direction", 1), ("trajectory_action", 0)):
        samples = FRAME.shape(name)
        part = out[:, getattr(FRAME, name)].reshape(-1, *samples)
        values = predicted[:, getattr(OUTPUT, name)].reshape(-1, *OUTPUT.shape(name))
        known = part[:, : CURRENT + first]
        out[:, getattr(FRAME, name)] = torch.cat((known, values), dim=1).flatten(1)
    return out


def sequence_starts(data: Packed, length: int) -> Array:
    """Rows from which `length` frames follow each other: the pose that is to be predicted is the next row's."""
    pose = slice(0, 9)
    follows = np.all(
        data.output[:-1, OUTPUT.joint_position][:, pose] == data.frame[1:, FRAME.joint_position][:, pose], axis=1
    )
    run = np.concatenate((follows, [False])).astype(np.int64)
    broken = np.cumsum(1 - run)
    last = np.arange(len(run)) + length - 1
    inside = last < len(run)
    ok = np.zeros(len(run), dtype=bool)
    before = np.concatenate(([0], broken))
    ok[inside] = before[last[inside]] == before[np.flatnonzero(inside)]
    return np.flatnonzero(ok)


def statistics(data: Packed, gating: Gating) -> dict[str, tuple[Array, Array]]:
    """Mean and scale by input, of gating and of the output; one deviation for all numbers of a piece, so that small
    ones carry no noise."""
    rows = np.linspace(0, len(data) - 1, min(_STATISTICS, len(data))).astype(int)
    frame, goal = data.frame[rows].astype(np.float64), data.goal[rows].astype(np.float64)
    occupied = data.occupied[rows] / OCCUPANCY_STEPS
    condition = gating_input(frame, goal, data.phase[rows].astype(np.float64), gating)
    interaction = Layout(occupied=(CELLS**3,), corners=(CORNERS, 3))
    values = {
        "frame": (frame, FRAME),
        "goal": (goal, GOAL),
        "interaction": (np.concatenate((occupied, data.corners[rows]), axis=1), interaction),
        "environment": (data.around[rows] / OCCUPANCY_STEPS, ENVIRONMENT),
        "gating": (condition, Layout(condition=(GATING_SIZES[gating],))),
        "output": (data.output[rows].astype(np.float64), OUTPUT),
    }
    out = {}
    for name, (value, layout) in values.items():
        scale = np.ones(layout.size)
        for piece in layout.shapes:
            part = getattr(layout, piece)
            scale[part] = float(value[:, part].std(0).mean()) or 1.0
        out[name] = (value.mean(0).astype(np.float32), scale.astype(np.float32))
    return out


def _initial(settings: Settings) -> dict[str, torch.Tensor]:
    """Random parameters by the names of `models.nsm.shapes`."""
    generator = torch.Generator().manual_seed(settings.seed)

    def uniform(*shape: int) -> torch.Tensor:
        bound = math.sqrt(6.0 / (shape[-1] + shape[-2]))
        return (torch.rand(*shape, generator=generator) * 2 - 1) * bound

    out: dict[str, torch.Tensor] = {}
    sizes = {name: layout.size for name, layout in ENCODERS.items()} | {"interaction": len(_INTERACTION_USED)}
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
