# SPDX-License-Identifier: GPL-3.0-or-later
"""One training by many processes: each takes its part of every batch, and their gradients are added up.

`torchrun` starts the processes, on one machine or many, and tells each its number in the environment. All draw the same
batches and the same noise, so that they learn what a single process learns; the first alone writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch

# Its functions keep the group that there is when they are first imported, which an optimizer does otherwise: a group
# that outlives its end aborts the process at its exit, as its threads then ask a Python that is gone.
import torch.distributed.nn
from torch import distributed

from ..errors import UserError

_SIZE, _LOCAL_RANK = "WORLD_SIZE", "LOCAL_RANK"
"""Environment variables of torchrun: the number of processes, and the number of this one on its machine."""
_PATIENCE = timedelta(days=2)
"""Time for which a process waits for the others: the first one composes episodes and validates alone, and torchrun
ends the others at once where one fails."""


def started() -> int:
    """Number of processes that train together, as torchrun tells it."""
    return int(os.environ.get(_SIZE, "1"))


@contextmanager
def joined(device: str) -> Iterator[str]:
    """Join the processes that were started together, until the end of the context. Gives the device of this process:
    on CUDA each has its own. Raises UserError when a machine has fewer of them than processes."""
    if started() == 1:
        yield device
        return
    backend = "gloo"
    if device == "cuda":
        backend, number = "cpu:gloo,cuda:nccl", int(os.environ[_LOCAL_RANK])
        if number >= torch.cuda.device_count():
            raise UserError(
                f"There are {torch.cuda.device_count()} GPUs for more processes; give torchrun --nproc_per_node "
                f"{torch.cuda.device_count()}, or --device cpu."
            )
        device = f"cuda:{number}"
        torch.cuda.set_device(device)
    distributed.init_process_group(backend, timeout=_PATIENCE)
    try:
        yield device
    finally:
        distributed.destroy_process_group()


def size() -> int:
    """Number of processes that have joined."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """Number of this process among them, from 0."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def is_first() -> bool:
    """Whether this process writes checkpoints, weights and logs, and validates."""
    return rank() == 0


def wait() -> None:
    """Wait until all processes have come here."""
    if size() > 1:
        distributed.all_reduce(torch.zeros(1))


def part(count: int) -> slice:
    """This process's part of `count` things; the parts differ by one at the most."""
    return slice(count * rank() // size(), count * (rank() + 1) // size())


def add_up(parameters: Iterable[torch.Tensor], error: torch.Tensor) -> torch.Tensor:
    """Put the sum over all processes in the place of the gradients of parameters, and return that of the error ().

    Each process has those of its part of a batch, weighted by its share of it; so the sums are those of the batch. They
    travel as one flat buffer.
    """
    error = error.detach()
    if size() == 1:
        return error
    gradients = [one.grad for one in parameters if one.grad is not None]
    flat = torch.cat([*(one.flatten() for one in gradients), error.reshape(1)])
    distributed.all_reduce(flat)
    start = 0
    for one in gradients:
        one.copy_(flat[start : start + one.numel()].view_as(one))
        start += one.numel()
    return flat[-1]
