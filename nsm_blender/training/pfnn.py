# SPDX-License-Identifier: GPL-3.0-or-later
"""Training the PFNN by phase blocks (PFNN 5.3): the weights are blended once per block, not per sample."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import UserError
from ..models.pfnn import CONTROL_POINTS, INPUT, OUTPUT, catmull_rom
from ..motion.rotations import Array
from .pfnn_data import DataSet, Features, balance

BLOCKS = 16
BLOCK_SIZE = 64
"""Samples whose phases are nearly equal share one set of blended weights: 16 x 64 make a batch."""


@dataclass
class Settings:
    """Hyperparameters. The paper's are batch 32, 20 epochs, Adam at its default rate (5.3)."""

    hidden: int = 512
    epochs: int = 40
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-5
    keep: float = 0.7
    """Dropout's retention probability."""
    l1: float = 0.01
    """gamma of eq. 8, on the mean absolute weight."""
    noise: float = 0.0
    """Standard deviation of noise on the normalised joint inputs: the rollout's own errors, rehearsed."""
    seed: int = 1
    validate_every: int = 5
    subjects: list[str] = field(default_factory=list)
    warps: list[float] = field(default_factory=list)


class Network(torch.nn.Module):
    """Control points of the three layers; `forward` takes blocks of equal phase."""

    def __init__(self, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        sizes = [(INPUT.size, hidden), (hidden, hidden), (hidden, OUTPUT.size)]
        self.w = torch.nn.ParameterList()
        self.b = torch.nn.ParameterList()
        for fan_in, fan_out in sizes:
            bound = (6.0 / (fan_in + fan_out)) ** 0.5
            w = (torch.rand(CONTROL_POINTS, fan_out, fan_in, generator=generator) * 2 - 1) * bound
            self.w.append(torch.nn.Parameter(w))
            self.b.append(torch.nn.Parameter(torch.zeros(CONTROL_POINTS, fan_out)))

    def forward(self, x: torch.Tensor, phase: torch.Tensor, keep: float) -> torch.Tensor:
        """x: (blocks, samples, n) normalised. phase: (blocks,) radians. Returns (blocks, samples, m)."""
        c = catmull_rom(phase)
        h = x
        for i, (w, b) in enumerate(zip(self.w, self.b, strict=True)):
            blended = (c @ w.flatten(1)).view(len(c), *w.shape[1:])
            bias = c @ b
            h = torch.nn.functional.dropout(h, 1 - keep, training=self.training)
            h = torch.baddbmm(bias[:, None], h, blended.transpose(1, 2))
            if i < 2:
                h = torch.nn.functional.elu(h)
        return h

    def mean_absolute(self) -> torch.Tensor:
        """Mean absolute value of the parameters, the L1 term of eq. 8."""
        total = torch.stack([p.abs().sum() for p in self.parameters()]).sum()
        return total / sum(p.numel() for p in self.parameters())


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
    centres = np.angle(angles) % (2 * np.pi)
    shuffled = rng.permutation(len(blocks))
    for start in range(0, len(shuffled) - BLOCKS + 1, BLOCKS):
        chosen = shuffled[start : start + BLOCKS]
        yield blocks[chosen], centres[chosen]


Validate = Callable[[dict[str, Array]], dict[str, float]]
"""Takes the exported tensors, runs the closed loop, returns figures with "score" (lower is better)."""


class Trainer:
    """A resumable training run: `run()` trains to the end, writing a checkpoint after each epoch."""

    def __init__(
        self, data: DataSet, settings: Settings, folder: Path, device: str = "cpu", resume: bool = False
    ) -> None:
        torch.manual_seed(settings.seed)
        self.data, self.settings, self.folder, self.device = data, settings, folder, device
        self.folder.mkdir(parents=True, exist_ok=True)
        self.network = Network(settings.hidden, torch.Generator().manual_seed(settings.seed)).to(device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), settings.learning_rate)
        self.epoch = 0
        self.best: dict[str, Any] = {"score": float("inf")}
        self.history: list[dict[str, float]] = []
        self.x = torch.from_numpy((data.train.x - data.x_mean) / data.x_scale).float().to(device)
        self.y = torch.from_numpy((data.train.y - data.y_mean) / data.y_scale).float().to(device)
        self.weights = balance(data.train.kind)
        if resume and self._checkpoint.exists():
            self._load()

    @property
    def _checkpoint(self) -> Path:
        return self.folder / "checkpoint.pt"

    def run(self, validate: Validate | None = None, log: Callable[[str], None] = print) -> dict[str, Array]:
        """Train the remaining epochs; returns the tensors of the best epoch (the last without `validate`)."""
        settings = self.settings
        while self.epoch < settings.epochs:
            started = time.perf_counter()
            loss = self._epoch()
            self.epoch += 1
            row = {
                "epoch": self.epoch,
                "loss": loss,
                "held_out": self.held_out_loss(),
                "seconds": time.perf_counter() - started,
            }
            last = self.epoch == settings.epochs
            if validate is not None and (last or self.epoch % settings.validate_every == 0):
                figures = validate(self.export())
                row.update(figures)
                if figures["score"] < self.best["score"]:
                    self.best = {"score": figures["score"], "epoch": self.epoch, "tensors": self.export()}
            self.history.append(row)
            log("  ".join(f"{k} {v:.4g}" for k, v in row.items()))
            self._save()
        tensors: dict[str, Array] = self.best.get("tensors") or self.export()
        return tensors

    def _epoch(self) -> float:
        s = self.settings
        # Drawn anew from the epoch's number, so that a resumed run repeats what an unbroken one does.
        rng = np.random.default_rng((s.seed, self.epoch))
        torch.manual_seed(int(rng.integers(2**31)))
        self.network.train()
        total, count = 0.0, 0
        batches = int(self.weights.sum()) // (BLOCKS * BLOCK_SIZE)
        joints = slice(INPUT.joint_position.start, INPUT.joint_velocity.stop)
        for i, (samples, phases) in enumerate(phase_blocks(self.data.train.phase, self.weights, rng)):
            progress = (self.epoch + i / batches) / s.epochs
            rate = s.final_learning_rate + (s.learning_rate - s.final_learning_rate) * 0.5 * (
                1 + np.cos(np.pi * min(progress, 1))
            )
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            index = torch.from_numpy(samples).to(self.device)
            x, y = self.x[index], self.y[index]
            if s.noise > 0:
                x[..., joints] += s.noise * 0.1 * torch.randn_like(x[..., joints])
            phase = torch.from_numpy(phases.astype(np.float32)).to(self.device)
            with torch.autocast(self.device, dtype=torch.bfloat16):
                out = self.network(x, phase, s.keep)
            error = ((out.float() - y) ** 2).mean()
            loss = error + s.l1 * self.network.mean_absolute()
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            total += float(error.detach())
            count += 1
        return total / max(count, 1)

    @torch.no_grad()
    def held_out_loss(self) -> float:
        """Mean squared error on the held-out frames, normalised, without dropout."""
        self.network.eval()
        data: Features = self.data.held_out
        order = np.argsort(data.phase)[: len(data.phase) // BLOCK_SIZE * BLOCK_SIZE].reshape(-1, BLOCK_SIZE)
        x = torch.from_numpy((data.x[order] - self.data.x_mean) / self.data.x_scale).float().to(self.device)
        y = torch.from_numpy((data.y[order] - self.data.y_mean) / self.data.y_scale).float().to(self.device)
        phase = torch.from_numpy(data.phase[order].mean(1)).float().to(self.device)
        errors = [
            ((self.network(x[i : i + 16], phase[i : i + 16], 1.0) - y[i : i + 16]) ** 2).mean()
            for i in range(0, len(x), 16)
        ]
        return float(torch.stack(errors).mean())

    def export(self) -> dict[str, Array]:
        """All tensors of the weights file, float32."""
        out: dict[str, Array] = {}
        for i in range(3):
            out[f"w{i}"] = self.network.w[i].detach().cpu().numpy().copy()
            out[f"b{i}"] = self.network.b[i].detach().cpu().numpy().copy()
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

    def _save(self) -> None:
        state = {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "epoch": self.epoch,
            "best": self.best,
            "history": self.history,
            "settings": asdict(self.settings),
        }
        temporary = self._checkpoint.with_suffix(".tmp")
        torch.save(state, temporary)
        temporary.replace(self._checkpoint)
        (self.folder / "history.json").write_text(json.dumps(self.history, indent=1))

    def _load(self) -> None:
        # Our own file, holding arrays of NumPy beside tensors, which the weights-only reader refuses.
        state = torch.load(self._checkpoint, weights_only=False)
        if state["settings"]["hidden"] != self.settings.hidden:
            raise UserError(f"{self._checkpoint}: was trained with another number of hidden units; drop --resume.")
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.best, self.history = state["epoch"], state["best"], state["history"]
