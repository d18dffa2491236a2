# SPDX-License-Identifier: GPL-3.0-or-later
"""Training the NSM end to end (3.3): AdamW with warm restarts, mean squared error on normalized features.

So are the networks trained that it is compared with (7.1).
"""

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
    FPS,
    FRAME,
    INTERACTION,
    LAYERS,
    OUTPUT,
)
from ..models.nsm_baselines import (
    CONDITION_SIZES,
    LSTM_LAYERS,
    RECURRENT,
    Condition,
    State,
    condition_of,
    forward,
    sets,
    width,
)
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from . import added_experts, distributed
from .added_experts import LEARNED, Taught
from .compiling import compiled
from .graph import Graph
from .loop import Training, cosine
from .nsm_batches import INTERACTION_USED, Batches, statistics
from .nsm_data import KINDS, Packed, sequence_starts
from .nsm_sequences import ASTRAY, FAR_ASTRAY, OtherPoses, Sequences, drawn
from .nsm_settings import Settings

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
_STEADY = ("joint_position", "joint_rotation", "root_velocity", "root_turn")
"""Pieces of the output whose change from frame to frame counts in the loss, too."""
_STEADINESS = 0.15
"""Seconds over which an error in the rate of change of these pieces would add up to an error that counts as much: an
error that flickers is small in every frame, and yet is what makes a rollout jerkier than what it was taught."""
_OUTLIER = 3.0
"""Error, in standard deviations of the output, from which on it counts by its size and no longer by its square: of a
few sequences that have gone astray, most of a batch's gradient would come else."""
_CONTACT_JOINTS = MODEL_SKELETON.indices(CONTACTS)
_OWN_OUTPUT: Mapping[str, float] = {"lstm": 0.0, "auto-lstm": 0.5}
"""Share of the frames of training that follow from a network's own output, and not from what it should have been: all
but in the networks that the paper trains by teacher forcing, and by probabilistic teacher forcing (7.1)."""
_LEAST_RATE = 1e-3
"""Share of the learning rate that is left at the end of a cycle."""


