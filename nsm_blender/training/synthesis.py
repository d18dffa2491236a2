# SPDX-License-Identifier: GPL-3.0-or-later
"""Training the footstep network and the feed-forward networks of the motion manifold (sections 6.2 and 6.3)."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from ..models.manifold import DECODER_REACH, FPS, FRAME, UNITS, WIDTH, half_rate_kernel, smoothed_filters
from ..models.synthesis import (
    FEED_FORWARD_REACH,
    FOOTSTEPS_REACH,
    LAYERS,
    LOCOMOTION,
    STEP_UNITS,
    STEP_WIDTHS,
    TRAJECTORY,
    WAVES,
)
from ..motion.rotations import Array
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from .synthesis_data import SMOOTHINGS, Walk

WINDOW = 240
"""Frames of a training window on which the cost is taken (section 4)."""
_EXTENSION = WINDOW // 2
"""Frames by which an example is extended at both ends, so that short ones fill a window."""
_SMOOTHINGS = 4
"""How many degrees of smoothing of the trajectory are prepared."""


@dataclass
class Settings:
    """Hyperparameters. One step sees `batch` windows of WINDOW frames."""

    steps: int = 4000
    batch: int = 16
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-5
    l1: float = 0.1
    """alpha of eq. 5, on the mean absolute weight."""
    speed_weight: float = 0.0
    """Weight of the squared error of the joints' speeds: how much sharper than the mean motion it should be."""
    slide_weight: float = 0.0
    """Weight of the squared speed over the ground, in m/s, of feet that are in contact in the recording."""
    seed: int = 1
    save_every: int = 200
    subjects: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Example:
    """One motion. inputs: what may be given for it, each (T, l). target: (T, d) what shall come of it."""

    inputs: list[Array]
    target: Array

    def normalised(self, x: tuple[Array, Array], y: tuple[Array, Array]) -> Example:
        """(value - mean) / scale, with (mean, scale) of inputs and target."""
        return Example([(v - x[0]) / x[1] for v in self.inputs], (self.target - y[0]) / y[1])


