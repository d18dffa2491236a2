# SPDX-License-Identifier: GPL-3.0-or-later
"""The training loop of all networks: epochs of batches, a checkpoint after each epoch, the best epoch by closed loop.

Whatever is random is drawn from generators that begin anew in each epoch, from the seed and the epoch's number. So a
checkpoint needs no state of generators, and a resumed run ends with the weights of an unbroken one.

Where several processes train together (`distributed`), all draw the same batches, and the first alone writes, logs and
validates.
"""

from __future__ import annotations

import json
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch

from ..errors import UserError
from ..files import Where, Within, make_folder, record, shown, write_whole
from ..motion.rotations import Array
from . import checkpoint, distributed
from .loss_plot import draw

CHECKPOINT, BEST = "checkpoint.safetensors", "best.safetensors"
"""Files in the folder of a run: the state to go on from, and the best weights so far."""
HISTORY, PICTURE = "history.json", "progress.png"
"""Files in the folder of a run: the figures of all epochs as JSON, and as a picture."""
SCORE = "score"
"""Name of the figure by which validation ranks epochs; less is better."""
_PARAMETER, _BUFFER, _OPTIMIZER = "parameter.", "buffer.", "optimizer."
"""Beginnings of the names of tensors in a checkpoint."""
_LENGTHS = ("epochs", "steps")
"""Settings that may differ when a run is resumed, since a run may be made longer."""
_PICTURE_SECONDS = 20.0
"""Seconds between two pictures of the history, since drawing takes a third of a second and short epochs less."""

Validate = Callable[["Training"], Mapping[str, float]]
"""Measures a training in closed loop; of its figures SCORE chooses the epoch that is kept."""


def _say(line: str) -> None:
    print(line, flush=True)


