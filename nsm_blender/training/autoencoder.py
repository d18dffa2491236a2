# SPDX-License-Identifier: GPL-3.0-or-later
"""Training the motion manifold's autoencoder (section 5.2 of Holden et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from ..manifold.frames import to_frames
from ..models.manifold import FPS, FRAME, UNITS, WIDTH
from ..motion.clip_file import LibraryEntry, load_clip
from ..motion.feet import level_feet
from ..motion.labels import label
from ..motion.mirror import mirror_clip
from ..motion.retarget import to_model_skeleton
from ..motion.rotations import Array
from .loop import Training, cosine

WINDOW = 240
"""Frames of a training window (section 4)."""
OVERLAP = 120
"""Frames that a window shares with the next (section 4)."""
MAX_TURN = 14.0
"""Turn in rad/s from which a window is left out; a pirouette turns at 12."""

_MEASURED_TOGETHER = 64
"""Windows of one pass without gradients, which bounds its memory."""


@dataclass(frozen=True)
class Settings:
    """Hyperparameters of one stage of training; the defaults are the paper's where it names them."""

    epochs: int = 15
    batch: int = 32
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-5
    dropout: float = 0.2
    l1: float = 0.1
    settling: int = 5
    """The last epochs unpool evenly and drop nothing, as synthesis does. The paper unpools at random
    throughout; settling halves the reconstruction error and keeps the filters."""
    pooling: bool = True
    """Without pooling and dropout it is the network that the paper compares with (Fig. 4, 11, 12)."""
    seed: int = 1


STAGES: Sequence[Settings] = (
    Settings(settling=4),
    Settings(epochs=8, settling=8, l1=0.0),
    Settings(epochs=10, batch=8, learning_rate=1e-4, final_learning_rate=2e-6, l1=0.01, settling=10),
    Settings(epochs=14, batch=8, learning_rate=1.2e-4, final_learning_rate=1e-6, l1=0.01, settling=14),
)
"""The first stage is the paper's. Weights are about 0.006 in the mean: with steps of its size they cannot settle,
hence the others."""


def clip_frames(entry: LibraryEntry, mirrored: bool = False) -> Array:
    """Frames (T, d) of a clip of the library on the model skeleton at 60 fps."""
    clip = to_model_skeleton(level_feet(load_clip(entry.path)).resampled(FPS))
    if mirrored:
        clip = mirror_clip(clip)
    positions, _ = clip.world()
    labels = label(clip)
    return to_frames(positions, labels.root, labels.contacts)