class Sampler:
    """Windows at random places of examples, each extended at its ends as if it went on.

    Windows hold `margin` more frames of the input on both sides.
    """

    def __init__(self, examples: Sequence[Example], margin: int, seed: int) -> None:
        self._margin = margin
        self._x = [[_extended(x, margin + _EXTENSION) for x in example.inputs] for example in examples]
        self._y = [_extended(example.target, _EXTENSION) for example in examples]
        lengths = np.array([len(example.target) for example in examples], dtype=float)
        self._chance = lengths / lengths.sum()
        self._rng = np.random.default_rng(seed)

    def draw(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs (count, l, WINDOW + 2 margin) and targets (count, d, WINDOW), float32."""
        xs, ys = [], []
        for i in self._rng.choice(len(self._x), count, p=self._chance):
            start = int(self._rng.integers(0, len(self._y[i]) - WINDOW + 1))
            x = self._x[i][self._rng.integers(len(self._x[i]))]
            xs.append(x[start : start + WINDOW + 2 * self._margin].T)
            ys.append(self._y[i][start : start + WINDOW].T)
        return torch.from_numpy(np.stack(xs)).float(), torch.from_numpy(np.stack(ys)).float()


class Training(ABC):
    """A resumable training run: `run()` trains to the end and returns the tensors of the weights file."""

    def __init__(self, settings: Settings, folder: Path, device: str = "cpu", resume: bool = False) -> None:
        torch.manual_seed(settings.seed)
        self.settings, self.folder, self.device = settings, folder, device
        folder.mkdir(parents=True, exist_ok=True)
        self.parameters = self._start()
        self.optimizer = torch.optim.Adam(list(self.parameters.values()), settings.learning_rate)
        self.step = 0
        self.history: list[dict[str, float]] = []
        if resume and self._checkpoint.exists():
            state = torch.load(self._checkpoint, weights_only=True, map_location=device)
            with torch.no_grad():
                for name, value in self.parameters.items():
                    value.copy_(state["parameters"][name])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.history = state["step"], state["history"]

    @abstractmethod
    def _start(self) -> dict[str, torch.Tensor]:
        """Fresh parameters."""

    @abstractmethod
    def loss(self) -> torch.Tensor:
        """The error on one random batch."""

    @abstractmethod
    def constants(self) -> Mapping[str, Array]:
        """What else the weights file holds."""

    @property
    def _checkpoint(self) -> Path:
        return self.folder / "checkpoint.pt"

    def run(self, log: Callable[[str], None] = print) -> dict[str, Array]:
        """Train the remaining steps."""
        s = self.settings
        started, total, count = time.perf_counter(), 0.0, 0
        while self.step < s.steps:
            fall = 0.5 * (1 + float(np.cos(np.pi * self.step / s.steps)))
            for group in self.optimizer.param_groups:
                group["lr"] = s.final_learning_rate + (s.learning_rate - s.final_learning_rate) * fall
            error = self.loss()
            values = list(self.parameters.values())
            penalty = torch.stack([v.abs().sum() for v in values]).sum() / sum(v.numel() for v in values)
            cost: Any = error + s.l1 * penalty
            self.optimizer.zero_grad(set_to_none=True)
            cost.backward()
            self.optimizer.step()
            self.step += 1
            total, count = total + float(error.detach()), count + 1
            if self.step % s.save_every == 0 or self.step == s.steps:
                seconds = time.perf_counter() - started
                row = {"step": self.step, "loss": total / count, "seconds": seconds}
                self.history.append(row)
                log("  ".join(f"{k} {v:.4g}" for k, v in row.items()))
                self._save()
                started, total, count = time.perf_counter(), 0.0, 0
        return self.tensors()

    def tensors(self) -> dict[str, Array]:
        """All tensors of the weights file, float32."""
        learned = {name: value.detach().cpu().numpy().copy() for name, value in self.parameters.items()}
        return learned | {name: np.asarray(value, dtype=np.float32) for name, value in self.constants().items()}

    def _save(self) -> None:
        state = {
            "parameters": {name: value.detach() for name, value in self.parameters.items()},
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "history": self.history,
            "settings": asdict(self.settings),
        }
        temporary = self._checkpoint.with_suffix(".tmp")
        torch.save(state, temporary)
        temporary.replace(self._checkpoint)
        (self.folder / "history.json").write_text(json.dumps(self.history, indent=1))


class FootstepTraining(Training):
    """Eq. 9: Gamma from the trajectory."""

    def __init__(self, walks: Sequence[Walk], settings: Settings, folder: Path, **options: Any) -> None:
        examples = [Example([walk.trajectory(s) for s in _smoothings()], walk.waves) for walk in walks]
        self._x = normal_of([e.inputs[0] for e in examples], [TRAJECTORY.root_velocity, TRAJECTORY.root_turn])
        self._y = normal_of([e.target for e in examples], [WAVES.threshold, WAVES.frequency])
        normal = [e.normalised(self._x, self._y) for e in examples]
        self._sampler = Sampler(normal, FOOTSTEPS_REACH, settings.seed)
        super().__init__(settings, folder, **options)

    def _start(self) -> dict[str, torch.Tensor]:
        return {
            "w4": initial(STEP_UNITS, TRAJECTORY.size, STEP_WIDTHS[0], self.device),
            "b4": torch.zeros(STEP_UNITS, device=self.device, requires_grad=True),
            "w5": initial(WAVES.size, STEP_UNITS, STEP_WIDTHS[1], self.device),
            "b5": torch.zeros(WAVES.size, device=self.device, requires_grad=True),
        }

    def loss(self) -> torch.Tensor:
        """Mean absolute error: the mean of steps of different lengths is neither of them, their median is one."""
        x, y = (v.to(self.device) for v in self._sampler.draw(self.settings.batch))
        return (footsteps(self.parameters, x) - y).abs().mean()

    def constants(self) -> Mapping[str, Array]:
        """Normalisation."""
        return {
            "x_mean": self._x[0],
            "x_scale": self._x[1],
            "y_mean": self._y[0],
            "y_scale": self._y[1],
        }


class FeedForwardTraining(Training):
    """Eq. 5: hidden units whose decoding is the motion; the autoencoder stays as it is.

    examples: parameters (T, l) and frames (T, FRAME.size), physical units. pieces: which parameters share a
    scale. autoencoder: its tensors w, b, mean, scale. pooling: whether it has any.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        pieces: Sequence[slice],
        autoencoder: Mapping[str, Array],
        settings: Settings,
        folder: Path,
        pooling: bool = True,
        **options: Any,
    ) -> None:
        self._pooling = pooling
        self._x = normal_of([e.inputs[0] for e in examples], pieces)
        self._inputs = examples[0].inputs[0].shape[1]
        normal = [e.normalised(self._x, (autoencoder["mean"], autoencoder["scale"])) for e in examples]
        self._sampler = Sampler(normal, _MARGIN, settings.seed)
        device = options.get("device", "cpu")
        self._kernel = decoder_kernel(autoencoder["w"], pooling).to(device)
        self._offset = decoder_offset(autoencoder).to(device)
        self._y = tuple(torch.from_numpy(autoencoder[name]).float()[:, None].to(device) for name in ("mean", "scale"))
        super().__init__(settings, folder, **options)

    def _start(self) -> dict[str, torch.Tensor]:
        out, size = {}, self._inputs
        for i, (units, width) in enumerate(LAYERS, 1):
            out[f"w{i}"] = initial(units, size, width, self.device)
            out[f"b{i}"] = torch.zeros(units, device=self.device, requires_grad=True)
            size = units
        return out

    def loss(self) -> torch.Tensor:
        """Mean squared error of the decoded frames, and of their speeds; the sliding of their feet."""
        x, y = (v.to(self.device) for v in self._sampler.draw(self.settings.batch))
        with torch.autocast(self.device, dtype=torch.bfloat16):
            out = decode(self._kernel, feed_forward(self.parameters, x, self._pooling))
        out = out.float() + self._offset[:, None]
        error = ((out - y) ** 2).mean()
        if self.settings.speed_weight > 0:
            error = error + self.settings.speed_weight * ((out.diff(dim=2) - y.diff(dim=2)) ** 2).mean()
        if self.settings.slide_weight > 0:
            mean, scale = self._y
            error = error + self.settings.slide_weight * slide(out * scale + mean, y * scale + mean)
        return error

    def constants(self) -> Mapping[str, Array]:
        """Normalisation."""
        return {"x_mean": self._x[0], "x_scale": self._x[1]}


