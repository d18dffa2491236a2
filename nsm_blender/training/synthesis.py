# SPDX-License-Identifier: GPL-3.0-or-later
"""Training the footstep network and the feed-forward networks of the motion manifold (sections 6.2 and 6.3)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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
from .loop import Training, cosine
from .synthesis_data import SMOOTHINGS, Walk

WINDOW = 240
"""Frames of a training window on which the cost is taken (section 4)."""
_EXTENSION = WINDOW // 2
"""Frames by which an example is extended at both ends, so that short ones fill a window."""
_SMOOTHINGS = 4
"""Degrees of smoothing of the trajectory that are prepared."""


@dataclass
class Settings:
    """Hyperparameters. One step sees `batch` windows of WINDOW frames."""

    steps: int = 4000
    batch: int = 16
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-5
    l1: float = 0.1
    """Factor alpha of eq. 5 on the mean absolute weight."""
    speed_weight: float = 0.0
    """Weight of the squared error of the joints' speeds: how much sharper than the mean motion it should be."""
    slide_weight: float = 0.0
    """Weight of the squared speed over the ground, in m/s, of feet that are in contact in the recording."""
    seed: int = 1
    save_every: int = 200
    """Steps from one checkpoint to the next."""


@dataclass(frozen=True, eq=False)
class Example:
    """One motion. inputs: what may be given for it, each (T, l). target: (T, d) what shall come of it."""

    inputs: list[Array]
    target: Array

    def normalized(self, x: tuple[Array, Array], y: tuple[Array, Array]) -> Example:
        """(value - mean) / scale, with (mean, scale) of inputs and target."""
        return Example([(v - x[0]) / x[1] for v in self.inputs], (self.target - y[0]) / y[1])