class Training(ABC):
    """A resumable training run: `run` trains to the end, writing a checkpoint after each epoch.

    parameters: name -> tensor that is learned. buffers: name -> array that is saved with them and restored in place.
    rng, noise: generators on the processor, seeded for the current epoch. epoch: how many are done. history: the
    figures of each. l1: weight of the parameters' mean absolute value in the cost. largest_gradient: norm to which
    gradients are clipped.
    """

    l1: float = 0.0
    largest_gradient: ClassVar[float | None] = None

    def __init__(
        self,
        folder: Path,
        parameters: Mapping[str, torch.Tensor],
        settings: Mapping[str, Any],
        seed: int,
        device: str = "cpu",
        resume: bool = False,
        buffers: Mapping[str, Array] | None = None,
    ) -> None:
        """settings: hyperparameters as JSON values, which a resumed run must share. Raises UserError when the
        checkpoint to resume from is missing, belongs to other ones, or is damaged."""
        self.folder, self.device = folder, device
        self.parameters = {name: p.detach().to(device).requires_grad_() for name, p in parameters.items()}
        self._buffers, self._options, self._seed = dict(buffers or {}), dict(settings), seed
        self.epoch = 0
        self.history: list[dict[str, float]] = []
        self.rng = np.random.default_rng(seed)
        self.noise = torch.Generator()
        self.optimizer = self.new_optimizer()
        self._pictured = time.perf_counter()
        if self.epochs < 1:
            raise UserError("There is nothing to train in 0 epochs or steps.")
        if resume:
            check_resumable(folder)
            self._load()
        elif distributed.is_first():
            make_folder(folder)
            (folder / BEST).unlink(missing_ok=True)

    @property
    @abstractmethod
    def epochs(self) -> int:
        """Number of epochs of the whole run."""

    @abstractmethod
    def new_optimizer(self) -> torch.optim.Optimizer:
        """An optimizer of the parameters."""

    @abstractmethod
    def learning_rate(self, progress: float) -> float:
        """The rate at a place in the run, in epochs from its start."""

    @abstractmethod
    def batches(self) -> Sequence[Any]:
        """The batches of the next epoch, drawn with `rng`."""

    @abstractmethod
    def loss(self, batch: Any) -> torch.Tensor:
        """The error () on a batch, without the L1 term; in one of several processes the error on its part of the batch,
        times the part's share of the batch."""

    @abstractmethod
    def export(self) -> dict[str, Array]:
        """All tensors of the weights file, float32."""

    def gradients(self, batch: Any) -> torch.Tensor:
        """Put the gradients of the error on a batch, and of the L1 term, into the parameters. Returns the error ()."""
        error = self.loss(batch)
        cost = error + self.l1 / distributed.size() * self.mean_absolute() if self.l1 else error
        self.optimizer.zero_grad(set_to_none=True)
        cost.backward()  # type: ignore[no-untyped-call]
        return error

    def begin_epoch(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Prepare the next epoch; called when the generators are seeded for it."""

    def figures(self) -> dict[str, float]:
        """What else is noted of an epoch once it is done."""
        return {}

    def run(
        self, log: Callable[[str], None] = _say, validate: Validate | None = None, every: int = 1
    ) -> dict[str, Array]:
        """Train the remaining epochs; returns the tensors of the last one, or of the best where any was validated.

        validate: called after every so many epochs and after the last.
        """
        while self.epoch < self.epochs:
            started = time.perf_counter()
            row: dict[str, float] = {"epoch": self.epoch + 1, "loss": self._train_epoch()}
            self.epoch += 1
            if not distributed.is_first():
                continue
            row |= self.figures()
            if validate is not None and (self.epoch == self.epochs or self.epoch % every == 0):
                row |= validate(self)
                if row.get(SCORE, math.inf) < self._best_score():
                    checkpoint.write(self.folder / BEST, _tensors_of(self.export()), {"epoch": self.epoch})
            row["seconds"] = time.perf_counter() - started
            self.history.append(row)
            self._save()
            log("  ".join(f"{name} {value:.4g}" for name, value in row.items()))
        if distributed.is_first():
            self._picture()
        if self._best_score() == math.inf or not distributed.is_first():
            return self.export()
        return {name: value.numpy() for name, value in checkpoint.read(self.folder / BEST)[0].items()}

    @property
    def best_epoch(self) -> int | None:
        """The epoch with the best score, None without validation."""
        scored = [row for row in self.history if SCORE in row]
        return int(min(scored, key=lambda row: row[SCORE])["epoch"]) if scored else None

    def _best_score(self) -> float:
        return min((row[SCORE] for row in self.history if SCORE in row), default=math.inf)

    def _train_epoch(self) -> float:
        """One epoch; returns its mean error."""
        self.rng = np.random.default_rng((self._seed, self.epoch))
        drawn = int(self.rng.integers(2**31))
        torch.manual_seed(drawn)
        self.noise.manual_seed(drawn)
        self.begin_epoch()
        batches = self.batches()
        total = 0.0
        for number, batch in enumerate(batches):
            rate = self.learning_rate(self.epoch + number / len(batches))
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            error = distributed.add_up(self.parameters.values(), self.gradients(batch))
            if self.largest_gradient is not None:
                torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.largest_gradient)
            self.optimizer.step()
            total += float(error)
            self._show(number + 1, len(batches))
        return total / max(len(batches), 1)

    def mean_absolute(self) -> torch.Tensor:
        """Mean absolute value () of the parameters, the sparsity term of both of Holden's papers."""
        values = self.parameters.values()
        return torch.stack([value.abs().sum() for value in values]).sum() / sum(value.numel() for value in values)

    def _show(self, done: int, of: int) -> None:
        """A line of progress, on terminals only."""
        if sys.stderr.isatty() and distributed.is_first():
            end = "\r" if done < of else "\r\033[K"
            print(f"epoch {self.epoch + 1} of {self.epochs}, {done / of:4.0%}", end=end, file=sys.stderr, flush=True)

    def _save(self) -> None:
        tensors = {_PARAMETER + name: value for name, value in self.parameters.items()}
        tensors |= {_BUFFER + name: value for name, value in _tensors_of(self._buffers).items()}
        tensors |= {_OPTIMIZER + name: v for name, v in checkpoint.optimizer_tensors(self.optimizer).items()}
        state = {"epoch": self.epoch, "history": self.history, "settings": self._options}
        checkpoint.write(self.folder / CHECKPOINT, tensors, state)
        write_whole(self.folder / HISTORY, json.dumps(self.history, indent=1) + "\n")
        if time.perf_counter() - self._pictured > _PICTURE_SECONDS:
            self._picture()

    def _load(self) -> None:
        path = self.folder / CHECKPOINT
        tensors, state = checkpoint.read(path)
        told = record(_State, state, Where(str(path), UserError))
        same = json.loads(json.dumps(self._options))
        for name in same.keys() - set(_LENGTHS):
            if told.settings.get(name) != same[name]:
                raise UserError(
                    f"{path}: was begun with {name} {shown(told.settings.get(name))}, not {same[name]}; give the same "
                    "options as then, or leave --resume out."
                )
        try:
            with torch.no_grad():
                for name, value in self.parameters.items():
                    value.copy_(_alike(tensors[_PARAMETER + name], value.shape))
            for name, buffer in self._buffers.items():
                np.copyto(buffer, _alike(tensors[_BUFFER + name], buffer.shape).numpy())
            own = {n.removeprefix(_OPTIMIZER): v for n, v in tensors.items() if n.startswith(_OPTIMIZER)}
            checkpoint.restore_optimizer(self.optimizer, own)
        except (KeyError, ValueError, TypeError) as error:
            raise UserError(f"{path}: belongs to another network ({error}); leave --resume out.") from error
        self.epoch, self.history = told.epoch, told.history

    def _picture(self) -> None:
        """Draw the history where Matplotlib is installed; the figures are in HISTORY too."""
        self._pictured = time.perf_counter()
        try:
            draw(self.history, self.folder / PICTURE)
        except ImportError:
            return


@dataclass
class _State:
    """What a checkpoint tells beside its tensors."""

    epoch: Annotated[int, Within(0, 1e9)]
    history: list[dict[str, Any]]
    settings: dict[str, Any]


def _alike(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """The tensor, of which broadcasting must not hide that it has another shape. Raises ValueError."""
    if tuple(tensor.shape) != tuple(shape):
        raise ValueError(f"shape {list(tensor.shape)} instead of {list(shape)}")
    return tensor


def check_resumable(folder: Path) -> None:
    """Raise UserError when a run's folder holds no checkpoint to go on from."""
    if not (folder / CHECKPOINT).is_file():
        raise UserError(
            f"{folder}: there is no {CHECKPOINT} to go on from; name the folder of the run with --run, or leave "
            "--resume out."
        )


def _tensors_of(arrays: Mapping[str, Array]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in arrays.items()}


def cosine(first: float, last: float, share: float) -> float:
    """Half a cosine from `first` to `last`, at a share 0..1 of the way."""
    return last + (first - last) * 0.5 * (1 + math.cos(math.pi * min(share, 1.0)))