_MARGIN = FEED_FORWARD_REACH + DECODER_REACH
"""Frames to both sides that a frame of the motion depends on; pooling and unpooling round up to pairs."""


def footsteps(parameters: Mapping[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Eq. 9 on normalised trajectories (N, 3, T): (N, 5, T - 2 FOOTSTEPS_REACH)."""
    hidden = torch.relu(functional.conv1d(x, parameters["w4"], parameters["b4"]))
    return functional.conv1d(hidden, parameters["w5"], parameters["b5"])


def feed_forward(parameters: Mapping[str, torch.Tensor], x: torch.Tensor, pooling: bool = True) -> torch.Tensor:
    """Eq. 4 on normalised parameters (N, l, T), T even: hidden units (N, UNITS, T / 2 - FEED_FORWARD_REACH).

    Without pooling they are those of every frame, (N, UNITS, T - 2 FEED_FORWARD_REACH).
    """
    hidden = torch.relu(functional.conv1d(x, parameters["w1"], parameters["b1"]))
    hidden = torch.relu(functional.conv1d(hidden, parameters["w2"], parameters["b2"]))
    wide = functional.conv1d(hidden, parameters["w3"], parameters["b3"])
    wide = wide[..., _ODD : wide.shape[-1] - _ODD]
    return torch.relu(functional.max_pool1d(wide, 2) if pooling else wide)


_ODD = (FEED_FORWARD_REACH - 1) % 2
"""The layers take an odd number of frames off each end: one more makes the pairs those of whole sequences."""


def decode(kernel: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
    """Frames (N, d, T) of hidden units where all exist, normalised and without the bias; see `decoder_kernel`."""
    made = functional.conv1d(hidden, kernel)
    count, _, length = made.shape
    together = kernel.shape[0] // FRAME.size
    return made.view(count, together, FRAME.size, length).permute(0, 2, 3, 1).reshape(count, FRAME.size, -1)


def decoder_kernel(w: Array, pooling: bool = True) -> torch.Tensor:
    """The decoder as a convolution (2 d, UNITS, taps), two frames at once; without pooling (d, UNITS, taps).

    Both reach DECODER_REACH frames, without pooling the outer taps are zero.
    """
    if not pooling:
        wide = np.pad(w, ((0, 0), (0, 0), (DECODER_REACH - WIDTH // 2,) * 2))
        return torch.from_numpy(np.ascontiguousarray(wide.transpose(1, 0, 2)[:, :, ::-1])).float()
    kernel = half_rate_kernel(smoothed_filters(w)).reshape(-1, UNITS, 2 * FRAME.size).transpose(2, 1, 0)
    return torch.from_numpy(np.ascontiguousarray(kernel))


def decoder_offset(autoencoder: Mapping[str, Array]) -> torch.Tensor:
    """What the decoder's bias gives every frame inside a sequence: (d,), normalised."""
    return torch.from_numpy(-np.einsum("udk,u->d", autoencoder["w"], autoencoder["b"])).float()


def slide(frames: torch.Tensor, recorded: torch.Tensor) -> torch.Tensor:
    """Mean square, in (m/s)^2, of the horizontal speed over the ground of feet that are in contact.

    frames: (N, d, T) in physical units, of which the places of the joints count. recorded: the same, of which
    the contacts count and how the root moves: else a slower root would be the easiest way to stand.
    """
    count, _, length = frames.shape
    joints = frames[:, FRAME.joint_position].reshape(count, *FRAME.shape("joint_position"), length)
    places = joints[:, _FEET, :2]
    speed = places.diff(dim=3) * FPS + recorded[:, None, FRAME.root_velocity, :-1]
    middle = 0.5 * (places[..., 1:] + places[..., :-1])
    turned = torch.stack((-middle[:, :, 1], middle[:, :, 0]), dim=2)  # a quarter turn to the left
    speed = speed + recorded[:, None, FRAME.root_turn, :-1] * turned
    contacts = recorded[:, FRAME.contact] > 0
    stays = contacts[..., 1:] & contacts[..., :-1]
    return ((speed**2).sum(2) * stays).sum() / stays.sum().clamp(min=1)


_FEET = MODEL_SKELETON.indices(CONTACT_JOINTS)


@torch.no_grad()
def make_frames(
    network: Mapping[str, Array], autoencoder: Mapping[str, Array], inputs: Array, pooling: bool = True
) -> Array:
    """Frames (T, FRAME.size), physical units, that a feed-forward network makes of parameters (T, l), T even.

    network, autoencoder: the tensors of their weights files. The inputs' ends are held.
    """
    normal = _extended((inputs - network["x_mean"]) / network["x_scale"], _MARGIN)
    parameters = {name: torch.from_numpy(value).float() for name, value in network.items()}
    hidden = feed_forward(parameters, torch.from_numpy(np.ascontiguousarray(normal.T))[None], pooling)
    made = decode(decoder_kernel(autoencoder["w"], pooling), hidden)[0] + decoder_offset(autoencoder)[:, None]
    out: Array = made.numpy().T * autoencoder["scale"] + autoencoder["mean"]
    return out


def locomotion_examples(walks: Sequence[Walk]) -> list[Example]:
    """Inputs [T F] (T, LOCOMOTION.size), for several degrees of smoothing, and frames (T, FRAME.size)."""
    return [
        Example(
            [np.concatenate((walk.trajectory(s), walk.frames[:, FRAME.contact]), axis=1) for s in _smoothings()],
            walk.frames,
        )
        for walk in walks
    ]


LOCOMOTION_PIECES = (LOCOMOTION.root_velocity, LOCOMOTION.root_turn, LOCOMOTION.contact)


def normal_of(values: Sequence[Array], pieces: Sequence[slice]) -> tuple[Array, Array]:
    """Mean and scale (l,) over sequences (T, l); each piece has one scale."""
    flat = np.concatenate(values)
    mean, std = flat.mean(0), flat.std(0)
    scale = np.ones_like(std)
    for piece in pieces:
        scale[piece] = max(float(std[piece].mean()), 0.0) or 1.0  # what never varies stays zero
    return mean.astype(np.float32), scale.astype(np.float32)


def initial(units: int, size: int, width: int, device: str) -> torch.Tensor:
    """Small random filters by fan-in and fan-out (5.1)."""
    bound = (6.0 / ((size + units) * width)) ** 0.5
    return ((torch.rand(units, size, width, device=device) * 2 - 1) * bound).requires_grad_()


def _extended(x: Array, frames: int) -> Array:
    """`x` (T, d) with its ends held for `frames` more."""
    out: Array = np.pad(x, ((frames, frames), (0, 0)), mode="edge").astype(np.float32)
    return out


def _smoothings() -> list[float]:
    return [float(s) for s in np.linspace(*SMOOTHINGS, _SMOOTHINGS)]
