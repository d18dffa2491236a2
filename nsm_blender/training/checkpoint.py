# SPDX-License-Identifier: GPL-3.0-or-later
"""Checkpoints as data: a safetensors file of arrays whose header holds the counters as JSON. Nothing is pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from ..errors import UserError
from ..files import parse_json, write_whole

_STATE = "state"
"""Name of the header's entry that holds the counters, since a safetensors header maps text to text."""


def write(path: Path, tensors: Mapping[str, torch.Tensor], state: Mapping[str, Any]) -> None:
    """Write tensors by name and a state of plain JSON values; a kill leaves the checkpoint before or this one."""
    ready = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    write_whole(path, save(ready, {_STATE: json.dumps(state)}))


def read(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """The tensors and the state of a checkpoint. Raises UserError when the file is not one."""
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {})[_STATE]
            state = parse_json(text, dict, "the state of a checkpoint", str(path), UserError)
            return {name: file.get_tensor(name) for name in file.keys()}, state  # noqa: SIM118 - no mapping
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as a checkpoint ({error}); leave --resume out.") from error


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """The moments and step counts of an optimizer as tensors named NUMBER.NAME, by the parameter's number."""
    entries = optimizer.state_dict()["state"]
    return {f"{i}.{name}": torch.as_tensor(value) for i, own in entries.items() for name, value in own.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor]) -> None:
    """Put what `optimizer_tensors` gave back into an optimizer of the same parameters."""
    entries: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in tensors.items():
        number, own = name.split(".", 1)
        entries.setdefault(int(number), {})[own] = value
    optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})