def windows_of(frames: Array) -> Array:
    """Windows (N, WINDOW, d) that overlap by half; a short clip stands still before and after."""
    if len(frames) < WINDOW:
        missing = WINDOW - len(frames)
        before = np.repeat(frames[:1], missing // 2, axis=0)
        after = np.repeat(frames[-1:], missing - missing // 2, axis=0)
        for still in (before, after):
            still[:, FRAME.root_velocity.start : FRAME.root_turn.stop] = 0
        frames = np.concatenate((before, frames, after))
    starts = list(range(0, len(frames) - WINDOW + 1, WINDOW - OVERLAP))
    if starts[-1] + WINDOW < len(frames):
        starts.append(len(frames) - WINDOW)
    return np.stack([frames[s : s + WINDOW] for s in starts]).astype(np.float32)


def build(entries: Sequence[LibraryEntry], mirrorings: Sequence[bool] = (False, True)) -> Array:
    """Windows (N, WINDOW, d) of clips, as recorded and mirrored."""
    windows = np.concatenate([windows_of(clip_frames(e, mirrored)) for e in entries for mirrored in mirrorings])
    # Lying or upside down there is no facing direction, and it spins; such windows would rule the scale.
    steady = np.abs(windows[:, :, FRAME.root_turn]).max((1, 2)) < MAX_TURN
    return windows[steady]


def normalization(windows: Array) -> tuple[Array, Array]:
    """Mean (d,) and scale (d,): positions share one deviation, velocities and contacts have their own (section 4)."""
    flat = windows.reshape(-1, windows.shape[-1])
    mean, std = flat.mean(0), flat.std(0)
    scale = np.empty_like(std)
    for name in FRAME.shapes:
        piece = getattr(FRAME, name)
        deviation = std[piece].mean()
        scale[piece] = deviation if deviation > 0 else 1  # a value that never changes divides by nothing
    return mean.astype(np.float32), scale.astype(np.float32)


class Trainer(Training):
    """A training run of the autoencoder, in one stage or several; each begins with a fresh optimizer."""

    def __init__(
        self,
        windows: Array,
        settings: Settings | Sequence[Settings],
        folder: Path,
        device: str = "cpu",
        resume: bool = False,
        validation: Array | None = None,
    ) -> None:
        """windows and validation: (N, WINDOW, d) in physical units; the second is watched, not trained on."""
        self.stages = [settings] if isinstance(settings, Settings) else list(settings)
        self.mean, self.scale = normalization(windows)
        self.x = self._normalized(windows).to(device)
        self.validation = None if validation is None else self._normalized(validation).to(device)
        seed = self.stages[0].seed
        bound = (6.0 / (FRAME.size * WIDTH + UNITS * WIDTH)) ** 0.5
        drawn = torch.rand(UNITS, FRAME.size, WIDTH, generator=torch.Generator().manual_seed(seed))
        initial = {"w": (drawn * 2 - 1) * bound, "b": torch.zeros(UNITS)}
        super().__init__(folder, initial, {"stages": [asdict(s) for s in self.stages]}, seed, device, resume)

    @property
    def epochs(self) -> int:
        """Number of epochs of all stages."""
        return sum(stage.epochs for stage in self.stages)

    @property
    def settings(self) -> Settings:
        """Those of the stage that the next epoch belongs to."""
        return self._stage()[0]

    def _stage(self) -> tuple[Settings, int]:
        """The stage of the next epoch, and how many of the stage's epochs are done."""
        done = self.epoch
        for stage in self.stages:
            if done < stage.epochs:
                return stage, done
            done -= stage.epochs
        return self.stages[-1], self.stages[-1].epochs

    def new_optimizer(self) -> torch.optim.Optimizer:
        """Adam, for one stage."""
        return torch.optim.Adam(self.parameters.values(), self.settings.learning_rate)

    def begin_epoch(self) -> None:
        """A stage begins with a fresh optimizer."""
        stage, done = self._stage()
        self.l1 = stage.l1
        if done == 0:
            self.optimizer = self.new_optimizer()

    def learning_rate(self, progress: float) -> float:
        """Half a cosine over each stage."""
        stage, done = self._stage()
        share = (progress - self.epoch + done) / stage.epochs
        return cosine(stage.learning_rate, stage.final_learning_rate, share)

    def batches(self) -> Sequence[Array]:
        """Numbers of the windows of each batch."""
        order, size = self.rng.permutation(len(self.x)), self.settings.batch
        return [order[first : first + size] for first in range(0, len(order), size)]

    def loss(self, batch: Array) -> torch.Tensor:
        """Mean squared error of the reconstructed windows."""
        stage, done = self._stage()
        x = self.x[torch.from_numpy(batch)]
        with torch.autocast(self.device, dtype=torch.bfloat16):
            out = self.reconstruct(x, stage, settling=done >= stage.epochs - stage.settling)
        return ((out.float() - x) ** 2).mean()

    def figures(self) -> dict[str, float]:
        """The error of the joints of the windows that are watched, where there are any."""
        return {} if self.validation is None else {"validation_cm": self.joint_error(self.validation)}

    def reconstruct(self, x: torch.Tensor, s: Settings, settling: bool) -> torch.Tensor:
        """Encode and decode windows x (N, d, T) as in training: dropout, and unpooling to one of two frames."""
        w, b = self.parameters["w"], self.parameters["b"]
        noisy = functional.dropout(x, s.dropout) if s.pooling and not settling else x
        h = functional.conv1d(noisy, w, b, padding=WIDTH // 2)
        if s.pooling:
            pooled = functional.relu(functional.max_pool1d(h, 2))
            first = torch.full_like(pooled, 0.5) if settling else (torch.rand_like(pooled) < 0.5).to(pooled.dtype)
            unpooled = torch.stack((pooled * first, pooled * (1 - first)), dim=-1).flatten(-2)
        else:
            unpooled = functional.relu(h)
        reflected = w.transpose(0, 1).flip(2)
        return functional.conv1d(unpooled - b[:, None], reflected, padding=WIDTH // 2)

    @torch.no_grad()
    def joint_error(self, x: torch.Tensor) -> float:
        """Mean distance in cm of joints from their reconstruction as at run time, of normalized windows (N, d, T)."""
        total = 0.0
        for start in range(0, len(x), _MEASURED_TOGETHER):
            batch = x[start : start + _MEASURED_TOGETHER]
            error = (self.reconstruct(batch, self.settings, settling=True) - batch)[:, FRAME.joint_position]
            total += float(error.reshape(len(batch), *FRAME.shape("joint_position"), -1).norm(dim=2).sum())
        count = x.shape[0] * x.shape[2] * FRAME.shape("joint_position")[0]
        return 100 * total / count * float(self.scale[FRAME.joint_position.start])

    def _normalized(self, windows: Array) -> torch.Tensor:
        """Windows (N, WINDOW, d) as (N, d, WINDOW), normalized."""
        normal = (windows - self.mean) / self.scale
        return torch.from_numpy(np.ascontiguousarray(normal.transpose(0, 2, 1)))

    def export(self) -> dict[str, Array]:
        """w, b, mean and scale, float32."""
        learned = {name: value.detach().cpu().numpy().copy() for name, value in self.parameters.items()}
        return learned | {"mean": self.mean, "scale": self.scale}
