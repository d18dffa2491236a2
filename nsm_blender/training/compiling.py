# SPDX-License-Identifier: GPL-3.0-or-later
"""torch.compile where it works, and a sentence where it does not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch


def compiled(function: Callable[..., Any], device: str, log: Callable[[str], None] = print) -> Callable[..., Any]:
    """A function of tensors compiled, or itself where torch has no compiler for this machine, which the log is told."""
    # The array API's names are looked up through a cache, which the compiler sees through and warns of each time.
    warnings.filterwarnings("ignore", "Dynamo detected a call to a `functools.lru_cache`")
    try:
        torch.compile(_probe)(torch.ones(2, device=device))
    except RuntimeError as error:
        log(f"--compile is left out: torch cannot compile on this machine ({str(error).splitlines()[0]}).")
        return function
    return torch.compile(function)


def _probe(x: torch.Tensor) -> torch.Tensor:
    """Little to compile, by which a missing compiler shows."""
    return x * 2 + 1