class Trainer(Training):
    """A training run of the NSM, or of a network to compare it with, see `loop.Training`.

    It begins with random parameters, or with the `tensors` of a weights file, whose statistics are kept, as the
    network's numbers mean what they meant; a gating that reads something else begins anew. kept: the weights of which
    `Settings.kept` is a share, by default those `tensors`. compile: whether torch compiles the network, where it can.
    Each of several processes takes its part of every batch. Raises UserError when the tensors are those of a network of
    other sizes, or a batch is too small for the processes.
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
        compile: bool = False,
        kept: Mapping[str, Array] | None = None,
    ) -> None:
        if settings.batch // max(settings.lengths) < distributed.size():
            raise UserError(
                f"A batch of {settings.batch} frames in sequences of {max(settings.lengths)} is too small for "
                f"{distributed.size()} processes; give a larger --batch or fewer processes."
            )
        self.data, self.held_out, self.settings = data, held_out, settings
        self._gating = condition_of(settings.network, settings.gating)
        self.scaling = statistics(data, self._gating)
        known = _known(tensors or {}, self._gating)
        if settings.teach:
            added_experts.check(known, settings.network, settings.gating)
        if settings.network == "nsm" and "gating_b2" in known:
            settings.gating_hidden, settings.experts = len(known["gating_b0"]), len(known["gating_b2"])
        initial = _initial(settings)
        self._kept = _known(kept or tensors or {}, self._gating)
        if known:
            self.scaling |= _scaling_of(known)
            _begin_with(initial, known)
        self._fixed: dict[str, torch.Tensor] = {}
        self._taught = Taught(settings.teach, settings.toward)
        if settings.teach:
            used = added_experts.used(data, initial, self.scaling["gating"], self._taught)
            self._fixed = {name: value.to(device) for name, value in initial.items() if name not in LEARNED}
            initial = {name: initial[name][used] for name in LEARNED}
        self._weights = _output_weights().to(device)
        self._standoff = torch.tensor([_EMPHASIS.standoff.get(kind, 0.0) for kind in KINDS], device=device)
        self._contact_joints = torch.tensor(_CONTACT_JOINTS, device=device)
        self._graph: Graph | None = None
        self._starts = {length: sequence_starts(data, length) for length in set(settings.lengths)}
        self._learned_from = len(data)
        self._poses = OtherPoses(data)
        if settings.teach:
            learned = added_experts.learned_from(data, self._taught)
            self._starts = {length: starts[learned[starts]] for length, starts in self._starts.items()}
            self._learned_from = int(learned.sum())
            longest = max(settings.lengths)
            if self._learned_from < longest or not len(self._starts[longest]):
                raise UserError(f"The episodes show what is taught for less than {longest} frames: compose more.")
        # Data that was added since does not change what the network's numbers mean: a resumed run keeps the scaling.
        parts = (("mean", 0), ("scale", 1))
        kept = {f"{name}_{part}": pair[i] for name, pair in self.scaling.items() for part, i in parts}
        super().__init__(folder, initial, asdict(settings), settings.seed, device, resume, kept)
        self._batches = Batches(data, self.scaling, self._gating, device)
        self._forward = compiled(forward, device) if compile else forward

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
        size = max(min(self.settings.batch // length, len(order)), 1)
        return [np.sort(order[i * size : (i + 1) * size]) for i in range(len(order) // size)]

    def loss(self, batch: Array) -> torch.Tensor:
        """Weighted squared error of the sequences from the rows `batch` on."""
        mine = distributed.part(len(batch))
        return self._unrolled(*self._drawn(batch, mine)) * ((mine.stop - mine.start) / len(batch))

    def gradients(self, batch: Array) -> torch.Tensor:
        """As of any training; on CUDA, where the tens of thousands of small kernels of a sequence take longer to launch
        than to run, replayed from a graph."""
        if not self.device.startswith("cuda"):
            return super().gradients(batch)
        mine = distributed.part(len(batch))
        inputs = self._drawn(batch, mine)
        if self._graph is None or not self._graph.takes(inputs):
            share = (mine.stop - mine.start) / len(batch)
            self._graph = Graph(lambda *given: self._unrolled(*given) * share, inputs, list(self.parameters.values()))
        return self._graph(inputs)

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
        return self.rng.choice(starts, self._learned_from // length, p=weight / weight.sum())

    def measured(self, data: Packed, most: int = 20000) -> float:
        """Mean squared error on normalized outputs, one frame at a time, without noise."""
        rows = np.linspace(0, len(data) - 1, min(most, len(data))).astype(int)
        batches = Batches(data, self.scaling, self._gating, self.device)
        total = 0.0
        with torch.no_grad():
            for part in np.array_split(rows, max(len(rows) // 2048, 1)):
                raw, phase, target = batches.raw(torch.from_numpy(part).to(self.device))
                inputs, gating = batches.normalized(raw, phase, self.settings.without, half=False)
                predicted, _ = forward(self.settings.network, self._network, inputs, gating, phase)
                error = predicted - batches.normal("output", target)
                total += float((error**2).mean()) * len(part)
        return total / len(rows)

    def _drawn(self, rows: Array, part: slice) -> tuple[torch.Tensor, ...]:
        """What `_unrolled` takes, of a part of `rows`. It is drawn for all rows, and so does not depend on the part."""
        count = len(rows)
        pose_noise, beside = self._pose_noise(count), drawn(count, self.noise)
        own = torch.stack([self._own(count) for _ in range(self._length)])
        posed = torch.from_numpy(self._poses.drawn(rows, self.noise))
        vague = self.settings.vague_goals
        # Drawn where it is needed alone, so that other trainings draw what they drew before.
        aside = vague * torch.randn(count, 2, generator=self.noise) if vague else torch.zeros(count, 2)
        given = (torch.from_numpy(rows)[part], beside[part], pose_noise[part], posed[part], own[:, part], aside[part])
        return tuple(one.to(self.device) for one in given)

    def _unrolled(
        self,
        rows: torch.Tensor,
        beside: torch.Tensor,
        pose_noise: torch.Tensor,
        posed: torch.Tensor,
        own: torch.Tensor,
        aside: torch.Tensor,
    ) -> torch.Tensor:
        """Weighted squared error over the next frames from `rows` (N,) on, in closed loop: each but the first is
        predicted from what was predicted before.

        beside: (N, 4) of `nsm_sequences.drawn`. pose_noise: (N, FRAME.size). posed: rows (N,) in whose poses they
        begin. own: (frames, N, 1), whether a sequence goes on from a frame with the network's own output. aside: (N, 2)
        meters by which goals are told beside where they are.
        """
        settings, batches = self.settings, self._batches
        parameters = self._cast()
        at_things = FAR_ASTRAY if settings.far_astray else ASTRAY
        sequences = Sequences(batches, rows, beside, pose_noise, posed, at_things=at_things, aside=aside)
        total = torch.zeros((), device=self.device)
        state: State = None
        before: torch.Tensor | None = None
        for step in range(len(own)):
            raw, phase = sequences.inputs()
            inputs, gating = batches.normalized(raw, phase, settings.without, settings.half)
            predicted, state = self._forward(settings.network, parameters, inputs, gating, phase, state)
            predicted = predicted.float()
            keep = (step + 1) % settings.gradient != 0
            if not keep:
                state = _detached(state)
            fed = batches.natural("output", predicted)
            if settings.network in _OWN_OUTPUT:
                fed = torch.where(own[step], fed, sequences.right())
            target = sequences.advance(fed, keep)
            deviation = predicted - batches.normal("output", target)
            total = total + (squared(deviation) * self._weights * self._importance(rows + step, target)).mean()
            if before is not None:
                total = total + (unsteadiness(deviation, before) * self._weights).mean()
            before = deviation
        return total / len(own)

    def _own(self, count: int) -> torch.Tensor:
        """Which (count, 1) of the sequences go on with the network's own output."""
        share = _OWN_OUTPUT.get(self.settings.network)
        if share is None:
            return torch.ones((count, 1), dtype=torch.bool)
        return torch.rand(count, 1, generator=self.noise) < share

    def _importance(self, rows: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Weight (N, OUTPUT.size) of the errors of outputs in natural units (N, OUTPUT.size): by how near the goal is,
        and by what touches something."""
        out = torch.ones_like(target)
        shape = OUTPUT.shape("goal_trajectory_position")
        standoff = self._standoff[self._batches.kind(rows)]
        away = target[:, OUTPUT.goal_trajectory_position].reshape(-1, *shape).norm(dim=2, keepdim=True)
        weight = (_EMPHASIS.near / (away - standoff[:, None, None]).clamp(_EMPHASIS.nearest, _EMPHASIS.near)) ** 2
        for name in ("goal_trajectory_position", "goal_trajectory_direction"):
            out[:, getattr(OUTPUT, name)] = weight.expand(-1, *shape).flatten(1)
        touch = 1 + _EMPHASIS.touching * target[:, OUTPUT.contact].clamp(0, 1)
        for name in ("joint_position", "joint_rotation"):
            part = out[:, getattr(OUTPUT, name)].reshape(-1, *OUTPUT.shape(name)).flatten(2)
            part[:, self._contact_joints] = touch[:, :, None].expand(-1, -1, part.shape[2])
            out[:, getattr(OUTPUT, name)] = part.flatten(1)
        return out

    def _cast(self) -> dict[str, torch.Tensor]:
        """The parameters as the products read them. Gating networks are small, and their gates want to be exact, as do
        the cells of an LSTM, which take the precision of its biases."""
        network = self._network
        if not self.settings.half:
            return network
        exact = ("gating", "lstm_b")
        return {name: p if name.startswith(exact) else p.to(torch.bfloat16) for name, p in network.items()}

    @property
    def _network(self) -> dict[str, torch.Tensor]:
        """All tensors that the network is made of, learned or not."""
        return self._fixed | self.parameters

    def _pose_noise(self, count: int) -> torch.Tensor:
        """Noise (count, FRAME.size) on the poses with which sequences begin."""
        out = torch.zeros(count, FRAME.size)
        scale = torch.from_numpy(self.scaling["frame"][1])
        for name in ("joint_position", "joint_rotation", "joint_velocity"):
            part = getattr(FRAME, name)
            drawn = torch.randn(count, part.stop - part.start, generator=self.noise)
            out[:, part] = drawn * scale[part] * self.settings.noise
        return out

    def export(self) -> dict[str, Array]:
        """Tensors of a weights file, see `models.nsm.shapes`."""
        out = {name: p.detach().cpu().numpy().astype(np.float32) for name, p in self._network.items()}
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
        if self.settings.teach:
            return added_experts.joined(self._kept, out, self._taught)
        share, left_out = self.settings.kept, {f"{name}_w0" for name in self.settings.without}
        for name, value in self._kept.items():
            if name in out and name not in left_out:
                out[name] = (1 - share) * out[name] + share * value
        return out


def _detached(state: State) -> State:
    """A memory from which no gradients go back."""
    return None if state is None else [(h.detach(), cell.detach()) for h, cell in state]


def _output_weights() -> torch.Tensor:
    """Weight (OUTPUT.size,) of each number of the output, one in the mean."""
    out = torch.ones(OUTPUT.size)
    for name, weight in PIECES.items():
        out[getattr(OUTPUT, name)] = weight
    return out / out.mean()


def squared(error: torch.Tensor) -> torch.Tensor:
    """Squares of normalized errors, which go on straight beyond `_OUTLIER` (Huber's loss, twice)."""
    return 2 * torch.nn.functional.huber_loss(error, torch.zeros_like(error), reduction="none", delta=_OUTLIER)


def unsteadiness(deviation: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """Error (N, OUTPUT.size), as `squared`, of how normalized outputs change from a frame to the next, whose deviations
    from what they should be are `before` and `deviation` (N, OUTPUT.size); 0 for what is not of _STEADY."""
    out = torch.zeros_like(deviation)
    for name in _STEADY:
        part = getattr(OUTPUT, name)
        out[:, part] = squared((deviation[:, part] - before[:, part]) * (_STEADINESS * FPS))
    return out


def _known(tensors: Mapping[str, Array], gating: Condition | None) -> dict[str, Array]:
    """What a training can go on from of a weights file: all, but for a gating that reads something else."""
    first = tensors.get("gating_w0")
    same = first is not None and gating is not None and first.shape[1] == CONDITION_SIZES[gating]
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
    own, gating = settings.gating_hidden, condition_of(settings.network, settings.gating)
    if gating is not None:
        widths = (CONDITION_SIZES[gating], own, own, settings.experts)
        for layer in range(LAYERS):
            out[f"gating_w{layer}"] = uniform(widths[layer + 1], widths[layer])
            out[f"gating_b{layer}"] = torch.zeros(widths[layer + 1])
    encoded, k = sum(settings.encoders.values()), sets(settings.network, settings.experts)
    h = width(settings.network, encoded, settings.hidden, settings.experts)
    if settings.network in RECURRENT:
        for layer in range(LSTM_LAYERS):
            # The gates are four matrices, one above the other.
            out[f"lstm_w{layer}"] = uniform(4, h, h if layer else encoded).flatten(0, 1)
            out[f"lstm_u{layer}"] = uniform(4, h, h).flatten(0, 1)
            out[f"lstm_b{layer}"] = torch.zeros(4 * h)
            # A cell that keeps nothing at first does not learn to remember.
            out[f"lstm_b{layer}"][h : 2 * h] = 1
        return out | {"decoder_w": uniform(OUTPUT.size, h), "decoder_b": torch.zeros(OUTPUT.size)}
    widths = (encoded, h, h, OUTPUT.size)
    for layer in range(LAYERS):
        out[f"w{layer}"] = uniform(k, widths[layer + 1], widths[layer])
        out[f"b{layer}"] = torch.zeros(k, widths[layer + 1])
    return out