class Sampler:
    """Windows at random places of examples, each extended at its ends as if it went on.

    Windows hold `margin` more frames of the input on both sides.
    """

    def __init__(self, examples: Sequence[Example], margin: int) -> None:
        self._margin = margin
        self._x = [[_extended(x, margin + _EXTENSION) for x in example.inputs] for example in examples]
        self._y = [_extended(example.target, _EXTENSION) for example in examples]
        lengths = np.array([len(example.target) for example in examples], dtype=float)
        self._chance = lengths / lengths.sum()

    def draw(self, count: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs (count, l, WINDOW + 2 margin) and targets (count, d, WINDOW), float32."""
        xs, ys = [], []
        for i in rng.choice(len(self._x), count, p=self._chance):
            start = int(rng.integers(0, len(self._y[i]) - WINDOW + 1))
            x = self._x[i][rng.integers(len(self._x[i]))]
            xs.append(x[start : start + WINDOW + 2 * self._margin].T)
            ys.append(self._y[i][start : start + WINDOW].T)
        return torch.from_numpy(np.stack(xs)).float(), torch.from_numpy(np.stack(ys)).float()


class StepTraining(Training):
    """A training run counted in steps; an epoch is `save_every` of them."""

    def __init__(
        self,
        sampler: Sampler,
        parameters: Mapping[str, torch.Tensor],
        settings: Settings,
        folder: Path,
        device: str = "cpu",
        resume: bool = False,
    ) -> None:
        self.settings, self.l1, self._sampler = settings, settings.l1, sampler
        super().__init__(folder, parameters, asdict(settings), settings.seed, device, resume)

    @abstractmethod
    def constants(self) -> Mapping[str, Array]:
        """What else the weights file holds."""

    @property
    def epochs(self) -> int:
        """Number of epochs of the whole run."""
        return math.ceil(self.settings.steps / self.settings.save_every)

    @property
    def step(self) -> int:
        """How many steps are done."""
        return min(self.epoch * self.settings.save_every, self.settings.steps)

    def new_optimizer(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.parameters.values(), self.settings.learning_rate)

    def learning_rate(self, progress: float) -> float:
        """Half a cosine over the run."""
        s = self.settings
        step = self.step + (progress - self.epoch) * len(self.batches())
        return cosine(s.learning_rate, s.final_learning_rate, step / s.steps)

    def batches(self) -> Sequence[int]:
        """Numbers of the epoch's steps; each draws its windows as it comes."""
        return range(self.step, min(self.step + self.settings.save_every, self.settings.steps))

    def drawn(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets of the windows of one step, see `Sampler.draw`."""
        x, y = self._sampler.draw(self.settings.batch, self.rng)
        return x.to(self.device), y.to(self.device)

    def figures(self) -> dict[str, float]:
        """The steps that are done."""
        return {"step": self.step}

    def export(self) -> dict[str, Array]:
        """All tensors of the weights file, float32."""
        learned = {name: value.detach().cpu().numpy().copy() for name, value in self.parameters.items()}
        return learned | {name: np.asarray(value, dtype=np.float32) for name, value in self.constants().items()}


class FootstepTraining(StepTraining):
    """Eq. 9: Gamma from the trajectory."""

    def __init__(self, walks: Sequence[Walk], settings: Settings, folder: Path, **options: Any) -> None:
        examples = [Example([walk.trajectory(s) for s in _smoothings()], walk.waves) for walk in walks]
        self._x = normal_of([e.inputs[0] for e in examples], [TRAJECTORY.root_velocity, TRAJECTORY.root_turn])
        self._y = normal_of([e.target for e in examples], [WAVES.threshold, WAVES.frequency])
        normal = [e.normalized(self._x, self._y) for e in examples]
        generator = torch.Generator().manual_seed(settings.seed)
        parameters = {
            "w4": initial(STEP_UNITS, TRAJECTORY.size, STEP_WIDTHS[0], generator),
            "b4": torch.zeros(STEP_UNITS),
            "w5": initial(WAVES.size, STEP_UNITS, STEP_WIDTHS[1], generator),
            "b5": torch.zeros(WAVES.size),
        }
        super().__init__(Sampler(normal, FOOTSTEPS_REACH), parameters, settings, folder, **options)

    def loss(self, batch: int) -> torch.Tensor:
        """Mean absolute error: the mean of steps of different lengths is neither of them, their median is one."""
        x, y = self.drawn()
        return (footsteps(self.parameters, x) - y).abs().mean()

    def constants(self) -> Mapping[str, Array]:
        """Normalization."""
        return {
            "x_mean": self._x[0],
            "x_scale": self._x[1],
            "y_mean": self._y[0],
            "y_scale": self._y[1],
        }


class FeedForwardTraining(StepTraining):
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
        normal = [e.normalized(self._x, (autoencoder["mean"], autoencoder["scale"])) for e in examples]
        device = options.get("device", "cpu")
        self._kernel = decoder_kernel(autoencoder["w"], pooling).to(device)
        self._offset = decoder_offset(autoencoder).to(device)
        self._y = tuple(torch.from_numpy(autoencoder[name]).float()[:, None].to(device) for name in ("mean", "scale"))
        generator = torch.Generator().manual_seed(settings.seed)
        parameters, size = {}, examples[0].inputs[0].shape[1]
        for i, (units, width) in enumerate(LAYERS, 1):
            parameters[f"w{i}"] = initial(units, size, width, generator)
            parameters[f"b{i}"] = torch.zeros(units)
            size = units
        super().__init__(Sampler(normal, _MARGIN), parameters, settings, folder, **options)

    def loss(self, batch: int) -> torch.Tensor:
        """Mean squared error of the decoded frames, and of their speeds; the sliding of their feet."""
        x, y = self.drawn()
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
        """Normalization."""
        return {"x_mean": self._x[0], "x_scale": self._x[1]}


_MARGIN = FEED_FORWARD_REACH + DECODER_REACH
"""Frames to both sides that a frame of the motion depends on; pooling and unpooling round up to pairs."""


def footsteps(parameters: Mapping[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Eq. 9 on normalized trajectories (N, 3, T): (N, 5, T - 2 FOOTSTEPS_REACH)."""
    hidden = torch.relu(functional.conv1d(x, parameters["w4"], parameters["b4"]))
    return functional.conv1d(hidden, parameters["w5"], parameters["b5"])


def feed_forward(parameters: Mapping[str, torch.Tensor], x: torch.Tensor, pooling: bool = True) -> torch.Tensor:
    """Eq. 4 on normalized parameters (N, l, T), T even: hidden units (N, UNITS, T / 2 - FEED_FORWARD_REACH).

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
    """Frames (N, d, T) of hidden units where all exist, normalized and without the bias; see `decoder_kernel`."""
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
    """What the decoder's bias gives every frame inside a sequence: (d,), normalized."""
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


def initial(units: int, size: int, width: int, generator: torch.Generator) -> torch.Tensor:
    """Small random filters by fan-in and fan-out (5.1)."""
    bound = (6.0 / ((size + units) * width)) ** 0.5
    return (torch.rand(units, size, width, generator=generator) * 2 - 1) * bound


def _extended(x: Array, frames: int) -> Array:
    """`x` (T, d) with its ends held for `frames` more."""
    out: Array = np.pad(x, ((frames, frames), (0, 0)), mode="edge").astype(np.float32)
    return out


def _smoothings() -> list[float]:
    return [float(s) for s in np.linspace(*SMOOTHINGS, _SMOOTHINGS)]
